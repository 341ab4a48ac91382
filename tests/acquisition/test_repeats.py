"""What one more run is worth, against draws of what it would show; the noise of runs, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from leantune.acquisition.repeats import Contest, LimitedContest, Race, Runs, expected_excess
from leantune.arrays import FloatArray
from leantune.models.base import Gaussian
from leantune.models.scales import Transform

LINEAR = Transform("linear")
NOBODY = np.array([-np.inf, -np.inf, -np.inf])
PRIOR = Gaussian(np.array([0.4, 1.3, 1.0]), np.array([0.8, 0.5, 1.0]))
Y, COUNTS, NOISE = np.array([1.0, 1.4, 0.9]), np.array([1, 2, 1]), np.array([0.4, 0.4, 0.6])


def race(*limits: LimitedContest, base: float = -1.0) -> Race:
    goal = Contest.of(PRIOR, Y, COUNTS, NOISE)
    return Race(np.array([7, 3, 5]), COUNTS, goal, limits, np.ones(3, dtype=np.bool_), base)


def limited(high: float) -> LimitedContest:
    contest = Contest.of(PRIOR, Y, COUNTS, NOISE)
    return LimitedContest(contest, NOBODY, np.full(3, high))


def one_more(contest: Contest, i: int, true: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, float]:
    """Mean of the belief after a run that showed true + noise, for each true value; and its variance."""
    shown = true + contest.noise[i] * rng.standard_normal(len(true))
    before, told = 1.0 / contest.belief.sd[i] ** 2, 1.0 / contest.noise[i] ** 2
    return (before * contest.belief.mean[i] + told * shown) / (before + told), 1.0 / (before + told)


def drawn_gain(given: Race, i: int, untested: float) -> float:
    """E[max V after] - max V by a million draws of truths and runs."""
    rng = np.random.default_rng(3)

    def draws(contest: Contest) -> tuple[FloatArray, float]:
        truths = contest.belief.mean[i] + contest.belief.sd[i] * rng.standard_normal(1_000_000)
        return one_more(contest, i, truths, rng)

    mean, _ = draws(given.goal)
    chance = np.ones(len(mean))
    for limit in given.limits:
        middle, variance = draws(limit.contest)
        chance *= Gaussian(middle, np.full(len(middle), math.sqrt(variance))).below(limit.high[[i]])
    after = np.where(chance > 0.5, chance * np.maximum(mean - given.base, 0.0), 0.0)
    others = max([untested, *(float(value) for j, value in enumerate(given.value) if j != i)])
    return float(np.maximum(after, others).mean()) - max(float(given.value.max()), untested)


def test_a_belief_after_runs_is_that_of_the_conjugate_normal() -> None:
    found = Contest.of(PRIOR, Y, COUNTS, NOISE).belief
    for i in range(3):  # one run after the other
        mean, variance = PRIOR.mean[i], PRIOR.sd[i] ** 2
        for _ in range(COUNTS[i]):
            weight = variance / (variance + NOISE[i] ** 2)
            mean, variance = mean + weight * (Y[i] - mean), variance * (1.0 - weight)
        assert found.mean[i] == pytest.approx(mean)
        assert found.sd[i] ** 2 == pytest.approx(variance)


@pytest.mark.parametrize("untested", [0.0, 2.3])
def test_the_gain_of_one_more_run_is_the_expected_gain_over_what_it_may_show(untested: float) -> None:
    given = race()
    gains = given.gains(untested)
    assert (gains > 0.0).all()
    for i in range(3):
        assert gains[i] == pytest.approx(drawn_gain(given, i, untested), abs=0.002)


def test_with_a_limit_one_more_run_tells_of_the_limit_too() -> None:
    given = race(limited(1.5))
    gains = given.gains(0.0)
    for i in range(3):  # by five roots of each limited quantity
        assert gains[i] == pytest.approx(drawn_gain(given, i, 0.0), abs=0.015)
    assert gains[1] > race().gains(0.0)[1]  # whether the leader keeps the limit decides


def test_nobody_is_run_again_where_the_leader_stands_alone() -> None:
    noise = np.full(3, 0.01)
    alone = Race(np.arange(3), COUNTS, Contest.of(PRIOR, Y, COUNTS, noise), (), np.ones(3, dtype=np.bool_), -1.0)
    assert alone.leader == 1
    assert not alone.in_doubt.any()
    assert not alone.gains(0.0).any()


def test_who_more_probably_breaks_a_limit_is_not_the_leader() -> None:
    given = race(limited(1.2))
    assert given.goal.belief.mean.argmax() == 1
    assert given.probability[1] < 0.5
    assert given.leader != 1
    nobody = race(limited(-3.0))
    assert nobody.leader == int(nobody.probability.argmax())


def test_a_run_that_failed_ends_all_hope() -> None:
    given = race()
    broken = Race(given.rows, given.counts, given.goal, (), np.array([True, False, True]), given.base)
    assert broken.leader == 2
    assert broken.gains(0.0)[1] == 0.0


def test_noise_is_that_of_the_repeats_and_of_the_model_together() -> None:
    runs = Runs((np.array([1.0, 3.0]), np.array([5.0]), np.array([2.0, 2.0, 5.0])))
    squares = [2.0, 0.0, 6.0]
    np.testing.assert_allclose(runs.squares(LINEAR), squares, rtol=1e-6)
    usual = (2.0 * (6.0 / 2) * 0.25) ** (1 / 3)  # the two that were repeated, and the model's
    expected = [math.sqrt((2 * usual + ss) / (2 + more)) for ss, more in zip(squares, (1, 0, 2), strict=True)]
    np.testing.assert_allclose(runs.noise(LINEAR, 0.5), expected, rtol=1e-6)
    assert runs.scatter
    assert not Runs((np.array([0.5, 0.5]), np.array([0.7]))).scatter


def test_scatter_of_a_share_is_seen_at_its_mean() -> None:
    """Of 1.0 and 0.6 the logit of the mean counts, not the mean of logits, of which one is as good as infinite."""
    runs = Runs((np.array([1.0, 0.6]),))
    assert runs.means.tolist() == [0.8]
    slope = 1.0 / (0.8 * 0.2)
    assert runs.squares(Transform("logit"))[0] == pytest.approx(2 * (0.2 * slope) ** 2, rel=1e-5)


def test_the_expected_excess_of_a_normal() -> None:
    x = 0.3 + 0.7 * np.random.default_rng(0).standard_normal(1_000_000)
    assert expected_excess(0.3, 0.7) == pytest.approx(float(np.maximum(x, 0.0).mean()), abs=0.002)
    assert (expected_excess(0.3, 0.0), expected_excess(-0.3, 0.0)) == (0.3, 0.0)
