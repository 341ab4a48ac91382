"""The promises of `Surrogate` as tests: bind them to a model by a subclass that says how to fit it.

What a model is worth is not judged here, only what every acquisition relies on.
"""

from abc import ABC, abstractmethod

import numpy as np
import pytest

from leantune.arrays import FloatArray
from leantune.models.base import Data, Fitter, Points, Roots, Surrogate
from leantune.models.threads import THREADS_VARIABLE, one_blas_thread

LEVELS = np.array([0.0, 0.4, 1.0])


def scattered(seed: int, count: int, dimensions: int = 3) -> Points:
    """Random points on random levels."""
    rng = np.random.default_rng(seed)
    return Points(rng.random((count, dimensions)), rng.choice(LEVELS, count))


def smooth_data(count: int = 24) -> Data:
    """A smooth function that grows with x_0 and with s, measured with a little noise."""
    points = scattered(0, count)
    noise = 0.02 * np.random.default_rng(1).standard_normal(count)
    return Data.measured(points, 5.0 + 2.0 * points.x[:, 0] + 0.5 * points.s + noise)


def constant_data() -> Data:
    points = scattered(2, 8)
    return Data.measured(points, np.full(8, 0.7))


def one_observation() -> Data:
    return Data.measured(scattered(3, 1), np.array([-2.0]))


def duplicated_data() -> Data:
    """Three points, each measured four times; one of them always with the same outcome."""
    points = scattered(4, 3)
    y = np.tile([1.0, 2.0, 3.0], 4) + np.where(np.arange(12) % 3 == 0, 0.0, 0.1 * np.arange(12))
    return Data.measured(points.take(np.tile([0, 1, 2], 4)), y)


def one_configuration() -> Data:
    """A start by snapshots: one configuration at several levels."""
    points = Points(np.full((3, 3), 0.3), LEVELS)
    return Data.measured(points, np.array([1.0, 2.0, 2.5]))


def partly_censored() -> Data:
    data = smooth_data()
    return Data(data.points, data.y, np.arange(len(data)) % 3 == 0)


DEGENERATE = [constant_data, one_observation, duplicated_data, one_configuration, partly_censored]


def answers(model: Surrogate) -> list[FloatArray]:
    """Everything an acquisition may ask, of sizes that are cut into several blocks."""
    at, tested, roots = Points(scattered(5, 12).x, np.ones(12)), scattered(6, 300), Roots.of(3)
    grid = model.predict_grid(scattered(7, 5000).x, LEVELS)
    here = model.predict(tested)
    after = model.simulate(tested, roots, at)
    longer = model.extend(tested.take(np.arange(2)), here.mean[:2] + here.sd[:2]).predict(at)
    optimum = model.optimum(at, 64, 0)
    beliefs = [array for g in (grid, here, after, longer) for array in (g.mean, g.sd)]
    divergence = np.array([optimum.divergence])
    return [*beliefs, optimum.probability, divergence, optimum.expected_divergence(tested, roots)]


