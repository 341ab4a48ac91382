"""The study's loop on random markets: nothing is lost, nothing counts twice, every second is billed once."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leantune.clock import RealClock
from leantune.cloud.billing import AZURE, GCP, BillingPolicy
from leantune.cloud.feeds import MarketCapacity, MarketFeed
from leantune.cloud.markets import Market, PriceSeries
from leantune.errors import ProviderError
from leantune.executors import rented
from leantune.executors.rental import Purpose
from leantune.executors.rented import ProgramHooks
from leantune.history import TrialState
from leantune.lab.simulate import simulation
from leantune.lab.simulate.simulation import TuningRules
from leantune.lab.simulate.workloads import RecordedJob
from leantune.rent.expectation import hazard_of, save_interval
from leantune.rent.placement import FreePlacement, Need
from leantune.rent.provisioner import Always, OfferChoice, RandomMarket
from leantune.rent.quotes import Quotes
from leantune.rent.step_times import StepTimes
from leantune.space import Machine
from leantune.strategies.standings import TrialEnding
from tests.lab.simulate.books import check_books
from tests.lab.simulate.worlds import (
    HOUR,
    MACHINE,
    MARKET,
    any_world,
    feeds,
    job_of,
    jumping_market,
    on_demand,
    quiet_market,
    seconds_on,
    tune,
    with_values,
)


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
def test_the_books_are_in_order(
    seed: int, jobs: int, theta: float, capacity: bool, failures: float, save: float, skill: bool
) -> None:
    markets = feeds(seed, capacity=capacity)
    runs = [job_of(seed + i, hours=6.0, save=save) for i in range(jobs)]
    rules = TuningRules(theta=theta, mcnt=2)
    chooser = None if skill else RandomMarket(seed)
    world = tune(markets, runs, rules, failures=failures, chooser=chooser, risk=0.5)
    check_books(world)
    assert len(world.result.selected) >= min(2, jobs)
    assert world.result.began <= world.result.selected_at <= world.result.finished_at


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), bad=st.sets(st.integers(0, 3)), at=st.integers(0, 39), flat=st.booleans())
def test_the_books_are_in_order_where_jobs_diverge_or_converge(seed: int, bad: set[int], at: int, flat: bool) -> None:
    markets = feeds(seed, capacity=bool(seed % 2))
    runs = [job_of(seed + i, hours=3.0) for i in range(4)]
    for number in bad:
        values = runs[number].values.copy()
        values[at:] = values[at] if flat else np.nan
        runs[number] = with_values(runs[number], values)
    world = tune(markets, runs, TuningRules(theta=0.7, mcnt=2), chooser=RandomMarket(seed), risk=0.5)
    check_books(world)
    if not flat:
        assert not bad & {
            i for i, ending in enumerate(world.endings) if ending in (TrialEnding.FINISHED, TrialEnding.CONVERGED)
        }


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 100_000))
def test_the_books_are_in_order_whatever_is_drawn(seed: int) -> None:
    """Other providers, deadlines that nobody can keep, no notice, looks 45 s apart, machines that boot at once."""
    check_books(any_world(seed))


@pytest.mark.parametrize("policy", [GCP, AZURE], ids=["gcp", "azure"])
@pytest.mark.parametrize("save", [3.0, 25.0])
def test_the_books_are_in_order_under_other_billing(policy: BillingPolicy, save: float) -> None:
    made = [
        MarketFeed(f.machine, f.market, f.prices, on_demand=f.on_demand, notice_seconds=policy.notice_seconds)
        for f in feeds(5)
    ]
    runs = [job_of(i, hours=4.0, save=save) for i in range(3)]
    check_books(tune(made, runs, TuningRules(notice=policy.notice_seconds - 10), policy=policy))


def test_what_is_never_revoked_costs_its_hours() -> None:
    markets = quiet_market()
    job = job_of(1, hours=2.0)
    world = tune(markets, [job], TuningRules(theta=1.0), risk=0.0, poll=0.0)
    check_books(world)
    seconds = seconds_on(job, markets[0]) + 60.0 + job.save_seconds
    assert world.result.finished_at - world.result.began == pytest.approx(seconds, abs=1.0)
    (bill,) = world.cloud.bills().values()
    assert bill.net_usd == pytest.approx(0.1 * math.ceil(seconds) / HOUR, rel=1e-4)
    assert world.endings == [TrialEnding.FINISHED]
    (trial,) = world.history.trials
    assert trial.cost == pytest.approx(bill.net_usd)
    assert trial.seconds == pytest.approx(seconds, abs=1.0)


def test_a_notice_saves_and_the_job_goes_on_elsewhere_for_free() -> None:
    """The price jumps after half an hour: the first stay is refunded, and no step is lost."""
    markets = (jumping_market(HOUR + 1800.0, HOUR + 2400.0), on_demand())
    world = tune(markets, [job_of(1, hours=2.0)], TuningRules(theta=1.0), chooser=Always(0, 0.2), risk=0.1)
    check_books(world)
    first, second = world.stays[:2]
    assert first.why == Purpose.NOTICE
    assert first.left is not None
    assert first.left - HOUR == pytest.approx(1800 + 20, abs=20)  # the look after the notice, and the save
    assert (first.revoked, first.ended) == (True, HOUR + 1800.0 + 120.0)  # left to the provider, who takes it
    assert world.cloud.bills()[first.machine].net_usd == 0.0
    assert first.kept == pytest.approx(first.reached)
    assert second.step_from == first.kept > 0
    (trial,) = world.history.trials
    assert [move.state for move in trial.moves].count(TrialState.REVOKED) == 1
    assert world.store.ledger()[0].settled == 0.0


def test_revoked_without_notice_goes_back_to_the_last_checkpoint() -> None:
    prices = PriceSeries(MARKET, [0.0], [0.1], end=1e9)
    capacity = MarketCapacity([0.0], [1e9], [HOUR + 2 * HOUR])
    feed = MarketFeed(MACHINE, MARKET, prices, capacity, mode="both", with_notice=False)
    world = tune((feed, on_demand()), [job_of(1, hours=6.0)], TuningRules(theta=1.0), chooser=Always(0, 0.4), risk=0.1)
    check_books(world)
    first, second = world.stays[:2]
    assert first.why == "revoked"
    assert first.kept == 0.0 < first.reached
    assert second.step_from == 0.0


def test_a_model_too_large_for_the_notice_is_saved_periodically() -> None:
    world = tune(
        feeds(3), [job_of(1, hours=10.0, save=300.0)], TuningRules(theta=1.0), chooser=RandomMarket(1), risk=0.9
    )
    check_books(world)
    periodic = [stay for stay in world.stays if stay.why == "revoked" and stay.kept > stay.step_from]
    assert periodic, "some work survived a revocation that could not be saved in time"
    assert any("too large" in note for note in world.result.notes)


@pytest.mark.parametrize("noticed_after", [30.0, 150.0, 250.0, 290.0])
def test_a_notice_during_a_periodic_checkpoint_ends_the_stay_and_not_the_habit(noticed_after: float) -> None:
    """What is nearly saved is waited for; how long saving takes is still known afterwards."""
    calm = tune(quiet_market(), [job_of(1, hours=9.0, save=300.0)], TuningRules(theta=1.0), chooser=Always(0, 0.2))
    assert calm.stays[0].saving_seconds > 300.0  # periodic ones, and the last
    saves_from = HOUR + 60.0 + save_interval(hazard_of(0.3), 300.0)
    markets = (jumping_market(saves_from + noticed_after, saves_from + 3000.0), on_demand())
    world = tune(markets, [job_of(1, hours=9.0, save=300.0)], TuningRules(theta=1.0), chooser=Always(0, 0.2))
    check_books(world)
    first, *later = world.stays
    saved = noticed_after + 120.0 > 300.0
    assert (first.kept > 0) is saved
    assert first.saving_seconds == pytest.approx(300.0 if saved else 0.0)
    assert sum(stay.saving_seconds for stay in later) > 300.0, "periodic checkpoints go on"


@pytest.mark.parametrize("before", range(-2, 22, 2))
def test_a_notice_together_with_the_last_report_ends_the_job(before: int) -> None:
    """Both are seen at the same look, notice first: the job is saved for the notice, and its end must not be missed."""
    job = job_of(1, hours=0.5)
    last = HOUR + 60.0 + seconds_on(job, on_demand())
    markets = (jumping_market(last - before, last + 600.0),)
    world = tune(markets, [job], TuningRules(theta=1.0), chooser=Always(0, 0.2))
    check_books(world)
    assert world.endings == [TrialEnding.FINISHED]
    assert len(world.stays) <= 2


@pytest.mark.parametrize("before", range(-2, 22, 2))
def test_a_notice_together_with_theta_pauses_the_job(before: int) -> None:
    """It is saved once, and judged by the report that came together with the notice."""
    jobs = [job_of(1, hours=0.5), job_of(2, hours=4.0)]
    index = int(np.searchsorted(jobs[0].steps, 0.5 * jobs[0].total_steps))
    slowness = seconds_on(jobs[0], on_demand()) / jobs[0].total_seconds
    theta_at = HOUR + 60.0 + float(jobs[0].seconds[: index + 1].sum()) * slowness
    markets = (jumping_market(theta_at - before, theta_at + 600.0), on_demand())
    world = tune(markets, jobs, TuningRules(theta=0.5, mcnt=1), chooser=Always(0, 0.2))
    check_books(world)
    paused = [move for trial in world.history.trials for move in trial.moves if move.state is TrialState.PAUSED]
    assert len(paused) == 2
    assert sorted(world.endings) == [TrialEnding.FINISHED, TrialEnding.NOT_SELECTED]


def test_only_the_best_go_on() -> None:
    runs = [job_of(i, hours=1.0) for i in range(6)]
    world = tune(quiet_market(), runs, TuningRules(theta=0.6, mcnt=2), risk=0.0)
    check_books(world)
    assert world.endings.count(TrialEnding.FINISHED) + world.endings.count(TrialEnding.CONVERGED) == 2
    assert world.endings.count(TrialEnding.NOT_SELECTED) == 4
    assert int(np.argmin([job.final_value for job in runs])) in world.result.selected
    assert world.result.selected_at < world.result.finished_at
    states = [trial.state for trial in world.history.trials]
    assert (states.count(TrialState.DONE), states.count(TrialState.STOPPED)) == (2, 4)


def test_a_drop_after_theta_is_not_predicted_but_trained_to_the_end() -> None:
    runs = [job_of(i, hours=1.0) for i in range(3)]
    late = min(job.total_steps for job in runs) * 0.9
    dropping = [replace(job, drops=(late,)) for job in runs]
    world = tune(quiet_market(), dropping, TuningRules(theta=0.5, mcnt=1), risk=0.0)
    check_books(world)
    assert world.endings == [TrialEnding.FINISHED] * 3
    assert world.result.selected_at == world.result.finished_at


def test_a_diverged_job_is_ended_at_once() -> None:
    good = job_of(1, hours=1.0)
    values = good.values.copy()
    values[5:] = np.nan
    world = tune(quiet_market(), [with_values(good, values), good], TuningRules(theta=0.7, mcnt=1), risk=0.0)
    check_books(world)
    assert world.endings[0] == TrialEnding.DIVERGED
    assert world.result.jobs[0].reports == 6
    assert world.result.selected == (1,)


def test_where_all_diverge_the_study_ends() -> None:
    jobs = [with_values(job, np.full(40, np.nan)) for job in (job_of(1, hours=1.0), job_of(2, hours=1.0))]
    world = tune(quiet_market(), jobs, TuningRules(theta=0.7, mcnt=1), risk=0.0)
    check_books(world)
    assert world.endings == [TrialEnding.DIVERGED] * 2
    assert [job.reports for job in world.result.jobs] == [1, 1]


def test_a_converged_job_is_ended_early() -> None:
    values = np.concatenate((np.linspace(1.0, 0.2, 10), np.full(30, 0.2)))
    flat = with_values(job_of(1, hours=1.0), values)
    world = tune(quiet_market(), [flat], TuningRules(theta=1.0), risk=0.0)
    check_books(world)
    assert world.endings == [TrialEnding.CONVERGED]
    assert world.result.jobs[0].reports < 40
    unstopped = tune(quiet_market(), [flat], TuningRules(theta=1.0, stop_on_plateau=False), risk=0.0)
    assert unstopped.endings == [TrialEnding.FINISHED]


@pytest.mark.parametrize("seed", range(4))
def test_a_deadline_is_kept_on_demand(seed: int) -> None:
    """Markets that revoke all the time cannot keep it; machines on demand do."""
    markets = feeds(seed, capacity=True)
    runs = [job_of(seed + i, hours=8.0) for i in range(2)]
    finish_by = HOUR + max(fastest_seconds(job, markets) for job in runs) + 1.5 * HOUR
    cheap = Always(0, 10.0)  # the smallest machine, slower than the deadline allows
    unhurried = TuningRules(theta=1.0, stop_on_plateau=False)
    world = tune(markets, runs, replace(unhurried, finish_by=finish_by), chooser=cheap, risk=0.95)
    check_books(world)
    assert world.result.finished_at <= finish_by
    late = tune(markets, runs, unhurried, chooser=cheap, risk=0.95)
    assert late.result.finished_at > finish_by


def fastest_seconds(job: RecordedJob, markets: Sequence[MarketFeed]) -> float:
    """Of a whole training."""
    return min(seconds_on(job, feed) for feed in markets)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), finish_by_hours=st.floats(0.5, 8.0), capacity=st.booleans())
def test_any_deadline_ends_well(seed: int, finish_by_hours: float, capacity: bool) -> None:
    """Also one that nobody can keep: the books are in order and every job ends."""
    markets = feeds(seed, capacity=capacity)
    runs = [job_of(seed + i, hours=2.0 + i) for i in range(4)]
    rules = TuningRules(theta=0.6, mcnt=2, finish_by=HOUR + finish_by_hours * HOUR)
    world = tune(markets, runs, rules, risk=0.6, chooser=None if seed % 2 else Always(1))
    check_books(world)
    longest = max(fastest_seconds(job, markets) for job in runs) / HOUR
    if finish_by_hours > 1.3 * longest + 0.4:  # an untried type is allowed to be a quarter slower than thought
        assert world.result.finished_at <= HOUR + finish_by_hours * HOUR


@pytest.mark.parametrize("finish_by_hours", [2.0, 2.6, 4.0])
def test_a_deadline_leaves_time_for_the_selected(finish_by_hours: float) -> None:
    """Whoever waits for the selection must still be trained to the end in time; all on the fastest takes 1.74 h."""
    markets = feeds(1)
    runs = [job_of(i, hours=6.0) for i in range(4)]
    runs[3] = job_of(3, hours=3.0)  # waits for the others
    finish_by = HOUR + finish_by_hours * HOUR
    rules = TuningRules(theta=0.7, mcnt=2, finish_by=finish_by, stop_on_plateau=False)
    world = tune(markets, runs, rules, risk=0.5)
    check_books(world)
    assert world.result.finished_at <= finish_by


def test_a_slow_machine_on_demand_is_left_for_a_deadline() -> None:
    small = Machine("small", 2.0, 8.0, usd_per_hour=0.1, provider="sim")
    big = Machine("big", 32.0, 8.0, usd_per_hour=9.0, provider="sim")
    markets = [MarketFeed(m, Market(m.name, "z"), None, on_demand=True) for m in (small, big)]
    finish_by = HOUR + 5.0 * HOUR
    rules = TuningRules(theta=1.0, finish_by=finish_by, stop_on_plateau=False)
    world = tune(markets, [job_of(1, hours=15.0)], rules)
    check_books(world)
    assert world.result.finished_at <= finish_by
    names = [stay.market.partition("/")[0] for stay in world.stays]
    assert (names[0], names[-1]) == ("small", "big")


def test_a_chooser_that_wants_nothing_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spot prices above on demand for good: after its patience the job goes on demand, or says that it cannot."""
    machine = replace(MACHINE, usd_per_hour=0.2)
    dear = MarketFeed(machine, MARKET, PriceSeries(MARKET, [0.0], [0.9], end=1e9))
    both = (dear, MarketFeed(machine, MARKET, None, on_demand=True))
    world = tune(both, [job_of(1, hours=1.0)], TuningRules(theta=1.0), chooser=RandomMarket(1))
    check_books(world)
    (stay,) = world.stays
    assert stay.on_demand
    assert stay.launched - HOUR == pytest.approx(TuningRules().patience, abs=120.0)
    monkeypatch.setattr(rented, "LONGEST_WAIT", 2 * 86400.0)
    with pytest.raises(ProviderError, match="no machine available for 2 days"):
        tune((dear,), [job_of(1, hours=1.0)], TuningRules(theta=1.0), chooser=RandomMarket(1))


