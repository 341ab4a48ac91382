"""Gaussian processes that know scaling laws: shared slope, irregularity and prior slope, against the dense one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leantune.arrays import FloatArray
from leantune.models.base import Data, Gaussian, Points, Roots, Scaling
from leantune.models.gp import GaussianProcess, GpFitter
from leantune.models.gp_posterior import Basis, Form
from leantune.models.priors import Law, Priors, ScalingLaws
from tests.models.dense_gp import DenseGp, likely_theta, scattered

CENTRE, SPREAD, SLOPE = 3.0, 0.5, 1.7
LOG_RANGE = float(np.log(60.0))
SCALING = Scaling(LOG_RANGE, logarithmic=True)
POWER = Form(Basis.POWER, roughness=0.7, log_range=2.0)
LEVELS = np.array([0.0, 0.4, 1.0])


def with_repeats(seed: int, count: int = 12) -> tuple[Points, FloatArray]:
    """Scattered tests, two of them repeated with other outcomes."""
    once = scattered(seed, count, 2)
    points = once.followed_by(once.take(np.array([1, 1, 4])))
    return points, np.random.default_rng(seed).standard_normal(len(points))


def asked_about(points: Points, seed: int) -> Points:
    """Elsewhere, tested pairs themselves, and tested configurations at levels where they were not tested."""
    elsewhere, again = scattered(seed, 5, 2), points.take(np.array([1, 4, 7]))
    return elsewhere.followed_by(again).followed_by(Points(again.x, np.array([0.2, 0.2, 0.7])))


def process(points: Points, y: FloatArray, theta: FloatArray, spread: float = SPREAD) -> GaussianProcess:
    """Fixed hyper-parameters [H, d + 5], standardised targets y."""
    return GaussianProcess(points, np.repeat(y[None, :], len(theta), axis=0), theta, POWER, CENTRE, spread, SLOPE)


def on_modelled_scale(posteriors: list[tuple[FloatArray, FloatArray]], at: Points, spread: float = SPREAD) -> Gaussian:
    """Mixture of the members' posteriors (mean, covariance), with the slope that was expected from the start."""
    means = np.array([mean for mean, _ in posteriors])
    variances = np.array([covariance.diagonal() for _, covariance in posteriors])
    mean = means.mean(axis=0)
    variance = (variances + means**2).mean(axis=0) - mean**2
    return Gaussian(CENTRE + SLOPE * (at.s - 1.0) + spread * mean, SPREAD * np.sqrt(variance))


