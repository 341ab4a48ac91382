"""All of a finite space, Sobol points, Latin hypercubes and neighbours, as codes."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.arrays import FloatArray
from leantune.errors import SpaceError
from leantune.space import Space, boolean, choice, integer, linear, ordinal, when
from leantune.space.codes import LARGEST_GRID, enumerate_codes, latin_codes, neighbour_codes, sobol_codes
from leantune.space.configurations import row_keys
from leantune.space.schema import Schema
from leantune.testing.generators import configurations, spaces

PLANE = Schema({"x": linear(0, 1), "y": linear(0, 1)})


def everything(codes: FloatArray) -> FloatArray:
    return codes


def lower_half(codes: FloatArray) -> FloatArray:
    return codes[codes[:, 0] < 0.5]


def test_sobol_points_are_more_even_than_chance() -> None:
    codes = sobol_codes(PLANE, 256, 1, everything)
    cells, _, _ = np.histogram2d(codes[:, 0], codes[:, 1], bins=16, range=[[0, 1], [0, 1]])
    assert np.all(cells == 1), "a scrambled Sobol net of 256 points has one in each cell of a 16 x 16 grid"


def test_latin_hypercubes_cover_every_row_and_column() -> None:
    codes = latin_codes(PLANE, 10, 1, everything)
    for column in codes.T:
        assert sorted(np.floor(column * 10).tolist()) == list(range(10))


def test_what_predicates_take_is_drawn_again() -> None:
    for draw in (sobol_codes, latin_codes):
        codes = draw(PLANE, 50, 3, lower_half)
        assert len(codes) == 50
        assert np.all(codes[:, 0] < 0.5)


@given(spaces(), st.integers(0, 2**40))
def test_equal_seeds_give_equal_codes(space: Space, seed: int) -> None:
    for draw in (sobol_codes, latin_codes):
        codes = draw(space.schema, 9, seed, everything)
        np.testing.assert_array_equal(codes, draw(space.schema, 9, seed, everything))
        assert len(set(row_keys(codes))) == len(codes)


def test_other_seeds_give_other_codes() -> None:
    for draw in (sobol_codes, latin_codes):
        assert not np.array_equal(draw(PLANE, 8, 1, everything), draw(PLANE, 8, 2, everything))


@given(st.data())
def test_neighbours_are_configurations_one_step_away(data: st.DataObject) -> None:
    space = data.draw(spaces())
    schema = space.schema
    centre = schema.row(data.draw(configurations(space)))
    seed = data.draw(st.integers(0, 2**32))
    near = neighbour_codes(schema, centre[None, :], seed)
    np.testing.assert_array_equal(near, neighbour_codes(schema, centre[None, :], seed))
    centre_active = ~np.isnan(centre)
    for row in near:
        np.testing.assert_array_equal(schema.row(schema.values(row)), row)
        both = centre_active & ~np.isnan(row)
        assert np.sum(row[both] != centre[both]) == 1, "one parameter changes; others only appear or vanish with it"


def test_a_step_wakes_children_and_puts_them_to_sleep() -> None:
    schema = Schema(
        {"opt": choice("adam", "sgd"), "m": when(linear(0, 1), opt="sgd"), "n": when(boolean(), opt="adam")}
    )
    near = neighbour_codes(schema, schema.row({"opt": "sgd", "m": 0.5})[None, :], 0)
    switched = [schema.values(row) for row in near if row[0] == 0]
    assert len(switched) == 1
    assert set(switched[0]) == {"opt", "n"}
    kept = [schema.values(row) for row in near if row[0] == 1]
    assert len(kept) == 2
    assert all(set(values) == {"opt", "m"} for values in kept)


def test_no_neighbours_of_nothing() -> None:
    assert neighbour_codes(PLANE, np.empty((0, 2)), 0).shape == (0, 2)
    assert len(neighbour_codes(Schema({"one": choice("x")}), np.zeros((1, 1)), 0)) == 0
    assert len(neighbour_codes(Schema({"n": integer(1, 2)}), np.ones((1, 1)), 0)) == 1


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
