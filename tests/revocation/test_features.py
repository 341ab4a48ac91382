"""The record of a minute, against a plain computation from its definition."""

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings

from leantune.cloud.markets import PriceSeries
from leantune.revocation.features import (
    MINUTES_BACK,
    NAMES,
    FeatureScale,
    max_price_column,
    past_windows,
    present_records,
)
from leantune.revocation.pasts import WEEK, gather
from tests.revocation.made import series_and_time, walk


def printed_record(series: PriceSeries, time: float) -> list[float]:
    """From the definition; before the start the first price holds."""
    moment = datetime.fromtimestamp(time, UTC)
    clock = [float(moment.weekday() < 5), float(moment.hour)]
    if time < series.start:
        return [series.prices[0], series.prices[0], 0.0, 0.0, *clock]
    changes = [
        t
        for t, new, old in zip(series.times[1:], series.prices[1:], series.prices[:-1], strict=True)
        if new != old and t <= time
    ]
    since = min(time - (changes[-1] if changes else series.start), WEEK)
    recent = sum(t > time - 3600 for t in changes)
    average = series.mean(max(time - 3600, series.start), time)
    return [series.at(time), average, recent, since / 60, *clock]


@given(series_and_time())
@settings(deadline=None, max_examples=50)
def test_printed_records_follow_the_definition(asked: tuple[PriceSeries, float, float]) -> None:
    series, time, _ = asked
    pasts = gather([series], np.array([time]))
    found = present_records(pasts, FeatureScale.PRINTED)[0]
    np.testing.assert_allclose(found, printed_record(series, time), rtol=1e-5, atol=1e-5)
    window = past_windows(pasts, FeatureScale.PRINTED)[0]
    assert window.shape == (MINUTES_BACK, len(NAMES[FeatureScale.PRINTED]))
    for back in (1, 30, MINUTES_BACK):
        expected = printed_record(series, time - 60.0 * back)
        np.testing.assert_allclose(window[MINUTES_BACK - back], expected, rtol=1e-5, atol=1e-5)


@given(series_and_time())
@settings(deadline=None, max_examples=50)
def test_nothing_after_the_time_asked_about_is_used(asked: tuple[PriceSeries, float, float]) -> None:
    series, time, _ = asked
    all_of_it, known = gather([series], np.array([time])), gather([series.until(time)], np.array([time]))
    for scale in FeatureScale:
        assert np.array_equal(present_records(all_of_it, scale), present_records(known, scale))
        assert np.array_equal(past_windows(all_of_it, scale), past_windows(known, scale))


def test_relative_records_do_not_know_the_currency() -> None:
    series = walk()
    dear = PriceSeries(series.market, series.times, series.prices * 90.0, end=series.end)
    times = np.array([series.end - 86400.0])
    cheap, costly = (past_windows(gather([one], times)) for one in (series, dear))
    np.testing.assert_allclose(cheap, costly, atol=1e-5)


def test_relative_records_are_the_printed_ones_rescaled() -> None:
    series = walk()
    time = series.end - 5000.0
    pasts = gather([series], np.array([time]))
    printed, relative = present_records(pasts, FeatureScale.PRINTED)[0], present_records(pasts)[0]
    week = series.mean(time - WEEK, time)
    angle = 2 * np.pi * printed[5] / 24
    expected = [*np.log(printed[:2] / week), *np.log1p(printed[2:4]), printed[4], np.sin(angle), np.cos(angle)]
    np.testing.assert_allclose(relative, expected, rtol=1e-4, atol=1e-5)


def test_a_max_price_is_a_delta_or_dollars() -> None:
    series = walk()
    pasts = gather([series] * 2, np.array([series.end] * 2))
    limits = pasts.present * np.array([1.5, 0.9])
    assert max_price_column(pasts, limits) == pytest.approx([np.log(0.5), np.log(1e-4)])
    assert max_price_column(pasts, limits, FeatureScale.PRINTED).tolist() == limits.tolist()
