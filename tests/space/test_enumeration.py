"""Listing finite spaces."""

import itertools

import numpy as np
import pytest
from hypothesis import given

from leantune.errors import SpaceError
from leantune.space import Space, boolean, choice, integer, linear, ordinal, when
from leantune.space.configurations import row_keys
from leantune.space.enumeration import LARGEST_GRID, enumerate_codes
from leantune.space.schema import Schema
from leantune.testing.generators import spaces


def test_the_last_parameter_is_the_fastest() -> None:
    schema = Schema({"a": integer(3, 4), "b": choice("x", "y", "z"), "c": boolean()})
    expected = list(itertools.product((3, 4), (0, 1, 2), (0, 1)))
    assert enumerate_codes(schema).tolist() == [list(map(float, row)) for row in expected]


def test_inactive_parameters_collapse() -> None:
    schema = Schema(
        {
            "n": when(boolean(), opt=("sgd", "rms")),
            "opt": choice("sgd", "adam", "rms"),
            "d": when(ordinal(1, 2), n=True),
        }
    )
    rows = [schema.values(row) for row in enumerate_codes(schema)]
    assert rows == [
        {"n": False, "opt": "sgd"},
        {"opt": "adam"},
        {"n": False, "opt": "rms"},
        {"n": True, "opt": "sgd", "d": 1},
        {"n": True, "opt": "sgd", "d": 2},
        {"n": True, "opt": "rms", "d": 1},
        {"n": True, "opt": "rms", "d": 2},
    ]


@given(spaces(finite=True))
def test_complete_and_without_repeats(space: Space) -> None:
    """Against plain enumeration: every combination of values, inactive ones struck out."""
    schema = space.schema
    columns = [
        [parameter.first + index for index in range(parameter.count or 0)] for parameter in space.parameters.values()
    ]
    every = np.array(list(itertools.product(*columns)))
    expected = set(row_keys(np.where(schema.activity(every), every, np.nan)))
    listed = row_keys(enumerate_codes(schema))
    assert len(listed) == len(set(listed))
    assert set(listed) == expected
    if not schema.conditional:
        assert len(listed) == schema.size


def test_infinite_and_huge_spaces_are_told_to_use_a_pool() -> None:
    with pytest.raises(SpaceError, match="'lr' has infinitely many values") as caught:
        enumerate_codes(Schema({"batch": choice(1, 2), "lr": linear(0, 1)}))
    assert "pool" in caught.value.hint
    with pytest.raises(SpaceError, match="2,000,001 configurations") as caught:
        enumerate_codes(Schema({"n": integer(0, LARGEST_GRID)}))
    assert "pool" in caught.value.hint
