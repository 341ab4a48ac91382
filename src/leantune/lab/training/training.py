"""Training every kind alike: the same slices, the same number of tries, the same calibration, the same test.

for each kind: options(tries) -> fit on train -> Platt's line and Brier score on validation -> the best try is kept
then, once and for all kinds: scores on the test slice, pooled and per market
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from leantune.arrays import FloatArray
from leantune.clock import RealClock
from leantune.cloud.markets import PriceSeries
from leantune.cloud.predictor import MaxPrices, Predictor
from leantune.errors import InvalidInput
from leantune.lab.training.scores import Reliability, Scores, reliability, scores
from leantune.revocation.dataset import Examples, Split, draw_examples
from leantune.revocation.kinds import kind_of
from leantune.revocation.trained import ALL_MARKETS, Model, PlattLine, Trained


@dataclass(frozen=True)
class TrainingPlan:
    """How to train: tries for each kind, how many questions of each slice, one model per market or one for all."""

    tries: int = 4
    seed: int = 0
    per_market: bool = False
    train_questions: int = 60_000
    validation_questions: int = 18_000
    test_questions: int = 36_000
    max_prices: MaxPrices = field(default_factory=MaxPrices)
    processes: int = 1

    def __post_init__(self) -> None:
        least = min(self.tries, self.processes, self.train_questions, self.validation_questions, self.test_questions)
        if least < 1:
            raise InvalidInput("a number below 1", where="training plan", hint="Give tries, questions from 1 on")


@dataclass(frozen=True)
class Slices:
    """The questions of the three periods; the test slice is the same for every predictor."""

    split: Split
    train: Examples
    validation: Examples
    test: Examples

    @classmethod
    def of(cls, series: Sequence[PriceSeries], plan: TrainingPlan) -> Slices:
        """Drawn by the plan's seed."""
        split = Split.of(series)
        wanted = (
            (split.train, plan.train_questions),
            (split.validation, plan.validation_questions),
            (split.test, plan.test_questions),
        )
        drawn = [
            draw_examples(series, period, count=count, max_prices=plan.max_prices, seed=plan.seed + number)
            for number, (period, count) in enumerate(wanted)
        ]
        return cls(split, *drawn)


@dataclass(frozen=True)
class Attempt:
    """One try: its options, the fitted model and line, its Brier score on the validation slice, and its time."""

    kind: str
    market: str
    number: int
    options: Any
    model: Model
    calibration: PlattLine
    brier: float
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class TrainingResult:
    """A kind's predictor, the attempts that were kept (one for each market, or one), and seconds of all tries."""

    predictor: Trained
    kept: tuple[Attempt, ...]
    seconds: float
    cpu_seconds: float


def train_kind(
    name: str, slices: Slices, plan: TrainingPlan, report: Callable[[Attempt], None] = lambda attempt: None
) -> TrainingResult:
    """Tune and train one kind; `report` is called after every try."""
    tasks = [
        partial(_attempt, name, market, number, options, plan.seed, train, validation)
        for market, train, validation in _parts(slices, plan)
        for number, options in enumerate(kind_of(name).options(plan.tries, plan.seed))
    ]
    attempts: list[Attempt] = []
    with _workers(plan.processes) as run:
        for attempt in run(tasks):
            report(attempt)
            attempts.append(attempt)
    ranked = sorted(attempts, key=lambda attempt: (attempt.market, attempt.brier, attempt.number))
    kept = tuple(next(group) for _, group in groupby(ranked, key=lambda attempt: attempt.market))
    models = {attempt.market: attempt.model for attempt in kept}
    lines = {attempt.market: attempt.calibration for attempt in kept}
    seconds, cpu_seconds = (
        sum(attempt.seconds for attempt in attempts),
        sum(attempt.cpu_seconds for attempt in attempts),
    )
    return TrainingResult(Trained(name, models, lines), kept, seconds, cpu_seconds)


def _parts(slices: Slices, plan: TrainingPlan) -> Iterator[tuple[str, Examples, Examples]]:
    """(market, train, validation): all together, or each market's."""
    if not plan.per_market:
        yield ALL_MARKETS, slices.train, slices.validation
        return
    for number, prices in enumerate(slices.train.series):
        train, validation = slices.train.of_market(number), slices.validation.of_market(number)
        if not (len(train) and len(validation)):
            what = "too few prices for a model of its own"
            raise InvalidInput(what, where=str(prices.market), hint="Train with --pooled, or leave this market out")
        yield str(prices.market), train, validation


def _attempt(
    name: str, market: str, number: int, options: Any, seed: int, train: Examples, validation: Examples
) -> Attempt:
    """Fit, calibrate and score one try."""
    clock = RealClock()
    began, worked = clock.now(), _cpu_seconds()
    kind = kind_of(name)
    model = kind.fit(train, validation, options, seed)
    said = model.probabilities(validation.pasts(), validation.max_prices)
    line = PlattLine.fitted(said, validation.labels).beyond() if kind.calibrated else PlattLine()
    brier = float(((line(said) - validation.labels) ** 2).mean())
    took = clock.now() - began, _cpu_seconds() - worked
    return Attempt(name, market, number, options, model, line, brier, *took)


def _cpu_seconds() -> float:
    """CPU seconds of this process so far: the cost of training, also on a busy machine."""
    spent = os.times()
    return spent.user + spent.system


@contextmanager
def _workers(processes: int) -> Iterator[Callable[[Sequence[partial[Attempt]]], Iterable[Attempt]]]:
    """Run tasks here, or in spawned processes, in the order they end."""
    if processes == 1:
        yield lambda tasks: (task() for task in tasks)
        return
    pool = ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn"))
    try:
        yield lambda tasks: (done.result() for done in as_completed([pool.submit(task) for task in tasks]))
    finally:
        pool.shutdown(cancel_futures=True)


# -- scores on the common test slice


@dataclass(frozen=True)
class PredictorScores:
    """A predictor on the test slice: pooled, per market, and its reliability table."""

    name: str
    pooled: Scores
    markets: dict[str, Scores]
    reliability: list[Reliability]


def judged(predictor: Predictor, test: Examples) -> PredictorScores:
    """Score a predictor on questions it has not seen."""
    said: FloatArray = predictor.predict(test.queried, test.times, test.max_prices)
    markets = {
        str(test.series[number].market): scores(said[test.index == number], test.labels[test.index == number])
        for number in np.unique(test.index)
    }
    return PredictorScores(predictor.name, scores(said, test.labels), markets, reliability(said, test.labels))
