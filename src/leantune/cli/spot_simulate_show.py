"""How a simulation reads: lines for people, one JSON object for programs, the words of the timeline's page.

Keys of the JSON object are promises, as in `show.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from leantune.cli.columns import columned
from leantune.lab.simulate.comparison import Plan, Tally, saved_share
from leantune.lab.simulate.gantt import Page, Tile
from leantune.text import NBSP, counted, duration, percent, usd

Json = dict[str, object]
HEADINGS = (
    "policy", "dollars", "$/1000 steps", "selected", "finished", "free steps", "taken", "checkpoints", "boot",
    "restore", "lost", "top 1", "top 3",
)  # fmt: skip


@dataclass(frozen=True)
class Found:
    """What came out. on_demand: the yardstick, also where nobody asked to see it.

    smooth: the first policy and on demand at the smooth prices of today; None where the prices are smooth already.
    """

    plan: Plan
    tallies: Sequence[Tally]
    on_demand: Tally
    smooth: tuple[Tally, Tally] | None

    @property
    def first(self) -> Tally:
        """The policy that the sentences are about."""
        return self.tallies[0]

    @property
    def gap_closed(self) -> float | None:
        """(random - ours) / (random - oracle) in dollars per kept step; None where one of them is missing."""
        per_step = {tally.policy: tally.usd_per_1000_steps for tally in self.tallies}
        ours, blind, knowing = (per_step.get(name) for name in ("ours", "random", "oracle"))
        if ours is None or blind is None or knowing is None or blind <= knowing:
            return None
        return (blind - ours) / (blind - knowing)


# -- sentences


def headline(found: Found) -> str:
    """What was saved, and how long it took."""
    first, plain = found.first, found.on_demand
    if first.policy == plain.policy:
        return f"On demand it costs {usd(first.usd)} and is finished after {duration(first.finished_seconds)}."
    share = saved_share(first, plain)
    times = f"finished after {duration(first.finished_seconds)} instead of {duration(plain.finished_seconds)}"
    if share < 0:
        return f"{_name(first)} costs {usd(first.usd)}, more than the {usd(plain.usd)} on demand; {times}."
    return (
        f"{_name(first)} costs {usd(first.usd)} instead of {usd(plain.usd)} on demand: {percent(share)} saved, {times}."
    )


def sentences(found: Found) -> list[str]:
    """What is left of it on smooth prices, and how close it comes to knowing the future."""
    told = []
    if found.smooth is not None and found.first.policy != found.on_demand.policy:
        first, plain = found.smooth
        share = saved_share(first, plain)
        left = f"{percent(share)} would be saved" if share > 0 else "nothing would be saved"
        told.append(
            f"At smooth prices, as they are today, {left} with the same machines: {usd(first.usd)} instead of "
            f"{usd(plain.usd)}, {percent(first.free_share)} of the steps free instead of "
            f"{percent(found.first.free_share)}."
        )
    if found.gap_closed is not None:
        closed = f"{100 * found.gap_closed:.0f}{NBSP}%"
        told.append(
            f"In dollars per kept step, ours closes {closed} of the gap between a random market and an oracle that "
            "knows the future."
        )
    return told


def notes(found: Found) -> list[str]:
    """What a reader should know before believing it."""
    told = [f"{found.plan.pool.source}: {trouble}" for trouble in found.plan.pool.troubles]
    pool, finish_by = found.plan.pool, found.plan.rules.finish_by
    if late := _beyond(found, pool.end):
        told.append(f"prices are taken to stay as they were after {_moment(pool.end)} ({late})")
    if late := _beyond(found, pool.traced_until):
        told.append(f"traces end at {_moment(pool.traced_until)}: no spot machine was to be had after that ({late})")
    if finish_by is not None and (late := _beyond(found, finish_by)):
        told.append(f"not finished within {duration(finish_by - pool.start)}: {late}")
    return told + [f"{tally.policy}: {note}" for tally in found.tallies for note in tally.notes]


def _beyond(found: Found, moment: float) -> str:
    """The policies whose tunings went on after a moment."""
    seconds = moment - found.plan.pool.start
    return ", ".join(tally.policy for tally in found.tallies if tally.finished_seconds > seconds)


def _moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"


def _name(tally: Tally) -> str:
    return tally.policy[0].upper() + tally.policy[1:]


def _kicker(found: Found) -> str:
    plan = found.plan
    names = ", ".join(dict.fromkeys(jobs[0].family for jobs in plan.tunings))
    jobs = counted(sum(map(len, plan.tunings)), "job")
    markets = counted(sum(not feed.on_demand for feed in plan.pool.feeds), "spot market")
    return (
        f"{jobs} of {names}; {markets}, {plan.pool.source}, from {_moment(plan.pool.start)}; "
        f"theta {plan.rules.theta:g}, the best {plan.rules.mcnt} go on; billed as {plan.billing.provider} does"
    )


# -- tables


def table_rows(tallies: Sequence[Tally]) -> list[tuple[str, ...]]:
    """One row for each policy, as `HEADINGS` say."""
    return [
        (
            tally.policy,
            usd(tally.usd),
            "–" if tally.usd_per_1000_steps is None else usd(tally.usd_per_1000_steps),
            duration(tally.selected_seconds),
            duration(tally.finished_seconds),
            percent(tally.free_share),
            f"{tally.revocations:,} of {tally.machines:,}",
            *(_tenths(tally.overhead[part]) for part in ("checkpoint", "boot", "restore")),
            _tenths(tally.lost_steps / (tally.kept_steps + tally.lost_steps) if tally.kept_steps else 0.0),
            *(_hits(tally, count) for count in (1, 3)),
        )
        for tally in tallies
    ]


def _tenths(share: float) -> str:
    return f"{100 * share:.1f}{NBSP}%"


def _hits(tally: Tally, count: int) -> str:
    if len(tally.results) > 1:
        return f"{tally.hits(count)} of {len(tally.results)}"
    return "hit" if tally.hits(count) else "missed"


def lines(found: Found, target: Path | None) -> list[str]:
    """The table and the sentences."""
    drawn = [f"Where each job ran: {target}"] if target is not None else []
    return [
        _kicker(found),
        *columned(HEADINGS, table_rows(found.tallies)),
        headline(found),
        *sentences(found),
        *drawn,
    ]


def found_json(found: Found, target: Path | None) -> Json:
    """{prices, start, jobs, families, types, speeds, theta, mcnt, provider, predictor, policies: [{policy, usd,
    refund_usd, usd_per_1000_steps, selected_seconds, finished_seconds, free_share, revocations, machines, kept_steps,
    lost_steps, overhead: {checkpoint, boot, restore}, tunings, top_1, top_3, notes}], on_demand_usd, saved_share,
    smooth: {usd, on_demand_usd, saved_share, free_share} or null, gap_closed or null, notes, html}.

    saved_share is that of the first policy against on demand; top_1 and top_3 count tunings.
    """
    plan, smooth = found.plan, found.smooth
    return {
        "prices": plan.pool.source,
        "start": datetime.fromtimestamp(plan.pool.start, UTC).isoformat(),
        "jobs": sum(map(len, plan.tunings)),
        "families": [jobs[0].family for jobs in plan.tunings],
        "types": list(plan.pool.types),
        "speeds": plan.speeds.source,
        "theta": plan.rules.theta,
        "mcnt": plan.rules.mcnt,
        "provider": plan.billing.provider,
        "predictor": plan.risk.name,
        "policies": [tally_json(tally) for tally in found.tallies],
        "on_demand_usd": found.on_demand.usd,
        "saved_share": saved_share(found.first, found.on_demand),
        "smooth": None
        if smooth is None
        else {
            "usd": smooth[0].usd,
            "on_demand_usd": smooth[1].usd,
            "saved_share": saved_share(*smooth),
            "free_share": smooth[0].free_share,
        },
        "gap_closed": found.gap_closed,
        "notes": notes(found),
        "html": None if target is None else str(target),
    }


def tally_json(tally: Tally) -> Json:
    """One policy, as `found_json` says."""
    return {
        "policy": tally.policy,
        "usd": tally.usd,
        "refund_usd": tally.refund_usd,
        "usd_per_1000_steps": tally.usd_per_1000_steps,
        "selected_seconds": tally.selected_seconds,
        "finished_seconds": tally.finished_seconds,
        "free_share": tally.free_share,
        "revocations": tally.revocations,
        "machines": tally.machines,
        "kept_steps": tally.kept_steps,
        "lost_steps": tally.lost_steps,
        "overhead": tally.overhead,
        "tunings": len(tally.results),
        "top_1": tally.hits(1),
        "top_3": tally.hits(3),
        "notes": list(tally.notes),
    }


# -- the page


def page(found: Found) -> Page:
    """The words around the timeline."""
    first, plain = found.first, found.on_demand
    overhead = first.overhead
    parts = ", ".join(f"{name} {_tenths(share)}" for name, share in overhead.items())
    hits = "hit" if len(first.results) == 1 and first.hits(3) else f"{first.hits(3)} of {len(first.results)}"
    tiles = (
        Tile(f"dollars, {first.policy}", usd(first.usd), f"{usd(plain.usd)} on demand"),
        Tile(
            "finished after",
            duration(first.finished_seconds),
            f"selected after {duration(first.selected_seconds)}; on demand {duration(plain.finished_seconds)}",
        ),
        Tile("free steps", percent(first.free_share), f"{usd(first.refund_usd)} given back"),
        Tile("taken by the provider", f"{first.revocations:,}", f"of {counted(first.machines, 'machine')}"),
        Tile("overhead", _tenths(sum(overhead.values())), parts),
        Tile("best setting in the top 3", hits, f"in the top 1: {_hits(first, 1)}"),
    )
    return Page(
        "LeanTune spot simulation",
        f"LeanTune spot simulation · {_kicker(found)}",
        headline(found),
        sentences(found),
        tiles,
        HEADINGS,
        table_rows(found.tallies),
        [f"Speeds: {found.plan.speeds.source}.", f"Risk by {found.plan.risk.name}.", *notes(found)],
    )
