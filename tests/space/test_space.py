"""The space: listing, pools, designs, checked configurations."""

import subprocess
import sys
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.errors import SpaceError
from leantune.space import Configurations, Space, Value, boolean, choice, integer, linear, log, when
from leantune.space.configurations import row_keys
from leantune.testing.generators import spaces

MIXED = Space(lr=log(1e-5, 1e-1), batch=choice(16, 64, 256), momentum=when(linear(0, 1), batch=(16, 64)))


def even(configuration: Mapping[str, Value]) -> bool:
    return int(str(configuration["n"])) % 2 == 0


def never(configuration: Mapping[str, Value]) -> bool:
    return False


def all_valid(space: Space, found: Configurations) -> bool:
    return all(space.configuration(configuration) == configuration for configuration in found)


def test_importing_the_space_loads_no_heavy_library() -> None:
    program = "import sys, leantune.problem; print([m for m in ('scipy', 'numba', 'pydantic') if m in sys.modules])"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"


def test_describes_itself() -> None:
    space = Space(n=integer(1, 10), flag=boolean())
    assert list(space.parameters) == ["n", "flag"]
    assert (space.size, space.enumerable, space.dimensions, space.has_prices) == (20, True, 2, False)
    assert (MIXED.size, MIXED.enumerable, MIXED.dimensions) == (None, False, 5)
    huge = Space(a=integer(1, 2000), b=integer(1, 2000))
    assert (huge.size, huge.enumerable) == (4_000_000, False)
    assert "n=Integer(" in repr(space)


def test_the_grid_is_listed_once() -> None:
    space = Space(n=integer(1, 10))
    assert space.grid() is space.grid()
    assert len(space.grid()) == 10


def test_predicates_thin_the_grid() -> None:
    space = Space(n=integer(1, 10), m=boolean(), valid=[even, lambda c: c["m"] is True])
    assert [configuration["n"] for configuration in space.grid()] == [2, 4, 6, 8, 10]
    assert space.size == 20, "before predicates"


@pytest.mark.parametrize("verdict", [None, 1, "yes"])
def test_predicates_say_true_or_false(verdict: object) -> None:
    with pytest.raises(SpaceError, match=f"returned {verdict!r}") as caught:
        Space(n=integer(1, 3), valid=lambda c: verdict).grid()  # type: ignore[return-value, arg-type]
    assert caught.value.where == "valid"


def test_predicates_may_answer_in_numpy() -> None:
    def above_two(configuration: Mapping[str, Value]) -> bool:
        return np.array([configuration["n"]])[0] > 2  # type: ignore[no-any-return]

    assert len(Space(n=integer(1, 4), valid=above_two).grid()) == 2


def test_an_empty_space_is_an_error_everywhere() -> None:
    space = Space(n=integer(1, 3), valid=never)
    for give in (space.grid, lambda: space.pool(5, seed=0), lambda: space.latin_hypercube(2, seed=0)):
        with pytest.raises(SpaceError, match="no configuration is allowed by never"):
            give()
    endless = Space(x=linear(0, 1), valid=never)
    with pytest.raises(SpaceError, match="no configuration is allowed by never"):
        endless.pool(5, seed=0)


def test_a_predicate_is_a_function() -> None:
    with pytest.raises(SpaceError, match="3 is not a predicate"):
        Space(n=integer(1, 3), valid=[3])  # type: ignore[list-item]
    with pytest.raises(SpaceError, match="'valid' is reserved"):
        Space(valid=boolean())
    with pytest.raises(SpaceError, match="no parameter"):
        Space()


@given(spaces(), st.integers(1, 60), st.integers(0, 2**40))
def test_pools_hold_different_configurations_of_the_space(space: Space, size: int, seed: int) -> None:
    pool = space.pool(size, seed=seed)
    assert 1 <= len(pool) <= size
    assert len(set(row_keys(pool.codes))) == len(pool)
    assert all_valid(space, pool)
    np.testing.assert_array_equal(pool.codes, space.pool(size, seed=seed).codes)
    if space.size is not None:
        assert len(pool) == min(size, len(space.grid()))


def test_another_seed_another_pool() -> None:
    assert not np.array_equal(MIXED.pool(16, seed=1).codes, MIXED.pool(16, seed=2).codes)


@given(spaces(), st.integers(0, 2**32))
def test_pools_around_good_configurations(space: Space, seed: int) -> None:
    centres = space.latin_hypercube(3, seed=seed)
    pool = space.pool(40, seed=seed, around=centres)
    assert 1 <= len(pool) <= 40
    assert len(set(row_keys(pool.codes))) == len(pool)
    assert all_valid(space, pool)
    np.testing.assert_array_equal(pool.codes, space.pool(40, seed=seed, around=list(centres)).codes)


def test_neighbours_make_up_at_most_half_of_a_pool() -> None:
    centre = MIXED.configuration({"lr": 1e-3, "batch": 16, "momentum": 0.9})
    pool = MIXED.pool(64, seed=0, around=[centre])
    beside = [c for c in pool if sum(c.get(name) != value for name, value in centre.items()) <= 1]
    assert len(beside) >= 4, "two steps in lr, two in momentum; a step in batch may take momentum with it"
    crowded = MIXED.pool(8, seed=0, around=MIXED.pool(50, seed=1))
    assert len(crowded) == 8
    far = MIXED.pool(8, seed=0)
    assert all(crowded.index_of(far[index]) is not None for index in range(4)), "the other half is Sobol's"


