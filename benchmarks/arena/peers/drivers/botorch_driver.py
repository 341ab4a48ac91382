"""BoTorch's multi-fidelity knowledge gradient (Wu et al. 2020), as in its tutorial, with fewer fantasies.

START points of a Sobol sequence at shares drawn at random; then SingleTaskMultiFidelityGP, a cost that is proportional
to the share, and the pair of largest knowledge gained about the best on all data per cost, over every share of the
table. Choices are one-hot columns, the largest of which counts.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import torch
from botorch import fit_gpytorch_mll
from botorch.acquisition.analytic import PosteriorMean
from botorch.acquisition.cost_aware import InverseCostWeightedUtility
from botorch.acquisition.fixed_feature import FixedFeatureAcquisitionFunction
from botorch.acquisition.knowledge_gradient import qMultiFidelityKnowledgeGradient
from botorch.acquisition.utils import project_to_target_fidelity
from botorch.models.cost import AffineFidelityCostModel
from botorch.models.gp_regression_fidelity import SingleTaskMultiFidelityGP
from botorch.models.transforms.outcome import Standardize
from botorch.optim.optimize import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor
from torch.quasirandom import SobolEngine

from benchmarks.arena.peers.drivers.wire import Axis, Point, Result, Suggestion, Task, serve

START = 8
FANTASIES, RESTARTS, RAW = 8, 1, 16
OPTIONS: dict[str, bool | float | int | str] = {"maxiter": 10, "batch_limit": 4}


class KnowledgeGradient:
    """Points are columns in [0, 1], the last one the share of the data."""

    def __init__(self, task: Task) -> None:
        torch.manual_seed(task.seed)
        self._task, self._count = task, 0
        self._width = sum(map(_columns, task.axes))
        self._x: list[list[float]] = []
        self._y: list[float] = []
        self._sobol = SobolEngine(self._width, scramble=True, seed=task.seed)  # type: ignore[no-untyped-call]

    def ask(self) -> Suggestion | None:
        """Every suggestion is another configuration."""
        self._count += 1
        if len(self._y) < START:
            level = int(torch.randint(len(self._task.levels), ()))
            return Suggestion(str(self._count), self._point(self._sobol.draw(1)[0].tolist()), level)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            *place, share = self._best()
        level = min(range(len(self._task.levels)), key=lambda index: abs(self._task.levels[index] - share))
        return Suggestion(str(self._count), self._point(place), level)

    def tell(self, result: Result) -> None:
        """Of what was tested."""
        self._x.append([*self._place(result.point), self._task.levels[result.level]])
        self._y.append(-result.loss)

    def _best(self) -> list[float]:
        x, y = torch.tensor(self._x, dtype=torch.double), torch.tensor(self._y, dtype=torch.double)[:, None]
        share = self._width
        model = SingleTaskMultiFidelityGP(x, y, data_fidelities=[share], outcome_transform=Standardize(m=1))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        bounds = torch.tensor([[0.0] * (share + 1), [1.0] * (share + 1)], dtype=torch.double)
        full = FixedFeatureAcquisitionFunction(PosteriorMean(model), share + 1, [share], [1.0])
        _, now = optimize_acqf(full, bounds[:, :share], 1, RESTARTS, RAW, options=OPTIONS)
        bounds[0, share] = self._task.levels[0]
        gradient = qMultiFidelityKnowledgeGradient(
            model,
            num_fantasies=FANTASIES,
            current_value=now,
            cost_aware_utility=InverseCostWeightedUtility(AffineFidelityCostModel({share: 1.0}, fixed_cost=0.0)),
            project=lambda points: project_to_target_fidelity(points, {share: 1.0}, share + 1),
        )
        fixed = {share: 1.0} if len(self._task.levels) == 1 else None
        found, _ = optimize_acqf(gradient, bounds, 1, RESTARTS, RAW, options=OPTIONS, fixed_features=fixed)
        return _plain(found)

    def _point(self, place: list[float]) -> Point:
        """Columns as the point they stand for."""
        return {axis.name: _value(axis, columns) for axis, columns in self._split(place)}

    def _split(self, place: list[float]) -> Iterator[tuple[Axis, list[float]]]:
        start = 0
        for axis in self._task.axes:
            yield axis, place[start : start + _columns(axis)]
            start += _columns(axis)

    def _place(self, point: Point) -> list[float]:
        return [column for axis in self._task.axes for column in _encoded(axis, point[axis.name])]


def _columns(axis: Axis) -> int:
    return axis.count if axis.kind == "choice" else 1


def _value(axis: Axis, columns: list[float]) -> float:
    if axis.kind == "choice":
        return columns.index(max(columns))
    return columns[0] if axis.kind == "unit" else round(columns[0] * (axis.count - 1))


def _encoded(axis: Axis, value: float) -> list[float]:
    if axis.kind == "choice":
        return [float(index == value) for index in range(axis.count)]
    return [value if axis.kind == "unit" else value / (axis.count - 1)]


def _plain(found: Tensor) -> list[float]:
    values: list[float] = found[0].tolist()
    return values


if __name__ == "__main__":
    torch.set_num_threads(1)
    serve(KnowledgeGradient)
