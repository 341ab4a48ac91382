"""What `leantune spot train` does: read prices, train and score predictors on one later slice, keep each in a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from leantune.cli.command import Answer, Json, typed_names
from leantune.cli.terminal import ProgressCallback, activity, columned, interruptible, utc, warn
from leantune.cloud.catalog import catalogue
from leantune.cloud.generated import generate_prices
from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.price_store import PriceStore
from leantune.cloud.prices import read_prices
from leantune.errors import InvalidInput
from leantune.lab.training.training import (
    Attempt,
    PredictorScores,
    Slices,
    TrainingPlan,
    TrainingResult,
    judged,
    train_kind,
)
from leantune.revocation.kinds import KINDS, kind_of
from leantune.revocation.predictors import predictor, save
from leantune.revocation.trained import SUFFIX
from leantune.text import counted

_GENERATED_TYPES = ("m5.large", "m5.xlarge", "m5.2xlarge", "m4.4xlarge", "c5.xlarge", "c5.4xlarge")
_GENERATED_UNTIL = datetime(2026, 8, 1, tzinfo=UTC).timestamp()  # the date of the shipped catalogue


@dataclass(frozen=True)
class Scored:
    """The scores of a predictor; file and seconds: of its training, None for the one that needs none."""

    judged: PredictorScores
    file: Path | None = None
    seconds: float | None = None


def train(kinds: Sequence[str], series: Sequence[PriceSeries], source: str, plan: TrainingPlan, folder: Path) -> Answer:
    """Train each kind, score all on the same questions, and write a file for each."""
    slices = Slices.of(series, plan)
    tries = len(kinds) * plan.tries * (len(series) if plan.per_market else 1)
    with activity("spot train", tries, quiet=0.0) as tell, interruptible():
        done = counted_tries(tell, tries)
        results = [train_kind(kind, slices, plan, done) for kind in kinds]
    trained = []
    for result in results:
        scores = judged(result.predictor, slices.test)
        trained.append(Scored(scores, _saved_file(result, scores, source, plan, folder), result.seconds))
    untrained = Scored(judged(predictor(), slices.test))
    split = slices.split
    periods = {
        name: [f"{utc(time):%Y-%m-%d %H:%M}" for time in (period.begin, period.end)]
        for name, period in (("train", split.train), ("validation", split.validation), ("test", split.test))
    }
    document: Json = {
        "source": source,
        "markets": [str(prices.market) for prices in series],
        "periods": periods,
        "predictors": [{**vars(row.judged), "file": row.file, "seconds": row.seconds} for row in trained],
        "untrained": untrained.judged,
        "best": best_of([untrained, *trained]).judged.name,
    }
    head = [
        f"{counted(len(series), 'market')} of {source}",
        f"{untrained.judged.pooled.count:,} questions from {' until '.join(periods['test'])} UTC, "
        f"{untrained.judged.pooled.base_rate:.1%} of them revoked:",
    ]
    return Answer(document, [*head, *score_lines(trained, untrained)])


def counted_tries(tell: ProgressCallback, total: int) -> Callable[[Attempt], None]:
    """A callback that shows each try with its number."""
    numbers = count(1)

    def done(attempt: Attempt) -> None:
        number = next(numbers)
        where = f" for {attempt.market}" if attempt.market else ""
        score = f"validation Brier score {attempt.brier:.4f}"
        tell(f"try {number} of {total}: {attempt.kind}{where}, {score}", number)

    return done


def best_of(rows: Sequence[Scored]) -> Scored:
    """The row with the least Brier score."""
    return min(rows, key=lambda row: row.judged.pooled.brier)


def score_lines(trained: Sequence[Scored], untrained: Scored) -> list[str]:
    """The table of scores, least Brier score first, and which file to use."""
    headings = ("predictor", "Brier", "log loss", "calibration", "accuracy", "F1", "PR area", "seconds")
    rows = []
    for row in (*trained, untrained):
        s = row.judged.pooled
        numbers = (s.brier, s.log_loss, s.calibration_error, s.accuracy, s.f1, s.area)
        seconds = "-" if row.seconds is None else f"{row.seconds:.0f}"
        rows.append((row.judged.name, *(f"{number:.4f}" for number in numbers), seconds))
    rows.sort(key=lambda row: float(row[1]))
    best = best_of([untrained, *trained])
    use = f"Least Brier score: {best.judged.name}. Use {best.file or best.judged.name}"
    return [*columned(headings, rows), use]


# -- what is asked for


def kinds_of(text: str) -> list[str]:
    """The predictors that --predictors names, or all."""
    names = typed_names(text)
    if names == ("all",):
        return list(KINDS)
    if not names:
        hint = f"Give --predictors all, or some of {', '.join(KINDS)}"
        raise InvalidInput("no predictors to train", where="--predictors", hint=hint)
    return [kind_of(name).name for name in names]


def made_folder(out: Path) -> Path:
    """The folder for the files; created where it does not exist."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"the folder cannot be made: {error.strerror}"
        raise InvalidInput(what, where=str(out), hint="Name another --out") from None
    return out


def read_series(path: Path | None, seed: int, days: float) -> tuple[list[PriceSeries], str]:
    """(series by market, where they come from)."""
    if path is None:
        table = catalogue("aws")
        usd = {Market(name, f"{table.region}a"): table[name].usd_per_hour or 0.0 for name in _GENERATED_TYPES}
        made = generate_prices(usd, start=_GENERATED_UNTIL - days * 86400.0, days=days, seed=seed)
        return list(made.values()), f"generated volatile prices, seed {seed}"
    if path.is_dir():
        return list(PriceStore(path).load().values()), str(path)
    with activity(f"reading {path.name}") as tell:
        loaded = read_prices(path, progress=lambda rows: tell(f"{rows:,} rows"))
    for trouble in loaded.report.troubles():
        warn(f"{path}: {trouble}")
    return list(loaded.series.values()), str(path)


def last_days(series: Sequence[PriceSeries], source: str, days: float) -> list[PriceSeries]:
    """The prices of the last days of each market; markets without any are left out."""
    if not series:
        raise InvalidInput("there are no prices", where=source, hint="Import some: leantune spot prices history.csv")
    if not days > 0:
        raise InvalidInput(f"{days} days", where="--days", hint="Give more than 0")
    since = max(prices.end for prices in series) - days * 86400.0
    chosen = []
    for prices in series:
        if prices.end > since:
            first = max(int((prices.times <= since).sum()) - 1, 0)
            times = prices.times[first:].copy()
            times[0] = max(times[0], since)
            chosen.append(PriceSeries(prices.market, times, prices.prices[first:], end=prices.end))
    return chosen


def _saved_file(result: TrainingResult, scores: PredictorScores, source: str, plan: TrainingPlan, folder: Path) -> Path:
    """The file of a trained predictor, with its training settings and scores."""
    provenance: Json = {
        "source": source,
        "markets": list(scores.markets),
        "plan": asdict(plan),
        "options": {attempt.market: asdict(attempt.options) for attempt in result.kept},
        "validation_brier": {attempt.market: attempt.brier for attempt in result.kept},
        "test": asdict(scores),
    }
    path = folder / f"{result.predictor.name}{SUFFIX}"
    save(replace(result.predictor, provenance=provenance), path)
    return path