def test_an_hour_to_get_going_is_not_an_hour_to_move_on() -> None:
    jobs = [job_of(1, hours=3.0, save=3700.0)]
    world = tune(quiet_market(), jobs, TuningRules(theta=1.0), chooser=RandomMarket(1), risk=0.0)
    check_books(world)
    assert world.endings == [TrialEnding.FINISHED]


def test_after_the_refund_window_a_warned_machine_is_given_back_at_once() -> None:
    late = HOUR + 1.5 * HOUR
    world = tune(
        (jumping_market(late, late + 600.0),), [job_of(1, hours=4.0)], TuningRules(theta=1.0), chooser=Always(0, 0.2)
    )
    check_books(world)
    first = world.stays[0]
    assert not first.revoked
    assert first.ended == first.left


def test_refused_launches_are_tried_elsewhere_and_told() -> None:
    world = tune(feeds(2, capacity=True), [job_of(1, hours=3.0)], TuningRules(theta=1.0), failures=0.6)
    check_books(world)
    assert any("refused" in note for note in world.result.notes)


@pytest.mark.parametrize(("boot", "poll"), [(60.0, 10.0), (0.0, 10.0), (0.0, 0.0)])
def test_a_market_that_takes_back_what_it_gives_is_not_asked_again_and_again(boot: float, poll: float) -> None:
    """Launched within the notice of a preemption, a machine is called back at once; so would be the next."""
    gone_at = HOUR + 100.0
    prices = PriceSeries(MARKET, [0.0], [0.1], end=1e9)
    feed = MarketFeed(MACHINE, MARKET, prices, MarketCapacity([0.0], [1e9], [gone_at]), mode="both")
    world = tune((feed,), [job_of(1, hours=1.0)], TuningRules(theta=1.0, boot=boot), chooser=Always(0, 0.4), poll=poll)
    check_books(world)
    first, second = world.stays
    assert first.launched == HOUR
    assert first.ended == gone_at <= second.launched <= gone_at + 60.0


