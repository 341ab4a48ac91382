"""Problems by name and family; tables that are not there are told, not lost."""

from pathlib import Path
from statistics import median

from benchmarks.arena.generated import Generated
from benchmarks.arena.limited import TimeLimited
from benchmarks.arena.problems import (
    CHEAPEST_TESTS,
    FAMILIES,
    NOISE,
    QUICK,
    ArenaProblem,
    facts,
    find_problems,
    problem_names,
)
from leantune.lab.replay.pool import Source
from leantune.lab.replay.runs import Settings


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


def family(name: str) -> list[ArenaProblem]:
    return list(FAMILIES[name](None))


def test_the_papers_tables_have_three_problems_more() -> None:
    rnn, cnn = (Source(name) for name in ("trimtuner-rnn", "trimtuner-cnn"))
    assert [problem.sources for problem in family("two limits")] == [(TimeLimited(rnn),), (TimeLimited(cnn),)]
    assert [problem.sources for problem in family("noisy")[:2]] == [(rnn,), (cnn,)]
    assert [problem.sources[0] for problem in family("cheapest")] == [
        Source("trimtuner-rnn", problem="cheapest"),
        Source("trimtuner-cnn", problem="cheapest"),
    ]


def test_tests_scatter_on_noisy_problems_only() -> None:
    for name in FAMILIES:
        for problem in family(name):
            noise = problem.settings(Settings("lean")).noise
            assert noise == (NOISE if name == "noisy" else 0.0), problem.name


def test_the_cheapest_is_not_looked_for_in_hundreds_of_tests() -> None:
    problem = family("cheapest")[0]
    assert problem.settings(Settings("lean", iterations=None, usd=1.0)).iterations == CHEAPEST_TESTS
    assert problem.settings(Settings("lean", iterations=3)).iterations == 3
    plain = Settings("lean", iterations=None, usd=1.0)
    assert family("papers")[0].settings(plain) == plain, "what was kept is not run again"


def test_generated_problems_are_not_measured_ones_noisy_or_not() -> None:
    assert {problem.name for name in FAMILIES for problem in family(name) if not problem.real} == {
        *(problem.name for problem in family("generated")),
        "loose, noisy",
        "ranks-well, noisy",
    }
