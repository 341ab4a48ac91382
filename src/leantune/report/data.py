"""The data of a report, and values computed from it alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from leantune.history import Estimate, History, NoteKind, Observation, ObservationKind, Trial, TrialKind, TrialState
from leantune.problem import COST, TIME, At, Constraint, Direction, Problem
from leantune.space import Configuration
from leantune.store.rows import LedgerRow, Money, ReportRow
from leantune.strategies.baseline import Comparison
from leantune.strategies.evidence import Evidence
from leantune.strategies.proposals import Recommendation
from leantune.strategies.recommending import excess
from leantune.units import SECONDS_PER_HOUR

INTERVAL = 1.96  # standard deviations on either side: 95 % of a Gaussian


class ResultOutcome(StrEnum):
    """A result's outcome for the limits. Limits are for answers: a run on a part of the data decides nothing."""

    KEPT = "kept"
    BROKE = "broke"
    PART = "part"
    FAILED = "failed"


@dataclass(frozen=True)
class StudyResult:
    """One observation. spent, trained: dollars and seconds of all trials that had ended when its trial did."""

    index: int
    trial: Trial
    seen: Observation
    outcome: ResultOutcome
    spent: float
    trained: float

    def value(self, metric: str) -> float:
        """The observed value; NaN where unknown."""
        return self.seen.value(metric)

    @property
    def is_bound(self) -> bool:
        """Whether its seconds and dollars are only lower bounds."""
        return self.seen.kind is not ObservationKind.MEASURED


@dataclass(frozen=True)
class StudyView:
    """A study at one moment.

    why_no_recommendation: the sentence for the reader when `recommendation` is None. stop_reason: None while the study
    can go on. verification: number of the trial that ran the recommendation to check it, if there was one. comparison:
    of the recommendation with the user's present setting, if there is one.
    """

    name: str
    problem: Problem
    history: History
    strategy: str
    seed: int
    recommendation: Recommendation | None
    why_no_recommendation: str
    stop_reason: str | None
    ledger: Sequence[LedgerRow]
    money: Money
    reports: Sequence[ReportRow]
    created: float
    leantune_version: str
    verification: int | None = None
    comparison: Comparison | None = None

    @cached_property
    def results(self) -> tuple[StudyResult, ...]:
        """Every observation in the order in which the trials ended."""
        results: list[StudyResult] = []
        spent = trained = 0.0
        for trial in sorted(self.history.finished, key=lambda trial: (trial.moves[-1].time, trial.number)):
            spent += trial.cost
            trained += trial.seconds
            for seen in trial.results:
                results.append(StudyResult(len(results), trial, seen, outcome_of(self.problem, seen), spent, trained))
        return tuple(results)

    @cached_property
    def dollars_follow_seconds(self) -> bool:
        """Whether a prediction of dollars is one of seconds, and the other way round."""
        return bool(self.results) and Evidence.of(self.problem, self.history).dollars_follow_seconds

    @property
    def has_dollars(self) -> bool:
        """Whether the study costs dollars."""
        return self.problem.space.has_prices or self.history.cost > 0 or self.money.budget_usd is not None

    def recommends(self, trial: Trial) -> bool:
        """Whether a trial tested the recommended configuration."""
        return self.recommendation is not None and trial.configuration.id == self.recommendation.configuration.id

    @cached_property
    def proof(self) -> tuple[Trial, Observation] | None:
        """The run that measured the recommended pair itself: the verification, else the last one."""
        best = self.recommendation
        if best is None:
            return None
        runs = [
            (trial, seen)
            for trial, seen in self.history.observations
            if self.recommends(trial) and seen.fraction == best.fraction and seen.kind is not ObservationKind.FAILED
        ]
        return max(runs, key=lambda pair: (pair[0].number == self.verification, pair[0].number), default=None)

    @cached_property
    def verified(self) -> Trial | None:
        """The verification of the current recommendation, in any state."""
        trial = None if self.verification is None else self.history.trial(self.verification)
        return trial if trial is not None and self.recommends(trial) else None

    def estimate(self, estimates: Mapping[str, Estimate], metric: str, configuration: Configuration) -> Estimate | None:
        """A prediction; dollars from seconds or seconds from dollars where one is the other times the rate."""
        rate = configuration.usd_per_hour
        if metric in estimates or not self.dollars_follow_seconds or not rate:
            return estimates.get(metric)
        other = {COST: TIME, TIME: COST}.get(metric)
        if other is None or other not in estimates:
            return None
        factor = rate / SECONDS_PER_HOUR if metric == COST else SECONDS_PER_HOUR / rate
        return Estimate(estimates[other].mean * factor, estimates[other].sd * factor)

    def predicted(self, metric: str) -> Estimate | None:
        """The models' prediction for the recommendation."""
        best = self.recommendation
        return None if best is None else self.estimate(best.metrics, metric, best.configuration)

    def measured(self, metric: str) -> float:
        """The measured value of the recommendation's run; NaN where unknown."""
        return math.nan if self.proof is None else self.proof[1].value(metric)

    def cut_short(self, metric: str) -> bool:
        """Whether that is only a lower bound of dollars or seconds, which proves nothing."""
        proof = self.proof
        return proof is not None and proof[1].kind is ObservationKind.CENSORED and metric in (COST, TIME)

    def holds(self, limit: Constraint) -> bool:
        """Whether the run of the recommendation proved to keep a limit."""
        return limit.holds(self.measured(limit.metric)) and not self.cut_short(limit.metric)

    @property
    def metrics(self) -> list[str]:
        """The metrics of a run to show: the goal, limited metrics, dollars and seconds."""
        limits = (limit.metric for limit in self.problem.constraints)
        return list(dict.fromkeys([self.problem.goal.metric, *limits, COST, TIME]))


