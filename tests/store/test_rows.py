"""Money that is left."""

import math

from leantune.store.rows import Money


def test_left() -> None:
    assert Money(10.0, 4.0, 2.5).left == 3.5
    assert Money(1.0, 4.0, 0.0).left == -3.0
    assert Money(None, 4.0, 2.5).left == math.inf
