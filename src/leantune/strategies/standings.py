"""The ranking of trials when the best are chosen to be trained to the end, and the choice.

A selection is carried out trial by trial, and the worker may die before it is complete. So it can be made again as it
was made: `until` is the moment up to which moves count. The first trial that was resumed at or after the proposal of
another one tells when the selection was that the other one took part in (`Census.selected_at`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain, compress, pairwise
from operator import is_not

from leantune.curves.base import CurvePredictor, Outlook, Prediction
from leantune.curves.selection import choose
from leantune.errors import StrategyError
from leantune.history import History, Trial, TrialState
from leantune.problem import Direction, Problem
from leantune.strategies.midway import TrainingSchedule, Turn, TurnKind, Walk
from leantune.strategies.tuner import View

NOW = math.inf
_OUT = Prediction(math.nan, math.inf, Outlook.DIVERGED)


class TrialEnding(StrEnum):
    """How a trial ended."""

    FINISHED = "finished"  # trained to the last step
    CONVERGED = "converged"
    DIVERGED = "diverged"
    NOT_SELECTED = "not selected"
    FAILED = "failed"
    STOPPED = "stopped"  # by another worker


_ENDINGS = {TurnKind.DIVERGED: TrialEnding.DIVERGED, TurnKind.CONVERGED: TrialEnding.CONVERGED}


@dataclass(frozen=True)
class TrialStanding:
    """The standing of a trial. prediction: of its end; sd 0 where it is measured. paused: it waits to be chosen."""

    number: int
    prediction: Prediction
    ending: TrialEnding | None = None
    paused: bool = False

    @property
    def out(self) -> bool:
        """Whether it brought no result and never will."""
        return self.ending not in (None, TrialEnding.FINISHED, TrialEnding.CONVERGED)


@dataclass(frozen=True)
class TrialRanking:
    """ranking: numbers of all trials, most promising first. going_on: those that are trained to the end, or were."""

    ranking: tuple[int, ...]
    going_on: frozenset[int]


def choose_among(standings: Sequence[TrialStanding], mcnt: int, *, maximize: bool) -> TrialRanking:
    """The best mcnt, results among them, and all that are not predictable; if all of these are out, all the paused."""
    predictions = [_OUT if standing.out else standing.prediction for standing in standings]
    selection = choose(predictions, mcnt, maximize=maximize)
    going_on = {standings[index].number for index in selection.chosen}
    if all(standings[index].out for index in selection.chosen):
        going_on |= {standing.number for standing in standings if standing.paused}
    return TrialRanking(tuple(standings[ranked.index].number for ranked in selection.ranking), frozenset(going_on))


def states_until(trial: Trial, until: float) -> list[TrialState]:
    """The states that it went through; at `until` itself no trial was resumed yet. Empty: it was not proposed yet."""
    if until == NOW:
        return [move.state for move in trial.moves]
    states: list[TrialState] = []
    for move in trial.moves:
        resumed = move.state is TrialState.QUEUED and bool(states) and states[-1] is TrialState.PAUSED
        if move.time > until or (resumed and move.time == until):
            break
        states.append(move.state)
    return states


class Census:
    """What the moves of a study's trials say: which are paused, which are live, and when one was last resumed.

    It is shown one history after the other, of the same study or not, and looks only at the trials that are new or
    other in each: there may be thousands of moves. Trials that verify a recommendation are left out.
    """

    def __init__(self) -> None:
        self._trials: tuple[Trial, ...] = ()
        self._forget()

    def _forget(self) -> None:
        self.paused: set[int] = set()  # numbers of those that wait to be chosen
        self.live: set[int] = set()  # of those that have neither paused nor ended
        self.resumed: list[float] = []  # when paused trials were resumed, in order
        self._have_paused: set[int] = set()  # now or earlier
        self._resumed: dict[int, list[float]] = {}  # when, of those that were

    def follow(self, history: History) -> None:
        """Update to this history."""
        trials, before = history.trials, self._trials
        if trials is before:
            return
        if len(trials) < len(before):
            before = ()
            self._forget()
        self._trials = trials
        for number in [*compress(range(len(trials)), map(is_not, trials, before)), *range(len(before), len(trials))]:
            self._look_at(trials[number])

    def was_paused(self, trial: Trial) -> bool:
        """Whether it has paused, now or earlier."""
        return trial.number in self._have_paused

    def selected_at(self, trial: Trial) -> float | None:
        """When the selection was that this trial took part in; None while it is to come."""
        return next((time for time in self.resumed if time >= trial.moves[0].time), None)

    def _look_at(self, trial: Trial) -> None:
        number = trial.number
        for numbers in (self.paused, self.live, self._have_paused):
            numbers.discard(number)
        before, resumed = self._resumed.pop(number, []), list[float]()
        if not trial.verifies:
            for move, following in pairwise(trial.moves):
                if move.state is TrialState.PAUSED:
                    self._have_paused.add(number)
                    if following.state is TrialState.QUEUED:
                        resumed.append(following.time)
            if trial.state is TrialState.PAUSED:
                self._have_paused.add(number)
                self.paused.add(number)
            elif trial.pending:
                self.live.add(number)
        if resumed:
            self._resumed[number] = resumed
        if resumed != before:
            self.resumed = sorted(chain.from_iterable(self._resumed.values()))


@dataclass(frozen=True)
class Reader:
    """Reads from curves and moves how trials stand. theta, plateau, last_steps, drops: as of SpotTune.

    Curves are walked along once; that they were before changes no answer.
    """

    predictor: CurvePredictor
    theta: float
    plateau: bool
    last_steps: Mapping[str, float]
    drops: Mapping[str, tuple[float, ...]]
    _walks: dict[int, Walk] = field(default_factory=dict, init=False, repr=False, compare=False)

    def schedule(self, problem: Problem, trial: Trial) -> TrainingSchedule:
        """The trial's training schedule."""
        identity = trial.configuration.id
        last = self.last_steps.get(identity, problem.steps)
        if last is None:
            hint = "Give steps, or the last step of every setting"
            raise StrategyError("its last step is not known", where=f"trial {trial.number}", hint=hint)
        maximize = problem.goal.direction is Direction.MAXIMIZE
        return TrainingSchedule(last, tuple(self.drops.get(identity, ())), maximize, self.theta, self.plateau)

    def turn(self, view: View, trial: Trial, *, chosen: bool) -> Turn | None:
        """The verdict of its curve; for a chosen trial, after theta."""
        curve = view.curves.get(trial.number)
        if curve is None:
            return None
        schedule, walk = self.schedule(view.problem, trial), self._walks.get(trial.number)
        if walk is None or not walk.leads_to(curve, schedule):
            walk = self._walks[trial.number] = Walk(schedule, self.predictor)
        return walk.follow(curve, chosen=chosen)

    def forecast(self, view: View, trial: Trial) -> Prediction | None:
        """Where it would end, by all that it has reported; None where that is nothing."""
        curve, schedule = view.curves.get(trial.number), self.schedule(view.problem, trial)
        if curve is None or not len(curve.steps):
            return None
        return self.predictor.predict(schedule.curve(curve), schedule.last_step)

    def standings(self, view: View, until: float = NOW) -> dict[int, TrialStanding]:
        """By number, of all trials that were proposed by then and verify nothing."""
        ours = (trial for trial in view.history.trials if not trial.verifies)
        pairs = ((trial, states_until(trial, until)) for trial in ours)
        return {trial.number: self._standing(view, trial, states) for trial, states in pairs if states}

    def standing(self, view: View, trial: Trial) -> TrialStanding:
        """Of one trial, now."""
        return self._standing(view, trial, states_until(trial, NOW))

    def _standing(self, view: View, trial: Trial, states: Sequence[TrialState]) -> TrialStanding:
        number, paused = trial.number, states[-1] is TrialState.PAUSED
        turn = self.turn(view, trial, chosen=TrialState.PAUSED in states[:-2])
        ending = _ending(states, turn)
        if ending is TrialEnding.FINISHED:
            value = trial.observations[-1].value(view.problem.goal.metric)
            return TrialStanding(number, Prediction(value, 0.0, why="trained to the end"), ending)
        if ending is TrialEnding.CONVERGED and turn is not None:
            return TrialStanding(number, Prediction(turn.value, 0.0, why="converged"), ending)
        if ending in (TrialEnding.DIVERGED, TrialEnding.FAILED):
            return TrialStanding(number, _OUT, ending)
        if paused or ending is TrialEnding.NOT_SELECTED:
            prediction = (turn.prediction if turn is not None else None) or self.forecast(view, trial)
            if prediction is not None:
                return TrialStanding(number, prediction, ending, paused)
        unjudged = Prediction(_last_value(view, trial), math.inf, Outlook.NOT_PREDICTABLE, "not at theta yet")
        return TrialStanding(number, unjudged, ending, paused)


def _ending(states: Sequence[TrialState], turn: Turn | None) -> TrialEnding | None:
    """How a trial that went through these states ended; turn: what its curve has come to."""
    match states[-1]:
        case TrialState.DONE:
            return TrialEnding.FINISHED
        case TrialState.FAILED:
            return TrialEnding.FAILED
        case TrialState.STOPPED if states[-2] is TrialState.PAUSED:
            return TrialEnding.NOT_SELECTED
        case TrialState.STOPPED:
            return TrialEnding.STOPPED if turn is None else _ENDINGS.get(turn.kind, TrialEnding.STOPPED)
    return None


def _last_value(view: View, trial: Trial) -> float:
    """The last number that it reported; 0 before the first."""
    curve = view.curves.get(trial.number)
    values = () if curve is None else curve.values
    return next((float(value) for value in reversed(values) if math.isfinite(value)), 0.0)
