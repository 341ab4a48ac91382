"""What a study has left."""

from __future__ import annotations

from leantune.acquisition.worth import Resources
from leantune.history import History, Trial
from leantune.problem import COST, TIME, Problem
from leantune.units import SECONDS_PER_HOUR


def resources(problem: Problem, history: History) -> Resources:
    """What is left of the budget, pending trials taken as they were expected to turn out."""
    budget, finished = problem.budget, len(history.finished)
    usual_usd = history.cost / finished if finished else 0.0
    usual_seconds = history.seconds / finished if finished else 0.0

    def foreseen(trial: Trial, metric: str, usual: float) -> float:
        return trial.expected[metric].mean if metric in trial.expected else usual

    usd = sum(foreseen(trial, COST, usual_usd) for trial in history.pending)
    seconds = sum(foreseen(trial, TIME, usual_seconds) for trial in history.pending)
    chosen = sum(not trial.verifies for trial in history.trials)
    return Resources(
        None if budget.usd is None else budget.usd - history.cost - usd,
        None if budget.hours is None else budget.hours * SECONDS_PER_HOUR - history.seconds - seconds,
        None if budget.trials is None else budget.trials - chosen,
        usual_usd,
        usual_seconds,
    )
