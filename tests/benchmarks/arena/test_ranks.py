"""Ranks by hand; critical differences as Demšar (2006, Table 5) prints them."""

import pytest

from benchmarks.arena.ranks import average_ranks, critical_difference


@pytest.mark.parametrize(("methods", "quantile"), [(2, 1.960), (4, 2.569), (10, 3.164)])
def test_critical_differences_as_printed(methods: int, quantile: float) -> None:
    assert critical_difference(methods, 14) == pytest.approx(quantile * (methods * (methods + 1) / 84) ** 0.5, abs=2e-3)


def test_ranks_are_averaged_over_budgets_then_over_problems() -> None:
    first = [{"a": 0.1, "b": 0.2, "c": 0.2}, {"a": 0.3, "b": 0.2, "c": 0.1}]  # a: 1, 3; b: 2.5, 2; c: 2.5, 1
    second = [{"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.0}]  # d plays only here
    found = average_ranks([first, second])
    assert found is not None
    assert found.average == pytest.approx({"a": (2 + 1) / 2, "b": (2.25 + 2) / 2, "c": (1.75 + 3) / 2})
    assert list(found.average) == ["a", "b", "c"]
    assert found.problems == 2


def test_one_method_has_no_rank() -> None:
    assert average_ranks([[{"a": 0.1}]]) is None
    assert average_ranks([]) is None
