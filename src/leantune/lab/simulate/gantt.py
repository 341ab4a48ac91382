"""Where each job ran, as one HTML file that needs nothing else: a row per job, the markets' prices below.

Words and numbers for people are given by the caller (`Page`); the drawing is done by `gantt.js` on the data of `chart`
and `prices`, so that times are zoomed in the browser. Seconds count from the start of the simulation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from leantune.cloud.markets import PriceSeries
from leantune.executors.rental import Purpose
from leantune.lab.simulate.comparison import ComparisonPlan, Tally, Tuning
from leantune.lab.simulate.simulation import SimulationResult
from leantune.report.html import Tile, asset, items_html, page_html, table, tiles_html, write_page
from leantune.store.rows import StayRow
from leantune.text import escaped

Json = dict[str, Any]
MOST_PRICES = 3000  # of one market: more cannot be told apart


@dataclass(frozen=True)
class Page:
    """The words of the page. sentences: below the headline. headings, rows: the table of policies."""

    title: str
    kicker: str
    headline: str
    sentences: Sequence[str] = ()
    tiles: Sequence[Tile] = ()
    headings: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    notes: Sequence[str] = field(default=())


def write_gantt(page: Page, plan: ComparisonPlan, tallies: Sequence[Tally], path: Path) -> None:
    """Write the page."""
    write_page(gantt_html(page, plan, tallies), path)


def gantt_html(page: Page, plan: ComparisonPlan, tallies: Sequence[Tally]) -> str:
    """The whole page."""
    last = max(stay.over for tally in tallies for result in tally.results for stay in result.stays)
    data = {
        "start": plan.pool.start,
        "known": plan.pool.end - plan.pool.start,
        "theta": plan.rules.theta,
        "deadline": None if plan.rules.finish_by is None else plan.rules.finish_by - plan.pool.start,
        "offers": offers(plan),
        "prices": prices(plan, last - plan.pool.start),
        "charts": [chart(plan, tally) for tally in tallies],
    }
    style, stage, script = (asset("leantune.lab.simulate", f"gantt.{kind}") for kind in ("css", "html", "js"))
    return page_html(page.title, style, _body(page, stage), data, [script])


def offers(plan: ComparisonPlan) -> list[Json]:
    """[{market, type, spot, usd}], usd being the price on demand, in the order of the feeds."""
    return [
        {
            "market": str(feed.market),
            "type": feed.machine.name,
            "spot": not feed.on_demand,
            "usd": feed.machine.usd_per_hour,
        }
        for feed in plan.pool.feeds
    ]


def prices(plan: ComparisonPlan, until: float) -> list[Json]:
    """[{offer, t: seconds, p: USD per hour}] of the spot markets; of long series the highest of each stretch."""
    return [
        {"offer": row, **_steps(feed.prices, plan.pool.start, until)}
        for row, feed in enumerate(plan.pool.feeds)
        if feed.prices is not None
    ]


def chart(plan: ComparisonPlan, tally: Tally) -> Json:
    """{policy, end, rows: [{name, family, rank, selected, best, ending}], stays: [...], marks: [{t, text, family}]}."""
    rows: list[Json] = []
    stays: list[Json] = []
    marks: list[Json] = []
    feeds = {(str(feed.market), feed.on_demand): row for row, feed in enumerate(plan.pool.feeds)}
    for jobs, result in zip(plan.tunings, tally.results, strict=True):
        places = {}
        for row in _rows(jobs, result):
            places[row.pop("job")] = len(rows)
            rows.append(row)
        last = {stay.number: stay.machine for stay in result.stays}
        for stay in result.stays:
            is_last = last[stay.number] == stay.machine
            why = _why(stay, result.jobs[stay.number].ending if is_last else "")
            place = {"row": places[stay.number], "offer": feeds[stay.market, stay.on_demand]}
            stays.append({**place, **_stay(stay, result.began), "why": why})
        family = jobs[0].family if len(plan.tunings) > 1 else ""
        marks.append({"t": result.selected_seconds, "text": "selected", "family": family})
        marks.append({"t": result.finished_seconds, "text": "finished", "family": family})
    return {
        "policy": tally.policy,
        "end": max(tally.finished_seconds, 1.0),
        "rows": rows,
        "stays": stays,
        "marks": marks,
    }


def _rows(jobs: Tuning, result: SimulationResult) -> list[Json]:
    """Best first, as they were ranked; jobs without a rank come last."""
    order = [*result.ranking, *(job for job in range(len(jobs)) if job not in result.ranking)]
    final = np.where(np.isfinite(result.final_values), result.final_values, -np.inf if result.maximize else np.inf)
    best = int(np.argmax(final) if result.maximize else np.argmin(final))
    return [
        {
            "job": job,
            "name": jobs[job].name,
            "family": jobs[job].family,
            "rank": result.ranking.index(job) + 1 if job in result.ranking else None,
            "selected": job in result.selected,
            "best": job == best,
            "ending": str(result.jobs[job].ending or ""),
        }
        for job in order
    ]


def _stay(stay: StayRow, began: float) -> Json:
    left = stay.over if stay.left is None else stay.left
    return {
        "bid": stay.max_price,
        "from": round(stay.launched - began, 1),
        "ready": None if stay.ready is None else round(stay.ready - began, 1),
        "left": round(left - began, 1),
        "gone": round(stay.over - began, 1),
        "saving": round(stay.saving_seconds, 1),
        "usd": stay.usd,
        "refund": stay.refund_usd or 0.0,
        "revoked": stay.revoked,
        "step": stay.step_from,
        "kept": stay.kept_steps,
        "lost": stay.lost_steps,
    }


def _why(stay: StayRow, ending: str) -> str:
    """Why a stay ended, in the words of the page. ending: the job's, where this was its last machine."""
    if stay.why == Purpose.ASKED:  # by the tuner, which pauses at theta and stops what has nothing more to learn
        return ending if ending in ("converged", "diverged") else "theta reached"
    return stay.why or ending


def _steps(series: PriceSeries, start: float, until: float) -> Json:
    first = int(np.searchsorted(series.times, start, side="right")) - 1
    last = int(np.searchsorted(series.times, start + until, side="right"))
    times, usd = np.maximum(series.times[first:last] - start, 0.0), series.prices[first:last]
    if len(times) > MOST_PRICES:
        starts = np.arange(0, len(times), math.ceil(len(times) / MOST_PRICES))
        times, usd = times[starts], np.maximum.reduceat(usd, starts)
    return {"t": np.round(times, 1).tolist(), "p": usd.tolist()}


def _body(page: Page, stage: str) -> str:
    """The headline, the drawing, the table of policies and the notes, where there are any."""
    header = f'<p class="kicker">{escaped(page.kicker)}</p><h1>{escaped(page.headline)}</h1>'
    body = f"<header>{header}{items_html(page.sentences, 'p')}{tiles_html(page.tiles)}</header>{stage}"
    if page.rows:
        policies = table(page.headings, [[f"<td>{escaped(cell)}</td>" for cell in row] for row in page.rows])
        body += f'<section id="policies"><h2>Policies side by side</h2>{policies}</section>'
    if notes := items_html(page.notes):
        body += f'<section id="notes"><h2>Notes</h2><ul>{notes}</ul></section>'
    return body