@pytest.mark.parametrize(("late", "save"), [(1.0, 60.0), (20.0, 100.0)])
def test_what_was_taken_between_two_looks_was_taken_when_the_provider_says(late: float, save: float) -> None:
    """The checkpoint was complete before; the machine was given back after it had gone."""
    gone_at = HOUR + 45 * 200.0 - late
    prices = PriceSeries(MARKET, [0.0, gone_at - 120.0, gone_at + 600.0], [0.1, 0.4, 0.1], end=1e9)
    world = tune(
        (MarketFeed(MACHINE, MARKET, prices),),
        [job_of(1, hours=6.0, save=save)],
        TuningRules(),
        chooser=Always(0, 0.2),
        poll=45.0,
    )
    check_books(world)
    first = world.stays[0]
    assert (first.ended, first.revoked) == (gone_at, True)
    assert world.cloud.bills()[first.machine].net_usd > 0


def test_the_same_world_gives_the_same_study() -> None:
    runs = [job_of(i, hours=5.0) for i in range(3)]
    first, second = (tune(feeds(9, capacity=True), runs, TuningRules()) for _ in range(2))
    assert first.stays == second.stays
    assert first.result.jobs == second.result.jobs
    assert (first.result.ranking, first.result.notes) == (second.result.ranking, second.result.notes)
    assert first.result.finished_at == second.result.finished_at
    assert first.result.selected_at == second.result.selected_at
    assert first.history == second.history


