"""A curve checks what it is given."""

import numpy as np
import pytest

from leantune.curves.base import Curve
from leantune.errors import InvalidInput


@pytest.mark.parametrize(
    ("steps", "values", "drops"),
    [
        ([], [], ()),
        ([1.0, 2.0], [1.0], ()),
        ([1.0, 1.0], [1.0, 1.0], ()),
        ([2.0, 1.0], [1.0, 1.0], ()),
        ([1.0, np.nan], [1.0, 1.0], ()),
        ([1.0], [1.0], (3.0, 2.0)),
    ],
)
def test_what_is_no_curve_is_refused(steps: list[float], values: list[float], drops: tuple[float, ...]) -> None:
    with pytest.raises(InvalidInput):
        Curve(np.array(steps), np.array(values), drops)


def test_a_part_keeps_the_whole_schedule() -> None:
    curve = Curve(np.arange(1.0, 11.0), np.arange(10.0), (3.0, 8.0), maximize=True)
    part = curve.until(4.0)
    assert list(part.steps) == [1.0, 2.0, 3.0, 4.0]
    assert (part.drops, part.maximize) == ((3.0, 8.0), True)
