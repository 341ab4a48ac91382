"""Files of prices: every row is used or counted, whatever is wrong with it."""

import csv
import json
import math
import os
from collections import defaultdict
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leantune.cloud.catalog import catalogue
from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.price_files import PriceColumns
from leantune.cloud.prices import (
    GAP_SECONDS,
    gaps_of,
    on_demand_price,
    read_prices,
    region_of,
    summarise_market,
    tidied,
)
from leantune.errors import InvalidInput
from tests.data import needs

REPOSITORY = Path(__file__).parent.parent.parent
DATA = Path(os.environ.get("LEANTUNE_DATA", REPOSITORY.parent / "shared" / "data")) / "spot"
HEADER = "timestamp,instance_type,availability_zone,product,price"
A, B = Market("m5.large", "us-east-1a"), Market("m5.large", "us-east-1b")


def csv_file(folder: Path, *rows: str, header: str = HEADER) -> Path:
    path = folder / "prices.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def line(stamp: str, price: object, zone: str = "us-east-1a", product: str = "Linux/UNIX") -> str:
    return f"{stamp},m5.large,{zone},{product},{price}"


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def test_a_clean_file(tmp_path: Path) -> None:
    rows = [
        line("2026-03-01T00:00:00Z", 0.04),
        line("2026-03-01T01:00:00.25Z", 0.05),
        line("2026-03-01T00:30:00Z", 0.06, "us-east-1b"),
    ]
    loaded = read_prices(csv_file(tmp_path, *rows))
    assert not loaded.report.troubles()
    assert (loaded.report.rows, loaded.report.kept, list(loaded.series)) == (3, 3, [A, B])
    assert loaded.series[A].times.tolist() == [at("2026-03-01T00:00:00Z"), at("2026-03-01T01:00:00.25Z")]
    assert loaded.series[A].prices.tolist() == [0.04, 0.05]


def test_time_zones(tmp_path: Path) -> None:
    """The same moments written in several ways; what names no zone is UTC, and is said."""
    stamps = [
        "2026-03-01T02:00:00+02:00",
        "2026-03-01 01:00:00",
        "2026-02-28T21:00:00-0500",
        "2026-03-01T03:00:00.5Z",
        "2026-03-02",
    ]
    loaded = read_prices(csv_file(tmp_path, *(line(stamp, 1 + n) for n, stamp in enumerate(stamps))))
    hours = [0, 1, 2, 3 + 0.5 / 3600, 24]
    assert loaded.series[A].times.tolist() == [at("2026-03-01T00:00:00Z") + 3600 * hour for hour in hours]
    assert (loaded.report.without_zone, loaded.report.unreadable) == (2, 0)
    assert loaded.report.troubles() == ["2 rows with a time that names no zone, taken as UTC"]


def test_prices_that_are_none(tmp_path: Path) -> None:
    rows = [line(f"2026-03-01T0{n}:00:00Z", price) for n, price in enumerate([0.04, 0, -1, "nan", "inf", "NaN", 0.05])]
    loaded = read_prices(csv_file(tmp_path, *rows))
    assert (loaded.report.not_positive, loaded.report.kept, loaded.report.unreadable) == (5, 2, 0)
    assert loaded.series[A].at(at("2026-03-01T04:00:00Z")) == 0.04, "the price before holds"


def test_duplicates_conflicts_and_order(tmp_path: Path) -> None:
    rows = [
        line("2026-03-01T02:00:00Z", 0.05),
        line("2026-03-01T00:00:00Z", 0.04),
        line("2026-03-01T03:00:00Z", 0.07),
        line("2026-03-01T03:00:00Z", 0.09),
        line("2026-03-01T03:00:00Z", 0.07),
        line("2026-03-01T04:00:00Z", 0.06),
        line("2026-03-01T02:00:00Z", 0.05),
    ]
    report = (loaded := read_prices(csv_file(tmp_path, *rows))).report
    assert loaded.series[A].prices.tolist() == [0.04, 0.05, 0.09, 0.06], "of two prices the higher"
    assert (report.duplicates, report.conflicts, report.out_of_order, report.kept) == (2, 1, 2, 4)


def test_newest_first_is_an_order_too(tmp_path: Path) -> None:
    rows = [line(f"2026-03-01T0{hour}:00:00Z", hour + 1) for hour in range(5)]
    loaded = read_prices(csv_file(tmp_path, *rows[::-1]))
    assert not loaded.report.troubles()
    assert loaded.series[A].prices.tolist() == [1, 2, 3, 4, 5]


def test_gaps(tmp_path: Path) -> None:
    rows = [line("2026-03-01T00:00:00Z", 1), line("2026-03-02T01:00:00Z", 2), line("2026-03-03T02:00:01Z", 3)]
    loaded = read_prices(csv_file(tmp_path, *rows))
    (gap,) = loaded.report.gaps
    assert (gap.market, gap.begin, gap.end) == (A, at("2026-03-02T01:00:00Z"), at("2026-03-03T02:00:01Z"))
    assert loaded.series[A].at(gap.end - 1) == 2
    assert gaps_of(PriceSeries(A, [0, GAP_SECONDS], [1, 1])) == ()
    assert "silent for over 25 h (up to 25 h)" in loaded.report.troubles()[0]


