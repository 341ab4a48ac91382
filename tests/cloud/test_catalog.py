"""The shipped catalogue against the reference, and clusters made of it."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.cloud.catalog import Catalogue, catalogue, clusters
from leantune.errors import SpaceError
from leantune.space import Cluster, Machine, Space, choice, machine
from tests.data import needs

REPOSITORY = Path(__file__).parent.parent.parent
DATA = Path(os.environ.get("LEANTUNE_DATA", REPOSITORY.parent / "shared" / "data"))
REFERENCE = DATA / "catalog" / "aws_us-east-1_2026-08.csv"
FOUR = ["t2.small", "t2.medium", "t2.xlarge", "t2.2xlarge"]
OWN = [machine("small", vcpus=1, memory=2, usd_per_hour=0.02), machine("large", vcpus=4, memory="16 GiB")]


@pytest.fixture(autouse=True)
def nothing_refreshed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tested is shipped, whatever this user has refreshed."""
    monkeypatch.setenv("LEANTUNE_HOME", str(tmp_path))


def test_every_row_agrees_with_the_reference() -> None:
    needs(REFERENCE)
    with REFERENCE.open(encoding="utf-8") as file:
        known = {row["instance_type"]: row for row in csv.DictReader(file)}
    for name, shipped in catalogue("aws").machines.items():
        row = known[name]
        assert (shipped.vcpus, shipped.memory_gib) == (float(row["vcpus"]), float(row["memory_gib"])), name
        assert shipped.usd_per_hour == float(row["usd_per_hour"]), name
        assert shipped.accelerators == float(row["accelerators"] or 0), name
        assert shipped.accelerator == row["accelerator"], name


def test_the_catalogue_says_where_it_comes_from() -> None:
    table = catalogue("aws")
    assert (table.provider, table.region, table.date) == ("aws", "us-east-1", "2026-08")
    assert "aws_us-east-1_2026-08.csv" in table.source
    assert catalogue("aws", "us-east-1") is table


def test_the_families_people_train_on_are_there() -> None:
    families = {name.split(".")[0] for name in catalogue("aws").machines}
    assert families >= {"t2", "t3", "m4", "m5", "m6i", "m7i", "c5", "c6i", "c7i", "r4", "r5", "r6i"}
    assert families >= {"g4dn", "g5", "g6", "p3dn", "p4d", "p5"}
    t2 = [name for name in catalogue("aws").machines if name.startswith("t2.")]
    assert set(t2) >= {"t2.small", "t2.medium", "t2.large", "t2.xlarge", "t2.2xlarge"}


def test_the_papers_prices() -> None:
    """TrimTuner's (data/README.md) and SpotTune's tables."""
    table = catalogue("aws")
    paper = {"t2.small": 0.023, "t2.medium": 0.0464, "t2.xlarge": 0.1856, "t2.2xlarge": 0.3712, "r4.large": 0.133}
    assert {name: table[name].usd_per_hour for name in paper} == paper


def test_machines_with_accelerators() -> None:
    gpu = catalogue("aws")["p4d.24xlarge"]
    assert (gpu.accelerators, gpu.accelerator, gpu.provider, gpu.region) == (8, "A100", "aws", "us-east-1")


def test_trimtuners_clusters() -> None:
    parameter = clusters("aws", types=FOUR, vcpus=[8, 16, 32, 48, 64, 80], extra_nodes=1, overhead_usd_per_hour=0.3712)
    assert len(parameter.options) == 24
    assert {option.vcpus for option in parameter.options} == {8, 16, 32, 48, 64, 80}
    first = parameter.options[0]
    assert (first.type, first.nodes) == ("t2.small", 8)
    assert first.usd_per_hour == pytest.approx(9 * 0.023 + 0.3712)
    assert len(Space(lr=choice(1, 2, 3), batch=choice(16, 256), sync=choice(0, 1), cluster=parameter).grid()) == 288


def test_nodes_for_all_types_or_by_type() -> None:
    both = clusters("aws", types=FOUR[:2], nodes=[1, 2])
    assert [(option.type, option.nodes) for option in both.options] == [
        ("t2.small", 1),
        ("t2.small", 2),
        ("t2.medium", 1),
        ("t2.medium", 2),
    ]
    each = clusters("aws", types=FOUR[:2], nodes={"t2.medium": [3], "t2.small": range(1, 3)})
    assert [(option.type, option.nodes) for option in each.options] == [
        ("t2.small", 1),
        ("t2.small", 2),
        ("t2.medium", 3),
    ]


