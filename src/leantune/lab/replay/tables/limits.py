"""The problem that a description states, with `median` in a limit replaced by the number it stands for."""

from __future__ import annotations

import re
from statistics import median

from leantune.errors import ProblemError
from leantune.jobfile.tree import Entry
from leantune.lab.replay.tables.description import Description, ProblemText, Remark, check_metric
from leantune.lab.replay.tables.pairs import TablePairs
from leantune.problem import COST, TIME, Constraint, Problem

_MEDIAN = re.compile(r"\s*(?P<metric>[^\s<>=@!≤≥]+)\s*(?P<sign><=|>=|≤|≥)\s*median\s*(?P<sure>@.*)?")
_UNIT = {COST: " USD", TIME: " s"}


def state(stated: ProblemText, description: Description, pairs: TablePairs) -> tuple[Problem, list[Remark]]:
    """The problem without a budget, and what its medians are."""
    remarks: list[Remark] = []
    limits = [_limit(entry, description, pairs, remarks) for entry in stated.limits]
    for entry, metric in (
        (stated.goal_entry, stated.goal.metric),
        *zip(stated.limits, (limit.metric for limit in limits), strict=True),
    ):
        if metric == COST and not pairs.has_dollars:
            raise entry.error("this needs dollars, and the table gives none", "Add usd_per_hour: or cost:")
    try:
        problem = Problem(
            pairs.space,
            stated.goal,
            limits,
            pairs.fractions,
            snapshots=description.snapshots,
            fidelity=description.fidelity,
            gaps=pairs.gaps,
        )
    except ProblemError as error:  # each part was checked: what is left are limits that do not go together
        at_fault = stated.limits[-1] if stated.limits else stated.goal_entry
        raise at_fault.error(f"{error.what}: {error.where}", error.job_hint) from None
    return problem, remarks


def _limit(entry: Entry, description: Description, pairs: TablePairs, remarks: list[Remark]) -> Constraint:
    text = entry.text("Write a limit, such as cost <= 0.10 USD")
    match = _MEDIAN.fullmatch(text)
    if match is not None:
        metric = match["metric"]
        check_metric(metric, description.metrics, entry)
        middle, count = _median(metric, pairs, entry)
        remarks.append(
            Remark(
                "median", count, f"the median {metric} of {count} full-data runs is {middle:g}{_UNIT.get(metric, '')}"
            )
        )
        text = f"{metric} {match['sign']} {middle!r}{_UNIT.get(metric, '')} {match['sure'] or ''}".rstrip()
    with entry.blamed(f"{text!r}: "):
        constraint = Constraint.parse(text)
    check_metric(constraint.metric, description.metrics, entry)
    return constraint


def _median(metric: str, pairs: TablePairs, entry: Entry) -> tuple[float, int]:
    runs = [{**run.metrics, TIME: run.seconds, COST: run.cost} for run in pairs.at_full_data]
    values = [value for run in runs if (value := run[metric]) is not None]
    if not values:
        raise entry.error(f"there is no median {metric}: no run on all the data has one", "Write a number")
    return median(values), len(values)
