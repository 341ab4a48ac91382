"""Runs that will not pay are stopped in the loop, by replay: what they keep, what they cost, kills."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from leantune.history import ObservationKind, Trial, TrialState
from leantune.jobfile import load_job
from leantune.problem import Fidelity
from leantune.strategies.registry import at_work
from leantune.strategies.tuner import Tuner
from leantune.study import Study
from tests.run.stopping_worlds import (
    EIGHTH,
    FULL,
    FULL_SECONDS,
    LEVELS,
    SHARES,
    STOPPED,
    USD_PER_SECOND,
    Listed,
    accuracy,
    opened,
    problem_of,
    work,
)
from tests.strategies.quick_lean import quick_lean

PROGRAM = """
import sys, time
level = {0.1: 0.3, 0.2: 0.5, 0.3: 0.9, 0.4: 0.4, 0.5: 0.2}[float(sys.argv[1])]
for step in range(1, 41):
    time.sleep(0.04)
    print('{"step": %d, "accuracy": %g}' % (step, level - 0.1 / step), flush=True)
"""
JOB = """
name: curves
train: [{python}, train.py, "{{lr}}"]
maximize: accuracy
space: {{lr: [0.1, 0.2, 0.3, 0.4, 0.5], cluster: {{machines: {{m: {{vcpus: 0.5, memory: 1 GiB, usd_per_hour: 3.6}}}}}}}}
fractions: [1]
steps: 40
budget: {{trials: 5}}
strategy: {{name: lean, curves: true, members: 4}}
run: {{grace: 1 s}}
"""

ROOT = Path(__file__).parent.parent.parent
S = TrialState
QUARTER = SHARES[4]  # the fifth point of a curve: before it nothing is predicted


def study(folder: Path, tuner: Tuner, fidelity: Fidelity = "epochs") -> tuple[Trial, ...]:
    """All trials of a study that ran to its end; its books add up."""
    problem = problem_of(fidelity)
    database, store = opened(f"sqlite:///{folder}/study.db", problem)
    work(store, problem, tuner)
    history = store.history()
    assert history.cost == pytest.approx(sum(row.settled or 0.0 for row in store.ledger()))
    database.close()
    return history.trials


def test_a_run_that_will_not_pay_is_stopped_and_paid_up_to_there(tmp_path: Path) -> None:
    good, bad = study(tmp_path, Listed([(0, FULL), (1, FULL)]))
    assert (good.state, bad.state) == (S.DONE, S.STOPPED)
    assert bad.moves[-1].cause.startswith("will end at about 0.57")
    assert bad.moves[-1].cause.endswith("; the best measured is 0.89")
    assert bad.seconds == pytest.approx(float(QUARTER) * FULL_SECONDS)
    assert bad.cost == pytest.approx(bad.seconds * USD_PER_SECOND)


def test_results_at_the_shares_that_it_passed_are_kept(tmp_path: Path) -> None:
    _, bad = study(tmp_path, Listed([(0, FULL), (1, FULL)]))
    *passed, last = bad.observations
    assert [seen.fraction for seen in passed] == [share for share in SHARES if share <= QUARTER]
    for seen in passed:
        assert seen.kind is ObservationKind.MEASURED
        assert seen.metrics == {"accuracy": accuracy(1, seen.fraction)}
        assert seen.seconds == pytest.approx(float(seen.fraction) * FULL_SECONDS)
        assert seen.cost == pytest.approx((seen.seconds or 0.0) * USD_PER_SECOND)
    assert (last.fraction, last.kind) == (FULL, ObservationKind.PARTIAL)
    assert last.metrics == {"accuracy": accuracy(1, QUARTER)}


def test_a_run_that_went_on_from_a_smaller_share_has_its_curve_before_it(tmp_path: Path) -> None:
    """It is judged at its second point, by six; seconds are those of a run from nothing, and paid is the difference."""
    _, small, large, *_ = study(tmp_path, STOPPED)
    assert (small.fraction, small.state, large.state) == (EIGHTH, S.DONE, S.STOPPED)
    assert [seen.fraction for seen in large.observations] == [SHARES[3], QUARTER, FULL]
    assert large.observations[-1].seconds == pytest.approx(float(QUARTER) * FULL_SECONDS)
    assert large.observations[0].seconds == pytest.approx(float(SHARES[3]) * FULL_SECONDS)
    assert large.seconds == pytest.approx(float(QUARTER - EIGHTH) * FULL_SECONDS)
    assert large.cost == pytest.approx(large.seconds * USD_PER_SECOND)


def test_with_shares_of_the_data_every_run_has_its_own_curve(tmp_path: Path) -> None:
    trials = study(tmp_path, Listed([(0, FULL), (1, EIGHTH), (1, FULL)]), "data")
    assert [trial.state for trial in trials] == [S.DONE, S.DONE, S.STOPPED]
    assert [seen.fraction for seen in trials[2].observations] == [*SHARES[3:8], FULL], "its own fifth point is at 3/4"


@pytest.mark.parametrize("order", [(0, 2, 4), (1, 0, 2)])
def test_a_promising_run_is_never_stopped(tmp_path: Path, order: tuple[int, ...]) -> None:
    trials = study(tmp_path, Listed([(n, FULL) for n in order]))
    assert [trial.state for trial in trials] == [S.DONE] * 3


def test_a_tuner_that_does_not_judge_hears_nothing(tmp_path: Path) -> None:
    trials = study(tmp_path, Listed([(0, FULL), (1, FULL)], judges=False))
    assert [trial.state for trial in trials] == [S.DONE, S.DONE]


@pytest.mark.parametrize("reports", [1, 9, 11, 12, 13, 20, 25])
def test_killed_and_resumed_it_stops_the_same(tmp_path: Path, reports: int) -> None:
    """At the reports that decide, the twelfth and the last of all, and at others."""
    url = f"sqlite:///{tmp_path}/study.db"
    command = [sys.executable, "-m", "tests.run.stopping_worlds", url, str(reports)]
    killed = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, timeout=120)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    (tmp_path / "whole").mkdir()
    for resumed, never_killed in zip(study(tmp_path, STOPPED), study(tmp_path / "whole", STOPPED), strict=True):
        assert (resumed.state, resumed.snapshots) == (never_killed.state, never_killed.snapshots)
        if resumed.state is S.STOPPED:
            assert resumed.moves[-1].cause == never_killed.moves[-1].cause
            assert resumed.observations[-1].metrics == never_killed.observations[-1].metrics


@pytest.mark.slow
def test_lean_saves_dollars_and_recommends_the_best(tmp_path: Path) -> None:
    costs = {}
    for curves in (False, True):
        (tmp_path / str(curves)).mkdir()
        trials = study(tmp_path / str(curves), at_work(quick_lean(curves=curves)))
        tested = {trial.configuration["n"] for trial in trials if trial.fraction == 1}
        assert tested == set(range(len(LEVELS))), "a stopped one is not tested again"
        costs[curves] = sum(trial.cost for trial in trials)
        done = [trial for trial in trials if trial.state is S.DONE and trial.fraction == 1]
        assert max(done, key=lambda trial: trial.observations[-1].metrics["accuracy"]).configuration["n"] == 4
    assert costs[True] < 0.9 * costs[False]


@pytest.mark.slow
def test_real_programs_that_report_steps_are_stopped(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "job.yaml").write_text(JOB.format(python=sys.executable))
    opened_study = Study.from_job(load_job(tmp_path / "job.yaml"))
    opened_study.run()
    trials = opened_study.history.trials
    level = {0.1: 0.3, 0.2: 0.5, 0.3: 0.9, 0.4: 0.4, 0.5: 0.2}
    before = 0.0  # the best level so far
    for trial in trials:
        own = level[float(str(trial.configuration["lr"]))]
        clearly_worse = own < before - 0.05 and "favourite" not in [note.kind for note in trial.notes]
        assert trial.state is (S.STOPPED if clearly_worse else S.DONE), (own, before)
        before = max(before, own)
    stopped = [trial for trial in trials if trial.state is S.STOPPED]
    assert stopped and all("will end at about" in trial.moves[-1].cause for trial in stopped)
    assert all(trial.observations[-1].kind is ObservationKind.PARTIAL for trial in stopped)
    assert opened_study.recommendation().configuration["lr"] == 0.3
    paid = sum(row.settled or 0.0 for row in opened_study.store.ledger())
    assert opened_study.history.cost == pytest.approx(paid)
    opened_study.close()
