"""Watching a loop: every event becomes the next state, which a live view draws or plain lines tell."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from threading import Lock

from leantune.cli.failures import is_drawn_on, say
from leantune.cli.interrupts import Interrupts, interruptible
from leantune.cli.plain import event_lines, opening_lines
from leantune.cli.progress import Progress
from leantune.cli.standing import Standing
from leantune.errors import StoreError
from leantune.run.events import Event, Reported, Stopping
from leantune.study.launch import OpenedStudy

LOOK_SECONDS = 1.0  # after which the live view asks the store what other workers did


class Mode(Enum):
    """Where progress goes: a live view, plain lines, or plain lines beside a result in JSON."""

    LIVE = "live"
    PLAIN = "plain"
    JSON = "json"


def mode_of(*, plain: bool, as_json: bool) -> Mode:
    """What the user asked for, and else what suits where standard output goes."""
    if as_json:
        return Mode.JSON
    return Mode.LIVE if is_drawn_on(sys.stdout) and not plain else Mode.PLAIN


def standing_of(opened: OpenedStudy) -> Standing:
    """What the store knows of a study now."""
    job = opened.job
    return Standing(
        job.name, opened.database.url, job.strategy, job.seed, opened.problem, opened.history, opened.store.money()
    )


class Watcher:
    """An observer of the loop. The live view asks for `latest` from a thread of its own."""

    def __init__(self, opened: OpenedStudy, mode: Mode, parallel: int, interrupts: Interrupts) -> None:
        self.interrupts = interrupts
        self._opened, self._mode, self._lock = opened, mode, Lock()
        self._looked = opened.clock.now()
        self._progress = Progress(standing_of(opened), self._looked, parallel)
        self._heard = True
        self._tell(opening_lines(self._progress))

    def __call__(self, event: Event) -> None:
        """Take note of an event, and tell it."""
        if isinstance(event, Stopping):
            self.interrupts.noticed()
        with self._lock:
            before = self._progress
            known = before.standing if isinstance(event, Reported) else self._look()
            self._progress = now = replace(before, standing=known).after(event, self._opened.clock.now())
        self._tell(event_lines(event, before, now))

    def latest(self) -> tuple[Progress, float]:
        """The state, not older than a second, and the time."""
        with self._lock:
            now = self._opened.clock.now()
            if now - self._looked > LOOK_SECONDS:
                try:
                    self._progress = replace(self._progress, standing=self._look())
                except StoreError:
                    self._looked = now  # only the picture stays as it is: the loop itself will meet the same error
            return self._progress, now

    def end(self) -> None:
        """The loop has ended: the last picture shows what came of it."""
        with self._lock:
            self._progress = replace(self._progress, standing=self._look(), over=True)

    def _look(self) -> Standing:
        self._looked = self._opened.clock.now()
        return standing_of(self._opened)

    def _tell(self, lines: list[str]) -> None:
        """Plain lines; when nobody reads them any more (`| head`), the study stops gently."""
        if self._mode is Mode.LIVE or not self._heard:
            return
        try:
            for line in lines:
                say(line, err=self._mode is Mode.JSON)
        except BrokenPipeError:
            self._heard = False
            if not self.interrupts.count:
                self.interrupts.interrupt()


@contextmanager
def watching(opened: OpenedStudy, mode: Mode, parallel: int) -> Iterator[Watcher]:
    """Within the block, the loop is watched and Ctrl-C goes to it."""
    with interruptible() as interrupts:
        watcher = Watcher(opened, mode, parallel, interrupts)
        if mode is not Mode.LIVE:
            yield watcher
            return
        from rich.console import Console

        from leantune.cli.live import live_view

        with live_view(Console(highlight=False), watcher.latest):
            yield watcher
            watcher.end()
