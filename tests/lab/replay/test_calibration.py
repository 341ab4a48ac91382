"""Calibration: by hand, against scipy, and of beliefs that are right."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from leantune.history import Estimate
from leantune.lab.replay.calibration import Calibration, calibrate
from leantune.lab.replay.runs import Advice, Modelled, Row
from leantune.lab.replay.truth import TrueQuality
from leantune.problem import Problem, maximize
from leantune.space import Space, choice
from tests.lab.replay.small import small

LIMIT, OTHER = "cost <= 2 USD", "speed >= 10"
PROBLEM = Problem(Space(c=choice("a", "b")), maximize("accuracy"), [LIMIT, OTHER])


def advised(
    truth: float | None = 0.5,
    *,
    mean: float = 0.5,
    sd: float = 0.1,
    modelled: Modelled | None = None,
    probabilities: Mapping[str, float] | None = None,
    cost: float = 1.0,
    tested: bool = False,
    fraction: str = "1",
) -> Row:
    metrics = {} if truth is None else {"accuracy": truth, "cost": cost, "speed": 20.0}
    advice = Advice(
        {},
        fraction,
        True,
        TrueQuality(metrics, True, None, 1.0, 1.0),
        tested,
        {"accuracy": Estimate(mean, sd)},
        probabilities or {},
        modelled,
    )
    return Row(1, False, {}, "1", 1.0, 1.0, False, 1.0, 1.0, 0.1, (), {"paper": advice})


def calibrated(*rows: Row) -> Calibration:
    (found,) = calibrate(PROBLEM, {"x": [rows[:1], rows[1:]]}, "paper")
    return found


def test_by_hand() -> None:
    found = calibrated(advised(0.55), advised(0.65), advised(0.1), advised(0.5, mean=0.75))
    assert (found.strategy, found.cases, found.within_1, found.within_2) == ("x", 4, 0.25, 0.5)
    assert found.square == pytest.approx((0.25 + 2.25 + 16.0 + 6.25) / 4)
    assert found.capped_square == pytest.approx((0.25 + 2.25 + 9.0 + 6.25) / 4)


def test_only_predictions_for_all_the_data_that_were_not_tested_count() -> None:
    rows = [advised(tested=True), advised(fraction="1/2"), advised(None), advised(sd=0.0), advised(mean=math.inf)]
    found = calibrated(*rows)
    assert (found.cases, found.limits) == (0, 0)
    assert all(math.isnan(value) for value in (found.within_1, found.square, found.log_density, found.limits_off))
    assert calibrate(PROBLEM, {"x": [rows]}, "common")[0].cases == 0, "nobody recommended by that rule"


def test_the_modelled_scale_counts_where_there_is_one() -> None:
    found = calibrated(advised(0.99, modelled=Modelled("logit", 1.0, 2.0, 3.0)))
    assert (found.square, found.log_density) == pytest.approx((1.0, norm.logpdf(3.0, 1.0, 2.0)))


@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3), st.floats(0.01, 10)), min_size=1, max_size=20))
def test_against_scipy(cases: list[tuple[float, float, float]]) -> None:
    found = calibrated(*(advised(truth, mean=mean, sd=sd) for truth, mean, sd in cases))
    truths, means, sds = np.array(cases).T
    assert found.log_density == pytest.approx(norm.logpdf(truths, means, sds).mean())
    assert found.square == pytest.approx((((truths - means) / sds) ** 2).mean())
    assert found.capped_square <= min(found.square, 9.0) + 1e-12
    assert found.within_1 <= found.within_2


def test_beliefs_that_are_right_come_out_right() -> None:
    rng = np.random.default_rng(1)
    rows = []
    for p, mean, sd in zip(rng.random(20_000), rng.normal(size=20_000), rng.uniform(0.1, 2, 20_000), strict=True):
        cost = 1.0 if rng.random() < p else 3.0
        rows.append(advised(float(rng.normal(mean, sd)), mean=mean, sd=sd, probabilities={LIMIT: p}, cost=cost))
    found = calibrated(*rows)
    assert (found.within_1, found.within_2) == pytest.approx((0.6827, 0.9545), abs=0.01)
    assert found.square == pytest.approx(1.0, abs=0.03)
    assert found.limits_off < 0.02
    assert [decile.said for decile in found.deciles] == pytest.approx([n / 10 + 0.05 for n in range(10)], abs=0.005)


def test_limits_by_decile() -> None:
    """Each limit of a recommendation is a case of its own; a probability of 1 is of the last decile."""
    found = calibrated(
        advised(probabilities={LIMIT: 0.92, OTHER: 1.0}),
        advised(probabilities={LIMIT: 0.98, OTHER: 0.05}, cost=3.0),
    )
    first, *middle, last = found.deciles
    assert (found.limits, first.count, [decile.count for decile in middle], last.count) == (4, 1, [0] * 8, 3)
    assert (first.said, first.held) == (0.05, 1.0)
    assert (last.low, last.high) == (0.9, 1.0)
    assert (last.said, last.held) == pytest.approx((2.9 / 3, 2 / 3))
    assert found.limits_off == pytest.approx((0.95 + 3 * abs(2.9 / 3 - 2 / 3)) / 4)


def test_the_cheapest_anywhere_is_measured_and_nobody_believes(tmp_path: Path) -> None:
    (found,) = calibrate(small(tmp_path, "cheapest").problem, {"x": [[advised()]]}, "paper")
    assert found.cases == 0