def test_one_node_of_everything_by_default() -> None:
    parameter = clusters("aws")
    assert len(parameter.options) == len(catalogue("aws").machines)
    assert all(option.nodes == 1 for option in parameter.options)
    assert parameter.rates is not None
    assert np.all(parameter.rates > 0)


def test_of_a_whole_provider_only_what_divides_is_taken() -> None:
    parameter = clusters("aws", vcpus=[4])
    assert all(option.vcpus == 4 for option in parameter.options)
    assert "t2.2xlarge" not in {option.type for option in parameter.options}


@given(st.sets(st.integers(1, 64), min_size=1, max_size=5))
def test_totals_are_totals(halves: set[int]) -> None:
    totals = [2 * half for half in sorted(halves)]
    parameter = clusters([Machine("one", 1, 1), Machine("two", 2, 1)], vcpus=totals)
    assert [option.vcpus for option in parameter.options] == totals * 2
    assert [option.nodes for option in parameter.options] == [*totals, *sorted(halves)]


def test_machines_of_your_own() -> None:
    assert clusters(OWN, types=["large"]).options == (Cluster(OWN[1], 1),)
    assert clusters(OWN[0], nodes=[2]).options == (Cluster(OWN[0], 2),)  # type: ignore[arg-type]
    assert clusters(OWN).rates is None, "one has no price"


@pytest.mark.parametrize(
    ("arguments", "says", "right"),
    [
        ({"machines": "aws", "types": ["t2.smal"]}, "unknown machine type 't2.smal'", "Did you mean t2.small"),
        ({"machines": "aws", "types": ["zzz"]}, "unknown machine type 'zzz'", "machine('small'"),
        ({"machines": "aws", "types": []}, "types is empty", "leave it out"),
        ({"machines": "aws", "types": ["t2.small"] * 2}, "'t2.small' comes twice", "once"),
        ({"machines": "gcp"}, "unknown provider 'gcp'", "aws"),
        ({"machines": "aws", "region": "mars-1"}, "unknown region 'mars-1'", "us-east-1"),
        ({"machines": "aws", "nodes": [1], "vcpus": [8]}, "both nodes and vcpus", "one of them"),
        ({"machines": "aws", "types": FOUR, "vcpus": [4]}, "no total suits 't2.2xlarge'", "multiple of its 8"),
        ({"machines": "aws", "types": ["t2.medium"], "vcpus": [2, 3]}, "gives 3 vCPUs", "smallest has 2"),
        ({"machines": "aws", "types": ["t2.medium"], "vcpus": [0]}, "gives 0 vCPUs", "multiples"),
        ({"machines": "aws", "types": ["t2.small"], "nodes": []}, "no options", "at least one"),
        ({"machines": "aws", "types": ["t2.small"], "vcpus": []}, "no total suits", "multiple"),
        ({"machines": "aws", "types": ["t2.small"], "nodes": [0]}, "nodes is 0", "at least 1"),
        ({"machines": "aws", "types": ["t2.small"], "nodes": [1, 1]}, "comes twice", "once"),
        (
            {"machines": "aws", "types": FOUR[:2], "nodes": {"t2.small": [1]}},
            "no number of nodes for 't2.medium'",
            "nodes=",
        ),
        ({"machines": "aws", "types": FOUR[:1], "nodes": {"t3.small": [1]}}, "not among the types", "t2.small"),
        ({"machines": []}, "no machines", "machine('small'"),
        ({"machines": ["t2.small"]}, "'t2.small' is not a machine", "machine('small'"),
        ({"machines": [OWN[0], OWN[0]]}, "two machines are called 'small'", "own name"),
        ({"machines": OWN, "region": "us-east-1"}, "region is for machines of a provider", "Leave it out"),
        ({"machines": OWN, "types": ["smal"]}, "unknown machine type 'smal'", "Did you mean small"),
    ],
)
def test_wrong_clusters(arguments: dict[str, object], says: str, right: str) -> None:
    with pytest.raises(SpaceError, match=says) as caught:
        clusters(**arguments)  # type: ignore[arg-type]
    assert caught.value.where
    assert right in caught.value.hint


def test_a_catalogue_is_asked_by_type() -> None:
    table = Catalogue("here", "there", "now", "me", {"small": OWN[0]})
    assert table["small"] is OWN[0]
    with pytest.raises(SpaceError, match="unknown machine type 'big'") as caught:
        table["big"]
    assert caught.value.where == "catalogue of here there, now"
