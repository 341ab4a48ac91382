"""Generated prices have the properties of the real ones they were matched to."""

import csv
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leantune.cloud.generated import generate_prices
from leantune.cloud.market_settings import Regime
from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.prices import gaps_of, read_prices
from leantune.errors import InvalidInput
from tests.data import needs

REPOSITORY = Path(__file__).parent.parent.parent
DATA = Path(os.environ.get("LEANTUNE_DATA", REPOSITORY.parent / "shared" / "data")) / "spot"
START = 1_456_358_400.0
USD = 0.4
MARKETS = {Market(f"m{n}.large", "us-east-1a"): USD for n in range(24)}


@cache
def generated(regime: str) -> dict[Market, PriceSeries]:
    days = 60 if regime == Regime.VOLATILE else 400
    return generate_prices(MARKETS, start=START, days=days, regime=regime, seed=3)


def changes_per_day(series: PriceSeries) -> float:
    return float((np.diff(series.prices) != 0).sum() / (series.end - series.start) * 86400)


def usual_step(series: PriceSeries) -> float:
    """The median relative change."""
    steps = np.abs(np.diff(np.log(series.prices)))
    return float(np.median(steps[steps > 0]))


def above(series: PriceSeries, usd: float) -> float:
    seconds = np.diff(series.times, append=series.end)
    return float(seconds[series.prices > usd].sum() / seconds.sum())


def burst_minutes(series: PriceSeries, usd: float) -> list[float]:
    """How long each while above on-demand took."""
    high = np.concatenate(([False], series.prices > usd, [False]))
    times = np.append(series.times, series.end)
    edges = np.flatnonzero(np.diff(high.astype(int)))
    return [(times[end] - times[begin]) / 60 for begin, end in zip(edges[::2], edges[1::2], strict=True)]


def test_volatile_prices() -> None:
    found = list(generated("volatile").values())
    shares = [above(series, USD) for series in found]
    bursts = [minutes for series in found for minutes in burst_minutes(series, USD)]
    assert 150 < np.median([changes_per_day(series) for series in found]) < 300
    assert sum(share < 0.001 for share in shares) > len(found) / 4, "some hardly ever"
    assert sum(share > 0.01 for share in shares) > len(found) / 8, "some for a while"
    assert max(shares) < 0.15
    assert 5 < np.median(bursts) < 25
    assert np.quantile(bursts, 0.95) > 60, "some take hours"
    assert max(series.prices.max() for series in found) <= 10 * USD
    assert 0.08 < np.median([np.median(series.prices) / USD for series in found]) < 0.3
    assert not any(gaps_of(series) for series in found)


def test_smooth_prices() -> None:
    found = list(generated("smooth").values())
    assert all(2 < changes_per_day(series) < 5 for series in found)
    assert all(0.001 < usual_step(series) < 0.006 for series in found)
    assert all(series.prices.max() < USD for series in found), "never above on-demand"
    assert not any(gaps_of(series) for series in found)
    assert all(np.abs(np.diff(np.log(series.prices))).max() < 0.1 for series in found)


def test_a_daily_rhythm() -> None:
    """The evening of the US east coast has more changes, and higher prices, than its night."""
    found = list(generated("volatile").values())
    hours = np.concatenate([series.times // 3600 % 24 for series in found])
    assert ((hours >= 19) | (hours <= 1)).sum() > 1.2 * ((hours >= 7) & (hours <= 13)).sum()
    ratio = [
        np.median(series.at_times(START + 22 * 3600 + 86400 * np.arange(59.0)))
        / np.median(series.at_times(START + 10 * 3600 + 86400 * np.arange(59.0)))
        for series in found
    ]
    assert np.median(ratio) > 1.05


def test_against_the_real_files() -> None:
    """Changes a day, usual step, share above on-demand: within a factor of two of the real medians, or their range."""
    volatile, smooth = DATA / "pool6_2016.csv", DATA / "paper_six_types_2024_2026.csv"
    needs(volatile, smooth)
    for path, regime in ((volatile, "volatile"), (smooth, "smooth")):
        real, ours = list(read_prices(path).series.values()), list(generated(regime).values())
        for measure in (changes_per_day, usual_step):
            ratio = np.median([measure(one) for one in ours]) / np.median([measure(one) for one in real])
            assert 0.5 < ratio < 2, (regime, measure.__name__)
    with (DATA / "pool6_2016_instances.csv").open(encoding="utf-8") as file:
        usd = {row["instance_type"]: float(row["ondemand_usd_hr"]) for row in csv.DictReader(file)}
    real_share = np.mean(
        [above(one, usd[market.instance_type]) for market, one in read_prices(volatile).series.items()]
    )
    our_share = np.mean([above(one, USD) for one in generated("volatile").values()])
    assert 0.25 < our_share / real_share < 4


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.floats(0.002, 100), st.floats(0.01, 12), st.sampled_from(list(Regime)))
def test_any_seed_price_and_length(seed: int, usd: float, days: float, regime: str) -> None:
    (series,) = generate_prices({Market("a", "b"): usd}, start=START, days=days, regime=regime, seed=seed).values()
    assert (series.start, series.end) == (START, START + days * 86400)
    assert series.times[-1] < series.end
    assert series.prices.min() >= 0.07 * usd
    assert series.prices.max() <= (10.01 if regime == Regime.VOLATILE else 0.96) * usd
    assert not gaps_of(series)


def test_a_market_depends_on_its_name_and_the_seed_only() -> None:
    first, second = list(MARKETS)[:2]

    def prices(markets: list[Market], seed: int) -> list[list[float]]:
        made = generate_prices(dict.fromkeys(markets, USD), start=START, days=1, seed=seed)
        return [made[market].prices.tolist() for market in markets]

    both = prices([first, second], 1)
    assert prices([second], 1) == [both[1]]
    assert prices([second, first], 1) == both[::-1]
    assert both[0] != both[1]
    assert prices([first], 2) != [both[0]]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"regime": "calm"}, "unknown regime 'calm'"),
        ({"days": 0}, "0 days"),
        ({"days": np.nan}, "nan days"),
        ({"usd": 0.0}, "on-demand price of 0.0"),
    ],
)
def test_wrong_wishes(options: dict[str, object], says: str) -> None:
    usd = options.pop("usd", USD)
    wishes: dict[str, object] = {"start": START, "days": 1, **options}
    with pytest.raises(InvalidInput, match=says):
        generate_prices({Market("a", "b"): usd}, **wishes)  # type: ignore[arg-type, dict-item]
