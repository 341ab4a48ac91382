"""The answer on top of the page: the configuration to use, its quality, its cost, and their certainty."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from leantune.history import NoteKind, ObservationKind, TrialState, counted_notes
from leantune.problem import COST, TIME, At, Constraint, Direction
from leantune.report.data import INTERVAL, StudyView, best_so_far, spending
from leantune.report.html import Tile
from leantune.space import Cluster, Configuration
from leantune.strategies.recommending import excess
from leantune.text import (
    certain,
    clipped,
    counted,
    duration,
    estimated,
    limit_text,
    listed,
    quantity,
    share_of_data,
    spread,
    usd,
    value_text,
)

_LONGEST_HEADLINE = 90


class AnswerState(StrEnum):
    """The basis of the recommendation."""

    VERIFIED = "verified"
    MEASURED = "measured"
    PREDICTED = "predicted"
    UNSURE = "unsure"
    BROKEN = "broken"
    NONE = "none"


_BEGIN = {
    AnswerState.UNSURE: "Best compromise:",
    AnswerState.BROKEN: "Not within the limits:",
    AnswerState.NONE: "No recommendation yet",
}


@dataclass(frozen=True)
class Conclusion:
    """The top of the page: the answer in twenty seconds."""

    state: AnswerState
    headline: str
    sentence: str
    tiles: tuple[Tile, ...]
    cautions: tuple[str, ...]


def conclusion_of(view: StudyView) -> Conclusion:
    """The conclusion of a study."""
    state = _state(view)
    best = view.recommendation
    headline = _BEGIN.get(state, "Use")
    if best is not None:
        part = "" if best.fraction == 1 else f", trained on {share_of_data(best.fraction, view.problem.fidelity)}"
        headline += f" {_configuration_words(best.configuration)}{part}"
    cautions = tuple(_cautions(view, state))
    sentence = _sentence(view, state)
    if view.comparison is not None:
        sentence += f" {view.comparison.words}"
    return Conclusion(state, headline, sentence, tuple(_tiles(view)), cautions)


def question(view: StudyView) -> str:
    """The problem in one sentence."""
    goal = view.problem.goal
    aim = "smallest" if goal.direction is Direction.MINIMIZE else "largest"
    shares = view.problem.fidelity
    where = f"at any share of the {shares}" if goal.at is At.ANYWHERE else f"on all {shares}"
    limits = listed(limit_text(c) for c in view.problem.constraints)
    kept = f", while one run keeps {limits}" if limits else ""
    return f"Wanted: the {aim} {clipped(goal.metric)} {where}{kept}."


def _configuration_words(configuration: Configuration) -> str:
    """The cluster first, because it is what is paid for; many settings are left to the table."""
    machines = [value_text(value) for value in configuration.values() if isinstance(value, Cluster)]
    settings = [
        f"{clipped(name)} = {clipped(value_text(value))}"
        for name, value in configuration.items()
        if not isinstance(value, Cluster)
    ]
    words = " with ".join(filter(None, [*machines, ", ".join(settings)]))
    if len(words) <= _LONGEST_HEADLINE:
        return words
    return " with ".join([*map(clipped, machines), f"the {len(settings)} settings below"])


def _state(view: StudyView) -> AnswerState:
    best = view.recommendation
    if best is None:
        return AnswerState.NONE
    if view.proof is None:
        return AnswerState.PREDICTED if best.feasible else AnswerState.UNSURE
    if _broken(view):
        return AnswerState.BROKEN
    return AnswerState.VERIFIED if view.verified is view.proof[0] else AnswerState.MEASURED


def _broken(view: StudyView) -> list[Constraint]:
    """The limits that the run of the recommendation itself did not keep, or did not prove to keep."""
    if view.proof is None or excess(view.problem, view.proof[1]) == 0.0:
        return []
    return [limit for limit in view.problem.constraints if not view.holds(limit)]


def _sentence(view: StudyView, state: AnswerState) -> str:
    best = view.recommendation
    if best is None:
        return view.why_no_recommendation or "No result has come in yet."
    where, every = share_of_data(best.fraction, view.problem.fidelity), _all_limits(view)
    if view.proof is None:
        if state is AnswerState.UNSURE:
            return "No configuration is predicted to keep the limits as surely as asked; this is the best compromise."
        kept = f" to keep {every}" if every else ""
        return f"It is predicted{kept} from other runs; it was not yet run on {where} itself."
    trial = view.proof[0]
    run = f"its verification run (trial {trial.number})" if view.verified is trial else f"trial {trial.number}"
    if state is AnswerState.BROKEN:
        broken, count = _broken(view), len(view.problem.constraints)
        shown = listed(f"{_measured_words(view, limit)}, where {limit_text(limit)} was asked" for limit in broken)
        broke = "the limit" if count == 1 else f"{len(broken)} of {count} limits"
        return f"It was measured on {where} in {run} and broke {broke}: {shown}."
    kept = f" and kept {every}" if every else ""
    return f"It was measured on {where} in {run}{kept}."


def _measured_words(view: StudyView, limit: Constraint) -> str:
    least = "at least " if view.cut_short(limit.metric) else ""
    return f"{clipped(limit.metric)} was {least}{quantity(limit.metric, view.measured(limit.metric))}"


def _all_limits(view: StudyView) -> str:
    count = len(view.problem.constraints)
    return {0: "", 1: "the limit", 2: "both limits"}.get(count, f"all {count} limits")


def _tiles(view: StudyView) -> Iterator[Tile]:
    """The goal, every limit, cost and time of a run, and what the study took."""
    if view.recommendation is not None:
        yield from filter(None, (_metric_tile(view, metric) for metric in view.metrics))
    yield _study_tile(view)


def _metric_tile(view: StudyView, metric: str) -> Tile | None:
    predicted = view.predicted(metric)
    measured = view.measured(metric)
    is_measured = math.isfinite(measured)
    if not is_measured and predicted is None:
        return None
    value = measured if is_measured or predicted is None else predicted.mean
    limits = [limit for limit in view.problem.constraints if limit.metric == metric]
    sd = 0.0 if predicted is None else predicted.sd
    details = ["measured" if is_measured else f"predicted, {spread(metric, sd)}" if sd else "predicted"]
    details += [_limit_detail(view, limit, is_measured) for limit in limits]
    if is_measured and predicted is not None and sd:
        details.append(f"predicted: {estimated(metric, predicted)}")
    upper = next((limit.limit for limit in limits if limit.upper and limit.limit > 0), None)
    good = all(view.holds(limit) if is_measured else limit.holds(value) for limit in limits)
    filled = None if upper is None else value / upper
    return Tile(_label(view, metric), quantity(metric, value), tuple(details), filled=filled, good=good)


def _label(view: StudyView, metric: str) -> str:
    goal = view.problem.goal
    name = {COST: "cost of one training run", TIME: "time of one training run"}.get(metric, clipped(metric))
    aim = "lower" if goal.direction is Direction.MINIMIZE else "higher"
    return f"{name} ({aim} is better)" if metric == goal.metric else name


def _limit_detail(view: StudyView, limit: Constraint, measured: bool) -> str:
    best = view.recommendation
    assert best is not None
    text = f"limit: {'at most' if limit.upper else 'at least'} {quantity(limit.metric, limit.limit)}"
    if measured:
        return f"{text}, {'kept' if view.holds(limit) else 'not kept'}"
    sure = best.probabilities.get(limit.text)
    return text if sure is None else f"{text}, {certain(sure)} sure"


def _study_tile(view: StudyView) -> Tile:
    budget, money, count = view.problem.budget, view.money, len(view.history)
    trained = f"{duration(view.history.seconds)} of training" if view.history.seconds else ""
    details = tuple(filter(None, [counted(count, "trial"), trained]))
    if money.budget_usd is not None:
        share = money.spent / money.budget_usd
        of = f"of {usd(money.budget_usd)}"
        return Tile("spent on this study", usd(money.spent), details, of, share, share <= 1)
    if money.spent > 0:
        return Tile("spent on this study", usd(money.spent), details)
    filled = None if budget.trials is None else count / budget.trials
    of = "" if budget.trials is None else f"of {budget.trials:,}"
    return Tile("trials of this study", f"{count:,}", details[1:], of, filled)


def _cautions(view: StudyView, state: AnswerState) -> Iterator[str]:
    """Warnings for the reader, most important first."""
    best = view.recommendation
    if state in (AnswerState.PREDICTED, AnswerState.UNSURE):
        yield "A prediction is not a measurement: “leantune verify” runs it once and shows the result."
    if state is AnswerState.BROKEN:
        yield _best_within_limits(view)
    if best is not None and not best.feasible and state in (AnswerState.VERIFIED, AnswerState.MEASURED):
        yield "It kept the limits when it was measured, but the models are less sure of them than asked."
    outside = [clipped(metric) for metric in view.metrics if _outside_prediction(view, metric)]
    if outside:
        yield f"Measured {listed(outside)} lay outside of the predicted 95 % range: trust other predictions less."
    yield from _verification_cautions(view)
    if best is not None:
        yield from (f"Recommendation: {note}." for note in best.notes if note.kind is NoteKind.FALLBACK)
    waiting = len(view.history.pending)
    if waiting:
        yield f"{counted(waiting, 'trial')} {_by_count(waiting, 'is', 'are')} not finished: this is the study so far."
    yield from _cautions_about_money(view)
    fallbacks = sum(counted_notes(view.history, (NoteKind.FALLBACK,)).values())
    if fallbacks:
        count = f"{counted(fallbacks, 'proposal')} of {len(view.history):,}"
        yield f"{count} {_by_count(fallbacks, 'was a fallback', 'were fallbacks')}, listed under “How it was made”."


def _outside_prediction(view: StudyView, metric: str) -> bool:
    """Whether a full measurement contradicts what was predicted."""
    predicted = view.predicted(metric)
    if view.proof is None or predicted is None or predicted.sd == 0:
        return False
    whole = view.proof[1].kind is ObservationKind.MEASURED
    return whole and abs(view.measured(metric) - predicted.mean) > INTERVAL * predicted.sd


def _best_within_limits(view: StudyView) -> str:
    """The alternative when the recommendation itself broke a limit."""
    steps = best_so_far(view)
    if not steps:
        return "No run has kept every limit yet: raise the budget to go on searching, or loosen a limit."
    result, value = steps[-1]
    goal = view.problem.goal.metric
    worth = f"{clipped(goal)} {quantity(goal, value)}"
    return f"The best run that did keep every limit is trial {result.trial.number}: {worth}."


def _by_count(count: int, singular: str, plural: str) -> str:
    return singular if count == 1 else plural


def _verification_cautions(view: StudyView) -> Iterator[str]:
    if view.verification is None:
        return
    trial = view.history.trial(view.verification)
    if view.verified is None and view.recommendation is not None:
        yield f"Trial {trial.number} verified an earlier recommendation; the recommendation has changed since."
    elif trial.state is TrialState.FAILED:
        yield f"The verification run (trial {trial.number}) failed: {clipped(trial.moves[-1].cause, 200)}"
    elif trial.pending:
        yield f"The verification run (trial {trial.number}) is not finished."


def _cautions_about_money(view: StudyView) -> Iterator[str]:
    """Money without a result, and books that do not agree."""
    failed = sum(trial.state is TrialState.FAILED for trial in view.history.trials)
    parts = spending(view)
    if failed:
        cost = f" and cost {usd(parts['failed'])}" if parts["failed"] else ""
        yield f"{counted(failed, 'trial')} of {len(view.history):,} failed{cost}."
    if parts["lost"] > 0:
        yield f"Attempts that were lost or revoked cost {usd(parts['lost'])}."
    booked, added = view.money.spent, view.history.cost
    if view.ledger and abs(booked - added) > 1e-6 * max(booked, added):
        yield f"The ledger has {usd(booked)} and the trials add up to {usd(added)}: they should agree."
