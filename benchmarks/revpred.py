"""Who predicts revocations best on the six real markets of 2016: every predictor, tuned alike, on one later slice.

python -m benchmarks.revpred [--quick] [--json] [--tries 3] [--processes 2]

Prices: shared/data/spot/pool6_2016.csv (LEANTUNE_DATA names another folder than ../shared/data). Training is given in
CPU seconds, because wall-clock seconds depend on who else uses the machine.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.timing import median_seconds
from leantune.cloud.markets import PriceSeries
from leantune.cloud.predictor import Predictor
from leantune.cloud.prices import read_prices
from leantune.lab.replay.tables import default_data
from leantune.lab.training.training import (
    Attempt,
    PredictorScores,
    Slices,
    TrainingPlan,
    TrainingResult,
    judged,
    train_kind,
)
from leantune.revocation.kinds import KINDS
from leantune.revocation.predictors import DEFAULT_KIND, over_deltas, predictor

PRICES = Path("spot") / "pool6_2016.csv"
PER_MARKET = ("logistic", "revpred", "boosted")
QUICK = ("hazard", "logistic", "boosted")
MARKETS = 1_000
DELTAS = np.array([0.001, 0.01, 0.03, 0.1, 0.3, 1.0])


@dataclass(frozen=True)
class Row:
    """One line of the table: a predictor, pooled or per market, its scores, and what it costs.

    train_seconds: of CPU, all tries; milliseconds: for 1,000 markets; grid_seconds: of the default, for simulations.
    """

    name: str
    scope: str
    judged: PredictorScores
    train_seconds: float
    milliseconds: float
    grid_seconds: float | None = None

    def as_json(self) -> dict[str, object]:
        """Plain values."""
        costs = {"train_cpu_seconds": self.train_seconds, "ms_for_1000_markets": self.milliseconds}
        return {"scope": self.scope, **asdict(self.judged), **costs, "grid_seconds": self.grid_seconds}


def load_markets() -> list[PriceSeries]:
    """The six markets."""
    return list(read_prices(default_data() / PRICES).series.values())


def plans(*, quick: bool, tries: int, processes: int) -> dict[str, TrainingPlan]:
    """How to train one model for all markets, and one for each on as many questions in all as the networks take."""
    pooled = TrainingPlan(tries=tries, processes=processes)
    if quick:
        pooled = replace(pooled, train_questions=6_000, validation_questions=3_000, test_questions=6_000)
    return {
        "pooled": pooled,
        "per market": replace(pooled, per_market=True, train_questions=pooled.train_questions // 2),
    }


def milliseconds_for_markets(asked: Predictor, series: Sequence[PriceSeries], count: int = MARKETS) -> float:
    """One question about each of `count` different series; the second of two calls."""
    many = [series[k % len(series)].until(series[k % len(series)].end - 60.0 * k) for k in range(count)]
    times = np.array([one.end for one in many])
    limits = np.array([one.prices[-1] * 1.1 for one in many])
    return 1e3 * median_seconds([lambda: asked.predict(many, times, limits)] * 3)


def grid_seconds(asked: Predictor, series: Sequence[PriceSeries], days: int = 30) -> float:
    """P of every market, every five minutes of some days, for six deltas: what a simulation looks up."""

    def tables() -> None:
        for one in series:
            over_deltas(asked, one, np.arange(one.end - 86400.0 * days, one.end, 300.0), DELTAS)

    return median_seconds([tables] * 2)


def rows(series: Sequence[PriceSeries], chosen: dict[str, TrainingPlan], kinds: Sequence[str]) -> list[Row]:
    """Train and judge everything; the untrained predictor first."""
    slices = Slices.of(series, chosen["pooled"])
    online = predictor()
    found = [Row(online.name, "untrained", judged(online, slices.test), 0.0, milliseconds_for_markets(online, series))]
    for scope, plan in chosen.items():
        part = slices if scope == "pooled" else replace(Slices.of(series, plan), test=slices.test)
        for name in kinds if scope == "pooled" else [kind for kind in kinds if kind in PER_MARKET]:
            result = train_kind(name, part, plan, _tell)
            found.append(_row(name, scope, result, slices, series))
    return found


def _row(name: str, scope: str, result: TrainingResult, slices: Slices, series: Sequence[PriceSeries]) -> Row:
    milliseconds = milliseconds_for_markets(result.predictor, series)
    grid = grid_seconds(result.predictor, series) if (name, scope) == (DEFAULT_KIND, "pooled") else None
    return Row(name, scope, judged(result.predictor, slices.test), result.cpu_seconds, milliseconds, grid)


def _tell(attempt: Attempt) -> None:
    where = f" {attempt.market}" if attempt.market else ""
    told = f"{attempt.kind}{where} try {attempt.number}: validation Brier {attempt.brier:.5f}, {attempt.seconds:.0f} s"
    print(told, file=sys.stderr, flush=True)


def lines(found: Sequence[Row]) -> list[str]:
    """The table, best Brier score first, and the Brier score of each market."""
    ordered = sorted(found, key=lambda row: row.judged.pooled.brier)
    headings = "Brier | log loss | calibration error | accuracy | F1 | PR area | train CPU s | ms for 1,000 markets"
    head = f"| predictor | scope | {headings} |"
    table = [head, "|---|---|" + "---:|" * 8]
    for row in ordered:
        s = row.judged.pooled
        numbers = (s.brier, s.log_loss, s.calibration_error, s.accuracy, s.f1, s.area)
        cells = [
            row.name,
            row.scope,
            *(f"{n:.4f}" for n in numbers),
            f"{row.train_seconds:.0f}",
            f"{row.milliseconds:.0f}",
        ]
        table.append(f"| {' | '.join(cells)} |")
    markets = list(ordered[0].judged.markets)
    table += ["", f"| Brier score of | {' | '.join(markets)} |", "|---|" + "---:|" * len(markets)]
    for row in ordered:
        cells = [f"{row.judged.markets[market].brier:.4f}" for market in markets]
        table.append(f"| {row.name}, {row.scope} | {' | '.join(cells)} |")
    best = ordered[0]
    table += [
        "",
        f"Reliability of {best.name}, {best.scope}:",
        "",
        "| said | happened | questions |",
        "|---:|---:|---:|",
    ]
    table += [f"| {r.predicted:.3f} | {r.happened:.3f} | {r.count} |" for r in best.judged.reliability]
    for row in found:
        if row.grid_seconds is not None:
            table += ["", f"{row.name}: {row.grid_seconds:.1f} s for every market, five minutes of 30 days, six deltas"]
    return table


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer questions, no neural networks")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--kinds", default="", help=f"some of {', '.join(KINDS)}")
    given = parser.parse_args()
    kinds = given.kinds.split(",") if given.kinds else list(QUICK if given.quick else KINDS)
    series = load_markets()
    began = time.perf_counter()
    found = rows(series, plans(quick=given.quick, tries=given.tries, processes=given.processes), kinds)
    if given.json:
        print(json.dumps([row.as_json() for row in found]))
    else:
        print("\n".join(lines(found)))
        print(f"\n{given.tries} tries of each kind; {time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