def assert_close(actual: Gaussian, expected: Gaussian) -> None:
    np.testing.assert_allclose(actual.mean, expected.mean, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(actual.sd, expected.sd, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("spread", [SPREAD, -SPREAD])
def test_posterior_mixes_the_dense_members(spread: float) -> None:
    (points, y), theta = with_repeats(0), likely_theta(1, 2, members=3, shared=True)
    at = asked_about(points, 2)
    expected = [DenseGp(row, points, y, POWER).posterior(at) for row in theta]
    assert_close(process(points, y, theta, spread).predict(at), on_modelled_scale(expected, at, spread))


def test_the_grid_knows_what_tested_configurations_revealed_of_themselves() -> None:
    (points, y), theta = with_repeats(3), likely_theta(4, 2, members=2, shared=True)
    x = np.concatenate([scattered(5, 4, 2).x, points.x[[4, 0]], scattered(6, 2, 2).x])
    grid = process(points, y, theta).predict_grid(x, LEVELS)
    at = Points(np.repeat(x, 3, axis=0), np.tile(LEVELS, len(x)))
    expected = [DenseGp(row, points, y, POWER).posterior(at) for row in theta]
    assert_close(Gaussian(grid.mean.ravel(), grid.sd.ravel()), on_modelled_scale(expected, at))


def test_extending_takes_the_expected_slope_off_what_is_told() -> None:
    (points, y), theta = with_repeats(7), likely_theta(8, 2, members=2, shared=True)
    at, more = asked_about(points, 9), asked_about(points, 10).take(np.array([0, 1, 6, 9]))
    told = np.array([3.4, 2.1, 1.9, 4.0])
    standard = (told - CENTRE - SLOPE * (more.s - 1.0)) / SPREAD
    expected = [DenseGp(row, points, y, POWER).given(more, standard).posterior(at) for row in theta]
    assert_close(process(points, y, theta).extend(more, told).predict(at), on_modelled_scale(expected, at))


@pytest.mark.parametrize("spread", [SPREAD, -SPREAD])
def test_simulating_conditions_the_dense_members_on_their_own_outcomes(spread: float) -> None:
    """Among the tests are one of a pair that is asked about, which reveals its irregularity, and one tested before."""
    (points, y), theta = with_repeats(11), likely_theta(12, 2, members=3, shared=True)
    at, roots = asked_about(points, 13), Roots.of(3)
    tested = at.take(np.array([0, 6, 9])).followed_by(scattered(14, 2, 2))
    simulated = process(points, y, theta, spread).simulate(tested, roots, at)
    assert simulated.mean.shape == (5, 3, len(at))
    for b in range(len(tested)):
        one = tested.take(np.array([b]))
        for k, z in enumerate(roots.z):
            after = []
            for row in theta:
                member = DenseGp(row, points, y, POWER)
                mean, covariance = member.posterior(one)
                outcome = mean + np.sign(spread) * z * np.sqrt(covariance[0] + member.noise)
                after.append(member.given(one, outcome).posterior(at))
            assert_close(Gaussian(simulated.mean[b, k], simulated.sd[b, k]), on_modelled_scale(after, at, spread))


def test_a_test_reveals_more_of_the_pair_itself_than_of_its_neighbours() -> None:
    """The irregularity is the pair's own: at the next configuration, and at the next level, it stays unknown."""
    theta = np.array([[0.0, 0.0, 0.0, -1.0, -1.0, -1.0]])
    points = Points(np.array([[0.1]]), np.ones(1))
    model = process(points, np.zeros(1), theta)
    at = Points(np.array([[0.5], [0.5 + 1e-6], [0.5]]), np.array([1.0, 1.0, 1.0 - 1e-6]))
    after = model.simulate(at.take(np.array([0])), Roots.of(1), at).sd[0, 0] / SPREAD
    noise, rough = 0.3 * np.exp(-1.0), 0.7 * np.exp(-1.0)
    assert after[0] ** 2 < noise
    assert (after[1:] ** 2 > rough).all()


def with_laws(*, roughness: float = 0.9, slope: float = 0.8) -> GpFitter:
    """Laws of the tests' own, so that other constants of the library change nothing here."""
    cost = Law(slope, 0.5, Priors(mixing=(0.0, 0.1), log_slope=(-3.0, 0.5), log_shared=(-2.0, 0.7)))
    quality = Law(0.3, 1.0, Priors(mixing=(0.0, 0.2), log_slope=(-2.0, 0.5), log_shared=(-1.5, 0.7)))
    return GpFitter(samples=4, burn_in=10, laws=ScalingLaws(cost, quality, roughness))


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 1000), st.floats(0.3, 1.2), st.floats(1.0, 6.0))
def test_seconds_at_full_data_follow_from_small_tests_by_the_slope(seed: int, slope: float, log_range: float) -> None:
    points = scattered(seed, 8, 2, levels=(0.0,))
    seconds = np.exp(4.0 + 2.0 * points.x[:, 0])
    data, full = Data.measured(points, np.log(seconds)), Points(points.x, np.ones(8))
    scaling = Scaling(log_range, logarithmic=True)
    model = with_laws(slope=slope).fit(data, grows_with_data=True, seed=seed, scaling=scaling)
    predicted = model.predict(full)
    expected = np.log(seconds) + slope * log_range
    assert predicted.mean.mean() == pytest.approx(expected.mean(), abs=0.05 * log_range)
    np.testing.assert_allclose(predicted.mean, expected, atol=0.5 * log_range)
    assert (predicted.sd > model.predict(points).sd).all()  # nothing says that the law holds exactly


