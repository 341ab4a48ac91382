"""What `leantune spot train` shows: how far it is, and how good the predictors are."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from leantune.cli.activity import bar
from leantune.cli.columns import columned
from leantune.cli.failures import is_drawn_on, say
from leantune.cloud.markets import PriceSeries
from leantune.lab.training.training import Attempt, Judged, Result, Slices
from leantune.text import counted


@dataclass(frozen=True)
class Outcome:
    """A trained kind and its scores."""

    result: Result
    judged: Judged


@dataclass(frozen=True)
class Outcomes:
    """All of them, with the slices they share and the untrained predictor's scores."""

    slices: Slices
    rows: Sequence[Outcome]
    untrained: Judged

    @property
    def best(self) -> Judged:
        """The least Brier score."""
        return min([self.untrained, *(row.judged for row in self.rows)], key=lambda one: one.pooled.brier)


@contextmanager
def progress(total: int) -> Iterator[Callable[[Attempt], None]]:
    """Tries done, on standard error: a bar on a terminal, else a line for each."""
    count = 0

    def tell(attempt: Attempt) -> None:
        nonlocal count
        count += 1
        where = f" for {attempt.market}" if attempt.market else ""
        score = f"validation Brier score {attempt.brier:.4f}"
        draw(f"try {count} of {total}: {attempt.kind}{where}, {score}", count)

    def say_it(words: str, _done: int) -> None:
        say(f"spot train: {words}", err=True)

    with bar(f"{total} tries", total) if is_drawn_on(sys.stderr) else nullcontext(say_it) as draw:
        yield tell


def _day(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M")


def _periods(slices: Slices) -> dict[str, list[str]]:
    return {
        name: [_day(period.begin), _day(period.end)]
        for name, period in (
            ("train", slices.split.train),
            ("validation", slices.split.validation),
            ("test", slices.split.test),
        )
    }


def as_json(source: str, series: Sequence[PriceSeries], outcomes: Outcomes, files: Sequence[Path]) -> dict[str, object]:
    """What was trained on what, every score, and the files."""
    rows = [
        {**asdict(row.judged), "file": str(path), "seconds": row.result.seconds}
        for row, path in zip(outcomes.rows, files, strict=True)
    ]
    return {
        "source": source,
        "markets": [str(one.market) for one in series],
        "periods": _periods(outcomes.slices),
        "predictors": rows,
        "untrained": asdict(outcomes.untrained),
        "best": outcomes.best.name,
    }


def lines(source: str, series: Sequence[PriceSeries], outcomes: Outcomes, files: Sequence[Path]) -> list[str]:
    """The table of scores, least Brier score first, and which file to use."""
    begin, end = _periods(outcomes.slices)["test"]
    count = outcomes.untrained.pooled.count
    headings = ("predictor", "Brier", "log loss", "calibration", "accuracy", "F1", "PR area", "seconds")
    rows = []
    for judged, seconds in [
        *((row.judged, f"{row.result.seconds:.0f}") for row in outcomes.rows),
        (outcomes.untrained, "-"),
    ]:
        s = judged.pooled
        numbers = (s.brier, s.log_loss, s.calibration_error, s.accuracy, s.f1, s.area)
        rows.append((judged.name, *(f"{number:.4f}" for number in numbers), seconds))
    rows.sort(key=lambda row: float(row[1]))
    base = outcomes.untrained.pooled.base_rate
    best = outcomes.best.name
    use = next((str(path) for row, path in zip(outcomes.rows, files, strict=True) if row.judged is outcomes.best), best)
    return [
        f"{counted(len(series), 'market')} of {source}",
        f"{count:,} questions from {begin} until {end} UTC, {base:.1%} of them revoked:",
        *columned(headings, rows),
        f"Least Brier score: {best}. Use {use}",
    ]
