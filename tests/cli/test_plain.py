"""One line for an event, with the money where it changes."""

from leantune.cli.failures import printable
from leantune.cli.plain import REPORT_SECONDS, event_lines, opening_lines
from leantune.cli.progress import Progress
from leantune.executors.base import Report
from leantune.history import History, TrialState
from leantune.problem import Budget, Problem, minimize
from leantune.run.events import Event, Recovered, Reported, Stopping, Waiting
from leantune.space import Space, choice
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
    standing,
    started,
)

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
    state = Progress(standing(running(history, 0), free), 100.0, 1)
    assert not any("$" in line for line in [*opening_lines(state), *told(started(trial), state)])


def test_reports_of_one_run_come_at_most_every_few_seconds_but_snapshots_all() -> None:
    state = progress().after(started(mixed().trial(4)), 100.0)
    lines: list[str] = []
    for tenth in range(int(REPORT_SECONDS * 25)):
        event = Reported(Report(4, tenth / 10, {"accuracy": 0.5}, step=tenth))
        following = state.after(event, 100.0)
        lines += map(printable, event_lines(event, state, following))
        state = following
    assert [line.split(":")[0] for line in lines] == [f"trial 4 reports after {s}" for s in ("0 s", "5 s", "10 s")]
    snapshots = [Reported(Report(4, 12.6, {"accuracy": 0.5}, fraction=QUARTER))] * 2
    assert [len(told(event, state)) for event in snapshots] == [1, 1]


def test_a_report_of_a_run_that_is_not_ours_is_not_told() -> None:
    assert told(Reported(Report(4, 1.0, {"accuracy": 0.5}))) == []


def test_recovery_waiting_and_stopping() -> None:
    trial = mixed().trial(4)
    assert told(Recovered(trial, "worker x vanished")) == [f"trial 4 is queued again: worker x vanished; {MONEY}"]
    assert told(Waiting("room on this machine")) == ["waiting: room on this machine"]
    (line,) = told(Stopping(True, 1))
    assert line == "stopping: asking 1 running trial to save a checkpoint; Ctrl-C again to end them at once"
