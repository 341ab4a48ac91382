"""The adapter: the same tests whatever becomes of its process, losses that know limits, two rules of recommending."""

import os
import signal
import time
from fractions import Fraction

import pytest

from benchmarks.arena.peers import tuners
from benchmarks.arena.peers.drivers.wire import Result
from benchmarks.arena.peers.environments import ENVIRONMENTS
from benchmarks.arena.peers.processes import DriverProcess, shared_driver
from benchmarks.arena.peers.tuners import METHODS, PeerTuner, largest_share_measured, peer, told
from leantune.errors import StrategyError
from leantune.history import History, ObservationKind
from leantune.lab.replay.contenders import contender, source_files
from leantune.problem import Budget
from leantune.strategies.tuner import Over, View, Wait
from tests import toy
from tests.benchmarks.arena.peers.fakes import COMMAND, fake_process, gone_on, pairs

PROBLEM = toy.toy_problem()
SIZE = len(PROBLEM.space.grid())


def test_every_test_is_another_configuration_until_all_are_tested() -> None:
    with fake_process() as process:
        tuner = PeerTuner("random", lambda: process)
        history = gone_on(tuner, PROBLEM, History(), SIZE)
        assert len({identity for identity, _ in pairs(history)}) == SIZE
        assert {share for _, share in pairs(history)} == {"1"}
        assert tuner.ask(View(PROBLEM, history, 1)) == Over("every configuration has been tested")


def test_a_promoted_configuration_is_tested_on_more_data() -> None:
    with fake_process() as process:
        history = gone_on(PeerTuner("halving", lambda: process), PROBLEM, History(), 9)
    tested = pairs(history)
    for start in range(0, 9, 3):
        assert len({identity for identity, _ in tested[start : start + 3]}) == 1
        assert [share for _, share in tested[start : start + 3]] == ["1/10", "1/2", "1"]


def test_answers_are_a_function_of_history_and_seed() -> None:
    with fake_process() as process:
        tuner = PeerTuner("random", lambda: process)
        history = gone_on(tuner, PROBLEM, History(), 4)
        once = toy.asked(tuner, PROBLEM, history, seed=1)
        assert toy.asked(tuner, PROBLEM, history, seed=1) == once
        other = gone_on(PeerTuner("random", lambda: process), PROBLEM, History(), 4, seed=2)
        assert pairs(other) != pairs(history)
        # The process serves somebody else now: the first history is told to it again.
        assert toy.asked(tuner, PROBLEM, history, seed=1) == once
        # A shorter history is gone on with as it was.
        shorter = History(history.trials[:2])
        assert toy.asked(tuner, PROBLEM, shorter, seed=1).configuration == history.trials[2].configuration


def test_a_driver_that_was_killed_is_started_again_and_told_everything() -> None:
    started: list[DriverProcess] = []

    def start() -> DriverProcess:
        started.append(DriverProcess("fake", COMMAND))
        return started[-1]

    try:
        tuner = PeerTuner("halving", start)
        history = gone_on(tuner, PROBLEM, History(), 5)
        wanted = toy.asked(tuner, PROBLEM, history, seed=1)
        os.kill(started[0].pid, signal.SIGKILL)
        while started[0].alive:
            time.sleep(0.01)
        assert toy.asked(tuner, PROBLEM, history, seed=1) == wanted
        assert len(started) == 2
    finally:
        for process in started:
            process.close()


def test_a_history_of_somebody_else_is_refused() -> None:
    with fake_process() as process:
        foreign = toy.told(PROBLEM, [(row, 0) for row in range(3)])
        with pytest.raises(StrategyError, match="wanted another test"):
            PeerTuner("random", lambda: process).ask(View(PROBLEM, foreign, 1))


def test_a_library_that_repeats_itself_for_ever_is_refused() -> None:
    with fake_process() as process:
        tuner = PeerTuner("repeating", lambda: process)
        history = gone_on(tuner, PROBLEM, History(), 1)
        with pytest.raises(StrategyError, match="tested already"):
            tuner.ask(View(PROBLEM, history, 1))


def test_it_waits_for_the_running_test_and_ends_with_the_budget() -> None:
    with fake_process() as process:
        tuner = PeerTuner("random", lambda: process)
        proposal = toy.asked(tuner, PROBLEM, History(), seed=1)
        running, _ = History().propose(proposal.configuration, proposal.fraction)
        assert isinstance(tuner.ask(View(PROBLEM, running, 1)), Wait)
        history = gone_on(tuner, PROBLEM, History(), 2)
        ended = tuner.ask(View(PROBLEM.with_budget(Budget(trials=2)), history, 1))
        assert isinstance(ended, Over)


def test_a_broken_limit_is_worse_than_the_worst() -> None:
    history = toy.told(PROBLEM, [(row, 2) for row in range(SIZE)])
    kept: list[Result] = []
    broken: list[Result] = []
    for trial in history.trials:
        result = told(PROBLEM, history.trials, trial, "k", 2, {})
        (broken if result.excess[0] > 0 else kept).append(result)
    assert kept
    assert broken
    assert all(result.loss == result.plain for result in kept)
    assert {result.plain for result in (*kept, *broken)} == {
        -toy.accuracy(trial.configuration, trial.fraction) for trial in history.trials
    }
    worst = max(result.plain or 0.0 for result in (*kept, *broken))
    assert all(result.loss > worst for result in broken)


def test_a_failed_run_is_told_as_the_worst_and_without_a_value() -> None:
    history = toy.told(PROBLEM, [(0, 2), (1, 2)])
    failed = toy.told(PROBLEM, [(2, 2)], ObservationKind.FAILED).trials[0]
    result = told(PROBLEM, history.trials, failed, "k", 2, {})
    assert result.plain is None
    assert result.excess == (1.0,)
    assert result.loss > max(-toy.accuracy(trial.configuration, Fraction(1)) for trial in history.trials)


def test_the_own_rule_is_the_best_measured_on_all_data_or_on_the_largest_share() -> None:
    assert largest_share_measured(PROBLEM, History()) is None
    part = largest_share_measured(PROBLEM, toy.told(PROBLEM, [(0, 0), (8, 1), (16, 1)]))
    assert part is not None
    assert (part.fraction, part.tested) == (Fraction(1), False)
    assert part.configuration == PROBLEM.space.grid()[8]
    full = largest_share_measured(PROBLEM, toy.told(PROBLEM, [(8, 1), (0, 2)]))
    assert full is not None
    assert (full.configuration, full.tested) == (PROBLEM.space.grid()[0], True)


def test_the_common_rule_stands_beside_the_own_one(monkeypatch: pytest.MonkeyPatch) -> None:
    made = PeerTuner("random", lambda: shared_driver("fake", COMMAND))
    monkeypatch.setattr(tuners, "made_for_tests", lambda: made, raising=False)
    found = contender("benchmarks.arena.peers.tuners:made_for_tests")
    assert found.tuner is made
    assert found.common == contender("random").common


def test_a_change_of_a_driver_runs_replays_again() -> None:
    names = {path.name for path in source_files("benchmarks.arena.peers.tuners:peer(method='asha')")}
    assert {"tuners.py", "wire.py", "syne_tune_driver.py", "environments.py"} <= names


def test_an_unknown_peer_is_refused() -> None:
    with pytest.raises(StrategyError, match=r"there is no peer 'ax'.*asha"):
        peer("ax")


def test_every_method_has_an_environment_and_a_driver() -> None:
    for method in METHODS.values():
        assert method.environment in ENVIRONMENTS
        assert (tuners.HERE / "drivers" / f"{method.driver}.py").is_file()
