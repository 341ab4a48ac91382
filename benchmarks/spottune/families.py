"""SpotTune's six families of training jobs (Table II), 16 settings each, at a size that a minute trains.

Kept from the paper: algorithms, optimisers, metrics and the grids of LoR, SVM, GBTR and LiR. Scaled, since the jobs
are: the CNN's learning rates are a tenth (with 0.1 Adam stays above a loss of 1.2 here), decay epochs a fifth (40
epochs are trained), ResNet's depths are 8 and 14 for 20 and 29. With dr = 1 the decay's steps or epochs mean nothing:
Table II holds twins, and as all settings of a family have the same seed, twins have the same curve.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.spottune import boosting, images, linear, networks

Setting = Mapping[str, float | str]
LINEAR_REPORTS = 80
EPOCHS = 40


class Trainer(Protocol):
    """A run of training, report by report, that can be saved and taken up again anywhere."""

    @property
    def steps(self) -> int:
        """Steps taken so far."""
        ...

    def advance(self) -> None:
        """Train up to the next report."""
        ...

    def validate(self) -> float:
        """The metric now, on data held back."""
        ...

    def state(self) -> dict[str, NDArray[np.generic]]:
        """All that a checkpoint needs."""
        ...

    def load(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        """Go on from a checkpoint."""
        ...


@dataclass(frozen=True)
class Family:
    """What is common to 16 settings; `weight` is the rough seconds of one, for the progress bar alone."""

    name: str
    metric: str
    grid: Mapping[str, tuple[float | str, ...]]
    build: Callable[[Setting], Trainer]
    reports: Callable[[Setting], int]
    source: Callable[[], str]
    weight: float
    drops: Callable[[Setting], tuple[float, ...]] = lambda _: ()

    def settings(self) -> list[dict[str, float | str]]:
        """Every setting of the grid, the last name varying fastest."""
        return [dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())]

    def name_of(self, setting: Setting) -> str:
        """Such as lor-bs128-lr0.01-dr1.0-ds1000: a name of a file and of a checkpoint."""
        return "-".join([self.name.lower(), *(f"{key}{value}" for key, value in setting.items())])


def _images(most: int) -> str:
    loaded = images.load()
    return f"{loaded.source}, {min(most, len(loaded.images)):,} of them at 14 x 14"


_LINEAR = {"bs": (128, 64), "lr": (1e-2, 1e-3), "dr": (1.0, 0.95)}
_FAMILIES = (
    Family(
        name="LoR",
        metric="cross entropy",
        grid={**_LINEAR, "ds": (1000, 2000)},
        build=lambda setting: linear.LinearTrainer(linear.image_rows(), linear.CROSS_ENTROPY, setting, 1),
        reports=lambda _: LINEAR_REPORTS,
        source=lambda: linear.image_rows().source,
        weight=5,
    ),
    Family(
        name="SVM",
        metric="hinge loss",
        grid={**_LINEAR, "kernel": ("rbf", "linear")},
        build=lambda setting: linear.LinearTrainer(linear.svm_rows(str(setting["kernel"])), linear.HINGE, setting, 2),
        reports=lambda _: LINEAR_REPORTS,
        source=lambda: linear.svm_rows("linear").source,
        weight=2,
    ),
    Family(
        name="GBTR",
        metric="mean squared error",
        grid={"bs": (128, 64), "lr": (1e-1, 1e-2), "nt": (10, 15), "depth": (5, 8)},
        build=lambda setting: boosting.BoostingTrainer(boosting.friedman(), setting),
        reports=lambda setting: int(setting["nt"]) * int(setting["depth"]),
        source=lambda: f"generated, Friedman's first function, {boosting.ROWS:,} rows",
        weight=2,
    ),
    Family(
        name="LiR",
        metric="mean squared error",
        grid={**_LINEAR, "ds": (1000, 2000)},
        build=lambda setting: linear.LinearTrainer(linear.completion_rows(), linear.SQUARED_ERROR, setting, 1),
        reports=lambda _: LINEAR_REPORTS,
        source=lambda: f"{linear.completion_rows().source}: lower half from upper half at 14 x 14",
        weight=1,
    ),
    Family(
        name="CNN",
        metric="cross entropy",
        grid={"bs": (128, 64), "lr": (1e-2, 1e-3), "dr": (1.0, 0.95), "de": (8, 12)},
        build=networks.cnn,
        reports=lambda _: EPOCHS,
        source=lambda: _images(networks.CNN_IMAGES),
        weight=30,
    ),
    Family(
        name="ResNet",
        metric="cross entropy",
        grid={"bs": (32, 64), "version": (1, 2), "depth": (8, 14), "de": (8, 12)},
        build=networks.resnet,
        reports=lambda _: EPOCHS,
        source=lambda: _images(networks.RESNET_IMAGES),
        weight=60,
        drops=networks.drop_steps,
    ),
)
FAMILIES = {family.name: family for family in _FAMILIES}