@pytest.mark.parametrize("grows_with_data", [True, False])
@pytest.mark.parametrize("turned", [True, False])
def test_of_constants_the_slope_alone_is_left(grows_with_data: bool, turned: bool) -> None:
    """Costs grow with the data, so that turned ones fall; a quality is oriented already and rises either way."""
    points = scattered(15, 6, 1, levels=(0.0,))
    data = replace(Data.measured(points, np.full(6, 2.0)), bounds_above=turned)
    model = with_laws(slope=0.8).fit(data, grows_with_data=grows_with_data, seed=0, scaling=SCALING)
    slope = (-0.8 if turned else 0.8) if grows_with_data else 0.3
    grid = model.predict_grid(scattered(16, 3, 1).x, LEVELS)
    np.testing.assert_allclose(grid.mean, np.tile(2.0 + slope * LOG_RANGE * LEVELS, (3, 1)))
    assert model.spread == pytest.approx((-1.0 if turned else 1.0) * (0.5 if grows_with_data else 1.0))


def test_measured_levels_correct_the_slope_for_all_configurations() -> None:
    """Two configurations at two levels show an exponent of 0.5; a third, tested on little data, is foretold by it."""
    x = np.array([[0.0], [0.0], [0.5], [0.5], [1.0]])
    points = Points(x, np.array([0.0, 0.5, 0.0, 0.5, 0.0]))
    log_seconds = 1.0 + x[:, 0] + 0.5 * LOG_RANGE * points.s
    laws, blind = with_laws(slope=0.8), with_laws(slope=0.8)
    full = Points(np.array([[1.0]]), np.ones(1))
    learned = laws.fit(Data.measured(points, log_seconds), grows_with_data=True, seed=1, scaling=SCALING).predict(full)
    small = points.s == 0.0
    only_small = Data.measured(points.take(np.flatnonzero(small)), log_seconds[small])
    before = blind.fit(only_small, grows_with_data=True, seed=1, scaling=SCALING).predict(full)
    truth = 2.0 + 0.5 * LOG_RANGE
    assert abs(float(learned.mean[0]) - truth) < 0.35 * abs(float(before.mean[0]) - truth)
    assert learned.sd[0] < 0.8 * before.sd[0]


def test_turned_costs_are_costs_upside_down() -> None:
    """Some of them bounds only: the mirror image of lower bounds are upper ones."""
    points = scattered(17, 14, 2)
    y = 1.0 + points.x[:, 0] + 0.7 * LOG_RANGE * points.s
    cut = np.arange(14) % 5 == 0
    data, mirrored = Data(points, y, cut), Data(points, -y, cut, bounds_above=True)
    model, mirror = (with_laws().fit(d, grows_with_data=True, seed=2, scaling=SCALING) for d in (data, mirrored))
    at, roots = asked_about(points, 18), Roots.of(3)
    np.testing.assert_allclose(mirror.predict(at).mean, -model.predict(at).mean, rtol=1e-12)
    np.testing.assert_allclose(mirror.predict(at).sd, model.predict(at).sd, rtol=1e-12)
    here, there = model.simulate(at, roots, at), mirror.simulate(at, roots, at)
    np.testing.assert_allclose(there.mean[:, ::-1], -here.mean, rtol=1e-10)
    np.testing.assert_allclose(there.sd[:, ::-1], here.sd, rtol=1e-10)
    longer, mirror_longer = model.extend(at, np.full(len(at), 2.0)), mirror.extend(at, np.full(len(at), -2.0))
    np.testing.assert_allclose(mirror_longer.predict(at).mean, -longer.predict(at).mean, rtol=1e-12)
    imputed = model.centre + model.spread * model.targets + model.slope * (points.s - 1.0)
    np.testing.assert_allclose(imputed[:, ~cut], np.repeat([y[~cut]], 4, axis=0))
    assert (imputed[:, cut] >= y[cut] - 1e-12).all()


