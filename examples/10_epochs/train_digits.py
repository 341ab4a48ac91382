"""Train a small network on 8 x 8 images of digits, epoch by epoch; a program that knows nothing of LeanTune.

It saves a checkpoint after every epoch and goes on from the one that it finds, whoever left it there: itself, before it
was interrupted, or a shorter training of the same settings.
"""

import argparse
import json
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

EPOCHS, BATCH, HELD_BACK = 40, 8, 400
Weights = dict[str, NDArray[np.float64]]


def fresh(hidden: int) -> Weights:
    """Weights of one hidden layer, drawn by the same seed for everybody."""
    draw = np.random.default_rng(0)
    return {"first": draw.normal(0, 0.2, (64, hidden)), "second": draw.normal(0, 0.2, (hidden, 10))}


def scores(weights: Weights, images: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Hidden units [n, h] and probabilities of the ten digits [n, 10]."""
    units = np.maximum(images @ weights["first"], 0)
    raised = np.exp((logits := units @ weights["second"]) - logits.max(axis=1, keepdims=True))
    return units, raised / raised.sum(axis=1, keepdims=True)


def learn(weights: Weights, images: NDArray[np.float64], labels: NDArray[np.int64], rate: float) -> None:
    """One step of gradient descent on a batch."""
    units, error = scores(weights, images)
    error[np.arange(len(labels)), labels] -= 1
    back = (error @ weights["second"].T) * (units > 0)
    weights["second"] -= rate * units.T @ error / len(labels)
    weights["first"] -= rate * images.T @ back / len(labels)


def main() -> None:
    """Train up to a share of the epochs, and print the accuracy after each."""
    options = argparse.ArgumentParser(description="Train a small network on images of digits.")
    options.add_argument("--lr", type=float, required=True, help="learning rate")
    options.add_argument("--hidden", type=int, required=True, help="units of the hidden layer")
    options.add_argument("--share", type=float, default=1.0, help=f"share of the {EPOCHS} epochs")
    options.add_argument("--checkpoints", type=Path, required=True, help="where to save the network")
    chosen = options.parse_args()
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.data))
    images, labels = digits.data[order] / 16, digits.target[order]
    file, weights, done = chosen.checkpoints / "network.npz", fresh(chosen.hidden), 0
    if file.exists():
        with np.load(file) as saved:
            weights, done = {name: saved[name] for name in weights}, int(saved["epochs"])
    last = round(EPOCHS * chosen.share)
    print(f"epochs {done + 1} to {last}", flush=True)
    for epoch in range(done, last):
        shuffled = np.random.default_rng(epoch).permutation(np.arange(HELD_BACK, len(images)))
        for first in range(0, len(shuffled), BATCH):
            batch = shuffled[first : first + BATCH]
            learn(weights, images[batch], labels[batch], chosen.lr)
        right = scores(weights, images[:HELD_BACK])[1].argmax(axis=1) == labels[:HELD_BACK]
        unfinished = chosen.checkpoints / f"unfinished-{os.getpid()}.npz"
        np.savez(unfinished, epochs=epoch + 1, first=weights["first"], second=weights["second"])
        unfinished.replace(file)  # whole, or not there
        print(json.dumps({"step": epoch + 1, "accuracy": float(right.mean())}), flush=True)


if __name__ == "__main__":
    main()