def outcome_of(problem: Problem, seen: Observation) -> ResultOutcome:
    """Only answers keep or break limits: results at full data, or all results where the goal lies anywhere."""
    if seen.kind is ObservationKind.FAILED:
        return ResultOutcome.FAILED
    if problem.goal.at is At.FULL and seen.fraction != 1:
        return ResultOutcome.PART
    return ResultOutcome.KEPT if excess(problem, seen) == 0.0 else ResultOutcome.BROKE


def best_so_far(view: StudyView) -> list[tuple[StudyResult, float]]:
    """The results that improved on all earlier ones that kept the limits, with their values of the goal."""
    sign = -1.0 if view.problem.goal.direction is Direction.MINIMIZE else 1.0
    steps: list[tuple[StudyResult, float]] = []
    best = -math.inf
    for result in view.results:
        value = result.value(view.problem.goal.metric)
        if result.outcome is ResultOutcome.KEPT and sign * value > best:
            best = sign * value
            steps.append((result, value))
    return steps


def lost_dollars(trial: Trial) -> float:
    """Dollars of attempts that were revoked, lost or taken off, as far as no checkpoint saved them."""
    broken_off = math.fsum(move.dollars for move in trial.moves if move.state in BROKEN_OFF)
    return max(0.0, broken_off - trial.resumed_dollars)


BROKEN_OFF = (TrialState.REVOKED, TrialState.LOST, TrialState.QUEUED)  # how an attempt ends that is made again


def spending(view: StudyView) -> dict[str, float]:
    """Where the dollars of all trials went; the parts add up to `History.cost`."""
    parts = dict.fromkeys(SPENDING, 0.0)
    for trial in view.history.trials:
        lost = lost_dollars(trial)
        parts["lost"] += lost
        parts[_purpose(view, trial)] += trial.cost - lost
    return parts


# of data, or of epochs
SPENDING: Mapping[str, str] = {
    "full": "Runs on all {}",
    "part": "Runs on parts of the {}",
    "verification": "Verification run",
    "failed": "Failed runs",
    "stopped": "Runs that were stopped early",
    "lost": "Attempts that were lost or revoked",
}


def _purpose(view: StudyView, trial: Trial) -> str:
    if trial.state is TrialState.FAILED:
        return "failed"
    if trial.state is TrialState.STOPPED:
        return "stopped"
    if trial.number == view.verification:
        return "verification"
    return "full" if trial.fraction == 1 else "part"


_ORIGIN_BY_KIND = {TrialKind.VERIFICATION: "the verification", TrialKind.ENQUEUED: "you (enqueued)"}
_ORIGIN_BY_NOTE = {  # the first that a trial's notes have
    NoteKind.FALLBACK: "a fallback",
    NoteKind.BASELINE: "you (baseline)",
    NoteKind.START: "the strategy's start",
    NoteKind.MODELS: "the models",
    NoteKind.FAVOURITE: "the models",
    NoteKind.RANDOM: "chance",
}


def origins(view: StudyView) -> dict[str, int]:
    """Trials by origin: a trial's kind decides, else its notes."""
    counts: Counter[str] = Counter()
    for trial in view.history.trials:
        kinds = {note.kind for note in trial.notes}
        origin = next((words for kind, words in _ORIGIN_BY_NOTE.items() if kind in kinds), "elsewhere")
        kind = TrialKind.VERIFICATION if trial.number == view.verification else trial.kind
        counts[_ORIGIN_BY_KIND.get(kind, origin)] += 1
    return dict(counts.most_common())
