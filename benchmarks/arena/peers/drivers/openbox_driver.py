"""OpenBox: its advisor with the settings that it chooses by itself, told of every limit; on all data."""

from __future__ import annotations

import tempfile

import numpy as np
from ConfigSpace import Configuration
from openbox import Observation
from openbox import space as sp
from openbox.core.generic_advisor import Advisor
from openbox.utils.constants import FAILED, SUCCESS

from benchmarks.arena.peers.drivers.wire import Axis, Result, Suggestion, Task, serve


class OpenBox:
    """An advisor that is asked and told."""

    def __init__(self, task: Task) -> None:
        np.random.seed(task.seed)
        self._task, self._count = task, 0
        self._space = sp.Space(seed=task.seed)
        self._space.add_variables([_parameter(axis) for axis in task.axes])
        self._folder = tempfile.TemporaryDirectory()
        self._advisor = Advisor(
            self._space,
            num_objectives=1,
            num_constraints=task.limits,
            output_dir=self._folder.name,
            task_id=task.method,
            random_state=task.seed,
            logger_kwargs={"level": "ERROR"},
        )

    def ask(self) -> Suggestion | None:
        """Every suggestion is another configuration."""
        config = self._advisor.get_suggestion().get_dictionary()
        self._count += 1
        point = {name: float(value) for name, value in config.items()}
        return Suggestion(str(self._count), point, len(self._task.levels) - 1)

    def tell(self, result: Result) -> None:
        """Of what was tested."""
        kinds = {axis.name: {"unit": float, "rank": int, "choice": str}[axis.kind] for axis in self._task.axes}
        values = {name: kinds[name](value) for name, value in result.point.items()}
        failed = result.plain is None
        self._advisor.update_observation(
            Observation(
                Configuration(self._space, values=values),
                objectives=[result.loss if result.plain is None else result.plain],
                constraints=list(result.excess) if self._task.limits else None,
                trial_state=FAILED if failed else SUCCESS,
            )
        )


def _parameter(axis: Axis) -> object:
    if axis.kind == "unit":
        return sp.Real(axis.name, 0.0, 1.0)
    if axis.kind == "rank":
        return sp.Int(axis.name, 0, axis.count - 1)
    return sp.Categorical(axis.name, [str(index) for index in range(axis.count)])


if __name__ == "__main__":
    serve(OpenBox)
