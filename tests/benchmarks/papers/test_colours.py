"""No two methods of a figure look alike."""

import pytest

from benchmarks.papers.colours import OTHER, look
from benchmarks.papers.experiments import FABULINUS, FILTERS, NEPHELE, OPTUNA, OTHER_METHODS, TRIMTUNER


@pytest.mark.parametrize(
    "methods",
    [
        [*TRIMTUNER, *OPTUNA],
        list(NEPHELE),
        list(FABULINUS),
        list(OTHER_METHODS),
        [name for name in FILTERS if name.endswith("10 %") or name == "no filter"],
        [name for name in FILTERS if name.startswith("CEA") or name == "no filter"],
    ],
)
def test_colours_and_marks_differ_within_a_figure(methods: list[str]) -> None:
    looks = [look(method) for method in methods]
    assert OTHER not in looks
    assert len({colour for colour, _ in looks}) == len(methods)
    assert len({mark for _, mark in looks}) == len(methods)
