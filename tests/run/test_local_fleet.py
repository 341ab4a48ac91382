"""A fleet of real programs, call by call; whole tunings are in test_local_tuning."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from leantune.clock import RealClock, SimulatedClock
from leantune.cloud.marketplace import Marketplace
from leantune.errors import InvalidInput, LaunchRefused
from leantune.executors.base import Event, Finished, How, Report, Terms
from leantune.history import Trial, TrialState
from leantune.run.fleet import Fleet, FleetEvent, Ready, Reported, Revoked, Saved
from leantune.run.local_fleet import TURN, LocalFleet, Place
from leantune.run.local_tuning import _place, _training
from tests.run.tuned_worlds import PATIENCE, SPACE, TRAINS, market, resting, workshop

SETTINGS = ({"floor": 0.1}, {"floor": 0.2}, {"floor": 0.3})


@contextmanager
def fleet(place: Path, where: Marketplace, code: str = TRAINS, parallel: int = 1) -> Iterator[LocalFleet]:
    base = RealClock()
    clock = where.clock(base, 60.0)
    made = LocalFleet(
        where.provider(clock),
        clock,
        base,
        _place(workshop(place, code), base),
        training=_training(SPACE, SETTINGS),
        last_step=10.0,
        metric="loss",
        parallel=parallel,
    )
    try:
        yield made
    finally:
        made.close()


def until(made: LocalFleet, kind: type[FleetEvent], job: int = 0, step: float = 0.0) -> list[FleetEvent]:
    """All events up to one of this kind (and step) of a job; the time is for anything here to happen."""
    found: list[FleetEvent] = []
    end = made.now() + 60.0 * PATIENCE
    while not any(isinstance(e, kind) and e.job == job and getattr(e, "step", step) >= step for e in found):
        assert made.now() < end, f"no {kind.__name__} in time: {found}"
        found += made.wait(made.now() + 60.0)
    return found


def test_it_is_a_fleet(tmp_path: Path) -> None:
    with fleet(tmp_path, market((0, 1.8))) as made:
        as_fleet: Fleet = made
        assert [offer.on_demand for offer in as_fleet.offers] == [False, True]


def test_save_ends_the_program_and_it_goes_on_where_nobody_leaves(tmp_path: Path) -> None:
    with fleet(tmp_path, market((0, 1.8)), resting(3)) as made:
        machine = made.place(0, 0, 2.0)
        until(made, Reported, step=3.0)
        made.save(machine)
        found = until(made, Saved)
        saved = next(event for event in found if isinstance(event, Saved))
        assert saved.step == 3.0
        assert saved.seconds >= 0.0
        after = [event for event in until(made, Reported, step=10.0) if isinstance(event, Reported)]
        assert after[0].step == saved.step + 1, "neither lost nor done twice"
        steps = [event.step for event in [*found, *after] if isinstance(event, Reported)]
        assert steps == sorted(set(steps))
        made.terminate(machine)
        assert made.bills()[machine].net_usd > 0


class Puppets:
    """An executor of programs that say and do what a test tells them to."""

    def __init__(self) -> None:
        self.running: set[int] = set()
        self.starts = self.interrupts = 0
        self._said: list[Report] = []
        self._ended: list[Finished] = []

    def say(self, seconds: float, step: float | None, value: float = 0.5, metric: str = "loss") -> None:
        self._said.append(Report(0, seconds, {metric: value}, step))

    def finish(self, state: TrialState) -> None:
        self._ended.append(Finished(0, (), state))

    def start(self, trial: Trial, terms: Terms) -> None:
        self.starts += 1
        self.running.add(trial.number)

    def step(self, now: float) -> list[Event]:
        told: list[Event] = [*self._said, *self._ended]
        self.running -= {one.number for one in self._ended}
        self._said, self._ended = [], []
        return told

    def end(self, number: int, how: How) -> None:
        if how is How.SAVE:
            self.interrupts += 1
        else:
            self.running.discard(number)

    def generation(self, key: str) -> int:
        """Of the checkpoints: there is one."""
        return 1


def played(where: Marketplace) -> tuple[LocalFleet, Puppets]:
    """A fleet of puppets; one second of its clock is a minute of the market."""
    base, puppets = SimulatedClock(), Puppets()
    clock = where.clock(base, 60.0)
    place = Place(puppets, puppets, forget=lambda number: None, key=str)  # type: ignore[arg-type]
    made = LocalFleet(
        where.provider(clock), clock, base, place, training=_training(SPACE, SETTINGS), last_step=10.0, metric="loss"
    )
    return made, puppets


def test_reports_tell_seconds_of_the_market() -> None:
    """The first one after a start tells none: a program may go on from a checkpoint that nobody was told of."""
    made, puppets = played(market((0, 1.8)))
    made.place(0, 0, 2.0)
    until(made, Ready)
    for seconds, step in ((0.53, 5.0), (1.03, 6.0), (2.03, 8.0)):
        puppets.say(seconds, step)
    told = [event for event in made.wait(None) if isinstance(event, Reported)]
    assert [(event.step, event.value, event.steps) for event in told] == [
        (5.0, 0.5, 0.0),
        (6.0, 0.5, 1.0),
        (8.0, 0.5, 2.0),
    ]
    assert [event.seconds for event in told] == pytest.approx([0.0, 30.0, 60.0])


@pytest.mark.parametrize("last", [5.0, 10.0])
def test_a_program_that_has_ended_tells_so_again_where_its_machine_was_taken_before_it_was_saved(last: float) -> None:
    made, puppets = played(market((0, 1.0), (60, 9.0)))
    made.place(0, 0, 2.0)
    until(made, Ready)
    puppets.say(0.5, last)
    puppets.finish(TrialState.DONE)
    until(made, Reported, step=10.0)
    until(made, Revoked)
    made.place(0, 1, None)
    until(made, Ready)
    puppets.finish(TrialState.DONE)  # it was at its end, and had nothing to tell
    (told,) = made.wait(made.now() + 600.0)
    assert isinstance(told, Reported)
    assert (told.step, told.value) == (10.0, 0.5)
    made.save(told.machine)
    (saved,) = made.wait(made.now() + 600.0)
    assert isinstance(saved, Saved)
    assert saved.step == last
    assert any("after step 5 of 10" in note for note in made.notes) == (last == 5.0)


def test_a_job_that_was_just_saved_can_be_saved_again() -> None:
    made, puppets = played(market((0, 1.8)))
    machine = made.place(0, 0, 2.0)
    until(made, Ready)
    puppets.say(0.5, 3.0)
    until(made, Reported)
    made.save(machine)
    assert puppets.interrupts == 1
    puppets.finish(TrialState.QUEUED)
    until(made, Saved)
    made.save(machine)
    (saved,) = made.wait(made.now() + 600.0)
    assert isinstance(saved, Saved)
    assert (saved.step, puppets.starts) == (3.0, 1)
    made.wait(made.now() + 60.0)
    assert puppets.starts == 2, "it goes on"


@pytest.mark.parametrize(("step", "metric"), [(None, "loss"), (3.0, "other")])
def test_a_program_that_reports_no_step_has_failed(step: float | None, metric: str) -> None:
    made, puppets = played(market((0, 1.8)))
    made.place(0, 0, 2.0)
    until(made, Ready)
    puppets.say(0.5, step, metric=metric)
    puppets.finish(TrialState.DONE)
    (told,) = made.wait(made.now() + 600.0)
    assert isinstance(told, Reported)
    assert math.isnan(told.value)
    assert made.failures[0].startswith("no step was reported: print JSON lines with step and the metric")


def test_beyond_the_limit_a_job_waits_with_nothing_rented_until_it_is_its_turn(tmp_path: Path) -> None:
    with fleet(tmp_path, market((0, 1.8))) as made:
        first, second = made.place(0, 0, 2.0), made.place(1, 0, 2.0)
        assert second.startswith(TURN)
        assert not first.startswith(TURN)
        until(made, Ready)
        made.terminate(first)
        (turn,) = [event for event in made.wait(None) if isinstance(event, Revoked)]
        assert (turn.machine, turn.job) == (second, 1)
        again = made.place(1, 0, 2.0)
        assert not again.startswith(TURN)
        assert list(made.bills()) == [first]


def test_a_job_is_on_one_machine_and_refusals_are_passed_on(tmp_path: Path) -> None:
    with fleet(tmp_path, market((0, 1.8)), parallel=2) as made:
        made.place(0, 0, 2.0)
        with pytest.raises(InvalidInput, match="job 0 is on sim-000001"):
            made.place(0, 0, 2.0)
        with pytest.raises(LaunchRefused):
            made.place(1, 0, 1.0)
        assert made.place(1, 1, None) == "sim-000002"


def test_nothing_can_happen_where_nothing_is_placed(tmp_path: Path) -> None:
    with fleet(tmp_path, market((0, 1.8))) as made:
        assert made.wait(None) == []
        before = made.now()
        assert made.wait(before + 6.0) == []
        assert made.now() >= before + 6.0


def test_a_failure_is_a_metric_that_is_not_a_number(tmp_path: Path) -> None:
    with fleet(tmp_path, market((0, 1.8)), code="import sys; sys.exit('broken')") as made:
        made.place(0, 0, 2.0)
        (told,) = [event for event in until(made, Reported) if isinstance(event, Reported)]
        assert math.isnan(told.value)
        assert "broken" in made.failures[0]


def test_closing_gives_every_machine_back(tmp_path: Path) -> None:
    with fleet(tmp_path, market((0, 1.8)), parallel=2) as made:
        made.place(0, 0, 2.0)
        made.place(1, 1, None)
    assert set(made.bills()) == {"sim-000001", "sim-000002"}
