"""Runs trials by looking them up in a table of measurements, on a simulated clock."""

import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from operator import itemgetter

from leantune.clock import SimulatedClock
from leantune.errors import ObservationError
from leantune.executors.base import BaseExecutor, Begun, EndMode, Event, Finished, FreeCapacity, Report, Terms
from leantune.history import Observation, ObservationKind, Trial, TrialState, observe, told_dollars
from leantune.problem import Problem
from leantune.units import NO_SECONDS, Seconds, Usd


@dataclass(frozen=True)
class Measurement:
    """One row of a table: what a run reported and how long it took.

    failure: why it brought no metrics. cost: its dollars; None: seconds times the configuration's rate. cut: the run
    had reached a time limit, so that its seconds and dollars are lower bounds. deviations: standard deviations of one
    run, by metric ("time": of the seconds); empty where unknown.
    """

    metrics: Mapping[str, float]
    seconds: float
    failure: str = ""
    cost: float | None = None
    cut: bool = False
    deviations: Mapping[str, float] = field(default_factory=dict)


Drawn = Callable[[Measurement, int], Measurement]  # of a measurement, for a trial's number
Table = Mapping[tuple[str, Fraction], Measurement]  # by configuration id and share of the data


@dataclass(slots=True)
class _Run:
    """usd: its dollars, None where they are seconds times the machine's price. reports: results before its end."""

    end: float
    finished: Finished
    usd: float | None = None
    reports: deque[tuple[float, Report]] = field(default_factory=deque)

    @property
    def next_time(self) -> float:
        return self.reports[0][0] if self.reports else self.end