def test_unreadable_rows_are_counted_and_the_first_is_named(tmp_path: Path) -> None:
    good = [line(f"2026-03-01T0{hour}:00:00Z", 1 + hour) for hour in range(7)]
    bad = [
        "",
        line("yesterday", 1),
        line("2026-13-41T00:00:00Z", 1),
        line("2026-03-01T08:00:00Z", "much"),
        "a,b",
        ",,,,",
        line("2026-03-01T08:00:00Z", 1, ""),
    ]
    loaded = read_prices(csv_file(tmp_path, *good[:4], *bad, *good[4:]))
    assert (loaded.report.unreadable, loaded.report.kept, loaded.report.rows) == (6, 7, 13)
    assert loaded.report.first_unreadable == "line 7", "the empty line counts, but is no row"
    assert "6 rows unreadable, left out (the first: line 7)" in loaded.report.troubles()


def test_a_row_of_the_wrong_shape_may_be_the_first(tmp_path: Path) -> None:
    good = [line(f"2026-03-01T0{hour}:00:00Z", 1 + hour) for hour in range(7)]
    loaded = read_prices(csv_file(tmp_path, *good[:2], "a,b", good[2], line("?", 1), *good[3:]))
    assert (loaded.report.unreadable, loaded.report.first_unreadable) == (2, "line 4")


@pytest.mark.parametrize(
    ("text", "says", "place"),
    [
        ("", "no CSV of prices", "line 1"),
        ("a,b\n1,2\n", "no column 'timestamp' in the header", "line 1"),
        (f"{HEADER}\n", "there is no price in it", ""),
        (f"{HEADER}\n{line('2026-03-01T00:00:00Z', 0)}\n", "there is no price in it", ""),
        (
            f"{HEADER}\n\nx,y,z,w,v\nx,y,z,w,v\n{line('2026-03-01T00:00:00Z', 1)}\n",
            "2 of 3 rows cannot be read",
            "line 3",
        ),
        ('{"SpotPriceHistory": [\n{]}', "not JSON", "line 2"),
        ('{"Prices": []}', "no list 'SpotPriceHistory'", "line 1"),
        ('{"SpotPriceHistory": []}', "there is no price in it", ""),
        ("[1, 2]", "2 of 2 rows cannot be read", "entry 1"),
    ],
)
def test_wrong_files(tmp_path: Path, text: str, says: str, place: str) -> None:
    path = tmp_path / "wrong"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=says) as caught:
        read_prices(path)
    assert caught.value.where == (f"{path}, {place}" if place else str(path))
    assert "describe-spot-price-history" in caught.value.hint


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="there is no such file") as caught:
        read_prices(tmp_path / "none.csv")
    assert caught.value.where == str(tmp_path / "none.csv")


def test_what_aws_prints(tmp_path: Path) -> None:
    """Newest first, prices as text; one entry lacks its price."""
    entries = [
        {
            "AvailabilityZone": "us-east-1a",
            "InstanceType": "m5.large",
            "ProductDescription": "Linux/UNIX",
            "SpotPrice": price,
            "Timestamp": stamp,
        }
        for stamp, price in [
            ("2026-03-01T02:00:00+00:00", "0.0500"),
            ("2026-03-01T01:00:00.000Z", "0.0450"),
            ("2026-03-01T00:00:00Z", "0.0400"),
        ]
    ]
    path = tmp_path / "history.json"
    path.write_text(json.dumps({"SpotPriceHistory": [*entries, {"InstanceType": "m5.large"}]}), encoding="utf-8")
    loaded = read_prices(path)
    assert loaded.series[A].prices.tolist() == [0.04, 0.045, 0.05]
    assert (loaded.report.unreadable, loaded.report.first_unreadable, loaded.report.out_of_order) == (1, "entry 4", 0)
    path.write_text(json.dumps(entries), encoding="utf-8")
    assert not read_prices(path).report.troubles(), "the list alone"


ROW = st.tuples(
    st.integers(0, 2),
    st.integers(0, 12).map(lambda n: n * 36000),
    st.sampled_from([0.01, 0.5, 0.25, 0.0, -1.0, math.nan, math.inf]),
)


def brute(rows: list[tuple[int, int, float]]) -> dict[int, dict[int, float]]:
    """The highest price above 0 of each market and moment."""
    best: dict[int, dict[int, float]] = defaultdict(dict)
    for market, time, price in rows:
        if 0 < price < math.inf:
            best[market][time] = max(price, best[market].get(time, 0))
    return best


