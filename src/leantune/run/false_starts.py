"""Programs that fail at once, before any trial of the study has reported: a typo, a missing file or library.

Such a run is queued again, with its cause and its dollars, and withheld until more is known: it costs no trial of the
budget and teaches no model. Where another configuration fails at once of the same cause, the study stops with advice,
and the same command goes on with both. Where anything is reported, where the causes differ, or where nothing else can
be started, withheld trials run again, and what they come to is recorded.

Nothing of this is stored: after a kill a withheld trial runs again, fails again, and is withheld again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain

from leantune.executors.base import Finished
from leantune.executors.command import values_of
from leantune.history import Trial, TrialState
from leantune.run.events import End, Outcome
from leantune.run.workers import Workplace
from leantune.text import clipped, duration

MOST_CAUSES = 3  # that differ; then it is the configurations that fail
_MASK = "*"


class FalseStarts:
    """As one worker has seen them."""

    def __init__(self, work: Workplace) -> None:
        self._store, self._seconds = work.store, work.settings.false_start
        self._seen: list[tuple[Trial, str]] = []  # with their faults
        self._over = self._seconds is None
        self.withheld: frozenset[int] = frozenset()
        self.end: End | None = None

    def checked(self, finished: Finished, trial: Trial) -> Finished:
        """A run's end, as it is recorded: queued again where it is a false start."""
        if finished.state is TrialState.DONE:
            self.close()
        if self._over or not finished.fault or finished.seconds > (self._seconds or 0.0) or self._is_proven():
            return finished
        twin = next((other for other, fault in self._seen if alike(other, fault, trial, finished.fault)), None)
        self._seen.append((trial, finished.fault))
        self.withheld |= {trial.number}
        if twin is not None:
            self.end = End(Outcome.FAILING, _advice(finished, twin.number))
        elif len({other.configuration.id for other, _ in self._seen}) > MOST_CAUSES:
            self.close()
        return finished._replace(state=TrialState.QUEUED, observations=(), kept_step=None)

    def close(self) -> bool:
        """From now on failures are those of configurations; whether any trial was withheld."""
        any_withheld = bool(self.withheld)
        self._over, self.withheld = True, frozenset()
        return any_withheld

    def _is_proven(self) -> bool:
        """Whether the program has ever shown that it works."""
        trials = self._store.history().trials
        if any(trial.observations for trial in trials if trial.state is not TrialState.FAILED) or self._store.reports():
            self.close()
        return self._over


def alike(first: Trial, its_fault: str, second: Trial, other_fault: str) -> bool:
    """Whether two configurations failed of the same cause: what differs is a value of one of them, or its number."""
    if first.configuration.id == second.configuration.id:
        return False
    values = (values_of(trial.configuration).values() for trial in (first, second))
    texts = {*chain(*values), str(first.number), str(second.number)}
    return _masked(its_fault, texts) == _masked(other_fault, texts)


def _masked(fault: str, texts: Iterable[str]) -> str:
    """Without these words; parts of words stay."""
    for text in sorted(filter(None, texts), key=len, reverse=True):
        fault = re.sub(rf"(?<![\w.]){re.escape(text)}(?![\w.])", _MASK, fault)
    return fault


def _advice(finished: Finished, other: int) -> str:
    first, second = sorted((other, finished.number))
    return (
        f"trials {first} and {second} failed alike, the last after {duration(finished.seconds)}, and nothing "
        f"has been reported yet: {clipped(finished.fault, 300)}. Put that right, and run the same command again: both "
        "are queued and cost no trial of the budget"
    )