class ReplayExecutor(BaseExecutor):
    """Every trial takes as long as the table says, and any number run at once.

    A trial with snapshots takes as long as its largest share and brings one observation per snapshot, but for those
    that are gaps of the problem. A trial that goes on from one at a smaller share takes the difference. drawn: what a
    trial measures where the table has that; by default the same. reports: whether a run tells of each share when it has
    passed it, so that it can be judged midway, and not only at its end.
    """

    def __init__(
        self,
        table: Table,
        clock: SimulatedClock,
        *,
        problem: Problem,
        drawn: Drawn | None = None,
        reports: bool = False,
    ) -> None:
        self._table = table
        self._clock = clock
        self._problem = problem
        self._drawn = drawn
        self._reports = reports
        self._runs: dict[int, _Run] = {}  # in the order of their starts
        self._begun: list[Begun] = []  # not told yet
        self._due = -math.inf  # ends up to this moment have come, even if the clock was rounded to just before it

    @property
    def running(self) -> frozenset[int]:
        """Numbers of the trials that are started and not yet told as finished."""
        return frozenset(self._runs)

    def check(self, trial: Trial) -> None:
        """Any trial of the table can be run."""
        for share in self._reported(trial):
            self._measurement(trial, share)

    def capacity(self) -> FreeCapacity:
        """Any number run at once."""
        return FreeCapacity(self.running)

    def start(self, trial: Trial, terms: Terms = Terms()) -> None:  # noqa: B008 - frozen
        """Look the trial up and let it end when its seconds have passed."""
        self._refuse_twice(trial.number, self._runs)
        finished, now = self.outcome(trial, terms), self._clock.now()
        seconds, dollars = _earlier(terms)
        priced = trial.configuration.usd_per_hour is not None
        usd = None if priced else max(0.0, told_dollars(finished.observations) - dollars)
        passed = _on_the_way(finished, seconds) if self._reports else ()
        reports = deque((now + report.seconds, report) for report in passed)
        self._runs[trial.number] = _Run(now + finished.seconds, finished, usd, reports)
        self._begun.append(Begun(trial.number, now))

    def step(self, now: float) -> list[Event]:
        """Runs that have begun, their reports, and those whose end has come."""
        until = max(now, self._due)
        moments: list[tuple[float, Event]] = [(event.time, event) for event in self._begun]
        for run in self._runs.values():
            while run.reports and run.reports[0][0] <= until:
                moments.append(run.reports.popleft())
        ended = [run for run in self._runs.values() if run.end <= until]
        moments += [(run.end, run.finished) for run in ended]
        for run in ended:
            del self._runs[run.finished.number]
        self._begun = []
        return [event for _, event in sorted(moments, key=itemgetter(0))]  # of one moment, in this order

    def next_event_time(self) -> float | None:
        """The earliest end, or report before it."""
        return min((run.next_time for run in self._runs.values()), default=None)

    def wait(self, timeout: Seconds | None = None) -> None:
        """Let the clock go on to the next event, or by `timeout` if that comes first."""
        end = self.next_event_time()
        if end is None:
            return
        seconds = max(0.0, end - self._clock.now())
        if timeout is not None and timeout < seconds:
            self._clock.sleep(timeout)
            return
        self._clock.sleep(seconds)
        self._due = end

    def renew(self, number: int, ago: Seconds = NO_SECONDS) -> None:
        """A look into a table ends with its process, so there is nothing to end by itself."""

    def end(self, number: int, mode: EndMode) -> None:
        """End the run now, unless its end has come; a table has no checkpoints, so it will start over."""
        self._check_running(number)
        run, now = self._runs[number], self._clock.now()
        if mode is EndMode.KILL:
            del self._runs[number]
            self._begun = [begun for begun in self._begun if begun.number != number]
        elif run.end > max(now, self._due):
            whole = run.finished
            seconds = max(0.0, now - (run.end - whole.seconds))
            usd = None if run.usd is None or whole.seconds <= 0 else Usd(run.usd * seconds / whole.seconds)
            state, continued = TrialState.QUEUED, whole.continued
            ended = Finished(
                number, (), state, "interrupted", Seconds(seconds), usd=usd, kept_step=0.0, continued=continued
            )
            self._runs[number] = _Run(now, ended)

    def forget(self, number: int) -> None:
        """Nothing was kept."""
        self._refuse_running(number)

    def close(self) -> None:
        """Forget all of them."""
        self._runs.clear()
        self._begun.clear()

    def outcome(self, trial: Trial, terms: Terms) -> Finished:
        """How the run ends; a failure, or its time limit, ends it before the larger snapshots."""
        observations: list[Observation] = []
        before, _ = _earlier(terms)
        limit = None if terms.time_limit is None else terms.time_limit + before
        timed_out = False
        for share in self._reported(trial):
            measurement = self._measurement(trial, share)
            if self._drawn is not None:
                measurement = self._drawn(measurement, trial.number)
            observation = self._observation(trial, share, measurement)
            if limit is not None and (observation.seconds or 0.0) > limit:
                timed_out, measurement = True, _ended_at(limit, measurement)
                observation = self._observation(trial, share, measurement)
            observations.append(observation)
            if measurement.failure:
                break
        failure, seconds = measurement.failure, max(0.0, (observation.seconds or 0.0) - before)
        state = TrialState.FAILED if failure else TrialState.DONE
        return Finished(
            trial.number,
            tuple(observations),
            state,
            failure,
            Seconds(seconds),
            continued=terms.continues is not None,
            timed_out=timed_out,
        )

    def _observation(self, trial: Trial, share: Fraction, measurement: Measurement) -> Observation:
        seconds, cost, cause = measurement.seconds, measurement.cost, measurement.failure
        kind = ObservationKind.CENSORED if measurement.cut else ObservationKind.MEASURED
        if kind is ObservationKind.CENSORED:
            cause = f"cut after {seconds:g} s"
        if measurement.failure:
            kind, cause = ObservationKind.FAILED, measurement.failure
        metrics = {} if kind is ObservationKind.FAILED else measurement.metrics
        return observe(
            self._problem, trial, metrics, seconds=seconds, cost=cost, fraction=share, kind=kind, cause=cause
        )

    def _reported(self, trial: Trial) -> list[Fraction]:
        """Its snapshots without those whose results are missing from the table; the last must be there."""
        gaps, identity = self._problem.gaps, trial.configuration.id
        return [share for share in trial.snapshots if share == trial.fraction or (identity, share) not in gaps]

    def _measurement(self, trial: Trial, share: Fraction) -> Measurement:
        measurement = self._table.get((trial.configuration.id, share))
        if measurement is None:
            raise ObservationError(
                f"the table has no measurement of {trial.configuration} at the share {share}",
                where=f"trial {trial.number}",
                hint="Propose only what the table holds, or add the measurement to it",
            )
        return measurement


def _on_the_way(finished: Finished, before: float) -> list[Report]:
    """Reports of a run at the shares that it passes, without its end; before: seconds of the run it goes on from."""
    return [
        Report(finished.number, max(0.0, (seen.seconds or 0.0) - before), seen.metrics, fraction=seen.fraction)
        for seen in finished.observations[:-1]
    ]


def _earlier(terms: Terms) -> tuple[float, float]:
    """Seconds and dollars of the run that a run goes on from."""
    if terms.continues is None:
        return 0.0, 0.0
    return terms.continues[1].seconds or 0.0, terms.continues[1].cost or 0.0


def _ended_at(limit: float, measurement: Measurement) -> Measurement:
    """The run when it ends before its time; its dollars shrink with its seconds."""
    cost = None if measurement.cost is None else measurement.cost * limit / measurement.seconds
    failure = f"timeout: not ended after {limit:g} s"
    return replace(measurement, seconds=limit, cost=cost, failure=failure)
