"""The Gaussian process against scikit-learn and a dense recomputation; hyper-parameters, censoring, caps."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from leantune.arrays import FloatArray
from leantune.models.base import Data, Gaussian, Points, Roots
from leantune.models.gp import GaussianProcess, GpFitter, Priors, thinned
from leantune.models.gp_posterior import FabolasForm, stable_cholesky
from tests.models.dense_gp import DenseGp, likely_theta, scattered

CENTRE, SPREAD = 3.0, 0.5


def process(
    points: Points, y: FloatArray, theta: FloatArray, form: FabolasForm = FabolasForm.QUALITY
) -> GaussianProcess:
    """Fixed hyper-parameters [H, d + 4], standardised targets y."""
    return GaussianProcess(points, np.repeat(y[None, :], len(theta), axis=0), theta, form, CENTRE, SPREAD)


def dense_mixture(members: list[DenseGp], at: Points) -> Gaussian:
    """Mean of means; mean of variances plus variance of means; on the modelled scale."""
    posteriors = [member.posterior(at) for member in members]
    means = np.array([mean for mean, _ in posteriors])
    variances = np.array([covariance.diagonal() for _, covariance in posteriors])
    mean = means.sum(axis=0) / len(members)
    variance = (variances + means**2).sum(axis=0) / len(members) - mean**2
    return Gaussian(CENTRE + SPREAD * mean, SPREAD * np.sqrt(variance))


def assert_close(actual: Gaussian, expected: Gaussian, tolerance: float = 1e-7) -> None:
    np.testing.assert_allclose(actual.mean, expected.mean, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(actual.sd, expected.sd, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("form", FabolasForm)
def test_posterior_on_one_level_agrees_with_scikit_learn(form: FabolasForm) -> None:
    points, at = scattered(0, 15, 3, levels=(1.0,)), scattered(1, 8, 3, levels=(1.0,))
    y = np.sin(4.0 * points.x.sum(axis=1))
    theta = likely_theta(2, 3)
    l11, l21, l22 = np.exp(theta[0, 3]), theta[0, 4], np.exp(theta[0, 5])
    amplitude = (l11 + l21) ** 2 + l22**2 if form is FabolasForm.COST else l11**2
    kernel = ConstantKernel(amplitude) * Matern(length_scale=np.exp(theta[0, :3]), nu=2.5)
    oracle = GaussianProcessRegressor(kernel, alpha=np.exp(theta[0, 6]) + 1e-8, optimizer=None).fit(points.x, y)
    mean, sd = oracle.predict(at.x, return_std=True)
    assert_close(process(points, y, theta, form).predict(at), Gaussian(CENTRE + SPREAD * mean, SPREAD * sd))


@pytest.mark.parametrize("form", FabolasForm)
def test_posterior_on_several_levels_mixes_the_dense_members(form: FabolasForm) -> None:
    points, at, theta = scattered(3, 20, 2), scattered(4, 9, 2), likely_theta(5, 2, members=3)
    y = np.random.default_rng(3).standard_normal(20)
    members = [DenseGp(row, points, y, form) for row in theta]
    assert_close(process(points, y, theta, form).predict(at), dense_mixture(members, at))


def test_grid_is_every_configuration_at_every_level() -> None:
    points, theta = scattered(3, 20, 2), likely_theta(5, 2, members=2)
    y = np.random.default_rng(3).standard_normal(20)
    x, levels = np.random.default_rng(4).random((6, 2)), np.array([0.0, 0.4, 1.0])
    at = Points(np.repeat(x, 3, axis=0), np.tile(levels, 6))
    expected = dense_mixture([DenseGp(row, points, y, FabolasForm.COST) for row in theta], at)
    grid = process(points, y, theta, FabolasForm.COST).predict_grid(x, levels)
    assert grid.mean.shape == grid.sd.shape == (6, 3)
    assert_close(Gaussian(grid.mean.ravel(), grid.sd.ravel()), expected)


def test_extending_conditions_on_the_further_measurements() -> None:
    points, at, theta = scattered(6, 10, 2), scattered(7, 7, 2), likely_theta(8, 2, members=2)
    rng = np.random.default_rng(6)
    y, first, second = rng.standard_normal(10), scattered(9, 2, 2), scattered(10, 1, 2)
    told_first, told_second = np.array([3.4, 2.1]), np.array([4.2])
    extended = process(points, y, theta).extend(first, told_first).extend(second, told_second)
    members = [
        DenseGp(row, points, y, FabolasForm.QUALITY)
        .given(first, (told_first - CENTRE) / SPREAD)
        .given(second, (told_second - CENTRE) / SPREAD)
        for row in theta
    ]
    assert_close(extended.predict(at), dense_mixture(members, at))
    assert (extended.theta == theta).all()


@pytest.mark.parametrize("orientation", [1.0, -1.0])
def test_simulating_equals_extending_each_member_with_its_own_outcome(orientation: float) -> None:
    """Each member is told its own mean + z sd, noise included: the mixture of H one-member processes."""
    points, at, tested = scattered(11, 12, 2), scattered(12, 5, 2), scattered(13, 3, 2)
    theta, roots = likely_theta(14, 2, members=3), Roots.of(3)
    model = replace(process(points, np.sin(6.0 * points.x[:, 0]), theta), spread=orientation * SPREAD)
    simulated = model.simulate(tested, roots, at)
    assert simulated.mean.shape == simulated.sd.shape == (3, 3, 5)
    for b in range(3):
        one = tested.take(np.array([b]))
        for k, z in enumerate(roots.z):
            after = []
            for h in range(3):
                alone = replace(model, theta=theta[h : h + 1], targets=model.targets[h : h + 1])
                now = alone.predict(one)
                noise = SPREAD * np.sqrt(alone.members[0].noise)
                after.append(alone.extend(one, now.mean + z * np.hypot(now.sd, noise)).predict(at))
            mean = np.mean([g.mean for g in after], axis=0)
            variance = np.mean([g.sd**2 + g.mean**2 for g in after], axis=0) - mean**2
            assert_close(Gaussian(simulated.mean[b, k], simulated.sd[b, k]), Gaussian(mean, np.sqrt(variance)))


def test_priors_are_laid_out_as_theta() -> None:
    mean, sd = Priors(log_scale=(1.0, 2.0), log_noise=(-9.0, 3.0)).arrays(2)
    assert mean.tolist() == [1.0, 1.0, 0.0, 0.0, -0.5, -9.0]
    assert sd.tolist() == [2.0, 2.0, 0.7, 1.0, 1.0, 3.0]


def test_fit_standardises_and_samples_so_many_members() -> None:
    points = scattered(15, 20, 2)
    y = 100.0 + 7.0 * np.sin(5.0 * points.x[:, 0])
    model = GpFitter(samples=4).fit(Data.measured(points, y), grows_with_data=False, seed=1)
    assert model.theta.shape == (4, 6)
    assert (model.centre, model.spread) == pytest.approx((y.mean(), y.std()))
    np.testing.assert_allclose(model.targets, np.repeat([(y - y.mean()) / y.std()], 4, axis=0))
    assert len(np.unique(model.theta[:, 0])) == 4
    np.testing.assert_allclose(model.predict(points).mean, y, atol=2.0)


def test_fit_depends_on_data_and_seed_alone() -> None:
    points = scattered(15, 12, 2)
    data = Data.measured(points, np.cos(3.0 * points.x[:, 1]))
    one, again, other = (GpFitter().fit(data, grows_with_data=False, seed=seed).theta for seed in (1, 1, 2))
    assert (one == again).all()
    assert (one != other).any()


def test_maximum_a_posteriori_is_a_maximum_of_the_dense_density() -> None:
    points = scattered(16, 15, 1)
    y = np.sin(5.0 * points.x[:, 0])
    y = (y - y.mean()) / y.std()
    fitter = GpFitter(hyperparameters="map")
    theta = fitter.fit(Data.measured(points, y), grows_with_data=False, seed=0).theta
    assert theta.shape == (1, 5)
    mean, sd = fitter.priors.arrays(1)

    def density(at: FloatArray) -> float:
        prior = -0.5 * float(np.square((at - mean) / sd).sum())
        return DenseGp(at, points, y, FabolasForm.QUALITY).log_marginal_likelihood() + prior

    best = density(theta[0])
    for step in np.vstack([0.05 * np.eye(5), -0.05 * np.eye(5)]):
        assert density(theta[0] + step) < best
    assert best > density(mean) + 1.0


def censored_line() -> Data:
    """A rising line whose upper end was cut at 0.6: what the values really are is not known."""
    x = np.linspace(0.0, 1.0, 15)[:, None]
    y = np.minimum(x[:, 0], 0.6)
    return Data(Points(x, np.ones(15)), y, x[:, 0] > 0.6)


def test_censored_targets_are_imputed_above_their_bounds() -> None:
    data = censored_line()
    model = GpFitter(samples=6).fit(data, grows_with_data=True, seed=3)
    imputed = model.centre + model.spread * model.targets
    np.testing.assert_allclose(imputed[:, ~data.censored], np.repeat([data.y[~data.censored]], 6, axis=0))
    assert (imputed[:, data.censored] >= data.y[data.censored] - 1e-12).all()
    assert (np.ptp(imputed[:, data.censored], axis=0) > 0).all()


def test_the_belief_rises_above_the_bounds_as_the_line_does() -> None:
    data = censored_line()
    end = Points(np.array([[0.95]]), np.ones(1))
    censored, taken_literally = (
        GpFitter(samples=20).fit(replace(data, censored=marks), grows_with_data=True, seed=3).predict(end)
        for marks in (data.censored, np.zeros(15, dtype=np.bool_))
    )
    assert float(taken_literally.mean[0]) == pytest.approx(0.6, abs=0.05)
    assert float(censored.mean[0]) == pytest.approx(0.9, abs=0.06)  # the line is at 0.95; the data say "above 0.6"
    assert censored.sd[0] > 5.0 * taken_literally.sd[0]


def test_few_sweeps_say_of_censored_targets_what_many_say() -> None:
    """The usual schedule against a long chain: imputations must not linger at the bounds, where they start."""
    end = Points(np.array([[0.95]]), np.ones(1))
    usual = [GpFitter().fit(censored_line(), grows_with_data=True, seed=seed).predict(end) for seed in range(12)]
    long = (
        GpFitter(burn_in=300, samples=60, thinning=20).fit(censored_line(), grows_with_data=True, seed=0).predict(end)
    )
    assert np.mean([g.mean[0] for g in usual]) == pytest.approx(long.mean[0], abs=0.03)
    assert np.mean([g.sd[0] for g in usual]) == pytest.approx(long.sd[0], rel=0.4)


def test_upper_bounds_are_lower_bounds_upside_down() -> None:
    data = censored_line()
    mirrored = Data(data.points, -data.y, data.censored, bounds_above=True)
    model, mirror = (GpFitter().fit(d, grows_with_data=True, seed=4) for d in (data, mirrored))
    at, roots = scattered(17, 6, 1), Roots.of(3)
    assert (mirror.predict(at).mean == -model.predict(at).mean).all()
    assert (mirror.predict(at).sd == model.predict(at).sd).all()
    here, there = model.simulate(at, roots, at), mirror.simulate(at, roots, at)
    np.testing.assert_allclose(there.mean[:, ::-1], -here.mean, rtol=1e-12)
    np.testing.assert_allclose(there.sd[:, ::-1], here.sd, rtol=1e-12)
    extended, mirror_extended = model.extend(at, np.ones(6)), mirror.extend(at, -np.ones(6))
    assert (mirror_extended.predict(at).mean == -extended.predict(at).mean).all()
    # the largest value of a mirrored function lies where the smallest of the function lies
    line = Points(np.array([[0.0], [0.5], [1.0]]), np.ones(3))
    assert model.optimum(line, 200, 0).probability.argmax() == 2
    assert mirror.optimum(line, 200, 0).probability.argmax() == 0


def test_thinning_keeps_the_latest_half_and_the_range_of_the_rest() -> None:
    y = np.random.default_rng(18).permutation(40).astype(np.float64)
    kept = thinned(y, 11)
    assert len(kept) == len(set(kept.tolist())) == 11
    assert (np.diff(kept) > 0).all()
    assert kept[-6:].tolist() == list(range(34, 40))
    earlier, ranked = y[:34], np.sort(y[:34])
    assert set(earlier[kept[:5]].tolist()) == set(ranked[[0, 8, 16, 25, 33]].tolist())


@pytest.mark.parametrize(("count", "limit"), [(5, 5), (6, 5), (7, 1), (9, 2), (500, 200)])
def test_thinning_never_exceeds_its_limit(count: int, limit: int) -> None:
    kept = thinned(np.zeros(count), limit)
    assert len(np.unique(kept)) == len(kept) == min(count, limit)
    assert kept[-1] == count - 1


def test_caps_on_density_and_posterior() -> None:
    points = scattered(19, 30, 1)
    y = np.sin(5.0 * points.x[:, 0])
    fitter = GpFitter(density_observations=10, posterior_observations=20)
    model = fitter.fit(Data.measured(points, y), grows_with_data=False, seed=0)
    standard = (y - y.mean()) / y.std()
    posterior = thinned(standard, 20)
    density = posterior[thinned(standard[posterior], 10)]
    assert (model.points.x == points.x[posterior]).all()
    assert model.targets.shape == (fitter.samples, 20)
    # only what the density uses moves the hyper-parameters
    elsewhere = points.x.copy()
    elsewhere[np.setdiff1d(posterior, density)] = 0.5
    moved = fitter.fit(Data.measured(Points(elsewhere, points.s), y), grows_with_data=False, seed=0)
    assert (moved.theta == model.theta).all()
    elsewhere[density[-1]] = 0.123
    moved = fitter.fit(Data.measured(Points(elsewhere, points.s), y), grows_with_data=False, seed=0)
    assert (moved.theta != model.theta).any()


def test_a_singular_covariance_is_factored_with_the_smallest_jitter() -> None:
    ones = np.ones((4, 4))
    factor = stable_cholesky(ones)
    np.testing.assert_allclose(factor @ factor.T, ones, atol=2e-9)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        stable_cholesky(np.diag([1.0, -1.0]))


def test_caps_are_told_when_they_bite() -> None:
    fitter = GpFitter(density_observations=10, posterior_observations=20)
    assert fitter.caps_at(10) == ()
    assert [note.split(" on ")[1] for note in fitter.caps_at(21)] == ["10 of 21 observations", "20 of 21 observations"]


@pytest.mark.parametrize("fitter", [GpFitter(hyperparameters="map"), GpFitter(density_observations=6)])
def test_bounds_are_imputed_whatever_the_hyperparameters_were_found_on(fitter: GpFitter) -> None:
    data = censored_line()
    model = fitter.fit(data, grows_with_data=True, seed=3)
    standard = (data.y - model.centre) / model.spread
    assert (model.targets[:, data.censored] > standard[data.censored]).all()
    np.testing.assert_array_equal(
        model.targets[:, ~data.censored],
        np.broadcast_to(standard[~data.censored], model.targets[:, ~data.censored].shape),
    )


def test_the_posterior_rests_on_fewer_observations_where_many_pairs_are_predicted() -> None:
    fitter = GpFitter(samples=1, burn_in=1, thinning=1, density_observations=20, posterior_work=1e6)
    assert fitter.caps_at(300, pairs=100) == (
        "hyper-parameters are sampled on 20 of 300 observations",
        "the posterior rests on 100 of 300 observations",
    )
    rng = np.random.default_rng(0)
    data = Data.measured(Points(rng.random((300, 2)), np.ones(300)), rng.random(300))
    assert len(fitter.fit(data, grows_with_data=False, seed=0, pairs=100).points) == 100
    assert (
        len(fitter.fit(data, grows_with_data=False, seed=0, pairs=10**9).points) == 20
    )  # never fewer than the density
    assert len(fitter.fit(data, grows_with_data=False, seed=0).points) == 300


def test_paths_have_the_moments_of_the_belief_and_move_together() -> None:
    points, rng = scattered(9, 12, 2), np.random.default_rng(9)
    model = GpFitter(samples=3, burn_in=5).fit(
        Data.measured(points, rng.standard_normal(12)), grows_with_data=False, seed=1
    )
    at = Points(np.repeat(rng.random((3, 2)), 2, axis=0), np.ones(6))  # each point twice
    paths, belief = model.paths(at, 4000, seed=2), model.predict(at)
    assert paths.shape == (12_000, 6)
    np.testing.assert_allclose(paths.mean(axis=0), belief.mean, atol=0.05 * belief.sd.max())
    np.testing.assert_allclose(paths.std(axis=0), belief.sd, rtol=0.05)
    np.testing.assert_allclose(paths[:, 0], paths[:, 1], atol=0.01)
    np.testing.assert_array_equal(paths, model.paths(at, 4000, seed=2))
