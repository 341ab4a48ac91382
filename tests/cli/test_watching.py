"""Watching a loop: states, plain lines, and what ends it."""

import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from leantune.cli.status import Progress
from leantune.cli.terminal import Interrupts, Mode, mode_of, printable
from leantune.cli.watching import (
    LOOK_SECONDS,
    REPORT_SECONDS,
    Watcher,
    event_lines,
    opening_lines,
    status_of,
)
from leantune.clock import SimulatedClock
from leantune.errors import StoreError
from leantune.executors.base import Report
from leantune.history import History, Note, NoteKind, Trial, TrialState
from leantune.jobfile import load_job
from leantune.problem import Budget, Problem, minimize
from leantune.run.events import Event, ReportReceived, Stopping, TrialProposed, TrialRecovered, Waiting
from leantune.space import Space, choice
from leantune.store.study import StudyStore
from leantune.study import Study
from tests.cli.samples import (
    CHARGED,
    FULL,
    QUARTER,
    STARTED,
    ended,
    largest,
    mixed,
    progress,
    proposal,
    proposed,
    running,
    started,
    status,
)
from tests.cli.tiny import make_job


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Study]:
    study = Study.from_job(load_job(make_job(tmp_path)), clock=SimulatedClock(1000.0))
    yield study
    study.close()


def propose(opened: Study) -> Trial:
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
    opened: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    for mode in (Mode.PLAIN, Mode.JSON, Mode.LIVE):
        Watcher(opened, mode, Interrupts())(Waiting("a reason"))
        out, err = capsys.readouterr()
        assert ("waiting: a reason" in out) == (mode is Mode.PLAIN)
        assert ("waiting: a reason" in err) == (mode is Mode.JSON)


