"""The reference made of scikit-learn's parts keeps the contract of a surrogate."""

import numpy as np
import pytest

from leantune.models.base import Data, Points, Roots

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from benchmarks.sklearn_trees import SklearnEnsemble, SklearnTrees

RNG = np.random.default_rng(0)
SEEN = Points(RNG.random((30, 2)), RNG.random(30))
PLACES = Points(RNG.random((12, 2)), np.ones(12))
ROOTS = Roots.of(3)


@pytest.fixture
def ensemble() -> SklearnEnsemble:
    data = Data.measured(SEEN, SEEN.x.sum(axis=1) + SEEN.s)
    return SklearnTrees(trees=10).fit(data, grows_with_data=False, seed=5)


def test_the_grid_is_what_predict_says(ensemble: SklearnEnsemble) -> None:
    grid = ensemble.predict_grid(PLACES.x, np.array([0.0, 1.0]))
    np.testing.assert_allclose(grid.mean[:, 1], ensemble.predict(PLACES).mean)
    assert (grid.sd > 0).all()


def test_simulating_is_refitting_with_the_outcome(ensemble: SklearnEnsemble) -> None:
    point = Points(np.array([[0.2, 0.7]]), np.array([0.5]))
    simulated = ensemble.simulate(point, ROOTS, PLACES)
    now = ensemble.predict(point)
    refitted = ensemble.extend(point, now.mean + ROOTS.z[2] * now.sd).predict(PLACES)
    np.testing.assert_allclose(simulated.mean[0, 2], refitted.mean)
    np.testing.assert_allclose(simulated.sd[0, 2], refitted.sd)


def test_the_optimum_is_where_the_function_is_large(ensemble: SklearnEnsemble) -> None:
    optimum = ensemble.optimum(PLACES, samples=500, seed=1)
    assert optimum.probability.sum() == pytest.approx(1.0)
    best = PLACES.x.sum(axis=1).argsort()[-4:]
    assert optimum.probability[best].sum() > 0.6
    assert 0 < optimum.divergence <= np.log(len(PLACES))
    after = optimum.expected_divergence(PLACES.take(np.array([0, 1])), ROOTS)
    assert after.shape == (2,)
    assert ((after > 0) & (after <= np.log(len(PLACES)))).all()
