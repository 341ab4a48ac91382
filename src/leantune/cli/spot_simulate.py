"""What `leantune spot simulate` does: set up markets and jobs, simulate every policy, print its costs, draw it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from leantune.cli.command import Answer, Json, picked, typed_names
from leantune.cli.terminal import ProgressCallback, activity, columned, utc, warn
from leantune.cloud.billing import POLICIES
from leantune.cloud.prices import read_prices
from leantune.errors import InvalidInput
from leantune.lab.simulate.comparison import POLL, ComparisonPlan, Tally, Tuning, compare, saved_share
from leantune.lab.simulate.gantt import Page, write_gantt
from leantune.lab.simulate.settings import SimulationSettings
from leantune.lab.simulate.setup import (
    GENERATED_DAYS,
    GENERATED_START,
    PAPER_TYPES,
    Pool,
    file_pool,
    generated_pool,
    read_instances,
    with_generated_prices,
)
from leantune.lab.simulate.simulation import TuningRules
from leantune.lab.simulate.workloads import families, recorded_jobs, stretched
from leantune.report.html import Tile
from leantune.revocation.predictors import named_or_saved
from leantune.text import NBSP, counted, duration, percent, usd
from leantune.units import parse_quantity

ON_DEMAND = "on-demand"
GENERATED = "generated"
ALL = "all"
HEADINGS = (
    "policy", "dollars", "$/1000 steps", "selected", "finished", "free steps", "taken", "checkpoints", "boot",
    "restore", "lost", "top 1", "top 3",
)  # fmt: skip


def simulate(plan: ComparisonPlan, smooth_seed: int | None, target: Path | None) -> Answer:
    """Simulate, and draw where each job ran.

    smooth_seed: of the smooth prices at which the first policy is simulated once more; None: it is not.
    """
    first = plan.policies[0]
    with activity("simulating") as tell:
        compared = _compared(replace(plan, policies=(*plan.policies, ON_DEMAND)), tell)
        smooth = None
        if smooth_seed is not None:
            pool = with_generated_prices(plan.pool, "smooth", seed=smooth_seed)
            both = _compared(replace(plan, pool=pool, policies=(first, ON_DEMAND)), tell)
            smooth = both[first], both[ON_DEMAND]
    summary = SimulationSummary(
        plan, [compared[name] for name in dict.fromkeys(plan.policies)], compared[ON_DEMAND], smooth
    )
    for note in notes(summary):
        warn(note)
    if target is not None:
        write_gantt(page(summary), plan, summary.tallies, target)
    return Answer(summary_json(summary, target), lines(summary, target))


def _compared(plan: ComparisonPlan, tell: ProgressCallback) -> dict[str, Tally]:
    return {tally.policy: tally for tally in compare(plan, tell)}


# -- what was typed


def _names(text: str, option: str) -> tuple[str, ...]:
    names = typed_names(text)
    if text and not names:
        raise InvalidInput(f"{text!r} names nothing", where=option, hint="Write names with commas between")
    return names


def pool_of(settings: SimulationSettings, prices: str, regime: str, types: str, start: str, seed: int) -> Pool:
    """The markets: generated ones, or those of a file of prices."""
    names, revoking = _names(types, "--types"), settings.revoking(seed)
    begin = _moment(start) if start else None
    machines = read_instances(settings.instances) if settings.instances else None
    if prices == GENERATED:
        return generated_pool(
            names or PAPER_TYPES,
            regime=regime,
            start=GENERATED_START if begin is None else begin,
            days=settings.days or GENERATED_DAYS,
            instances=machines,
            revoking=revoking,
        )
    loaded = read_prices(Path(prices))
    for trouble in loaded.report.troubles():
        warn(f"{prices}: {trouble}")
    return file_pool(
        loaded.series,
        Path(prices).name,
        types=names,
        instances=machines,
        start=begin,
        days=settings.days,
        revoking=revoking,
    )


def _moment(text: str) -> float:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        hint = "Write 2016-04-01 or 2016-04-01T12:00"
        raise InvalidInput(f"{text!r} is no time", where="--start", hint=hint) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def plan_of(
    settings: SimulationSettings, pool: Pool, workload: str, policy: str, predictor: str, finish_by: str, seed: int
) -> ComparisonPlan:
    """What is compared on the markets of the pool."""
    billing = POLICIES[settings.provider]
    rules = TuningRules(
        theta=settings.theta,
        mcnt=settings.mcnt,
        notice=max(billing.notice_seconds - POLL, 0.0),
        finish_by=_deadline(pool, finish_by),
    )
    return ComparisonPlan(
        pool,
        _tunings(workload, settings.hours),
        pool.speeds(exponent=settings.exponent, table=settings.speeds),
        _names(policy, "--policy"),
        rules,
        settings.hour_value,
        seed,
        billing,
        settings.exponent,
        named_or_saved(predictor),
    )


def _tunings(workload: str, hours: float) -> tuple[Tuning, ...]:
    """The recorded jobs of one family, or of all, stretched."""
    same = {name.lower(): name for name in families()}
    names = families() if workload == ALL and same else (same.get(workload.lower(), workload),)
    return tuple(stretched(recorded_jobs(name), hours) for name in names)


def _deadline(pool: Pool, finish_by: str) -> float | None:
    """The deadline of all trainings; None: no deadline."""
    if not finish_by:
        return None
    seconds = parse_quantity(finish_by, "time")
    if seconds <= 0:
        hint = "Give a time above 0, counted from the start, such as '30 h'"
        raise InvalidInput(f"{finish_by!r} is not after the start", where="--finish-by", hint=hint)
    return pool.start + seconds


def writable(path: Path) -> Path:
    """The file of the timeline; InvalidInput where it cannot be written."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        hint = "Name a file in a folder that exists, --html timeline.html, or give --no-html"
        raise InvalidInput("the timeline cannot be written there", where=str(path), hint=hint)
    return path


