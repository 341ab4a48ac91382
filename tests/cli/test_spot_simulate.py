"""`leantune spot simulate` end to end, and how simulations read."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from leantune.cli.command import encoded
from leantune.cli.spot_simulate import (
    HEADINGS,
    SimulationSummary,
    headline,
    lines,
    notes,
    page,
    sentences,
    summary_json,
    table_rows,
)
from leantune.cloud.feeds import MarketCapacity
from leantune.lab.simulate import workloads
from leantune.lab.simulate.comparison import Tally, compare
from leantune.lab.simulate.setup import DAY, with_generated_prices
from tests.cli import tiny
from tests.lab.simulate.small import plan, recorded

QUICK = ("--workload", "Toy", "--types", "r4.large,m4.2xlarge")


@pytest.fixture(autouse=True)
def jobs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Two families of small jobs instead of the recorded ones, and a folder of its own."""
    monkeypatch.setattr(workloads, "_by_family", lambda: {"toy": recorded(3), "other": recorded(3, family="other")})
    monkeypatch.chdir(tmp_path)
    yield


def typed(arguments: tuple[str, ...], settings: Mapping[str, object]) -> tuple[str, ...]:
    """The command with a file of settings, beside the working folder: jobs of an hour, two days of generated prices."""
    short = {"hours": 1} if "--prices" in arguments else {"hours": 1, "days": 2}
    path = Path.cwd().with_suffix(".yaml")
    path.write_text(json.dumps({**short, **settings}, indent=1), encoding="utf-8")
    return ("spot", "simulate", *arguments, "--settings", str(path))


def run(*arguments: str, **settings: object) -> Result:
    return tiny.invoke(*typed(arguments, settings))


def told(*arguments: str, **settings: object) -> Any:
    return tiny.told(*typed(arguments, settings))


def error(*arguments: str, **settings: object) -> str:
    result = run(*arguments, **settings)
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
    whole = told(*QUICK, "--policy", "on-demand", "--no-html", theta=1)["policies"][0]
    assert whole["kept_steps"] > usual["kept_steps"] * 0.99
    assert whole["selected_seconds"] == whole["finished_seconds"] > usual["selected_seconds"]
    azure = told(*QUICK, "--policy", "random", "--no-html", provider="azure")
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
    arguments = ("--workload", "toy", "--prices", str(path), "--policy", "ours", "--no-html")
    assert "not known of old.large" in error(*arguments)
    table = tmp_path / "types.csv"
    table.write_text("instance_type,vcpu,mem_gib,ondemand_usd_hr\nold.large,2,8,0.2\n", encoding="utf-8")
    read = told(*arguments, "--start", "2016-03-12T06:00", instances=str(table))
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
    assert told(*arguments, "--start", "2016-03-20", hours=40)["notes"] == [note]
    assert told(*arguments, "--start", "2016-03-19")["notes"] == []


def test_json_draws_a_timeline_only_where_one_is_asked_for(tmp_path: Path) -> None:
    arguments = (*QUICK, "--policy", "on-demand")
    assert told(*arguments)["html"] is None
    assert list(tmp_path.iterdir()) == []
    assert told(*arguments, "--html", "mine.html")["html"] == "mine.html"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.html"]


def test_generated_prices_of_types_of_a_table(tmp_path: Path) -> None:
    table = tmp_path / "types.csv"
    table.write_text("instance_type,vcpu,mem_gib,ondemand_usd_hr\nold.large,2,8,0.2\n", encoding="utf-8")
    arguments = ("--workload", "toy", "--types", "old.large", "--policy", "on-demand")
    assert told(*arguments, instances=str(table))["types"] == ["old.large"]


