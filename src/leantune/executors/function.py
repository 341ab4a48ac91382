"""Runs trials by calling a Python function in this thread, one at a time: what `study.optimize(train)` does."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from leantune.checkpoints.store import CheckpointStore
from leantune.clock import Clock
from leantune.errors import ObservationError
from leantune.executors.base import BaseExecutor, Begun, EndMode, Event, Finished, FreeCapacity, Terms
from leantune.executors.keeper import Checkpoints, Keeper
from leantune.executors.outcome import Ending, ReportLog, Restored, outcome
from leantune.history import Trial, TrialState
from leantune.problem import Problem
from leantune.units import NO_SECONDS, Seconds, parse_share
from leantune.worker.client import CurrentTrial, acting, real_number
from leantune.worker.lines import read_mapping
from leantune.worker.messages import EndReason

Train = Callable[[CurrentTrial], Any]


@runtime_checkable
class SnapshotLike(Protocol):
    """One result of a function at one share of the data; a function may return a list of them."""

    fraction: Fraction
    metrics: Mapping[str, float]
    seconds: float | None  # since the start of the run
    cost: float | None  # dollars, where they are not seconds times the machine's price


class FunctionExecutor(BaseExecutor):
    """`start` only remembers a trial; `wait` calls `train(trial)` for the first one, and `step` tells how that went.

    The function returns its metrics, or a list of snapshots, or nothing when it has told everything by
    `trial.report(...)`; `current_trial()` works inside. An exception of a kind in `catch` makes the trial failed, any
    other comes out of `wait`, and the trial is no longer running. A function cannot be ended from outside: a time limit
    is only found to be exceeded afterwards, and nothing is enforced of a cluster.
    """

    def __init__(
        self,
        problem: Problem,
        train: Train,
        clock: Clock,
        *,
        catch: tuple[type[Exception], ...] = (),
        runs: Path | None = None,
        checkpoints: CheckpointStore | None = None,
    ) -> None:
        """runs: gets a folder for each trial's checkpoint; without it a checkpoint lives as long as its run."""
        self._problem, self._train, self._clock, self._catch = problem, train, clock, catch
        self._checkpoints = None if runs is None else Checkpoints(runs, checkpoints, clock)
        self._waiting: dict[int, tuple[Trial, Terms]] = {}
        self._current: CurrentTrial | None = None
        self._evicted: set[int] = set()
        self._news: list[Event] = []  # not told yet

    @property
    def running(self) -> frozenset[int]:
        """Numbers of the trials that are started and not yet told as finished."""
        return frozenset(self._waiting) | {event.number for event in self._news if isinstance(event, Finished)}

    def check(self, trial: Trial) -> None:
        """Any trial can run in a function."""

    def capacity(self) -> FreeCapacity:
        """One at a time."""
        return FreeCapacity(self.running, slots=0 if self.running else 1)

    def start(self, trial: Trial, terms: Terms = Terms()) -> None:  # noqa: B008 - frozen
        """Remember the trial for `wait`."""
        self._refuse_twice(trial.number, self.running)
        self._waiting[trial.number] = (trial, terms)

    def step(self, now: float) -> list[Event]:
        """Reports and ends of functions."""
        news, self._news = self._news, []
        return news

    def wait(self, timeout: Seconds | None = None) -> None:
        """Call the function for the trial that was started first, however long that takes; 0 calls nothing.

        Nothing is called either while there is an end to tell.
        """
        untold = self.running - self._waiting.keys()
        if untold or not self._waiting or (timeout is not None and timeout <= 0.0):
            return
        number, (trial, terms) = next(iter(self._waiting.items()))
        try:
            finished = _Call(self, trial, terms).run()
        finally:
            was_killed = self._waiting.pop(number, None) is None
            self._current = None
            self._evicted.discard(number)
        if not was_killed:
            self._news.append(finished)

    def renew(self, number: int, ago: Seconds = NO_SECONDS) -> None:
        """A function ends with its process, so there is nothing to end by itself."""

    def end(self, number: int, mode: EndMode) -> None:
        """Make `trial.should_stop` true; a trial whose turn has not come is given back at once.

        A function that is being called cannot be killed: its result is not told.
        """
        self._check_running(number)
        if mode is EndMode.KILL:
            self._waiting.pop(number, None)
            self._news = [event for event in self._news if event.number != number]
        elif self._current is not None and self._current.number == number:
            self._current.request_stop()
            if mode is EndMode.EVICT:
                self._evicted.add(number)
        elif self._waiting.pop(number, None) is not None:
            self._news.append(Finished(number, (), TrialState.QUEUED, "interrupted"))

    def forget(self, number: int) -> None:
        """Remove the trial's checkpoint, if there is a place for them, in the background."""
        self._refuse_running(number)
        if self._checkpoints is not None:
            self._checkpoints.forget(number)

    def kept(self, numbers: Iterable[int]) -> frozenset[int]:
        """Those whose folder, or place in the store, holds something."""
        return frozenset() if self._checkpoints is None else self._checkpoints.kept(numbers)

    def close(self) -> None:
        """Forget all of them."""
        self._waiting.clear()
        self._news.clear()
        if self._checkpoints is not None:
            self._checkpoints.close()


