"""Kept prices: incremental, idempotent, whole or not at all, quick to ask."""

import json
import multiprocessing
import os
import signal
import threading
import time
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.price_store import PriceStore, Updated
from leantune.errors import IncompatibleStore, InvalidInput, StoreError

A, B = Market("m5.large", "us-east-1a"), Market("m5.large", "us-east-1b", "Red Hat/BYOL ..")
DAY = 86400.0
JANUARY = datetime.fromisoformat("2026-01-01T00:00:00+00:00").timestamp()
FEBRUARY, MARCH = JANUARY + 31 * DAY, JANUARY + 59 * DAY


def series(market: Market, days: list[float], prices: list[float] | None = None) -> dict[Market, PriceSeries]:
    times = JANUARY + DAY * np.array(days)
    return {market: PriceSeries(market, times, prices or [1 + day for day in days])}


def same(one: PriceSeries, other: PriceSeries) -> bool:
    return (
        one.market == other.market
        and bool(np.array_equal(one.times, other.times))
        and bool(np.array_equal(one.prices, other.prices))
    )


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    store = PriceStore(tmp_path / "new" / "prices")
    given_series = {**series(A, [0, 0.5, 30.999, 31, 70.25]), **series(B, [3])}
    assert store.update(given_series) == Updated(added=6, raised=0, files=4)
    assert store.markets() == (A, B)
    assert all(same(store.series(market), one) for market, one in given_series.items())
    assert (store.newest(A), store.newest(Market("x", "y"))) == (JANUARY + 70.25 * DAY, None)
    assert all(same(one, given_series[market]) for market, one in PriceStore(store.folder).load().items())


def test_the_same_again_changes_nothing(tmp_path: Path) -> None:
    store = PriceStore(tmp_path)
    store.update(series(A, [0, 1, 40]))
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in tmp_path.rglob("*.parquet")}
    assert store.update(series(A, [0, 1, 40])) == Updated(0, 0, 0)
    assert store.update(series(A, [1])) == Updated(0, 0, 0)
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in tmp_path.rglob("*.parquet")} == before


def test_only_what_is_new_is_written(tmp_path: Path) -> None:
    store = PriceStore(tmp_path)
    store.update(series(A, [0, 1, 40]))
    assert store.update(series(A, [1, 40, 41, 60])) == Updated(added=2, raised=0, files=2), "January is as it was"
    assert store.series(A).prices.tolist() == [1, 2, 41, 42, 61]
    assert store.update(series(A, [1], [7.0])) == Updated(added=0, raised=1, files=1)
    assert store.update(series(A, [1], [3.0])) == Updated(0, 0, 0), "of two prices for a moment the higher stays"
    assert store.series(A).at(JANUARY + DAY) == 7


def test_a_period_has_the_price_that_held_at_its_begin(tmp_path: Path) -> None:
    store = PriceStore(tmp_path)
    store.update(series(A, [0, 30, 35, 62]))
    found = store.series(A, FEBRUARY, MARCH)
    assert found.prices.tolist() == [31, 36]
    assert (found.start, found.end) == (JANUARY + 30 * DAY, MARCH), "known until the end: a later price is kept"
    assert store.series(A, FEBRUARY).end == JANUARY + 62 * DAY
    assert store.series(A, JANUARY, JANUARY + 40 * DAY).prices.tolist() == [1, 31, 36]
    assert store.series(A, MARCH + 10 * DAY, MARCH + 20 * DAY).prices.tolist() == [63]
    assert store.series(A, JANUARY - 5 * DAY, FEBRUARY).start == JANUARY


PERIODS = st.lists(st.floats(0, 120, allow_nan=False), min_size=1, max_size=12, unique=True)


