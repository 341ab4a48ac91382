"""Syne Tune: ASHA, BOHB and ASHACQR with the settings that they come with, one trial at a time.

Its ASHA stops trials: after each rung it says whether the trial goes on to the next one. Between two rungs the trial is
a test of its own here. What was really tested is what the searchers learn from.
"""

from __future__ import annotations

import datetime
import logging

import numpy as np
from syne_tune.backend.trial_status import Trial
from syne_tune.config_space import choice, randint, uniform
from syne_tune.optimizer.baselines import ASHA, ASHACQR, BOHB
from syne_tune.optimizer.scheduler import SchedulerDecision

from benchmarks.arena.peers.drivers.wire import ETA, Axis, Result, Suggestion, Task, serve

METHODS = {"asha": ASHA, "bohb": BOHB, "asha-cqr": ASHACQR}
DOMAINS = {
    "unit": lambda axis: uniform(0.0, 1.0),
    "rank": lambda axis: randint(0, axis.count - 1),
    "choice": lambda axis: choice(list(range(axis.count))),
}


class SyneTune:
    """A scheduler; the running trial is between rungs, or over (None)."""

    def __init__(self, task: Task) -> None:
        np.random.seed(task.seed)
        self._task, self._count = task, 0
        self._trial: Trial | None = None
        self._rung = 0
        self._scheduler = METHODS[task.method](
            {axis.name: _domain(axis) for axis in task.axes},
            metric="loss",
            time_attr="size",
            max_t=ETA ** (len(task.rungs) - 1),
            reduction_factor=ETA,
            random_seed=task.seed,
        )

    def ask(self) -> Suggestion | None:
        """The next rung of the running trial, or a new trial."""
        if self._trial is None:
            suggested = self._scheduler.suggest()
            if suggested is None:
                return None
            self._trial = Trial(self._count, suggested.config, datetime.datetime.fromtimestamp(0))
            self._count, self._rung = self._count + 1, 0
        config = {name: float(value) for name, value in self._trial.config.items()}
        return Suggestion(str(self._trial.trial_id), config, self._task.rungs[self._rung])

    def tell(self, result: Result) -> None:
        """What the running trial showed at its rung."""
        trial = self._trial
        assert trial is not None
        if self._rung == 0:
            kinds = {axis.name: float if axis.kind == "unit" else int for axis in self._task.axes}
            trial.config = {name: kinds[name](value) for name, value in result.point.items()}
            self._scheduler.on_trial_add(trial)
        shown = {"loss": result.loss, "size": ETA**self._rung}
        decision = self._scheduler.on_trial_result(trial, shown)
        self._rung += 1
        if decision == SchedulerDecision.STOP or self._rung == len(self._task.rungs):
            self._trial = None


def _domain(axis: Axis) -> object:
    return DOMAINS[axis.kind](axis)


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    serve(SyneTune)
