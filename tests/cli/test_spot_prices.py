"""`leantune spot prices` end to end: import, fetch from a server on this machine, show."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from tests.cli import tiny
from tests.cloud.fake_aws import FakeAws, serving

ROWS = """\
timestamp,instance_type,availability_zone,product,price
2026-03-01T00:00:00Z,m5.large,us-east-1a,Linux/UNIX,0.05
2026-03-01T06:00:00Z,m5.large,us-east-1a,Linux/UNIX,0.2
2026-03-01T12:00:00Z,m5.large,us-east-1a,Linux/UNIX,0.04
2026-03-02T00:00:00Z,m5.large,us-east-1a,Linux/UNIX,0.05
2026-03-01T00:00:00Z,own.type,us-east-1a,Windows,0.5
"""


def invoke(*arguments: object) -> Result:
    return tiny.invoke("spot", "prices", *arguments)


def told(*arguments: object) -> Any:
    return tiny.told("spot", "prices", *arguments)


@pytest.fixture(autouse=True)
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEANTUNE_HOME", str(tmp_path / "home"))
    path = tmp_path / "history.csv"
    path.write_text(ROWS, encoding="utf-8")
    return path


def test_a_file_is_imported_and_summed_up(history: Path, tmp_path: Path) -> None:
    shown = told(history)
    assert shown["store"] == str(tmp_path / "home" / "prices")
    (imported,) = shown["imported"]
    assert (imported["rows"], imported["added"], imported["unreadable"]) == (5, 5, 0)
    market = shown["markets"][0]
    assert {key: market[key] for key in ("market", "rows", "lowest", "median", "highest", "gaps", "on_demand")} == {
        "market": "m5.large/us-east-1a",
        "rows": 4,
        "lowest": 0.04,
        "median": 0.04,
        "highest": 0.2,
        "gaps": 0,
        "on_demand": 0.096,
    }
    assert market["above_on_demand"] == pytest.approx(0.25)
    assert market["changes_per_day"] == pytest.approx(3)
    assert (market["start"], market["end"]) == ("2026-03-01T00:00:00+00:00", "2026-03-02T00:00:00+00:00")
    assert shown["markets"][1]["above_on_demand"] is None
    assert told(history)["imported"][0]["added"] == 0, "again"


def test_for_people(history: Path, tmp_path: Path) -> None:
    result = invoke(history, "--store", tmp_path / "kept")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == f"5 prices of 2 markets in {tmp_path / 'kept'} (USD per hour; times are UTC)"
    assert "m5.large/us-east-1a" in lines[2]
    assert "25.00% of the time" in lines[2]
    assert lines[-1] == "?: the catalogue has no on-demand price (1 markets)"
    assert "5 rows, 5 of them new" in result.stderr


def test_what_is_wrong_with_a_file_is_said(history: Path) -> None:
    history.write_text(ROWS + "later,m5.large,us-east-1a,Linux/UNIX,1\n", encoding="utf-8")
    assert "warning: " in (result := invoke(history)).stderr
    assert "1 row unreadable, left out (the first: line 7)" in result.stderr


def test_filters(history: Path) -> None:
    told(history)
    assert [one["market"] for one in told("--types", "own.type")["markets"]] == ["own.type/us-east-1a/Windows"]
    assert [one["market"] for one in told("--products", "Linux/UNIX, x")["markets"]] == ["m5.large/us-east-1a"]
    result = invoke("--types", "none", "--json")
    assert (result.exit_code, json.loads(result.stdout)["error"]["what"]) == (2, "no such prices are kept")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["none.csv"], "there is no such file"),
        ([], "no such prices are kept"),
        (["--provider", "gcp", "--region", "x"], "prices of 'gcp' cannot be fetched"),
        (["--provider", "aws"], "no region to fetch from"),
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


def test_fetching(aws: FakeAws) -> None:
    """The real clock: rows of the past are within what the server gives for any start, as the price that held."""
    aws.rows = [("2026-03-01T00:00:00.000Z", "m5.large", "us-east-1a", "Linux/UNIX", "0.0400")]
    arguments = ("--provider", "aws", "--region", "us-east-1", "--types", "m5.large")
    first = told(*arguments)
    assert first["imported"][0]["source"].startswith("AWS us-east-1 since 20")
    assert (first["imported"][0]["added"], first["markets"][0]["rows"]) == (1, 1)
    assert told(*arguments)["imported"][0]["added"] == 0


def test_refused_credentials_are_one_line(aws: FakeAws) -> None:
    aws.failures = [(401, "AuthFailure")]
    result = invoke("--provider", "aws", "--region", "us-east-1")
    assert result.exit_code == 2
    assert "refuses the credentials (AuthFailure)" in result.stderr
    assert "Traceback" not in result.output


def test_help_has_examples() -> None:
    assert "$ leantune spot prices history.csv" in invoke("--help").stdout
