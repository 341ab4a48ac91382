"""Events turn one state into the next; nothing else does."""

from leantune.cli.progress import ENDED_SHOWN
from leantune.executors.base import Report
from leantune.run.events import Recovered, Reported, Stopping, Waiting
from tests.cli.samples import ended, mixed, progress, proposal, started


def test_a_run_begins_reports_and_ends() -> None:
    trial = mixed().trial(4)
    first = progress().after(started(trial), 103.0)
    assert first.runs[4].began == 103.0
    assert first.elsewhere == ()
    second = first.after(Reported(Report(4, 2.0, {"accuracy": 0.5}, step=1)), 105.0)
    assert second.runs[4].report is not None
    assert second.runs[4].report.step == 1
    assert first.runs[4].report is None  # the earlier state is untouched
    third = second.after(ended(trial), 106.0)
    assert third.runs == {}
    assert [event.trial.number for event in third.ended] == [4]


def test_trials_that_run_elsewhere_are_those_the_store_says_run_and_that_are_not_ours() -> None:
    before = progress()
    assert [trial.number for trial in before.elsewhere] == [4]


def test_a_report_of_a_run_that_has_ended_changes_nothing() -> None:
    before = progress()
    assert before.after(Reported(Report(4, 2.0, {"accuracy": 0.5})), 105.0) is before


def test_only_the_last_ended_runs_are_remembered() -> None:
    state, trial = progress(), mixed().trial(3)
    for second in range(ENDED_SHOWN + 3):
        state = state.after(ended(trial, seconds=second), 100.0)
    assert [event.seconds for event in state.ended] == list(range(3, ENDED_SHOWN + 3))


def test_what_is_waited_for_is_forgotten_when_something_happens() -> None:
    waiting = progress().after(Waiting("room on this machine"), 100.0)
    assert waiting.waiting == "room on this machine"
    assert waiting.after(started(mixed().trial(4)), 101.0).waiting == ""
    assert waiting.after(proposal(mixed().trial(4)), 101.0).waiting == ""
    assert waiting.after(ended(mixed().trial(3)), 101.0).waiting == ""


def test_proposals_recoveries_and_the_wish_to_stop_are_kept() -> None:
    trial = mixed().trial(4)
    state = progress().after(proposal(trial), 100.0).after(Recovered(trial, "worker x vanished"), 100.0)
    state = state.after(Stopping(True, 1), 100.0)
    assert state.proposed == proposal(trial)
    assert state.recovered == 1
    assert state.stopping == Stopping(True, 1)