@given(st.lists(ROW, max_size=30))
def test_every_row_is_kept_or_counted(rows: list[tuple[int, int, float]]) -> None:
    markets = tuple(Market("m5.large", f"us-east-1{letter}") for letter in "abc")
    codes, times, prices = (np.array([row[part] for row in rows]) for part in range(3))
    columns = PriceColumns(markets, codes.astype(np.int64), times.astype(float), prices.astype(float))
    expected = brute(rows)
    if not expected:
        with pytest.raises(InvalidInput, match="no price"):
            tidied(columns, "here")
        return
    loaded = tidied(columns, "here")
    found = {
        markets.index(m): dict(zip(s.times.tolist(), s.prices.tolist(), strict=True)) for m, s in loaded.series.items()
    }
    assert found == expected
    report = loaded.report
    assert report.rows == report.kept + report.not_positive + report.duplicates + report.conflicts
    silent = sum(
        b - a > GAP_SECONDS for kept in expected.values() for a, b in zip(sorted(kept), sorted(kept)[1:], strict=False)
    )
    assert len(report.gaps) == silent


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1)), st.integers(-14, 14), st.floats(0.001, 99)),
        min_size=1,
        max_size=8,
    )
)
def test_any_zone_is_the_same_moment(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[datetime, int, float]]
) -> None:
    moments = [moment.replace(microsecond=0, tzinfo=UTC) for moment, _, _ in rows]
    texts = [
        line(moment.astimezone(timezone(timedelta(hours=shift))).isoformat(), repr(price))
        for moment, (_, shift, price) in zip(moments, rows, strict=True)
    ]
    loaded = read_prices(csv_file(tmp_path_factory.mktemp("zones"), *texts))
    assert loaded.series[A].times.tolist() == sorted({moment.timestamp() for moment in moments})
    assert loaded.report.without_zone == loaded.report.unreadable == 0


@pytest.mark.parametrize("name", ["pool6_2016.csv", "paper_six_types_2024_2026.csv"])
def test_the_real_files_against_the_csv_module(name: str) -> None:
    path = DATA / name
    needs(path)
    expected: dict[Market, dict[float, float]] = defaultdict(dict)
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            market = Market(row["instance_type"], row["availability_zone"], row["product"])
            expected[market][at(row["timestamp"])] = float(row["price"])
    loaded = read_prices(path)
    assert not loaded.report.troubles()
    assert {
        m: dict(zip(s.times.tolist(), s.prices.tolist(), strict=True)) for m, s in loaded.series.items()
    } == expected


# -- what a market's prices were like


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(1, 9)), min_size=1, max_size=30), st.integers(0, 9))
def test_a_summary_against_every_second(steps: list[tuple[int, int]], usd: int) -> None:
    """Each row's price holds for the seconds that are given with it."""
    times = np.cumsum([0, *(seconds for seconds, _ in steps[:-1])])
    prices = [float(price) for _, price in steps]
    end = float(times[-1] + steps[-1][0])
    summary = summarise_market(PriceSeries(A, times, prices, end=end), usd + 0.5)
    seconds = sorted(price for held, price in steps for _ in range(held))
    assert summary.median in (seconds[(len(seconds) - 1) // 2], seconds[len(seconds) // 2])
    assert summary.above_on_demand == pytest.approx(np.mean([price > usd for price in seconds]))
    assert (summary.lowest, summary.highest) == (seconds[0], seconds[-1])
    changes = sum(one != other for one, other in pairwise(prices))
    assert summary.changes_per_day == pytest.approx(changes * 86400 / end)
    assert (summary.rows, summary.start, summary.end, summary.gaps) == (len(steps), 0.0, end, 0)


def test_a_summary_of_a_single_row() -> None:
    summary = summarise_market(PriceSeries(A, [5], [2.0]), 1.0)
    assert (summary.median, summary.changes_per_day, summary.above_on_demand) == (2.0, 0.0, 1.0)
    assert summarise_market(PriceSeries(A, [5], [2.0]), None).above_on_demand is None


def test_gaps_are_counted() -> None:
    assert summarise_market(PriceSeries(A, [0, 1e5, 1.1e5, 3e5], [1, 1, 2, 1]), None).gaps == 2


@pytest.mark.parametrize(
    ("zone", "region"),
    [
        ("us-east-1c", "us-east-1"),
        ("ap-southeast-2a", "ap-southeast-2"),
        ("us-gov-west-1b", "us-gov-west-1"),
        ("us-east-1-bos-1a", "us-east-1"),
        ("use1-az2", None),
        ("here", None),
    ],
)
def test_regions_of_zones(zone: str, region: str | None) -> None:
    assert region_of(zone) == region


def test_on_demand_prices_are_the_catalogues() -> None:
    assert on_demand_price(A) == catalogue("aws")["m5.large"].usd_per_hour
    assert on_demand_price(Market("m5.large", "eu-west-1a")) is None
    assert on_demand_price(Market("m5.huge", "us-east-1a")) is None
    assert on_demand_price(Market("m5.large", "elsewhere")) is None
