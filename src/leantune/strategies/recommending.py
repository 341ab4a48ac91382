"""Turns an incumbent into a recommendation in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from leantune.acquisition.base import Belief, Conditions
from leantune.errors import StudyOver
from leantune.history import Estimate, History, Note, NoteKind, Observation, ObservationKind, Trial
from leantune.problem import COST, TIME, At, Constraint, Direction, Problem
from leantune.strategies.beliefs import expectations
from leantune.strategies.candidates import Table
from leantune.strategies.proposals import GoalBelief, Recommendation
from leantune.strategies.recipe import Incumbent
from leantune.text import at_full


def recommendation_at(
    table: Table, belief: Belief, conditions: Conditions, row: int, qualified: bool, incumbent: Incumbent
) -> Recommendation:
    """The configuration in `row` at full data, with its predictions."""
    problem = table.problem
    where = np.array([row])
    beliefs = belief.at_full(where)
    metrics = expectations(belief, conditions.cost, beliefs, row)
    probabilities = {
        constraint.text: float(limit.probability(beliefs[limit.quantity], where)[0])
        for constraint, limit in zip(problem.constraints, conditions.user_limits, strict=True)
    }
    configuration = table.configurations[row]
    tested = _measured_fractions(table.history, configuration.id)
    goal = metrics[problem.goal.metric]
    why = f"{best_word(problem)} predicted {problem.goal.metric} {at_full(problem.fidelity)}, {goal}"
    notes: tuple[Note, ...] = ()
    if problem.constraints and incumbent.constrained:
        meeting = int(conditions.rule.qualifies(belief.full_beliefs, belief.everything).sum())
        if qualified:
            total = len(belief.everything)
            why += f", among the {meeting} of {total} configurations that meet the limits as surely as asked"
        else:
            why = f"No configuration meets the limits as surely as asked; the best compromise, with {goal}"
            notes = (Note(NoteKind.FALLBACK, "nothing qualifies; the largest constrained expected accuracy"),)
    feasible = qualified
    if not incumbent.constrained:
        feasible = bool(belief.feasibility(beliefs, where)[0] >= incumbent.probability)
    return Recommendation(
        configuration,
        Fraction(1),
        metrics,
        probabilities,
        feasible,
        Fraction(1) in tested,
        f"{why}; {_tested_words(problem, tested)}.",
        (*notes, *table.notes),
        GoalBelief(belief.objective.transform, float(beliefs[0].mean[0]), float(beliefs[0].sd[0])),
        tested[-1] if tested else None,
    )


def required(recommendation: Recommendation | None) -> Recommendation:
    """The recommendation; StudyOver where there is none yet."""
    if recommendation is None:
        raise StudyOver(
            "there is nothing to recommend yet", where="recommendation", hint="Tell at least one result first"
        )
    return recommendation


def cheapest_measured(problem: Problem, history: History) -> Recommendation | None:
    """The best tested pair whose measured values meet the limits; none: the nearest to them (thesis Alg. 2, line 9).

    Also the answer of strategies without models. Distance from the limits: sum of relative excesses. None before the
    first result.
    """
    tested = _successes(history)
    answering = [(trial, seen) for trial, seen in tested if answers(problem, seen.fraction)]
    return best_measured(problem, answering or tested) if tested else None


def answers(problem: Problem, fraction: Fraction) -> bool:
    """Whether a result at that share may be an answer: on all data, or anywhere where the goal is sought there."""
    return fraction == 1 or problem.goal.at is At.ANYWHERE


def best_result(problem: Problem, history: History) -> tuple[Trial, Observation] | None:
    """The best result that answers the problem and keeps all limits; else the result nearest to that."""
    tested = _successes(history)
    return _best(problem, tested) if tested else None


def _successes(history: History) -> list[tuple[Trial, Observation]]:
    return [(trial, seen) for trial, seen in history.observations if seen.kind is not ObservationKind.FAILED]


def _best(problem: Problem, tested: Sequence[tuple[Trial, Observation]]) -> tuple[Trial, Observation]:
    sign = 1.0 if problem.goal.direction is Direction.MINIMIZE else -1.0

    def order(row: tuple[Trial, Observation]) -> tuple[bool, float, float, int]:
        trial, seen = row
        value = sign * seen.value(problem.goal.metric)
        return not answers(problem, seen.fraction), excess(problem, seen), value, trial.number

    return min(tested, key=order)


def best_measured(problem: Problem, tested: Sequence[tuple[Trial, Observation]]) -> Recommendation:
    """The best of these results, at least one, that meets the limits; none: the nearest to them."""
    trial, seen = _best(problem, tested)
    feasible = excess(problem, seen) == 0.0
    names = dict.fromkeys([problem.goal.metric, *(c.metric for c in problem.constraints), *seen.metrics])
    metrics = {name: Estimate(seen.value(name), 0.0) for name in names if np.isfinite(seen.value(name))}
    meeting = sum(excess(problem, result) == 0.0 for _, result in tested)
    those = (
        f"the {meeting} of {len(tested)} results that meet the limits"
        if problem.constraints
        else f"{len(tested)} results"
    )
    words = f"{best_word(problem)} measured {problem.goal.metric} among {those}."
    why = words if feasible else "No result met the limits; this one came nearest to them."
    notes = () if feasible else (Note(NoteKind.FALLBACK, "no measured result meets the limits"),)
    held = {c.text: float(_holds(c, seen)) for c in problem.constraints}
    share = seen.fraction
    return Recommendation(trial.configuration, share, metrics, held, feasible, True, why, notes, largest_share=share)


def excess(problem: Problem, seen: Observation) -> float:
    """How far the measured values are from the limits, relative to them; 0 when all hold. A bound proves nothing, and
    an unknown value is infinitely far.
    """
    total = 0.0
    for constraint in problem.constraints:
        if not _holds(constraint, seen):
            distance = abs(seen.value(constraint.metric) - constraint.limit) / max(abs(constraint.limit), 1e-12)
            total += math.inf if math.isnan(distance) else max(distance, 1e-9)
    return total


def _holds(constraint: Constraint, seen: Observation) -> bool:
    bound_only = seen.kind is ObservationKind.CENSORED and constraint.metric in (COST, TIME) and constraint.upper
    return constraint.holds(seen.value(constraint.metric)) and not bound_only


def _measured_fractions(history: History, configuration_id: str) -> list[Fraction]:
    return sorted(
        {
            seen.fraction
            for trial, seen in history.observations
            if trial.configuration.id == configuration_id and seen.kind is not ObservationKind.FAILED
        }
    )


def best_word(problem: Problem) -> str:
    """Which end of the goal's metric is the better one."""
    return "Smallest" if problem.goal.direction is Direction.MINIMIZE else "Largest"


def _tested_words(problem: Problem, tested: list[Fraction]) -> str:
    full = at_full(problem.fidelity)
    if not tested:
        return "it was not tested itself"
    if tested[-1] == 1:
        return f"it was tested {full}"
    return f"it was tested up to {tested[-1]} of the {problem.fidelity}, not {full}"
