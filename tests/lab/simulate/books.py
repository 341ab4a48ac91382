"""What must hold in every simulated study that has ended (docs/architecture.md, promise 12)."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise

import pytest

from leantune.history import FINAL_STATES, LEGAL_MOVES, ObservationKind, TrialState
from leantune.lab.simulate.simulation import METRIC
from leantune.store.rows import StayRow
from tests.lab.simulate.worlds import World

ROUNDING = 1e-6


def check_books(world: World) -> None:
    """No step is lost beyond a checkpoint nor counted twice, each second is billed once, and every move is legal."""
    by_trial: dict[int, list[StayRow]] = defaultdict(list)
    for stay in world.stays:
        by_trial[stay.number].append(stay)
    assert set(by_trial) == set(range(len(world.jobs)))
    for number, stays in by_trial.items():
        _check_steps(world, number, stays)
        _check_one_machine_at_a_time(stays)
        _check_moves(world, number, stays)
        _check_reports(world, number, stays)
    _check_bills(world)
    _check_ledger(world)


def _check_steps(world: World, number: int, stays: list[StayRow]) -> None:
    checkpoint = 0.0
    for stay in stays:
        assert stay.step_from == checkpoint, "a trial goes on from its last checkpoint"
        assert stay.step_from <= stay.kept <= stay.reached, "no step is kept that was not done"
        checkpoint = stay.kept
    assert world.result.jobs[number].step == checkpoint, "what the trial has is what its machines kept"
    if world.history.trial(number).state is TrialState.DONE:
        assert checkpoint == world.jobs[number].total_steps


def _check_one_machine_at_a_time(stays: list[StayRow]) -> None:
    for stay in stays:
        assert stay.left is not None
        assert stay.launched <= stay.left
        assert stay.ready is None or stay.launched <= stay.ready <= stay.left + ROUNDING
    for before, after in pairwise(stays):
        assert before.left is not None
        assert before.left <= after.launched
    assert len({stay.attempt for stay in stays}) == len(stays), "a run has one machine"


def _check_moves(world: World, number: int, stays: list[StayRow]) -> None:
    """A machine is rented only while its trial is running, in the attempt that it was rented for."""
    moves = world.history.trial(number).moves
    assert moves[0].state is TrialState.PROPOSED
    assert moves[-1].state in FINAL_STATES
    runs: list[tuple[float, float]] = []
    for before, after in pairwise(moves):
        assert after.state in LEGAL_MOVES[before.state]
        assert before.time <= after.time
        if before.state is TrialState.RUNNING:
            runs.append((before.time, after.time))
    for stay in stays:
        began, ended = runs[stay.attempt - 1]
        assert stay.left is not None
        assert began <= stay.launched <= stay.left <= ended


def _check_reports(world: World, number: int, stays: list[StayRow]) -> None:
    """Each attempt reports what comes after its checkpoint; the curve is the recorded one, point for point."""
    by_attempt = {stay.attempt: stay for stay in stays}
    job, rows = world.jobs[number], world.store.reports(number)
    for row in rows:
        stay = by_attempt[row.attempt]
        assert row.step is not None
        assert stay.ready is not None and stay.left is not None
        assert stay.step_from <= row.step <= stay.reached, "told from the machine that the trial is on"
        assert stay.ready + row.seconds <= stay.left + ROUNDING
    for before, after in pairwise(rows):
        assert before.step is not None and after.step is not None
        assert before.attempt < after.attempt or (before.attempt == after.attempt and before.step < after.step)
    curve = world.simulation.loop.view().curves[number]
    count = len(curve.steps)
    assert world.result.jobs[number].reports == count
    assert list(curve.steps) == list(job.steps[:count]), "no step is left out and none counts twice"
    assert list(curve.values) == pytest.approx(list(job.values[:count]), nan_ok=True)
    for seen in world.history.trial(number).observations:
        shown = [value for value in curve.values if math.isfinite(value)]
        assert seen.kind is ObservationKind.FAILED or seen.value(METRIC) == shown[-1]


def _check_bills(world: World) -> None:
    """Each machine is billed once, from its launch to its end; nothing runs on."""
    bills, policy = world.cloud.bills(), world.simulation.scenario.policy
    assert sorted(bills) == sorted(stay.machine for stay in world.stays), "a machine has one trial"
    assert world.cloud.machines() == ()
    for stay in world.stays:
        bill = bills[stay.machine]
        assert stay.ended is not None and stay.left is not None
        used = math.ceil(stay.ended - stay.launched - ROUNDING)
        assert bill.seconds == pytest.approx(max(policy.minimum_seconds, used), abs=1e-3)
        assert (stay.gross_usd, stay.refund_usd) == (bill.gross_usd, bill.refund_usd)
        assert 0 <= bill.refund_usd <= bill.gross_usd
        assert (bill.refund_usd > 0) <= stay.revoked
        assert stay.left <= stay.ended + ROUNDING


def _check_ledger(world: World) -> None:
    """Dollars in the ledger are those of the machines, attempt by attempt; nothing stays reserved."""
    paid: dict[tuple[int, int], float] = defaultdict(float)
    for stay in world.stays:
        assert stay.gross_usd is not None and stay.refund_usd is not None
        paid[stay.number, stay.attempt] += stay.gross_usd - stay.refund_usd
    rows = world.store.ledger()
    assert len({(row.number, row.attempt) for row in rows}) == len(rows)
    for row in rows:
        assert row.settled == pytest.approx(paid.pop((row.number, row.attempt)), abs=1e-9)
    assert not paid, "every machine is in the ledger"
    money, bills = world.store.money(), sum(bill.net_usd for bill in world.cloud.bills().values())
    assert money.reserved == 0.0
    assert money.spent == pytest.approx(bills)
    assert world.result.usd == pytest.approx(bills)
    assert world.history.cost == pytest.approx(bills), "results say what all attempts cost, each once"
