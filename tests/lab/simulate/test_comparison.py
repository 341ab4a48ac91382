"""Several policies and tunings side by side: sums are sums."""

from dataclasses import replace

import pytest

from leantune.errors import InvalidInput
from leantune.lab.simulate.comparison import ComparisonPlan, Tally, compare, saved_share
from tests.lab.simulate.small import plan, recorded

BOTH = replace(plan(1), tunings=(recorded(3, 2.0), recorded(4, 1.0, family="other")), policies=("random", "on-demand"))


@pytest.fixture(scope="module")
def tallies() -> list[Tally]:
    return compare(BOTH)


def test_each_policy_does_each_tuning(tallies: list[Tally]) -> None:
    assert [(tally.policy, len(tally.results)) for tally in tallies] == [("random", 2), ("on-demand", 2)]


def test_sums_are_those_of_the_stays(tallies: list[Tally]) -> None:
    for tally in tallies:
        stays = [one for result in tally.results for one in result.stays]
        assert tally.usd == pytest.approx(sum(one.usd for one in stays))
        assert tally.refund_usd == pytest.approx(sum(one.refund_usd or 0.0 for one in stays))
        assert tally.kept_steps == pytest.approx(sum(one.kept_steps for one in stays))
        assert tally.lost_steps == pytest.approx(sum(one.lost_steps for one in stays))
        assert tally.usd_per_1000_steps == pytest.approx(1000 * tally.usd / tally.kept_steps)
        free = sum(one.kept_steps for one in stays if one.usd <= 0)
        assert tally.free_share == pytest.approx(free / tally.kept_steps)
        assert (tally.machines, tally.revocations) == (len(stays), sum(one.revoked for one in stays))
        assert tally.finished_seconds == max(result.finished_seconds for result in tally.results)
        assert tally.selected_seconds <= tally.finished_seconds


def test_overhead_is_checkpoints_boot_and_restore(tallies: list[Tally]) -> None:
    on_demand = tallies[1]
    stays = [one for result in on_demand.results for one in result.stays]
    held = sum(result.machine_seconds for result in on_demand.results)
    assert on_demand.overhead["boot"] * held == pytest.approx(60.0 * len(stays))
    again = sum(one.step_from > 0 for one in stays)  # those that had something to restore
    assert on_demand.overhead["restore"] * held == pytest.approx(8.0 * again, abs=1e-6)
    assert on_demand.overhead["checkpoint"] * held == pytest.approx(8.0 * len(stays))


def test_the_best_setting_is_found_and_counted(tallies: list[Tally]) -> None:
    assert [tally.hits(1) for tally in tallies] == [2, 2]
    assert [tally.hits(3) for tally in tallies] == [2, 2]


def test_what_is_saved(tallies: list[Tally]) -> None:
    random, on_demand = tallies
    assert saved_share(random, on_demand) == pytest.approx(1 - random.usd / on_demand.usd)
    assert saved_share(on_demand, on_demand) == 0.0


def test_the_same_plan_gives_the_same_dollars(tallies: list[Tally]) -> None:
    assert [tally.usd for tally in compare(BOTH)] == [tally.usd for tally in tallies]


def test_a_deadline_is_kept() -> None:
    start = BOTH.pool.start
    hurried = replace(BOTH, policies=("ours",), rules=replace(BOTH.rules, finish_by=start + 2.5 * 3600.0))
    (tally,), (unhurried,) = compare(hurried), compare(replace(BOTH, policies=("ours",)))
    assert tally.finished_seconds <= 2.5 * 3600.0 < unhurried.finished_seconds


def test_without_jobs_there_is_nothing_to_tune() -> None:
    with pytest.raises(InvalidInput, match="no jobs"):
        ComparisonPlan(BOTH.pool, (), BOTH.speeds)
    with pytest.raises(InvalidInput, match="no policy"):
        compare(replace(BOTH, policies=("unknown",)))


def test_a_plan_without_policies_is_refused_with_those_known() -> None:
    with pytest.raises(InvalidInput, match="there is no policy") as caught:
        plan(policies=())
    assert "single-cheapest" in caught.value.hint


def test_what_nobody_can_wish_is_refused() -> None:
    for usd in (float("nan"), -1.0):  # also where only the oracle is told
        with pytest.raises(InvalidInput, match="an hour is worth"):
            replace(BOTH, hour_value=usd)
    with pytest.raises(InvalidInput, match="the seed is -1"):
        replace(BOTH, seed=-1)
