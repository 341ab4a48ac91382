"""Groups as data."""

from __future__ import annotations

from benchmarks.spottune.experiments import OUTLINES, STARTS, Effort, groups, kinds_needed
from benchmarks.spottune.policies import Rule
from benchmarks.spottune.pools import PoolName

FAMILIES = ("LoR", "SVM")
ALL = Effort(tuple(PoolName), FAMILIES)


def test_every_policy_meets_every_family_at_every_start() -> None:
    tunings = [tuning for _, tuning in groups(ALL)["volatile"].tunings]
    assert len(set(tunings)) == len(tunings)
    policies = {tuning.policy for tuning in tunings}
    assert {policy.rule for policy in policies} == set(Rule)
    assert len(tunings) == len(policies) * len(FAMILIES) * STARTS


def test_more_starts_hold_the_former() -> None:
    few = {tuning for _, tuning in groups(Effort(ALL.pools, FAMILIES, starts=2))["smooth"].tunings}
    more = {tuning for _, tuning in groups(Effort(ALL.pools, FAMILIES, starts=3))["smooth"].tunings}
    assert few < more


def test_capacity_pools_ask_the_predictor_of_the_smooth_prices() -> None:
    needed = kinds_needed(list(groups(ALL).values()))
    assert {pool for pool, _ in needed} == {PoolName.VOLATILE, PoolName.SMOOTH}
    assert ("volatile", "revpred-printed") in needed


def test_a_quick_run_trains_no_network_and_starts_once() -> None:
    quick = Effort(ALL.pools, FAMILIES, quick=True)
    kinds = {kind for _, kind in kinds_needed(list(groups(quick).values()))}
    assert not kinds & {"revpred", "revpred-printed", "tributary"}
    assert {tuning.start for group in groups(quick).values() for _, tuning in group.tunings} == {0}


def test_without_traces_the_capacity_groups_are_empty() -> None:
    priced = Effort((PoolName.VOLATILE, PoolName.SMOOTH), FAMILIES)
    assert not groups(priced)["capacity"].tunings
    assert list(groups(priced)) == list(OUTLINES)


def test_only_what_is_asked_for() -> None:
    assert list(groups(ALL, ("theta",))) == ["theta"]
