"""`leantune spot simulate` from the command line to its files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from leantune.cli.spot_simulate import simulate
from leantune.lab.simulate import workloads
from tests.lab.simulate.small import recorded

QUICK = ("--workload", "Toy", "--types", "r4.large,m4.2xlarge", "--days", "2", "--hours", "1")


@pytest.fixture(autouse=True)
def jobs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Two families of small jobs instead of the recorded ones, and a folder of its own."""
    monkeypatch.setattr(workloads, "_by_family", lambda: {"toy": recorded(3), "other": recorded(3, family="other")})
    monkeypatch.chdir(tmp_path)
    yield


def run(*arguments: str) -> Result:
    app = typer.Typer()
    app.command()(simulate)
    return CliRunner().invoke(app, list(arguments))


def told(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    read: dict[str, Any] = json.loads(result.stdout)
    return read


def error(*arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 2
    return " ".join(result.output.split())


def test_a_table_sentences_and_a_timeline(tmp_path: Path) -> None:
    result = run(*QUICK)
    assert result.exit_code == 0, result.output
    for text in ("ours", "random", "oracle", "on-demand", "instead of", "At smooth prices", "of the gap"):
        assert text in result.stdout
    assert "leantune-spot.html" in result.stdout
    assert (tmp_path / "leantune-spot.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_json_and_the_choice_of_policies(tmp_path: Path) -> None:
    read = told(*QUICK, "--policy", "single-cheapest,paper", "--no-html", "--regime", "smooth")
    assert [one["policy"] for one in read["policies"]] == ["single-cheapest", "paper"]
    assert read["types"] == ["r4.large", "m4.2xlarge"]
    assert read["smooth"] is None  # they are smooth already
    assert 0 < read["saved_share"] < 1
    assert read["html"] is None
    assert list(tmp_path.iterdir()) == []


def test_all_families_are_tuned_each_for_itself() -> None:
    read = told("--workload", "all", *QUICK[2:], "--policy", "on-demand", "--no-html")
    assert read["families"] == ["other", "toy"]
    assert read["policies"][0]["tunings"] == 2
    assert read["jobs"] == 6


def test_theta_the_provider_and_the_deadline_matter() -> None:
    usual = told(*QUICK, "--policy", "on-demand", "--no-html")["policies"][0]
    whole = told(*QUICK, "--policy", "on-demand", "--no-html", "--theta", "1")["policies"][0]
    assert whole["kept_steps"] > usual["kept_steps"] * 0.99
    assert whole["selected_seconds"] == whole["finished_seconds"] > usual["selected_seconds"]
    azure = told(*QUICK, "--policy", "random", "--no-html", "--provider", "azure")
    assert azure["provider"] == "azure"
    assert azure["policies"][0]["refund_usd"] == 0  # Azure gives nothing back
    slow = told(*QUICK, "--policy", "ours", "--no-html")["policies"][0]["finished_seconds"]
    wanted = 0.85 * slow
    hurried = told(*QUICK, "--policy", "ours", "--no-html", "--finish-by", f"{wanted} s")["policies"][0]
    assert hurried["finished_seconds"] <= wanted


def price_file(folder: Path) -> Path:
    path = folder / "prices.csv"
    rows = ["timestamp,instance_type,availability_zone,product,price"]
    for day in range(1, 21):
        for name, usd in (("old.large", 0.03), ("r4.large", 0.05)):
            rows += [f"2016-03-{day:02d}T{hour:02d}:00:00Z,{name},us-east-1a,Linux/UNIX,{usd}" for hour in range(24)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_a_price_file_with_a_table_of_types(tmp_path: Path) -> None:
    path = price_file(tmp_path)
    arguments = ("--workload", "toy", "--hours", "1", "--prices", str(path), "--policy", "ours", "--no-html")
    assert "not known of old.large" in error(*arguments)
    table = tmp_path / "types.csv"
    table.write_text("instance_type,vcpu,mem_gib,ondemand_usd_hr\nold.large,2,8,0.2\n", encoding="utf-8")
    read = told(*arguments, "--instances", str(table), "--start", "2016-03-12T06:00")
    assert read["start"] == "2016-03-12T06:00:00+00:00"
    assert read["types"] == ["old.large", "r4.large"]
    assert read["smooth"]["saved_share"] < read["saved_share"]


def test_a_start_outside_of_the_prices_is_refused_as_it_was_typed(tmp_path: Path) -> None:
    said = error("--types", "r4.large", "--prices", str(price_file(tmp_path)), "--start", "2016-04-01T12:00")
    assert "no market has prices at 2016-04-01T12:00" in said
    assert "from 2016-03-01T00:00 until 2016-03-20T23:00 (UTC)" in said


def test_a_tuning_beyond_the_end_of_the_prices_is_told(tmp_path: Path) -> None:
    arguments = ("--workload", "toy", "--types", "r4.large", "--prices", str(price_file(tmp_path)), "--policy", "ours")
    note = "prices are taken to stay as they were after 2016-03-20 23:00 UTC (ours)"
    assert told(*arguments, "--hours", "40", "--start", "2016-03-20")["notes"] == [note]
    assert told(*arguments, "--hours", "1", "--start", "2016-03-19")["notes"] == []


def test_json_draws_a_timeline_only_where_one_is_asked_for(tmp_path: Path) -> None:
    arguments = (*QUICK, "--policy", "on-demand")
    assert told(*arguments)["html"] is None
    assert list(tmp_path.iterdir()) == []
    assert told(*arguments, "--html", "mine.html")["html"] == "mine.html"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.html"]


def test_generated_prices_of_types_of_a_table(tmp_path: Path) -> None:
    table = tmp_path / "types.csv"
    table.write_text("instance_type,vcpu,mem_gib,ondemand_usd_hr\nold.large,2,8,0.2\n", encoding="utf-8")
    arguments = ("--workload", "toy", "--hours", "1", "--days", "2", "--types", "old.large", "--policy", "on-demand")
    assert told(*arguments, "--instances", str(table))["types"] == ["old.large"]


def test_traces_take_machines(tmp_path: Path) -> None:
    path = price_file(tmp_path)
    # a machine goes after half an hour, again and again
    (tmp_path / "trace.json").write_text(json.dumps({"metadata": {"gap_seconds": 900}, "data": [2, 2, 0, 2]}))
    mapping = tmp_path / "map.yaml"
    mapping.write_text("r4.large/us-east-1a: trace.json\n", encoding="utf-8")
    arguments = ("--workload", "toy", "--hours", "1", "--prices", str(path), "--types", "r4.large", "--no-html")
    traced = told(*arguments, "--policy", "random", "--traces", str(mapping))["policies"][0]
    calm = told(*arguments, "--policy", "random")["policies"][0]
    assert traced["revocations"] > calm["revocations"] == 0
    assert "need traces" in error(*arguments, "--revocations", "capacity")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--policy", "best"), "there is no policy 'best'"),
        (("--workload", "absent"), "no recording of 'absent'"),
        (("--start", "yesterday"), "'yesterday' is no time"),
        (("--days", "0"), "--days is 0"),
        (("--theta", "2"), "theta is 2"),
        (("--finish-by", "soon"), "soon"),
        (("--predictor", "revpred"), "has to be trained first"),
        (("--html", "absent/timeline.html"), "cannot be written there"),
        (("--speeds", "absent.csv"), "there is no such file"),
        (("--types", "r9.giant"), "unknown machine type 'r9.giant'"),
        (("--types", "r9.giant"), "describe it with --instances FILE"),
        (("--types", ","), "',' names nothing (--types)"),
        (("--prices", "absent.csv"), "absent.csv"),
        (("--policy", ","), "',' names nothing (--policy)"),
        (("--policy", ""), "there is no policy to simulate"),
        (("--seed", "-1"), "the seed is -1"),
        (("--finish-by", "-3 h"), "'-3 h' is over before it begins"),
        (("--hour-value", "nan"), "an hour is worth nan USD"),
        (("--hour-value", "-1", "--policy", "oracle"), "an hour is worth -1 USD"),
    ],
)
def test_what_is_wrong_is_said(arguments: tuple[str, ...], text: str) -> None:
    assert text in error(*QUICK, *arguments)
