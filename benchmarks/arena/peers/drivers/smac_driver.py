"""SMAC3: its multi-fidelity facade (Hyperband, random forest), or its facade for tuning where there is one share.

It chooses for TRIALS tests, of which a quarter at most are its start. Its brackets go by the configurations that it
suggested, so that results are told of these, not of their nearest ones on offer.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy as np
from ConfigSpace import CategoricalHyperparameter, ConfigurationSpace, Float, Integer
from smac import HyperparameterOptimizationFacade, MultiFidelityFacade, Scenario
from smac.main.exceptions import ConfigurationSpaceExhaustedException
from smac.runhistory import TrialInfo, TrialValue

from benchmarks.arena.peers.drivers.wire import ETA, Axis, Result, Suggestion, Task, serve

TRIALS = 100


class Smac:
    """A facade that is asked and told."""

    def __init__(self, task: Task) -> None:
        np.random.seed(task.seed)
        self._task = task
        self._asked: TrialInfo | None = None
        self._keys: dict[str, str] = {}
        self._folder = tempfile.TemporaryDirectory()
        space = ConfigurationSpace(seed=task.seed)
        space.add([_parameter(axis) for axis in task.axes])
        several = len(task.rungs) > 1
        budgets = {"min_budget": 1, "max_budget": ETA ** (len(task.rungs) - 1)} if several else {}
        scenario = Scenario(
            space,
            deterministic=True,
            n_trials=TRIALS,
            seed=task.seed,
            output_directory=Path(self._folder.name),
            **budgets,
        )
        facade = MultiFidelityFacade if several else HyperparameterOptimizationFacade
        self._facade = facade(scenario, _never_called, overwrite=True, logging_level=False)

    def ask(self) -> Suggestion | None:
        """Of its intensifier."""
        try:
            self._asked = self._facade.ask()
        except (StopIteration, ConfigurationSpaceExhaustedException):
            return None
        config = {name: float(value) for name, value in dict(self._asked.config).items()}
        key = self._keys.setdefault(str(sorted(config.items())), str(len(self._keys)))
        budget = self._asked.budget
        rung = len(self._task.rungs) - 1 if budget is None else round(math.log(budget, ETA))
        return Suggestion(key, config, self._task.rungs[rung])

    def tell(self, result: Result) -> None:
        """Under the configuration that it suggested."""
        assert self._asked is not None
        self._facade._optimizer.tell(self._asked, TrialValue(cost=result.loss), save=False)


def _parameter(axis: Axis) -> object:
    if axis.kind == "unit":
        return Float(axis.name, (0.0, 1.0))
    if axis.kind == "rank":
        return Integer(axis.name, (0, axis.count - 1))
    return CategoricalHyperparameter(axis.name, list(range(axis.count)))


def _never_called(config: object, seed: int = 0, budget: float = 0.0) -> float:
    raise RuntimeError("SMAC is asked and told: it runs nothing itself")


if __name__ == "__main__":
    serve(Smac)
