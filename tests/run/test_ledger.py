"""Money: worst cases fit, limits come from the user, the money or the models, in that order."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import lognorm

from leantune.cloud.catalog import clusters
from leantune.history import Estimate, History, Move, Observation, ObservationKind, Trial, TrialState, moved
from leantune.run.ledger import (
    AGAIN,
    FIRST_SHARE,
    KILL_SECONDS,
    LEAST_HEADROOM,
    LEAST_LIMIT,
    TimeRules,
    dollars,
    predicted_seconds,
    upper_bound,
)
from leantune.space import Space, integer, machine
from leantune.store.rows import Money
from leantune.units import Seconds

RATE = 36.0  # USD per hour: a cent a second
PRICED = Space(n=integer(0, 9), cluster=clusters([machine("m", vcpus=1, memory=1, usd_per_hour=RATE)]))
FREE = Space(n=integer(0, 9))


def trial(limit: float | None, expected: dict[str, Estimate] | None = None, space: Space = PRICED) -> Trial:
    return History().propose(space.grid()[0], Fraction(1), expected=expected or {}, time_limit=limit)[1]


def test_the_users_limit_stands() -> None:
    rules = TimeRules(time_limit=20.0)
    assert rules.first_limit(RATE, {"time": Estimate(500.0, 1.0)}, Money(1.0, 0.0, 0.0)) == 20.0


def test_at_first_a_quarter_of_what_each_parallel_run_can_pay() -> None:
    limit = TimeRules(parallel=2).first_limit(RATE, {}, Money(1.0, 0.2, 0.3))
    assert limit == pytest.approx((1.0 - 0.2 - 0.3) / (RATE / 3600) / 2 / FIRST_SHARE)


def test_later_the_models_upper_bound() -> None:
    assert TimeRules().first_limit(RATE, {"time": Estimate(10.0, 0.0)}, Money(1.0, 0.0, 0.0)) == 100.0
    in_dollars = TimeRules().first_limit(RATE, {"cost": Estimate(0.1, 0.0)}, Money(None, 0.0, 0.0))
    assert in_dollars == pytest.approx(100.0)


def test_without_dollars_or_models_there_is_no_limit() -> None:
    assert TimeRules().first_limit(None, {}, Money(1.0, 0.0, 0.0)) is None
    assert TimeRules().first_limit(RATE, {}, Money(None, 0.0, 0.0)) is None
    assert TimeRules(enforced=False).first_limit(RATE, {"time": Estimate(1.0, 0.1)}, Money(1.0, 0.0, 0.0)) is None


@given(st.floats(1e-3, 1e6), st.floats(0.01, 3.0))
def test_the_upper_bound_is_the_three_sigma_quantile_of_a_lognormal(mean: float, relative_sd: float) -> None:
    sigma = math.sqrt(math.log1p(relative_sd**2))
    oracle = lognorm(s=sigma, scale=mean * math.exp(-(sigma**2) / 2)).ppf(0.9986501019683699)
    assert upper_bound(Estimate(mean, mean * relative_sd)) == pytest.approx(max(oracle, 10 * mean, 5.0), rel=1e-6)


def test_seconds_are_predicted_or_follow_from_dollars() -> None:
    assert predicted_seconds({"time": Estimate(5.0, 1.0), "cost": Estimate(9.0, 9.0)}, RATE) == Estimate(5.0, 1.0)
    seconds = predicted_seconds({"cost": Estimate(0.1, 0.02)}, RATE)
    assert seconds is not None
    assert [seconds.mean, seconds.sd] == pytest.approx([10.0, 2.0])
    assert predicted_seconds({"cost": Estimate(0.1, 0.02)}, None) is None


def test_the_worst_case_counts_limit_grace_and_the_kill() -> None:
    booking = TimeRules(time_limit=20.0, grace=5.0).booking(trial(20.0), Money(1.0, 0.0, 0.0))
    assert booking is not None
    assert booking.usd == pytest.approx((20 + 5 + KILL_SECONDS) * 0.01)
    assert (booking.rate, booking.time_limit) == (RATE, 20.0)


def test_on_a_simulated_market_the_grace_passes_faster_and_the_setup_is_paid() -> None:
    rules = TimeRules(time_limit=3600.0, grace=5.0, billed=True, speed=60.0, setup=90.0)
    booking = rules.booking(trial(3600.0), Money(100.0, 0.0, 0.0))
    assert booking is not None
    assert booking.usd == pytest.approx((3600 + 90 + 60 * (5 + 2 * KILL_SECONDS)) * 0.01)
    assert "s setup and grace" in rules.shortfall(trial(3600.0), Money(1.0, 0.0, 0.0))


def test_bills_say_nothing_about_seconds() -> None:
    rules = TimeRules(billed=True, speed=60.0)
    assert rules.first_limit(RATE, {"cost": Estimate(0.1, 0.0)}, Money(None, 0.0, 0.0)) is None
    assert rules.first_limit(RATE, {"time": Estimate(2.0, 0.0)}, Money(None, 0.0, 0.0)) == 300.0  # 5 s of this world
    assert rules.first_limit(RATE, {"time": Estimate(60.0, 0.0)}, Money(None, 0.0, 0.0)) == 600.0


def test_a_limit_of_the_user_is_never_shortened() -> None:
    rules = TimeRules(time_limit=100.0, grace=0.0)
    assert rules.booking(trial(100.0), Money(1.0, 0.5, 0.0)) is None
    assert "0.5 USD that are left do not cover" in rules.shortfall(trial(100.0), Money(1.0, 0.5, 0.0))


def test_our_own_limit_shrinks_while_the_run_is_expected_to_end_in_it() -> None:
    rules = TimeRules(grace=0.0)
    long = trial(100.0, {"time": Estimate(30.0, 1.0)})
    shrunk = rules.booking(long, Money(1.0, 0.5, 0.0))
    assert shrunk is not None and shrunk.time_limit == pytest.approx(50 - KILL_SECONDS)
    assert rules.booking(long, Money(1.0, 0.8, 0.0)) is None
    assert rules.booking(trial(100.0), Money(1.0, 0.5, 0.0)) is None  # nothing is known: no gamble


def test_what_nobody_pays_for_needs_no_reservation() -> None:
    booking = TimeRules(time_limit=9.0).booking(trial(9.0, space=FREE), Money(1.0, 1.0, 0.0))
    assert booking is not None
    assert (booking.usd, booking.rate, booking.time_limit) == (0.0, None, 9.0)
    assert dollars(None, Seconds(100.0)) == 0.0


# -- machines that are chosen when a trial starts


def test_where_no_machine_is_named_the_dearest_counts() -> None:
    free, priced = FREE.grid()[0], PRICED.grid()[0]
    assert (TimeRules().rate(free), TimeRules().rate(priced)) == (None, RATE)
    rules = TimeRules(time_limit=20.0, grace=5.0, worst_rate=72.0)
    assert (rules.rate(free), rules.rate(priced)) == (72.0, RATE)
    booking = rules.booking(trial(20.0, space=FREE), Money(1.0, 0.0, 0.0))
    assert booking is not None
    assert booking.usd == pytest.approx((20 + 5 + KILL_SECONDS) * 0.02)
    assert booking.rate == 72.0
    assert rules.booking(trial(20.0, space=FREE), Money(1.0, 0.6, 0.0)) is None
    assert "0.52 USD (20 s limit" in rules.shortfall(trial(20.0, space=FREE), Money(1.0, 0.6, 0.0))


# -- trials that were paused and go on


def paused(*seconds: float, limit: float | None = 1000.0) -> Trial:
    """A trial whose runs took so long, the last of which paused it; it is queued again."""
    made = trial(limit)
    for place, span in enumerate(seconds, start=1):
        state = TrialState.PAUSED if place == len(seconds) else TrialState.REVOKED
        run = [Move(TrialState.RUNNING, 1.0), Move(state, 2.0, seconds=Seconds(span)), Move(TrialState.QUEUED, 3.0)]
        made = moved(made, *([Move(TrialState.QUEUED, 0.0)] if place == 1 else []), *run)
    return made


def test_a_paused_trial_gets_the_time_that_its_remaining_steps_may_take() -> None:
    rules = TimeRules(grace=0.0, steps=100)
    again = rules.resumed(paused(30.0, 40.0), 70.0)
    assert again.time_limit == pytest.approx(LEAST_HEADROOM * 70.0 / 70.0 * 30.0)
    booking = rules.booking(again, Money(100.0, 0.0, 0.0))
    assert booking is not None
    assert booking.usd == pytest.approx((LEAST_HEADROOM * 30.0 + KILL_SECONDS) * 0.01)
    assert (again.moves, again.number) == (paused(30.0, 40.0).moves, 0)


def test_what_was_reported_may_have_to_be_done_again() -> None:
    """A run that was lost at step 99 goes on from its checkpoint at 70, or from nothing."""
    assert TimeRules(steps=100).resumed(paused(99.0), 99.0).time_limit == pytest.approx(AGAIN * 100.0)


def test_but_at_least_a_moment_and_at_most_what_the_user_gave() -> None:
    assert TimeRules(steps=100, speed=60.0).resumed(paused(1.0), 99.0).time_limit == 60.0 * LEAST_LIMIT
    assert TimeRules(200.0, steps=100).resumed(paused(70.0), 70.0).time_limit == 200.0
    assert TimeRules(400.0, steps=100).resumed(paused(70.0), 70.0).time_limit == pytest.approx(300.0)


def test_who_was_not_paused_or_cannot_be_reckoned_with_keeps_its_limit() -> None:
    rules = TimeRules(steps=100)
    revoked = moved(
        trial(1000.0),
        Move(TrialState.QUEUED, 0.0),
        Move(TrialState.RUNNING, 1.0),
        Move(TrialState.REVOKED, 2.0, seconds=Seconds(70.0)),
        Move(TrialState.QUEUED, 3.0),
    )
    assert rules.resumed(revoked, 70.0) is revoked
    for told in (TimeRules(), TimeRules(steps=100, enforced=False)):
        assert told.resumed(paused(70.0), 70.0).time_limit == 1000.0
    assert [rules.resumed(paused(70.0), step).time_limit for step in (0.0, 100.0)] == [1000.0, 1000.0]


@given(
    st.one_of(st.none(), st.floats(0.1, 1e4)),
    st.floats(0.0, 60.0),
    st.integers(1, 8),
    st.floats(0.01, 10.0),
    st.floats(0.0, 1.0),
    st.floats(0.0, 1.0),
    st.one_of(st.none(), st.floats(0.1, 1e4)),
    st.sampled_from([(False, 1.0, 0.0), (True, 60.0, 600.0)]),
)
def test_no_booking_exceeds_what_is_left(
    limit: float | None,
    grace: float,
    parallel: int,
    budget: float,
    spent: float,
    reserved: float,
    predicted: float | None,
    market: tuple[bool, float, float],
) -> None:
    money = Money(budget, budget * spent, budget * (1 - spent) * reserved)
    billed, speed, setup = market
    rules = TimeRules(limit, grace, parallel, billed=billed, speed=speed, setup=setup)
    expected = {} if predicted is None else {"time": Estimate(predicted, predicted / 5)}
    own = rules.first_limit(RATE, expected, money)
    booking = rules.booking(trial(own, expected), money)
    if booking is not None:
        assert booking.usd <= money.left
        assert booking.time_limit is not None and booking.time_limit > 0
        assert booking.usd == pytest.approx(rules.worst_case(RATE, booking.time_limit))


@pytest.mark.parametrize(
    ("predicted", "smaller", "rest"),
    [(100.0, 30.0, 70.0), (100.0, 10.0, 90.0), (100.0, 80.0, 50.0), (100.0, 300.0, 50.0)],
)
def test_a_run_that_goes_on_from_a_smaller_share_is_booked_by_what_is_left(
    predicted: float, smaller: float, rest: float
) -> None:
    """By seconds, but at least by the share of the epochs that is left: half of them."""
    seen = Observation(Fraction(1, 2), ObservationKind.MEASURED, {"accuracy": 0.5}, Seconds(smaller), None)
    whole = replace(trial(10 * predicted), expected={"time": Estimate(predicted, 0.0)})
    rules = TimeRules(grace=0.0)
    assert rules.difference(whole, seen).time_limit == pytest.approx(10 * rest)
    booked = rules.booking(rules.difference(whole, seen), Money(None, 0.0, 0.0))
    assert booked is not None and booked.usd == pytest.approx(RATE * (10 * rest + KILL_SECONDS) / 3600)
    assert TimeRules(20.0).difference(whole, seen) == whole, "a limit of the user's stands"
    assert rules.difference(trial(7.0), seen) == trial(7.0), "nothing is predicted"


def test_a_run_of_which_nothing_is_known_is_affordable_or_not() -> None:
    configuration = trial(None).configuration
    assert TimeRules(20.0, grace=0.0).affords(configuration, Money(0.25, 0.0, 0.0))  # 21 s at a cent a second
    assert not TimeRules(20.0, grace=0.0).affords(configuration, Money(0.25, 0.05, 0.0))
    assert not TimeRules(20.0, grace=0.0).affords(configuration, Money(0.25, 0.0, 0.05))
    assert TimeRules(grace=0.0).affords(configuration, Money(0.25, 0.2, 0.0))
    assert TimeRules(20.0).affords(trial(None, space=FREE).configuration, Money(0.0, 0.0, 0.0))
