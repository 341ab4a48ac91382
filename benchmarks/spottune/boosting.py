"""Gradient-boosted regression trees, grown layer by layer from batches, in numpy.

As in TensorFlow's boosted trees, which SpotTune's batch size and number of trees are options of: a step reads one batch
and adds its gradients to histograms; after BATCHES steps every node of the present layer is split and its children get

    value = value of parent - lr * G / (H + lambda),   G = sum of (prediction - target), H = rows

so the prediction of an unfinished tree counts, and nt trees of a depth take nt * depth * BATCHES steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.spottune.images import HELD_BACK

SEED = 5  # of the generated data and of the order of batches
ROWS, COLUMNS, BINS = 40_000, 10, 32
BATCHES = 64  # steps for each layer
RIDGE = 1.0  # lambda
NO_SPLIT = -1


@dataclass(frozen=True)
class Binned:
    """Columns [n, COLUMNS] as numbers of bins, and targets [n], to learn from and to judge by."""

    bins: NDArray[np.int64]
    targets: NDArray[np.float64]
    judged_bins: NDArray[np.int64]
    judged_targets: NDArray[np.float64]


@cache
def friedman() -> Binned:
    """Generated: Friedman's first function of ten uniform columns with normal noise, standardised (Friedman 1991)."""
    rng = np.random.default_rng(SEED)
    x = rng.random((ROWS, COLUMNS))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * np.square(x[:, 2] - 0.5) + 10 * x[:, 3] + 5 * x[:, 4]
    y += rng.standard_normal(ROWS)
    y = (y - y.mean()) / y.std()
    bins = (x * BINS).astype(np.int64)
    cut = round((1 - HELD_BACK) * ROWS)
    return Binned(bins[:cut], y[:cut], bins[cut:], y[cut:])


class BoostingTrainer:
    """One run; a report is a layer. Trees are heaps: the children of node i are 2 i + 1 and 2 i + 2."""

    def __init__(self, data: Binned, setting: Mapping[str, float | str]) -> None:
        self._data, self._batch = data, int(setting["bs"])
        self._rate, self._depth = float(setting["lr"]), int(setting["depth"])
        shape = (int(setting["nt"]), 2 ** (self._depth + 1) - 1)
        self._column = np.full(shape, NO_SPLIT)
        self._bin = np.zeros(shape, dtype=np.int64)
        self._value = np.zeros(shape)
        self._layers = 0
        self._nodes = np.zeros(len(data.targets), dtype=np.int64)  # where in the present tree each row lies
        self._judged_nodes = np.zeros(len(data.judged_targets), dtype=np.int64)
        self._predicted, self._judged = np.zeros(len(data.targets)), np.zeros(len(data.judged_targets))

    @property
    def steps(self) -> int:
        """Batches read so far."""
        return self._layers * BATCHES

    def advance(self) -> None:
        """Read the batches of one layer and grow it."""
        tree, level = divmod(self._layers, self._depth)
        self._enter(level)
        order = np.random.default_rng([SEED, self._layers]).permutation(len(self._data.targets))
        gradients, counts = self._histograms(order, level)
        self._split(tree, level, gradients, counts)
        self._follow(tree)
        self._layers += 1

    def validate(self) -> float:
        """Mean squared error of the rows held back."""
        return float(np.square(self._judged - self._data.judged_targets).mean())

    def state(self) -> dict[str, NDArray[np.generic]]:
        """The trees, from which all else follows."""
        trees = {"column": self._column, "bin": self._bin, "value": self._value}
        return {**{name: array.copy() for name, array in trees.items()}, "layers": np.array(self._layers)}

    def load(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        """Go on from a checkpoint: predictions are those of its trees."""
        self._column, self._bin = state["column"].astype(np.int64), state["bin"].astype(np.int64)
        self._value = state["value"].astype(np.float64)
        self._layers = int(state["layers"])
        self._predicted[:], self._judged[:] = 0, 0
        for layer in range(self._layers):
            tree, level = divmod(layer, self._depth)
            self._enter(level)
            self._follow(tree)

    def _enter(self, level: int) -> None:
        """All rows begin a tree at its root."""
        if level == 0:
            self._nodes[:], self._judged_nodes[:] = 0, 0

    def _histograms(self, order: NDArray[np.int64], level: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Sums of gradients and rows [nodes of the layer, COLUMNS, BINS], batch by batch."""
        first, width = 2**level - 1, 2**level
        size = width * COLUMNS * BINS
        gradients, counts = np.zeros(size), np.zeros(size)
        for step in range(BATCHES):
            chosen = np.take(order, np.arange(step * self._batch, (step + 1) * self._batch))
            chosen = chosen[self._nodes[chosen] >= first]  # the others lie in leaves above
            slope = self._predicted[chosen] - self._data.targets[chosen]
            cells = ((self._nodes[chosen, None] - first) * COLUMNS + np.arange(COLUMNS)) * BINS
            cells = (cells + self._data.bins[chosen]).ravel()
            gradients += np.bincount(cells, weights=np.repeat(slope, COLUMNS), minlength=size)
            counts += np.bincount(cells, minlength=size)
        return gradients.reshape(width, COLUMNS, BINS), counts.reshape(width, COLUMNS, BINS)

    def _split(self, tree: int, level: int, gradients: NDArray[np.float64], counts: NDArray[np.float64]) -> None:
        """The best split of every node of the layer: largest G_l^2 / (H_l + lambda) + G_r^2 / (H_r + lambda)."""
        left, left_rows = gradients.cumsum(axis=2)[:, :, :-1], counts.cumsum(axis=2)[:, :, :-1]
        total, rows = gradients.sum(axis=2, keepdims=True), counts.sum(axis=2, keepdims=True)
        right, right_rows = total - left, rows - left_rows
        gain = np.square(left) / (left_rows + RIDGE) + np.square(right) / (right_rows + RIDGE)
        gain -= np.square(total) / (rows + RIDGE)
        for node in range(len(gain)):
            column, border = np.unravel_index(int(gain[node].argmax()), gain[node].shape)
            parent = 2**level - 1 + node
            if gain[node, column, border] <= 0:
                continue
            self._column[tree, parent], self._bin[tree, parent] = column, border
            for child, g, h in (
                (2 * parent + 1, left[node, column, border], left_rows[node, column, border]),
                (2 * parent + 2, right[node, column, border], right_rows[node, column, border]),
            ):
                self._value[tree, child] = self._value[tree, parent] - self._rate * g / (h + RIDGE)

    def _follow(self, tree: int) -> None:
        """Move all rows to the children of the nodes just split and update their predictions."""
        self._moved(tree, self._nodes, self._data.bins, self._predicted)
        self._moved(tree, self._judged_nodes, self._data.judged_bins, self._judged)

    def _moved(
        self, tree: int, nodes: NDArray[np.int64], bins: NDArray[np.int64], predicted: NDArray[np.float64]
    ) -> None:
        moving = np.flatnonzero(self._column[tree, nodes] != NO_SPLIT)
        at = nodes[moving]
        after = 2 * at + 1 + (bins[moving, self._column[tree, at]] > self._bin[tree, at])
        predicted[moving] += self._value[tree, after] - self._value[tree, at]
        nodes[moving] = after
