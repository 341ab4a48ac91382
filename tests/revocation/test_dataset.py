"""Questions and their answers: labels against brute force, slices that do not touch, Algorithm 2 as written."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.predictor import HORIZON, PRINTED_MAX_PRICES, MaxPrices
from leantune.errors import InvalidInput
from leantune.revocation.dataset import (
    LEAST_HISTORY,
    Split,
    draw_examples,
    fluctuation,
    highest_within_hour,
    labels,
)
from leantune.revocation.pasts import gather
from tests.revocation.made import START, markets, series_and_time, walk


@given(series_and_time())
@settings(deadline=None)
def test_labels_say_whether_the_price_exceeds_within_the_hour(asked: tuple[PriceSeries, float, float]) -> None:
    series, time, limit = asked
    seen = [series.at(time), *series.prices[(series.times > time) & (series.times <= time + HORIZON)]]
    found = labels([series], np.array([0]), np.array([time]), np.array([limit]))
    assert found[0] == any(price > limit for price in seen)
    highest = highest_within_hour([series], np.array([0]), np.array([time]))[0]
    assert (highest > limit) == found[0]


def test_a_price_exactly_an_hour_later_still_counts() -> None:
    series = PriceSeries(Market("a", "b"), [START, START + HORIZON], [0.1, 0.2])
    both = labels([series], np.zeros(2, dtype=np.int64), np.array([START, START - 0.0]), np.array([0.15, 0.2]))
    assert both.tolist() == [True, False]


def test_relative_deltas_are_log_uniform_and_the_papers_absolute() -> None:
    random = np.random.default_rng(0)
    prices = np.full(20_000, 0.05)
    logs = np.log(MaxPrices(1e-3, 10.0).draw(prices, random) / prices - 1.0)
    assert np.quantile(logs, [0, 0.5, 1]) == pytest.approx(np.log([1e-3, 0.1, 10.0]), abs=0.1)
    absolute = PRINTED_MAX_PRICES.draw(prices, random) - prices
    assert np.quantile(absolute, [0, 0.5, 1]) == pytest.approx([0.0, 0.1, 0.2], abs=0.005)


def test_slices_follow_each_other_an_hour_apart() -> None:
    series = markets()
    split = Split.of(series)
    assert split.validation.begin - split.train.end == HORIZON
    assert split.test.begin - split.validation.end == HORIZON
    assert split.test.end == max(one.end for one in series)
    train, test = split.train.end - split.train.begin, split.test.end - split.test.begin
    assert train / test == pytest.approx(0.6 / 0.25, rel=0.05)


def test_no_answer_of_a_slice_looks_into_the_next() -> None:
    series = markets()
    split = Split.of(series)
    train = draw_examples(series, split.train, count=500, max_prices=MaxPrices(), seed=1)
    later = draw_examples(series, split.validation, count=500, max_prices=MaxPrices(), seed=2)
    assert train.times.max() + HORIZON <= later.times.min()
    for number, one in enumerate(series):
        mine = train.times[train.index == number]
        assert len(mine) == 250
        assert mine.min() >= one.start + LEAST_HISTORY
    again = draw_examples(series, split.train, count=500, max_prices=MaxPrices(), seed=1)
    assert np.array_equal(again.max_prices, train.max_prices)


def test_questions_can_be_chosen_and_asked_anew() -> None:
    series = markets()
    drawn = draw_examples(series, Split.of(series).train, count=400, max_prices=MaxPrices(), seed=1)
    second = drawn.of_market(1)
    assert second.series == (series[1],)
    assert len(second) == 200
    assert np.array_equal(second.labels, drawn.labels[drawn.index == 1])
    assert not drawn.asking(drawn.max_prices * 1e6).labels.any()
    assert drawn.asking(drawn.max_prices / 1e6).labels.all()


def algorithm_2(series: PriceSeries, time: float) -> float:
    """Line by line, on step prices."""
    minutes = [series.at(max(time - 60.0 * k, series.start)) for k in range(60)]
    deltas = sorted(abs(a - b) for a, b in pairwise(minutes))
    length = len(deltas)
    return sum(d for i, d in enumerate(deltas) if 0.2 * length < i < 0.8 * length) / (0.6 * length)


@given(series_and_time())
@settings(deadline=None)
def test_fluctuation_is_algorithm_2(asked: tuple[PriceSeries, float, float]) -> None:
    series, time, _ = asked
    assert fluctuation(gather([series], np.array([time])))[0] == pytest.approx(algorithm_2(series, time), abs=1e-15)


def test_fluctuation_where_every_minute_has_its_price() -> None:
    times = START + 60.0 * np.arange(61)
    prices = 0.1 + 0.001 * np.cumsum(np.arange(61) % 7)
    series = PriceSeries(Market("a", "b"), times, prices)
    found = fluctuation(gather([series], np.array([series.end])))[0]
    assert found == pytest.approx(algorithm_2(series, series.end))
    assert found > 0.001


def test_what_cannot_be_split_or_drawn_is_refused() -> None:
    with pytest.raises(InvalidInput, match="too few"):
        Split.of([walk(days=1.0)])
    with pytest.raises(InvalidInput, match="leave nothing"):
        Split.of(markets(), validation=0.5, test=0.5)
    with pytest.raises(InvalidInput, match="no prices"):
        Split.of([])
    with pytest.raises(InvalidInput, match="deltas from"):
        MaxPrices(1.0, 0.5)
    short = [walk(days=0.5)]
    with pytest.raises(InvalidInput, match="no market has prices"):
        draw_examples(short, Split.of(markets()).train, count=10, max_prices=MaxPrices(), seed=0)
