"""The ledger: dollars set aside, dollars paid, and when."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from leantune.problem import COST
from leantune.report.data import StudyView
from leantune.report.marks import MOST_POINTS, Axis, Figure, Json, line, marks, metric_axis, thinned, trial_axis
from leantune.store.rows import LedgerRow
from leantune.text import percent, time_unit, usd

_NEAR = 3.0  # a budget of more than that times the money in use would flatten the curve
_ROUNDING = 1e-9  # relative: a sum of dollars is not exact


def committed(ledger: Sequence[LedgerRow]) -> list[tuple[float, float, float]]:
    """(time, spent, spent + reserved) after every booking and every settlement, in order of time."""
    events = [(row.opened, 0, row.reserved, 0.0) for row in ledger]
    # At the same moment money is set free before it is set aside, as one transaction after the other did it.
    events += [
        (row.settled_at or row.opened, -1, -row.reserved, row.settled) for row in ledger if row.settled is not None
    ]
    spent = reserved = 0.0
    course = []
    for time, _, booked, paid in sorted(events):
        reserved, spent = reserved + booked, spent + paid
        course.append((time, spent, spent + max(reserved, 0.0)))
    return course


def ledger_figures(view: StudyView) -> list[Figure]:
    """Money over time, and each run's worst case against its price."""
    if not view.ledger or not view.has_dollars:
        return []
    return [_course(view), *_bookings(view)]


def _course(view: StudyView) -> Figure:
    course = committed(view.ledger)
    start = course[0][0]
    size, unit = time_unit(course[-1][0] - start)
    peak = max(total for _, _, total in course)
    drawn = _envelope(course)
    x = [(time - start) / size for time, _, _ in drawn]
    traces = [
        line(x, [total for _, _, total in drawn], "@line", shape="hv", width=1, fill="tozeroy", fillcolor="@reserved"),
        line(x, [spent for _, spent, _ in drawn], "@kept", shape="hv", fill="tozeroy", fillcolor="@spent"),
    ]
    budget = view.money.budget_usd
    caption = f"Dark: spent. Light: set aside for the worst case of what was running; at most {usd(peak)} at once."
    near = budget is not None and budget <= _NEAR * peak
    if budget is not None and near:
        traces.append(line([0.0, x[-1]], [budget, budget], "@broke", dash="dash", width=1.5))
        caption += f" The dashed line is the budget, {usd(budget)}."
    if budget is not None:
        kept = peak <= budget * (1 + _ROUNDING)
        caption += " Together they never exceeded the budget." if kept else " Together they EXCEEDED the budget."
    top = budget if budget is not None and near else peak
    axis = Axis("dollars (USD)", dollars=True, ends=(0.0, 1.08 * top or 1.0))
    layout: Json = {"xaxis": {"title": {"text": f"time since the first run ({unit})"}}, "yaxis": axis.layout()}
    return Figure("ledger-course", "Money over time", caption, traces, layout)


def _envelope(course: Sequence[tuple[float, float, float]]) -> Sequence[tuple[float, float, float]]:
    """At most MOST_POINTS moments; each has the largest sum of the moments that it replaces."""
    every = -(-len(course) // MOST_POINTS)
    groups = [course[first : first + every] for first in range(0, len(course), every)]
    return [(group[-1][0], group[-1][1], max(total for _, _, total in group)) for group in groups]


def _bookings(view: StudyView) -> list[Figure]:
    settled = [(row, row.settled) for row in view.ledger if row.settled is not None and row.reserved > 0]
    if not settled:
        return []
    shares = [paid / row.reserved for row, paid in settled]
    over = sum(share > 1 + _ROUNDING for share in shares)
    drawn, fewer = thinned(settled, noun="run")
    axis = metric_axis(COST, [value for row, paid in settled for value in (row.reserved, paid or row.reserved)])
    caption = (
        f"Half of the runs cost less than {percent(median(shares))} of what was set aside for them; "
        f"{f'{over:,} cost more' if over else 'none cost more'}.{fewer}"
    )
    numbers = [row.number for row, _ in drawn]
    texts = [
        f"trial {row.number}, attempt {row.attempt}<br>set aside {usd(row.reserved)}, paid {usd(paid)}"
        for row, paid in drawn
    ]
    aside = {"symbol": "line-ew-open", "color": "@soft", "line": {"width": 1.6}, "size": 7}
    dot = {"symbol": "circle", "color": "@kept", "line": {"width": 0}, "size": 7}
    traces = [
        marks("set aside", numbers, [axis.of(row.reserved) for row, _ in drawn], aside, hovertext=texts),
        marks("paid", numbers, [axis.of(paid) for _, paid in drawn], dot, hovertext=texts),
    ]
    layout: Json = {"xaxis": trial_axis(len(view.history)), "yaxis": axis.layout()}
    return [Figure("ledger-bookings", "Set aside (–) and paid (●), run by run", caption, traces, layout)]