class _Call:
    """One call of the function, with its trial, its folder and its reports (a `TrialLink`)."""

    own_process = False

    def __init__(self, executor: FunctionExecutor, trial: Trial, terms: Terms) -> None:
        self._executor, self._trial, self._terms = executor, trial, terms
        self._log = ReportLog(executor._problem, trial)
        self._temporary: Path | None = None
        checkpoints = executor._checkpoints
        self._keeper = None if checkpoints is None else Keeper(checkpoints, trial.number)

    def run(self) -> Finished:
        """Call it, and say how it ended."""
        restored = self._restore()
        current = self._executor._current = CurrentTrial(
            number=self._trial.number,
            attempt=self._terms.attempt,
            seed=self._terms.seed,
            fraction=self._trial.fraction,
            snapshots=self._trial.snapshots,
            parameters=self._trial.configuration,
            link=self,
        )
        self._began = self._executor._clock.monotonic()
        if self._keeper is not None:
            self._keeper.begin(self._began)
        step = None if any(restored) else 0.0
        self._executor._news.append(Begun(self._trial.number, self._executor._clock.now(), step))
        self._earlier, self._earlier_usd = restored.earlier_seconds(self._terms), restored.earlier_usd(self._terms)
        try:
            failure = self._call(current)
        except BaseException:
            self._settle(TrialState.QUEUED)  # the next attempt finds its checkpoint
            raise
        finished = outcome(
            self._log,
            self._ending(failure, current.should_stop),
            restored,
            self._terms,
            evicted=self._trial.number in self._executor._evicted,
        )
        self._settle(finished.state)
        if self._keeper is None:
            return finished._replace(kept_step=0.0 if finished.state is TrialState.QUEUED else None)
        return self._keeper.with_checkpoint(finished, self._log.step)

    def _call(self, current: CurrentTrial) -> str:
        """Why it failed, or nothing."""
        try:
            with acting(current):
                result = self._executor._train(current)
        except self._executor._catch as error:
            kind = "out of memory" if isinstance(error, MemoryError) else type(error).__name__
            return f"{kind}: {error}"
        if isinstance(result, Mapping):
            self._take(self._trial.fraction, result, None, None)
        elif isinstance(result, Iterable) and not isinstance(result, str | bytes):
            for shot in result:
                self._take_shot(shot)
        elif result is not None:
            raise self._strange(result)
        return ""

    def _take_shot(self, shot: object) -> None:
        if not isinstance(shot, SnapshotLike):
            raise self._strange(shot)
        share = self._log.share(parse_share(shot.fraction))
        if share is not None:
            seconds = None if shot.seconds is None else shot.seconds + self._earlier
            cost = None if shot.cost is None else shot.cost + self._earlier_usd
            self._take(share, shot.metrics, seconds, cost)

    def _take(self, share: Fraction, metrics: Mapping[str, object], seconds: float | None, cost: float | None) -> None:
        numbers = {name: number for name, value in metrics.items() if (number := real_number(value)) is not None}
        self._log.names.update(dict.fromkeys(numbers))
        self._log.take(share, numbers, seconds, cost)

    def send(self, message: dict[str, object]) -> None:
        """Hear a report."""
        seconds = self._executor._clock.monotonic() - self._began
        report = self._log.hear(read_mapping(message), seconds, on_purpose=True)
        if report is not None:
            self._executor._news.append(report)
            if report.fraction in self._log.results:
                self._log.results[report.fraction].seconds = seconds + self._earlier

    def _ending(self, failure: str, stopped: bool) -> Ending:
        seconds = max(0.0, self._executor._clock.monotonic() - self._began)
        limit = self._terms.time_limit
        why = EndReason.STOP if stopped else EndReason.NONE
        if limit is not None and seconds > limit:
            why = EndReason.TIMEOUT
        notes = tuple(self._keeper.notes) if self._keeper is not None else ()
        return Ending(Seconds(seconds), why=why, failure=failure, notes=notes)

    def _strange(self, result: object) -> ObservationError:
        return ObservationError(
            f"the training function returned {result!r}",
            where=f"trial {self._trial.number}",
            hint="Return metrics such as {'accuracy': 0.93}, a list of snapshots, or nothing after trial.report(...)",
        )

    # -- its checkpoint

    def _restore(self) -> Restored:
        if self._keeper is None:
            return Restored()
        self._keeper.folder.make()
        return self._keeper.restore(self._terms.attempt, self._terms.smaller)

    def checkpoint_dir(self) -> Path:
        """The trial's folder, or one that lives as long as the call."""
        if self._keeper is not None:
            return self._keeper.folder.checkpoint
        if self._temporary is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="leantune-checkpoint-"))
        return self._temporary

    def _settle(self, state: TrialState) -> None:
        """Keep the checkpoint where there is a place."""
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
        saving = None if self._keeper is None else self._keeper.settle(state, keep=self._terms.keep)
        if saving is not None:
            saving.result()
