"""The user's present setting: tested first, and compared with the best configuration.

Tested on all data, unless a run that just keeps the limits would not fit into what is left of the budget: a full run
may take at most c dollars and t seconds (the limits on cost and time, each as the other by the machine's rate), so that

    s = the largest share with s c <= dollars left and s t <= seconds left;   the least share where there is none

With neither limit nothing is known beforehand, and s = 1. Any run of the setting at s or above counts:
so the answer is a function of problem and history, and neither a kill nor a second worker tests it twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

from leantune.history import Estimate, History, Note, NoteKind, Observation, ObservationKind, Trial, TrialState
from leantune.problem import COST, TIME, Constraint, Direction, Problem
from leantune.space import Configuration
from leantune.strategies.proposals import Proposal
from leantune.strategies.recommending import answers
from leantune.strategies.tuner import Over, Tuner, View, Wait
from leantune.text import clipped, limit_text, listed, quantity, share_of_data
from leantune.units import SECONDS_PER_HOUR

_LONGEST_CAUSE = 200
Affordable = Callable[[Proposal], bool]


def next_test(tuner: Tuner, view: View, affordable: Affordable = lambda _test: True) -> Proposal | Wait | Over:
    """The next test of a study: the user's setting first, if there is one and it can be paid; then what the tuner asks
    for.
    """
    own = baseline_test(view.problem, view.history)
    if own is not None and tuner.stop_reason(view) is None and affordable(own):
        return own
    return tuner.ask(view)


def baseline_test(problem: Problem, history: History) -> Proposal | None:
    """The test of the user's setting; None where there is none, or it has its run."""
    setting = problem.baseline
    if setting is None:
        return None
    share = _affordable_share(problem, history, setting)
    if any(trial.configuration == setting and trial.fraction >= share for trial in history.trials):
        return None
    words = "your present setting"
    if share != 1:
        where = share_of_data(share, problem.fidelity)
        words += f", on {where}: a full run that just keeps the limits does not fit into the budget"
    passed = tuple(fraction for fraction in problem.fractions if fraction <= share)
    return Proposal(setting, share, passed if problem.snapshots else (share,), {}, (Note(NoteKind.BASELINE, words),))


def _affordable_share(problem: Problem, history: History, setting: Configuration) -> Fraction:
    """See the module."""
    rate = setting.usd_per_hour
    upper = {limit.metric: limit.limit for limit in problem.constraints if limit.upper}
    dollars, seconds = upper.get(COST, math.inf), upper.get(TIME, math.inf)
    if rate:
        hourly = rate / SECONDS_PER_HOUR
        dollars, seconds = min(dollars, seconds * hourly), min(seconds, dollars / hourly)
    budget, largest = problem.budget, 1.0
    if budget.usd is not None and dollars < math.inf:
        largest = min(largest, (budget.usd - history.cost) / dollars)
    if budget.hours is not None and seconds < math.inf:
        largest = min(largest, (budget.hours * SECONDS_PER_HOUR - history.seconds) / seconds)
    return max((share for share in problem.fractions if share <= largest), default=problem.fractions[0])


class Basis(StrEnum):
    """The basis of a comparison with the user's setting."""

    UNTESTED = "untested"  # it has no result yet
    FAILED = "failed"  # it failed or was stopped
    SAME = "same"  # it is itself what is compared with it
    PART = "part"  # it was measured on a part of the data only
    MEASURED = "measured"  # it was measured where an answer may lie


@dataclass(frozen=True)
class Comparison:
    """Some configuration compared with the user's setting (the baseline).

    trial: the last one of the baseline. fraction, metrics: where it was measured, and what, cost and time among them;
    means where it was measured several times. broken: the limits that it did not keep, where it was measured as an
    answer. gain: by how much the other's goal is better, None where unknown. saved_usd, saved_seconds: by how much
    a run of the other is cheaper and shorter. predicted: whether the other was not measured at that share itself.
    words: one sentence for the user.
    """

    configuration: Configuration
    basis: Basis
    words: str
    trial: int | None = None
    fraction: Fraction | None = None
    metrics: Mapping[str, float] | None = None
    broken: tuple[str, ...] = ()
    gain: float | None = None
    saved_usd: float | None = None
    saved_seconds: float | None = None
    predicted: bool = False


def compared(
    problem: Problem,
    history: History,
    configuration: Configuration,
    fraction: Fraction,
    estimates: Mapping[str, Estimate],
) -> Comparison | None:
    """A configuration beside the user's setting; None where that is not known.

    estimates: what is said of the configuration at `fraction`, measured or predicted. Where it was measured at the
    share of the baseline itself, that counts.
    """
    setting = problem.baseline
    if setting is None:
        return None
    runs = [trial for trial in history.trials if trial.configuration == setting]
    number = runs[-1].number if runs else None
    share, seen = _measured(runs)
    own, whole = _means(seen), share is not None and answers(problem, share)
    broken = [limit for limit in problem.constraints if whole and not limit.holds(own.get(limit.metric, math.nan))]
    if configuration == setting:
        words = f"Your present setting is the best that was found{_caveats(problem, share, own, broken)}."
        texts = tuple(limit.text for limit in broken)
        return Comparison(setting, Basis.SAME, words, number, share, own or None, texts)
    if share is None:
        return _without_result(setting, runs)
    tested = [trial for trial in history.trials if trial.configuration == configuration]
    other = _means(observation for trial in tested for observation in _sound(trial) if observation.fraction == share)
    predicted = False
    if not other and share == fraction:
        other = _with_dollars({name: estimate.mean for name, estimate in estimates.items()}, configuration)
        predicted = any(estimate.sd for estimate in estimates.values())
    gain = _difference(other, own, problem.goal.metric)
    comparison = Comparison(
        setting,
        Basis.MEASURED if whole else Basis.PART,
        "",
        number,
        share,
        own,
        tuple(limit.text for limit in broken),
        -gain if gain and problem.goal.direction is Direction.MINIMIZE else gain,
        _difference(own, other, COST),
        _difference(own, other, TIME),
        predicted,
    )
    return replace(comparison, words=_words(problem, comparison, other, _caveats(problem, share, own, broken)))


