"""What `lean` says and finds on tables whose laws it does not have (tests.lab.replay.laws), and that strategies which
should fail the same thresholds do.

Cases: what would be recommended after each test while it is untested on all data. In brackets, what `lean` and the
control came to when the thresholds were chosen, over three sets of 16 tables: from the best set to the worst.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from statistics import fmean, median

import numpy as np
import pytest
from scipy.special import logit

from leantune.arrays import FloatArray
from leantune.lab.replay.calibration import Calibration, Decile, calibrate
from leantune.lab.replay.runs import PAPER, Modelled, Row, Settings, replay
from leantune.lab.replay.tables import MeasuredTable
from leantune.lab.replay.truth import Truth
from tests.lab.replay.laws import LAWS, Law

LEAN, RANDOM = "lean", "random"
WITHOUT_PLATEAU = "tests.strategies.controls:without_plateau"
WITHOUT_AMBITION = "tests.strategies.controls:without_ambition"
# The demo's: 20 trials, and dollars of 94 of its median runs on all data.
TRIALS, FULL_RUNS = 20, 94
SCALES: dict[str, Callable[[FloatArray], FloatArray]] = {"logit": logit, "log": lambda values: -np.log(values)}
Belief = Callable[[MeasuredTable, Modelled], Modelled]

pytestmark = pytest.mark.slow


def tables(count: int) -> list[tuple[int, Law]]:
    """So many of each law, with seeds: with equal ones random search would test the same settings everywhere."""
    return list(enumerate(Law(law, number) for number in range(count) for law in LAWS))


@cache
def studied(strategy: str, law: Law, seed: int) -> tuple[Row, ...]:
    """Three tests of the start and twelve more; no budget is told, so that little data is tried first."""
    return tuple(replay(law.load(), Settings(strategy, iterations=12), seed))


def own(_table: MeasuredTable, modelled: Modelled) -> Modelled:
    """What the models believed."""
    return modelled


def widened(_table: MeasuredTable, modelled: Modelled) -> Modelled:
    """The same with four times the deviation: hardly anything lies outside of it."""
    return replace(modelled, sd=4.0 * modelled.sd)


def of_the_table(table: MeasuredTable, modelled: Modelled) -> Modelled:
    """Mean and deviation of all results on all data: as much as can be said of a table without any model."""
    metric = table.problem.goal.metric
    values = np.array([one.metrics[metric] for (_, share), one in table.measurements.items() if share == 1])
    there = SCALES[modelled.scale](values)
    assert np.isclose(there, modelled.truth).any(), "another scale than the model's"
    return replace(modelled, mean=float(there.mean()), sd=float(there.std()))


def believed(strategy: str, belief: Belief = own) -> Calibration:
    """Over all tables."""
    found = []
    for seed, law in tables(3):
        table = law.load()
        rows = [_with_belief(table, row, belief) for row in studied(strategy, law, seed)]
        found += calibrate(table.problem, {strategy: [rows]}, PAPER)
    return pooled(found)


def _with_belief(table: MeasuredTable, row: Row, belief: Belief) -> Row:
    advice = row.advice.get(PAPER)
    if advice is None or advice.modelled is None:
        return row
    return replace(row, advice={PAPER: replace(advice, modelled=belief(table, advice.modelled))})


def pooled(found: Sequence[Calibration]) -> Calibration:
    """As if all cases were of one table."""
    cases, limits = sum(one.cases for one in found), sum(one.limits for one in found)

    def mean(name: str) -> float:
        return math.fsum(one.cases * getattr(one, name) for one in found if one.cases) / cases

    deciles = tuple(map(_pooled_decile, zip(*(one.deciles for one in found), strict=True)))
    off = math.fsum(decile.count * abs(decile.said - decile.held) for decile in deciles if decile.count)
    return replace(
        found[0],
        cases=cases,
        within_1=mean("within_1"),
        within_2=mean("within_2"),
        square=mean("square"),
        capped_square=mean("capped_square"),
        log_density=mean("log_density"),
        limits=limits,
        limits_off=off / limits,
        deciles=deciles,
    )


def _pooled_decile(found: Sequence[Decile]) -> Decile:
    count = sum(one.count for one in found)
    said, held = (
        math.fsum(one.count * getattr(one, name) for one in found if one.count) / max(count, 1)
        for name in ("said", "held")
    )
    return replace(found[0], count=count, said=said, held=held)


def overconfidence(found: Calibration) -> float:
    """By how much limits hold more rarely than was said, on average."""
    too_much = (one.count * max(one.said - one.held, 0.0) for one in found.deciles)
    return math.fsum(too_much) / found.limits


def honesty(strategy: str, belief: Belief = own) -> dict[str, bool]:
    """Which thresholds are kept.

    informative: caution alone does not win. Nearly as much is said as by somebody who knows mean and spread of the
    whole table, of which `lean` has seen three to fifteen tests, most of them on a sixteenth of the data.
    limits: issue 13 wants 0.06 over its tables. That is missed here by caution: what is said to hold with 75 % holds
    with 81 to 96 %.
    """
    found, knows_the_table = believed(strategy, belief), believed(strategy, of_the_table)
    assert found.cases >= 80
    return {
        "within 2": found.within_2 >= 0.92,  # (1.00 to 0.96; 0.62 to 0.49)
        "within 1": found.within_1 >= 0.60,  # (0.95 to 0.76; 0.39 to 0.26)
        "z²": found.capped_square <= 1.5,  # (0.21 to 0.79; 3.8 to 4.8)
        "informative": found.log_density >= knows_the_table.log_density - 0.9,  # (-0.3 to -0.6; -16 and less)
        "limits are not overrated": overconfidence(found) <= 0.05,  # (0.000 to 0.007; 0.17 to 0.22)
        "limits": found.limits_off <= 0.14,  # (0.08 to 0.11; 0.17 to 0.22)
    }


def test_what_would_be_recommended_is_as_good_as_it_is_said_to_be() -> None:
    found = honesty(LEAN)
    assert all(found.values()), (found, believed(LEAN))
    too_careful = honesty(LEAN, widened)  # log density -1.5
    assert [name for name, kept in too_careful.items() if not kept] == ["informative"]


def test_models_without_a_plateau_keep_none_of_these_thresholds() -> None:
    found = honesty(WITHOUT_PLATEAU)
    assert not any(found.values()), (found, believed(WITHOUT_PLATEAU))


@pytest.mark.parametrize(("strategy", "good"), [(LEAN, True), (WITHOUT_AMBITION, False)])
def test_with_the_demos_budget_it_is_not_worse_than_random_search(strategy: str, good: bool) -> None:
    regrets = {name: fmean(regret(name, law, seed) for seed, law in tables(2)) for name in (strategy, RANDOM)}
    assert (regrets[strategy] <= regrets[RANDOM]) is good, regrets  # (0.00; 1.1; random search: 0.29)


@cache
def regret(strategy: str, law: Law, seed: int) -> float:
    """Of what is recommended when the budget is used."""
    table = law.load()
    usd = FULL_RUNS * median(one.cost or 0.0 for (_, share), one in table.measurements.items() if share == 1)
    rows = replay(table, Settings(strategy, iterations=None, trials=TRIALS, usd=usd), seed)
    assert len(rows) <= TRIALS
    assert rows[-1].dollars <= usd
    return Truth.of(table).regret(rows[-1].advice[PAPER].verdict)
