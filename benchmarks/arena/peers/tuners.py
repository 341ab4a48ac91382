"""A driver as a Tuner: what the library suggests is tested, and told to it.

The library keeps state; ours is a function of the history all the same. Before an answer the driver is brought to the
history: results that it has not heard are told; where it has heard others (another replay used it, it died), it begins
anew, and is asked and told all over again, which comes to the same tests as everything in it is drawn by the seed.

Limits. Libraries that know limits are told how far each is exceeded. To the others the loss of a result that breaks a
limit is worse than the worst so far,

    loss = worst + (worst - best) min(1, excess),   excess: sum of relative excesses (`recommending.excess`)

with worst and best over all results until then, itself included; a run that failed has an excess of 1. The same for
all of them.

Recommended is the best measured result on all data that keeps the limits (`cheapest_measured`); before there is one,
the best at the largest share. The rule that all strategies share, by our models, stands beside it as `common`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from benchmarks.arena.peers.axes import Offer, rungs
from benchmarks.arena.peers.drivers.wire import Result, Task
from benchmarks.arena.peers.environments import ENVIRONMENTS
from benchmarks.arena.peers.processes import DriverProcess, shared_driver
from leantune.errors import StrategyError
from leantune.history import History, Note, NoteKind, Observation, ObservationKind, Trial
from leantune.lab.replay.contenders import contender
from leantune.problem import Direction, Problem
from leantune.strategies.proposals import Proposal, Recommendation, derived_seed
from leantune.strategies.recommending import best_measured, cheapest_measured, excess
from leantune.strategies.stops import budget_spent
from leantune.strategies.tuner import Judgement, Over, Tuner, View, Wait

HERE = Path(__file__).parent
DECISIVE_FILES = tuple(sorted(HERE.rglob("*.py")))  # a replay is run again when one of them changes
DRIVERS = "benchmarks.arena.peers.drivers"
MOST_REPEATS = 1000  # suggestions in a row of what was tested already

Start = Callable[[], DriverProcess]


@dataclass(frozen=True)
class Method:
    """A method of a library. environment, driver: where it runs, and the module that runs there."""

    name: str
    environment: str
    driver: str


METHODS = {
    method.name: method
    for method in (
        Method("optuna-tpe", "optuna", "optuna_driver"),
        Method("optuna-gp", "optuna", "optuna_driver"),
        Method("asha", "syne-tune", "syne_tune_driver"),
        Method("bohb", "syne-tune", "syne_tune_driver"),
        Method("asha-cqr", "syne-tune", "syne_tune_driver"),
        Method("smac", "smac", "smac_driver"),
        Method("neps-hyperband", "neps", "neps_driver"),
        Method("neps-priorband", "neps", "neps_driver"),
        Method("openbox", "openbox", "openbox_driver"),
        Method("mfkg", "botorch", "botorch_driver"),
    )
}


@dataclass
class Play:
    """A session of a driver: what it has heard. rows: of the grid, by the key of the library's configuration.

    asked: what it wants to be tested now, with its key and its level; None: it has to be asked.
    """

    offer: Offer
    task: Task
    process: DriverProcess
    session: int
    heard: list[Trial] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    asked: tuple[str, int] | None = None

    def follows(self, problem: Problem, task: Task, trials: Sequence[Trial]) -> bool:
        """Whether it can go on to this history."""
        ours, theirs = self.offer.problem, problem
        same = ours.space is theirs.space and ours.goal == theirs.goal and ours.constraints == theirs.constraints
        heard = len(self.heard)
        alive = self.process.alive and self.process.session == self.session
        return alive and same and task == self.task and [*map(_shown, self.heard)] == [*map(_shown, trials[:heard])]

    def next(self, problem: Problem) -> Proposal | Over:
        """What the library wants to be tested; results of pairs that were tested before are told to it at once."""
        for _ in range(MOST_REPEATS):
            if self.asked is None:
                suggestion = self.process.ask()
                if suggestion is None:
                    return Over("the library suggests nothing more")
                row = self.rows.get(suggestion.key)
                if row is None:
                    row = self.offer.nearest(suggestion.point, list(self.rows.values()))
                if row is None:
                    return Over("every configuration has been tested")
                self.rows[suggestion.key] = row
                self.asked = suggestion.key, suggestion.level
            key, level = self.asked
            configuration, share = problem.choices.grid()[self.rows[key]], problem.fractions[level]
            known = self._known(configuration.id, share)
            if known is None:
                note = Note(NoteKind.PLAIN, self.task.method)
                return Proposal(configuration, share, (share,), {}, (note,))
            self._tell(problem, known)
        hint = "Does its driver name a promoted configuration by the same key?"
        raise StrategyError(f"{MOST_REPEATS} suggestions were tested already", where=self.task.method, hint=hint)

    def hear(self, problem: Problem, trial: Trial) -> None:
        """Tell it of the next trial of the history, which must be the one that it wanted."""
        wanted = self.next(problem)
        if isinstance(wanted, Over) or (wanted.configuration, wanted.fraction) != (trial.configuration, trial.fraction):
            hint = "Histories begun by another strategy, or by another version of the library, cannot be gone on with"
            raise StrategyError("the library wanted another test", where=f"trial {trial.number}", hint=hint)
        self.heard.append(trial)
        self._tell(problem, trial)

    def _tell(self, problem: Problem, trial: Trial) -> None:
        assert self.asked is not None
        key, level = self.asked
        place = self.offer.point(trial.configuration)
        self.process.tell(told(problem, self.heard, trial, key, level, place))
        self.asked = None

    def _known(self, configuration_id: str, share: Fraction) -> Trial | None:
        return next(
            (trial for trial in self.heard if (trial.configuration.id, trial.fraction) == (configuration_id, share)),
            None,
        )


def told(
    problem: Problem, heard: Sequence[Trial], trial: Trial, key: str, level: int, place: Mapping[str, float]
) -> Result:
    """A trial's result as libraries hear it (see the module)."""
    plain, beyond, limits = _measured(problem, trial)
    losses = [loss for loss in (_measured(problem, one)[0] for one in (*heard, trial)) if loss is not None]
    worst, best = max(losses, default=0.0), min(losses, default=0.0)
    spread = worst - best or abs(worst) or 1.0
    loss = plain if plain is not None and beyond == 0.0 else worst + spread * min(1.0, beyond)
    return Result(key, level, place, loss, plain, limits)


