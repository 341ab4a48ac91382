"""Which tables are at hand."""

from pathlib import Path

from benchmarks.papers.inventory import CHEAPEST, NETWORKS, OTHERS, Inventory
from tests.benchmarks.papers.made import inventory


def test_tables_that_are_absent_are_named_with_their_place(tmp_path: Path) -> None:
    found = Inventory.take(tmp_path)
    assert found.networks == ()
    assert found.missing.keys() == {*NETWORKS, *OTHERS}
    assert "trimtuner/multilayer.csv" in found.missing["multilayer"]


def test_a_generated_table_says_so_and_has_both_problems() -> None:
    found = inventory()
    assert found.generated
    assert (found.networks, found.others) == (("rnn",), ())
    assert found.tables.keys() == {("rnn", ""), ("rnn", CHEAPEST)}
    assert found.source("rnn", CHEAPEST).load().problem_name == CHEAPEST
