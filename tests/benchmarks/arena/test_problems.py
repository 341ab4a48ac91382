"""Problems by name and family; tables that are not there are told, not lost."""

from pathlib import Path
from statistics import median

from benchmarks.arena.generated import Generated
from benchmarks.arena.problems import FAMILIES, QUICK, facts, find_problems, problem_names


def test_names_are_unique_and_families_are_no_problems() -> None:
    names = problem_names()
    assert len(set(names)) == len(names)
    assert not set(FAMILIES) & set(names)
    assert set(QUICK) <= set(names)


def test_a_missing_table_is_told(tmp_path: Path) -> None:
    found = find_problems(("demo-mnist", "loose"), tmp_path)
    assert [problem.name for problem in found.ready] == ["loose"]
    assert "mnist_mlp.csv" in found.missing["demo-mnist"]


def test_runs_go_round_the_problems_of_a_family() -> None:
    (problem,) = find_problems(("loose",), None).ready
    assert [problem.source(number) for number in (0, 4, 5)] == [Generated("loose", number) for number in (0, 4, 0)]


def test_a_full_run_costs_the_median() -> None:
    table = Generated("loose", 1).load()
    dollars = [row.cost or 0.0 for (_, share), row in table.measurements.items() if share == 1]
    assert facts(Generated("loose", 1)).unit == median(dollars)