def _measured(problem: Problem, trial: Trial) -> tuple[float | None, float, tuple[float, ...]]:
    """The goal as a loss, the sum of relative excesses, and how far each limit is exceeded; (None, 1, 1 each) of a run
    that failed.
    """
    seen = _last(trial)
    sign = 1.0 if problem.goal.direction is Direction.MINIMIZE else -1.0
    failed = None, 1.0, (1.0,) * len(problem.constraints)
    if seen is None or not math.isfinite(seen.value(problem.goal.metric)):
        return failed
    above = [(1.0 if one.upper else -1.0) * (seen.value(one.metric) - one.limit) for one in problem.constraints]
    if not all(map(math.isfinite, above)):
        return failed
    return sign * seen.value(problem.goal.metric), excess(problem, seen), tuple(above)


def _last(trial: Trial) -> Observation | None:
    """At its largest share, if it did not fail."""
    return next((seen for seen in reversed(trial.results) if seen.kind is not ObservationKind.FAILED), None)


def _shown(trial: Trial) -> tuple[object, ...]:
    results = tuple((seen.fraction, seen.kind, tuple(seen.metrics.items()), seen.cost) for seen in trial.results)
    return trial.configuration.id, trial.fraction, results


class PeerTuner:
    """See the module. start: the driver's process, the running one where there is one."""

    judges = False

    def __init__(self, method: str, start: Start) -> None:
        self.method = method
        self.common: Tuner = contender("random").common  # by our models
        self._start = start
        self._play: Play | None = None

    def check(self, problem: Problem) -> None:
        """Only tables of configurations that all have the same parameters."""
        _ = Offer(problem).axes

    def prepare(self) -> None:
        """Nothing: the driver starts when it is first asked."""

    def ends_by_itself(self, problem: Problem) -> bool:
        """It goes on until every configuration has been tested."""
        return False

    def ask(self, view: View) -> Proposal | Wait | Over:
        """The next test, one at a time."""
        reason = self.stop_reason(view)
        if reason is not None:
            return Over(reason)
        if view.history.pending:
            return Wait("one test at a time")
        play = self._following(view)
        for trial in view.history.trials[len(play.heard) :]:
            play.hear(view.problem, trial)
        return play.next(view.problem)

    def judge(self, view: View, only: Collection[int] | None = None) -> Mapping[int, Judgement]:
        """Every trial runs to its end."""
        return {}

    def recommend(self, view: View) -> Recommendation | None:
        """The best measured one."""
        return largest_share_measured(view.problem, view.history)

    def stop_reason(self, view: View) -> str | None:
        """It ends when the budget is spent, without looking at it before."""
        return budget_spent(view.problem.budget, view.history)

    def _following(self, view: View) -> Play:
        task = task_of(self.method, view.problem, view.seed)
        if self._play is None or not self._play.follows(view.problem, task, view.history.trials):
            process = self._start()
            self._play = Play(Offer(view.problem), task, process, process.open(task))
        return self._play


def task_of(method: str, problem: Problem, seed: int) -> Task:
    """What a driver is told of a problem."""
    levels = tuple(float(share) for share in problem.fractions)
    drawn = derived_seed(seed, method) % 2**31
    return Task(method, Offer(problem).axes, levels, rungs(levels), len(problem.constraints), drawn)


def largest_share_measured(problem: Problem, history: History) -> Recommendation | None:
    """`cheapest_measured`; before anything was measured on all data, the best at the largest share, untested there."""
    tested = [(trial, seen) for trial, seen in history.observations if seen.kind is not ObservationKind.FAILED]
    largest = max((seen.fraction for _, seen in tested), default=None)
    if largest is None or largest == 1:
        return cheapest_measured(problem, history)
    found = best_measured(problem, [row for row in tested if row[1].fraction == largest])
    return replace(found, fraction=Fraction(1), tested=False)


def peer(method: str) -> PeerTuner:
    """A method of another library: "benchmarks.arena.peers.tuners:peer(method='asha')"."""
    if method not in METHODS:
        raise StrategyError(f"there is no peer {method!r}", where="peers", hint=f"Give one of {', '.join(METHODS)}")
    chosen = METHODS[method]
    python = ENVIRONMENTS[chosen.environment].ready_python()
    command = [str(python), "-m", f"{DRIVERS}.{chosen.driver}"]
    return PeerTuner(method, lambda: shared_driver(chosen.environment, command))