# -- the result


@dataclass(frozen=True)
class SimulationSummary:
    """The result. on_demand: the policy to compare with, simulated also where the user did not name it.

    smooth: the first policy and on demand at the smooth prices of today; None where the prices are smooth already.
    """

    plan: ComparisonPlan
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


def headline(summary: SimulationSummary) -> str:
    """What was saved, and how long it took."""
    first, plain = summary.first, summary.on_demand
    if first.policy == plain.policy:
        return f"On demand it costs {usd(first.usd)} and is finished after {duration(first.finished_seconds)}."
    share = saved_share(first, plain)
    times = f"finished after {duration(first.finished_seconds)} instead of {duration(plain.finished_seconds)}"
    if share < 0:
        return f"{first.policy.capitalize()} costs {usd(first.usd)}, more than the {usd(plain.usd)} on demand; {times}."
    saved = f"{percent(share)} saved, {times}"
    return f"{first.policy.capitalize()} costs {usd(first.usd)} instead of {usd(plain.usd)} on demand: {saved}."


def sentences(summary: SimulationSummary) -> list[str]:
    """The saving on smooth prices, and how close it comes to the oracle's."""
    texts = []
    if summary.smooth is not None and summary.first.policy != summary.on_demand.policy:
        first, plain = summary.smooth
        share = saved_share(first, plain)
        left = f"{percent(share)} would be saved" if share > 0 else "nothing would be saved"
        texts.append(
            f"At smooth prices, as they are today, {left} with the same machines: {usd(first.usd)} instead of "
            f"{usd(plain.usd)}, {percent(first.free_share)} of the steps free instead of "
            f"{percent(summary.first.free_share)}."
        )
    if summary.gap_closed is not None:
        closed = f"{100 * summary.gap_closed:.0f}{NBSP}%"
        texts.append(
            f"In dollars per kept step, ours closes {closed} of the gap between a random market and an oracle that "
            "knows the future."
        )
    return texts


def notes(summary: SimulationSummary) -> list[str]:
    """The limits of the simulation."""
    texts = [f"{summary.plan.pool.source}: {trouble}" for trouble in summary.plan.pool.troubles]
    pool, finish_by = summary.plan.pool, summary.plan.rules.finish_by
    if late := _unfinished_at(summary, pool.end):
        texts.append(f"prices are taken to stay as they were after {_minute(pool.end)} ({late})")
    if late := _unfinished_at(summary, pool.traced_until):
        texts.append(f"traces end at {_minute(pool.traced_until)}: no spot machine available after that ({late})")
    if finish_by is not None and (late := _unfinished_at(summary, finish_by)):
        texts.append(f"not finished within {duration(finish_by - pool.start)}: {late}")
    return texts + [f"{tally.policy}: {note}" for tally in summary.tallies for note in tally.notes]


def _unfinished_at(summary: SimulationSummary, moment: float) -> str:
    """The policies whose tunings went on after a moment."""
    seconds = moment - summary.plan.pool.start
    return ", ".join(tally.policy for tally in summary.tallies if tally.finished_seconds > seconds)


def _minute(time: float) -> str:
    return f"{utc(time):%Y-%m-%d %H:%M} UTC"


