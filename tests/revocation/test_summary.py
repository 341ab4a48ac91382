"""The summary of the past, against brute force; no look into the future; monotone where it says so."""

import numpy as np
import pytest
from hypothesis import given, settings

from leantune.cloud.markets import PriceSeries
from leantune.revocation.pasts import WEEK, gather
from leantune.revocation.summary import GRID, MONOTONE, SUMMARY_NAMES, summaries
from tests.revocation.made import markets, series_and_time, walk

WINDOWS = {"hour": 3600.0, "six_hours": 21600.0, "day": 86400.0, "week": WEEK}


def named(series: PriceSeries, time: float, limit: float) -> dict[str, float]:
    row = summaries(gather([series], np.array([time])), np.array([limit]))[0]
    return dict(zip(SUMMARY_NAMES, row.tolist(), strict=True))


@given(series_and_time())
@settings(deadline=None, max_examples=50)
def test_nothing_after_the_time_asked_about_is_used(asked: tuple[PriceSeries, float, float]) -> None:
    series, time, limit = asked
    found = named(series, time, limit)
    assert found == named(series.until(time), time, limit)
    assert np.isfinite(list(found.values())).all()


@given(series_and_time())
@settings(deadline=None, max_examples=50)
def test_other_queries_about_the_series_change_nothing(asked: tuple[PriceSeries, float, float]) -> None:
    series, time, limit = asked
    times = np.array([series.start, time, time, series.end])
    together = summaries(gather([series] * 4, times), np.array([1.0, 2 * limit, limit, 1.0]))[2]
    assert together.tolist() == list(named(series, time, limit).values())


@given(series_and_time())
@settings(deadline=None, max_examples=50)
def test_levels_follow_their_definitions(asked: tuple[PriceSeries, float, float]) -> None:
    series, time, limit = asked
    found = named(series, time, limit)
    for word, seconds in WINDOWS.items():
        begin = max(time - seconds, series.start)
        assert found[f"log_max_price_to_average_{word}"] == pytest.approx(np.log(limit / series.mean(begin, time)))
        cuts = np.unique([begin, *series.times[(series.times > begin) & (series.times < time)], time])
        prices, held = series.at_times(cuts[:-1]), np.diff(cuts)
        prices = prices if len(prices) else np.array([series.at(time)])
        highest = max(prices.max(), series.at(time))
        assert found[f"log_max_price_to_highest_{word}"] == pytest.approx(np.log(limit / highest))
        if len(held):
            share = held[prices > limit].sum() / held.sum()
            assert found[f"share_above_{word}"] == pytest.approx(share)
            mean = np.average(np.log(prices), weights=held)
            variance = np.average((np.log(prices) - mean) ** 2, weights=held)
            assert found[f"deviation_{word}"] == pytest.approx(np.sqrt(variance), abs=1e-6)


def test_past_frequencies_are_counted_on_the_grid() -> None:
    series = walk(3)
    time = series.end - 7_123.0
    limit = series.at(time) * 1.04
    found = named(series, time, limit)
    grid = np.arange(np.ceil(series.start / GRID), np.floor((time - 3600) / GRID) + 1) * GRID
    highest = np.array(
        [max(series.at(t), series.prices[(series.times > t) & (series.times <= t + 3600)].max(initial=0)) for t in grid]
    )
    rose, topped = highest / series.at_times(grid) > limit / series.at(time), highest > limit

    def share(happened: np.ndarray, chosen: np.ndarray) -> float:
        return float((happened[chosen].sum() / 6 + 0.5) / (chosen.sum() / 6 + 1.0))

    for word in ("six_hours", "day", "week"):
        assert found[f"exceeded_{word}"] == pytest.approx(share(rose, time - grid <= WINDOWS[word]))
    for word in ("day", "week"):
        assert found[f"level_exceeded_{word}"] == pytest.approx(share(topped, time - grid <= WINDOWS[word]))
    age = time - grid
    away = np.abs(age - 86400 * np.round(age / 86400))
    same_hour = (away <= 3600) & (age <= WEEK) & (age > 43200)
    assert found["exceeded_same_hour_week"] == pytest.approx(share(rose, same_hour))


def test_a_higher_max_price_moves_features_only_as_declared() -> None:
    series = markets()[0]
    times = np.linspace(series.start + 1e5, series.end, 200)
    prices = series.at_times(times)
    low, high = (summaries(gather([series] * 200, times), prices * factor) for factor in (1.01, 1.2))
    for column, sign in enumerate(MONOTONE):
        difference = high[:, column] - low[:, column]
        # the probability falls with the max price: features that raise it fall, features that lower it rise
        assert (difference * sign <= 1e-12).all() if sign else (difference == 0).all(), SUMMARY_NAMES[column]
