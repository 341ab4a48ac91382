"""Arrivals and broken limits of runs made by hand."""

import math
from dataclasses import replace

import pytest

from benchmarks.arena.generated import Generated, unit_dollars
from benchmarks.lean.experiments import LEAN, Effort, groups
from benchmarks.lean.measures import EARLY, compared, figures, goods, units
from benchmarks.papers.results import Run
from leantune.lab.replay.runs import COMMON, PAPER
from tests.benchmarks.lean.made import BROKEN, GOOD, POOR, arriving
from tests.benchmarks.papers.made import run

TARGETS = goods("main")


def test_figures_of_runs_that_are_known() -> None:
    runs = [arriving(0.1, after=3), arriving(0.1, after=5), arriving(0.1, last=BROKEN)]
    found = figures(runs, TARGETS)
    assert found.last.value == pytest.approx(0.5)
    assert (found.last.finite, found.last.count) == (2, 3)
    assert (found.infeasible_ends, found.seeds) == (1, 3)
    assert found.infeasible_late == pytest.approx(1 / 12), "of three times four recommendations"
    assert found.ask == 0.25


def test_only_recommendations_after_the_tenth_test_count_as_late() -> None:
    early = run([BROKEN] * EARLY + [GOOD])
    assert figures([early], TARGETS).infeasible_late == 0.0
    assert math.isnan(figures([run([BROKEN] * EARLY)], TARGETS).infeasible_late)
    assert figures([run([GOOD] * EARLY + [BROKEN])], TARGETS).infeasible_late == 1.0


def test_a_run_that_recommends_nothing_does_not_end_well() -> None:
    silent = [replace(row, advice={}) for row in run([GOOD, GOOD])]
    assert figures([silent, []], TARGETS).infeasible_ends == 2


def test_dollars_may_be_over_a_unit() -> None:
    runs = [arriving(0.1), arriving(0.2)]
    assert figures(runs, TARGETS, unit=[0.1, 0.1]).last.value == pytest.approx((3 + 6) / 2)


def _with_common(good: Run, poor: Run) -> Run:
    """The advice of one by the paper's rule, of the other by the common one."""
    return [
        replace(one, advice={PAPER: one.advice[PAPER], COMMON: other.advice[PAPER]})
        for one, other in zip(poor, good, strict=True)
    ]


def test_others_are_compared_by_their_better_rule_and_lean_by_its_own() -> None:
    mixed = [_with_common(arriving(0.1), run([POOR] * 14))]
    assert compared("eic", mixed, TARGETS).rule == COMMON
    assert compared("eic", mixed, TARGETS).last.value == pytest.approx(0.3)
    assert compared(LEAN, mixed, TARGETS).last.value == math.inf
    assert compared("eic", [arriving(0.1)], TARGETS).rule == PAPER


def test_cheapest_anywhere_has_its_own_target() -> None:
    assert list(goods("nephele")) == ["CNO 1.5"]
    assert list(TARGETS) == ["90%", "95%", "99%"]


def test_units_are_those_of_each_problem() -> None:
    generated = groups(Effort(seeds=2), ("generated",))["generated"]
    assert units(generated, "tight", LEAN) == [unit_dollars(Generated("tight", number)) for number in (0, 1)]
    assert units(groups(Effort(), ("main",))["main"], "rnn", LEAN) is None
