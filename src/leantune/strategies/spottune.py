"""SpotTune: every setting is trained to theta of its steps, the best mcnt of them to the end.

At theta * last step a trial's end is predicted from its learning curve (`curves`), and it pauses. When nothing more is
to be proposed and every trial has paused or ended, those most likely to end best go on, and the others are stopped. A
trial whose learning rate is declared to drop later cannot be predicted and goes on at once; one whose metric is no
number, or does not change any more, is stopped (`midway`).

Which machine a trial runs on, and when it is saved and moved, is for others to choose.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from leantune.curves.base import CurvePredictor, Prediction
from leantune.curves.predictors import curve_predictor
from leantune.errors import StrategyError
from leantune.history import Estimate, History, Note, NoteKind, Observation, ObservationKind, Trial, TrialState
from leantune.problem import COST, TIME, Direction, Problem
from leantune.space import Cluster, Configuration, Space
from leantune.strategies.midway import Turn, TurnKind
from leantune.strategies.proposals import Proposal, Recommendation
from leantune.strategies.recommending import best_measured, best_word
from leantune.strategies.standings import (
    NOW,
    Census,
    Reader,
    TrialEnding,
    TrialRanking,
    TrialStanding,
    choose_among,
)
from leantune.strategies.stops import budget_spent, check_stop
from leantune.strategies.tuner import Judgement, Over, Verdict, View

NAME = "spottune"
FULL = Fraction(1)
_LIVE = (TrialState.QUEUED, TrialState.RUNNING)


@dataclass(frozen=True)
class RankedTrial:
    """A trial in the ranking.

    predicted: the goal's metric at the last step, sd 0 where it is measured, None where unknown. step, value: the
    last that it reported. selected: it is trained to the end, or was.
    """

    rank: int
    trial: Trial
    predicted: Estimate | None
    step: float
    value: float | None
    ending: TrialEnding | None
    selected: bool


@dataclass
class _Memory:
    """A cache of earlier results; no answer depends on it."""

    census: Census = field(default_factory=Census)
    settings: tuple[Space, tuple[Configuration, ...]] | None = None


@dataclass(frozen=True)
class SpotTune:
    """See the module. theta: share of the steps after which a trial is judged; 1: all are trained to the end.

    mcnt: how many are trained to the end. plateau: whether a flat trial is stopped. last_steps, drops: of settings, by
    the id of their configuration; where nothing is given, the problem's steps and no drops.
    """

    theta: float = 0.7
    mcnt: int = 3
    plateau: bool = True
    predictor: CurvePredictor = field(default_factory=curve_predictor)
    last_steps: Mapping[str, float] = field(default_factory=dict)
    drops: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    _memory: _Memory = field(default_factory=_Memory, init=False, repr=False, compare=False)
    _reader: Reader = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 < self.theta <= 1:
            hint = "Give a share above 0 and at most 1, such as 0.7"
            raise StrategyError(f"theta is {self.theta!r}", where=NAME, hint=hint)
        if self.mcnt < 1:
            hint = "Give the number of settings to train to the end, at least 1"
            raise StrategyError(f"mcnt is {self.mcnt!r}", where=NAME, hint=hint)
        reader = Reader(self.predictor, self.theta, self.plateau, self.last_steps, self.drops)
        object.__setattr__(self, "_reader", reader)

    @property
    def name(self) -> str:
        """As the registry has it."""
        return NAME

    @property
    def judges(self) -> bool:
        """Unless all are trained to the end."""
        return True

    def prepare(self) -> None:
        """Nothing: curves are compiled when the first of them is long enough, in less than a second."""

    def ends_by_itself(self, problem: Problem) -> bool:
        """When every setting was trained."""
        return True

    def check(self, problem: Problem) -> None:
        """It needs the last step of a training, all the data, a metric that is reported, and a list of settings."""
        check_stop("SpotTune", problem, foresees=False)
        if problem.steps is None and not self.last_steps:
            hint = "Add steps: 100 to the job file, or steps=100 to the Study"
            raise StrategyError("how many steps a training has is not said", where="steps", hint=hint)
        if len(problem.fractions) > 1:
            shares = ", ".join(map(str, problem.fractions))
            what = f"SpotTune trains on all the {problem.fidelity}, and fractions is [{shares}]"
            raise StrategyError(what, where="fractions", hint="Leave fractions out, or choose 'lean'")
        if problem.goal.metric in (COST, TIME):
            what = f"SpotTune follows learning curves, and {problem.goal.metric} has none"
            raise StrategyError(what, where="goal", hint="Take a metric that the program reports at every step")
        if problem.choices.size is None:
            what = "SpotTune trains every setting, and this space has no end of them"
            hint = "Write every parameter as a list of values, or list the settings themselves under settings:"
            raise StrategyError(what, where="space", hint=hint)
        if not problem.choices.enumerable:
            hint = "Give fewer values, or list the settings themselves under settings:"
            raise StrategyError("the space is too large to train every setting", where="space", hint=hint)

    # -- tests

    def ask(self, view: View) -> Proposal | Over:
        """The first setting that has no trial yet."""
        reason = self.stop_reason(view)
        if reason is not None:
            return Over(reason)
        settings, tried = self._settings(view.problem), _tried(view.history)
        place = next(place for place, setting in enumerate(settings) if _without_cluster(setting) not in tried)
        note = Note(NoteKind.PLAIN, f"setting {place + 1} of {len(settings)}")
        return Proposal(settings[place], FULL, (FULL,), {}, (note,))

    def stop_reason(self, view: View) -> str | None:
        """The budget is used, or every setting has a trial."""
        reason = view.closed or budget_spent(view.problem.budget, view.history)
        if reason:
            return reason
        settings, tried = self._settings(view.problem), _tried(view.history)
        untried = any(_without_cluster(setting) not in tried for setting in settings)
        return None if untried else f"all {len(settings)} settings are proposed"

    def _settings(self, problem: Problem) -> tuple[Configuration, ...]:
        """All of them in order, each once, on the first of its clusters."""
        remembered = self._memory.settings
        if remembered is None or remembered[0] is not problem.choices:
            settings: dict[Configuration, Configuration] = {}
            for configuration in problem.choices.grid():
                settings.setdefault(_without_cluster(configuration), configuration)
            remembered = self._memory.settings = problem.choices, tuple(settings.values())
        return remembered[1]

    # -- verdicts

    def judge(self, view: View, only: Collection[int] | None = None) -> Mapping[int, Judgement]:
        """First those chosen among the paused, best first, and those not chosen; then trials to stop or pause.

        only: whose curve or state has changed since the last call. The paused are judged in any case.
        """
        judged = self._settle(view)
        trials = view.history.trials
        for trial in trials if only is None else [trials[number] for number in sorted(only)]:
            if trial.state in _LIVE and trial.number in view.curves and not trial.verifies:
                judgement = self._look_at(view, trial)
                if judgement is not None:
                    judged[trial.number] = judgement
        return judged

    def _look_at(self, view: View, trial: Trial) -> Judgement | None:
        """Stop, pause or go on, by what the curve has come to."""
        turn = self._reader.turn(view, trial, chosen=False)
        if turn is not None and turn.kind is TurnKind.THETA:
            census = self._memory.census
            if not census.was_paused(trial) and census.selected_at(trial) is None:
                return _pause(turn)
            turn = self._reader.turn(view, trial, chosen=True)  # chosen, or the selection did not wait for it
        if turn is None or turn.kind is TurnKind.OVER:
            return None
        if turn.kind is TurnKind.DIVERGED:
            return Judgement(Verdict.STOP, f"diverged: the value at step {turn.step:g} is {turn.value}")
        last = self._reader.schedule(view.problem, trial).last_step
        return Judgement(Verdict.STOP, f"converged at step {turn.step:g} of {last:g}")

    def _settle(self, view: View) -> dict[int, Judgement]:
        """Which paused trials go on and which stop, once that can be said.

        A selection that was carried out in part is carried out in full, as it was made.
        """
        census = self._memory.census
        census.follow(view.history)
        if not census.paused or (census.live and not view.due and not census.resumed):
            return {}
        moments = {number: census.selected_at(view.history.trials[number]) for number in sorted(census.paused)}
        judged: dict[int, Judgement] = {}
        for made in sorted({moment for moment in moments.values() if moment is not None}):
            judged |= self._verdicts(view, [number for number, moment in moments.items() if moment == made], made)
        waiting = [number for number, moment in moments.items() if moment is None]
        if waiting and (view.due or (not census.live and self.stop_reason(view) is not None)):
            judged |= self._verdicts(view, waiting, NOW)
        return judged

    def _verdicts(self, view: View, paused: Collection[int], until: float) -> dict[int, Judgement]:
        standings = self._reader.standings(view, until)
        chosen = self._chosen(view.problem, standings)
        resumed: dict[int, Judgement] = {}
        stopped: dict[int, Judgement] = {}
        for place, number in enumerate(chosen.ranking, start=1):
            if number not in paused:
                continue
            prediction = standings[number].prediction
            words = f"{_words(prediction)}, place {place} of {len(standings)}"
            if number in chosen.going_on:
                resumed[number] = Judgement(Verdict.RESUME, f"selected: {words}", _estimate(prediction))
            else:
                stopped[number] = Judgement(Verdict.STOP, f"not selected: {words}", _estimate(prediction))
        return resumed | stopped

    def _chosen(self, problem: Problem, standings: Mapping[int, TrialStanding]) -> TrialRanking:
        maximize = problem.goal.direction is Direction.MAXIMIZE
        return choose_among(tuple(standings.values()), self.mcnt, maximize=maximize)

    # -- recommendation

    def recommend(self, view: View) -> Recommendation | None:
        """The best result of those trained to the end or until they converged; before there is one, the best
        predicted; None before the first report.
        """
        results = [(trial, seen) for trial in view.history.trials if (seen := self._result(view, trial)) is not None]
        if not results:
            return self._best_predicted(view)
        best = best_measured(view.problem, results)
        ended = [trial.state for trial, _ in results if trial.configuration == best.configuration]
        if TrialState.DONE in ended:
            return best
        return replace(best, why=f"{best.why} It had converged and was not trained any further.")

    def _result(self, view: View, trial: Trial) -> Observation | None:
        """Its result at the end of its training, if there is one."""
        if trial.state is TrialState.DONE:
            return trial.observations[-1]
        if trial.verifies or trial.state is not TrialState.STOPPED:
            return None
        standing = self._reader.standing(view, trial)
        if standing.ending is not TrialEnding.CONVERGED:
            return None
        last = trial.observations[-1] if trial.observations else None
        metrics = {view.problem.goal.metric: standing.prediction.mean, **(last.metrics if last else {})}
        seconds, cost = (last.seconds, last.cost) if last else (None, None)
        return Observation(FULL, ObservationKind.MEASURED, metrics, seconds, cost)

    def _best_predicted(self, view: View) -> Recommendation | None:
        problem, goal = view.problem, view.problem.goal
        sign = -1.0 if goal.direction is Direction.MAXIMIZE else 1.0
        trials = [trial for trial in view.history.trials if not trial.verifies]
        inside = [trial for trial in trials if not self._reader.standing(view, trial).out]
        forecasts = [
            (trial, prediction) for trial in inside if (prediction := self._reader.forecast(view, trial)) is not None
        ]
        predicted = [(trial, prediction) for trial, prediction in forecasts if math.isfinite(prediction.mean)]
        if not predicted:
            return None
        sure = [(trial, prediction) for trial, prediction in predicted if math.isfinite(prediction.sd)]
        trial, best = min(sure or predicted, key=lambda pair: (sign * pair[1].mean, pair[0].number))
        step, last = view.curves[trial.number].steps[-1], self._reader.schedule(problem, trial).last_step
        so_far = f"it was trained to step {step:g} of {last:g}"
        what, estimate = f"{best_word(problem)} predicted {goal.metric}", _estimate(best)
        if estimate is None:
            what = f"{best_word(problem)} {goal.metric} so far, {best.mean:.4g}, which is too early to predict its end"
        else:
            what += f" of {len(sure)} settings, {estimate}"
        unchecked = Note(NoteKind.FALLBACK, "the limits are checked when a training has ended")
        notes = (unchecked,) if problem.constraints else ()
        metrics = {} if estimate is None else {goal.metric: estimate}
        feasible = not problem.constraints
        return Recommendation(trial.configuration, FULL, metrics, {}, feasible, False, f"{what}; {so_far}.", notes)

    def ranking(self, view: View) -> tuple[RankedTrial, ...]:
        """All trials, as they were ranked when the best were chosen; before that, as they would be now."""
        trials = [trial for trial in view.history.trials if not trial.verifies]
        if not trials:
            return ()
        census = self._memory.census
        census.follow(view.history)
        moments = [moment for trial in trials if (moment := census.selected_at(trial)) is not None]
        now = self._reader.standings(view)
        then = self._reader.standings(view, max(moments)) if moments else now
        is_made = bool(moments) or all(standing.ending is not None for standing in now.values())
        going_on = self._chosen(view.problem, then).going_on if is_made else frozenset[int]()
        order = self._order(view, then)
        order += [trial.number for trial in trials if trial.number not in then]
        return tuple(
            self._row(view, place, now[number], number in going_on) for place, number in enumerate(order, start=1)
        )

    def _order(self, view: View, standings: Mapping[int, TrialStanding]) -> list[int]:
        """Most promising first, whether they may go on or not; of those that are not judged yet, as they look now."""
        predictions = [self._present(view, standing) for standing in standings.values()]
        as_if = [TrialStanding(number, prediction) for number, prediction in zip(standings, predictions, strict=True)]
        maximize = view.problem.goal.direction is Direction.MAXIMIZE
        return list(choose_among(as_if, self.mcnt, maximize=maximize).ranking)

    def _present(self, view: View, standing: TrialStanding) -> Prediction:
        if standing.paused or standing.ending is not None:
            return standing.prediction
        return self._reader.forecast(view, view.history.trial(standing.number)) or standing.prediction

    def _row(self, view: View, place: int, standing: TrialStanding, selected: bool) -> RankedTrial:
        trial, curve = view.history.trial(standing.number), view.curves.get(standing.number)
        points = [] if curve is None else list(zip(curve.steps, curve.values, strict=True))
        step, value = next((point for point in reversed(points) if math.isfinite(point[1])), (0.0, None))
        predicted = _estimate(self._present(view, standing))
        return RankedTrial(place, trial, predicted, step, value, standing.ending, selected)


def _pause(turn: Turn) -> Judgement:
    assert turn.prediction is not None
    return Judgement(Verdict.PAUSE, f"{_words(turn.prediction)}, by step {turn.step:g}", _estimate(turn.prediction))


def _words(prediction: Prediction) -> str:
    estimate = _estimate(prediction)
    return f"predicted {estimate}" if estimate is not None else f"{prediction.outlook}: {prediction.why}"


def _estimate(prediction: Prediction) -> Estimate | None:
    is_finite = math.isfinite(prediction.mean) and math.isfinite(prediction.sd)
    return Estimate(prediction.mean, prediction.sd) if is_finite else None


def _tried(history: History) -> set[Configuration]:
    return {_without_cluster(trial.configuration) for trial in history.trials if not trial.verifies}


def _without_cluster(configuration: Configuration) -> Configuration:
    """The setting without its machine."""
    if configuration.cluster is None:
        return configuration
    return Configuration({name: value for name, value in configuration.items() if not isinstance(value, Cluster)})
