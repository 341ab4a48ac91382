"""What a strategy may spend, and what of a run lies within it.

Dollars are counted in full runs: the median dollars of a run on all data of the problem's table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile

from benchmarks.papers.results import Run
from leantune.lab.replay.runs import Settings
from leantune.lab.replay.truth import ROUNDING
from leantune.problem import Budget

OPEN_TESTS = 44  # after the start, where no budget is told to `lean`
MOST_TESTS = 150  # after the start, of strategies that never look at the budget: one replay serves all budgets


@dataclass(frozen=True)
class ArenaBudget:
    """trials: tests in all. runs: dollars of so many full runs. told: the strategy knows it."""

    name: str
    trials: int | None = None
    runs: float | None = None
    told: bool = True

    def settings(self, spec: str, unit: float) -> Settings:
        """A replay of a strategy that is told of the budget, and judged by its own rule: at the end, where no budget is
        told after every test. unit: dollars of a full run.
        """
        if not self.told:
            return Settings(spec, iterations=OPEN_TESTS, common_at=())
        given = self.given(unit)
        return Settings(spec, iterations=None, trials=given.trials, usd=given.usd, own_at=(), common_at=())

    def given(self, unit: float) -> Budget:
        """As a study has it."""
        return Budget(usd=None if self.runs is None else self.runs * unit, trials=self.trials)

    def part(self, run: Run, unit: float) -> Run:
        """The tests of a run that fit. Of a strategy that does not look at the budget, this is the run under it: the
        first test that would exceed it is not started, and ends the study.
        """
        trials = len(run) if self.trials is None else self.trials
        usd = float("inf") if self.runs is None else self.runs * unit * (1.0 + ROUNDING)
        return list(takewhile(lambda row: row.test <= trials and row.dollars <= usd, run))


OPEN = ArenaBudget("none told, 44 tests", trials=OPEN_TESTS, told=False)
BUDGETS = {
    budget.name: budget
    for budget in (
        *(ArenaBudget(f"{trials} tests", trials=trials) for trials in (10, 20, 44)),
        *(ArenaBudget(f"${runs} runs", runs=runs) for runs in (3, 10, 30)),
        ArenaBudget("20 tests and $10 runs", trials=20, runs=10),
        OPEN,
    )
}


def open_settings(spec: str, unit: float, budgets: Iterable[ArenaBudget], tests: int = MOST_TESTS) -> Settings:
    """A replay of a strategy that does not look at the budget: its parts are its runs under every budget. By its own
    rule it recommends after every test, by the common one, whose models take longer than most strategies, at the ends
    of the budgets; when all of them are used, it ends.
    """
    return Settings(spec, iterations=tests, common_at=tuple(budget.given(unit) for budget in budgets))
