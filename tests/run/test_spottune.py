"""SpotTune's loop on random markets: nothing is lost, nothing counts twice, every second is billed once."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from leantune.lab.simulate.fleet import TrainingRun
from leantune.run.fleet import Ready, Reported, Saved
from leantune.run.tuning import Ending, Phase, Purpose, TuningRules

from leantune.clock import RealClock
from leantune.cloud.billing import AZURE, GCP, BillingPolicy
from leantune.cloud.feeds import Capacity, MarketFeed
from leantune.cloud.markets import Market, PriceSeries
from leantune.errors import ProviderError
from leantune.rent.provisioner import Always, RandomMarket
from leantune.space import Machine
from tests.run.spot_worlds import HOUR, World, feeds, run_of, tune


def check_conservation(world: World) -> None:
    """The books of a finished tuning."""
    checkpoint = [0.0] * len(world.runs)
    for stay in world.outcome.stays:  # in the order of launches
        assert stay.step_from == checkpoint[stay.job], "a job starts from its last checkpoint"
        assert stay.step_from <= stay.kept <= stay.reached, "no step is kept that was not done"
        checkpoint[stay.job] = stay.kept
    for job, state in enumerate(world.outcome.jobs):
        assert state.phase is Phase.ENDED
        assert state.step == checkpoint[job], "what the job has is what its stays kept"
        steps = [step for step, _ in state.reports]
        assert steps == sorted(set(steps)), "no step is counted twice"
        if state.ending is Ending.FINISHED:
            assert checkpoint[job] == world.runs[job].steps[-1]
    check_one_machine_at_a_time(world)
    check_money(world)


def check_one_machine_at_a_time(world: World) -> None:
    for job in range(len(world.runs)):
        stays = [stay for stay in world.outcome.stays if stay.job == job]
        for before, after in pairwise(stays):
            assert before.left is not None
            assert before.left <= after.launched
    owner = {stay.machine: stay.job for stay in world.outcome.stays}
    for event in world.told:
        if isinstance(event, Ready | Reported | Saved):
            assert owner[event.machine] == event.job


def check_money(world: World) -> None:
    """Each machine is billed once, from its launch to its end; nothing runs on; dollars are those of the price."""
    bills, endings = world.cloud.bills(), world.fleet.endings()
    assert set(bills) == {stay.machine for stay in world.outcome.stays}
    assert len(world.outcome.stays) == len(bills)
    assert world.cloud.machines() == ()
    for stay in world.outcome.stays:
        ending, bill = endings[stay.machine], bills[stay.machine]
        seconds = ending.time - stay.launched
        assert bill.seconds == pytest.approx(max(60.0, math.ceil(seconds - 1e-6)), abs=1e-3)
        assert 0 <= bill.refund_usd <= bill.gross_usd
        assert (bill.refund_usd > 0) <= ending.revoked
        assert stay.left is not None
        assert stay.left <= ending.time + 10.0 + 1e-6  # the provider's end is seen at the next look
    paid = sum(bill.net_usd for bill in bills.values())
    assert paid == pytest.approx(sum(e.gross_usd - e.refund_usd for e in endings.values()))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    jobs=st.integers(1, 5),
    theta=st.sampled_from([0.3, 0.7, 1.0]),
    capacity=st.booleans(),
    failures=st.sampled_from([0.0, 0.3]),
    save=st.sampled_from([1.0, 60.0, 400.0]),
    skill=st.booleans(),
)
def test_conservation(
    seed: int, jobs: int, theta: float, capacity: bool, failures: float, save: float, skill: bool
) -> None:
    markets = feeds(seed, capacity=capacity)
    runs = [run_of(seed + i, markets, hours=6.0, save=save) for i in range(jobs)]
    rules = TuningRules(theta=theta, mcnt=2)
    chooser = None if skill else RandomMarket(seed)
    world = tune(markets, runs, rules, failures=failures, chooser=chooser, risk=0.5)
    check_conservation(world)
    assert len(world.outcome.selected) >= min(2, jobs)
    assert world.outcome.began <= world.outcome.selected_at <= world.outcome.finished_at


@pytest.mark.parametrize("policy", [GCP, AZURE], ids=["gcp", "azure"])
def test_conservation_under_other_rules(policy: BillingPolicy) -> None:
    made = [
        MarketFeed(f.machine, f.market, f.prices, on_demand=f.on_demand, notice_seconds=policy.notice_seconds)
        for f in feeds(5)
    ]
    runs = [run_of(i, made, hours=4.0, save=3.0) for i in range(3)]
    check_conservation(tune(made, runs, TuningRules(notice=policy.notice_seconds - 10), policy=policy))


def quiet_market(price: float = 0.1) -> tuple[MarketFeed, ...]:
    machine = Machine("m", 2.0, 8.0, usd_per_hour=0.5, provider="sim")
    market = Market("m", "zone-a")
    spot = MarketFeed(machine, market, PriceSeries(market, [0.0], [price], end=1e9))
    return spot, MarketFeed(machine, market, None, on_demand=True)


def test_what_is_never_revoked_costs_its_hours() -> None:
    markets = quiet_market()
    run = run_of(1, markets, hours=2.0)
    world = tune(markets, [run], TuningRules(theta=1.0), risk=0.0, poll=0.0)
    seconds = float(run.elapsed[-1] * run.slowness[0]) + 60.0 + run.save_seconds
    assert world.outcome.finished_at - world.outcome.began == pytest.approx(seconds, abs=1.0)
    (bill,) = world.cloud.bills().values()
    assert bill.net_usd == pytest.approx(0.1 * math.ceil(seconds) / HOUR, rel=1e-4)
    assert world.outcome.jobs[0].ending is Ending.FINISHED


def test_a_notice_saves_and_the_job_goes_on_elsewhere_for_free() -> None:
    """The price jumps after half an hour: the first stay is refunded, and no step is lost."""
    machine, market = Machine("m", 2.0, 8.0, usd_per_hour=0.5, provider="sim"), Market("m", "zone-a")
    prices = PriceSeries(market, [0.0, HOUR + 1800.0, HOUR + 2400.0], [0.1, 0.4, 0.1], end=1e9)
    markets = (MarketFeed(machine, market, prices), MarketFeed(machine, market, None, on_demand=True))
    run = run_of(1, markets, hours=2.0)
    world = tune(markets, [run], TuningRules(theta=1.0), chooser=Always(0, 0.2), risk=0.1)
    check_conservation(world)
    first = world.outcome.stays[0]
    assert first.why == Purpose.NOTICE.value
    assert first.left is not None
    assert first.left - HOUR == pytest.approx(1800 + 20, abs=20)  # the look after the notice, and the save
    assert world.cloud.bills()[first.machine].net_usd == 0.0
    assert first.kept == pytest.approx(first.reached)
    assert world.outcome.stays[1].step_from == first.kept > 0


def test_revoked_without_notice_goes_back_to_the_last_checkpoint() -> None:
    machine, market = Machine("m", 2.0, 8.0, usd_per_hour=0.5, provider="sim"), Market("m", "zone-a")
    prices = PriceSeries(market, [0.0], [0.1], end=1e9)
    capacity = Capacity([0.0], [1e9], [HOUR + 2 * HOUR])
    feed = MarketFeed(machine, market, prices, capacity, mode="both", with_notice=False)
    markets = (feed, MarketFeed(machine, market, None, on_demand=True))
    run = run_of(1, markets, hours=6.0)
    world = tune(markets, [run], TuningRules(theta=1.0), chooser=Always(0, 0.4), risk=0.1)
    check_conservation(world)
    first, second = world.outcome.stays[:2]
    assert first.why == "revoked"
    assert first.kept == 0.0 < first.reached
    assert second.step_from == 0.0


def test_a_model_too_large_for_the_notice_is_saved_periodically() -> None:
    markets = feeds(3)
    runs = [run_of(1, markets, hours=10.0, save=300.0)]
    world = tune(markets, runs, TuningRules(theta=1.0), chooser=RandomMarket(1), risk=0.9)
    check_conservation(world)
    periodic = [stay for stay in world.outcome.stays if stay.why == "revoked" and stay.kept > stay.step_from]
    assert periodic, "some work survived a revocation that could not be saved in time"
    assert any("too large" in note for note in world.outcome.notes)


@pytest.mark.parametrize("before", range(-2, 22, 2))
def test_a_notice_together_with_the_last_report_ends_the_job(before: int) -> None:
    """Both are seen at the same look, notice first: the job is saved for the notice, and its end must not be missed."""
    machine, market = Machine("m", 2.0, 8.0, usd_per_hour=0.5, provider="sim"), Market("m", "zone-a")
    calm = (MarketFeed(machine, market, PriceSeries(market, [0.0], [0.1], end=1e9)),)
    run = run_of(1, calm, hours=0.5)
    last = HOUR + 60.0 + float(run.elapsed[-1] * run.slowness[0])
    prices = PriceSeries(market, [0.0, last - before, last + 600.0], [0.1, 0.4, 0.1], end=1e9)
    world = tune((MarketFeed(machine, market, prices),), [run], TuningRules(theta=1.0), chooser=Always(0, 0.2))
    check_conservation(world)
    assert world.outcome.jobs[0].ending is Ending.FINISHED
    assert len(world.outcome.stays) <= 2


def test_only_the_best_go_on() -> None:
    markets = quiet_market()
    runs = [run_of(i, markets, hours=1.0) for i in range(6)]
    world = tune(markets, runs, TuningRules(theta=0.6, mcnt=2), risk=0.0)
    endings = [state.ending for state in world.outcome.jobs]
    assert endings.count(Ending.FINISHED) + endings.count(Ending.CONVERGED) == 2
    assert endings.count(Ending.NOT_SELECTED) == 4
    final = [float(run.values[-1]) for run in runs]
    assert int(np.argmin(final)) in world.outcome.selected
    assert world.outcome.selected_at < world.outcome.finished_at


def test_a_drop_after_theta_is_not_predicted_but_trained_to_the_end() -> None:
    markets = quiet_market()
    runs = [run_of(i, markets, hours=1.0) for i in range(3)]
    late = float(min(run.steps[-1] for run in runs)) * 0.9
    world = tune(markets, runs, TuningRules(theta=0.5, mcnt=1), risk=0.0, drops=(late,))
    assert all(state.ending is Ending.FINISHED for state in world.outcome.jobs)
    assert world.outcome.selected_at == world.outcome.finished_at


def test_a_diverged_job_is_ended_at_once() -> None:
    markets = quiet_market()
    good = run_of(1, markets, hours=1.0)
    values = good.values.copy()
    values[5:] = np.nan
    bad = TrainingRun(good.steps, values, good.elapsed, good.slowness, 20.0, 20.0)
    world = tune(markets, [bad, good], TuningRules(theta=0.7, mcnt=1), risk=0.0)
    assert world.outcome.jobs[0].ending is Ending.DIVERGED
    assert len(world.outcome.jobs[0].reports) == 6
    assert world.outcome.selected == (1,)


def test_a_converged_job_is_ended_early() -> None:
    markets = quiet_market()
    run = run_of(1, markets, hours=1.0)
    values = np.concatenate((np.linspace(1.0, 0.2, 10), np.full(30, 0.2)))
    flat = TrainingRun(run.steps, values, run.elapsed, run.slowness, 20.0, 20.0)
    world = tune(markets, [flat], TuningRules(theta=1.0), risk=0.0)
    assert world.outcome.jobs[0].ending is Ending.CONVERGED
    assert len(world.outcome.jobs[0].reports) < 40


@pytest.mark.parametrize("seed", range(4))
def test_a_deadline_is_kept_on_demand(seed: int) -> None:
    """Markets that revoke all the time cannot keep it; machines on demand do."""
    markets = feeds(seed, capacity=True)
    runs = [run_of(seed + i, markets, hours=8.0) for i in range(2)]
    finish_by = HOUR + max(float(run.elapsed[-1] * run.slowness.min()) for run in runs) + 1.5 * HOUR
    cheap = Always(0, 10.0)  # the smallest machine, slower than the deadline allows
    world = tune(
        markets, runs, TuningRules(theta=1.0, finish_by=finish_by, stop_on_plateau=False), chooser=cheap, risk=0.95
    )
    check_conservation(world)
    assert world.outcome.finished_at <= finish_by
    late = tune(markets, runs, TuningRules(theta=1.0, stop_on_plateau=False), chooser=cheap, risk=0.95)
    assert late.outcome.finished_at > finish_by


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), finish_by_hours=st.floats(0.5, 8.0), capacity=st.booleans())
def test_any_deadline_ends_well(seed: int, finish_by_hours: float, capacity: bool) -> None:
    """Also one that nobody can keep: the books are in order and every job ends."""
    markets = feeds(seed, capacity=capacity)
    runs = [run_of(seed + i, markets, hours=2.0 + i) for i in range(4)]
    rules = TuningRules(theta=0.6, mcnt=2, finish_by=HOUR + finish_by_hours * HOUR)
    world = tune(markets, runs, rules, risk=0.6, chooser=None if seed % 2 else Always(1))
    check_conservation(world)
    longest = max(float(run.elapsed[-1] * run.slowness.min()) for run in runs) / HOUR
    if finish_by_hours > 1.3 * longest + 0.4:  # an untried type is allowed to be a quarter slower than thought
        assert world.outcome.finished_at <= HOUR + finish_by_hours * HOUR


@pytest.mark.parametrize("finish_by_hours", [2.0, 2.6, 4.0])
def test_a_deadline_leaves_time_for_the_selected(finish_by_hours: float) -> None:
    """Whoever waits for the selection must still be trained to the end in time; all on the fastest takes 1.74 h."""
    markets = feeds(1)
    runs = [run_of(i, markets, hours=6.0) for i in range(4)]
    runs[3] = run_of(3, markets, hours=3.0)  # waits for the others
    finish_by = HOUR + finish_by_hours * HOUR
    rules = TuningRules(theta=0.7, mcnt=2, finish_by=finish_by, stop_on_plateau=False)
    world = tune(markets, runs, rules, risk=0.5)
    check_conservation(world)
    assert world.outcome.finished_at <= finish_by


def test_a_slow_machine_on_demand_is_left_for_a_deadline() -> None:
    small = Machine("small", 2.0, 8.0, usd_per_hour=0.1, provider="sim")
    big = Machine("big", 32.0, 8.0, usd_per_hour=9.0, provider="sim")
    markets = [MarketFeed(m, Market(m.name, "z"), None, on_demand=True) for m in (small, big)]
    run = run_of(1, markets, hours=15.0)
    finish_by = HOUR + 5.0 * HOUR
    world = tune(markets, [run], TuningRules(theta=1.0, finish_by=finish_by, stop_on_plateau=False))
    assert world.outcome.finished_at <= finish_by
    names = [markets[stay.offer].machine.name for stay in world.outcome.stays]
    assert (names[0], names[-1]) == ("small", "big")


def test_a_chooser_that_wants_nothing_does_not_wait_for_ever() -> None:
    """Spot prices above on demand for good: after its patience the job goes on demand, or says that it cannot."""
    machine, market = Machine("m", 2.0, 8.0, usd_per_hour=0.2, provider="sim"), Market("m", "zone-a")
    dear = MarketFeed(machine, market, PriceSeries(market, [0.0], [0.9], end=1e9))
    both = (dear, MarketFeed(machine, market, None, on_demand=True))
    world = tune(both, [run_of(1, both, hours=1.0)], TuningRules(theta=1.0), chooser=RandomMarket(1))
    assert [stay.offer for stay in world.outcome.stays] == [1]
    assert world.outcome.stays[0].launched - HOUR == pytest.approx(TuningRules().patience, abs=120.0)
    with pytest.raises(ProviderError, match="no machine was to be had for 30 days"):
        tune((dear,), [run_of(1, (dear,), hours=1.0)], TuningRules(theta=1.0), chooser=RandomMarket(1))


def test_an_hour_to_get_going_is_not_an_hour_to_move_on() -> None:
    markets = quiet_market()
    run = run_of(1, markets, hours=3.0, save=3700.0)
    world = tune(markets, [run], TuningRules(theta=1.0), chooser=RandomMarket(1), risk=0.0)
    check_conservation(world)
    assert world.outcome.jobs[0].ending is Ending.FINISHED


def test_after_the_refund_window_a_warned_machine_is_given_back_at_once() -> None:
    machine, market = Machine("m", 2.0, 8.0, usd_per_hour=0.5, provider="sim"), Market("m", "zone-a")
    late = HOUR + 1.5 * HOUR
    prices = PriceSeries(market, [0.0, late, late + 600.0], [0.1, 0.4, 0.1], end=1e9)
    markets = (MarketFeed(machine, market, prices),)
    run = run_of(1, markets, hours=4.0)
    world = tune(markets, [run], TuningRules(theta=1.0), chooser=Always(0, 0.2))
    check_conservation(world)
    first = world.outcome.stays[0]
    ending = world.fleet.endings()[first.machine]
    assert not ending.revoked
    assert ending.time == first.left


def test_refused_launches_are_tried_elsewhere_and_told() -> None:
    markets = feeds(2, capacity=True)
    world = tune(markets, [run_of(1, markets, hours=3.0)], TuningRules(theta=1.0), failures=0.6)
    check_conservation(world)
    assert any("refused" in note for note in world.outcome.notes)


def test_the_same_world_gives_the_same_tuning() -> None:
    markets = feeds(9, capacity=True)
    runs = [run_of(i, markets, hours=5.0) for i in range(3)]
    first, second = (tune(markets, runs, TuningRules()) for _ in range(2))
    assert first.outcome.stays == second.outcome.stays
    assert first.outcome.finished_at == second.outcome.finished_at


def test_the_same_code_runs_under_the_real_clock() -> None:
    """Minutes become hundredths of seconds; the states are those of the simulated clock."""
    markets = quiet_market()
    clock = RealClock()
    base = run_of(1, markets, hours=1.0)
    quick = TrainingRun(base.steps, base.values, base.elapsed / HOUR * 0.2, base.slowness, 0.01, 0.01)
    rules = TuningRules(theta=0.5, mcnt=1, boot=0.02, hour=5.0)
    began = clock.now()
    world = tune(markets, [quick, quick], rules, clock=clock, poll=0.01, risk=0.0)
    assert 0.1 < clock.now() - began < 20.0
    endings = [state.ending for state in world.outcome.jobs]
    assert sorted(str(ending) for ending in endings) == ["finished", "not selected"]
    assert world.cloud.machines() == ()