@settings(max_examples=25, deadline=None)
@given(st.lists(PERIODS, min_size=1, max_size=3), st.floats(-10, 130), st.floats(0.01, 90))
def test_any_updates_and_any_period(
    tmp_path_factory: pytest.TempPathFactory, updates: list[list[float]], begin_day: float, length: float
) -> None:
    """Against a dictionary of all that was told."""
    store, told = PriceStore(tmp_path_factory.mktemp("store") / "prices"), dict[float, float]()
    for number, days in enumerate(updates):
        times = np.unique(np.round(JANUARY + DAY * np.array(days)))
        prices = [1.0 + number + time % 7 for time in times]
        added = sum(time not in told for time in times)
        assert store.update({A: PriceSeries(A, times, prices)}).added == added
        for moment, price in zip(times, prices, strict=True):
            told[moment] = max(price, told.get(moment, 0.0))
    assert dict(zip(store.series(A).times, store.series(A).prices, strict=True)) == told
    begin, end = JANUARY + DAY * begin_day, JANUARY + DAY * (begin_day + length)
    held = [time for time in sorted(told) if time <= begin][-1:]
    inside = held + [time for time in sorted(told) if begin < time < end]
    if not inside:
        with pytest.raises(InvalidInput, match="no prices of this market in the period"):
            store.series(A, begin, end)
        return
    found = store.series(A, begin, end)
    assert found.times.tolist() == inside
    assert found.prices.tolist() == [told[time] for time in inside]
    assert found.end == max(min(end, max(told)), inside[-1])


def test_unknown_markets_and_periods(tmp_path: Path) -> None:
    store = PriceStore(tmp_path)
    store.update(series(A, [0, 1]))
    with pytest.raises(InvalidInput, match="no prices of this market") as caught:
        store.series(B)
    assert str(A) in caught.value.hint
    with pytest.raises(InvalidInput, match="in the period"):
        store.series(A, JANUARY - 9 * DAY, JANUARY - 8 * DAY)


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("dear", encoding="utf-8")
    with pytest.raises(InvalidInput, match="holds something else"):
        PriceStore(tmp_path)
    (tmp_path / "killed").mkdir()
    (tmp_path / "killed" / ".prices.json.part").touch()
    assert PriceStore(tmp_path / "killed").update(series(A, [0])).added == 1, "left by a process that was killed"
    with pytest.raises(InvalidInput, match="this is a file"):
        PriceStore(tmp_path / "letters.txt")


def test_another_version_and_a_damaged_file(tmp_path: Path) -> None:
    store = PriceStore(tmp_path)
    store.update(series(A, [0]))
    (path,) = tmp_path.rglob("*.parquet")
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(StoreError, match="cannot be read") as caught:
        store.series(A)
    assert caught.value.where == str(path)
    (tmp_path / "prices.json").write_text(json.dumps({"format": "leantune-prices", "version": 99}), encoding="utf-8")
    with pytest.raises(IncompatibleStore, match="99"):
        PriceStore(tmp_path)


def test_names_cannot_leave_the_folder(tmp_path: Path) -> None:
    store = PriceStore(tmp_path / "prices")
    odd = Market("..", "../../x", "a/b\\c:d e")
    store.update(series(odd, [1]))
    assert store.markets() == (odd,)
    assert {path.name for path in tmp_path.iterdir()} == {"prices"}


def test_a_failed_write_leaves_what_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = PriceStore(tmp_path)
    store.update(series(A, [0, 40]))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StoreError, match="No space left on device"):
        store.update(series(A, [1, 41]))
    assert store.series(A).prices.tolist() == [1, 41]
    assert not list(tmp_path.rglob("*.part"))


MANY_DAYS = [2.5 * n for n in range(1, 4000)]


def update_many(folder: Path) -> None:
    PriceStore(folder).update(series(A, MANY_DAYS))


def test_a_killed_process_leaves_no_hole(tmp_path: Path) -> None:
    """Killed in the middle of 300 months: what is there is whole and begins at the beginning; the rest comes after."""
    folder = tmp_path / "prices"
    process = multiprocessing.get_context("spawn").Process(target=update_many, args=(folder,))
    process.start()
    while len(list(folder.glob("*/*/*/*.parquet"))) < 20:
        assert process.is_alive()
        time.sleep(0.001)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    store, days = PriceStore(folder), MANY_DAYS
    found = store.series(A).times
    assert 0 < len(found) < len(days)
    assert np.array_equal(found, JANUARY + DAY * np.array(days[: len(found)]))
    assert store.update(series(A, days)).added == len(days) - len(found)
    assert len(store.series(A)) == len(days)


def test_writers_wait_for_each_other(tmp_path: Path) -> None:
    """Two stores of one folder that add to the same month at once: nothing is lost."""
    stores = [PriceStore(tmp_path) for _ in range(2)]

    def add(store: PriceStore, first: int) -> None:
        for number in range(10):
            store.update(series(A, [(first + 2 * number) / 10]))

    threads = [threading.Thread(target=add, args=(store, first)) for first, store in enumerate(stores)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(stores[0].series(A)) == 20
