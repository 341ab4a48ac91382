"""What the papers print fits together."""

import pytest

from benchmarks.papers import published
from benchmarks.papers.experiments import FABULINUS, FILTERS, NEPHELE, TRIMTUNER


def test_names_are_those_of_the_experiments() -> None:
    assert published.TRIMTUNER_TABLE_3.keys() <= set(TRIMTUNER)
    assert published.TRIMTUNER_TABLE_4.keys() <= FILTERS.keys()
    assert {*published.STEP_COST, *published.CHEAPER, *published.FASTER} <= set(TRIMTUNER)
    assert published.FILTER_SAVINGS.keys() <= FILTERS.keys()
    assert all(rivals.keys() <= FABULINUS.keys() for rivals in published.FABULINUS_SAVINGS.values())
    assert all(rivals.keys() <= NEPHELE.keys() for rivals in published.NEPHELE_SAVINGS.values())


def test_factors_come_from_the_tables() -> None:
    slowest, fastest = published.TRIMTUNER_TABLE_4["no filter"][0], published.TRIMTUNER_TABLE_4["CEA 1 %"][1]
    assert slowest / fastest == pytest.approx(published.RECOMMENDATION_FASTER, rel=0.01)
    table_3 = published.TRIMTUNER_TABLE_3
    assert table_3["trimtuner-gp"] / table_3["trimtuner"] == pytest.approx(published.TREES_FASTER, rel=0.1)
