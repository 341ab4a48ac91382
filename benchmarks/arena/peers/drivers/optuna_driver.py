"""Optuna: its TPE and GP samplers with the settings that they come with, told of every limit; on all data.

What was really tested is added to the study; the suggestion it came from is closed as failed, which samplers ignore.
"""

from __future__ import annotations

import warnings

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from benchmarks.arena.peers.drivers.wire import Axis, Result, Suggestion, Task, serve

METHODS = {"optuna-tpe": optuna.samplers.TPESampler, "optuna-gp": optuna.samplers.GPSampler}
EXCESS = "excess"


class Optuna:
    """A study that is asked and told."""

    def __init__(self, task: Task) -> None:
        self._task, self._count = task, 0
        self._distributions = {axis.name: _distribution(axis) for axis in task.axes}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Optuna 5 has a newer way to tell of limits, Optuna 4 has not
            sampler = METHODS[task.method](seed=task.seed, constraints_func=_excess if task.limits else None)
        self._study = optuna.create_study(sampler=sampler)

    def ask(self) -> Suggestion | None:
        """Every suggestion is another configuration."""
        self._count += 1
        trial = self._study.ask(self._distributions)
        self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
        return Suggestion(str(self._count), dict(trial.params), len(self._task.levels) - 1)

    def tell(self, result: Result) -> None:
        """Of what was tested; a run that failed has broken every limit, with the loss of the worst."""
        excess = list(result.excess)
        kinds = {axis.name: float if axis.kind == "unit" else int for axis in self._task.axes}
        self._study.add_trial(
            optuna.create_trial(
                params={name: kinds[name](value) for name, value in result.point.items()},
                distributions=self._distributions,
                value=result.loss if result.plain is None else result.plain,
                user_attrs={EXCESS: excess},
                system_attrs={"constraints": excess} if self._task.limits else {},
            )
        )


def _excess(trial: optuna.trial.FrozenTrial) -> list[float]:
    return list(trial.user_attrs.get(EXCESS, ()))


def _distribution(axis: Axis) -> BaseDistribution:
    if axis.kind == "unit":
        return FloatDistribution(0.0, 1.0)
    if axis.kind == "rank":
        return IntDistribution(0, axis.count - 1)
    return CategoricalDistribution(range(axis.count))


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    serve(Optuna)
