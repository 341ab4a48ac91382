"""The contract of Surrogate, bound to every model."""

import numpy as np

from leantune.arrays import FloatArray
from leantune.models.base import Fitter, Points, Surrogate
from leantune.models.gp import GaussianProcess, GpFitter
from leantune.models.saturation import SaturatingFitter
from leantune.models.trees import Trees, TreesFitter
from leantune.testing.surrogate_contract import SurrogateContract


class TestGaussianProcess(SurrogateContract):
    """One member: with several each is told its own outcome (see test_gp)."""

    def fitter(self) -> Fitter:
        return GpFitter(samples=1)

    def outcome(self, model: Surrogate, point: Points, z: float) -> FloatArray:
        assert isinstance(model, GaussianProcess)
        now = model.predict(point)
        return np.asarray(now.mean + z * np.sqrt(now.sd**2 + model.spread**2 * model.members[0].noise))


class TestSaturatingProcess(TestGaussianProcess):
    """Curves that level off, with a trend of their own."""

    def fitter(self) -> Fitter:
        return SaturatingFitter(samples=1)


class TestTrees(SurrogateContract):
    """The noise of a simulated measurement is the floor of the deviation."""

    def fitter(self) -> Fitter:
        return TreesFitter(trees=20)

    def outcome(self, model: Surrogate, point: Points, z: float) -> FloatArray:
        assert isinstance(model, Trees)
        now = model.predict(point)
        return np.asarray(now.mean + z * np.sqrt(now.sd**2 + (model.spread * model.settings.floor) ** 2))
