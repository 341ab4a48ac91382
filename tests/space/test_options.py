"""Choices, ordinals, truth values and clusters."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.errors import SpaceError
from leantune.space import Boolean, Choice, Cluster, Clusters, Ordinal, machine
from leantune.space.options import MAX_OTHER_OPTIONS, Options, OrdinalScale
from leantune.testing.generators import cluster_lists, options

any_options = st.one_of(options(), cluster_lists(), st.just(Boolean()))


def every_code(parameter: Options) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.arange(len(parameter.options), dtype=np.float64)


@given(any_options)
def test_codes_and_options_are_one_to_one(parameter: Options) -> None:
    for code in every_code(parameter).tolist():
        value = parameter.value(code)
        assert parameter.code(value, "p") == code
        assert parameter.options[int(code)] is value


@given(any_options)
def test_features_lie_between_0_and_1(parameter: Options) -> None:
    features = parameter.encode(every_code(parameter))
    assert features.shape == (len(parameter.options), len(parameter.columns))
    assert np.all((features >= 0) & (features <= 1))
    assert all(column.max() > column.min() for column in features.T), "no constant column"


@given(any_options)
def test_quantiles_reach_every_option(parameter: Options) -> None:
    codes = parameter.from_unit(np.linspace(0, 1, 1001))
    assert set(codes.tolist()) == set(every_code(parameter).tolist())


@given(any_options, st.integers(0, 2**32))
def test_steps_go_to_other_options(parameter: Options, seed: int) -> None:
    steps = parameter.near(0.0, np.random.default_rng(seed))
    assert len(steps) == min(len(parameter.options) - 1, MAX_OTHER_OPTIONS)
    assert len(set(steps.tolist()) - {0.0}) == len(steps)
    assert set(steps.tolist()) <= set(every_code(parameter).tolist())


def test_choices_are_one_hot() -> None:
    three = Choice(("sgd", "adam", "rmsprop"))
    np.testing.assert_array_equal(three.encode(every_code(three)), np.eye(3))
    assert three.columns == ("=sgd", "=adam", "=rmsprop")
    two = Choice(("sgd", "adam"))
    np.testing.assert_array_equal(two.encode(every_code(two)), [[0.0], [1.0]])
    assert two.columns == ("=adam",)
    assert Choice(("sgd",)).columns == ()


def test_ordinals_are_ranks() -> None:
    sizes = Ordinal(("s", "m", "l"))
    np.testing.assert_array_equal(sizes.encode(every_code(sizes)), [[0.0], [0.5], [1.0]])


def test_ordinals_of_numbers_on_a_scale() -> None:
    linear, log = Ordinal((1, 2, 5), "linear"), Ordinal((1e-5, 1e-4, 1e-2), scale="log")
    np.testing.assert_allclose(linear.encode(every_code(linear)), [[0.0], [0.25], [1.0]])
    np.testing.assert_allclose(log.encode(every_code(log)), [[0.0], [1 / 3], [1.0]])
    falling = Ordinal((4, 2, 1), "log")
    np.testing.assert_allclose(falling.encode(every_code(falling)), [[1.0], [0.5], [0.0]])
    assert Ordinal((7,), "log").columns == ()
    assert Ordinal((7,), "log").table.shape == (1, 0)
    assert Ordinal((1, 2)) == Ordinal((1, 2), "rank") != Ordinal((1, 2), "linear")


@pytest.mark.parametrize(
    ("options_", "scale", "says"),
    [
        (("s", "m"), "linear", "'s' has no place on the scale 'linear'"),
        ((1, True), "log", "True has no place on the scale 'log'"),
        ((0, 1), "log", "option 0 has no logarithm"),
        ((1, 2), "cubic", "unknown scale 'cubic'"),
    ],
)
def test_scales_that_do_not_suit(options_: tuple[float, ...], scale: OrdinalScale, says: str) -> None:
    with pytest.raises(SpaceError, match=says) as caught:
        Ordinal(options_, scale)
    assert caught.value.where.startswith("ordinal(")
    assert caught.value.hint


def test_truth_is_not_one() -> None:
    mixed = Choice((1, True, "1"))
    assert [mixed.code(value, "p") for value in (1, True, "1", 1.0, np.int64(1))] == [0, 1, 2, 0, 0]
    with pytest.raises(SpaceError, match="0 is not an option"):
        Boolean().code(0, "p")


def test_numpy_options_become_plain() -> None:
    options_ = Choice((np.int64(16), np.float64(0.5), np.str_("a"))).options  # type: ignore[arg-type]
    assert [type(option) for option in options_] == [int, float, str]


@pytest.mark.parametrize("kind", [Choice, Ordinal])
@pytest.mark.parametrize(
    ("listed", "says"),
    [
        ((), "no options"),
        (("a", "a"), "'a' comes twice"),
        ((1, 1.0), "option 1 comes twice"),
        ((math.nan,), "option nan is not"),
        ((1, math.inf), "option inf is not"),
        ((None,), "option None is not"),
        (([1, 2],), r"option \[1, 2\] is not"),
        (({"type": "small", "nodes": 1},), "option {.*} is not"),
        ((Cluster(machine("small", vcpus=1, memory=2), 1),), "option 1 x small is a cluster"),
    ],
)
def test_wrong_options(kind: type[Choice] | type[Ordinal], listed: tuple[float, ...], says: str) -> None:
    with pytest.raises(SpaceError, match=says) as caught:
        kind(listed)
    assert caught.value.where.startswith(kind.__name__.lower())
    assert caught.value.hint


def test_an_unknown_option_is_told_the_known_ones() -> None:
    with pytest.raises(SpaceError, match="'adm' is not an option") as caught:
        Choice(("sgd", "adam")).code("adm", "parameter 'optimizer'")
    assert caught.value.where == "parameter 'optimizer'"
    assert "'sgd', 'adam'" in caught.value.hint


SMALL = machine("small", vcpus=1, memory=2, usd_per_hour=0.02)
LARGE = machine("large", vcpus=8, memory=32, usd_per_hour=0.32, accelerators=3)


def test_clusters_enter_as_numbers() -> None:
    parameter = Clusters((Cluster(SMALL, 8), Cluster(SMALL, 16), Cluster(LARGE, 1), Cluster(LARGE, 2)))
    names = ["vcpus_per_node", "memory_per_node", "nodes", "vcpus", "price", "accelerators"]
    assert [column.split("_", 1)[1] for column in parameter.columns] == names
    expected = np.array([[0, 0, 0.75, 0, 0, 0], [0, 0, 1, 1, 0, 0], [1, 1, 0, 0, 1, 1], [1, 1, 0.25, 1, 1, 1]])
    np.testing.assert_allclose(parameter.encode(every_code(parameter)), expected, atol=1e-12)


def test_columns_that_others_explain_tell_nothing_new() -> None:
    """Of two types and any number of nodes: which type, and how many; the total follows, as do price and memory."""
    types = Clusters(tuple(Cluster(kind, nodes) for kind in (SMALL, LARGE) for nodes in (1, 2, 4, 8)))
    assert [types.columns[column] for column in types.telling] == [".log2_vcpus_per_node", ".log2_nodes"]
    odd = machine("memory", vcpus=1, memory=64, usd_per_hour=0.1)  # large memory says something else than many vCPUs
    more = Clusters(tuple(Cluster(kind, nodes) for kind in (SMALL, odd, LARGE) for nodes in (1, 2)))
    assert ".log2_memory_per_node" in [more.columns[column] for column in more.telling]
    assert Clusters((Cluster(SMALL, 1),)).telling == ()


def test_constant_columns_are_dropped() -> None:
    parameter = Clusters((Cluster(SMALL, 1), Cluster(SMALL, 2)))
    assert parameter.columns == (".log2_nodes", ".log2_vcpus")
    assert Clusters((Cluster(SMALL, 1),)).columns == ()


def test_a_price_counts_only_when_every_option_has_one() -> None:
    free = machine("mine", vcpus=2, memory=2)
    parameter = Clusters((Cluster(SMALL, 1), Cluster(free, 1)))
    assert ".log_price" not in parameter.columns
    assert parameter.rates is None
    priced = Clusters((Cluster(SMALL, 1, extra_nodes=1), Cluster(LARGE, 2)))
    assert priced.rates is not None
    np.testing.assert_allclose(priced.rates, [0.04, 0.64])


def test_clusters_are_known_by_type_and_nodes() -> None:
    parameter = Clusters((Cluster(SMALL, 1), Cluster(LARGE, 2)))
    assert parameter.code({"type": "large", "nodes": 2}, "p") == 1
    with pytest.raises(SpaceError, match="not an option"):
        parameter.code({"type": "large", "nodes": 3}, "p")
    with pytest.raises(SpaceError, match="comes twice"):
        Clusters((Cluster(SMALL, 1), Cluster(SMALL, 1, extra_nodes=1)))
    with pytest.raises(SpaceError, match="not a cluster"):
        Clusters((SMALL,))  # type: ignore[arg-type]
    with pytest.raises(SpaceError, match="no options"):
        Clusters(())
