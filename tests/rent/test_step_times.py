"""Step times: the prior, what was measured, and what follows for the rest."""

import numpy as np
import pytest

from leantune.errors import InvalidInput
from leantune.rent.step_times import StepTimes

VCPUS = {"small": 2.0, "medium": 4.0, "large": 16.0}


def test_larger_machines_are_faster_before_anything_is_known() -> None:
    assert StepTimes(VCPUS, 1).of_job(0).tolist() == pytest.approx([2**-0.6, 4**-0.6, 16**-0.6])


def test_a_measured_pair_is_taken_as_measured() -> None:
    times = StepTimes(VCPUS, 2)
    times.measured("medium", 0, 30.0, 10)
    times.measured("medium", 0, 50.0, 10)
    assert times.of_job(0)[1] == pytest.approx(4.0)


def test_one_measurement_scales_the_job_everywhere() -> None:
    times = StepTimes(VCPUS, 2)
    times.measured("small", 0, 100.0, 1)
    small, medium, large = times.of_job(0)
    assert small == 100.0
    assert 100.0 > medium > large
    assert times.of_job(1)[0] > 10  # jobs of one study resemble each other


def test_types_that_differ_from_their_size_are_learned_from_other_jobs() -> None:
    """The medium type is four times slower than its size says for 30 jobs: expected of the next one as well."""
    rng = np.random.default_rng(0)
    times = StepTimes(VCPUS, 32)
    factors = {"small": 2**-0.6, "medium": 4 * 4**-0.6, "large": 16**-0.6}
    for job in range(30):
        weight = float(np.exp(rng.normal()))
        for name, factor in factors.items():
            times.measured(name, job, weight * factor, 1)
    times.measured("small", 31, 10 * factors["small"], 1)
    assert times.of_job(31)[1] == pytest.approx(10 * factors["medium"], rel=0.15)
    assert times.of_job(31)[2] == pytest.approx(10 * factors["large"], rel=0.15)


def test_least_squares_by_another_way() -> None:
    """The alternating sweeps approach the ridge solution of the linear model."""
    rng = np.random.default_rng(3)
    times = StepTimes(VCPUS, 12)
    pairs = [(t, j) for t in range(3) for j in range(12) if (t + j) % 3 != 0]
    seconds = {pair: float(np.exp(rng.normal())) for pair in pairs}
    names = list(VCPUS)
    for (t, j), value in seconds.items():
        times.measured(names[t], j, value, 1)
    design = np.zeros((len(pairs) + 3, 12 + 3))
    target = np.zeros(len(pairs) + 3)
    for row, (t, j) in enumerate(pairs):
        design[row, j] = design[row, 12 + t] = 1
        target[row] = np.log(seconds[t, j]) + 0.6 * np.log(VCPUS[names[t]])
    for t in range(3):
        design[len(pairs) + t, 12 + t] = 1  # SHRINKAGE
    solved = np.linalg.lstsq(design, target, rcond=None)[0]
    for j in range(12):
        for t in range(3):
            if (t, j) not in seconds:
                expected = np.exp(solved[j] + solved[12 + t] - 0.6 * np.log(VCPUS[names[t]]))
                assert times.of_job(j)[t] == pytest.approx(expected, rel=0.25)


@pytest.mark.parametrize(("seconds", "steps"), [(0.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (float("nan"), 1.0)])
def test_nonsense_is_refused(seconds: float, steps: float) -> None:
    with pytest.raises(InvalidInput, match="steps in"):
        StepTimes(VCPUS, 1).measured("small", 0, seconds, steps)
    with pytest.raises(InvalidInput, match="c0"):
        StepTimes(VCPUS, 1, c0=0.0)
