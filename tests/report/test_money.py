"""The ledger's figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leantune.report.marks import MOST_POINTS
from leantune.report.money import committed, ledger_figures
from leantune.store.rows import LedgerRow, Money
from tests.report.studies import long_view, many_view, real_view, without_prices


def row(trial: int, opened: float, reserved: float, settled: float | None, at: float | None) -> LedgerRow:
    return LedgerRow(trial, 1, "w", 1.0, 60.0, reserved, opened, settled, at)


def test_money_over_time_is_what_was_paid_and_what_was_set_aside() -> None:
    ledger = [row(0, 0.0, 2.0, 0.5, 10.0), row(1, 10.0, 2.0, 1.0, 30.0), row(2, 20.0, 2.0, None, None)]
    assert committed(ledger) == [
        (0.0, 0.0, 2.0),
        (10.0, 0.5, 0.5),  # the first is settled before the second is booked
        (10.0, 0.5, 2.5),
        (20.0, 0.5, 4.5),
        (30.0, 1.5, 3.5),
    ]


def test_the_course_ends_at_what_is_spent_and_says_whether_the_budget_held() -> None:
    view = real_view()
    course = ledger_figures(view)[0]
    assert course.data[1]["y"][-1] == pytest.approx(view.money.spent, rel=1e-5)
    assert "never exceeded the budget" in course.caption
    broken = ledger_figures(replace(view, money=Money(view.money.spent / 2, view.money.spent, 0.0)))[0]
    assert "EXCEEDED the budget" in broken.caption
    assert any(trace["line"].get("dash") == "dash" for trace in broken.data)


def test_a_budget_out_of_reach_does_not_flatten_the_curve() -> None:
    view = real_view()
    course = ledger_figures(replace(view, money=Money(1e6, view.money.spent, 0.0)))[0]
    assert course.layout["yaxis"]["range"][1] < 10
    assert len(course.data) == 2


def test_each_run_with_what_was_set_aside_and_paid() -> None:
    view = real_view()
    bookings = ledger_figures(view)[1]
    aside, paid = bookings.data
    assert len(paid["y"]) == len(view.ledger)
    assert sum(paid["y"]) == pytest.approx(view.money.spent, rel=1e-4)
    assert all(most >= cost for most, cost in zip(aside["y"], paid["y"], strict=True))
    assert "none cost more" in bookings.caption
    over = view.ledger[0]._replace(settled=view.ledger[0].reserved * 2)
    assert "1 cost more" in ledger_figures(replace(view, ledger=[over, *view.ledger[1:]]))[1].caption


def test_nothing_where_nobody_pays_or_nothing_was_booked() -> None:
    assert ledger_figures(without_prices()) == []
    assert ledger_figures(replace(long_view(120), ledger=())) == []
    told = replace(real_view(), ledger=[row(0, 0.0, 0.0, 0.3, 5.0)])
    assert [figure.name for figure in ledger_figures(told)] == ["ledger-course"]


def test_long_ledgers_are_drawn_by_their_peaks() -> None:
    view = many_view(3 * MOST_POINTS)
    course, bookings = ledger_figures(view)
    peak = max(total for _, _, total in committed(view.ledger))
    assert len(course.data[0]["x"]) <= MOST_POINTS
    assert max(course.data[0]["y"]) == pytest.approx(peak, rel=1e-5)
    assert f"of {3 * MOST_POINTS:,} runs are drawn" in bookings.caption
