"""Targets: reached, missed, or without data."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.spottune.claims import Evidence
from benchmarks.spottune.results import Results
from benchmarks.spottune.targets import targets
from tests.benchmarks.spottune.made import GAP, results

SCORES = {
    kind: {"pooled": {"brier": score}} for kind, score in {"revpred": 0.10, "tributary": 0.12, "hazard": 0.09}.items()
}


def test_without_runs_nothing_is_said() -> None:
    assert [one.reached for one in targets(Results(), Evidence())] == [None] * 6


def test_the_gap_the_pace_the_hits_and_the_scores() -> None:
    closed, pace, hits, tributary, logistic, hazard = targets(results(GAP), Evidence(SCORES))
    assert (closed.reached, pace.reached, hits.reached) == (True, True, True)
    assert closed.ours.startswith("0.750")
    assert (tributary.reached, logistic.reached, hazard.reached) == (True, None, False)


def test_one_missed_best_setting_misses_the_target() -> None:
    made = results(GAP)
    first = next(tuning for tuning in made.measured if str(tuning.policy) == "ours, theta 0.7")
    missed = {**made.measured, first: replace(made.measured[first], hit_3=False)}
    hits = targets(Results(missed, made.groups), Evidence())[2]
    assert (hits.reached, hits.ours) == (False, "75 %")
