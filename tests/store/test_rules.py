"""What every store asks of what it is told; the contract suites try the rest through the stores."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from leantune.errors import Outdated, StoreError
from leantune.history import Move, Observation, ObservationKind, Trial, TrialState, moved, proposed
from leantune.store.rows import Booking, JudgedMove, Money, StayRow
from leantune.store.rules import (
    check_booking,
    checked_name,
    checked_stay,
    ended,
    finite,
    judged_trial,
    named,
    not_negative,
    positive,
    unknown_study,
)
from leantune.testing.store_samples import FULL, SMALL, contract_space, measured
from leantune.units import NO_USD, Seconds, Usd

S = TrialState
STAY = StayRow(0, 1, "i-1", "m/a", False, None, 0.5, "prices.csv", 1.0)


def running() -> Trial:
    trial = proposed(0, contract_space().configuration(SMALL), FULL)
    return moved(trial, Move(S.QUEUED, 0.0), Move(S.RUNNING, 0.0))


def test_dollars_are_told_once() -> None:
    """By the observations, or by the move that ends the run."""
    end = Move(S.DONE, 9.0, "", Usd(0.5), Seconds(8.0))
    assert ended(running(), [measured(0.5)], end, NO_USD).moves[-1] == end._replace(dollars=NO_USD)
    unpriced = Observation(Fraction(1), ObservationKind.MEASURED, {}, Seconds(8.0), None)
    assert ended(running(), [unpriced], end, NO_USD).moves[-1] == end
    for state in (S.REVOKED, S.LOST):
        trial = ended(running(), [], end._replace(state=state), NO_USD)
        assert trial.moves[-2:] == (end._replace(state=state), Move(S.QUEUED, 9.0))
    with pytest.raises(StoreError, match="no result"):
        ended(running(), [], end._replace(state=S.PAUSED), Usd(0.1))


def test_a_judgement_is_of_one_moment() -> None:
    waiting = moved(running(), Move(S.PAUSED, 1.0, "", Usd(0.5)))
    judged = JudgedMove(0, S.PAUSED, S.STOPPED, "flat\x00")
    assert judged_trial(waiting, judged, [], 2.0).moves[-1] == Move(S.STOPPED, 2.0, "flat\ufffd")
    with pytest.raises(Outdated, match="it was judged while it was queued, and it is paused"):
        judged_trial(waiting, replace(judged, expected=S.QUEUED), [], 2.0)


def test_rounding_is_no_overdraft() -> None:
    money = Money(0.3, 0.1 + 0.2, 0.0)  # 0.30000000000000004
    check_booking(running(), Booking(NO_USD, None, None), money)
    with pytest.raises(StoreError, match="exceeds"):
        check_booking(running(), Booking(Usd(1e-9), None, None), money)


def test_a_stay_has_finite_numbers_and_a_name() -> None:
    checked_stay(STAY)
    checked_stay(replace(STAY, max_price=1.0, ready=2.0, left=3.0, ended=4.0, gross_usd=0.1, refund_usd=0.2))
    wrong = [replace(STAY, machine=""), replace(STAY, usd_per_hour=-1.0), replace(STAY, saving_seconds=math.nan)]
    wrong += [replace(STAY, ready=math.inf, left=-math.inf), replace(STAY, refund_usd=math.nan)]
    for stay in wrong:
        with pytest.raises(StoreError):
            checked_stay(stay)


def test_names() -> None:
    assert checked_name("digits-1.2_x") == "digits-1.2_x"
    assert named("host-1") == "host-1"
    for wrong in ("", "a\x00"):
        with pytest.raises(StoreError, match="name"):
            named(wrong)
        with pytest.raises(StoreError, match="name"):
            checked_name(wrong)
    assert "Did you mean 'digits'? There are digits" in unknown_study("digts", ["digits"], "here").hint
    assert unknown_study("digts", [], "here").hint == "There is none yet"


def test_numbers() -> None:
    assert (finite(-1, "x"), positive(2, "x"), not_negative(0, "x")) == (-1.0, 2.0, 0.0)
    for check in (finite, positive, not_negative):
        for wrong in (math.nan, math.inf):
            with pytest.raises(StoreError, match="x is"):
                check(wrong, "x")
    for check, wrong in ((positive, 0.0), (not_negative, -1.0)):
        with pytest.raises(StoreError, match="x is"):
            check(wrong, "x")
