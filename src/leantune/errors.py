"""The one error tree.

    LeanTuneError
    ├── InvalidInput (also a ValueError)   something the caller gave is wrong
    │   ├── SpaceError                     parameters, machines, configurations
    │   ├── ProblemError                   goal, constraints, fractions, budget
    │   ├── ObservationError               metrics, seconds, dollars that were told
    │   ├── StrategyError                  recipes and their options
    │   ├── JobError                       the job file; `where` names file, line and key
    │   └── TableError                     a table of measurements; `where` names file and line
    ├── HistoryError                       a trial cannot do that
    │   ├── UnknownTrial
    │   └── IllegalMove
    ├── StudyOver                          there is nothing left to propose, or nothing yet to recommend
    ├── StoreError                         the store of studies cannot do that
    │   ├── UnknownStudy
    │   ├── StudyChanged                   the study in the store was defined differently
    │   ├── IncompatibleStore              another program's database, or one of a newer LeanTune
    │   ├── Outdated                       another worker was faster: look at the history again
    │   └── LeaseLost                      the trial was given to another worker meanwhile
    ├── CheckpointError                    a checkpoint cannot be saved or restored
    ├── ProviderError                      the provider of machines cannot do that
    │   ├── LaunchRefused                  no machine available, and none is billed
    │   ├── UnknownMachine
    │   └── MachineGone                    it has ended before, and is billed
    ├── NoTrial                            current_trial() outside of a trial
    └── MissingExtra (also an ImportError) an optional library is not installed

Every error says what is wrong, where, and what would be right. None repeats the password of an address.
"""

import importlib
import re
import types
from collections.abc import Iterable

LONGEST_TEXT = 2000  # characters of what an error says, of where, and of the hint


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The begin of a hint about an unknown name: the most similar known name, or nothing."""
    from difflib import get_close_matches

    return "".join(f"Did you mean {close!r}? " for close in get_close_matches(name, list(names), n=1))


def _shortened(text: str) -> str:
    """A text that may repeat long input: without its middle beyond LONGEST_TEXT characters."""
    half = LONGEST_TEXT // 2
    return text if len(text) <= LONGEST_TEXT else f"{text[:half]} [...] {text[-half:]}"


_USER_PASSWORD = re.compile(r"(://[^\s:/]*):[^\n]*@")  # to the last @: one within a password may not be escaped
_NAMED_PASSWORD = re.compile(r"([?&](?:ssl)?password=)[^&\s'\"]*", re.IGNORECASE)


def without_passwords(text: str) -> str:
    """The text, with *** for the passwords of the addresses in it (scheme://user:password@host?password=...)."""
    if "://" not in text:
        return text
    return _NAMED_PASSWORD.sub(r"\1***", _USER_PASSWORD.sub(r"\1:***@", text))


class LeanTuneError(Exception):
    """Base of all errors: reads as "what (where). hint"."""

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what, self.where, self.hint = (_shortened(without_passwords(text)) for text in (what, where, hint))
        super().__init__(self.what)

    def __str__(self) -> str:
        """One line: what is wrong, where, and what would be right."""
        place = f" ({self.where})" if self.where else ""
        advice = f". {self.hint}" if self.hint else ""
        return f"{self.what}{place}{advice}"


class InvalidInput(LeanTuneError, ValueError):  # noqa: N818 - reads as what it is
    """Something the caller gave is wrong.

    path: where the mistake is inside the argument, such as ("lr", "when"). job_hint: the hint in terms of a
    job file, where `hint` speaks of Python calls.
    """

    def __init__(
        self, what: str, *, where: str = "", hint: str = "", path: tuple[str, ...] = (), job_hint: str = ""
    ) -> None:
        super().__init__(what, where=where, hint=hint)
        self.path = path
        self.job_hint = _shortened(job_hint or hint)


class SpaceError(InvalidInput):
    """A parameter, a machine, a space or a configuration is wrong."""


class ProblemError(InvalidInput):
    """A goal, a constraint, the fractions or the budget are wrong."""


class ObservationError(InvalidInput):
    """The told result of a run is wrong or incomplete."""


class StrategyError(InvalidInput):
    """A strategy or one of its options is wrong."""


class JobError(InvalidInput):
    """The job file is wrong."""


class TableError(InvalidInput):
    """A table of measurements, or an expression over its columns, is wrong."""


class HistoryError(LeanTuneError):
    """A trial cannot do what was asked of it."""


class UnknownTrial(HistoryError):  # noqa: N818 - reads as what it is
    """No trial has this number."""


class IllegalMove(HistoryError):  # noqa: N818 - reads as what it is
    """The trial's state does not allow this move."""


class StudyOver(LeanTuneError):  # noqa: N818 - reads as what it is
    """There is nothing left to propose, or nothing yet to recommend."""


class StoreError(LeanTuneError):
    """The store of studies cannot do what was asked of it."""


class UnknownStudy(StoreError):  # noqa: N818 - reads as what it is
    """The store holds no study of this name."""


class StudyChanged(StoreError):  # noqa: N818 - reads as what it is
    """The study in the store was defined differently."""


class IncompatibleStore(StoreError):  # noqa: N818 - reads as what it is
    """The database belongs to another program or to a newer LeanTune."""


class Outdated(StoreError):  # noqa: N818 - reads as what it is
    """The history has moved on since it was looked at."""


class LeaseLost(StoreError):  # noqa: N818 - reads as what it is
    """The trial was given to another worker meanwhile."""


class CheckpointError(LeanTuneError):
    """A checkpoint cannot be saved or restored."""


class ProviderError(LeanTuneError):
    """A provider cannot do what was asked of it."""


class LaunchRefused(ProviderError):  # noqa: N818 - reads as what it is
    """No machine was launched and nothing is billed: no capacity, or the price is above the max price."""


class UnknownMachine(ProviderError):  # noqa: N818 - reads as what it is
    """The provider never launched such a machine."""


class MachineGone(ProviderError):  # noqa: N818 - reads as what it is
    """The machine has ended before: it was revoked or terminated, and is billed."""


class NoTrial(LeanTuneError):  # noqa: N818 - reads as what it is
    """The program was not started by LeanTune."""


class MissingExtra(LeanTuneError, ImportError):  # noqa: N818 - reads as what it is
    """An optional library is needed and not installed; the hint names the extra."""


def needed(module: str, what: str, *, where: str, extra: str) -> types.ModuleType:
    """The optional library; MissingExtra, saying what needs it, where the extra is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtra(what, where=where, hint=f"pip install 'leantune[{extra}]'") from None
