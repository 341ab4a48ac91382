"""The check of skips itself: a run of pytest on a file of its own, with the list of this repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.data import needs
from tests.skips import LIST, UNLISTED, Skip, by_name, lines, listed

FASHION = "recorded on Fashion-MNIST, whose folder LEANTUNE_FASHION does not name"
TESTS = """
import pytest

@pytest.mark.parametrize("reason", {reasons})
def test_one(reason):
    pytest.skip(reason)

@pytest.mark.xfail(reason="not a skip")
def test_two():
    assert False

def test_three():
    assert {sound}
"""


def run(
    pytester: pytest.Pytester, *options: str, reasons: tuple[str, ...], sound: bool = True
) -> tuple[int, list[str]]:
    """Exit status of a run in which tests skip for these reasons, and the lines it ends with."""
    pytester.makepyfile(test_made=TESTS.format(reasons=reasons, sound=sound))
    ended = pytester.runpytest_inprocess("-q", "-p", "tests.skips", *options)
    return int(ended.ret), ended.outlines[-5:]


def test_skips_are_counted_by_reason_above_the_closing_line(pytester: pytest.Pytester) -> None:
    code, shown = run(pytester, "--strict-skips", reasons=("needs published data: a.csv", FASHION))
    assert code == 0
    assert shown[-3:-1] == [
        "    1 skipped, data: needs published data: a.csv",
        f"    1 skipped, fashion: {FASHION}",
    ]
    assert shown[-1].startswith("1 passed, 2 skipped, 1 xfailed in ")


@pytest.mark.parametrize(("options", "expected"), [((), 0), (("--strict-skips",), 1), (("--strict-skips", "-n1"), 1)])
def test_a_reason_that_is_not_listed_fails_a_strict_run(
    options: tuple[str, ...], expected: int, pytester: pytest.Pytester
) -> None:
    code, shown = run(pytester, *options, reasons=("no time today",))
    assert code == expected
    assert f"    1 skipped, {UNLISTED}: no time today" in shown


def test_what_is_expected_is_not_listed_and_can_be_run_again(pytester: pytest.Pytester) -> None:
    reasons = ("needs published data: a.csv", FASHION)
    code, _ = run(pytester, "--skipped-to", str(pytester.path / "skipped"), reasons=reasons)
    assert code == 0
    assert sorted(file.name for file in (pytester.path / "skipped").iterdir()) == ["data.txt", "fashion.txt"]
    (test,) = (pytester.path / "skipped" / "data.txt").read_text(encoding="utf-8").splitlines()
    assert test.endswith("test_made.py::test_one[needs published data: a.csv]")
    code, shown = run(pytester, "--strict-skips", "--expect", "data", reasons=reasons)
    assert code == 1
    assert f"    1 skipped, {UNLISTED}: needs published data: a.csv" in shown


def test_a_failure_stays_one(pytester: pytest.Pytester) -> None:
    code, _ = run(pytester, "--strict-skips", reasons=(FASHION,), sound=False)
    assert code == 1


def test_a_reason_must_match_as_a_whole() -> None:
    reasons = {"data": re.compile("needs data: .*")}
    whole, part = Skip("a", "needs data: x"), Skip("b", "he needs data: x")
    assert by_name([whole, part], reasons) == {"data": [whole], UNLISTED: [part]}
    assert lines({"data": [whole, Skip("c", "needs data: y")]}) == ["    2 skipped, data: needs data: x, and 1 like it"]


def test_what_is_skipped_for_want_of_data_is_listed(tmp_path: Path) -> None:
    needs(tmp_path)
    with pytest.raises(pytest.skip.Exception) as skipped:
        needs(tmp_path, tmp_path / "spot" / "prices.csv")
    assert str(skipped.value) == "needs published data: spot/prices.csv"
    assert list(by_name([Skip("a", str(skipped.value))], listed())) == ["data"]


def test_the_list_is_short_and_says_why() -> None:
    text = LIST.read_text(encoding="utf-8")
    assert len(listed()) == text.count("why = ") <= 10
    assert UNLISTED not in listed()
