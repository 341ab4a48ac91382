"""A run of the recommendation on all the data, and whether the limits held. Pure: `Study.verify` has it run."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from leantune.history import History, Note, NoteKind, Observation, Trial, TrialKind, TrialState
from leantune.problem import At, Problem
from leantune.run.ledger import TimeRules
from leantune.space import Configuration
from leantune.store.rows import Money
from leantune.strategies.proposals import Recommendation


@dataclass(frozen=True)
class LimitCheck:
    """A limit, what the verifying run measured, and whether it held."""

    text: str
    value: float
    held: bool


@dataclass(frozen=True)
class Verification:
    """One full-data run of the recommendation, and whether the limits held; failed: why it brought no result."""

    recommendation: Recommendation
    trial: Trial
    measured: Observation | None
    limits: tuple[LimitCheck, ...]
    failed: str = ""

    @classmethod
    def of(cls, problem: Problem, recommended: Recommendation, trial: Trial) -> Verification:
        """What a verifying run that has ended shows."""
        if trial.state is not TrialState.DONE:
            return cls(recommended, trial, None, (), trial.moves[-1].cause)
        return cls(recommended, trial, trial.observations[-1], limit_checks(problem, trial))

    @property
    def held(self) -> bool:
        """Whether the run succeeded and kept every limit."""
        return not self.failed and all(limit.held for limit in self.limits)


def limit_checks(problem: Problem, trial: Trial) -> tuple[LimitCheck, ...]:
    """Which limits a trial that succeeded has kept."""
    values = [(limit, trial.observations[-1].value(limit.metric)) for limit in problem.constraints]
    return tuple(LimitCheck(limit.text, value, limit.holds(value)) for limit, value in values)


def latest_verification(history: History) -> Trial | None:
    """The latest finished run that was to verify a recommendation."""
    runs = (trial for trial in reversed(history.trials) if trial.verifies)
    return next((trial for trial in runs if not trial.pending), None)


def standing_verification(problem: Problem, history: History) -> Trial | None:
    """The latest trial of all, if it verified a recommendation and kept the limits."""
    latest = (trial for trial in history.trials[-1:] if trial.verifies and trial.state is TrialState.DONE)
    return next((trial for trial in latest if all(check.held for check in limit_checks(problem, trial))), None)


def unfinished_verification(history: History, configuration: Configuration) -> Trial | None:
    """A verifying run of the configuration that was interrupted."""
    pending = (trial for trial in history.pending if trial.verifies)
    return next((trial for trial in pending if trial.configuration == configuration), None)


def verifying_trial(
    problem: Problem, history: History, recommended: Recommendation, rules: TimeRules, money: Money, now: float
) -> Trial:
    """A new verifying trial: at full data, or where the goal is sought at any share, at the recommended one."""
    configuration, expected = recommended.configuration, recommended.metrics
    limit = rules.first_limit(rules.rate(configuration), dict(expected), money)
    share = recommended.fraction if problem.goal.at is At.ANYWHERE else Fraction(1)
    notes, kind = (Note(NoteKind.PLAIN, "verification of the recommendation"),), TrialKind.VERIFICATION
    return history.propose(configuration, share, time=now, notes=notes, expected=expected, time_limit=limit, kind=kind)[
        1
    ]
