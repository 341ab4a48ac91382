"""Catalogues read from a CSV and fetched from a server that speaks AWS's protocols."""

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from leantune.clock import SimulatedClock
from leantune.cloud.aws import Access
from leantune.cloud.catalog_sources import CSV_COLUMNS, Refreshed, fetch_catalogue, read_catalogue_csv
from leantune.cloud.catalog_tables import parse_table, table_text
from leantune.errors import InvalidInput
from tests.cloud.fake_aws import FakeAws, serving
from tests.data import needs

REPOSITORY = Path(__file__).parent.parent.parent
REFERENCE = (
    Path(os.environ.get("LEANTUNE_DATA", REPOSITORY.parent / "shared" / "data"))
    / "catalog"
    / "aws_us-east-1_2026-08.csv"
)
CLOCK = SimulatedClock(datetime.fromisoformat("2026-03-10T12:00:00+00:00").timestamp())
GOOD = "m5.large,2,8,,,0.096,0.04,z1"


def read(folder: Path, *rows: str, header: str = ",".join(CSV_COLUMNS)) -> Refreshed:
    path = folder / "machines.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return read_catalogue_csv(path, "aws", "us-east-1", CLOCK)


def test_a_csv(tmp_path: Path) -> None:
    rows = [
        GOOD,
        "m5.large,2.0,8,,0,0.096,0.05,z2",
        "p4d,96,1152,A100,8.0,21.9,,z1",
        "half,1,1,L4,0.5,1,,z1",
        "mac,1,1,,,,,z1",
    ]
    found = read(tmp_path, *rows, "m5.large,2,8,,,0.096,0.03,z1")
    assert (found.table.date, found.table.source) == ("2026-03-10", "file machines.csv")
    assert found.left_out == ("half", "mac")
    assert dict(found.table.zones("m5.large")) == {"z1": 0.04, "z2": 0.05}, "the higher of two"
    assert dict(found.table.zones("p4d")) == {}
    gpu = found.table["p4d"]
    assert (gpu.accelerators, gpu.accelerator, gpu.usd_per_hour, gpu.provider, gpu.region) == (
        8,
        "A100",
        21.9,
        "aws",
        "us-east-1",
    )
    assert list(found.table.machines) == ["m5.large", "p4d"]


def test_blanks_around_fields_do_not_count(tmp_path: Path) -> None:
    table = read(tmp_path, GOOD, " m5.large , 2 ,8 ,,,0.096,0.03, z1 ").table
    assert list(table.machines) == ["m5.large"]
    assert dict(table.zones("m5.large")) == {"z1": 0.04}


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("m5.large,2,8,,,0.1,0.04,z1", "two different rows of 'm5.large'"),
        ("m5.large,4,8,,,0.096,0.04,z1", "two different rows of 'm5.large'"),
        ("a,1,1,,,-1,,z", "usd_per_hour is '-1'"),
        ("a,1,1,,,nan,,z", "usd_per_hour is 'nan'"),
        ("a,one,1,,,1,,z", "vcpus is 'one'"),
        ("a,,1,,,1,,z", "vcpus or memory_gib is empty"),
        ("a,1,1,,,1,0,z", "spot_usd_per_hour is '0'"),
        ("a,1,1,,,1,0.5,", "is no zone"),
        ("a,1,1", "eight fields"),
        ("a,1,1,,,1,,z,more", "eight fields"),
        (",1,1,,,1,,z", "with a type"),
    ],
)
def test_wrong_rows_are_named(tmp_path: Path, row: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says) as caught:
        read(tmp_path, GOOD, row)
    assert caught.value.where == f"{tmp_path / 'machines.csv'}, line 3"
    assert caught.value.hint


def test_wrong_files(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no column 'vcpus'"):
        read(tmp_path, header="instance_type")
    with pytest.raises(InvalidInput, match="no machine in it"):
        read(tmp_path)
    with pytest.raises(InvalidInput, match="no type has an on-demand price"):
        read(tmp_path, "a,1,1,,,,,z")
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_catalogue_csv(tmp_path / "none.csv", "aws", "us-east-1", CLOCK)


def test_the_reference_file() -> None:
    needs(REFERENCE)
    found = read_catalogue_csv(REFERENCE, "aws", "us-east-1", CLOCK)
    assert len(found.table.machines) + len(found.left_out) == 1354
    assert len(found.left_out) < 20
    again = parse_table(table_text(found.table), "aws", "us-east-1", "shipped")
    assert dict(again.machines) == dict(found.table.machines)
    assert again.spot == found.table.spot


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAws]:
    with serving(monkeypatch) as fake:
        fake.sizes = {
            "m5.large": (2, 8192, "", 0),
            "p4d.24xlarge": (96, 1179648, "A100", 8),
            "odd.metal": (1, 512, "", 0),
        }
        fake.on_demand = {"m5.large": "0.0960000000", "p4d.24xlarge": "21.9576000000"}
        fake.rows = [
            ("2026-03-01T00:00:00.000Z", "m5.large", "eu-west-1a", "Linux/UNIX", "0.0300"),
            ("2026-03-10T11:00:00.000Z", "m5.large", "eu-west-1a", "Linux/UNIX", "0.0400"),
            ("2026-03-10T10:00:00.000Z", "m5.large", "eu-west-1b", "Linux/UNIX", "0.0500"),
            ("2026-03-10T10:00:00.000Z", "m5.large", "eu-west-1b", "Windows", "0.9000"),
        ]
        yield fake


def test_a_region_of_aws(aws: FakeAws) -> None:
    told: list[str] = []
    found = fetch_catalogue(Access("eu-west-1", aws.url), CLOCK, progress=told.append)
    assert (found.table.region, found.table.date, found.left_out) == ("eu-west-1", "2026-03-10", ("odd.metal",))
    gpu = found.table["p4d.24xlarge"]
    assert (gpu.vcpus, gpu.memory_gib, gpu.accelerators, gpu.accelerator, gpu.usd_per_hour) == (
        96,
        1152,
        8,
        "A100",
        21.9576,
    )
    assert dict(found.table.zones("m5.large")) == {"eu-west-1a": 0.04, "eu-west-1b": 0.05}, "today's prices"
    assert told == ["machine types", "on-demand prices", "spot prices"]


def test_some_types_of_aws(aws: FakeAws) -> None:
    found = fetch_catalogue(Access("eu-west-1", aws.url), CLOCK, ["m5.large"])
    assert list(found.table.machines) == ["m5.large"]
    assert all(form["InstanceType.1"] == "m5.large" for form in aws.asked)


def test_a_refusal(aws: FakeAws) -> None:
    aws.failures = [(400, "InvalidInstanceType")]
    with pytest.raises(InvalidInput, match="InvalidInstanceType"):
        fetch_catalogue(Access("eu-west-1", aws.url), CLOCK, ["m9.huge"])
