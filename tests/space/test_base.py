"""What a user writes: every kind by its word, and when it exists."""

import pytest

from leantune.errors import SpaceError
from leantune.space import (
    Boolean,
    Choice,
    Float,
    Integer,
    Ordinal,
    boolean,
    choice,
    integer,
    linear,
    log,
    ordinal,
    when,
)


def test_each_word_makes_its_parameter() -> None:
    assert linear(0, 1) == Float(0.0, 1.0)
    assert log(1e-5, 1e-1) == Float(1e-5, 1e-1, log=True)
    assert integer(1, 8) == Integer(1, 8)
    assert integer(1, 8, log=True) == Integer(1, 8, log=True)
    assert choice(16, 64) == Choice((16, 64))
    assert ordinal("s", "m") == Ordinal(("s", "m"))
    assert ordinal(1, 10, scale="log") == Ordinal((1, 10), "log")
    assert boolean() == Boolean()


def test_when_adds_conditions_and_keeps_the_rest() -> None:
    once = when(log(1, 10), optimizer="sgd")
    assert once == Float(1.0, 10.0, log=True, conditions=(("optimizer", ("sgd",)),))
    twice = when(once, nesterov=True, depth=range(1, 3))
    assert twice.conditions == (("optimizer", ("sgd",)), ("nesterov", (True,)), ("depth", (1, 2)))


def test_the_parameter_itself_is_not_changed() -> None:
    plain = linear(0, 1)
    when(plain, optimizer="sgd")
    assert plain.conditions == ()


def test_several_values_are_alternatives() -> None:
    assert when(boolean(), optimizer=("sgd", "rmsprop")).conditions == (("optimizer", ("sgd", "rmsprop")),)


def test_wrong_conditions() -> None:
    with pytest.raises(SpaceError, match="no condition"):
        when(linear(0, 1))
    with pytest.raises(SpaceError, match="no value is given") as caught:
        when(linear(0, 1), optimizer=())
    assert "'optimizer'" in caught.value.where
    with pytest.raises(SpaceError, match="two conditions on 'optimizer'"):
        when(when(linear(0, 1), optimizer="sgd"), optimizer="adam")
    with pytest.raises(SpaceError, match=r"0\.5 is not a parameter"):
        when(0.5, optimizer="sgd")  # type: ignore[type-var]
