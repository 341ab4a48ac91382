"""Train a multi-layer perceptron on real images: a program that knows nothing of LeanTune.

It takes its settings from the command line, prints one JSON object per epoch, saves a checkpoint after each and goes on
from it when it is started again. Try it: python train.py --lr 0.001 --hidden 128 --epochs 10
"""

import argparse
import json
import os
from pathlib import Path

import numpy as np
from images import load, prepared
from numpy.typing import NDArray

HERE = Path(__file__).parent
Array = NDArray[np.float32]


class Network:
    """One hidden layer of rectified units, softmax on top, trained by Adam with decoupled weight decay."""

    def __init__(self, inputs: int, hidden: int, classes: int, seed: int = 0) -> None:
        draw = np.random.default_rng(seed)
        self.weights: list[Array] = [
            (draw.standard_normal((inputs, hidden)) * np.sqrt(2 / inputs)).astype(np.float32),
            np.zeros(hidden, dtype=np.float32),
            (draw.standard_normal((hidden, classes)) * np.sqrt(2 / hidden)).astype(np.float32),
            np.zeros(classes, dtype=np.float32),
        ]
        self.mean = [np.zeros_like(weight) for weight in self.weights]
        self.square = [np.zeros_like(weight) for weight in self.weights]
        self.steps = 0

    def scores(self, images: Array) -> tuple[Array, Array]:
        """Hidden activations and class scores."""
        first, first_bias, second, second_bias = self.weights
        hidden = np.maximum(images @ first + first_bias, 0)
        return hidden, hidden @ second + second_bias

    def learn(self, images: Array, labels: NDArray[np.int64], rate: float, decay: float) -> None:
        """One step of Adam on a batch."""
        hidden, scores = self.scores(images)
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        error = scores / scores.sum(axis=1, keepdims=True)
        error[np.arange(len(labels)), labels] -= 1
        error /= len(labels)
        back = (error @ self.weights[2].T) * (hidden > 0)
        gradients = [images.T @ back, back.sum(axis=0), hidden.T @ error, error.sum(axis=0)]
        self.steps += 1
        for i, gradient in enumerate(gradients):
            self.mean[i] += 0.1 * (gradient - self.mean[i])
            self.square[i] += 0.001 * (gradient * gradient - self.square[i])
            direction = self.mean[i] / (1 - 0.9**self.steps)
            scale = np.sqrt(self.square[i] / (1 - 0.999**self.steps)) + 1e-8
            self.weights[i] -= rate * (direction / scale + decay * self.weights[i])

    def accuracy(self, images: Array, labels: NDArray[np.int64]) -> float:
        """Share of images that are told right."""
        return float((self.scores(images)[1].argmax(axis=1) == labels).mean())


def save(network: Network, epoch: int, folder: Path) -> None:
    """Keep everything that training needs to go on; the file is whole or not there."""
    state = {f"{name}{i}": a for name in ("weights", "mean", "square") for i, a in enumerate(getattr(network, name))}
    unfinished = folder / f"unfinished-{os.getpid()}.npz"
    np.savez(unfinished, epoch=epoch, steps=network.steps, **state)
    unfinished.replace(folder / "network.npz")


def restored(network: Network, folder: Path) -> int:
    """Take over a checkpoint, if there is one; how many epochs it has seen."""
    file = folder / "network.npz"
    if not file.exists():
        return 0
    with np.load(file) as state:
        for name in ("weights", "mean", "square"):
            setattr(network, name, [state[f"{name}{i}"] for i in range(4)])
        network.steps = int(state["steps"])
        return int(state["epoch"])


def main() -> None:
    """Train and print the accuracy after every epoch."""
    options = argparse.ArgumentParser(description="Train a multi-layer perceptron on real images.")
    options.add_argument("--lr", type=float, default=1e-3, help="learning rate")
    options.add_argument("--hidden", type=int, default=128, help="units of the hidden layer")
    options.add_argument("--batch", type=int, default=64, help="images in one step")
    options.add_argument("--decay", type=float, default=1e-4, help="weight decay")
    options.add_argument("--epochs", type=int, default=10, help="passes over the images")
    options.add_argument("--fraction", type=float, default=1.0, help="share of the images to learn from")
    options.add_argument("--data", type=Path, default=HERE / "data", help="where the images are kept")
    options.add_argument("--checkpoints", type=Path, help="where to save the network after each epoch")
    chosen = options.parse_args()
    images, labels, held_images, held_labels = load(prepared(chosen.data))
    count = max(1, round(len(images) * chosen.fraction))
    images, labels = images[:count], labels[:count]
    network = Network(images.shape[1], chosen.hidden, 10)
    done = restored(network, chosen.checkpoints) if chosen.checkpoints else 0
    for epoch in range(done, chosen.epochs):
        order = np.random.default_rng(epoch).permutation(count)
        for first in range(0, count, chosen.batch):
            batch = order[first : first + chosen.batch]
            network.learn(images[batch], labels[batch], chosen.lr, chosen.decay)
        print(json.dumps({"step": epoch + 1, "accuracy": network.accuracy(held_images, held_labels)}), flush=True)
        if chosen.checkpoints:
            save(network, epoch + 1, chosen.checkpoints)


if __name__ == "__main__":
    main()
