"""Boosted trees against scikit-learn's trees."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from benchmarks.spottune import boosting
from benchmarks.spottune.boosting import BATCHES, Binned, BoostingTrainer

ROWS = 64 * BATCHES


def part(rows: int) -> Binned:
    whole = boosting.friedman()
    return Binned(whole.bins[:rows], whole.targets[:rows], whole.judged_bins[:1000], whole.judged_targets[:1000])


def test_one_tree_at_rate_one_is_a_regression_tree() -> None:
    """Batches that hold every row once: a layer of residuals then splits as a tree of means does."""
    data = part(ROWS)
    trainer = BoostingTrainer(data, {"bs": ROWS // BATCHES, "lr": 1.0, "nt": 1, "depth": 4})
    for depth in range(1, 5):
        trainer.advance()
        tree = DecisionTreeRegressor(max_depth=depth).fit(data.bins, data.targets)
        error = float(np.square(tree.predict(data.judged_bins) - data.judged_targets).mean())
        assert trainer.validate() == pytest.approx(error, rel=0.01)
    root = DecisionTreeRegressor(max_depth=1).fit(data.bins, data.targets).tree_
    state = trainer.state()
    assert state["column"][0, 0] == root.feature[0]
    assert state["bin"][0, 0] == np.floor(root.threshold[0])


def test_a_layer_of_rate_lr_takes_that_share_of_the_step() -> None:
    data = part(ROWS)
    slow, fast = (BoostingTrainer(data, {"bs": 64, "lr": lr, "nt": 1, "depth": 1}) for lr in (0.1, 1.0))
    slow.advance()
    fast.advance()
    assert slow.state()["value"] == pytest.approx(0.1 * fast.state()["value"].astype(np.float64))


def test_steps_are_batches_and_the_end_is_all_trees() -> None:
    trainer = BoostingTrainer(part(ROWS), {"bs": 8, "lr": 0.1, "nt": 3, "depth": 2})
    errors = [trainer.validate()]
    for _ in range(6):
        trainer.advance()
        errors.append(trainer.validate())
    assert trainer.steps == 6 * BATCHES
    assert (np.diff(errors) < 0).all()
    assert (trainer.state()["column"][:, 0] != boosting.NO_SPLIT).all()


def test_rows_that_are_all_alike_are_never_split() -> None:
    data = Binned(*(np.zeros((ROWS, 10), dtype=np.int64), np.ones(ROWS)) * 2)
    trainer = BoostingTrainer(data, {"bs": 64, "lr": 0.5, "nt": 1, "depth": 2})
    trainer.advance()
    trainer.advance()
    assert (trainer.state()["column"] == boosting.NO_SPLIT).all()
    assert trainer.validate() == 1.0


def test_friedmans_function_is_standardised_and_mostly_signal() -> None:
    data = boosting.friedman()
    assert data.targets.mean() == pytest.approx(0, abs=0.02) and data.targets.std() == pytest.approx(1, abs=0.02)
    assert data.bins.min() == 0 and data.bins.max() == boosting.BINS - 1
