"""The live view as text: what `draw` makes of a state."""

import re
import threading
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from leantune.cli.live import HINT, RUNS_SHOWN, bar, draw, live_view
from leantune.cli.status import Progress
from leantune.executors.base import Report
from leantune.history import History, Note, NoteKind
from leantune.problem import Budget, Problem, minimize
from leantune.run.events import ReportReceived, Stopping, TrialRecovered, Waiting
from leantune.space import Space, choice
from tests.cli.samples import CHARGED, FULL, ended, mixed, progress, proposal, proposed, running, started, status


def drawn(state: Progress, width: int = 120, now: float = 107.0) -> str:
    console = Console(file=StringIO(), width=width, force_terminal=True, color_system="truecolor")
    with console.capture() as captured:
        console.print(draw(state, now))
    return re.sub(r"\x1b\[[0-9;]*m", "", captured.get())


def test_everything_a_user_asks_is_there() -> None:
    trial = mixed().trial(4)
    state = progress().after(proposal(mixed().trial(1)), 100.0).after(started(trial), 103.0)
    state = state.after(ReportReceived(Report(4, 2.0, {"accuracy": 0.5}, step=1)), 105.0)
    for number in (1, 2, 3):
        state = state.after(ended(mixed().trial(number)), 106.0)
    picture = drawn(state)
    assert re.search(r"digits  maximize accuracy, .*  eic +7 s", picture)
    assert "5 of 10 (3 done, 1 failed, 1 running)" in picture
    assert "spent $0.0103, reserved $0.01, left $4.98 of $5.00" in picture
    assert "accuracy 0.91, all data, all limits kept, trial 3" in picture
    assert re.search(r"trial 4 .*lr = 0\.01, batch = 16.* 1/4 +4 s / 60 s +accuracy 0\.5, step 1", picture)
    assert re.search(r"trial 2 +failed .*exit code 3: no such file", picture)
    assert "trial 1 was proposed in 250 ms: largest acquisition of 9 pairs; expected accuracy 0.900 ± 0.020" in picture
    assert "note: fallback: none of 8 pairs promises anything; the largest expected accuracy (2 trials)" in picture
    assert str(CHARGED) in " ".join(picture.split())
    assert HINT in picture


def test_a_new_study_is_drawn_too() -> None:
    picture = drawn(progress(History()))
    assert "no result yet" in picture
    assert "running" not in picture


def test_a_study_without_prices_shows_no_dollars_and_hours_where_they_are_limited() -> None:
    free = Problem(Space(a=choice(1, 2)), minimize("loss"), budget=Budget(hours=3))
    picture = drawn(Progress(status(History(), free), 100.0))
    assert "$" not in picture
    assert "0 s of 3 h" in picture


def test_trials_of_other_workers_are_shown_as_theirs() -> None:
    assert re.search(r"trial 4 .* 7 s +on another worker", drawn(progress()))


def test_of_many_runs_some_are_counted() -> None:
    history = History()
    for number in range(RUNS_SHOWN + 3):
        history, _ = proposed(history, FULL)
        history = running(history, number)
    state = progress(history)
    for trial in history.trials[:-1]:
        state = state.after(started(trial), 100.0)
    assert "and 3 more" in drawn(state)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    state = progress().after(started(mixed().trial(4)), 103.0).after(ended(mixed().trial(2)), 104.0)
    assert all(len(line) <= width for line in drawn(state, width).splitlines())


def test_waiting_recovery_and_the_way_out() -> None:
    state = (
        progress().after(Waiting("room on this machine"), 100.0).after(TrialRecovered(mixed().trial(4), "gone"), 100.0)
    )
    assert "waiting: room on this machine" in drawn(state)
    assert "1 trial of vanished workers queued again" in drawn(state)
    stopping = drawn(state.after(Stopping(True, 1), 100.0))
    assert "Ctrl-C again to end them at once" in stopping
    assert HINT not in stopping
    assert HINT not in drawn(replace(state, over=True))


def test_markup_and_escapes_in_names_stay_text() -> None:
    history, trial = proposed(History(), FULL, Note(NoteKind.PLAIN, "[bold]x[/] \x1b[2J"))
    picture = drawn(progress(history).after(proposal(trial), 100.0))
    assert "[bold]x[/]" in picture
    assert "\x1b" not in picture


@pytest.mark.parametrize(
    ("used", "promised", "expected"),
    [
        (0.0, 0.0, (0, 0, 10)),
        (0.5, 0.25, (5, 2, 3)),
        (0.001, 0.001, (1, 1, 8)),
        (2.0, 1.0, (10, 0, 0)),
        (0.9, 0.9, (9, 1, 0)),
    ],
)
def test_a_bar_shows_what_is_there_and_never_more_than_all(
    used: float, promised: float, expected: tuple[int, int, int]
) -> None:
    assert tuple(len(part) for part, _ in bar(used, promised, 10)) == expected


def test_the_view_draws_the_latest_state_again_and_again() -> None:
    file, asked = StringIO(), threading.Semaphore(0)
    states = [progress(History())]

    def latest() -> tuple[Progress, float]:
        now = states[-1]
        asked.release()
        return now, 101.0

    with live_view(Console(file=file, width=100, force_terminal=True), latest):
        while "no result yet" not in file.getvalue():
            assert asked.acquire(timeout=10)
        states.append(progress())
    assert "accuracy 0.91" in file.getvalue()
