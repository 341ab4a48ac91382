"""Kills studies by SIGKILL, at every change of the store and at random moments, and compares what comes out.

A study of the toy problem runs by replay on a simulated clock, in a process of its own that is killed and started again
until it gets through; its proposals and its recommendation must equal those of a run never killed. The processes
are forked from one that has loaded everything (and has a single thread), so that hundreds of them take a minute.

    python -m tests.crash --trials 44 --strategy trimtuner-gp --kills 200     # `make crash`
    python -m tests.crash --trials 6 --strategy spottune --parallel 2 --at before-write
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Protocol

import sqlalchemy as sa

from leantune.clock import SimulatedClock
from leantune.executors.replay import ReplayExecutor
from leantune.history import History, TrialState
from leantune.problem import Budget, Problem
from leantune.run.ledger import TimeRules
from leantune.run.loop import Loop, LoopSettings
from leantune.store.database import Database
from leantune.store.rows import Money
from leantune.store.study import StudyStore
from leantune.strategies.recipe import Recipe
from leantune.strategies.registry import recipe
from leantune.strategies.strategy import Strategy
from leantune.study.definition import describe, open_or_create
from tests import toy
from tests.judged_crash import JudgedCase

NAME = "crash"
AT = {"move": ("INSERT INTO moves",), "write": ("INSERT ", "UPDATE ", "DELETE ")}  # what transactions do


class Killable(Protocol):
    """A study that can be killed anywhere; what survives is in its database, and beside it."""

    def open(self, url: str) -> tuple[Database, StudyStore]:
        """The study in its database."""
        ...

    def work(self, url: str) -> None:
        """Run it to its end, as a worker that knows only what survived."""
        ...

    def result(self, url: str) -> object:
        """What must not depend on who was killed when; refuse books that do not add up."""
        ...


@dataclass(frozen=True)
class Case:
    """A study to be killed: batches of `parallel` run at once, deterministically."""

    recipe: Recipe
    trials: int
    seed: int = 1
    parallel: int = 1
    baseline: bool = False

    @property
    def problem(self) -> Problem:
        problem = toy.toy_problem(budget=Budget(usd=2.0, trials=self.trials))
        return problem.with_baseline(problem.space.grid()[5]) if self.baseline else problem

    @property
    def rules(self) -> TimeRules:
        return TimeRules(grace=1.0, parallel=self.parallel)

    def open(self, url: str) -> tuple[Database, StudyStore]:
        """The study in its database."""
        database = Database(url)
        document = describe(self.problem, self.recipe.name, {}, self.seed)
        return database, open_or_create(database, NAME, self.problem, document, "", SimulatedClock())

    def work(self, url: str) -> None:
        """Run the study to its end, as a worker that knows only the store."""
        database, store = self.open(url)
        moves = [move.time for trial in store.history().trials for move in trial.moves]
        clock = SimulatedClock(max(moves, default=0.0))
        executor = ReplayExecutor(toy.measurements(self.problem), clock, problem=self.problem)
        plan = LoopSettings(
            self.problem,
            Strategy(self.recipe),
            self.seed,
            self.rules,
            lease=None,
            poll=None,
            deterministic=self.parallel > 1,
            batch=self.parallel,
        )
        Loop(store, plan, executor, clock).run()
        database.close()

    def result(self, url: str) -> object:
        """What must not depend on who was killed when: proposals and recommendation.

        Runs that were lost are paid for. So a time limit that is a share of the dollars that are left depends on that,
        and `check` compares it with them; one that models gave does not.
        """
        database, store = self.open(url)
        history = store.history()
        check(history, store, self)
        proposals = tuple(
            (
                t.configuration.id,
                t.fraction,
                t.snapshots,
                t.notes,
                dict(t.expected),
                t.time_limit if t.expected else None,
                t.observations,
            )
            for t in history.trials
        )
        advice = toy.recommended(Strategy(self.recipe), self.problem, history, seed=self.seed)
        database.close()
        return proposals, repr(advice)


def check(history: History, store: StudyStore, case: Case) -> None:
    """Nothing lost, nothing doubled, the ledger adds up."""
    assert len(history) == case.trials
    assert all(trial.state is TrialState.DONE for trial in history.trials)
    rows = store.ledger()
    assert all(row.settled is not None for row in rows)
    spent = sum(row.settled or 0.0 for row in rows)
    assert abs(spent - history.cost) < 1e-9, (spent, history.cost)
    money = store.money()
    assert money.reserved == 0.0
    assert money.left >= 0.0
    for trial in (trial for trial in history.trials if not trial.expected):
        earlier = history.trials[: trial.number // case.parallel * case.parallel]  # the batches before its own
        left = Money(case.problem.budget.usd, math.fsum(one.cost for one in earlier), 0.0)
        limit = case.rules.first_limit(trial.configuration.usd_per_hour, {}, left)
        assert trial.time_limit == limit, (trial.number, trial.time_limit, limit)
    if case.baseline:
        own = (case.problem.baseline, Fraction(1))
        tests = [trial.number for trial in history.trials if (trial.configuration, trial.fraction) == own]
        assert tests == [0], tests
    attempts = sum(sum(move.state is TrialState.RUNNING for move in trial.moves) for trial in history.trials)
    assert attempts == len(rows)


@dataclass
class Counts:
    """What was done."""

    processes: int = 0
    killed: int = 0
    studies: int = 0
    seconds: float = 0.0


def run_killed(work: Callable[[], None], after: float | None = None) -> bool:
    """Run in a forked child, killed after so many seconds; whether it came through."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - the child must not go on as a second pytest
            sys.stderr.write(f"child failed: {error!r}\n")
            os._exit(1)
        os._exit(0)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return False
    assert os.WEXITSTATUS(status) == 0
    return True


