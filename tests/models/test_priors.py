"""Priors are laid out as theta; laws say only what they can know."""

import numpy as np

from leantune.models.base import UNKNOWN_SCALING, Scaling
from leantune.models.priors import Law, Priors


def test_priors_are_laid_out_as_theta() -> None:
    mean, sd = Priors(log_scale=(1.0, 2.0), log_noise=(-9.0, 3.0)).arrays(2)
    assert mean.tolist() == [1.0, 1.0, 0.0, 0.0, -0.5, -9.0]
    assert sd.tolist() == [2.0, 2.0, 0.7, 1.0, 1.0, 3.0]


def test_the_shared_slope_comes_last_and_only_where_there_is_one() -> None:
    mean, sd = Priors(log_scale=(1.0, 2.0), log_shared=(-3.0, 0.25)).arrays(3)
    assert len(mean) == len(sd) == 3 + 5
    assert (mean[-1], sd[-1]) == (-3.0, 0.25)
    assert len(Priors(log_shared=None).arrays(3)[0]) == 3 + 4
    assert all(array.flags.c_contiguous and array.dtype == np.float64 for array in (mean, sd))


def test_a_law_says_nothing_of_what_is_not_modelled_by_its_logarithm() -> None:
    law = Law(0.9, 0.5, Priors(log_shared=(-2.0, 1.0)))
    assert law.fitting(Scaling(4.0, logarithmic=True)) == law
    for scaling in (Scaling(4.0, logarithmic=False), UNKNOWN_SCALING):
        assert law.fitting(scaling) == Law(0.0, 0.0, law.priors)
