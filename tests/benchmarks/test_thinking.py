"""How long `lean` thinks: what is counted, and what is said of it."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from benchmarks.thinking import MOST, Timed, first_proposals, print_report, study_of, thinking
from leantune.problem import Budget
from leantune.strategies.registry import named_tuner


def test_every_answer_of_a_tuner_is_timed() -> None:
    timed = Timed(named_tuner("random"))
    study = study_of(timed, Budget(trials=3))
    trial = study.ask()
    study.tell(trial, {"accuracy": 0.5}, seconds=1.0)
    assert study.stop_reason is None
    study.recommendation()
    assert {name: len(taken) for name, taken in timed.taken.items()} == {"ask": 1, "stop_reason": 1, "recommend": 1}
    assert all(seconds > 0.0 for taken in timed.taken.values() for seconds in taken)


def test_a_study_asks_once_a_trial_and_its_trainings_take_a_second_or_more() -> None:
    found = thinking("trials and dollars", trials=5)
    assert found["trials"] == 5
    assert found["calls"]["ask"] == 5, "nothing is computed twice"
    assert found["calls"]["recommend"] == 1
    assert 5.0 <= found["training_s"] <= 10.0, "on a simulated clock"
    assert found["share"] == pytest.approx(found["thinking_s"] / found["training_s"])


def test_the_first_proposal_that_needs_models_comes_after_the_start() -> None:
    found = first_proposals(time.time() - 100.0, 0.0)
    assert found["first_s"] > 100.0, "counted from the start of the process"
    assert found["model_s"] > 0.0


def test_the_report_says_what_was_missed() -> None:
    study = {"trials": 20, "budget": "trials", "thinking_s": 3.0, "training_s": 20.0}
    study |= {"calls": {"ask": 20}, "seconds": {"ask": 3.0}}
    result = {"strategy": "lean", "cores": 2, "load_average": 0.5, "model_new_s": 9.0, "studies": [study]}
    result |= dict.fromkeys(MOST, 0.05) | {"first_warm_s": 2.5}
    written = io.StringIO()
    print_report(result, Console(file=written, width=120))
    lines = written.getvalue().splitlines()
    assert [line.split()[1] for line in lines if "missed" in line] == ["first_warm_s"]
    assert sum("reached" in line for line in lines) == len(MOST) - 1
    assert "20 trials, budget of trials: 3.00 s for 20.0 s of training (ask 20 x, 3.00 s)" in lines
