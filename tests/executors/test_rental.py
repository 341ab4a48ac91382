"""One run on rented machines, without any: how far it has come, its terms, its bills."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from leantune.cloud.billing import Bill, BillReason
from leantune.executors.base import Finished, Terms
from leantune.executors.rental import CheckpointFacts, Purpose, Rental, Stay
from leantune.history import Observation, ObservationKind, TrialState
from leantune.units import Seconds, Usd
from tests.executors.programs import trial_of
from tests.executors.rented_worlds import START, problem_on, stay_of

HALF, FULL = Fraction(1, 2), Fraction(1)
BILL = Bill(Seconds(100.0), Usd(2.0), Usd(1.0), BillReason.USED)


def rental(terms: Terms = Terms()) -> Rental:  # noqa: B008 - frozen
    made = Rental(trial_of(problem_on()), terms, CheckpointFacts(5.0, 5.0), renewed=10.0, waiting_since=START)
    made.add_stay(Stay(stay_of(0, "sim-1"), 0))
    made.began = START
    return made


def seen(seconds: float, share: Fraction = FULL) -> Observation:
    return Observation(share, ObservationKind.MEASURED, {"accuracy": 0.5}, Seconds(seconds), None)


def test_seconds_and_steps_between_reports() -> None:
    run = rental()
    run.begin(START, 2.0)
    assert run.report(10.0, 4.0) == (10.0, 2.0)
    assert run.report(10.0, 5.0) is None, "at the same moment"
    assert run.report(20.0, 5.0) is None, "no further"
    assert (run.reached, run.mark) == (5.0, (20.0, 5.0))
    run.begin(START, None)
    assert run.report(30.0, 9.0) is None, "nobody knows where it began"


def test_a_checkpoint_of_no_more_than_the_beginning_is_none() -> None:
    run = rental()
    run.begin(START, 2.0)
    run.report(10.0, 4.0)
    run.take_checkpoint(2.0, 3.0)
    assert (run.facts.keeps, run.facts.save, run.kept, run.reached) == (False, 3.0, 2.0, 4.0)
    run.take_checkpoint(6.0, 1.0)
    assert (run.facts.keeps, run.facts.step, run.reached, run.saving) == (True, 6.0, 6.0, 4.0)


def test_a_program_is_given_what_is_left_of_the_lease_in_seconds_of_this_world() -> None:
    smaller = (trial_of(), seen(50.0))
    terms = Terms(time_limit=Seconds(60.0), lease=Seconds(30.0), earlier_seconds=Seconds(20.0), continues=smaller)
    given = rental(terms).program_terms(now=15.0, speed=10.0)
    assert given is not None
    assert (given.time_limit, given.market_limit, given.renewed_ago, given.earlier_seconds) == (6.0, 60.0, 5.0, 2.0)
    assert given.lease == 30.0
    assert given.shown_limit == 60.0
    assert given.continues is not None and given.continues[1].seconds == 5.0
    assert rental(terms).program_terms(now=40.0, speed=10.0) is None, "its lease is over"
    assert rental(Terms(attempt=2)).program_terms(now=40.0, speed=1.0) == Terms(attempt=2)


def test_an_end_that_the_provider_asked_for_is_a_revocation() -> None:
    run, queued = rental(), Finished(0, (), TrialState.QUEUED, "interrupted")
    assert run.end_of_program(queued, 1.0) == queued
    run.purpose = Purpose.MOVE
    assert run.end_of_program(queued, 1.0).cause == "moved to another machine"
    run.revoked = "revoked: a notice for sim-1"
    assert run.end_of_program(queued, 1.0).state is TrialState.REVOKED
    run.purpose = Purpose.ASKED
    assert run.end_of_program(queued, 1.0) == queued, "whoever asked gets what was asked for"
    done = Finished(0, (seen(2.0),), TrialState.DONE)
    assert run.end_of_program(done, 60.0).observations[0].seconds == 120.0


@pytest.mark.parametrize("adds_up", [False, True])
def test_the_bill_is_shared_out_by_seconds(adds_up: bool) -> None:
    run = rental(Terms(2, earlier_seconds=Seconds(100.0), earlier_usd=Usd(0.5)))
    run.begin(START + 10.0, 0.0)
    run.report(90.0, 9.0)
    run.end_stay("sim-1", START + 100.0, "ended", BILL, revoked=False)
    finished = Finished(0, (seen(45.0, HALF), seen(90.0)), TrialState.DONE)
    end = run.billed_end(finished, START + 100.0, bills_add_up=adds_up)
    assert (end.seconds, end.usd, end.kept_step) == (100.0, 1.0, 0.0)
    assert [row.why for row in end.stays] == ["ended"]
    total = 1.5 if adds_up else 1.0
    assert [shown.cost for shown in end.observations] == [total / 2, total]
    assert [shown.seconds for shown in end.observations] == ([100.0, 200.0] if adds_up else [45.0, 90.0])


def test_a_run_that_never_had_a_machine_costs_nothing() -> None:
    run = replace(rental(), stays={}, first_stay=None)
    end = run.billed_end(Finished(0, (), TrialState.QUEUED), START + 100.0, bills_add_up=False)
    assert (end.seconds, end.usd, end.stays) == (0.0, 0.0, ())
