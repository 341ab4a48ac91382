"""Studies by replay whose runs are judged at the shares that they pass, for tests of `lean`'s stops.

Accuracy of setting n at the share s: level of n - 0.01 / s. A run on all data takes 320 s, a second costs a cent.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from leantune.clock import SimulatedClock
from leantune.cloud.catalog import clusters
from leantune.executors.replay import Measurement, ReplayExecutor
from leantune.problem import Budget, Fidelity, Problem, maximize
from leantune.run.ledger import TimeRules
from leantune.run.loop import Loop, LoopSettings
from leantune.space import Space, integer, machine
from leantune.store.database import Database
from leantune.store.study import StudyStore
from leantune.strategies.proposals import Proposal, Recommendation
from leantune.strategies.recommending import cheapest_measured
from leantune.strategies.trial_ends import judgements
from leantune.strategies.tuner import Judgement, Over, Tuner, View
from leantune.study.definition import describe, open_or_create

FULL, EIGHTH = Fraction(1), Fraction(1, 8)
SHARES = tuple(Fraction(k, 32) for k in (1, 2, 4, 6, 8, 12, 16, 24, 32))
LEVELS = (0.9, 0.6, 0.95, 0.5, 0.97, 0.55, 0.7, 0.8)
FULL_SECONDS, USD_PER_SECOND = 320.0, 0.01


def problem_of(fidelity: Fidelity = "epochs", budget: Budget | None = None) -> Problem:
    space = Space(n=integer(0, len(LEVELS) - 1), cluster=clusters([machine("m", vcpus=1, memory=1, usd_per_hour=36)]))
    budget = budget or Budget(trials=len(LEVELS))
    return Problem(space, maximize("accuracy"), (), SHARES, budget, snapshots=True, fidelity=fidelity)


def accuracy(n: int, share: Fraction) -> float:
    return LEVELS[n] - 0.01 / float(share)


def table_of(problem: Problem) -> dict[tuple[str, Fraction], Measurement]:
    """Every setting at every share."""
    table = {}
    for configuration in problem.choices.grid():
        for share in problem.fractions:
            seconds, n = FULL_SECONDS * float(share), configuration["n"]
            assert isinstance(n, int)
            table[configuration.id, share] = Measurement({"accuracy": accuracy(n, share)}, seconds)
    return table


@dataclass(frozen=True)
class Listed:
    """Tests these pairs (setting, share) one after the other, and judges them as `lean` does."""

    pairs: Sequence[tuple[int, Fraction]]
    judges: bool = True

    def check(self, problem: Problem) -> None: ...

    def prepare(self) -> None: ...

    def ends_by_itself(self, problem: Problem) -> bool:
        return True

    def ask(self, view: View) -> Proposal | Over:
        count = len(view.history)
        if count == len(self.pairs):
            return Over("all are tested")
        n, share = self.pairs[count]
        configuration = view.problem.choices.grid()[n]
        tested = view.history.tested(configuration.id)
        passed = (*(one for one in SHARES if one < share and one not in tested), share)
        return Proposal(configuration, share, passed, {}, ())

    def judge(self, view: View, only: Collection[int] | None = None) -> Mapping[int, Judgement]:
        return judgements(view, only)

    def recommend(self, view: View) -> Recommendation | None:
        return cheapest_measured(view.problem, view.history)

    def stop_reason(self, view: View) -> str | None:
        return "all are tested" if len(view.history) == len(self.pairs) else None


def opened(url: str, problem: Problem) -> tuple[Database, StudyStore]:
    database = Database(url)
    document = describe(problem, "lean", {}, 1)
    return database, open_or_create(database, "stops", problem, document, "", SimulatedClock())


def work(store: StudyStore, problem: Problem, tuner: Tuner) -> None:
    """Run the study to its end, as a worker that knows only the store."""
    moves = [move.time for trial in store.history().trials for move in trial.moves]
    clock = SimulatedClock(max(moves, default=0.0))
    executor = ReplayExecutor(table_of(problem), clock, problem=problem, reports=tuner.judges)
    plan = LoopSettings(problem, tuner, 1, TimeRules(enforced=False), lease=None, poll=None)
    Loop(store, plan, executor, clock).run()


def dying(reports: int) -> None:
    """Kill this process when so many reports were stored."""
    store, left = StudyStore.add_reports, [reports]

    def add(self: StudyStore, rows: object) -> None:
        store(self, rows)  # type: ignore[arg-type]
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    StudyStore.add_reports = add  # type: ignore[assignment, method-assign]


STOPPED = Listed([(0, FULL), (1, EIGHTH), (1, FULL), (2, FULL), (3, FULL)])


if __name__ == "__main__":
    dying(int(sys.argv[2]))
    made = problem_of()
    work(opened(sys.argv[1], made)[1], made, STOPPED)
