"""Money that is left, and what a machine brought."""

import math
from dataclasses import replace

from leantune.store.rows import Money, StayRow


def test_left() -> None:
    assert Money(10.0, 4.0, 2.5).left == 3.5
    assert Money(1.0, 4.0, 0.0).left == -3.0
    assert Money(None, 4.0, 2.5).left == math.inf


def test_a_machine_that_was_taken_within_its_free_hour() -> None:
    held = StayRow(3, 1, "i-1", "m/a", False, 0.2, 0.1, "made", 10.0, step_from=20.0, kept=50.0, reached=60.0)
    assert (held.usd, held.over, held.kept_steps, held.lost_steps) == (0.0, 10.0, 30.0, 10.0)
    left = replace(held, left=0.0)
    assert left.over == 0.0, "a clock may begin at any time"
    billed = replace(left, ended=90.0, gross_usd=0.75, refund_usd=0.5, reached=40.0)
    assert (billed.usd, billed.over, billed.lost_steps) == (0.25, 90.0, 0.0)
