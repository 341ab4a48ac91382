"""The Python face: ask, tell, optimize, recommendation; in memory.

space = Space(lr=log(1e-5, 1e-1), cluster=clusters("aws", types=["t2.small"], nodes=[1, 2]))
study = Study(
    space, maximize("accuracy"), subject_to=["cost <= 0.10 USD"], fractions=[1/60, 0.1, 1], budget=Budget(trials=44)
)
study.optimize(train)  # train(trial) -> {"accuracy": ...}
study.recommendation()
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any, overload

from leantune.clock import Clock, RealClock
from leantune.errors import InvalidInput, ObservationError, StudyOver
from leantune.history import Estimate, History, Observation, ObservationKind, Trial, TrialState, observe
from leantune.problem import Budget, Constraint, Goal, Problem
from leantune.space import Configuration, Space
from leantune.strategies.proposals import Recommendation
from leantune.strategies.recipe import Recipe
from leantune.strategies.registry import recipe as named_recipe
from leantune.strategies.strategy import Strategy
from leantune.units import parse_share

DEFAULT_STRATEGY = "trimtuner-gp"
Metrics = Mapping[str, float]


@dataclass(frozen=True)
class Snapshot:
    """What one run showed when it passed `fraction` of the data; seconds count from the start of the run."""

    fraction: Fraction
    metrics: Metrics
    seconds: float | None = None
    cost: float | None = None


@dataclass(frozen=True)
class AskedTrial:
    """A test to run: trial["lr"], trial.fraction; expected: what the models predict; notes: where it comes from."""

    number: int
    configuration: Configuration
    fraction: Fraction
    snapshots: tuple[Fraction, ...]
    expected: Mapping[str, Estimate]
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> Any:
        return self.configuration[name]

    def snapshot(
        self, fraction: Fraction, metrics: Metrics, *, seconds: float | None = None, cost: float | None = None
    ) -> Snapshot:
        """What the run showed when it passed `fraction`, to be told with `snapshots=`."""
        return Snapshot(fraction, metrics, seconds, cost)


class Study:
    """A tuning study in memory. Every proposal is a pure function of the problem, the history and the seed."""

    def __init__(  # noqa: PLR0913 - the options of PRODUCT.md, all but two by name
        self,
        space: Space,
        goal: Goal,
        *,
        subject_to: Iterable[str | Constraint] = (),
        fractions: Iterable[int | float | str | Fraction] = (1,),
        budget: Budget | None = None,
        strategy: str | Recipe = DEFAULT_STRATEGY,
        seed: int = 0,
        snapshots: bool = False,
        clock: Clock | None = None,
    ) -> None:
        """snapshots: one run of the training program reports at every fraction it passes (then tell them with
        `snapshots=`).
        """
        self.problem = Problem(space, goal, subject_to, fractions, budget or Budget(), snapshots=snapshots)
        self.strategy = Strategy(named_recipe(strategy) if isinstance(strategy, str) else strategy)
        self.strategy.check(self.problem)
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise InvalidInput(f"the seed is {seed!r}", where="Study", hint="Give a whole number, such as seed=1")
        self.seed = seed
        self._clock = clock or RealClock()
        self._history = History()

    @property
    def history(self) -> History:
        """All trials so far; immutable."""
        return self._history

    @property
    def stop_reason(self) -> str | None:
        """Why the study is over (budget, stop rule), or None."""
        return self.strategy.stop_reason(self.problem, self._history, seed=self.seed)

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
        for _ in range(count):
            reason = self.stop_reason
            if reason is not None:
                if asked:
                    break
                raise StudyOver(f"the study is over: {reason}", where="ask", hint="Raise the budget to go on")
            proposal = self.strategy.ask(self.problem, self._history, seed=self.seed)[0]
            self._history, trial = self._history.propose(
                proposal.configuration,
                proposal.fraction,
                proposal.snapshots,
                note="; ".join(proposal.notes),
                time=self._clock.now(),
            )
            asked.append(
                AskedTrial(
                    trial.number,
                    trial.configuration,
                    trial.fraction,
                    trial.snapshots,
                    proposal.expected,
                    proposal.notes,
                )
            )
        return asked

    def enqueue(self, configuration: Mapping[str, object], fraction: int | float | str | Fraction = 1) -> AskedTrial:
        """A trial of your own choice, to be told like any other; it may repeat one."""
        checked = self.problem.space.configuration(configuration)
        share = self.problem.fractions[self.problem.level_of(parse_share(fraction))]
        note = "enqueued by the user"
        self._history, trial = self._history.propose(checked, share, note=note, time=self._clock.now())
        return AskedTrial(trial.number, checked, share, (share,), {}, (note,))

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
    ) -> None:
        """The result of a trial: metrics and seconds, or snapshots, or the cause of its failure.

        cut: the run was stopped at a limit, so that seconds and dollars are lower bounds. cost: dollars, where they are
        not seconds times the machine's rate.
        """
        found = self._history.trial(trial if isinstance(trial, int) else trial.number)
        kind = ObservationKind.FAILED if failed else ObservationKind.CENSORED if cut else ObservationKind.MEASURED
        if failed and metrics:
            raise ObservationError(
                "a failed run has no metrics", where=f"trial {found.number}", hint="Tell one or the other"
            )
        if snapshots and (metrics is not None or failed):
            raise ObservationError(
                "both snapshots and a result", where=f"trial {found.number}", hint="Tell one or the other"
            )
        if metrics is None and not failed and not snapshots:
            raise ObservationError(
                "nothing was told", where=f"trial {found.number}", hint="Give metrics, snapshots or failed="
            )
        if snapshots:
            observations = [self._snapshot(found, shot, kind) for shot in snapshots]
        else:
            single = observe(self.problem, found, metrics or {}, seconds=seconds, cost=cost, kind=kind, cause=failed)
            observations = [single]
        state = TrialState.FAILED if failed else TrialState.DONE
        self._history = self._history.record(
            found.number, observations, time=self._clock.now(), state=state, cause=failed
        )

    def _snapshot(self, trial: Trial, shot: Snapshot, kind: ObservationKind) -> Observation:
        return observe(
            self.problem, trial, shot.metrics, seconds=shot.seconds, cost=shot.cost, fraction=shot.fraction, kind=kind
        )

    def optimize(
        self,
        train: Callable[[AskedTrial], Metrics | Sequence[Snapshot]],
        *,
        trials: int | None = None,
        catch: tuple[type[Exception], ...] = (),
    ) -> Recommendation:
        """Ask, run, tell until the budget or `trials` more are used, then recommend. Seconds are measured here.

        A metric that is not finite, and an exception named in `catch`, make the trial failed: its cost is kept and the
        models learn to avoid its neighbourhood. Any other exception ends the call; its trial stays pending.
        """
        if trials is None and not self._limited:
            hint = "Give budget=Budget(trials=20), or optimize(train, trials=20)"
            raise InvalidInput("the study has no end", where="optimize", hint=hint)
        last = None if trials is None else len(self._history) + trials
        while (last is None or len(self._history) < last) and self.stop_reason is None:
            try:
                trial = self.ask()
            except StudyOver:
                break
            self._run(trial, train, catch)
        return self.recommendation()

    def _run(
        self,
        trial: AskedTrial,
        train: Callable[[AskedTrial], Metrics | Sequence[Snapshot]],
        catch: tuple[type[Exception], ...],
    ) -> None:
        started = self._clock.now()
        try:
            result = train(trial)
        except catch as error:
            cause = f"{type(error).__name__}: {error}"
            self.tell(trial, seconds=self._clock.now() - started, failed=cause)
            return
        seconds = self._clock.now() - started
        if not isinstance(result, Mapping):
            self.tell(trial, snapshots=result)
            return
        broken = [name for name in self.problem.required_metrics if not isfinite(result.get(name, 0.0))]
        if broken:
            self.tell(trial, seconds=seconds, failed=f"{broken[0]} is {result[broken[0]]}")
        else:
            self.tell(trial, result, seconds=seconds)

    @property
    def _limited(self) -> bool:
        budget = self.problem.budget
        return any(limit is not None for limit in (budget.usd, budget.trials, budget.hours)) or bool(
            self.strategy.recipe.stops
        )

    def recommendation(self) -> Recommendation:
        """The configuration to use, predicted metrics, the probability of each limit, and why."""
        return self.strategy.recommend(self.problem, self._history, seed=self.seed)
