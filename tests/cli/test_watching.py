"""Watching a loop: where progress goes, and what is asked of the store."""

import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from leantune.cli.interrupts import Interrupts
from leantune.cli.watching import LOOK_SECONDS, Mode, Watcher, mode_of, standing_of
from leantune.clock import SimulatedClock
from leantune.errors import StoreError
from leantune.executors.base import Report
from leantune.history import Note, NoteKind, Trial
from leantune.jobfile import load_job
from leantune.run.events import Proposed, Reported, Stopping, Waiting
from leantune.store.study import StudyStore
from leantune.study.launch import OpenedStudy, open_job
from tests.cli.tiny import make_job


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[OpenedStudy]:
    study = open_job(load_job(make_job(tmp_path)), clock=SimulatedClock(1000.0))
    yield study
    study.close()


def propose(opened: OpenedStudy) -> Trial:
    one = opened.problem.space.configuration({"lr": 0.1})
    return opened.store.propose(one, Fraction(1), (Fraction(1),), time=1000.0, notes=(Note(NoteKind.START, "start"),))


class Loop:
    asked = 0

    def interrupt(self) -> None:
        self.asked += 1


@pytest.mark.parametrize(
    ("terminal", "term", "plain", "as_json", "mode"),
    [
        (True, "xterm", False, False, Mode.LIVE),
        (True, "xterm", True, False, Mode.PLAIN),
        (True, "dumb", False, False, Mode.PLAIN),
        (False, "xterm", False, False, Mode.PLAIN),
        (True, "xterm", False, True, Mode.JSON),
    ],
)
def test_a_live_view_only_where_a_terminal_can_draw_it(
    terminal: bool, term: str, plain: bool, as_json: bool, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    assert mode_of(plain=plain, as_json=as_json) is mode


def test_events_become_lines_on_standard_output_or_beside_json(
    opened: OpenedStudy, capsys: pytest.CaptureFixture[str]
) -> None:
    for mode in (Mode.PLAIN, Mode.JSON, Mode.LIVE):
        Watcher(opened, mode, 1, Interrupts())(Waiting("a reason"))
        out, err = capsys.readouterr()
        assert ("waiting: a reason" in out) == (mode is Mode.PLAIN)
        assert ("waiting: a reason" in err) == (mode is Mode.JSON)


def test_an_event_brings_what_the_store_knows_and_a_report_does_not_ask_it(
    opened: OpenedStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher = Watcher(opened, Mode.PLAIN, 1, Interrupts())
    watcher(Proposed(propose(opened), 0.1))
    assert watcher.latest()[0].standing.counts == {"queued": 1}
    monkeypatch.setattr(StudyStore, "history", lambda _: pytest.fail("the store was asked"))
    watcher(Reported(Report(0, 1.0, {"accuracy": 0.5})))


def test_the_live_view_sees_what_other_workers_did(opened: OpenedStudy) -> None:
    watcher = Watcher(opened, Mode.LIVE, 1, Interrupts())
    propose(opened)
    assert len(watcher.latest()[0].standing.history) == 0
    opened.clock.sleep(LOOK_SECONDS + 0.1)
    progress, now = watcher.latest()
    assert len(progress.standing.history) == 1
    assert now == opened.clock.now()


def test_the_last_picture_shows_what_came_of_it(opened: OpenedStudy) -> None:
    watcher = Watcher(opened, Mode.LIVE, 1, Interrupts())
    propose(opened)
    watcher.end()
    progress, _ = watcher.latest()
    assert progress.over
    assert len(progress.standing.history) == 1


def test_the_picture_outlives_a_store_that_does_not_answer(
    opened: OpenedStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher = Watcher(opened, Mode.LIVE, 1, Interrupts())

    def gone(_: StudyStore) -> None:
        raise StoreError("gone")

    monkeypatch.setattr(StudyStore, "history", gone)
    opened.clock.sleep(LOOK_SECONDS + 0.1)
    assert watcher.latest()[0].standing.name == "digits"


def test_when_nobody_reads_the_loop_is_asked_to_stop_once(opened: OpenedStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    loop, interrupts = Loop(), Interrupts()
    watcher = Watcher(opened, Mode.PLAIN, 1, interrupts)
    interrupts.ready(loop)

    def broken(*_: object, **__: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("leantune.cli.watching.say", broken)
    watcher(Waiting("a reason"))
    watcher(Stopping(True, 1))
    assert loop.asked == 1


def test_the_loop_that_stops_has_noticed(opened: OpenedStudy) -> None:
    loop, interrupts = Loop(), Interrupts()
    watcher = Watcher(opened, Mode.PLAIN, 1, interrupts)
    interrupts.ready(loop)
    interrupts.interrupt()
    watcher(Stopping(True, 1))
    interrupts.interrupt()  # no KeyboardInterrupt: the loop is on its way out
    assert loop.asked == 2


def test_what_the_store_knows(opened: OpenedStudy) -> None:
    standing = standing_of(opened)
    assert (standing.name, standing.strategy, standing.seed) == ("digits", "random", 0)
    assert standing.store.startswith("sqlite:///")
    assert standing.problem.budget.trials == 4