def test_tested_pairs_keep_nearly_what_was_measured_while_neighbours_stay_uncertain() -> None:
    rng = np.random.default_rng(19)
    points = Points(np.linspace(0.0, 1.0, 25)[:, None], np.ones(25))
    y = np.sin(3.0 * points.x[:, 0]) + 0.4 * rng.standard_normal(25)
    data, near = Data.measured(points, y), Points(points.x + 1e-3, points.s)
    rough, chance = (
        with_laws(roughness=share).fit(data, grows_with_data=False, seed=3, scaling=SCALING) for share in (0.95, 0.0)
    )
    off = np.abs(rough.predict(points).mean - y).mean()
    assert off < 0.2 * np.abs(chance.predict(points).mean - y).mean()
    assert (rough.predict(points).sd < 0.5 * rough.predict(near).sd).all()
    assert rough.predict(near).sd.min() > 0.25  # the irregularity of an untested pair: 0.4, as far as 25 tests tell
    assert np.abs(rough.predict(near).mean - y).mean() > 4.0 * off  # nor does a neighbour inherit it


def test_repeated_tests_of_a_pair_are_averaged() -> None:
    theta = np.array([[0.0, 0.0, 0.0, -1.0, -1.0, -1.0]])
    pair = Points(np.full((1, 1), 0.3), np.ones(1))
    outcomes = np.array([0.2, 1.0, 0.6, 1.4])
    found = []
    for count in (1, 4):
        points = pair.take(np.zeros(count, dtype=np.int64))
        found.append(process(points, outcomes[:count], theta).predict(pair))
    noise, prior = 0.3 * np.exp(-1.0) + 1e-8, 1.0 + 0.7 * np.exp(-1.0)
    for count, belief in zip((1, 4), found, strict=True):
        weight = prior / (prior + noise / count)
        assert float(belief.mean[0]) == pytest.approx(CENTRE + SPREAD * weight * outcomes[:count].mean())
        assert float(belief.sd[0]) == pytest.approx(SPREAD * np.sqrt(prior * (1.0 - weight)))


def test_differences_below_the_expected_unit_are_not_blown_up() -> None:
    points = scattered(20, 6, 1, levels=(0.0,))
    y = 2.0 + 0.01 * points.x[:, 0]
    fitted = [
        with_laws().fit(Data.measured(points, y), grows_with_data=False, seed=4, scaling=scaling).spread
        for scaling in (SCALING, Scaling(LOG_RANGE, logarithmic=False))
    ]
    assert fitted == pytest.approx([1.0, y.std()])
    wide = Data.measured(points, 100.0 * y)
    model = with_laws().fit(wide, grows_with_data=False, seed=4, scaling=Scaling(LOG_RANGE, logarithmic=False))
    assert model.spread == pytest.approx(100.0 * y.std())
    assert model.slope == 0.0


def test_on_a_single_level_the_share_says_nothing() -> None:
    points = scattered(21, 8, 2, levels=(1.0,))
    data = Data.measured(points, np.cos(3.0 * points.x[:, 1]))
    model = with_laws(roughness=0.0).fit(data, grows_with_data=True, seed=5, scaling=Scaling(0.0, logarithmic=True))
    assert model.theta.shape == (4, 7)
    grid = model.predict_grid(points.x, LEVELS)
    np.testing.assert_allclose(grid.mean, np.repeat(grid.mean[:, :1], 3, axis=1))
    np.testing.assert_allclose(grid.sd, np.repeat(grid.sd[:, :1], 3, axis=1))
