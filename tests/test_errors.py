"""The error tree and what an error says."""

import copy
import json

import pytest

from leantune import errors
from leantune.errors import (
    LONGEST_TEXT,
    HistoryError,
    IllegalMove,
    InvalidInput,
    LeanTuneError,
    MissingExtra,
    ObservationError,
    ProblemError,
    SpaceError,
    StoreError,
    StrategyError,
    TableError,
    UnknownTrial,
)


def test_says_what_where_and_what_would_be_right() -> None:
    error = SpaceError("log of 0", where="parameter 'lr'", hint="Write log(1e-6, 1)")
    assert str(error) == "log of 0 (parameter 'lr'). Write log(1e-6, 1)"
    assert (error.what, error.where, error.hint) == ("log of 0", "parameter 'lr'", "Write log(1e-6, 1)")


@pytest.mark.parametrize(
    ("where", "hint", "text"), [("", "", "bad"), ("here", "", "bad (here)"), ("", "Do good", "bad. Do good")]
)
def test_leaves_out_what_it_does_not_know(where: str, hint: str, text: str) -> None:
    assert str(LeanTuneError("bad", where=where, hint=hint)) == text


@pytest.mark.parametrize("kind", [SpaceError, ProblemError, ObservationError, StrategyError, TableError])
def test_wrong_input_is_a_value_error(kind: type[InvalidInput]) -> None:
    assert issubclass(kind, InvalidInput)
    assert issubclass(kind, ValueError)


def test_the_rest_of_the_tree() -> None:
    assert issubclass(UnknownTrial, HistoryError)
    assert issubclass(IllegalMove, HistoryError)
    assert issubclass(MissingExtra, ImportError)
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and kind.__module__ == errors.__name__]
    assert all(issubclass(kind, LeanTuneError) for kind in kinds)
    assert errors.__doc__ is not None
    assert all(kind.__name__ in errors.__doc__ for kind in kinds), "the drawing names every error"


def test_a_copy_says_the_same() -> None:
    error = MissingExtra("no boto3", where="aws", hint="pip install 'leantune[aws]'")
    assert str(copy.copy(error)) == str(error)


def test_an_optional_library_that_is_missing_is_named_with_its_extra() -> None:
    assert errors.needed("json", "this needs the library json", where="here", extra="spot") is json
    with pytest.raises(MissingExtra, match="this needs the library absent") as refused:
        errors.needed("no_such_library", "this needs the library absent", where="here", extra="spot")
    assert (refused.value.where, refused.value.hint) == ("here", "pip install 'leantune[spot]'")


def test_a_long_text_is_told_without_its_middle() -> None:
    error = LeanTuneError(f"begin {'x' * 70_000} end", where="y" * 70_000, hint="z" * 70_000)
    assert len(str(error)) < 3 * (LONGEST_TEXT + 20)
    assert error.what.startswith("begin xxx")
    assert error.what.endswith("xxx end")
    assert " [...] " in error.hint
    assert LeanTuneError("a" * LONGEST_TEXT).what == "a" * LONGEST_TEXT


@pytest.mark.parametrize(
    "address",
    [
        "mysql://u:s3cret@host/db",
        "https://u:s3c@s3cret@host",
        "x+y://u:s3cret with blanks@host",
        "ftp://u@corp:s3cret/?#@host",
        "postgresql://u@host/db?password=s3cret&sslmode=require",
        "postgresql://u@host/db?x=1&SSLPASSWORD=s3cret",
    ],
)
def test_no_error_repeats_the_password_of_an_address(address: str) -> None:
    for error in (LeanTuneError(address), StoreError("bad", where=address), InvalidInput(repr(address), hint=address)):
        assert "s3c" not in f"{error} {error!r} {error.args} {error.what} {error.where} {error.hint}"
        assert "host" in str(error)


def test_addresses_without_a_password_stay_as_they_are() -> None:
    for text in ("postgresql://user@host/database", "http://host:80/x?y=1", "a: b@c", "sqlite:////data/a@b.db"):
        assert str(LeanTuneError(text)) == text
