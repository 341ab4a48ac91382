"""A process that knows scaling laws, for tests whose data stand for logarithms on shares from 1/60 to 1."""

from dataclasses import dataclass, field

import numpy as np

from leantune.models.base import UNKNOWN_SCALING, Data, Scaling
from leantune.models.gp import GaussianProcess, GpFitter
from leantune.models.priors import ScalingLaws


@dataclass(frozen=True)
class OnShares:
    """A Fitter that says what those who ask it do not: how far the shares range."""

    fitter: GpFitter = field(default_factory=lambda: GpFitter(samples=1, laws=ScalingLaws()))

    def fit(
        self, data: Data, *, grows_with_data: bool, seed: int, pairs: int = 0, scaling: Scaling = UNKNOWN_SCALING
    ) -> GaussianProcess:
        assert scaling == UNKNOWN_SCALING
        known = Scaling(float(np.log(60.0)), logarithmic=True)
        return self.fitter.fit(data, grows_with_data=grows_with_data, seed=seed, pairs=pairs, scaling=known)

    def caps_at(self, observations: int, pairs: int = 0) -> tuple[str, ...]:
        return self.fitter.caps_at(observations, pairs)
