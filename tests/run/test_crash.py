"""Killed anywhere, a study comes out the same. `make crash` does it longer, with a real strategy."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
TRIALS = 12
JUDGED = 5  # trials of SpotTune


def campaign(*options: str, trials: int = TRIALS) -> dict[str, int]:
    """In a process of its own: its children are forked, and a process with threads must not fork."""
    command = [sys.executable, "-m", "tests.crash", "--quick", "--trials", str(trials), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    counts: dict[str, int] = json.loads(done.stdout)
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("at", ["before-move", "after-move"])
@pytest.mark.parametrize("parallel", ["1", "3"])
def test_killed_at_every_move(at: str, parallel: str) -> None:
    counts = campaign("--strategy", "trimtuner", "--parallel", parallel, "--at", at)
    assert counts["killed"] == 3 * TRIALS  # each trial is proposed, started and ended


@pytest.mark.slow
def test_a_lost_run_is_paid_for_and_leaves_less_for_the_limits_of_later_ones() -> None:
    """Random search predicts nothing: its limits are shares of what is left."""
    assert campaign("--strategy", "random", "--parallel", "3", "--at", "before-move", trials=4)["killed"] == 3 * 4


@pytest.mark.slow
@pytest.mark.parametrize(("strategy", "parallel"), [("random", "1"), ("trimtuner", "3")])
def test_the_present_setting_is_tested_once_whoever_is_killed(strategy: str, parallel: str) -> None:
    counts = campaign("--strategy", strategy, "--baseline", "--parallel", parallel, "--at", "before-move", trials=4)
    assert counts["killed"] == 3 * 4


@pytest.mark.slow
@pytest.mark.parametrize(("strategy", "kills"), [("trimtuner", 200), ("random", 50)])
def test_killed_at_random_moments(strategy: str, kills: int) -> None:
    counts = campaign("--strategy", strategy, "--kills", str(kills))
    assert counts["killed"] >= kills
    assert counts["processes"] == counts["killed"] + counts["studies"]


def spottune(*options: str) -> dict[str, int]:
    """SpotTune on a market that takes machines away (tests/judged_crash.py)."""
    counts = campaign("--strategy", "spottune", *options, trials=JUDGED)
    assert counts["processes"] == counts["killed"] + counts["studies"] + ("random" not in options)
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("at", ["before-move", "after-move"])
def test_spottune_killed_at_every_move(at: str) -> None:
    counts = spottune("--parallel", "2", "--at", at)
    # Each trial is proposed, started and paused; two are selected, in one transaction, started and ended; two machines
    # at least are taken away, after which a trial is started again.
    assert counts["killed"] >= 3 * JUDGED + 1 + 2 * 2 + 2 * 2


@pytest.mark.slow
@pytest.mark.parametrize("at", ["before-write", "after-write"])
@pytest.mark.parametrize("parallel", ["1", "3"])
def test_spottune_killed_at_every_write(at: str, parallel: str) -> None:
    """Reports, machines, workers and proposals as well."""
    assert spottune("--parallel", parallel, "--at", at)["killed"] >= 50


@pytest.mark.slow
def test_spottune_killed_at_random_moments() -> None:
    assert spottune("--parallel", "2", "--kills", "150", "--at", "random")["killed"] >= 150
