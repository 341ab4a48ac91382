"""A study whose trials are judged while they run, to be killed by `tests.crash`: SpotTune, in the study's own loop.

Its programs play recorded curves on machines of a market that takes them away again and again; checkpoints are files,
as they would be elsewhere. Killed or not, the same settings are paused, selected, stopped and trained to the end.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from leantune.clock import SimulatedClock
from leantune.history import TrialState
from leantune.problem import Budget, Problem
from leantune.run.curves import learning_curves
from leantune.run.loop import Loop, LoopSettings
from leantune.store.base import Store
from leantune.store.database import Database
from leantune.store.study import StudyStore
from leantune.strategies.spottune import SpotTune
from leantune.strategies.tuner import View
from leantune.study.definition import describe, open_or_create
from tests.run.judged_worlds import RENTED_RULES, bare_numbers, falling, rented

NAME = "crash"


class Checkpoints(MutableMapping[int, float]):
    """Steps of checkpoints by trial, in a file that is replaced whole."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def _read(self) -> dict[str, float]:
        found: dict[str, float] = json.loads(self._path.read_text()) if self._path.exists() else {}
        return found

    def _write(self, steps: dict[str, float]) -> None:
        fresh = self._path.with_suffix(".new")
        fresh.write_text(json.dumps(steps))
        fresh.replace(self._path)

    def __getitem__(self, number: int) -> float:
        return self._read()[str(number)]

    def __setitem__(self, number: int, step: float) -> None:
        self._write({**self._read(), str(number): step})

    def __delitem__(self, number: int) -> None:
        steps = self._read()
        del steps[str(number)]
        self._write(steps)

    def __iter__(self) -> Iterator[int]:
        return iter(map(int, self._read()))

    def __len__(self) -> int:
        return len(self._read())


@dataclass(frozen=True)
class JudgedCase:
    """SpotTune over `trials` settings, `parallel` at once; half of the steps are trained before two are selected."""

    trials: int
    parallel: int = 2
    seed: int = 1

    @property
    def tuner(self) -> SpotTune:
        """A new one, that has seen nothing."""
        return SpotTune(theta=0.5, mcnt=2)

    @property
    def problem(self) -> Problem:
        return bare_numbers(self.trials, Budget(usd=500.0))

    def open(self, url: str) -> tuple[Database, StudyStore]:
        """The study in its database."""
        database = Database(url)
        document = describe(self.problem, "spottune", {}, self.seed)
        return database, open_or_create(database, NAME, self.problem, document, "", SimulatedClock())

    def work(self, url: str) -> None:
        """Run the study to its end, as a worker that knows only the store and the checkpoints."""
        database, store = self.open(url)
        tuner, runs = self.tuner, [falling(0.1 * number) for number in range(self.trials)]
        kept = Checkpoints(Path(url.removeprefix("sqlite:///")).with_suffix(".checkpoints"))
        place = rented(self.problem, store, tuner, runs, kept)
        rules = replace(RENTED_RULES, parallel=self.parallel)
        plan = LoopSettings(self.problem, tuner, self.seed, rules, lease=None, poll=None)
        Loop(store, plan, place.executor, place.clock).run()
        database.close()

    def result(self, url: str) -> object:
        """What must not depend on who was killed when: curves, states, who was selected, the ranking, the advice."""
        database, store = self.open(url)
        view = View(self.problem, store.history(), self.seed, learning_curves(store, self.problem))
        check(store, self)
        trials = tuple(
            (
                trial.configuration.id,
                trial.state,
                trial.runs.paused,
                trial.time_limit,
                view.curves[trial.number],
                tuple((seen.kind, dict(seen.metrics)) for seen in trial.observations),
                trial.moves[-1].cause,
            )
            for trial in view.history.trials
        )
        rows = [
            (row.rank, row.trial.number, row.predicted, row.ending, row.selected) for row in self.tuner.ranking(view)
        ]
        advice = self.tuner.recommend(view)
        assert advice is not None
        database.close()
        return trials, rows, advice.configuration.id, advice.why


def check(store: Store, case: JudgedCase) -> None:
    """Nothing lost, nothing doubled, nobody twice at once, every dollar once."""
    history, rows, money = store.history(), store.ledger(), store.money()
    assert [trial.state for trial in history.trials] == [TrialState.DONE] * 2 + [TrialState.STOPPED] * (case.trials - 2)
    assert money.reserved == 0.0
    assert money.left >= 0.0
    settled = math.fsum(row.settled for row in rows if row.settled is not None)
    assert math.isclose(settled, history.cost, abs_tol=1e-9), (settled, history.cost)
    assert math.isclose(settled, money.spent, abs_tol=1e-9)
    for trial in history.trials:
        own = sorted((row for row in rows if row.number == trial.number), key=lambda row: row.attempt)
        runs = sum(move.state is TrialState.RUNNING for move in trial.moves)
        assert [row.attempt for row in own] == list(range(1, runs + 1))
        assert all(row.settled is not None for row in own)
        assert all((before.settled_at or math.inf) <= after.opened for before, after in pairwise(own)), "twice at once"
        assert math.isclose(trial.cost, math.fsum(row.settled or 0.0 for row in own), abs_tol=1e-9)
    check_machines(store)
    check_steps(store)


def check_machines(store: Store) -> None:
    """Each has one name and one bill at most, and none is open; what it cost is in the ledger."""
    stays, paid = store.stays(), {(row.number, row.attempt): row.settled or 0.0 for row in store.ledger()}
    assert len({stay.machine for stay in stays}) == len(stays)
    billed: dict[tuple[int, int], float] = {}
    for stay in stays:
        assert stay.left is not None or stay.ended is not None, "no run is left, so nobody is on a machine"
        net = (stay.gross_usd or 0.0) - (stay.refund_usd or 0.0)
        billed[stay.number, stay.attempt] = billed.get((stay.number, stay.attempt), 0.0) + net
    for run, usd in billed.items():
        assert math.isclose(usd, paid[run], abs_tol=1e-9), (run, usd, paid[run])


def check_steps(store: Store) -> None:
    """No step is missing, whatever was done again; within a run steps rise one by one."""
    for trial in store.history().trials:
        reached, before = 0.0, {0: 0.0}
        for row in store.reports(trial.number):
            assert row.step is not None
            if row.attempt not in before:
                before[row.attempt] = min(row.step - 1, reached)
            assert row.step == before[row.attempt] + 1, (trial.number, row)
            before[row.attempt] = row.step
            reached = max(reached, row.step)
        assert reached == (20.0 if trial.state is TrialState.DONE else 10.0)
