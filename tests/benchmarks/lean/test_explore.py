"""The short table."""

from benchmarks.lean.explore import aligned, explored
from tests.benchmarks.lean.made import results


def test_one_line_a_strategy_and_table() -> None:
    text = explored(results(only=("main", "nephele")))
    main, nephele = text.split("\n\n")
    head, *rows = main.splitlines()
    assert head.split()[:2] == ["main", "table"]
    assert "$ to 99%" in head
    assert len(rows) == 16
    first = rows[0].split()
    assert first[:5] == ["lean", "rnn", "0.0120", "0.0120", "0.0120"]
    assert "CNO 1.5" in nephele.splitlines()[0]


def test_columns_are_aligned() -> None:
    assert aligned([["a", "bb"], ["ccc", "d"]]) == "a    bb\nccc  d"
