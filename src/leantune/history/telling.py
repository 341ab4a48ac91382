"""Telling: the observation that a run's numbers make, checked."""

import math
from collections.abc import Mapping
from difflib import get_close_matches
from fractions import Fraction

import numpy as np

from leantune.errors import ObservationError
from leantune.history.observations import Observation, ObservationKind
from leantune.history.trials import Trial
from leantune.problem import COST, TIME, Problem

_BRINGS_NO_RESULT = (ObservationKind.FAILED, ObservationKind.PARTIAL)  # so that nothing is required of them


def observe(
    problem: Problem,
    trial: Trial,
    metrics: Mapping[str, float],
    *,
    seconds: float | None = None,
    cost: float | None = None,
    fraction: Fraction | None = None,
    kind: ObservationKind = ObservationKind.MEASURED,
    cause: str = "",
) -> Observation:
    """A checked observation of the trial at `fraction` (default: its largest share).

    cost = seconds / 3600 * the configuration's dollars per hour, unless it is told.
    """
    where = f"trial {trial.number}"
    kind = ObservationKind(kind)
    reported = {name: _finite(value, f"metric {name!r}", where) for name, value in metrics.items()}
    if kind is ObservationKind.FAILED and reported:
        raise ObservationError(
            f"a failed run cannot report {', '.join(reported)}", where=where, hint="Tell the metrics, or the failure"
        )
    _refuse_cost_and_time(reported, where)
    if kind not in _BRINGS_NO_RESULT:
        _require_metrics(problem, reported, where)
    seconds = None if seconds is None else _not_negative(seconds, "seconds", where)
    cost = _dollars(trial, seconds) if cost is None else _not_negative(cost, "cost", where)
    if kind not in _BRINGS_NO_RESULT:
        _require_price_and_time(problem, seconds, cost, where)
    share = trial.fraction if fraction is None else fraction
    if share not in trial.snapshots:
        known = ", ".join(str(snapshot) for snapshot in trial.snapshots)
        raise ObservationError(f"it does not report at the share {share}", where=where, hint=f"It reports at {known}")
    return Observation(share, kind, reported, seconds, cost, cause)


def _dollars(trial: Trial, seconds: float | None) -> float | None:
    rate = trial.configuration.usd_per_hour
    return None if rate is None or seconds is None else seconds / 3600.0 * rate


def _refuse_cost_and_time(reported: Mapping[str, float], where: str) -> None:
    for name in (COST, TIME):
        if name in reported:
            keyword = "cost=" if name == COST else "seconds="
            raise ObservationError(f"{name!r} is not a metric", where=where, hint=f"Tell it with {keyword}")


def _require_metrics(problem: Problem, reported: Mapping[str, float], where: str) -> None:
    for name in problem.required_metrics:
        if name not in reported:
            given = ", ".join(reported) or "nothing"
            close = get_close_matches(name, reported, n=1)
            hint = f"Did you mean {close[0]!r}? " if close else ""
            raise ObservationError(
                f"metric {name!r} was not reported",
                where=where,
                hint=f"{hint}The goal or a limit needs it; got {given}",
            )


def _require_price_and_time(problem: Problem, seconds: float | None, cost: float | None, where: str) -> None:
    if problem.needs_time and seconds is None:
        raise ObservationError("a time limit or goal needs seconds", where=where, hint="Tell seconds=")
    if problem.needs_cost and cost is None:
        hint = "Give the machines prices and tell seconds=, or tell cost="
        raise ObservationError(
            "the dollars of this run are unknown, and the problem is about dollars", where=where, hint=hint
        )


def _finite(value: object, name: str, where: str) -> float:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise ObservationError(f"{name} is {value!r}", where=where, hint="Report a number")
    if not math.isfinite(value):
        raise ObservationError(
            f"{name} is {value}", where=where, hint="Report a finite number, or tell the run as failed"
        )
    return float(value)


def _not_negative(value: object, name: str, where: str) -> float:
    number = _finite(value, name, where)
    if number < 0:
        raise ObservationError(f"{name} is {number}", where=where, hint="Tell a number of at least 0")
    return number
