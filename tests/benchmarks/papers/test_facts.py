"""The tables say what the papers say, to the last configuration."""

import pytest

from benchmarks.datasets import table_path
from benchmarks.papers import facts, published
from benchmarks.papers.inventory import Inventory
from tests.benchmarks.papers.made import inventory as generated
from tests.data import needs


@pytest.fixture(scope="module")
def inventory() -> Inventory:
    return Inventory.take()


@pytest.fixture(params=["cnn", "rnn"])
def table(inventory: Inventory, request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    needs(table_path(name))
    return name


def test_trimtuner_table_2(inventory: Inventory, table: str) -> None:
    assert facts.trimtuner_table_2(inventory, table) == published.TRIMTUNER_TABLE_2[table]


def test_thesis_table_1(inventory: Inventory, table: str) -> None:
    assert facts.thesis_table_1(inventory, table) == published.THESIS_TABLE_1[table]
    assert sum(facts.feasible_by_share(inventory, table).values()) == published.THESIS_TABLE_1[table][0]


def test_thesis_table_2(inventory: Inventory, table: str) -> None:
    assert facts.thesis_table_2(inventory, table) == published.THESIS_TABLE_2[table]


def test_production_savings(inventory: Inventory, table: str) -> None:
    found = facts.production_savings(inventory, table)
    assert found is not None
    assert found.saving == pytest.approx(published.PRODUCTION_SAVINGS[table], abs=5e-4)
    assert found.share == published.PRODUCTION_BEST_SHARE[table]


def test_a_table_that_is_absent_has_no_facts() -> None:
    for count in (facts.trimtuner_table_2, facts.thesis_table_1, facts.thesis_table_2, facts.production_savings):
        assert count(generated(), "cnn") is None
        assert count(generated(), "rnn") is not None
