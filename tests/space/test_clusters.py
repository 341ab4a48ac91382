"""Machines and clusters of them."""

import math

import pytest

from leantune.errors import SpaceError
from leantune.space import Cluster, Machine, machine

SMALL = machine("small", vcpus=1, memory="2 GiB", usd_per_hour=0.023)
GPU = machine("gpu", vcpus=8, memory=61, usd_per_hour=3.06, accelerators=1, accelerator="V100")


def test_a_cluster_adds_up_its_working_nodes() -> None:
    cluster = Cluster(GPU, 4)
    assert (cluster.type, cluster.vcpus, cluster.memory_gib, cluster.accelerators) == ("gpu", 32, 244, 4)
    assert cluster.usd_per_hour == pytest.approx(12.24)
    assert str(cluster) == "4 x gpu"


def test_extra_nodes_and_overhead_are_paid_for_but_do_not_work() -> None:
    cluster = Cluster(SMALL, 8, extra_nodes=1, overhead_usd_per_hour=0.3712)
    assert cluster.vcpus == 8
    assert cluster.usd_per_hour == pytest.approx(9 * 0.023 + 0.3712)


def test_without_a_price_nobody_knows_the_rate() -> None:
    assert Cluster(machine("mine", vcpus=4, memory=8), 2, overhead_usd_per_hour=1.0).usd_per_hour is None


def test_json_names_type_and_nodes() -> None:
    assert Cluster(SMALL, 8, extra_nodes=1).as_json() == {"type": "small", "nodes": 8}


@pytest.mark.parametrize(("memory", "gib"), [(2, 2.0), ("2 GiB", 2.0), ("2 GB", 2e9 / 2**30), ("512 MiB", 0.5)])
def test_memory_has_units(memory: float | str, gib: float) -> None:
    assert machine("m", vcpus=1, memory=memory).memory_gib == pytest.approx(gib)


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"vcpus": 0, "memory": 1}, "vcpus is 0"),
        ({"vcpus": math.nan, "memory": 1}, "vcpus is nan"),
        ({"vcpus": 1, "memory": -1}, "memory is -1"),
        ({"vcpus": 1, "memory": "2 GHz"}, "unknown unit 'GHz'"),
        ({"vcpus": 1, "memory": 1, "usd_per_hour": 0}, "usd_per_hour is 0"),
        ({"vcpus": 1, "memory": 1, "usd_per_hour": math.inf}, "usd_per_hour is inf"),
        ({"vcpus": 1, "memory": 1, "accelerators": -1}, "accelerators is -1"),
        ({"vcpus": True, "memory": 1}, "vcpus is True"),
    ],
)
def test_wrong_facts_about_a_machine(facts: dict[str, float], says: str) -> None:
    with pytest.raises(SpaceError, match=says) as caught:
        machine("odd", **facts)  # type: ignore[arg-type]
    assert "'odd'" in caught.value.where
    assert caught.value.hint


def test_a_machine_has_a_name() -> None:
    with pytest.raises(SpaceError, match="needs a name"):
        Machine("", 1, 1)


@pytest.mark.parametrize(
    ("nodes", "extra", "overhead", "says"),
    [
        (0, 0, 0.0, "nodes is 0"),
        (1, -1, 0.0, "extra_nodes is -1"),
        (1, 0, -0.1, "overhead"),
        (1, 0, math.nan, "overhead"),
    ],
)
def test_wrong_clusters(nodes: int, extra: int, overhead: float, says: str) -> None:
    with pytest.raises(SpaceError, match=says) as caught:
        Cluster(SMALL, nodes, extra, overhead)
    assert "small" in caught.value.where
