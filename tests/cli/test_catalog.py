"""`leantune catalog show` and `refresh` end to end."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from tests.cli import tiny
from tests.cloud.fake_aws import FakeAws, serving

ROWS = """\
instance_type,vcpus,memory_gib,accelerator,accelerators,usd_per_hour,spot_usd_per_hour,availability_zone
m5.large,2,8,,,0.2,0.05,us-east-1a
m5.large,2,8,,,0.2,0.04,us-east-1b
own.gpu,8,64,A100,2,3.5,,us-east-1a
half.gpu,8,64,A100,0.5,3.5,,us-east-1a
"""


def invoke(*arguments: object) -> Result:
    return tiny.invoke("catalog", *arguments)


def told(*arguments: object) -> Any:
    return tiny.told("catalog", *arguments)


@pytest.fixture(autouse=True)
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEANTUNE_HOME", str(tmp_path / "home"))
    path = tmp_path / "machines.csv"
    path.write_text(ROWS, encoding="utf-8")
    return path


def test_the_shipped_table_is_shown() -> None:
    shown = told("show", "--types", "m5.large")
    assert (shown["region"], shown["date"], shown["origin"]) == ("us-east-1", "2026-08", "shipped")
    (machine,) = shown["machines"]
    assert (machine["type"], machine["vcpus"], machine["usd_per_hour"]) == ("m5.large", 2, 0.096)
    assert all(0 < price < 0.096 for price in machine["spot_usd_per_hour"].values())
    assert len(told("show")["machines"]) == 152


def test_for_people() -> None:
    result = invoke("show", "--types", "m5.*, p4d.24xlarge")
    lines = result.stdout.splitlines()
    assert lines[0] == "aws us-east-1, 2026-08: 152 types (the shipped table)"
    assert lines[1].startswith("source: ")
    assert lines[2].split()[:2] == ["type", "accelerators"]
    assert all(line.strip().startswith(("m5.", "p4d.")) for line in lines[3:])
    assert "8 x A100" in lines[-1]
    assert "%" in lines[3]


def test_refresh_from_a_file_and_back(table: Path, tmp_path: Path) -> None:
    changed = told("refresh", "--csv", table)
    kept = tmp_path / "home" / "catalog" / "aws_us-east-1.csv"
    assert changed["table"] == str(kept)
    assert {key: changed[key] for key in ("types", "with_spot_prices", "new", "gone", "price_changed", "left_out")} == {
        "types": 2,
        "with_spot_prices": 1,
        "new": 1,
        "gone": 151,
        "price_changed": 1,
        "left_out": ["half.gpu"],
    }
    shown = told("show")
    assert (shown["origin"], shown["source"], len(shown["machines"])) == (str(kept), "file machines.csv", 2)
    lines = invoke("show").stdout.splitlines()
    assert lines[0].endswith(f": 2 types (refreshed: {kept})")
    assert lines[3].split() == ["m5.large", "2", "8", "0.2000", "0.0400", "80%", "us-east-1b", "of", "2"]
    assert told("refresh", "--undo") == {"removed": str(kept), "shipped": True}
    assert told("show")["origin"] == "shipped"


def test_studies_that_exist_are_mentioned(table: Path) -> None:
    result = invoke("refresh", "--csv", table)
    assert result.exit_code == 0
    assert "warning: 1 types left out" in result.stderr
    assert "studies defined with the former prices are refused" in result.stderr
    assert "warning: studies" not in invoke("refresh", "--csv", table).stderr, "nothing changed"


def test_another_region(table: Path) -> None:
    assert invoke("show", "--region", "eu-west-1").exit_code == 2
    told("refresh", "--csv", table, "--region", "eu-west-1")
    assert told("show", "--region", "eu-west-1")["region"] == "eu-west-1"
    assert told("refresh", "--undo", "--region", "eu-west-1")["shipped"] is False


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["refresh"], "not clear where prices come from"),
        (["refresh", "--undo", "--provider", "aws"], "not clear where prices come from"),
        (["refresh", "--provider", "gcp"], "not clear where prices come from"),
        (["refresh", "--csv", "none.csv"], "cannot be read"),
        (["refresh", "--csv", "none.csv", "--types", "a"], "--types is for --provider aws"),
        (["refresh", "--undo"], "was not refreshed"),
        (["show", "--types", "m5.lage"], "unknown machine type 'm5.lage'"),
        (["show", "--region", "mars"], "unknown region 'mars'"),
    ],
)
def test_wrong_wishes(arguments: list[str], says: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert says in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAws]:
    with serving(monkeypatch) as fake:
        monkeypatch.setenv("AWS_ENDPOINT_URL", fake.url)
        yield fake


def test_refresh_from_aws(aws: FakeAws) -> None:
    aws.sizes, aws.on_demand = {"m5.large": (2, 8192, "", 0)}, {"m5.large": "0.1"}
    aws.rows = [("2026-03-01T00:00:00.000Z", "m5.large", "us-east-1a", "Linux/UNIX", "0.0400")]
    told("refresh", "--provider", "aws", "--region", "us-east-1", "--types", "m5.large")
    shown = told("show")
    assert shown["source"].startswith("AWS: ")
    assert shown["machines"][0]["spot_usd_per_hour"] == {"us-east-1a": 0.04}


def test_a_refusal_changes_nothing(aws: FakeAws, tmp_path: Path) -> None:
    aws.failures = [(403, "UnauthorizedOperation")]
    result = invoke("refresh", "--provider", "aws")
    assert result.exit_code == 2
    assert "may not ask this (UnauthorizedOperation)" in result.stderr
    assert not (tmp_path / "home").exists()


def test_help_has_examples() -> None:
    assert "$ leantune catalog show --types 'm5.*'" in invoke("show", "--help").stdout
    assert "$ leantune catalog refresh --undo" in invoke("refresh", "--help").stdout
