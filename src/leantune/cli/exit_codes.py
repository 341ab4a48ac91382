"""How the command ends: one table of exit codes for every command, its help and its errors."""

from collections.abc import Mapping
from enum import IntEnum

from leantune.errors import (
    CheckpointError,
    InvalidInput,
    LeanTuneError,
    MissingExtra,
    ProviderError,
    StoreError,
    StudyChanged,
    StudyOver,
)


class ExitCode(IntEnum):
    """What a program that started the command may rely on."""

    WELL = 0
    BAD_NEWS = 1
    WRONG_INPUT = 2
    NOTHING_YET = 3
    STORE_TROUBLE = 4
    INTERRUPTED = 130  # 128 + SIGINT, as shells have it


MEANINGS: Mapping[ExitCode, str] = {
    ExitCode.WELL: "all is well",
    ExitCode.BAD_NEWS: "the command ran and the answer is bad news: a limit broken, runs that fail, a broken part",
    ExitCode.WRONG_INPUT: "the command line or the job file is wrong; nothing was started",
    ExitCode.NOTHING_YET: "there is nothing to recommend yet, or the budget does not allow what was asked",
    ExitCode.STORE_TROUBLE: "the store or a checkpoint cannot be used, or holds no such study",
    ExitCode.INTERRUPTED: "interrupted by Ctrl-C; the same command goes on",
}

# The first that fits counts: a changed study is the store's error, but the job file is what has to be put right.
_ERRORS: tuple[tuple[type[LeanTuneError], ExitCode], ...] = (
    (InvalidInput, ExitCode.WRONG_INPUT),
    (StudyChanged, ExitCode.WRONG_INPUT),
    (StudyOver, ExitCode.NOTHING_YET),
    (StoreError, ExitCode.STORE_TROUBLE),
    (CheckpointError, ExitCode.STORE_TROUBLE),
    (MissingExtra, ExitCode.STORE_TROUBLE),
    (ProviderError, ExitCode.BAD_NEWS),
)


def exit_code_of(error: LeanTuneError) -> ExitCode:
    """How the command ends after this error."""
    return next((code for kind, code in _ERRORS if isinstance(error, kind)), ExitCode.BAD_NEWS)


def explained(*codes: ExitCode, **own_words: str) -> str:
    """The part of a help page about exit codes: the table's words, or a command's `own_words` by a code's name."""
    lines = [f"  {code.value:<3}  {own_words.get(code.name.lower(), MEANINGS[code])}" for code in sorted(codes)]
    return "\n".join(["\b", "Exit codes:", *lines])  # \b: typer keeps the lines that follow as they are