def _without_result(setting: Configuration, runs: list[Trial]) -> Comparison:
    """The setting has not been run, runs, or failed or was stopped."""
    if not runs:
        return Comparison(setting, Basis.UNTESTED, "Your present setting was not tested: nothing to compare with.")
    last = runs[-1]
    if last.pending:
        return Comparison(setting, Basis.UNTESTED, "Your present setting has no result yet.", last.number)
    how = "failed" if last.state is TrialState.FAILED else "was stopped"
    cause = clipped(last.moves[-1].cause, _LONGEST_CAUSE)
    words = f"Your present setting {how} when it was tested (trial {last.number}): {cause}"
    return Comparison(setting, Basis.FAILED, words, last.number)


def _sound(trial: Trial) -> list[Observation]:
    return [seen for seen in trial.results if seen.kind is not ObservationKind.FAILED]


def _measured(runs: Iterable[Trial]) -> tuple[Fraction | None, list[Observation]]:
    """The largest share at which there is a result, and all results there."""
    seen = [observation for trial in runs for observation in _sound(trial)]
    share = max((observation.fraction for observation in seen), default=None)
    return share, [observation for observation in seen if observation.fraction == share]


def _means(seen: Iterable[Observation]) -> dict[str, float]:
    """Of every metric; dollars and seconds of runs that were cut are bounds, and left out."""
    values: dict[str, list[float]] = {}
    for observation in seen:
        names = list(observation.metrics)
        names += [COST, TIME] if observation.kind is ObservationKind.MEASURED else []
        for name in names:
            if math.isfinite(observation.value(name)):
                values.setdefault(name, []).append(observation.value(name))
    return {name: math.fsum(numbers) / len(numbers) for name, numbers in values.items()}


def _with_dollars(metrics: dict[str, float], configuration: Configuration) -> dict[str, float]:
    """Dollars from seconds, and seconds from dollars, where the machine has a price."""
    rate = configuration.usd_per_hour
    if rate and TIME in metrics:
        metrics.setdefault(COST, metrics[TIME] * rate / SECONDS_PER_HOUR)
    elif rate and COST in metrics:
        metrics[TIME] = metrics[COST] / rate * SECONDS_PER_HOUR
    return metrics


def _difference(these: Mapping[str, float], those: Mapping[str, float], name: str) -> float | None:
    return these[name] - those[name] if name in these and name in those else None


def _words(problem: Problem, comparison: Comparison, other: Mapping[str, float], caveats: str) -> str:
    goal, own = problem.goal.metric, comparison.metrics or {}
    value = f"{clipped(goal)} {quantity(goal, own.get(goal, math.nan))}"
    if comparison.gain is None:
        where = share_of_data(comparison.fraction or Fraction(1), problem.fidelity)
        return f"Your present setting was tested on {where} only ({value}): no comparison is possible."
    better = "better" if comparison.gain > 0 else "worse"
    verdict = f"{better} than your setting by {quantity(goal, abs(comparison.gain))}"
    if comparison.gain == 0:
        verdict = "as good as your setting"
    if goal != COST:
        verdict += _price(comparison)
    words = f"Predicted to be {verdict}" if comparison.predicted else f"{verdict[0].upper()}{verdict[1:]}"
    return f"{words} (yours: {value}, against {quantity(goal, other[goal])}){caveats}."


def _caveats(problem: Problem, share: Fraction | None, own: Mapping[str, float], broken: list[Constraint]) -> str:
    """Caveats about the user's setting: that it was tested on a part only, and the limits that it broke."""
    words = ""
    if share is not None and not answers(problem, share):
        words += f", on {share_of_data(share, problem.fidelity)}; yours was not tested on more"
    if broken:
        shown = (f"{limit_text(limit)} ({quantity(limit.metric, own.get(limit.metric, math.nan))})" for limit in broken)
        words += f"; yours broke {listed(shown)}"
    return words


def _price(comparison: Comparison) -> str:
    """The difference in dollars a run; in time where runs are free."""
    metric, amount = (TIME, comparison.saved_seconds) if comparison.saved_usd is None else (COST, comparison.saved_usd)
    if amount is None:
        return ""
    preposition = "for" if metric == COST else "in"
    return f", {preposition} {quantity(metric, abs(amount))} {'less' if amount >= 0 else 'more'} a run"