def _kicker(summary: SimulationSummary) -> str:
    plan = summary.plan
    names = ", ".join(dict.fromkeys(jobs[0].family for jobs in plan.tunings))
    jobs = counted(sum(map(len, plan.tunings)), "job")
    markets = counted(sum(not feed.on_demand for feed in plan.pool.feeds), "spot market")
    return (
        f"{jobs} of {names}; {markets}, {plan.pool.source}, from {_minute(plan.pool.start)}; "
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
            *(_precise_percent(tally.overhead[part]) for part in ("checkpoint", "boot", "restore")),
            _precise_percent(tally.lost_steps / (tally.kept_steps + tally.lost_steps) if tally.kept_steps else 0.0),
            *(_hit_words(tally, count) for count in (1, 3)),
        )
        for tally in tallies
    ]


def _precise_percent(share: float) -> str:
    return f"{100 * share:.1f}{NBSP}%"


def _hit_words(tally: Tally, count: int) -> str:
    if len(tally.results) > 1:
        return f"{tally.hits(count)} of {len(tally.results)}"
    return "hit" if tally.hits(count) else "missed"


def lines(summary: SimulationSummary, target: Path | None) -> list[str]:
    """The table and the sentences."""
    drawn = [f"Where each job ran: {target}"] if target is not None else []
    return [
        _kicker(summary),
        *columned(HEADINGS, table_rows(summary.tallies)),
        headline(summary),
        *sentences(summary),
        *drawn,
    ]


def summary_json(summary: SimulationSummary, target: Path | None) -> Json:
    """{prices, start, jobs, families, types, speeds, theta, mcnt, provider, predictor, policies: [{policy, usd,
    refund_usd, usd_per_1000_steps, selected_seconds, finished_seconds, free_share, revocations, machines, kept_steps,
    lost_steps, overhead: {checkpoint, boot, restore}, tunings, top_1, top_3, notes}], on_demand_usd, saved_share,
    smooth: {usd, on_demand_usd, saved_share, free_share} or null, gap_closed or null, notes, html}.

    saved_share is that of the first policy against on demand; top_1 and top_3 count tunings.
    """
    plan, smooth = summary.plan, summary.smooth
    return {
        "prices": plan.pool.source,
        "start": utc(plan.pool.start),
        "jobs": sum(map(len, plan.tunings)),
        "families": [jobs[0].family for jobs in plan.tunings],
        "types": plan.pool.types,
        **picked(plan, "speeds=speeds.source theta=rules.theta mcnt=rules.mcnt"),
        **picked(plan, "provider=billing.provider predictor=risk.name"),
        "policies": [_tally_json(tally) for tally in summary.tallies],
        "on_demand_usd": summary.on_demand.usd,
        "saved_share": saved_share(summary.first, summary.on_demand),
        "smooth": smooth
        and {
            "usd": smooth[0].usd,
            "on_demand_usd": smooth[1].usd,
            "saved_share": saved_share(*smooth),
            "free_share": smooth[0].free_share,
        },
        "gap_closed": summary.gap_closed,
        "notes": notes(summary),
        "html": target,
    }


def _tally_json(tally: Tally) -> Json:
    money = "policy usd refund_usd usd_per_1000_steps selected_seconds finished_seconds free_share"
    return {
        **picked(tally, f"{money} revocations machines kept_steps lost_steps overhead"),
        "tunings": len(tally.results),
        "top_1": tally.hits(1),
        "top_3": tally.hits(3),
        "notes": tally.notes,
    }


# -- the page


def page(summary: SimulationSummary) -> Page:
    """The words around the timeline."""
    first, plain = summary.first, summary.on_demand
    overhead = first.overhead
    parts = ", ".join(f"{name} {_precise_percent(share)}" for name, share in overhead.items())
    hits = "hit" if len(first.results) == 1 and first.hits(3) else f"{first.hits(3)} of {len(first.results)}"
    after = f"selected after {duration(first.selected_seconds)}; on demand {duration(plain.finished_seconds)}"
    tiles = (
        Tile(f"dollars, {first.policy}", usd(first.usd), (f"{usd(plain.usd)} on demand",)),
        Tile("finished after", duration(first.finished_seconds), (after,)),
        Tile("free steps", percent(first.free_share), (f"{usd(first.refund_usd)} given back",)),
        Tile("taken by the provider", f"{first.revocations:,}", (f"of {counted(first.machines, 'machine')}",)),
        Tile("overhead", _precise_percent(sum(overhead.values())), (parts,)),
        Tile("best setting in the top 3", hits, (f"in the top 1: {_hit_words(first, 1)}",)),
    )
    return Page(
        "LeanTune spot simulation",
        f"LeanTune spot simulation · {_kicker(summary)}",
        headline(summary),
        sentences(summary),
        tiles,
        HEADINGS,
        table_rows(summary.tallies),
        [f"Speeds: {summary.plan.speeds.source}.", f"Risk by {summary.plan.risk.name}.", *notes(summary)],
    )
