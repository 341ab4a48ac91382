"""A study in plain Python objects keeps the same promises as one in a database."""

from __future__ import annotations

import math
import random

import pytest

from leantune.history import TrialState
from leantune.problem import Budget
from leantune.store.base import Store
from leantune.store.database import Database
from leantune.store.memory import MemoryStudyStore
from leantune.store.rows import Booking
from leantune.testing.store_contract import StoreContract
from leantune.testing.store_samples import FULL, SMALL, contract_space
from leantune.testing.store_walk import StoreWalk
from leantune.units import NO_USD, Seconds, Usd


class TestMemory(StoreContract):
    @pytest.fixture
    def study(self) -> MemoryStudyStore:
        return MemoryStudyStore(contract_space(), Budget(usd=10.0, trials=40), name="mine")

    @pytest.fixture
    def peer(self, study: MemoryStudyStore) -> MemoryStudyStore:
        return study


def test_a_study_that_nobody_keeps() -> None:
    study = MemoryStudyStore(contract_space(), Budget(trials=3))
    assert study.propose(SMALL, FULL, time=0.0) == study.history().trial(0)
    assert (study.name, study.budget()) == ("study", Budget(trials=3))


def test_it_tells_the_same_as_a_database() -> None:
    """The same random steps in both: everything that can be looked at is equal, sums of dollars to the last bit."""
    budget = Budget(usd=10.0)
    with Database("sqlite://") as database:
        kept = walked(database.create("x", contract_space(), {}, "", budget, time=0.0, leantune_version=""))
    assert kept == walked(MemoryStudyStore(contract_space(), budget, name="x"))


def walked(study: Store) -> list[object]:
    walk = StoreWalk(seed=5)
    for _ in range(300):
        walk.step(study)
    look = study.look()
    return [look.history, look.money, study.running(), study.ledger(), study.stays(), study.reports()]


def test_history_is_made_anew_only_after_a_change() -> None:
    study = MemoryStudyStore(contract_space(), Budget(usd=1e6))
    for _ in range(3):
        study.propose(SMALL, FULL, time=0.0)
    before = study.history()
    assert study.history() is before
    claim = study.claim("w", time=1.0, lease=1.0, fitting=lambda *_: Booking(Usd(1.0), 1.0, Seconds(1.0)))
    assert claim is not None
    after = study.history()
    assert after is not before and after.trials[1] is before.trials[1]
    assert before.trial(0).state is TrialState.QUEUED, "what somebody has seen does not change"


def test_moves_are_not_copied() -> None:
    study = MemoryStudyStore(contract_space(), Budget())
    study.propose(SMALL, FULL, time=0.0)
    logs = set()
    for _ in range(50):
        claim = study.claim("w", time=1.0, lease=1.0, fitting=lambda *_: Booking(NO_USD, None, None))
        assert claim is not None
        study.finish(claim, observations=(), state=TrialState.REVOKED, cause="", time=2.0, dollars=NO_USD)
        logs.add(id(study.history().trial(0).runs._log))
    assert len(logs) == 1


def test_dollars_are_summed_exactly() -> None:
    study, drawn = MemoryStudyStore(contract_space(), Budget()), random.Random(1)
    study.propose(SMALL, FULL, time=0.0)
    paid = [drawn.uniform(0, 1) * 10 ** drawn.randint(-9, 9) for _ in range(200)]
    for dollars in paid:
        claim = study.claim("w", time=1.0, lease=1.0, fitting=lambda *_: Booking(Usd(drawn.random()), None, None))
        assert claim is not None
        study.finish(claim, observations=(), state=TrialState.QUEUED, cause="", time=2.0, dollars=dollars)
    assert (study.money().spent, study.money().reserved) == (math.fsum(paid), 0.0)
    assert study.history().cost == math.fsum(paid)
