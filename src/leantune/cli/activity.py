"""A long command says what it is doing: a line that changes on a terminal, else a plain line now and then."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from leantune.cli.failures import is_drawn_on, printable, say
from leantune.clock import Clock, RealClock

QUIET_SECONDS = 10.0  # between plain lines
Tell = Callable[[str], None]


@contextmanager
def activity(title: str, clock: Clock | None = None) -> Iterator[Tell]:
    """Within the block, what is told is shown after the title, on standard error."""
    if is_drawn_on(sys.stderr):
        with _status(title) as tell:
            yield tell
    else:
        yield _plain(title, clock or RealClock())


@contextmanager
def _status(title: str) -> Iterator[Tell]:
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(title)) as status:
        yield lambda text: status.update(Text(printable(f"{title}: {text}")))


@contextmanager
def bar(words: str, total: int) -> Iterator[Callable[[str, int], None]]:
    """Within the block, a bar on standard error: words about what is done, and how much of the total that is."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), BarColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(words, total=total)
        yield lambda words, done: bars.update(task, completed=done, description=words)


def _plain(title: str, clock: Clock) -> Tell:
    told = clock.now()

    def tell(text: str) -> None:
        nonlocal told
        if clock.now() - told >= QUIET_SECONDS:
            told = clock.now()
            say(f"{title}: {text}", err=True)

    return tell
