"""When two failures have the same cause; what comes of them is in `tests/cli/test_studies.py`, with real programs."""

from __future__ import annotations

from fractions import Fraction

import pytest

from leantune.history import History, Trial
from leantune.run.false_starts import alike
from leantune.space import Space, choice, integer, linear

SPACE = Space(lr=linear(0.0, 1.0), style=choice("plain", "wide"), depth=integer(1, 3))


def trials() -> tuple[Trial, Trial]:
    """Numbers 0 and 1."""
    history, first = History().propose(SPACE.configuration({"lr": 0.25, "style": "plain", "depth": 2}), Fraction(1))
    return first, history.propose(SPACE.configuration({"lr": 0.5, "style": "wide", "depth": 3}), Fraction(1))[1]


@pytest.mark.parametrize(
    ("its", "other", "same"),
    [
        ("exit code 1: no such file", "exit code 1: no such file", True),  # 1 is the number of the second trial
        ("exit code 2: no such file", "exit code 2: no such file", True),  # 2 is the depth of the first
        ("exit code 9: plain 'lr=0.25' in out-0/10", "exit code 9: wide 'lr=0.5' in out-1/10", True),
        ("exit code 9: no such file", "exit code 9: no such library", False),
        ("exit code 8", "exit code 9", False),
        ("exit code 9: plainest 10.25", "exit code 9: widest 10.5", False),  # parts of words are no values
    ],
)
def test_values_and_numbers_of_trials_make_no_difference(its: str, other: str, same: bool) -> None:
    first, second = trials()
    assert alike(first, its, second, other) is same
    assert alike(second, other, first, its) is same


def test_one_configuration_says_nothing_about_the_program() -> None:
    first, _ = trials()
    assert not alike(first, "exit code 1", first, "exit code 1")
