"""What `leantune spot simulate` does: set up markets and jobs, simulate every policy, say what each cost, draw it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leantune.cli.exit_codes import ExitCode
from leantune.cli.failures import print_result, told_errors, warn
from leantune.errors import InvalidInput

if TYPE_CHECKING:
    from leantune.cli.activity import Tell
    from leantune.lab.simulate.comparison import Plan, Tally
    from leantune.lab.simulate.policies import Taste
    from leantune.lab.simulate.setup import Pool, Revoking
    from leantune.lab.simulate.workloads import RecordedJob

ON_DEMAND = "on-demand"
GENERATED = "generated"
ALL = "all"
TIMELINE = Path("leantune-spot.html")


class Regimes(StrEnum):
    """Whose prices are imitated."""

    VOLATILE = "volatile"
    SMOOTH = "smooth"


class Causes(StrEnum):
    """What takes machines away."""

    PRICE = "price"
    CAPACITY = "capacity"
    BOTH = "both"


class Providers(StrEnum):
    """Whose rules of billing and notice hold."""

    AWS = "aws"
    GCP = "gcp"
    AZURE = "azure"


Workload = Annotated[str, typer.Option(metavar="FAMILY", help="Recorded jobs of one family, or all.")]
Hours = Annotated[float, typer.Option(help="Hours of the median job on 4 vCPUs; the recorded ones are stretched.")]
Prices = Annotated[str, typer.Option(metavar="FILE", help="A price history (CSV or JSON), or generated.")]
RegimeName = Annotated[Regimes, typer.Option(help="Generated prices as in 2016, or as they are today.")]
Types = Annotated[str, typer.Option(help="Only these machine types, such as r4.large,m4.2xlarge.")]
Days = Annotated[float | None, typer.Option(help="Days of prices from the start on [default: 30, or all of the file].")]
Start = Annotated[str, typer.Option(metavar="TIME", help="When the tuning begins, such as 2016-04-01T12:00 (UTC).")]
Policy = Annotated[
    str,
    typer.Option(
        help="ours, paper, random, oracle, on-demand, single-cheapest, single-fastest; several with commas between."
    ),
]
Theta = Annotated[float, typer.Option(help="Share of the steps after which the end of a job is predicted.")]
Mcnt = Annotated[int, typer.Option(help="How many of the best go on to the end.")]
RiskPredictor = Annotated[str, typer.Option(metavar="NAME", help="Who predicts revocations: a name or a trained file.")]
Traces = Annotated[Path | None, typer.Option(metavar="FILE", help="Preemption traces of the markets, a YAML mapping.")]
Revocations = Annotated[
    Causes | None, typer.Option(help="What takes machines away [default: price; both where traces are given].")
]
Provider = Annotated[Providers, typer.Option(help="Whose rules of billing and notice hold.")]
FinishBy = Annotated[str, typer.Option(metavar="TIME", help="All must be over within this time, such as '30 h'.")]
HourValue = Annotated[float, typer.Option(metavar="USD", help="What an hour of one job's time is worth.")]
Exponent = Annotated[float, typer.Option(metavar="B", help="A step takes C0 / vCPUs^B seconds.")]
Speeds = Annotated[Path | None, typer.Option(metavar="FILE", help="Measured speeds of types: Scout's runtimes, CSV.")]
InstancesFile = Annotated[
    Path | None, typer.Option("--instances", metavar="FILE", help="CSV of types that the catalogue does not have.")
]
Seed = Annotated[int, typer.Option(help="Of generated prices, of traces' luck and of random choices.")]
Html = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help=f"Where the timeline is drawn [default: {TIMELINE}; nowhere with --json]."),
]
NoHtml = Annotated[bool, typer.Option("--no-html", help="Draw no timeline.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]


@dataclass(frozen=True)
class PriceOptions:
    """Which markets, as they were typed."""

    prices: str
    regime: str
    types: tuple[str, ...]
    days: float | None
    start: str
    instances: Path | None


def simulate(  # noqa: PLR0913 - its options, all by name
    *,
    workload: Workload = ALL,
    hours: Hours = 4.0,
    prices: Prices = GENERATED,
    regime: RegimeName = Regimes.VOLATILE,
    types: Types = "",
    days: Days = None,
    start: Start = "",
    policy: Policy = "ours,random,oracle,on-demand",
    theta: Theta = 0.7,
    mcnt: Mcnt = 3,
    predictor: RiskPredictor = "online-hazard",
    traces: Traces = None,
    revocations: Revocations = None,
    provider: Provider = Providers.AWS,
    finish_by: FinishBy = "",
    hour_value: HourValue = 0.0,
    exponent: Exponent = 0.6,
    speeds: Speeds = None,
    instances: InstancesFile = None,
    seed: Seed = 0,
    html: Html = None,
    no_html: NoHtml = False,
    as_json: AsJson = False,
) -> None:
    """See what a tuning would cost on spot machines, before renting one.

    Recorded training jobs are tuned by SpotTune's loop on simulated markets: every second is billed by the provider's
    rules, machines are taken away by prices or by real preemption traces. Where each job ran is drawn to an HTML file.

    \b
    Examples:
      $ leantune spot simulate
      $ leantune spot simulate --workload ResNet --regime smooth --policy ours,on-demand
      $ leantune spot simulate --prices history.csv --instances types.csv --finish-by "30 h" --json
    """  # noqa: D301 (typer reads the backspace: what follows keeps its lines)
    with told_errors(as_json=as_json):
        from leantune.lab.simulate.policies import Taste

        asked = PriceOptions(prices, regime.value, _listed(types, "--types"), days, start, instances)
        revoking = _revoking(revocations, traces, provider, seed)
        pool = _pool(asked, revoking)
        rules = _Rules(theta, mcnt, finish_by)
        taste = Taste(hour_value, seed)
        plan = _plan(pool, _tunings(workload, hours), revoking, rules, taste, _Speeds(exponent, speeds), predictor)
        plan = replace(plan, policies=_listed(policy, "--policy"))
        target = None if no_html or (as_json and html is None) else _writable(html or TIMELINE)
        _run(plan, None if asked.prices == GENERATED and regime is Regimes.SMOOTH else seed, target, as_json=as_json)
    raise typer.Exit(ExitCode.WELL)


@dataclass(frozen=True)
class _Rules:
    theta: float
    mcnt: int
    finish_by: str


@dataclass(frozen=True)
class _Speeds:
    exponent: float
    table: Path | None


def _run(plan: Plan, smooth_seed: int | None, target: Path | None, *, as_json: bool) -> None:
    from leantune.cli import spot_simulate_show as show
    from leantune.cli.activity import activity
    from leantune.lab.simulate.gantt import write_gantt

    with activity("simulating") as tell:
        everyone = replace(plan, policies=(*plan.policies, ON_DEMAND))
        told = _compared(everyone, tell)
        smooth = None if smooth_seed is None else _smooth(plan, smooth_seed, tell)
    tallies = [told[name] for name in dict.fromkeys(plan.policies)]
    found = show.Found(plan, tallies, told[ON_DEMAND], smooth)
    for note in show.notes(found):
        warn(note)
    if target is not None:
        write_gantt(show.page(found), plan, tallies, target)
    print_result(show.found_json(found, target), show.lines(found, target), as_json=as_json)


def _compared(plan: Plan, tell: Tell) -> dict[str, Tally]:
    from leantune.lab.simulate.comparison import compare

    return {tally.policy: tally for tally in compare(plan, tell)}


def _smooth(plan: Plan, seed: int, tell: Tell) -> tuple[Tally, Tally]:
    """The first policy and machines on demand, where the same machines have the smooth prices of today."""
    from leantune.lab.simulate.setup import with_generated_prices

    pool = with_generated_prices(plan.pool, Regimes.SMOOTH.value, seed=seed)
    first = plan.policies[0]
    told = _compared(replace(plan, pool=pool, policies=(first, ON_DEMAND)), tell)
    return told[first], told[ON_DEMAND]


# -- what was typed


def _listed(text: str, option: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if text and not names:
        raise InvalidInput(f"{text!r} names nothing", where=option, hint="Write names with commas between")
    return names


def _deadline(text: str, start: float) -> float | None:
    from leantune.units import parse_quantity

    if not text:
        return None
    seconds = parse_quantity(text, "time")
    if seconds <= 0:
        hint = "Give a time from the start on that is above 0, such as '30 h'"
        raise InvalidInput(f"{text!r} is over before it begins", where="--finish-by", hint=hint)
    return start + seconds


def _revoking(cause: Causes | None, traces: Path | None, provider: Providers, seed: int) -> Revoking:
    from leantune.cloud.billing import POLICIES
    from leantune.lab.simulate.setup import Revoking

    mode = cause or (Causes.BOTH if traces is not None else Causes.PRICE)
    return Revoking(mode.value, traces, POLICIES[provider.value], seed)


def _pool(asked: PriceOptions, revoking: Revoking) -> Pool:
    from leantune.cloud.prices import read_prices
    from leantune.lab.simulate.setup import (
        GENERATED_DAYS,
        GENERATED_START,
        PAPER_TYPES,
        file_pool,
        generated_pool,
        read_instances,
    )

    if asked.days is not None and not 0 < asked.days <= 400:
        raise InvalidInput(f"--days is {asked.days:g}", where="simulate", hint="Give more than 0 and at most 400")
    start = _moment(asked.start) if asked.start else None
    known = read_instances(asked.instances) if asked.instances else None
    if asked.prices == GENERATED:
        return generated_pool(
            asked.types or PAPER_TYPES,
            regime=asked.regime,
            start=GENERATED_START if start is None else start,
            days=asked.days or GENERATED_DAYS,
            instances=known,
            revoking=revoking,
        )
    loaded = read_prices(Path(asked.prices))
    for trouble in loaded.report.troubles():
        warn(f"{asked.prices}: {trouble}")
    options = {"types": asked.types, "instances": known, "start": start, "days": asked.days}
    return file_pool(loaded.series, Path(asked.prices).name, **options, revoking=revoking)  # type: ignore[arg-type]


def _moment(text: str) -> float:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        hint = "Write 2016-04-01 or 2016-04-01T12:00"
        raise InvalidInput(f"{text!r} is no time", where="--start", hint=hint) from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def _tunings(workload: str, hours: float) -> tuple[tuple[RecordedJob, ...], ...]:
    from leantune.lab.simulate.workloads import families, recorded_jobs, stretched

    same = {name.lower(): name for name in families()}
    names = families() if workload == ALL and same else (same.get(workload.lower(), workload),)
    return tuple(stretched(recorded_jobs(name), hours) for name in names)


def _plan(
    pool: Pool,
    tunings: tuple[tuple[RecordedJob, ...], ...],
    revoking: Revoking,
    typed: _Rules,
    taste: Taste,
    speeds: _Speeds,
    predictor: str,
) -> Plan:
    from leantune.lab.simulate.comparison import POLL, Plan
    from leantune.lab.simulate.simulation import TuningRules
    from leantune.revocation.predictors import named_or_saved

    if speeds.table is not None and not speeds.table.is_file():
        raise InvalidInput("there is no such file", where=str(speeds.table), hint="Correct --speeds, or leave it out")
    notice = max(revoking.policy.notice_seconds - POLL, 0.0)
    return Plan(
        pool,
        tunings,
        pool.speeds(exponent=speeds.exponent, table=speeds.table),
        rules=TuningRules(
            theta=typed.theta, mcnt=typed.mcnt, notice=notice, finish_by=_deadline(typed.finish_by, pool.start)
        ),
        taste=taste,
        billing=revoking.policy,
        exponent=speeds.exponent,
        risk=named_or_saved(predictor),
    )


def _writable(path: Path) -> Path:
    if path.is_dir() or not path.absolute().parent.is_dir():
        hint = "Name a file in a folder that exists, --html timeline.html, or give --no-html"
        raise InvalidInput("the timeline cannot be written there", where=str(path), hint=hint)
    return path
