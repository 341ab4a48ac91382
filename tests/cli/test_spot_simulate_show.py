"""How simulations read."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from leantune.cli.spot_simulate_show import (
    HEADINGS,
    Found,
    found_json,
    headline,
    lines,
    notes,
    page,
    sentences,
    table_rows,
)
from leantune.cloud.feeds import Capacity
from leantune.lab.simulate.comparison import Tally, compare
from leantune.lab.simulate.setup import DAY, with_generated_prices
from tests.lab.simulate.small import plan, recorded

PLAN = plan(1, policies=("ours", "random", "oracle", "on-demand"), hours=1.5)


@pytest.fixture(scope="module")
def found() -> Found:
    tallies = compare(PLAN)
    smooth = replace(PLAN, pool=with_generated_prices(PLAN.pool, "smooth"), policies=("ours", "on-demand"))
    first, plain = compare(smooth)
    return Found(PLAN, tallies, tallies[-1], (first, plain))


def priced(tally: Tally, usd: float) -> Tally:
    """The same at another price: one stay costs the whole of it."""
    result = tally.results[0]
    stays = tuple(replace(one, gross_usd=usd if i == 0 else 0.0, refund_usd=0.0) for i, one in enumerate(result.stays))
    return Tally.of(tally.policy, (replace(result, stays=stays),), tally.boot)


def test_the_headline_says_what_was_saved(found: Found) -> None:
    ours, plain = priced(found.first, 1.0), priced(found.on_demand, 4.0)
    text = headline(Found(PLAN, [ours], plain, None)).replace("\u00a0", " ")
    assert text.startswith("Ours costs $1.00 instead of $4.00 on demand: 75 % saved, finished after")
    dear = headline(Found(PLAN, [priced(found.first, 5.0)], plain, None))
    assert dear.startswith("Ours costs $5.00, more than the $4.00 on demand")
    alone = headline(Found(PLAN, [plain], plain, None))
    assert alone.startswith("On demand it costs $4.00")


def test_the_sentences_say_what_is_left_on_smooth_prices_and_the_gap(found: Found) -> None:
    tallies = {tally.policy: tally for tally in found.tallies}
    steps = {name: tally.kept_steps for name, tally in tallies.items()}
    made = [priced(tallies[name], usd * steps[name]) for name, usd in (("ours", 2.0), ("random", 5.0), ("oracle", 1.0))]
    smooth = (priced(tallies["ours"], 3.0), priced(tallies["on-demand"], 4.0))
    first, second = sentences(Found(PLAN, made, tallies["on-demand"], smooth))
    assert "25 % would be saved" in first.replace("\u00a0", " ")
    assert "closes 75 % of the gap" in second.replace("\u00a0", " ")
    nothing = (priced(tallies["ours"], 5.0), priced(tallies["on-demand"], 4.0))
    assert "nothing would be saved" in sentences(Found(PLAN, made[:1], tallies["on-demand"], nothing))[0]
    assert sentences(Found(PLAN, made[:1], tallies["on-demand"], None)) == []


def test_the_table_has_a_row_for_each_policy(found: Found) -> None:
    rows = table_rows(found.tallies)
    assert [row[0] for row in rows] == ["ours", "random", "oracle", "on-demand"]
    assert all(len(row) == len(HEADINGS) for row in rows)
    on_demand = dict(zip(HEADINGS, rows[-1], strict=True))
    assert on_demand["taken"].startswith("0 of ")
    assert (on_demand["free steps"], on_demand["lost"], on_demand["top 1"]) == ("0\u00a0%", "0.0\u00a0%", "hit")


def test_lines_json_and_page_agree(found: Found) -> None:
    told = found_json(found, Path("out.html"))
    json.dumps(told, allow_nan=False)
    text = "\n".join(lines(found, Path("out.html")))
    shown = page(found)
    assert headline(found) in text
    assert shown.headline == headline(found)
    assert text.endswith("out.html")
    assert told["html"] == "out.html"
    policies = told["policies"]
    assert isinstance(policies, list)
    assert [one["usd"] for one in policies] == [tally.usd for tally in found.tallies]
    assert told["saved_share"] == pytest.approx(1 - found.first.usd / found.on_demand.usd)
    assert found_json(replace(found, smooth=None), None)["smooth"] is None
    assert shown.tiles[0].label == "dollars, ours"


def test_notes_tell_when_prices_ended_and_deadlines_broke(found: Found) -> None:
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


def test_notes_tell_when_traces_ended(found: Found) -> None:
    spent = Capacity([PLAN.pool.start], [PLAN.pool.start + 600.0])
    feeds = tuple(replace(feed, capacity=spent, mode="both") for feed in PLAN.pool.feeds)
    result = found.first.results[0]
    began = result.outcome.began - 121 * DAY  # a tuning of 121 days
    long = Tally.of("ours", (replace(result, outcome=replace(result.outcome, began=began)),), found.first.boot)
    told = replace(found, plan=replace(PLAN, pool=replace(PLAN.pool, feeds=feeds)), tallies=[long])
    assert "traces end at 2026-05-05 00:00 UTC: no spot machine was to be had after that (ours)" in notes(told)
    assert not any("traces" in note for note in notes(replace(told, plan=PLAN)))


def test_several_tunings_count_their_hits() -> None:
    several = replace(PLAN, tunings=(recorded(2, 1.0), recorded(2, 1.0, family="other")), policies=("on-demand",))
    (row,) = table_rows(compare(several))
    assert row[-2:] == ("2 of 2", "2 of 2")
