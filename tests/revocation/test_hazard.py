"""Frequencies of the past, against counting."""

import numpy as np
import pytest

from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.predictor import MaxPrices
from leantune.revocation.dataset import Period, draw_examples
from leantune.revocation.hazard import EmpiricalHazard, HazardOptions, fit_hazard
from leantune.revocation.pasts import gather
from leantune.revocation.predictors import predictor
from tests.revocation.made import DAY, START, small_slices, walk

MIDNIGHT = np.ceil(START / DAY) * DAY


def noon_jumps(days: int = 20) -> PriceSeries:
    """Doubles every day from 12:30 until 13:00, and nothing else."""
    times, prices = [MIDNIGHT], [0.1]
    for day in range(days):
        times += [MIDNIGHT + day * DAY + 45_000.0, MIDNIGHT + day * DAY + 46_800.0]
        prices += [0.2, 0.1]
    return PriceSeries(Market("noon", "zone"), times, prices, end=MIDNIGHT + days * DAY)


def fitted(series: PriceSeries, strength: float = 0.1) -> EmpiricalHazard:
    period = Period(series.start, series.end)
    train = draw_examples([series], period, count=8_000, max_prices=MaxPrices(), seed=0)
    return fit_hazard(train, train, HazardOptions(strength=strength), 0)


def test_the_hour_of_the_day_is_learnt() -> None:
    series = noon_jumps()
    model = fitted(series)
    times = MIDNIGHT + 19 * DAY + 3600.0 * np.array([3.0, 12.2, 20.0])
    pasts = gather([series] * 3, times)
    # of the hours that begin from 12:00 to 13:00, the first half meets the jump
    assert model.probabilities(pasts, np.full(3, 0.15)) == pytest.approx([0.0, 0.5, 0.0], abs=0.02)
    assert model.probabilities(pasts, np.full(3, 0.21)) == pytest.approx([0.0, 0.0, 0.0], abs=0.02)


def test_strength_moves_hours_towards_the_markets_share() -> None:
    series = noon_jumps()
    pasts = gather([series], np.array([MIDNIGHT + 19 * DAY + 3 * 3600.0]))
    mild, strong = (fitted(series, s).probabilities(pasts, np.array([0.15]))[0] for s in (0.1, 1e4))
    assert mild < 0.01
    assert strong == pytest.approx(1 / 24, abs=0.01)  # from 11:30 to 12:30 of every day


def test_unknown_markets_are_given_the_share_of_all() -> None:
    slices = small_slices()
    model = fit_hazard(slices.train, slices.validation, HazardOptions(), 0)
    stranger = walk(5, instance_type="new.type")
    pasts = gather([stranger], np.array([stranger.end]))
    row = model.table[-1, int(stranger.end / 3600) % 24]
    step = 20
    limit = pasts.present * (1 + np.exp(model.edges[step]))
    assert model.probabilities(pasts, limit)[0] == pytest.approx(row[step])
    assert (np.diff(model.table, axis=2) <= 1e-12).all()


def test_it_is_restored_as_it_was() -> None:
    slices = small_slices()
    model = fit_hazard(slices.train, slices.validation, HazardOptions().drawn(np.random.default_rng(0)), 0)
    again = EmpiricalHazard.restored(model.tensors(), model.settings())
    pasts = slices.test.pasts()
    said = model.probabilities(pasts, slices.test.max_prices)
    assert np.array_equal(said, again.probabilities(pasts, slices.test.max_prices))


def test_the_online_one_counts_in_the_history_it_is_given() -> None:
    series = noon_jumps()
    noon, night = MIDNIGHT + 19 * DAY + 12.2 * 3600.0, MIDNIGHT + 19 * DAY + 3 * 3600.0
    online = predictor()
    before, quiet, above = online.predict([series] * 3, np.array([noon, night, noon]), np.array([0.15, 0.15, 0.05]))
    assert before > 2 * quiet
    assert above == 1.0
    once = online.predict([series.until(noon)], np.array([noon]), np.array([0.15]))[0]
    assert once == before


def test_the_online_one_falls_as_the_max_price_grows() -> None:
    series = walk()
    limits = series.at(series.end) * (1 + np.geomspace(1e-3, 10, 30))
    said = predictor().predict([series] * 30, np.full(30, series.end), limits)
    assert (np.diff(said) <= 0).all()
    assert said[0] > said[-1]