class SurrogateContract(ABC):
    """Subclass it as `class TestMine(SurrogateContract)`."""

    @abstractmethod
    def fitter(self) -> Fitter:
        """How the model is fitted."""

    @abstractmethod
    def outcome(self, model: Surrogate, point: Points, z: float) -> FloatArray:
        """What `simulate` tells the model at root z: its mean plus z deviations, noise included; [1]."""

    def fitted(self, data: Data | None = None, seed: int = 0) -> Surrogate:
        return self.fitter().fit(smooth_data() if data is None else data, grows_with_data=False, seed=seed)

    def test_shapes(self) -> None:
        model, at, tested, roots = self.fitted(), scattered(8, 5), scattered(9, 4), Roots.of(2)
        here, grid, after = model.predict(at), model.predict_grid(at.x, LEVELS), model.simulate(tested, roots, at)
        assert here.mean.shape == here.sd.shape == (5,)
        assert grid.mean.shape == grid.sd.shape == (5, 3)
        assert after.mean.shape == after.sd.shape == (4, 2, 5)
        optimum = model.optimum(Points(at.x, np.ones(5)), 16, 0)
        assert optimum.probability.shape == (5,)
        assert optimum.expected_divergence(tested, roots).shape == (4,)

    def test_predicts_what_it_was_told(self) -> None:
        data = smooth_data(60)
        predicted = self.fitted(data).predict(data.points).mean
        assert float(np.corrcoef(predicted, data.y)[0, 1]) > 0.9
        assert predicted.min() > data.y.min() - 0.5
        assert predicted.max() < data.y.max() + 0.5

    def test_the_grid_is_predicted_as_single_points_are(self) -> None:
        model, x = self.fitted(), scattered(10, 6).x
        grid = model.predict_grid(x, LEVELS)
        here = model.predict(Points(np.repeat(x, 3, axis=0), np.tile(LEVELS, 6)))
        np.testing.assert_allclose(grid.mean.ravel(), here.mean, rtol=1e-9)
        np.testing.assert_allclose(grid.sd.ravel(), here.sd, rtol=1e-6)

    def test_a_point_is_predicted_alike_in_any_company(self) -> None:
        model, at = self.fitted(), scattered(11, 9)
        alone = model.predict(at.take(np.array([4])))
        assert float(alone.mean[0]) == pytest.approx(float(model.predict(at).mean[4]), rel=1e-9)

    def test_simulating_is_extending_with_the_outcome_of_each_root(self) -> None:
        model, at, tested, roots = self.fitted(), scattered(12, 6), scattered(13, 3), Roots.of(3)
        simulated = model.simulate(tested, roots, at)
        for b in range(len(tested)):
            one = tested.take(np.array([b]))
            for k, z in enumerate(roots.z):
                after = model.extend(one, self.outcome(model, one, float(z))).predict(at)
                np.testing.assert_allclose(simulated.mean[b, k], after.mean, rtol=1e-7)
                np.testing.assert_allclose(simulated.sd[b, k], after.sd, rtol=1e-5)

    def test_extending_moves_the_belief_towards_the_outcome_and_leaves_the_model_alone(self) -> None:
        model, one = self.fitted(), scattered(14, 1)
        before = model.predict(one)
        higher = model.extend(one, before.mean + 3.0).predict(one).mean
        lower = model.extend(one, before.mean - 3.0).predict(one).mean
        assert lower[0] < before.mean[0] < higher[0]
        assert model.predict(one).mean[0] == before.mean[0]

    def test_equal_data_and_seed_give_equal_bits(self) -> None:
        one, again = answers(self.fitted(seed=5)), answers(self.fitted(seed=5))
        assert all((a == b).all() for a, b in zip(one, again, strict=True))

    def test_one_thread_and_two_give_equal_bits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        results = []
        for threads in ("1", "2"):
            monkeypatch.setenv(THREADS_VARIABLE, threads)
            with one_blas_thread():
                results.append(answers(self.fitted()))
        assert all((a == b).all() for a, b in zip(*results, strict=True))

    def test_p_opt_is_a_distribution_and_its_divergence_is_bounded(self) -> None:
        at = Points(scattered(15, 10).x, np.ones(10))
        optimum = self.fitted().optimum(at, 64, 0)
        assert (optimum.probability >= 0.0).all()
        assert float(optimum.probability.sum()) == pytest.approx(1.0)
        assert -1e-12 <= optimum.divergence <= np.log(10) + 1e-12
        after = optimum.expected_divergence(scattered(16, 20), Roots.of(3))
        assert (after >= -1e-12).all()
        assert (after <= np.log(10) + 1e-12).all()

    def test_the_largest_value_is_sought(self) -> None:
        line = Points(np.column_stack([np.linspace(0.0, 1.0, 5), np.full((5, 2), 0.5)]), np.ones(5))
        probability = self.fitted(smooth_data(60)).optimum(line, 200, 0).probability
        assert int(probability.argmax()) == 4
        assert probability[0] < 0.1

    def test_among_one_point_the_optimum_is_known(self) -> None:
        optimum = self.fitted().optimum(scattered(17, 1), 32, 0)
        assert optimum.probability.tolist() == [1.0]
        assert optimum.divergence == 0.0
        assert optimum.expected_divergence(scattered(18, 2), Roots.of(3)).tolist() == [0.0, 0.0]

    @pytest.mark.parametrize("upside_down", [False, True])
    @pytest.mark.parametrize("grows_with_data", [False, True])
    @pytest.mark.parametrize("data", [make() for make in DEGENERATE], ids=[make.__name__ for make in DEGENERATE])
    def test_degenerate_data_give_finite_answers(self, data: Data, grows_with_data: bool, upside_down: bool) -> None:
        told = Data(data.points, data.y, data.censored, bounds_above=upside_down)
        model = self.fitter().fit(told, grows_with_data=grows_with_data, seed=1)
        assert all(np.isfinite(array).all() for array in answers(model))
        grid = model.predict_grid(scattered(19, 5).x, LEVELS)
        assert (grid.sd > 0.0).all()

    def test_a_constant_is_predicted(self) -> None:
        predicted = self.fitted(constant_data()).predict(constant_data().points).mean
        np.testing.assert_allclose(predicted, 0.7, atol=0.05)
