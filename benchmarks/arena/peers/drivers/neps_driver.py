"""NePS: Hyperband and PriorBand with the settings that they come with; random search where there is one share.

Nobody has a prior about these tables: PriorBand draws around its best configuration, and at random. What was really
tested is what it goes on with.
"""

from __future__ import annotations

import logging

import neps
import numpy as np
import torch
from neps.optimizers.ask_and_tell import AskAndTell

from benchmarks.arena.peers.drivers.wire import ETA, Axis, Result, Suggestion, Task, serve

METHODS = {"neps-hyperband": neps.algorithms.hyperband, "neps-priorband": neps.algorithms.priorband}
FIDELITY = "size"
RUNG = "_rung_"  # how it names trials: the configuration's number, this, the rung


class Neps:
    """An optimiser that is asked and told."""

    def __init__(self, task: Task) -> None:
        np.random.seed(task.seed)
        torch.manual_seed(task.seed)
        self._task = task
        self._trial = ""
        parameters = {axis.name: _parameter(axis) for axis in task.axes}
        self._several = len(task.rungs) > 1
        if self._several:
            parameters[FIDELITY] = neps.IntegerFidelity(1, ETA ** (len(task.rungs) - 1))
        space = type("Space", (neps.PipelineSpace,), parameters)()
        make = METHODS[task.method] if self._several else neps.algorithms.random_search
        self._optimiser = AskAndTell(make(space))

    def ask(self) -> Suggestion | None:
        """Its next trial."""
        trial = self._optimiser.ask()
        self._trial = trial.metadata.id
        config = {axis.name: float(trial.config[axis.name]) for axis in self._task.axes}
        key, _, rung = self._trial.partition(RUNG)
        return Suggestion(key, config, self._task.rungs[int(rung) if self._several else -1])

    def tell(self, result: Result) -> None:
        """Of its last trial, with what was tested."""
        trial = self._optimiser.trials[self._trial]
        kinds = {axis.name: float if axis.kind == "unit" else int for axis in self._task.axes}
        trial.config = {**trial.config, **{name: kinds[name](value) for name, value in result.point.items()}}
        self._optimiser.tell(self._trial, result.loss)


def _parameter(axis: Axis) -> object:
    if axis.kind == "unit":
        return neps.Float(0.0, 1.0)
    if axis.kind == "rank":
        return neps.Integer(0, axis.count - 1)
    return neps.Categorical(list(range(axis.count)))


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    serve(Neps)
