"""The terminal: text without control characters, rows in columns, the Tab key, what a long command is doing, Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import Enum
from importlib.resources import files
from pathlib import Path
from typing import Protocol, TextIO

import typer

from leantune.clock import Clock, RealClock
from leantune.errors import LeanTuneError

SIGNALS = (signal.SIGINT, signal.SIGTERM)
JOB_SUFFIXES = (".yaml", ".yml")
QUIET_SECONDS = 10.0  # between plain lines about what is going on
# Texts come from training programs and files: an escape sequence in them must not reach a terminal.
_CONTROLS = {
    code: " " if chr(code) in "\t\r" else "\N{REPLACEMENT CHARACTER}" for code in (*range(32), *range(127, 160))
}
_TRANSLATION = {code: text for code, text in _CONTROLS.items() if chr(code) != "\n"} | {0xA0: " "}


def printable(text: str) -> str:
    """Text without control characters, its spaces plain; its lines stay lines."""
    return text.translate(_TRANSLATION)


def say(text: str, *, err: bool = False, colour: str | None = None) -> None:
    """Print text, in colour on a terminal, unless NO_COLOR is set."""
    stream = sys.stderr if err else sys.stdout
    coloured = colour is not None and stream.isatty() and not os.environ.get("NO_COLOR")
    shown = typer.style(printable(text), fg=colour) if coloured else printable(text)
    typer.echo(shown, err=err, color=coloured)


def warn(text: str) -> None:
    """A warning, on standard error: standard output belongs to the result."""
    say(f"warning: {text}", err=True, colour="yellow")


def is_drawn_on(stream: TextIO) -> bool:
    """Whether the stream is a terminal that can show a picture again and again."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


class Mode(Enum):
    """Where progress goes: a live view, plain lines, or plain lines beside a result in JSON."""

    LIVE = "live"
    PLAIN = "plain"
    JSON = "json"


def mode_of(*, plain: bool, as_json: bool) -> Mode:
    """The user's choice; by default the view that suits standard output."""
    if as_json:
        return Mode.JSON
    return Mode.LIVE if is_drawn_on(sys.stdout) and not plain else Mode.PLAIN


# -- rows


def utc(time: float) -> datetime:
    """A moment, in the zone in which all moments are shown."""
    return datetime.fromtimestamp(time, UTC)


def columned(headings: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1, indent: str = "  ") -> list[str]:
    """Lines of a table: the first `left` columns begin together, the others (numbers) end together."""
    table = [headings, *rows] if headings else list(rows)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]

    def line(row: Sequence[str]) -> str:
        cells = [
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return (indent + "  ".join(cells)).rstrip()

    return [line(row) for row in table]


def aligned(rows: Iterable[tuple[str, str]], indent: str = "  ") -> list[str]:
    """Lines of two columns: a name, and its words."""
    return columned((), rows, left=2, indent=indent)


# -- what the Tab key offers


def job_files(incomplete: str) -> list[str]:
    """Job files that begin like what was typed; where there are none, the shell goes on with folders."""
    folder, _, beginning = incomplete.rpartition("/")
    place = Path(f"{folder}/" if incomplete.startswith("/") else folder or ".").expanduser()
    if not place.is_dir():
        return []
    names = (entry.name for entry in place.iterdir() if entry.suffix in JOB_SUFFIXES and entry.is_file())
    return sorted(f"{folder}/{name}" if "/" in incomplete else name for name in names if name.startswith(beginning))


def table_names(incomplete: str) -> list[str]:
    """Tables that are known by name, and descriptions in files."""
    # Not by the reader of tables: its import takes a second.
    shipped = files("leantune.lab.replay").joinpath("tables", "presets").iterdir()
    names = (entry.name.removesuffix(".yaml") for entry in shipped if entry.name.endswith(".yaml"))
    return sorted(name for name in names if name.startswith(incomplete)) + job_files(incomplete)


def study_names(context: typer.Context, incomplete: str) -> list[str]:
    """Names in the store of --store; nothing is created. Not in bash, which splits a URL at its colons."""
    url = str(context.params.get("store") or "")
    if not url:
        return []
    from leantune.store.database import Database

    try:
        if not Database.exists(url):
            return []
        with Database(url) as database:
            return sorted(study.name for study in database.studies() if study.name.startswith(incomplete))
    except LeanTuneError:
        return []  # there is no place for an error while a line is typed


# -- what is going on


class ProgressCallback(Protocol):
    """Shows the current work, and how much of the total is done."""

    def __call__(self, words: str, done: int = 0, /) -> None: ...


@contextmanager
def activity(
    title: str, total: int | None = None, *, quiet: float = QUIET_SECONDS, clock: Clock | None = None
) -> Iterator[ProgressCallback]:
    """Within the block, the words given are shown after the title, on standard error.

    On a terminal as one line that changes, with a bar where there is a total; else as plain lines: one when all is
    done, before that at most one in `quiet` seconds.
    """
    if not is_drawn_on(sys.stderr):
        yield _plain(title, total, quiet, clock or RealClock())
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    bar = (BarColumn(), TimeElapsedColumn()) if total else ()
    columns = (SpinnerColumn(), *bar, TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(title, total=total)

        def draw(words: str, done: int = 0, /) -> None:
            shown.update(task, completed=done, description=printable(f"{title}: {words}"))

        yield draw


def _plain(title: str, total: int | None, quiet: float, clock: Clock) -> ProgressCallback:
    last = clock.now()

    def tell(words: str, done: int = 0, /) -> None:
        nonlocal last
        if done == total or clock.now() - last >= quiet:
            last = clock.now()
            say(f"{title}: {words}", err=True)

    return tell


# -- Ctrl-C and SIGTERM: the first ends a study gently, the second at once; after both, the study can go on


class Interruptible(Protocol):
    """What a signal stops: the loop."""

    def interrupt(self) -> None:
        """Stop gently; the second time, at once. Safe in a signal handler."""


class Interrupts:
    """Passes signals on to the loop.

    A loop that has not noticed the first one (it computes a proposal) when the second comes is left by
    KeyboardInterrupt: it then ends its runs and gives them back. Before there is a loop, the first does that.
    """

    def __init__(self) -> None:
        self.count = 0
        self._loop: Interruptible | None = None
        self._noticed = False

    def ready(self, loop: Interruptible) -> None:
        """From now on signals go to this loop."""
        self._loop = loop

    def noticed(self) -> None:
        """The loop is about to end."""
        self._noticed = True

    def interrupt(self) -> None:
        """The same as a signal."""
        self.count += 1
        if self._loop is None:
            raise KeyboardInterrupt
        self._loop.interrupt()
        if self.count > 1 and not self._noticed:
            self._noticed = True  # the loop cleans up from now on: a third must not disturb it
            raise KeyboardInterrupt


@contextmanager
def interruptible() -> Iterator[Interrupts]:
    """Within the block, signals go to the loop; afterwards they mean what they meant before."""
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():  # where Python allows no handlers
        yield interrupts
        return
    before = {number: signal.signal(number, lambda *_: interrupts.interrupt()) for number in SIGNALS}
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
