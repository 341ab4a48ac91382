"""Errors as a person meets them: one red line on standard error and an exit code; a traceback only for our own bugs."""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NoReturn, TextIO

import typer

from leantune.cli.exit_codes import ExitCode, exit_code_of
from leantune.errors import LeanTuneError

# Texts come from training programs and files: an escape sequence in them must not reach a terminal.
_CONTROLS = {
    code: " " if chr(code) in "\t\r" else "\N{REPLACEMENT CHARACTER}" for code in (*range(32), *range(127, 160))
}
_TRANSLATION = {code: text for code, text in _CONTROLS.items() if chr(code) != "\n"} | {0xA0: " "}


def printable(text: str) -> str:
    """Text without control characters, its spaces plain; its lines stay lines."""
    return text.translate(_TRANSLATION)


def say(text: str, *, err: bool = False, colour: str | None = None) -> None:
    """Print text, coloured where a terminal shows it and nobody set NO_COLOR."""
    stream = sys.stderr if err else sys.stdout
    coloured = colour is not None and stream.isatty() and not os.environ.get("NO_COLOR")
    shown = typer.style(printable(text), fg=colour) if coloured else printable(text)
    typer.echo(shown, err=err, color=coloured)


def warn(text: str) -> None:
    """A warning, on standard error: standard output belongs to the result."""
    say(f"warning: {text}", err=True, colour="yellow")


def print_json(result: Mapping[str, object]) -> None:
    """One JSON object on standard output."""
    typer.echo(json.dumps(result, indent=2, allow_nan=False))


def print_result(document: Mapping[str, object], lines: Iterable[str], *, as_json: bool) -> None:
    """The result of a command on standard output: one JSON object for programs, or lines for people."""
    if as_json:
        print_json(document)
    else:
        say("\n".join(lines))


def is_drawn_on(stream: TextIO) -> bool:
    """Whether the stream is a terminal that can show a picture again and again."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


@contextmanager
def told_errors(*, as_json: bool = False) -> Iterator[None]:
    """Turn the errors of the house, and Ctrl-C, into a line and an exit code.

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
        told = {"what": error.what, "where": error.where, "hint": error.hint, "exit_code": code.value}
        print_json({"error": told})
    raise typer.Exit(code) from None
