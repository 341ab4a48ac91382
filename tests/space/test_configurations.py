"""One configuration and many: identity, ids, columns."""

import hashlib
import json
import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leantune.errors import SpaceError
from leantune.space import (
    Cluster,
    Clusters,
    Configuration,
    Configurations,
    Space,
    boolean,
    choice,
    integer,
    linear,
    log,
    machine,
    when,
)
from leantune.testing.generators import configurations, spaces

SMALL = machine("t2.small", vcpus=1, memory=2, usd_per_hour=0.023)
SPACE = Space(
    lr=log(1e-5, 1e-1),
    batch=choice(16, 64),
    sync=boolean(),
    cluster=Clusters((Cluster(SMALL, 8), Cluster(SMALL, 16))),
)
EXAMPLE = {"lr": 0.001, "batch": 64, "sync": True, "cluster": {"type": "t2.small", "nodes": 8}}


def test_ids_never_change() -> None:
    """Stores and tables are keyed by them: a change here orphans everybody's results."""
    assert SPACE.configuration(EXAMPLE).id == "5b35e07eccd038125feb9e5790bba89d5dc68edd7d97ecd245c571955b631934"
    assert Configuration({"x": 1}).id == "5041bf1f713df204784353e82f6a4a535931cb64f1f4b4a5aeaffcb720918b22"
    assert (
        Configuration({"x": 1.0, "label": "größer"}).id
        == "47d836c641c6c9a3934bf0179400fe844027874ca17b9842b6a838654e3c6269"
    )


def test_ids_are_sha256_of_the_canonical_json() -> None:
    text = '{"batch":64,"cluster":{"nodes":8,"type":"t2.small"},"lr":0.001,"sync":true}'
    assert SPACE.configuration(EXAMPLE).id == hashlib.sha256(text.encode()).hexdigest()


def test_ids_are_equal_in_another_process() -> None:
    program = (
        "import json; from leantune.space import *;"
        "s = Space(lr=log(1e-5, 1e-1), mode=choice('a', 'ü', 3), deep=when(integer(1, 9), mode='a'));"
        "print(json.dumps([c.id for c in s.pool(20, seed=7)]))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "4711"}
    output = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    ).stdout
    space = Space(lr=log(1e-5, 1e-1), mode=choice("a", "ü", 3), deep=when(integer(1, 9), mode="a"))
    assert json.loads(output) == [configuration.id for configuration in space.pool(20, seed=7)]


@given(st.data())
def test_ids_tell_configurations_apart(data: st.DataObject) -> None:
    space = data.draw(spaces(finite=True))
    ids = [configuration.id for configuration in space.pool(50, seed=data.draw(st.integers(0, 99)))]
    assert len(set(ids)) == len(ids)


def test_equal_when_the_values_are() -> None:
    one = Configuration({"a": 1, "b": "x"})
    assert one == Configuration({"b": "x", "a": 1})
    assert hash(one) == hash(Configuration({"b": "x", "a": 1}))
    assert len({one, Configuration({"a": True, "b": "x"}), Configuration({"a": 1.0, "b": "x"})}) == 3
    assert one != {"a": 1, "b": "x"}


def test_a_configuration_is_a_mapping() -> None:
    configuration = SPACE.configuration(EXAMPLE)
    assert list(configuration) == ["lr", "batch", "sync", "cluster"]
    assert len(configuration) == 4
    assert dict(configuration)["batch"] == 64
    assert {**configuration}["lr"] == 0.001
    assert configuration.cluster == Cluster(SMALL, 8)
    assert configuration.usd_per_hour == pytest.approx(0.184)
    assert repr(configuration) == "Configuration(lr=0.001, batch=64, sync=True, cluster=8 x t2.small)"
    with pytest.raises(KeyError, match="momentum"):
        configuration["momentum"]
    assert configuration.get("momentum") is None
    assert "momentum" not in configuration


def test_no_cluster_no_rate() -> None:
    assert Configuration({"x": 1}).cluster is None
    assert Configuration({"x": 1}).usd_per_hour is None


def test_only_values_have_an_id() -> None:
    with pytest.raises(SpaceError, match="not a value"):
        _ = Configuration({"x": object()}).id  # type: ignore[dict-item]


@given(st.data())
def test_codes_and_configurations_are_one_to_one(data: st.DataObject) -> None:
    space = data.draw(spaces())
    chosen = [data.draw(configurations(space)) for _ in range(3)]
    stacked = Configurations.of(space, chosen)
    assert list(stacked) == chosen
    assert all(stacked.index_of(one) == chosen.index(one) for one in chosen), "the first of equal ones"
    again = Configurations.of(space, list(stacked))
    np.testing.assert_array_equal(again.codes, stacked.codes)


def test_of_takes_mappings_and_refuses_wrong_ones() -> None:
    assert Configurations.of(SPACE, [EXAMPLE])[0] == SPACE.configuration(EXAMPLE)
    assert len(Configurations.of(SPACE, [])) == 0
    with pytest.raises(SpaceError, match="missing"):
        Configurations.of(SPACE, [{"lr": 0.1}])


def test_index_of_what_is_not_there() -> None:
    few = SPACE.pool(4, seed=0)
    assert few.index_of({**EXAMPLE, "lr": 0.0123}) is None
    with pytest.raises(SpaceError, match="unknown parameter"):
        few.index_of({"x": 1})


def test_take_and_union() -> None:
    pool = SPACE.pool(8, seed=0)
    taken = pool.take([3, 1, 3])
    assert list(taken) == [pool[3], pool[1], pool[3]]
    joined = taken.union(pool)
    assert len(joined) == 8
    assert list(joined)[:2] == [pool[3], pool[1]]
    with pytest.raises(SpaceError, match="two spaces"):
        pool.union(Space(x=boolean()).grid())


def test_rates_are_dollars_per_hour() -> None:
    rates = Configurations.of(SPACE, [EXAMPLE, {**EXAMPLE, "cluster": Cluster(SMALL, 16)}]).rates
    assert rates is not None
    np.testing.assert_allclose(rates, [8 * 0.023, 16 * 0.023])
    assert Space(x=boolean()).grid().rates is None


def test_columns_cannot_be_written() -> None:
    pool = SPACE.pool(4, seed=0)
    with pytest.raises(ValueError, match="read-only"):
        pool.codes[0, 0] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        pool.features[0, 0] = 0.0


@settings(max_examples=10)
@given(spaces(), st.integers(0, 100))
def test_iteration_agrees_with_indexing(space: Space, seed: int) -> None:
    pool = space.pool(5, seed=seed)
    assert [pool[index] for index in range(len(pool))] == list(pool)
    assert pool[-1] == list(pool)[-1]


def test_a_million_pairs_fit_into_a_gigabyte() -> None:
    """200,000 configurations x 5 shares; the time is measured by `make bench`, not here."""
    space = Space(a=integer(1, 100, log=True), b=choice(*range(5)), c=integer(0, 399), flag=choice("only"))
    tracemalloc.start()
    try:
        grid = space.grid()
        features = grid.features
        position = grid.index_of(grid[123_456])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert features.shape == (200_000, 7)
    assert position == 123_456
    assert peak < 2**30


def test_a_pool_of_reals_is_as_frugal() -> None:
    space = Space(a=linear(0, 1), b=log(1, 10), c=choice(*"abcde"), d=when(linear(0, 1), c="a"))
    tracemalloc.start()
    try:
        features = space.pool(200_000, seed=0).features
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(features) == 200_000
    assert peak < 2**30
