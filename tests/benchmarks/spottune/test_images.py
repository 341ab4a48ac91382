"""Images: whichever source is asked for, they look the same."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from benchmarks.spottune import images


def check(loaded: images.Images) -> None:
    assert loaded.images.shape == (len(loaded.labels), 28, 28)
    assert loaded.images.dtype == np.float32 and loaded.images.min() == 0 and loaded.images.max() == 1
    assert np.bincount(loaded.labels).min() > 0.08 * len(loaded.labels)  # ten classes of about one size
    learned, judged = loaded.split(1000)
    assert (len(learned.images), len(judged.images)) == (800, 200)
    assert np.bincount(judged.labels, minlength=10).min() > 5  # mixed: not sorted by class
    assert np.array_equal(np.concatenate([learned.labels, judged.labels]), loaded.labels[:1000])


def test_the_digits_are_the_source_unless_another_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(images.FASHION_VARIABLE, raising=False)
    loaded = images.load.__wrapped__()  # past the cache
    assert "digits" in loaded.source and len(loaded.images) == 5000
    check(loaded)


def test_fashion_is_read_from_the_folder_that_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Files as Debian's package has them: a header of 16 or 8 bytes, then bytes; more images than are ever read."""
    rng = np.random.default_rng(0)
    count = images.MOST + 5
    pixels, labels = rng.integers(0, 256, (count, 28 * 28), dtype=np.uint8), rng.integers(0, 10, count, dtype=np.uint8)
    for name, header, content in (("images-idx3", 16, pixels), ("labels-idx1", 8, labels)):
        packed = gzip.compress(bytes(header) + content.tobytes(), compresslevel=0)
        (tmp_path / f"train-{name}-ubyte.gz").write_bytes(packed)
    monkeypatch.setenv(images.FASHION_VARIABLE, str(tmp_path))
    loaded = images.load.__wrapped__()
    assert "Fashion" in loaded.source and len(loaded.images) == images.MOST
    assert np.array_equal(loaded.labels, labels[: images.MOST])
    assert loaded.images[7] * 255 == pytest.approx(pixels[7].reshape(28, 28))
    check(loaded)


def test_halving_takes_the_mean_of_four_pixels() -> None:
    pixels = np.arange(28 * 28, dtype=np.float32).reshape(1, 28, 28)
    halved = images.Images("made", pixels, np.zeros(1, dtype=np.int64)).halved()
    assert halved.shape == (1, 14, 14)
    assert halved[0, 3, 5] == pixels[0, 6:8, 10:12].mean()
