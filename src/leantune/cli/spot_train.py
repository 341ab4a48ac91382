"""What `leantune spot train` does: read prices, train and score predictors on one later slice, keep each in a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leantune.cli.exit_codes import ExitCode
from leantune.cli.failures import print_json, say, told_errors, warn

if TYPE_CHECKING:
    from leantune.cli.spot_train_show import Outcome, Outcomes
    from leantune.cloud.markets import PriceSeries
    from leantune.lab.training.training import Plan

DEFAULT_PREDICTORS = "hazard,logistic,boosted,tributary,revpred"
DAYS = 60
_GENERATED_TYPES = ("m5.large", "m5.xlarge", "m5.2xlarge", "m4.4xlarge", "c5.xlarge", "c5.4xlarge")
_GENERATED_UNTIL = datetime(2026, 8, 1, tzinfo=UTC).timestamp()  # the date of the shipped catalogue

Prices = Annotated[
    Path | None,
    typer.Option(metavar="PATH", help="Prices: a CSV or JSON file, or a folder of kept prices; else generated ones."),
]
Predictors = Annotated[str, typer.Option(metavar="LIST", help="Which to train, or all.")]
PerMarket = Annotated[bool, typer.Option("--per-market/--pooled", help="A model for each market, or one for all.")]
Tries = Annotated[int, typer.Option(min=1, help="Tries of each predictor's options; validation chooses.")]
Out = Annotated[Path, typer.Option(metavar="FOLDER", help="Where the predictors are written.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same predictors.")]
Days = Annotated[float, typer.Option(help="Use the last so many days of prices.")]
Processes = Annotated[
    int | None, typer.Option(min=1, help="Tries at once [default: one for each core, at most one for each try].")
]
Questions = Annotated[int, typer.Option(min=100, help="Training questions, over all markets.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def train(  # noqa: PLR0913 - the options of a command
    *,
    prices: Prices = None,
    predictors: Predictors = DEFAULT_PREDICTORS,
    per_market: PerMarket = False,
    tries: Tries = 4,
    out: Out = Path("leantune-predictors"),
    seed: Seed = 0,
    days: Days = DAYS,
    processes: Processes = None,
    questions: Questions = 60_000,
    as_json: AsJson = False,
) -> None:
    """Learn from price history how likely each market takes a machine away within the hour.

    Trains on the first 60 % of the time, tunes on the next 15 %, and scores every predictor on the last 25 %; a simple
    count of the past week, which needs no training, is scored with them. Each predictor is written to its own file.

    \b
    Examples:
      $ leantune spot train --prices history.csv
      $ leantune spot train --prices history.csv --predictors boosted --out predictors
      $ leantune spot train --prices history.csv --predictors all --per-market --json
    """  # noqa: D301 (typer reads the backspace: what follows keeps its lines)
    with told_errors(as_json=as_json):
        from leantune.cli import spot_train_show as show
        from leantune.lab.training.training import Plan

        kinds, folder = _kinds(predictors), _folder(out)
        series, source = _last_days(*_series(prices, seed, days), days)
        at_once = min(processes or os.cpu_count() or 1, tries * (len(series) if per_market else 1))
        part = max(questions // 4, 1)
        plan = Plan(tries, seed, per_market, questions, part, 2 * part, processes=at_once)
        outcomes = _trained(kinds, series, plan)
        found = [_kept(outcome, source, plan, folder) for outcome in outcomes.rows]
        if as_json:
            print_json(show.as_json(source, series, outcomes, found))
        else:
            say("\n".join(show.lines(source, series, outcomes, found)))
    raise typer.Exit(ExitCode.WELL)


# -- what is asked for


def _kinds(text: str) -> list[str]:
    from leantune.errors import InvalidInput
    from leantune.revocation.kinds import KINDS, kind_of

    names = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if names == ["all"]:
        return list(KINDS)
    if not names:
        hint = f"Give --predictors all, or some of {', '.join(KINDS)}"
        raise InvalidInput("no predictors to train", where="--predictors", hint=hint)
    return [kind_of(name).name for name in names]


def _folder(out: Path) -> Path:
    from leantune.errors import InvalidInput

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"the folder cannot be made: {error.strerror}"
        raise InvalidInput(what, where=str(out), hint="Name another --out") from None
    return out


def _series(path: Path | None, seed: int, days: float) -> tuple[list[PriceSeries], str]:
    """(series by market, where they come from)."""
    if path is None:
        from leantune.cloud.catalog import catalogue
        from leantune.cloud.generated import generate_prices
        from leantune.cloud.markets import Market

        table = catalogue("aws")
        usd = {Market(name, f"{table.region}a"): table[name].usd_per_hour or 0.0 for name in _GENERATED_TYPES}
        made = generate_prices(usd, start=_GENERATED_UNTIL - days * 86400.0, days=days, seed=seed)
        return list(made.values()), f"generated volatile prices, seed {seed}"
    if path.is_dir():
        from leantune.cloud.price_store import PriceStore

        return list(PriceStore(path).load().values()), str(path)
    from leantune.cli.activity import activity
    from leantune.cloud.prices import read_prices

    with activity(f"reading {path.name}") as tell:
        loaded = read_prices(path, progress=lambda rows: tell(f"{rows:,} rows"))
    for trouble in loaded.report.troubles():
        warn(f"{path}: {trouble}")
    return list(loaded.series.values()), str(path)


def _last_days(series: Sequence[PriceSeries], source: str, days: float) -> tuple[list[PriceSeries], str]:
    """What the last days hold of each market; markets that had gone before are left out."""
    from leantune.cloud.markets import PriceSeries
    from leantune.errors import InvalidInput

    if not series:
        raise InvalidInput("there are no prices", where=source, hint="Import some: leantune spot prices history.csv")
    if not days > 0:
        raise InvalidInput(f"{days} days", where="--days", hint="Give more than 0")
    since = max(one.end for one in series) - days * 86400.0
    chosen = []
    for one in series:
        if one.end > since:
            first = max(int((one.times <= since).sum()) - 1, 0)
            times = one.times[first:].copy()
            times[0] = max(times[0], since)
            chosen.append(PriceSeries(one.market, times, one.prices[first:], end=one.end))
    return chosen, source


# -- training


def _trained(kinds: Sequence[str], series: Sequence[PriceSeries], plan: Plan) -> Outcomes:
    from leantune.cli.interrupts import interruptible
    from leantune.cli.spot_train_show import Outcome, Outcomes, progress
    from leantune.lab.training.training import Slices, judged, train_kind
    from leantune.revocation.predictors import predictor

    slices = Slices.of(series, plan)
    attempts = len(kinds) * plan.tries * (len(series) if plan.per_market else 1)
    rows = []
    with progress(attempts) as done, interruptible():
        for kind in kinds:
            result = train_kind(kind, slices, plan, done)
            rows.append(Outcome(result, judged(result.predictor, slices.test)))
    return Outcomes(slices, rows, judged(predictor(), slices.test))


def _kept(outcome: Outcome, source: str, plan: Plan, folder: Path) -> Path:
    """The file of a trained predictor, with all that one may want to know about it later."""
    from leantune.revocation.saved import Saved, save
    from leantune.revocation.trained import SUFFIX

    result = outcome.result
    provenance: dict[str, Any] = {
        "source": source,
        "markets": list(outcome.judged.markets),
        "plan": asdict(plan),
        "options": {attempt.market: asdict(attempt.options) for attempt in result.kept},
        "validation_brier": {attempt.market: attempt.brier for attempt in result.kept},
        "test": outcome.judged.as_json(),
    }
    path = folder / f"{result.predictor.kind}{SUFFIX}"
    save(Saved(result.predictor, provenance), path)
    return path
