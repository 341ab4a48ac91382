"""A fleet of real programs, call by call; whole tunings are in test_local_tuning."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from leantune.clock import RealClock
from leantune.errors import InvalidInput, LaunchRefused
from leantune.orchestrator.fleet import Fleet, FleetEvent, Ready, Reported, Revoked, Saved
from leantune.orchestrator.local_fleet import TURN, LocalFleet
from leantune.orchestrator.local_tuning import _place, _training
from leantune.spot.marketplace import Marketplace
from tests.orchestrator.tuned_worlds import SPACE, TRAINS, market, workshop

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
    """All events up to one of this kind (and step) of a job; 20 s of this world are enough for anything here."""
    found: list[FleetEvent] = []
    end = made.now() + 60.0 * 20.0
    while not any(isinstance(e, kind) and e.job == job and getattr(e, "step", step) >= step for e in found):
        assert made.now() < end, f"no {kind.__name__} in time: {found}"
        found += made.wait(made.now() + 60.0)
    return found


def test_it_is_a_fleet(tmp_path: Path) -> None:
    with fleet(tmp_path, market((0, 1.8))) as made:
        as_fleet: Fleet = made
        assert [offer.on_demand for offer in as_fleet.offers] == [False, True]


def test_save_ends_the_program_and_it_goes_on_where_nobody_leaves(tmp_path: Path) -> None:
    with fleet(tmp_path, market((0, 1.8))) as made:
        machine = made.place(0, 0, 2.0)
        until(made, Reported, step=3.0)
        made.save(machine)
        found = until(made, Saved)
        saved = next(event for event in found if isinstance(event, Saved))
        assert saved.step >= 3.0
        assert 0.0 <= saved.seconds < 120.0
        after = [event for event in until(made, Reported, step=10.0) if isinstance(event, Reported)]
        assert after[0].step == saved.step + 1, "neither lost nor done twice"
        steps = [event.step for event in [*found, *after] if isinstance(event, Reported)]
        assert steps == sorted(set(steps))
        made.terminate(machine)
        assert made.bills()[machine].net_usd > 0


def test_reports_tell_seconds_of_the_market(tmp_path: Path) -> None:
    with fleet(tmp_path, market((0, 1.8))) as made:
        made.place(0, 0, 2.0)
        told = [event for event in until(made, Reported, step=8.0) if isinstance(event, Reported)]
        assert [event.steps for event in told] == [1.0] * len(told)
        assert all(event.value == pytest.approx(0.1 + 1 / event.step) for event in told)
        assert all(2.5 <= event.seconds <= 30.0 for event in told[1:]), "50 ms are three seconds there"


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
