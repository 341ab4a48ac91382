"""The Python face: ask, tell, optimize, recommendation; in memory, or in a store that several processes share.

space = Space(lr=log(1e-5, 1e-1), cluster=clusters("aws", types=["t2.small"], nodes=[1, 2]))
study = Study(
    space, maximize("accuracy"), subject_to=["cost <= 0.10 USD"], fractions=[1/60, 0.1, 1], budget=Budget(trials=44),
    store="sqlite:///leantune.db", name="my-study",
)
study.optimize(train)  # train(trial) -> {"accuracy": ...}; run the program again and it goes on
study.recommendation()
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, overload

from leantune.checkpoints import Keep
from leantune.checkpoints.store import study_folder
from leantune.clock import Clock, RealClock
from leantune.errors import InvalidInput, ObservationError, Outdated, StudyOver
from leantune.executors.function import FunctionExecutor
from leantune.history import (
    Estimate,
    History,
    Note,
    NoteKind,
    Observation,
    ObservationKind,
    Trial,
    TrialKind,
    TrialState,
    observe,
)
from leantune.problem import Budget, Constraint, Fidelity, Goal, Problem, Stop
from leantune.run.attempts import seed_of
from leantune.run.curves import learning_curves
from leantune.run.events import Observer, nobody
from leantune.run.ledger import continued_dollars, smaller_result
from leantune.run.loop import Loop
from leantune.space import Configuration, Space
from leantune.strategies.baseline import Comparison, compared, next_test
from leantune.strategies.proposals import Proposal, Recommendation
from leantune.strategies.recipe import Recipe
from leantune.strategies.recommending import required
from leantune.strategies.registry import at_work, check_repeats, default_strategy, named_tuner
from leantune.strategies.tuner import Over, Tuner, View, Wait
from leantune.study.definition import describe, kept_open, open_or_create, raised
from leantune.study.program import FunctionProgram
from leantune.units import Seconds, Usd, parse_share
from leantune.worker.client import current_trial

IN_MEMORY = "sqlite://"
LEASE = 60.0  # seconds after which another process takes over the trial of one that vanished
Metrics = Mapping[str, float]


@dataclass(frozen=True)
class Snapshot:
    """What one run showed when it passed `fraction`; seconds and dollars count from the start of the run."""

    fraction: Fraction
    metrics: Metrics
    seconds: float | None = None
    cost: float | None = None


@dataclass(frozen=True)
class AskedTrial:
    """A test to run: trial["lr"], trial.fraction; expected: what the models predict; notes: where it comes from. seed:
    the study's, and another for a run that repeats one.

    continues: with fidelity="epochs", the number of the trial of the same configuration at a smaller share that it may
    go on from, if one came through.
    """

    number: int
    configuration: Configuration
    fraction: Fraction
    snapshots: tuple[Fraction, ...]
    expected: Mapping[str, Estimate]
    notes: tuple[Note, ...]
    seed: int = 0
    continues: int | None = None

    @classmethod
    def of(cls, trial: Trial, seed: int, continues: int | None = None) -> AskedTrial:
        """The trial as its training function sees it."""
        shares = trial.fraction, trial.snapshots
        return cls(trial.number, trial.configuration, *shares, trial.expected, trial.notes, seed, continues)

    def __getitem__(self, name: str) -> Any:
        return self.configuration[name]

    def snapshot(
        self, fraction: Fraction, metrics: Metrics, *, seconds: float | None = None, cost: float | None = None
    ) -> Snapshot:
        """What the run showed when it passed `fraction`, to be told with `snapshots=`."""
        return Snapshot(fraction, metrics, seconds, cost)

    def report(
        self, *, step: float | None = None, fraction: int | float | str | Fraction | None = None, **metrics: object
    ) -> None:
        """Within `study.optimize(train)`: tell how it goes, as `leantune.current_trial().report` does."""
        current_trial().report(step=step, fraction=fraction, **metrics)

    @property
    def checkpoint_dir(self) -> Path:
        """Within `study.optimize(train)`: a folder for checkpoints.

        What is in it is there again when the trial is run again, where the study has a place for it (`checkpoints=`).
        With fidelity="epochs" it begins with what trial `continues` has left.
        """
        return current_trial().checkpoint_dir


Train = Callable[[AskedTrial], Metrics | Sequence[Snapshot] | None]


class Study:
    """A tuning study. Every proposal is a pure function of the problem, the history and the seed.

    snapshots: one run of the training program reports at every fraction it passes (then tell them with
    `snapshots=`). fidelity: "data", fractions are of the data; "epochs", they are of the epochs, and a larger share
    goes on from a smaller one and pays the difference. steps: the last step of a training, which SpotTune needs.
    strategy: by default lean, or eic where there is one fraction only, as in a job file.
    settings: the configurations to test; none: all of the space. baseline: your present setting, tested first and
    compared with. stop: `lean` ends the study when nothing is likely to be better by this share of the goal, or
    "never"; by default 0.01 where there is no budget. repeats: how often `lean` may run one configuration on all data,
    each time with another `trial.seed`. store, name: where the study is kept, such as
    "sqlite:///leantune.db", and as what; a study that is there already goes on, if it is the same. Without a store
    it lives as long as this object. checkpoints: the folder in which `optimize` keeps those of its trials, of
    finished ones that of the best result; without one they live as long as their runs, and with fidelity="epochs"
    as long as this object.
    """

    def __init__(  # noqa: PLR0913 - the options of PRODUCT.md, all but two by name
        self,
        space: Space,
        goal: Goal,
        *,
        subject_to: Iterable[str | Constraint] = (),
        fractions: Iterable[int | float | str | Fraction] = (1,),
        budget: Budget | None = None,
        strategy: str | Recipe | Tuner | None = None,
        seed: int = 0,
        snapshots: bool = False,
        fidelity: Fidelity = "data",
        steps: float | None = None,
        settings: Iterable[Mapping[str, object]] = (),
        baseline: Mapping[str, object] | None = None,
        stop: Stop = "auto",
        repeats: int = 1,
        store: str = IN_MEMORY,
        name: str = "study",
        checkpoints: str | Path | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.problem = Problem(
            space,
            goal,
            subject_to,
            fractions,
            budget or Budget(),
            snapshots=snapshots,
            fidelity=fidelity,
            steps=steps,
            settings=settings,
            baseline=baseline,
            stop=stop,
            repeats=repeats,
        )
        self.strategy, strategy_name, options = _tuner(strategy or default_strategy(self.problem))
        self.strategy.check(self.problem)
        check_repeats(self.strategy, self.problem)
        self.seed = _checked_seed(seed)
        self._clock = clock or RealClock()
        self._shared = store != IN_MEMORY
        self._checkpoints = None if checkpoints is None else Path(checkpoints) / study_folder(name)
        self._temporary: TemporaryDirectory[str] | None = None
        document = describe(self.problem, strategy_name, options, seed)
        with kept_open(store) as self._database:
            self.store = open_or_create(self._database, name, self.problem, document, "", self._clock)

    @property
    def history(self) -> History:
        """All trials so far; immutable."""
        return self.store.history()

    @property
    def _view(self) -> View:
        curves = learning_curves(self.store, self.problem) if self.strategy.judges else {}
        return View(self.problem.with_budget(self.store.budget()), self.history, self.seed, curves)

    @property
    def stop_reason(self) -> str | None:
        """Why the study is over (budget, stop rule), or None."""
        return self.strategy.stop_reason(self._view)

    @overload
    def ask(self) -> AskedTrial: ...

    @overload
    def ask(self, count: int) -> list[AskedTrial]: ...

    def ask(self, count: int | None = None) -> AskedTrial | list[AskedTrial]:
        """The next trial, or a batch to run at once: each takes the others, and everything pending, into account.

        StudyOver when the budget is used or nothing is left to test; a batch may be cut short by it.
        """
        if count is None:
            return self._ask_batch(1)[0]
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise InvalidInput(f"asked for {count!r} trials", where="ask", hint="Ask for a whole number of at least 1")
        return self._ask_batch(count)

    def _ask_batch(self, count: int) -> list[AskedTrial]:
        asked: list[AskedTrial] = []
        while len(asked) < count:
            view = self._view
            proposal = next_test(self.strategy, view)
            if not isinstance(proposal, Proposal):
                if asked:
                    break
                raise _nothing_to_ask(proposal)
            try:
                trial = self.store.propose(
                    proposal.configuration,
                    proposal.fraction,
                    proposal.snapshots,
                    time=self._clock.now(),
                    notes=proposal.notes,
                    expected=proposal.expected,
                    after=len(view.history),
                    queue=False,
                )
            except Outdated:
                continue  # another process has proposed meanwhile: take that into account
            asked.append(self._asked(trial))
        return asked

    def _asked(self, trial: Trial) -> AskedTrial:
        smaller = smaller_result(self.problem, lambda: self.history, trial)
        seed = seed_of(trial, self.history, self.seed)
        return AskedTrial.of(trial, seed, None if smaller is None else smaller[0].number)

    def enqueue(self, configuration: Mapping[str, object], fraction: int | float | str | Fraction = 1) -> AskedTrial:
        """A trial of your own choice, to be told like any other; it may repeat one."""
        checked = self.problem.choices.configuration(configuration)
        share = self.problem.fractions[self.problem.level_of(parse_share(fraction))]
        notes, kind = (Note(NoteKind.PLAIN, "enqueued by the user"),), TrialKind.ENQUEUED
        trial = self.store.propose(checked, share, time=self._clock.now(), notes=notes, kind=kind, queue=False)
        return self._asked(trial)

    def tell(
        self,
        trial: int | AskedTrial | Trial,
        metrics: Metrics | None = None,
        *,
        seconds: float | None = None,
        cost: float | None = None,
        snapshots: Sequence[Snapshot] = (),
        cut: bool = False,
        failed: str = "",
        continues: int | None = None,
    ) -> None:
        """The result of a trial: metrics and seconds, or snapshots, or the cause of its failure.

        cut: the run was stopped at a limit, so that seconds and dollars are lower bounds. cost: dollars, where they are
        not seconds times the machine's rate. continues: with fidelity="epochs", the trial at a smaller share whose
        checkpoint the run went on from, such as `trial.continues`; seconds and dollars are then told of the rest, which
        is what the study pays. None: it started from nothing.
        """
        stored = self.history.trial(trial if isinstance(trial, int) else trial.number)
        kind = ObservationKind.FAILED if failed else ObservationKind.CENSORED if cut else ObservationKind.MEASURED
        where, either = f"trial {stored.number}", "Tell one or the other"
        if failed and metrics:
            raise ObservationError("a failed run has no metrics", where=where, hint=either)
        if snapshots and (metrics is not None or failed):
            raise ObservationError("both snapshots and a result", where=where, hint=either)
        if metrics is None and not failed and not snapshots:
            raise ObservationError("nothing was told", where=where, hint="Give metrics, snapshots or failed=")
        smaller = None if continues is None else self._continued(stored, continues)
        observed = partial(observe, self.problem, stored, kind=kind, cause=failed)
        told = [
            observed(shot.metrics, seconds=shot.seconds, cost=shot.cost, fraction=shot.fraction) for shot in snapshots
        ] or [observed(metrics or {}, seconds=seconds, cost=cost)]
        observations = [seen if smaller is None else _whole(seen, smaller) for seen in told]
        self.store.record(
            stored.number,
            observations,
            time=self._clock.now(),
            state=TrialState.FAILED if failed else TrialState.DONE,
            cause=failed,
            seconds=None if smaller is None else max(told, key=lambda seen: seen.fraction).seconds,
            resumed_dollars=continued_dollars(observations, smaller),
        )

    def _continued(self, trial: Trial, number: int) -> Observation:
        """The result that a trial says that it went on from."""
        other, where = self.history.trial(number), f"trial {trial.number}"
        if self.problem.fidelity == "data":
            what, hint = "a larger share of the data starts from nothing", "Give Study(..., fidelity='epochs')"
            raise ObservationError(what, where=where, hint=hint)
        came_through = other.state is TrialState.DONE and other.results[-1].kind is ObservationKind.MEASURED
        same = other.configuration == trial.configuration and other.fraction < trial.fraction
        if not (same and came_through):
            hint = "Name one of the same configuration at a smaller share that came through, such as trial.continues"
            raise ObservationError(f"it cannot go on from trial {number}", where=where, hint=hint)
        return other.results[-1]

    def optimize(
        self,
        train: Train,
        *,
        trials: int | None = None,
        catch: tuple[type[Exception], ...] = (),
        observer: Observer = nobody,
    ) -> Recommendation:
        """Ask, run, tell until the budget or `trials` more are used, then recommend. Seconds are measured here.

        train returns its metrics, a list of snapshots, or nothing when it has told all by `trial.report(...)`. A metric
        that is missing or not finite, and an exception named in `catch`, make the trial failed: its cost is kept and
        the models learn to avoid its neighbourhood. Any other exception ends the call; its trial is run again by the
        next. A function cannot be ended from outside, so the budget is checked before each trial and the last may go
        over.
        """
        if trials is None and not self._limited:
            hint = "Give budget=Budget(trials=20), or optimize(train, trials=20)"
            raise InvalidInput("the study has no end", where="optimize", hint=hint)
        program = FunctionProgram(
            lambda clock, runs: FunctionExecutor(
                self.problem,
                lambda current: train(self._asked(self.history.trial(current.number))),
                clock,
                catch=catch,
                runs=runs,
            ),
            folder=self._place_of_checkpoints(),
            keep=Keep.NONE if self._checkpoints is None else Keep.BEST,
            lease=LEASE if self._shared else None,
        )
        settings = program.loop_settings(self.problem, self.strategy, self.seed)
        Loop(self.store, settings, program.executor(self.store, self._clock), self._clock, observer).run(trials=trials)
        return self.recommendation()

    def _place_of_checkpoints(self) -> Path | None:
        """A folder for those of the trials; None: each lives as long as its run."""
        if self._checkpoints is not None or self.problem.fidelity == "data":
            return self._checkpoints
        if self._shared:
            what = "the study outlives this program, and what a larger share is to go on from would not"
            hint = "Give Study(..., checkpoints='./checkpoints')"
            raise InvalidInput(f"fidelity='epochs': {what}", where="optimize", hint=hint)
        self._temporary = self._temporary or TemporaryDirectory(prefix="leantune-checkpoints-")
        return Path(self._temporary.name)

    @property
    def _limited(self) -> bool:
        return bool(self.problem.budget.limits) or self.strategy.ends_by_itself(self.problem)

    def extend(self, budget: Budget) -> Budget:
        """Raise the budget to these totals; what they leave open stays. Returns the budget in force.

        The study goes on with the next `optimize` or `ask`; every program that shares its store sees the new budget.
        """
        new = raised(self.store.budget(), budget)
        self.store.set_budget(new, time=self._clock.now(), cause="extended by the user")
        self.problem = self.problem.with_budget(new)
        return new

    def recommendation(self) -> Recommendation:
        """The configuration to use, predicted metrics, the probability of each limit, and why."""
        return required(self.strategy.recommend(self._view))

    def comparison(self) -> Comparison | None:
        """The recommendation beside your present setting (`baseline=`); None where you gave none."""
        advice = self.recommendation()
        return compared(self.problem, self.history, advice.configuration, advice.fraction, advice.metrics)

    def close(self) -> None:
        """Let go of the store; nothing is lost but checkpoints that have no place of their own."""
        self._database.close()
        if self._temporary is not None:
            self._temporary.cleanup()


def _whole(rest: Observation, smaller: Observation) -> Observation:
    """What a run that went on from a smaller share showed, with the seconds and dollars of the whole training."""
    seconds = None if rest.seconds is None or smaller.seconds is None else rest.seconds + smaller.seconds
    cost = None if rest.cost is None else rest.cost + (smaller.cost or 0.0)  # unknown is no reason to lose the rest
    return replace(
        rest, seconds=None if seconds is None else Seconds(seconds), cost=None if cost is None else Usd(cost)
    )


def _checked_seed(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise InvalidInput(f"the seed is {seed!r}", where="Study", hint="Give a whole number, such as seed=1")
    return seed


def _nothing_to_ask(answer: Wait | Over) -> StudyOver:
    if isinstance(answer, Wait):
        return StudyOver(f"nothing is to be tested now: {answer.why}", where="ask", hint="Tell a result first")
    hint = "Raise the budget, give stop='never', or widen the space, to go on"
    return StudyOver(f"the study is over: {answer.why}", where="ask", hint=hint)


def _tuner(strategy: str | Recipe | Tuner) -> tuple[Tuner, str, dict[str, object]]:
    """The tuner, its name and its options; one of the caller's own is known by what it is made of."""
    if isinstance(strategy, str):
        return named_tuner(strategy), strategy, {}
    if isinstance(strategy, Recipe):
        return at_work(strategy), strategy.name, {"recipe": repr(strategy)}
    return strategy, getattr(strategy, "name", type(strategy).__name__), {"tuner": repr(strategy)}