def test_pools_obey_predicates() -> None:
    space = Space(n=integer(1, 1000), x=linear(0, 1), valid=even)
    centre = space.configuration({"n": 500, "x": 0.5})
    pool = space.pool(64, seed=0, around=[centre])
    assert len(pool) == 64
    assert all(even(configuration) for configuration in pool)


def test_narrow_predicates_leave_what_they_leave() -> None:
    def one_in_a_thousand(configuration: Mapping[str, Value]) -> bool:
        return configuration["n"] in (5, 500)

    finite = Space(n=integer(1, 1000), m=integer(1, 2), valid=one_in_a_thousand)
    assert len(finite.pool(10, seed=0)) == 4
    assert len(finite.latin_hypercube(10, seed=0)) == 4
    endless = Space(n=integer(1, 1000), x=linear(0, 1), valid=one_in_a_thousand)
    assert len(endless.latin_hypercube(4, seed=0)) == 4


def test_centres_belong_to_the_space() -> None:
    with pytest.raises(SpaceError, match="unknown parameter 'x'"):
        MIXED.pool(8, seed=0, around=[{"x": 1}])


@given(spaces(finite=True), st.integers(1, 30), st.integers(0, 2**40))
def test_latin_hypercubes_are_distinct_while_there_are_enough(space: Space, n: int, seed: int) -> None:
    design = space.latin_hypercube(n, seed=seed)
    assert len(design) == min(n, len(space.grid()))
    assert len(set(row_keys(design.codes))) == len(design)
    np.testing.assert_array_equal(design.codes, space.latin_hypercube(n, seed=seed).codes)


def test_latin_hypercubes_spread_over_options() -> None:
    space = Space(a=choice(*range(4)), b=linear(0, 1))
    design = space.latin_hypercube(8, seed=5)
    assert np.bincount(design.codes[:, 0].astype(int)).tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize("count", [0, -1, 1.5, True])
def test_numbers_of_configurations_are_counts(count: int) -> None:
    with pytest.raises(SpaceError, match="at least 1"):
        MIXED.pool(count, seed=0)
    with pytest.raises(SpaceError, match="at least 1"):
        MIXED.latin_hypercube(count, seed=0)


def test_configurations_are_checked_and_canonical() -> None:
    configuration = MIXED.configuration({"batch": np.int64(256), "lr": 0.1})
    assert dict(configuration) == {"lr": 0.1, "batch": 256}
    assert type(configuration["batch"]) is int
    with pytest.raises(SpaceError, match="'momentum' is missing"):
        MIXED.configuration({"batch": 16, "lr": 0.1})
    with pytest.raises(SpaceError, match="does not exist in this configuration"):
        MIXED.configuration({"batch": 256, "lr": 0.1, "momentum": 0.5})
    with pytest.raises(SpaceError, match="out of bounds"):
        MIXED.configuration({"batch": 256, "lr": 1.0})
    with pytest.raises(SpaceError, match=r"predicate even forbids \{'n': 3\}"):
        Space(n=integer(1, 9), valid=even).configuration({"n": 3})


LISTED = [{"lr": 0.01, "batch": 256}, {"lr": 1e-4, "batch": 16, "momentum": 0.5}, {"lr": 1e-3, "batch": 256}]


def test_a_space_of_nothing_but_a_list() -> None:
    MIXED.pool(5, seed=0)
    space = MIXED.only([*LISTED, LISTED[0]])
    assert [dict(one) for one in space.grid()] == LISTED
    assert (space.size, space.enumerable, MIXED.size) == (3, True, None)
    for drawn in (space.pool(10, seed=1), space.latin_hypercube(10, seed=1)):
        assert sorted(map(repr, drawn)) == sorted(map(repr, space.grid()))
    assert len(space.pool(2, seed=1)) == len(space.latin_hypercube(2, seed=1)) == 2
    assert len({tuple(map(repr, space.latin_hypercube(3, seed=seed))) for seed in range(9)}) > 1
    assert np.array_equal(space.grid().features, Configurations.of(MIXED, LISTED).features)


def test_what_is_not_listed_is_no_configuration() -> None:
    space = MIXED.only(LISTED)
    assert space.configuration(LISTED[1]) == MIXED.configuration(LISTED[1])
    with pytest.raises(SpaceError, match=r"^lr=0.02, batch=256 is not listed.*Take one of the 3"):
        space.configuration({"lr": 0.02, "batch": 256})
    with pytest.raises(SpaceError, match="no configuration is listed"):
        MIXED.only([])
    with pytest.raises(SpaceError, match="batch"):
        MIXED.only([{"lr": 0.02, "batch": 5}])


def test_a_finite_space_that_was_listed_can_be_restricted() -> None:
    space = Space(n=integer(1, 10))
    assert len(space.grid()) == 10
    assert [one["n"] for one in space.only([{"n": 7}, {"n": 2}]).grid()] == [7, 2]
    assert len(space.grid()) == 10
