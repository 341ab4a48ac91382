"""One proposal in a process of its own."""

from benchmarks.scale import Case, cases, run_apart


def test_full_runs_cover_what_quick_ones_do() -> None:
    assert set(cases(quick=True)) < set(cases(quick=False))
    assert max(case.pairs for case in cases(quick=False)) == 1_000_000
    assert max(case.observations for case in cases(quick=False)) == 1_000


def test_a_case_reports_seconds_and_memory_of_its_own_process() -> None:
    result = run_apart(Case("random", 10_000, 8))
    assert (result.pairs, result.observations, result.recipe) == (10_000, 8, "random")
    assert 0 < result.seconds < 10
    assert 20 < result.peak_mb < 1_000
