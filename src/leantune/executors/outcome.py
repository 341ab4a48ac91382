"""How a run ended, in the terms of a trial: one set of rules for programs and functions. Pure.

The result of a run is the last value that it reported for each metric that the problem requires, at each share of the
data that the trial is to report at; reports that name no share count for the trial's own. Time is what was measured,
never what was reported. A run that did not end well is failed, with one sentence that says why.
"""

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fractions import Fraction
from math import isclose, isfinite
from typing import NamedTuple

from leantune.executors.base import Finished, Report, Terms
from leantune.history import Observation, ObservationKind, Trial, TrialState, observe
from leantune.problem import COST, TIME, Problem, Scale
from leantune.units import LARGEST, Seconds, is_value
from leantune.worker.lines import ProgramReport, ReportLimits, plain, read_pairs
from leantune.worker.messages import EndReason

MOST_NAMES = 100  # of metrics that are remembered, where a program invents new names without end
ROUNDED = 1e-4  # relative: a share that a program printed as a decimal is the trial's own
_OUT_OF_MEMORY = re.compile(
    r"\bMemoryError\b|\bOutOfMemoryError\b|out of memory|cannot allocate memory|std::bad_alloc|Unable to allocate",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Ending:
    """How a run ended, in any executor.

    code: exit code, or minus the signal. failure: why it could not be started, or what it raised. notes: what else went
    wrong.
    """

    seconds: Seconds
    code: int = 0
    why: EndReason = EndReason.NONE
    failure: str = ""
    kernel_oom: bool = False
    peak_bytes: int = 0
    last_line: str = ""
    last_error: str = ""
    tail: str = ""
    log: str = ""
    notes: tuple[str, ...] = ()


class Restored(NamedTuple):
    """What a run begins with.

    own: what an earlier attempt of the trial saved. continued: the training began with what a trial at a smaller share
    left, in this attempt or in the one whose checkpoint it goes on from.
    """

    own: bool = False
    continued: bool = False

    def earlier_seconds(self, terms: Terms) -> float:
        """Training seconds of the trial that it goes on from."""
        own = terms.earlier_seconds if self.own else 0.0
        smaller = terms.continues[1].seconds if self.continued and terms.continues is not None else None
        return own + (smaller or 0.0)

    def earlier_usd(self, terms: Terms) -> float:
        """Dollars of the trial that it goes on from."""
        own = terms.earlier_usd if self.own else 0.0
        smaller = terms.continues[1].cost if self.continued and terms.continues is not None else None
        return own + (smaller or 0.0)


@dataclass
class ShareResult:
    """Metrics told at one share; seconds since the beginning of the training, dollars where they were told."""

    metrics: dict[str, float] = field(default_factory=dict)
    seconds: float | None = None
    cost: float | None = None


@dataclass
class ReportLog:
    """The reports of a run that its result needs. step: the last one that it reported."""

    problem: Problem
    trial: Trial
    results: dict[Fraction, ShareResult] = field(default_factory=dict)
    step: float | None = None
    names: dict[str, None] = field(default_factory=dict)
    odd_fraction: str = ""
    limits: ReportLimits = field(default_factory=ReportLimits)

    def hear(self, said: ProgramReport, seconds: float, *, on_purpose: bool) -> Report | None:
        """Take note of a report; None when it is just output (a JSON object with nothing that the problem requires), or
        one too many: its last values still count.

        on_purpose: it came through `current_trial()`, so all of it is meant as a report.
        """
        self.names.update(dict.fromkeys(list(said.metrics)[: MOST_NAMES - len(self.names)]))
        self.odd_fraction = self.odd_fraction or said.odd_fraction
        required = self.problem.required_metrics
        wanted = any(name in said.metrics for name in required) or (not required and said.fraction is not None)
        if not (wanted or on_purpose) or said.odd_fraction:
            return None
        share = self.share(said.fraction)
        first_there = share != self.trial.fraction and share in self.trial.snapshots and share not in self.results
        is_kept = first_there or self.limits.keeps(seconds)
        if share is not None and (is_kept or share == self.trial.fraction):
            self.take(share, said.metrics, seconds if wanted else None)
        self.step = self.step if said.step is None else said.step
        if not is_kept:
            return None
        metrics = self.limits.shortened(said.metrics, required)
        return Report(self.trial.number, seconds, metrics, said.step, said.fraction and (share or said.fraction))

    def share(self, fraction: Fraction | None) -> Fraction | None:
        """The share among the trial's own that is meant; None when it is another."""
        if fraction is None:
            return self.trial.fraction
        close = (own for own in self.trial.snapshots if isclose(own, fraction, rel_tol=ROUNDED))
        return next(close, None)

    def take(
        self, share: Fraction, metrics: Mapping[str, float], seconds: float | None, cost: float | None = None
    ) -> None:
        """What was told at one of the trial's shares; a later value of a metric replaces an earlier one."""
        result = self.results.setdefault(share, ShareResult())
        for name, value in metrics.items():
            wanted = name in self.problem.required_metrics or name in result.metrics or len(result.metrics) < MOST_NAMES
            if wanted and name not in (COST, TIME):
                result.metrics[name] = value
        result.seconds = result.seconds if seconds is None else seconds
        result.cost = result.cost if cost is None else cost

    def fill_in(self, reported: Mapping[str, float]) -> None:
        """Metrics that earlier attempts reported, for a run that came to its end and had nothing left to say."""
        own = self.results.get(self.trial.fraction, ShareResult()).metrics
        missing = {name: value for name, value in reported.items() if name not in own}
        if missing:
            self.take(self.trial.fraction, missing, None)

    def fault(self, share: Fraction) -> str:
        """What is missing or wrong in the report at the share; empty when nothing is."""
        result = self.results.get(share)
        if result is None and not self.problem.required_metrics:
            return "" if share == self.trial.fraction else f"the share {share} was not reported"
        metrics = result.metrics if result is not None else {}
        for name in self.problem.required_metrics:
            if name not in metrics:
                return self._missing(name, share)
            if not is_value(metrics[name]):
                return f"{name} is {metrics[name]}" + (f", beyond {LARGEST:g}" if isfinite(metrics[name]) else "")
        goal = self.problem.goal
        if goal.scale is Scale.SHARE and not 0.0 <= metrics.get(goal.metric, 0.0) <= 1.0:
            return f"{goal.metric} is {metrics[goal.metric]:g}: declared as a share, 0 to 1"
        return ""

    def _missing(self, name: str, share: Fraction) -> str:
        at = "" if len(self.trial.snapshots) == 1 else f" at the share {share}"
        others = [other for other in self.names if other != name]
        close = get_close_matches(name, others, n=1, cutoff=0.5)
        why = f"; got {', '.join(others)}" if others else ""
        if name in self.names and at:
            why = f" (report it with fraction={share})"
        elif close:
            why = f" (did you mean {close[0]!r}?)"
        elif self.odd_fraction:
            why = f"; a report names the share {self.odd_fraction}, which is none"
        return f"metric {name!r} was not reported{at}{why}"


def outcome(
    log: ReportLog,
    ending: Ending,
    restored: Restored = Restored(),  # noqa: B008 - frozen
    terms: Terms = Terms(),  # noqa: B008 - frozen
    *,
    evicted: bool = False,
) -> Finished:
    """The verdict on a run: done, failed, or (interrupted by us, or its lease lost) to be run again.

    restored: where it went on from a checkpoint, the training took longer by what the terms say of that. What earlier
    attempts of the trial reported counts where it came to its end by itself without a word: then it went on from what
    they left, wherever the program keeps that. evicted: it had to leave: it is not done if it ended when it was asked
    to, even with exit code 0 and a report of a part of its training.
    """
    ending = replace(ending, notes=(*ending.notes, *log.limits.notes))
    _hear_last_lines(log, ending)
    restored = restored._replace(own=restored.own or _has_nothing_left_to_do(log, ending, terms))
    if restored.own and not ending.why:
        log.fill_in(terms.reported)
    end = Finished(log.trial.number, (), TrialState.DONE, "", ending.seconds, restored.own)
    if ending.why in (EndReason.LEASE, EndReason.ORPHANED):
        return end._replace(state=TrialState.LOST, cause=_sentence("its lease was not renewed in time", ending))
    end = end._replace(continued=restored.continued)
    failure = _failure(log, ending, terms)
    shares = log.trial.snapshots
    faulty = next((share for share in shares if not _good(log, share, any(restored))), None)
    left_early = evicted and ending.why is EndReason.STOP
    if left_early or (ending.why in (EndReason.STOP, EndReason.SIGNAL) and (failure or faulty is not None)):
        return end._replace(state=TrialState.QUEUED, cause=_sentence("interrupted", ending))
    seconds = ending.seconds + restored.earlier_seconds(terms)
    # A program that crashed did so on its way to its largest share; its earlier reports stand.
    at = faulty if faulty is not None and not failure else shares[-1]
    failure = failure or (log.fault(faulty) if faulty is not None else "")
    if not failure:
        seen = tuple(_measured(log, share, seconds) for share in shares if share in log.results or share == shares[-1])
        return end._replace(observations=seen, cause="; ".join(ending.notes))
    cause = _sentence(failure, ending)
    sound = shares[: shares.index(at if faulty is None else faulty)]
    before = [_measured(log, share, seconds) for share in sound if share in log.results]
    last = observe(log.problem, log.trial, {}, seconds=seconds, fraction=at, kind=ObservationKind.FAILED, cause=cause)
    timed_out = ending.why is EndReason.TIMEOUT and not ending.failure
    end = end._replace(observations=(*before, last), state=TrialState.FAILED, cause=cause, timed_out=timed_out)
    return end._replace(fault="" if log.results or timed_out or _out_of_memory(ending) else failure)


def _has_nothing_left_to_do(log: ReportLog, ending: Ending, terms: Terms) -> bool:
    """Whether it ended well and reported nothing, of a trial whose earlier attempts have."""
    return bool(terms.reported) and not log.results and not ending.why and not _failure(log, ending, terms)


def _good(log: ReportLog, share: Fraction, resumed: bool) -> bool:
    """Nothing wrong at the share; a run that went on from a checkpoint may have passed a smaller one before."""
    passed_before = resumed and share not in log.results and share != log.trial.fraction
    return passed_before or not log.fault(share)


def _hear_last_lines(log: ReportLog, ending: Ending) -> None:
    """`accuracy=0.93` as the last line counts for a metric that no report brought."""
    for line in (ending.last_line, ending.last_error):
        pairs = read_pairs(line)
        log.names.update(dict.fromkeys(list(pairs)[: MOST_NAMES - len(log.names)]))
        reported = log.results[log.trial.fraction].metrics if log.trial.fraction in log.results else {}
        new = {name: pairs[name] for name in log.problem.required_metrics if name in pairs and name not in reported}
        if new:
            log.take(log.trial.fraction, new, None)


def _measured(log: ReportLog, share: Fraction, seconds: float) -> Observation:
    """The largest share took as long as the whole run, whose machine was paid to its end."""
    result = log.results.get(share, ShareResult())
    metrics = {name: value for name, value in result.metrics.items() if is_value(value)}
    at_share = seconds if share == log.trial.fraction or result.seconds is None else min(result.seconds, seconds)
    return observe(log.problem, log.trial, metrics, seconds=at_share, cost=result.cost, fraction=share)


def _failure(log: ReportLog, ending: Ending, terms: Terms) -> str:
    """What was wrong with the run itself, apart from its reports; empty when nothing was."""
    if ending.failure:
        return ending.failure
    if ending.why is EndReason.TIMEOUT:
        return f"timeout: not ended after {terms.shown_limit or ending.seconds:.4g} s"
    how = _how_it_ended(ending)
    if ending.why is EndReason.MEMORY:
        return f"out of memory: {_gib(ending.peak_bytes)} used{_of_machine(log.trial)}"
    if ending.kernel_oom:
        return f"out of memory: the kernel killed it at {_gib(ending.peak_bytes)}"
    return f"out of memory: {how}" if _out_of_memory(ending) else how


def _out_of_memory(ending: Ending) -> bool:
    """Whether it ended for want of memory, by our word, the kernel's or its own."""
    said_so = ending.code != 0 and _OUT_OF_MEMORY.search(ending.tail) is not None
    return ending.why is EndReason.MEMORY or ending.kernel_oom or said_so


def _how_it_ended(ending: Ending) -> str:
    if ending.code < 0:
        try:
            name = signal.Signals(-ending.code).name
        except ValueError:
            name = "of the system"
        return f"killed by signal {name} ({-ending.code})"
    if ending.code > 0:
        said = plain(ending.last_error) or plain(ending.last_line)
        return f"exit code {ending.code}: {said}" if said else f"exit code {ending.code}"
    return ""


def _sentence(what: str, ending: Ending) -> str:
    log = f" (log: {ending.log})" if ending.log else ""
    return "; ".join((what, *ending.notes)) + log


def _of_machine(trial: Trial) -> str:
    cluster = trial.configuration.cluster
    return f", {cluster} has {cluster.memory_gib:.3g} GiB" if cluster is not None else ""


def _gib(size: int) -> str:
    return f"{size / 2**30:.3g} GiB"
