"""Runs trials by looking them up in a table of measurements, on a simulated clock: hours pass in no time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from leantune.clock import SimulatedClock
from leantune.errors import IllegalMove, ObservationError, UnknownTrial
from leantune.executors.base import Finished, Report, Terms
from leantune.history import Observation, ObservationKind, Trial, TrialState, observe
from leantune.problem import Problem
from leantune.units import Seconds


@dataclass(frozen=True)
class Measurement:
    """One row of a table: what a run reported and how long it took.

    failure: why it brought no metrics. cost: its dollars; None: seconds times the configuration's rate. cut: the run
    had reached a time limit, so that its seconds and dollars are lower bounds. deviations: standard deviations of one
    run, by metric ("time": of the seconds); empty where nobody knows them.
    """

    metrics: Mapping[str, float]
    seconds: float
    failure: str = ""
    cost: float | None = None
    cut: bool = False
    deviations: Mapping[str, float] = field(default_factory=dict)


Drawn = Callable[[Measurement, int], Measurement]  # of a measurement, for a trial's number
Table = Mapping[tuple[str, Fraction], Measurement]  # by configuration id and share of the data


@dataclass(frozen=True, order=True)
class _Run:
    end: float
    turn: int  # counts the starts; breaks ties
    trial: Trial = field(compare=False)
    finished: Finished = field(compare=False)


class ReplayExecutor:
    """Every trial takes as long as the table says, and any number run at once.

    A trial with snapshots takes as long as its largest share and brings one observation per snapshot. drawn: what a
    trial measures where the table has that; by default the same.
    """

    def __init__(self, table: Table, clock: SimulatedClock, *, problem: Problem, drawn: Drawn | None = None) -> None:
        self._table = table
        self._clock = clock
        self._problem = problem
        self._drawn = drawn
        self._runs: dict[int, _Run] = {}
        self._turn = 0

    @property
    def running(self) -> frozenset[int]:
        """Numbers of the trials that are started and not yet reported."""
        return frozenset(self._runs)

    def check(self, trial: Trial) -> None:
        """Every trial that the table holds can be run."""
        for share in trial.snapshots:
            self._measurement(trial, share)

    def room_for(self, trial: Trial) -> bool:
        """Any number run at once."""
        return trial.number not in self._runs

    def start(self, trial: Trial, terms: Terms = Terms()) -> None:  # noqa: B008 - frozen
        """Look the trial up and let it end when its seconds have passed."""
        if trial.number in self._runs:
            raise IllegalMove("it is running already", where=f"trial {trial.number}", hint="Start each trial once")
        finished = self._outcome(trial, terms)
        self._turn += 1
        self._runs[trial.number] = _Run(self._clock.now() + finished.seconds, self._turn, trial, finished)

    def wait(self, timeout: Seconds | None = None) -> list[Finished]:
        """Advance the clock to the earliest end, or by `timeout` if that comes first."""
        if not self._runs:
            return []
        until_end = max(0.0, min(self._runs.values()).end - self._clock.now())
        if timeout is not None and timeout < until_end:
            self._clock.sleep(timeout)
            return []
        self._clock.sleep(until_end)
        # The earliest has ended by definition, even if adding up seconds rounds to just before its end.
        earliest = min(self._runs.values())
        ended = sorted(run for run in self._runs.values() if run is earliest or run.end <= self._clock.now())
        for run in ended:
            del self._runs[run.trial.number]
        return [run.finished for run in ended]

    def reports(self) -> list[Report]:
        """A table knows only how runs ended."""
        return []

    def renew(self, number: int) -> None:
        """A look into a table ends with its process, so there is nothing to end by itself."""

    def interrupt(self, number: int) -> None:
        """End the run now; a table has no checkpoints, so it will start over."""
        run = self._taken(number)
        seconds = max(0.0, self._clock.now() - (run.end - run.finished.seconds))
        ended = Finished(number, (), TrialState.QUEUED, "interrupted", seconds)
        self._runs[number] = replace(run, end=self._clock.now(), finished=ended)

    def stop(self, number: int) -> None:
        """Forget a running trial."""
        self._taken(number)

    def close(self) -> None:
        """Forget all of them."""
        self._runs.clear()

    def _taken(self, number: int) -> _Run:
        if number not in self._runs:
            running = ", ".join(map(str, sorted(self._runs))) or "none"
            raise UnknownTrial(f"trial {number} is not running", where="ReplayExecutor", hint=f"Running: {running}")
        return self._runs.pop(number)

    def _outcome(self, trial: Trial, terms: Terms) -> Finished:
        """How the run ends; a failure, or its time limit, ends it before the larger snapshots."""
        observations: list[Observation] = []
        for share in trial.snapshots:
            measurement = self._measurement(trial, share)
            if self._drawn is not None:
                measurement = self._drawn(measurement, trial.number)
            observation = self._observation(trial, share, measurement)
            if terms.time_limit is not None and (observation.seconds or 0.0) > terms.time_limit:
                measurement = _ended_at(terms.time_limit, measurement)
                observation = self._observation(trial, share, measurement)
            observations.append(observation)
            if measurement.failure:
                break
        failure, seconds = measurement.failure, observation.seconds or 0.0
        state = TrialState.FAILED if failure else TrialState.DONE
        return Finished(trial.number, tuple(observations), state, failure, seconds)

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

    def _measurement(self, trial: Trial, share: Fraction) -> Measurement:
        measurement = self._table.get((trial.configuration.id, share))
        if measurement is None:
            raise ObservationError(
                f"the table has no measurement of {trial.configuration} at the share {share}",
                where=f"trial {trial.number}",
                hint="Propose only what the table holds, or add the measurement to it",
            )
        return measurement


def _ended_at(limit: float, measurement: Measurement) -> Measurement:
    """The run as it ends when it is not given all its time; its dollars go with its seconds."""
    cost = None if measurement.cost is None else measurement.cost * limit / measurement.seconds
    failure = f"timeout: not ended after {limit:g} s"
    return replace(measurement, seconds=limit, cost=cost, failure=failure)
