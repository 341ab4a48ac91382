"""Processes that share a study, for the tests of what happens when they all come at once."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.synchronize import Barrier

from leantune.errors import LeaseLost, Outdated, StoreError
from leantune.history import Trial, TrialState
from leantune.problem import Budget
from leantune.store.database import Database
from leantune.store.rows import Booking, Claim, Money
from leantune.store.study import StudyStore
from leantune.testing.store_samples import FULL, RATE, SMALL, contract_space, expired, measured
from leantune.units import Seconds, Usd

NAME = "crowded"
RESERVED, PAID, LOST = 1.0, 0.125, 0.0625  # exact in binary, so that sums can be compared exactly
BUDGET = 12.0
PATIENCE = 90.0  # seconds, after which a worker gives up: a failing test must end as well
_start: Barrier


def set_barrier(start: Barrier) -> None:
    """Give a new process of the pool what it cannot be given with its task."""
    global _start  # noqa: PLW0603 - the only way into a pool's process
    _start = start


@dataclass
class Diary:
    """What a worker did: (trial, attempt) of each run."""

    claimed: list[tuple[int, int]] = field(default_factory=list)
    finished: list[tuple[int, int]] = field(default_factory=list)
    abandoned: list[tuple[int, int]] = field(default_factory=list)
    lost: list[tuple[int, int]] = field(default_factory=list)
    proposed: list[int] = field(default_factory=list)


def open_study(database: Database, budget: Budget) -> StudyStore:
    """The crowd's study; whoever comes first creates it."""
    try:
        return database.create(NAME, contract_space(), {}, "", budget, time=0.0, leantune_version="1")
    except StoreError as taken:
        assert "already" in str(taken), taken
        return database.open(NAME, contract_space())


def work(url: str, worker: str, trials: int) -> Diary:
    """Open a database that may not exist yet, together with all others, and work until so many trials are done."""
    _start.wait(60.0)
    with Database(url) as database:
        study = open_study(database, Budget(usd=BUDGET))
        return Worker(study, worker, trials).run()


class Worker:
    """Proposes, claims, renews and finishes; abandons some runs, and recovers those that others abandoned."""

    def __init__(self, study: StudyStore, name: str, trials: int) -> None:
        self.diary = Diary()
        self._study, self._name, self._trials = study, name, trials
        self._random = random.Random(name)
        self._now = 0.0

    def run(self) -> Diary:
        """Until every trial is done."""
        deadline = time.monotonic() + PATIENCE
        while True:
            assert time.monotonic() < deadline, f"{self._name} is still not done: {self._study.history().pending[:3]}"
            self._now += 1.0
            history = self._study.history()
            if len(history) == self._trials and not history.pending:
                return self.diary
            self._recover()
            claim = self._claim()
            if claim is not None:
                self._run(claim)
            elif len(history) < self._trials:
                self._propose(len(history))

    def _propose(self, known: int) -> None:
        if not self._study.may_propose(self._name, time=self._now, for_seconds=1e9):
            time.sleep(0.01)  # as the loop does: who only looks takes the processor from who works
            return
        try:
            trial = self._study.propose(SMALL, FULL, time=self._now, after=known)
        except Outdated:
            return
        self.diary.proposed.append(trial.number)

    def _claim(self) -> Claim | None:
        # A worker that dies is a name that nobody answers to; its lease would last for ever.
        name = f"ghost of {self._name}" if self._random.random() < 0.15 else self._name
        claim = self._study.claim(name, time=self._now, lease=1e9, fitting=_affordable)
        if claim is not None:
            self.diary.claimed.append((claim.trial.number, claim.attempt))
        return claim

    def _run(self, claim: Claim) -> None:
        run = (claim.trial.number, claim.attempt)
        if claim.worker != self._name:
            self.diary.abandoned.append(run)
            return
        assert self._study.renew(self._name, [claim.trial.number], time=self._now, lease=1e9) == {claim.trial.number}
        self._study.finish(
            claim, observations=[measured(PAID)], state=TrialState.DONE, cause="", time=self._now, dollars=Usd(PAID)
        )
        self.diary.finished.append(run)

    def _recover(self) -> None:
        ghosts = frozenset(claim.worker for claim in self._study.running() if claim.worker.startswith("ghost of"))
        for claim in expired(self._study, self._now, ghosts):
            if self._study.lose(claim, time=self._now, cause="a ghost", dollars=Usd(LOST)):
                self.diary.lost.append((claim.trial.number, claim.attempt))


def _affordable(trial: Trial, money: Money) -> Booking | None:
    assert money.spent + money.reserved <= BUDGET
    return Booking(Usd(RESERVED), RATE, Seconds(10.0)) if money.left >= RESERVED else None


def work_until_killed(url: str) -> None:
    """Propose, claim, renew and finish for ever, and say so after each transaction; the parent ends it with SIGKILL."""
    study = open_study(Database(url), Budget())
    say: Callable[[], object] = lambda: os.write(sys.stdout.fileno(), b".")  # noqa: E731
    while True:
        number = study.propose(SMALL, FULL, time=0.0).number
        say()
        claim = study.claim(
            f"worker {os.getpid()}", time=0.0, lease=1.0, fitting=lambda *_: Booking(Usd(1.0), RATE, Seconds(1.0))
        )
        assert claim is not None
        say()
        study.renew(claim.worker, [number], time=0.5, lease=1.0)
        say()
        try:
            study.finish(
                claim, observations=[measured(PAID)], state=TrialState.DONE, cause="", time=1.0, dollars=Usd(PAID)
            )
        except LeaseLost:
            raise AssertionError("nobody else is here") from None
        say()


if __name__ == "__main__":
    work_until_killed(sys.argv[1])
