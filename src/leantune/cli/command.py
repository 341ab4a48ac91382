"""How every command runs and ends: exit codes, errors, and an answer as lines for people or as JSON for programs.

An error is one red line on standard error and an exit code; a traceback is only for our own bugs.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from enum import Enum, IntEnum
from fractions import Fraction
from functools import singledispatch, wraps
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from leantune.cli.terminal import say
from leantune.errors import (
    CheckpointError,
    HistoryError,
    InvalidInput,
    LeanTuneError,
    MissingExtra,
    ProviderError,
    StoreError,
    StudyChanged,
    StudyOver,
)

Json = dict[str, object]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


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
    ExitCode.BAD_NEWS: "the command ran and the result is bad: a limit broken, runs that fail, a broken part",
    ExitCode.WRONG_INPUT: "the command line or the job file is wrong; nothing was started",
    ExitCode.NOTHING_YET: "there is nothing to recommend yet, or the budget does not allow what was asked",
    ExitCode.STORE_TROUBLE: "the store or a checkpoint cannot be used, or holds no such study",
    ExitCode.INTERRUPTED: "interrupted by Ctrl-C; the same command goes on",
}

# The first match counts: a changed study is an error of the store, but the job file is to be corrected.
_ERRORS: tuple[tuple[type[LeanTuneError], ExitCode], ...] = (
    (InvalidInput, ExitCode.WRONG_INPUT),
    (StudyChanged, ExitCode.WRONG_INPUT),
    (HistoryError, ExitCode.WRONG_INPUT),
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
    """The part of a help page about exit codes: in the table's words, or in `own_words` by a code's name."""
    words = {code: MEANINGS[code] for code in codes} | {ExitCode[name.upper()]: own_words[name] for name in own_words}
    lines = [f"  {code.value:<3}  {words[code]}" for code in sorted(words)]
    return "\n".join(["\b", "Exit codes:", *lines])  # \b: typer keeps the lines that follow as they are


# -- JSON


@singledispatch
def encoded(value: object) -> object:
    """A result as JSON has it: a dataclass by its fields, paths and exact numbers as text, null for what is not finite.

    Other types register their own encoding.
    """
    if not is_dataclass(value):
        return value
    return {field.name: encoded(getattr(value, field.name)) for field in fields(value)}


encoded.register(Fraction, str)
encoded.register(Path, str)
encoded.register(datetime, datetime.isoformat)
encoded.register(Enum, lambda value: value.value)
encoded.register(float, lambda value: value if math.isfinite(value) else None)
encoded.register(Mapping, lambda value: {str(name): encoded(part) for name, part in value.items()})
for _kind in (list, tuple, Iterator):
    encoded.register(_kind, lambda value: [*map(encoded, value)])


def picked(thing: object, names: str) -> Json:
    """Attributes of an object, in this order; "trial=number" renames an attribute, "goal.metric" reads a nested one."""
    pairs = (name.rpartition("=") for name in names.split())
    return {key or path: attrgetter(path)(thing) for key, _, path in pairs}


def print_json(result: Mapping[str, object]) -> None:
    """One JSON object on standard output."""
    typer.echo(json.dumps(encoded(result), indent=2, allow_nan=False))


# -- running


def typed_names(text: str) -> tuple[str, ...]:
    """Names with commas between, each once."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


@dataclass(frozen=True)
class Answer:
    """The result of a command: `document` for programs, `lines` for people, and the exit code."""

    document: Json
    lines: Sequence[str] = ()
    code: ExitCode = ExitCode.WELL

    def print(self, *, as_json: bool) -> None:
        """Print the document or the lines on standard output."""
        if as_json:
            print_json(self.document)
        elif self.lines:
            say("\n".join(self.lines))


def command(
    app: typer.Typer, *codes: ExitCode, **own_words: str
) -> Callable[[Callable[..., Answer]], Callable[..., None]]:
    """Make a function a command of an app; its option `as_json` says how its answer is printed.

    codes, own_words: how it may end, as its help explains it.
    """

    def register(function: Callable[..., Answer]) -> Callable[..., None]:
        @app.command(epilog=explained(*codes, **own_words))
        @wraps(function)
        def run(*, as_json: bool, **options: Any) -> None:
            with reported_errors(as_json=as_json):
                answer = function(as_json=as_json, **options)
                answer.print(as_json=as_json)
            raise typer.Exit(answer.code)

        return run

    return register


@contextmanager
def reported_errors(*, as_json: bool = False) -> Iterator[None]:
    """Turn LeanTune's errors and Ctrl-C into a line and an exit code.

    as_json: also into the one JSON object of this command, {"error": {what, where, hint, exit_code}}.
    """
    try:
        yield
    except LeanTuneError as error:
        _end(error, exit_code_of(error), as_json)
    except KeyboardInterrupt:
        _end(LeanTuneError("interrupted", hint="The same command goes on"), ExitCode.INTERRUPTED, as_json)


def _end(error: LeanTuneError, code: ExitCode, as_json: bool) -> NoReturn:
    say(f"error: {error}", err=True, colour="red")
    if as_json:
        print_json({"error": {**picked(error, "what where hint"), "exit_code": code}})
    raise typer.Exit(code) from None
