"""Tables put ours beside the paper's."""

import pytest

from benchmarks.papers import facts, published, tables
from benchmarks.papers.experiments import FILTERS, OURS, TRIMTUNER
from benchmarks.papers.results import Results
from leantune.lab.replay.runs import PAPER
from tests.benchmarks.papers.made import inventory, results


def lines(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def test_counts_that_differ_are_seen() -> None:
    head = ("feasible", "good")
    shown = lines(tables.counted(inventory(), head, facts.trimtuner_table_2, published.TRIMTUNER_TABLE_2))
    assert shown[0] == ["table", "feasible: paper", "ours", "good: paper", "ours", ""]
    by_table = {row[0]: row for row in shown[2:]}
    assert by_table["rnn"][-1] == "**different**"  # it is generated
    assert by_table["cnn"][2] == "no data"


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        (lambda: tables.arrival_table(results().of("trimtuner", "rnn"), PAPER), len(TRIMTUNER)),
        (lambda: tables.step_table(results().of("trimtuner", "rnn")), len(TRIMTUNER)),
        (lambda: tables.table_3(results()), len(TRIMTUNER)),
        (lambda: tables.table_4(results()), len(FILTERS)),
        (lambda: tables.filter_arrivals(results()), 2 * len(FILTERS) - 1),
        (lambda: tables.cno_table(results().of("nephele", "rnn", OURS), 2.0, ("lynceus",)), 6),
        (lambda: tables.fabulinus_table(results().of("fabulinus", "rnn")), 4),
        (lambda: tables.sensitivity_table(results(), "trees of nephele"), 3),
        (lambda: tables.sensitivity_table(results(), "start of trimtuner"), 3),
        (lambda: tables.same_dollars(results().of("trimtuner", "rnn"), (0.01, 0.1)), len(TRIMTUNER)),
        (lambda: tables.others_table(results().of("nephele", "rnn", OURS)), 6),
        (lambda: tables.minutes_table(results()), 7),
        (lambda: tables.feasible_by_share(inventory()), 1),
        (lambda: tables.production(inventory()), 1),
    ],
)
def test_every_table_is_rectangular(table: object, rows: int) -> None:
    assert callable(table)
    shown = lines(table())
    assert len(shown) == rows + 2
    assert len({len(row) for row in shown}) == 1
    assert not any("nan" in cell for row in shown for cell in row)


def test_before_the_first_recommendation_there_is_nothing() -> None:
    shown = lines(tables.same_dollars(results().of("trimtuner", "rnn"), (0.00001,)))
    assert shown[2][1] == "nothing yet"


def test_groups_that_were_not_run_are_named() -> None:
    assert {row[2] for row in lines(tables.minutes_table(Results()))[2:]} == {"not run"}