def test_an_event_brings_what_the_store_knows_and_a_report_does_not_ask_it(
    opened: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher = Watcher(opened, Mode.PLAIN, Interrupts())
    watcher(TrialProposed(propose(opened), 0.1))
    assert watcher.latest()[0].status.counts == {"queued": 1}
    monkeypatch.setattr(StudyStore, "history", lambda _: pytest.fail("the store was asked"))
    watcher(ReportReceived(Report(0, 1.0, {"accuracy": 0.5})))


def test_the_live_view_sees_what_other_workers_did(opened: Study) -> None:
    watcher = Watcher(opened, Mode.LIVE, Interrupts())
    propose(opened)
    assert len(watcher.latest()[0].status.history) == 0
    opened.clock.sleep(LOOK_SECONDS + 0.1)
    progress, now = watcher.latest()
    assert len(progress.status.history) == 1
    assert now == opened.clock.now()


def test_the_last_picture_shows_what_came_of_it(opened: Study) -> None:
    watcher = Watcher(opened, Mode.LIVE, Interrupts())
    propose(opened)
    watcher.end()
    progress, _ = watcher.latest()
    assert progress.over
    assert len(progress.status.history) == 1


def test_the_picture_outlives_a_store_that_does_not_answer(opened: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    watcher = Watcher(opened, Mode.LIVE, Interrupts())

    def gone(_: StudyStore) -> None:
        raise StoreError("gone")

    monkeypatch.setattr(StudyStore, "history", gone)
    opened.clock.sleep(LOOK_SECONDS + 0.1)
    assert watcher.latest()[0].status.name == "digits"


def test_when_nobody_reads_the_loop_is_asked_to_stop_once(opened: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    loop, interrupts = Loop(), Interrupts()
    watcher = Watcher(opened, Mode.PLAIN, interrupts)
    interrupts.ready(loop)

    def broken(*_: object, **__: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("leantune.cli.watching.say", broken)
    watcher(Waiting("a reason"))
    watcher(Stopping(True, 1))
    assert loop.asked == 1


def test_the_loop_that_stops_has_noticed(opened: Study) -> None:
    loop, interrupts = Loop(), Interrupts()
    watcher = Watcher(opened, Mode.PLAIN, interrupts)
    interrupts.ready(loop)
    interrupts.interrupt()
    watcher(Stopping(True, 1))
    interrupts.interrupt()  # no KeyboardInterrupt: the loop is on its way out
    assert loop.asked == 2


def test_what_the_store_knows(opened: Study) -> None:
    status = status_of(opened)
    assert (status.name, status.strategy, status.seed) == ("digits", "random", 0)
    assert status.store.startswith("sqlite:///")
    assert status.problem.budget.trials == 4


MONEY = "spent $0.0103, reserved $0.01, left $4.98"


def told(event: Event, before: Progress | None = None) -> list[str]:
    before = before or progress()
    return [printable(line) for line in event_lines(event, before, before.after(event, 104.0))]


def test_the_opening_names_study_budget_store_and_what_is_there() -> None:
    first, second, third = map(printable, opening_lines(progress()))
    assert first == "study digits: maximize accuracy, subject to cost ≤ $0.10 and time ≤ 60 s; eic, seed 1"
    assert second == "budget $5.00 and 10 trials; store sqlite:///leantune.db"
    assert third == f"going on after trials: 5 of 10 (3 done, 1 failed, 1 running); {MONEY}"
    assert len(opening_lines(progress(History()))) == 2


def test_a_proposal_says_what_and_why() -> None:
    history, trial = proposed(History(), QUARTER, STARTED, CHARGED)
    (line,) = told(proposal(trial), progress(History()))
    assert line.startswith("trial 0 proposed in 250 ms: lr = 0.01, batch = 16, cluster = 1 × small; 1/4 of the data")
    assert line.endswith(f"; why: start; {CHARGED}")
    _, again = proposed(history, FULL, STARTED, CHARGED)
    (line,) = told(proposal(again), progress(history))
    assert line.endswith("; why: start")  # what concerns the whole study is told when it is new


def test_a_proposal_by_the_models_says_what_they_expect() -> None:
    _, trial = proposed(mixed(), FULL, largest(7))
    (line,) = told(proposal(trial))
    assert line.endswith("; why: largest acquisition of 7 pairs; expected accuracy 0.900 ± 0.020")


def test_a_start_tells_limit_and_money() -> None:
    trial = mixed().trial(4)
    assert told(started(trial)) == [f"trial 4 started: time limit 60 s; {MONEY}"]
    assert told(started(trial, 2, None)) == [f"trial 4 started again, attempt 2: no time limit; {MONEY}"]


def test_results_failures_and_interruptions() -> None:
    history = mixed()
    good = f"trial 3 done after 10 s, $0.001: accuracy 0.91; {MONEY}"
    assert told(ended(history.trial(3))) == [good, "best so far: accuracy 0.91, all data, all limits kept, trial 3"]
    assert told(ended(history.trial(1), 90.0)) == [f"trial 1 done after 90 s, $0.009: accuracy 0.99; {MONEY}"]
    (failure,) = told(ended(history.trial(2), 1.0))
    cause = "exit code 3: no such file; see runs/trial-0002/attempt-1.log"
    assert failure == f"trial 2 failed after 1 s, $0.0001: {cause}; {MONEY}"
    back = history.move(4, TrialState.QUEUED, time=105.0, cause="interrupted")
    (again,) = told(ended(back.trial(4), 5.0))
    assert again == f"trial 4 is queued again after 5 s, $0.00: interrupted; {MONEY}"


def test_a_study_without_prices_speaks_of_no_dollars() -> None:
    free = Problem(Space(a=choice(1, 2)), minimize("loss"), budget=Budget(trials=3))
    history, trial = History().propose(free.space.configuration({"a": 1}), FULL)
    state = Progress(status(running(history, 0), free), 100.0)
    assert not any("$" in line for line in [*opening_lines(state), *told(started(trial), state)])


def test_reports_of_one_run_come_at_most_every_few_seconds_but_snapshots_all() -> None:
    state = progress().after(started(mixed().trial(4)), 100.0)
    lines: list[str] = []
    for tenth in range(int(REPORT_SECONDS * 25)):
        event = ReportReceived(Report(4, tenth / 10, {"accuracy": 0.5}, step=tenth))
        following = state.after(event, 100.0)
        lines += map(printable, event_lines(event, state, following))
        state = following
    assert [line.split(":")[0] for line in lines] == [f"trial 4 reports after {s}" for s in ("0 s", "5 s", "10 s")]
    snapshots = [ReportReceived(Report(4, 12.6, {"accuracy": 0.5}, fraction=QUARTER))] * 2
    assert [len(told(event, state)) for event in snapshots] == [1, 1]


def test_a_report_of_a_run_that_is_not_ours_is_not_told() -> None:
    assert told(ReportReceived(Report(4, 1.0, {"accuracy": 0.5}))) == []


def test_recovery_waiting_and_stopping() -> None:
    trial = mixed().trial(4)
    assert told(TrialRecovered(trial, "worker x vanished")) == [f"trial 4 is queued again: worker x vanished; {MONEY}"]
    assert told(Waiting("room on this machine")) == ["waiting: room on this machine"]
    (line,) = told(Stopping(True, 1))
    assert line == "stopping: asking 1 running trial to save a checkpoint; Ctrl-C again to end them at once"