@pytest.mark.parametrize("seed", range(3))
def test_what_is_stored_of_a_launch_gives_the_same_choice_again(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The quotes of a stay, what the trial needed, and the step times told until then: nothing else decides."""
    made: list[FreePlacement] = []
    log: list[Need | tuple[str, int, float, float]] = []

    class Logging(FreePlacement):
        def __post_init__(self) -> None:
            super().__post_init__()
            made.append(self)

        def choose(self, need: Need, quotes: Quotes) -> Iterable[OfferChoice]:
            log.append(need)
            return super().choose(need, quotes)

        def measured(self, machine_type: str, number: int, seconds: float, steps: float) -> None:
            log.append((machine_type, number, seconds, steps))
            super().measured(machine_type, number, seconds, steps)

    monkeypatch.setattr(simulation, "FreePlacement", Logging)
    monkeypatch.setattr(
        simulation, "ProgramHooks", lambda *given, **hooks: ProgramHooks(*given, **{**hooks, "writes_ahead": True})
    )
    markets = feeds(seed)
    world = tune(markets, [job_of(seed + i, hours=5.0) for i in range(3)], TuningRules(mcnt=2), risk=0.4)
    check_books(world)
    (before,) = made
    times = StepTimes({feed.machine.name: feed.machine.vcpus for feed in markets}, 3)
    again = FreePlacement(
        before.offers, before.chooser, before.pace, before.course, before.began, times, before.side_by_side
    )
    stays = {(stay.number, stay.launched): stay for stay in world.stays}
    for said in log:
        if not isinstance(said, Need):
            again.measured(*said)
        elif (stay := stays.pop((said.trial.number, said.now), None)) is not None:
            stored = Quotes(**{name: np.array(values) for name, values in json.loads(stay.quotes).items()})
            first = next(iter(again.choose(said, stored)))
            offer = again.offers[first.offer]
            assert (str(offer.market), offer.on_demand, first.max_price) == (
                stay.market,
                stay.on_demand,
                stay.max_price,
            )
    assert not stays


class MarketTime(RealClock):
    """The wall's clock as that of a market."""

    speed = 1.0


def test_the_same_code_runs_under_the_real_clock() -> None:
    """Minutes become hundredths of seconds; the states are those of the simulated clock."""
    clock, base = MarketTime(), job_of(1, hours=1.0)
    quick = replace(base, seconds=base.seconds / HOUR * 0.2, save_seconds=0.01, restore_seconds=0.01)
    began = clock.now()
    rules = TuningRules(theta=0.5, mcnt=1, boot=0.02)
    world = tune(quiet_market(), [quick, quick], rules, clock=clock, poll=0.01, risk=0.0)
    assert 0.1 < clock.now() - began < 20.0
    assert sorted(world.endings) == ["finished", "not selected"]
    assert world.cloud.machines() == ()


def test_a_deadline_does_not_wait_for_somebody_who_reports_seldom() -> None:
    """One has paused and must go on at 5.5 h to be over at 6.5 h; the other says something after 3 and 6 hours."""
    waiting, seldom = job_of(1, hours=3.0), job_of(2, hours=6.0)
    machine = on_demand()
    scale = seconds_on(seldom, machine) / seldom.total_seconds
    seldom = replace(
        seldom, steps=seldom.steps[[20, -1]], values=seldom.values[[20, -1]], seconds=np.full(2, 3 * HOUR / scale)
    )
    waiting = replace(waiting, seconds=waiting.seconds / scale)
    finish_by = HOUR + 6.5 * HOUR
    rules = TuningRules(theta=0.7, mcnt=1, finish_by=finish_by, stop_on_plateau=False)
    world = tune([machine], [waiting, seldom], rules, chooser=Always(0))
    check_books(world)
    assert world.endings == [TrialEnding.FINISHED] * 2
    assert world.result.finished_at <= finish_by
    assert "a job was not judged at theta: the deadline would not wait" in world.result.notes