def test_traces_take_machines(tmp_path: Path) -> None:
    path = price_file(tmp_path)
    # a machine goes after half an hour, again and again
    (tmp_path / "trace.json").write_text(json.dumps({"metadata": {"gap_seconds": 900}, "data": [2, 2, 0, 2]}))
    mapping = tmp_path / "map.yaml"
    mapping.write_text("r4.large/us-east-1a: trace.json\n", encoding="utf-8")
    arguments = ("--workload", "toy", "--prices", str(path), "--types", "r4.large", "--no-html")
    traced = told(*arguments, "--policy", "random", traces=str(mapping))["policies"][0]
    calm = told(*arguments, "--policy", "random")["policies"][0]
    assert traced["revocations"] > calm["revocations"] == 0
    assert "need traces" in error(*arguments, revocations="capacity")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--policy", "best"), "there is no policy 'best'"),
        (("--workload", "absent"), "no recording of 'absent'"),
        (("--start", "yesterday"), "'yesterday' is no time"),
        (("--finish-by", "soon"), "soon"),
        (("--predictor", "revpred"), "has to be trained first"),
        (("--html", "absent/timeline.html"), "cannot be written there"),
        (("--types", "r9.giant"), "unknown machine type 'r9.giant'"),
        (("--types", "r9.giant"), "name it in a --settings file: instances: types.csv"),
        (("--types", ","), "',' names nothing (--types)"),
        (("--prices", "absent.csv"), "absent.csv"),
        (("--policy", ","), "',' names nothing (--policy)"),
        (("--policy", ""), "there is no policy to simulate"),
        (("--seed", "-1"), "the seed is -1"),
        (("--finish-by", "-3 h"), "'-3 h' is not after the start"),
    ],
)
def test_what_is_wrong_is_said(arguments: tuple[str, ...], text: str) -> None:
    assert text in error(*QUICK, *arguments)


def test_what_is_wrong_in_the_settings_is_said_with_its_line() -> None:
    said = error(*QUICK, theta=2)
    assert "2 is more than 1" in said
    assert "line 4, theta" in said


PLAN = plan(1, policies=("ours", "random", "oracle", "on-demand"), hours=1.5)


@pytest.fixture(scope="module")
def found() -> SimulationSummary:
    tallies = compare(PLAN)
    smooth = replace(PLAN, pool=with_generated_prices(PLAN.pool, "smooth"), policies=("ours", "on-demand"))
    first, plain = compare(smooth)
    return SimulationSummary(PLAN, tallies, tallies[-1], (first, plain))


def priced(tally: Tally, usd: float) -> Tally:
    """The same at another price: one stay costs the whole of it."""
    result = tally.results[0]
    stays = tuple(replace(one, gross_usd=usd if i == 0 else 0.0, refund_usd=0.0) for i, one in enumerate(result.stays))
    return Tally.of(tally.policy, (replace(result, stays=stays),), tally.boot)


def test_the_headline_says_what_was_saved(found: SimulationSummary) -> None:
    ours, plain = priced(found.first, 1.0), priced(found.on_demand, 4.0)
    text = headline(SimulationSummary(PLAN, [ours], plain, None)).replace("\u00a0", " ")
    assert text.startswith("Ours costs $1.00 instead of $4.00 on demand: 75 % saved, finished after")
    dear = headline(SimulationSummary(PLAN, [priced(found.first, 5.0)], plain, None))
    assert dear.startswith("Ours costs $5.00, more than the $4.00 on demand")
    alone = headline(SimulationSummary(PLAN, [plain], plain, None))
    assert alone.startswith("On demand it costs $4.00")


def test_the_sentences_say_what_is_left_on_smooth_prices_and_the_gap(found: SimulationSummary) -> None:
    tallies = {tally.policy: tally for tally in found.tallies}
    steps = {name: tally.kept_steps for name, tally in tallies.items()}
    made = [priced(tallies[name], usd * steps[name]) for name, usd in (("ours", 2.0), ("random", 5.0), ("oracle", 1.0))]
    smooth = (priced(tallies["ours"], 3.0), priced(tallies["on-demand"], 4.0))
    first, second = sentences(SimulationSummary(PLAN, made, tallies["on-demand"], smooth))
    assert "25 % would be saved" in first.replace("\u00a0", " ")
    assert "closes 75 % of the gap" in second.replace("\u00a0", " ")
    nothing = (priced(tallies["ours"], 5.0), priced(tallies["on-demand"], 4.0))
    assert "nothing would be saved" in sentences(SimulationSummary(PLAN, made[:1], tallies["on-demand"], nothing))[0]
    assert sentences(SimulationSummary(PLAN, made[:1], tallies["on-demand"], None)) == []