def die_at(what: tuple[str, ...], which: int, *, before: bool) -> None:
    """From now on in this process: SIGKILL right before, or right after, the commit of the `which`-th transaction with
    such a statement.
    """
    moving: set[int] = set()
    moves = 0

    def executing(connection: sa.Connection, _cursor: object, statement: str, *_rest: object) -> None:
        if statement.startswith(what):
            moving.add(id(connection))

    def committing(connection: sa.Connection) -> None:
        nonlocal moves
        moves += id(connection) in moving
        if before and id(connection) in moving and moves == which:
            os.kill(os.getpid(), signal.SIGKILL)
        moving.discard(id(connection))

    def given_back(*_arguments: object) -> None:
        if moves >= which:
            os.kill(os.getpid(), signal.SIGKILL)

    sa.event.listen(sa.Engine, "before_cursor_execute", executing)
    sa.event.listen(sa.Engine, "commit", committing)
    if not before:
        sa.event.listen(sa.pool.Pool, "checkin", given_back)


def killed_at_every(
    what: tuple[str, ...], case: Killable, make_url: Callable[[], str], counts: Counts, *, before: bool
) -> Iterator[str]:
    """For each such transaction: a database whose study was killed there once and then came through.

    The study is there already: creating one is another matter (tests/store).
    """
    for which in count(1):
        url = make_url()
        case.open(url)[0].close()

        def dying(url: str = url, which: int = which) -> None:
            die_at(what, which, before=before)
            case.work(url)

        came_through = run_killed(dying)
        counts.processes += 1
        if came_through:
            return
        counts.killed += 1
        assert run_killed(lambda url=url: case.work(url))  # type: ignore[misc] # mypy has no type for the default
        counts.processes += 1
        counts.studies += 1
        yield url


def killed_at_random(case: Killable, url: str, counts: Counts, draw: random.Random, longest: float) -> None:
    """A chain of processes, each killed after a random time, ever later ones so that a busy machine gets through."""
    while not run_killed(lambda: case.work(url), draw.uniform(0.0, longest)):
        counts.processes += 1
        counts.killed += 1
        longest *= 1.05
    counts.processes += 1
    counts.studies += 1


def every(what: tuple[str, ...], case: Killable, make_url: Callable[[], str], *, before: bool) -> Counts:
    """Kill the study once at each such transaction; compare each with the unharmed one."""
    began, counts, unharmed = time.monotonic(), Counts(), make_url()
    case.work(unharmed)  # also warms every kernel up, for the forked ones
    expected = case.result(unharmed)
    for killed in killed_at_every(what, case, make_url, counts, before=before):
        assert case.result(killed) == expected
    counts.seconds = time.monotonic() - began
    return counts


def random_moments(case: Killable, make_url: Callable[[], str], *, kills: int, seed: int = 0) -> Counts:
    """Kill studies of the case until `kills` processes died at random moments; compare each with an unharmed one."""
    began, counts, draw = time.monotonic(), Counts(), random.Random(seed)
    unharmed = make_url()
    case.work(unharmed)
    creating = _seconds(lambda: case.open(make_url())[0].close())  # noqa: PLW0108 - opening is what is timed
    working = _seconds(lambda: case.work(make_url()))
    expected = case.result(unharmed)
    while counts.killed < kills:
        url = make_url()
        killed_at_random(case, url, counts, draw, longest=creating + working / 4)
        assert case.result(url) == expected
    counts.seconds = time.monotonic() - began
    return counts


def _seconds(work: Callable[[], None]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def case_of(strategy: str, trials: int, parallel: int, *, quick: bool, baseline: bool) -> Killable:
    """The study of a strategy."""
    if strategy == "spottune":
        return JudgedCase(trials, parallel)
    return Case(toy.quick(strategy) if quick else recipe(strategy), trials, parallel=parallel, baseline=baseline)


def main() -> None:
    """Run one campaign and print what was done as JSON."""
    options = argparse.ArgumentParser(description="Kill studies and compare what comes out.")
    options.add_argument("--trials", type=int, default=44)
    options.add_argument("--strategy", default="trimtuner-gp")
    options.add_argument("--quick", action="store_true", help="with fewer trees or hyper-parameter samples")
    options.add_argument("--parallel", type=int, default=1, help="trials at once, in deterministic batches")
    options.add_argument("--baseline", action="store_true", help="with a present setting, which is tested first")
    moments = [f"{side}-{what}" for what in AT for side in ("before", "after")]
    options.add_argument("--at", choices=[*moments, "random"], default="random")
    options.add_argument("--kills", type=int, default=200, help="at random moments")
    chosen = options.parse_args()
    case = case_of(chosen.strategy, chosen.trials, chosen.parallel, quick=chosen.quick, baseline=chosen.baseline)
    with tempfile.TemporaryDirectory() as folder:
        numbers = iter(range(10**6))

        def make_url() -> str:
            return f"sqlite:///{Path(folder) / f'{next(numbers)}.db'}"

        if chosen.at == "random":
            counts = random_moments(case, make_url, kills=chosen.kills)
        else:
            side, _, what = chosen.at.partition("-")
            counts = every(AT[what], case, make_url, before=side == "before")
    settings = {"strategy": chosen.strategy, "trials": chosen.trials, "parallel": chosen.parallel, "at": chosen.at}
    print(json.dumps({**settings, **asdict(counts)}))


if __name__ == "__main__":
    main()
