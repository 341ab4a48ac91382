"""The fleet plays a recorded run as if somebody had counted every second."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from leantune.lab.simulate.fleet import SimulatedFleet, TrainingRun
from leantune.run.fleet import FleetEvent, Ready, Reported, Revoked, Saved, Warned

from leantune.arrays import FloatArray
from leantune.clock import SimulatedClock
from leantune.cloud.billing import AWS
from leantune.cloud.feeds import MarketFeed
from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.simcloud import SimCloud
from leantune.errors import InvalidInput
from leantune.space import Machine

MACHINE, MARKET = Machine("m", 2.0, 8.0, usd_per_hour=0.5, provider="sim"), Market("m", "zone-a")


def counted_by_hand(run: TrainingRun, elapsed: float) -> float:
    """Whole steps after so many seconds, report by report."""
    step, second = 0.0, 0.0
    for reached, until in zip(run.steps, run.elapsed, strict=True):
        if elapsed < until:
            return math.floor(step + float((reached - step) * (elapsed - second) / (until - second)) + 1e-6)
        step, second = float(reached), float(until)
    return step


runs = st.builds(
    lambda steps, seconds: TrainingRun(
        np.cumsum(steps).astype(float), np.zeros(len(steps)), np.cumsum(seconds[: len(steps)]), np.ones(1)
    ),
    st.lists(st.integers(1, 50), min_size=1, max_size=8),
    st.lists(st.floats(0.5, 900.0), min_size=8, max_size=8),
)


@given(run=runs, share=st.floats(0.0, 1.2))
def test_steps_and_seconds_of_a_run_are_those_counted_by_hand(run: TrainingRun, share: float) -> None:
    elapsed = share * float(run.elapsed[-1])
    assert run.step_at(elapsed) == pytest.approx(counted_by_hand(run, elapsed), abs=1.0)
    step = run.step_at(elapsed)
    assert run.elapsed_at(step) <= elapsed + 1e-3
    assert run.step_at(run.elapsed_at(step) + 1e-4) >= step


def world(prices: PriceSeries, *, slowness: float = 2.0, save: float = 30.0, poll: float = 10.0) -> SimulatedFleet:
    steps: FloatArray = np.linspace(10.0, 100.0, 10)
    run = TrainingRun(steps, 1.0 / steps, steps * 6.0, np.array([slowness]), save, 15.0)
    clock = SimulatedClock(0.0)
    cloud = SimCloud([MarketFeed(MACHINE, MARKET, prices)], AWS, clock, boot_seconds=60.0)
    return SimulatedFleet([run], cloud, clock, poll=poll)


def events(fleet: SimulatedFleet, until: float) -> list[FleetEvent]:
    told: list[FleetEvent] = []
    while fleet.now() < until:
        told.extend(fleet.wait(until))
    return told


def test_a_machine_boots_trains_and_reports_at_the_times_of_its_speed() -> None:
    fleet = world(PriceSeries(MARKET, [0.0], [0.1], end=1e6))
    fleet.place(0, 0, 0.2)
    told = events(fleet, 700.0)
    assert [event.time for event in told] == pytest.approx([60.0, 180.0, 300.0, 420.0, 540.0, 660.0])
    assert isinstance(told[0], Ready)
    assert all(isinstance(event, Reported) for event in told[1:])
    first = told[1]
    assert isinstance(first, Reported)
    assert (first.step, first.seconds, first.steps) == (10.0, 120.0, 10.0)  # 10 steps of 6 s at half the speed


def test_saving_pauses_the_training_and_keeps_whole_steps() -> None:
    fleet = world(PriceSeries(MARKET, [0.0], [0.1], end=1e6))
    machine = fleet.place(0, 0, 0.2)
    events(fleet, 250.0)  # 190 s of training at half the speed: 15.8 steps
    fleet.save(machine)
    told = events(fleet, 340.0)
    assert [type(event) for event in told] == [Saved, Reported]
    saved, report = told
    assert isinstance(saved, Saved)
    assert (saved.step, saved.seconds) == (15.0, 30.0)
    assert report.time == pytest.approx(300.0 + 30.0)  # later by the save
    fleet.terminate(machine)
    fleet.place(0, 0, 0.2)
    (ready,) = events(fleet, 340.0 + 90.0)
    assert isinstance(ready, Ready)
    assert ready.step == 15.0
    assert ready.time == pytest.approx(340.0 + 60.0 + 15.0)  # boot and restore


def test_a_crossing_warns_at_the_next_look_and_takes_the_machine_after_the_notice() -> None:
    prices = PriceSeries(MARKET, [0.0, 404.0], [0.1, 0.4], end=1e6)
    fleet = world(prices)
    machine = fleet.place(0, 0, 0.2)
    told = events(fleet, 410.0)
    assert isinstance(told[-1], Warned)
    assert (told[-1].time, told[-1].gone_at, fleet.now()) == (404.0, 524.0, 410.0)
    last = events(fleet, 600.0)[-1]
    assert isinstance(last, Revoked)
    assert last.time == 524.0
    ending = fleet.endings()[machine]
    assert ending.revoked
    assert ending.refund_usd == ending.gross_usd > 0


def test_what_was_left_to_the_provider_is_billed_by_it() -> None:
    fleet = world(PriceSeries(MARKET, [0.0, 404.0], [0.1, 0.4], end=1e6))
    machine = fleet.place(0, 0, 0.2)
    events(fleet, 450.0)
    fleet.leave(machine)
    assert machine not in fleet.endings()
    fleet.drain()
    assert fleet.endings()[machine].time == 524.0


def test_what_cannot_be_is_refused() -> None:
    fleet = world(PriceSeries(MARKET, [0.0], [0.1], end=1e6))
    machine = fleet.place(0, 0, 0.2)
    with pytest.raises(InvalidInput, match="is on"):
        fleet.place(0, 0, 0.2)
    with pytest.raises(InvalidInput, match="does not train"):
        fleet.save(machine)
    with pytest.raises(InvalidInput, match="needs reports"):
        TrainingRun(np.array([]), np.array([]), np.array([]), np.ones(1))
    with pytest.raises(InvalidInput, match="do not increase"):
        TrainingRun(np.array([2.0, 1.0]), np.zeros(2), np.array([1.0, 2.0]), np.ones(1))


def test_a_job_that_was_saved_at_its_end_says_so_on_its_next_machine() -> None:
    """Else nobody would ever know: the last report may have come while it was saving because of a notice."""
    fleet = world(PriceSeries(MARKET, [0.0], [0.1], end=1e6))
    machine = fleet.place(0, 0, 0.2)
    events(fleet, 1300.0)  # 60 s of boot, 100 steps of 6 s at half the speed
    fleet.save(machine)
    assert isinstance(events(fleet, 1340.0)[-1], Saved)
    fleet.terminate(machine)
    fleet.place(0, 0, 0.2)
    ready, report = events(fleet, 1600.0)
    assert isinstance(ready, Ready)
    assert isinstance(report, Reported)
    assert (ready.step, report.step, report.steps, report.seconds) == (100.0, 100.0, 0.0, 0.0)
    assert report.time == ready.time