def test_the_table_has_a_row_for_each_policy(found: SimulationSummary) -> None:
    rows = table_rows(found.tallies)
    assert [row[0] for row in rows] == ["ours", "random", "oracle", "on-demand"]
    assert all(len(row) == len(HEADINGS) for row in rows)
    on_demand = dict(zip(HEADINGS, rows[-1], strict=True))
    assert on_demand["taken"].startswith("0 of ")
    assert (on_demand["free steps"], on_demand["lost"], on_demand["top 1"]) == ("0\u00a0%", "0.0\u00a0%", "hit")


def test_lines_json_and_page_agree(found: SimulationSummary) -> None:
    told = summary_json(found, Path("out.html"))
    json.dumps(encoded(told), allow_nan=False)
    text = "\n".join(lines(found, Path("out.html")))
    shown = page(found)
    assert headline(found) in text
    assert shown.headline == headline(found)
    assert text.endswith("out.html")
    assert told["html"] == Path("out.html")
    policies = told["policies"]
    assert isinstance(policies, list)
    assert [one["usd"] for one in policies] == [tally.usd for tally in found.tallies]
    assert told["saved_share"] == pytest.approx(1 - found.first.usd / found.on_demand.usd)
    assert summary_json(replace(found, smooth=None), None)["smooth"] is None
    assert shown.tiles[0].label == "dollars, ours"


def test_notes_tell_when_prices_ended_and_deadlines_broke(found: SimulationSummary) -> None:
    short = replace(PLAN, pool=replace(PLAN.pool, end=PLAN.pool.start + 600.0))
    assert notes(replace(found, plan=short)) == [
        "prices are taken to stay as they were after 2026-01-05 00:10 UTC (ours, random, oracle, on-demand)"
    ]
    soonest, *_, last = sorted(found.tallies, key=lambda tally: tally.finished_seconds)
    between = PLAN.pool.start + (soonest.finished_seconds + last.finished_seconds) / 2
    (note,) = notes(replace(found, plan=replace(PLAN, pool=replace(PLAN.pool, end=between))))
    assert last.policy in note
    assert soonest.policy not in note
    hurried = replace(PLAN, rules=replace(PLAN.rules, finish_by=PLAN.pool.start + 60.0))
    assert any("not finished within" in note for note in notes(replace(found, plan=hurried)))
    assert notes(found) == []


def test_notes_tell_when_traces_ended(found: SimulationSummary) -> None:
    spent = MarketCapacity([PLAN.pool.start], [PLAN.pool.start + 600.0])
    feeds = tuple(replace(feed, capacity=spent, mode="both") for feed in PLAN.pool.feeds)
    result = found.first.results[0]
    began = result.began - 121 * DAY  # a tuning of 121 days
    long = Tally.of("ours", (replace(result, began=began),), found.first.boot)
    told = replace(found, plan=replace(PLAN, pool=replace(PLAN.pool, feeds=feeds)), tallies=[long])
    assert "traces end at 2026-05-05 00:00 UTC: no spot machine available after that (ours)" in notes(told)
    assert not any("traces" in note for note in notes(replace(told, plan=PLAN)))


def test_several_tunings_count_their_hits() -> None:
    several = replace(PLAN, tunings=(recorded(2, 1.0), recorded(2, 1.0, family="other")), policies=("on-demand",))
    (row,) = table_rows(compare(several))
    assert row[-2:] == ("2 of 2", "2 of 2")
