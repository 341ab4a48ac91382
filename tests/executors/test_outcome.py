"""How a run ended, in words: every rule, without a process."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.cloud.catalog import clusters
from leantune.executors.base import Finished, Terms
from leantune.executors.outcome import MOST_NAMES, Ending, ReportLog, Restored, outcome
from leantune.history import History, ObservationKind, TrialState
from leantune.problem import Problem, maximize, minimize
from leantune.space import Space, integer, machine
from leantune.units import Seconds
from leantune.worker.lines import ProgramReport
from leantune.worker.messages import EndReason

TENTH, HALF, FULL = Fraction(1, 10), Fraction(1, 2), Fraction(1)
MACHINES = clusters([machine("small", vcpus=1, memory="2 GiB", usd_per_hour=3.6)])
SPACE = Space(n=integer(0, 9), cluster=MACHINES)
PROBLEM = Problem(SPACE, maximize("accuracy"), ["latency <= 20", "cost <= 1 USD"], [TENTH, HALF, FULL])
SIMPLE = Problem(SPACE, maximize("accuracy"))
CONFIGURATION = SPACE.grid()[0]
RESUMED = Restored(own=True)


def heard_of(problem: Problem = SIMPLE, snapshots: tuple[Fraction, ...] = (FULL,)) -> ReportLog:
    return ReportLog(problem, History().propose(CONFIGURATION, snapshots[-1], snapshots)[1])


def say(log: ReportLog, seconds: float, at: Fraction | None = None, /, **metrics: float) -> None:
    log.hear(ProgramReport(metrics, fraction=at), seconds, on_purpose=False)


def taken(end: Finished, log: ReportLog) -> None:
    """The history takes what is told."""
    if end.state in (TrialState.DONE, TrialState.FAILED):
        history = History((log.trial,))
        history.record(end.number, end.observations, time=0.0, state=end.state, cause=end.cause)
    else:
        assert end.observations == ()


def test_a_good_run() -> None:
    log = heard_of(PROBLEM)
    say(log, 1.0, accuracy=0.5, latency=9.0)
    say(log, 2.0, accuracy=0.9)
    end = outcome(log, Ending(Seconds(10.0)))
    assert (end.state, end.cause, end.seconds) == (TrialState.DONE, "", 10.0)
    (seen,) = end.observations
    assert seen.metrics == {"accuracy": 0.9, "latency": 9.0}
    assert seen.seconds == 10.0
    assert seen.cost == pytest.approx(0.01)
    taken(end, log)


@pytest.mark.parametrize(
    ("ending", "cause"),
    [
        (Ending(Seconds(1.0), code=3), "exit code 3"),
        (Ending(Seconds(1.0), code=3, last_line="out", last_error="\x1b[31merr"), "exit code 3: err"),
        (Ending(Seconds(1.0), code=3, last_line="out"), "exit code 3: out"),
        (Ending(Seconds(1.0), code=-11), "killed by signal SIGSEGV (11)"),
        (Ending(Seconds(1.0), code=-63), "killed by signal of the system (63)"),
        (
            Ending(Seconds(1.0), code=-9, kernel_oom=True, peak_bytes=3 << 30),
            "out of memory: the kernel killed it at 3 GiB",
        ),
        (
            Ending(Seconds(1.0), code=-9, why=EndReason.MEMORY, peak_bytes=3 << 30),
            "out of memory: 3 GiB used, 1 x small has 2 GiB",
        ),
        (Ending(Seconds(1.0), code=1, tail="x\nMemoryError\n"), "out of memory: exit code 1"),
        (Ending(Seconds(1.0), code=1, tail="CUDA out of memory."), "out of memory: exit code 1"),
        (Ending(Seconds(1.0), code=-6, tail="std::bad_alloc"), "out of memory: killed by signal SIGABRT (6)"),
        (Ending(Seconds(7.0), code=-15, why=EndReason.TIMEOUT), "timeout: not ended after 5 s"),
        (Ending(Seconds(7.0), code=0, why=EndReason.TIMEOUT), "timeout: not ended after 5 s"),
        (Ending(Seconds(1.0), failure="cannot start: no"), "cannot start: no"),
        (Ending(Seconds(1.0), code=2, notes=("a note",), log="/l"), "exit code 2; a note (log: /l)"),
    ],
)
def test_a_bad_end_counts_whatever_was_reported(ending: Ending, cause: str) -> None:
    log = heard_of()
    say(log, 0.5, accuracy=0.9)
    end = outcome(log, ending, terms=Terms(time_limit=Seconds(5.0)))
    assert (end.state, end.cause, end.seconds) == (TrialState.FAILED, cause, ending.seconds)
    assert end.timed_out is (ending.why is EndReason.TIMEOUT)
    (seen,) = end.observations
    assert (seen.kind, seen.cause, dict(seen.metrics)) == (ObservationKind.FAILED, cause, {})
    assert seen.seconds == ending.seconds
    assert seen.cost == pytest.approx(ending.seconds / 1000)
    taken(end, log)


def test_words_about_memory_in_the_log_of_a_good_run_mean_nothing() -> None:
    log = heard_of()
    say(log, 0.5, accuracy=0.9)
    assert outcome(log, Ending(Seconds(1.0), tail="MemoryError")).state is TrialState.DONE


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ([], "metric 'accuracy' was not reported"),
        ([{"score": 0.9}], "metric 'accuracy' was not reported; got score"),
        ([{"acc": 0.9}], "metric 'accuracy' was not reported (did you mean 'acc'?)"),
        ([{"acuracy": 0.9}], "metric 'accuracy' was not reported (did you mean 'acuracy'?)"),
        ([{"accuracy": math.nan}], "accuracy is nan"),
        ([{"accuracy": 0.9}, {"accuracy": math.inf}], "accuracy is inf"),
        ([{"accuracy": 2e100}], "accuracy is 2e+100, beyond 1e+100"),
        ([{"accuracy": -1.7e308}], "accuracy is -1.7e+308, beyond 1e+100"),
        ([{"accuracy": 93.0}], "accuracy is 93: declared as a share, 0 to 1"),
        ([{"accuracy": -0.1}], "accuracy is -0.1: declared as a share, 0 to 1"),
    ],
)
def test_what_is_wrong_with_the_metrics(said: list[dict[str, float]], cause: str) -> None:
    log = heard_of(Problem(SPACE, maximize("accuracy", scale="share")))
    for metrics in said:
        say(log, 1.0, None, **metrics)
    end = outcome(log, Ending(Seconds(2.0)))
    assert (end.state, end.cause) == (TrialState.FAILED, cause)
    taken(end, log)


@pytest.mark.parametrize("value", [math.nan, 1e160, -1e160])
def test_a_report_that_says_nothing_is_left_out_and_fails_where_it_is_the_last_value(value: float) -> None:
    log = heard_of(PROBLEM, (TENTH, FULL))
    report = log.hear(ProgramReport({"accuracy": value, "latency": 1e100}, fraction=TENTH), 1.0, on_purpose=False)
    assert report is not None
    assert report.metrics == {"latency": 1e100}
    end = outcome(log, Ending(Seconds(2.0)))
    assert (end.state, end.observations[0].fraction) == (TrialState.FAILED, TENTH)
    say(log, 1.5, TENTH, accuracy=0.5)
    say(log, 2.0, FULL, accuracy=0.5, latency=2.0, extra=value)
    end = outcome(log, Ending(Seconds(3.0)))
    assert end.state is TrialState.DONE
    assert [dict(seen.metrics) for seen in end.observations] == [
        {"accuracy": 0.5, "latency": 1e100}, {"accuracy": 0.5, "latency": 2.0},
    ]  # fmt: skip


@pytest.mark.parametrize("line", ["accuracy=1e160", "accuracy=1e999"])
def test_a_last_line_beyond_all_numbers(line: str) -> None:
    end = outcome(heard_of(), Ending(Seconds(2.0), last_line=line))
    assert end.state is TrialState.FAILED
    assert end.cause.startswith("accuracy is ")


def test_a_share_may_be_all_or_nothing() -> None:
    for value in (0.0, 1.0):
        log = heard_of(Problem(SPACE, maximize("accuracy", scale="share")))
        say(log, 1.0, accuracy=value)
        assert outcome(log, Ending(Seconds(2.0))).state is TrialState.DONE


def test_the_last_line_fills_gaps_only() -> None:
    log = heard_of(PROBLEM)
    say(log, 1.0, accuracy=0.5)
    end = outcome(log, Ending(Seconds(2.0), last_line="accuracy=0.9 latency: 3", last_error="latency=4"))
    assert end.observations[0].metrics == {"accuracy": 0.5, "latency": 3.0}
    assert outcome(heard_of(), Ending(Seconds(2.0), last_error="INFO accuracy=0.7")).observations[0].metrics == {
        "accuracy": 0.7
    }


def test_a_share_that_is_none_is_named() -> None:
    log = heard_of()
    log.hear(ProgramReport({"accuracy": 0.5}, odd_fraction="2"), 1.0, on_purpose=False)
    cause = outcome(log, Ending(Seconds(2.0))).cause
    assert cause == "metric 'accuracy' was not reported; a report names the share 2, which is none"


def test_a_goal_that_needs_no_report() -> None:
    log = heard_of(Problem(SPACE, minimize("cost")))
    end = outcome(log, Ending(Seconds(2.0)))
    assert end.state is TrialState.DONE
    assert end.observations[0].cost == pytest.approx(0.002)


# -- snapshots


def snapshots(**told: float) -> ReportLog:
    log = heard_of(SIMPLE, (TENTH, HALF, FULL))
    for seconds, (name, value) in enumerate(told.items(), 1):
        say(log, float(seconds), {"tenth": TENTH, "half": HALF, "full": FULL}[name], accuracy=value)
    return log


def test_each_snapshot_is_an_observation_at_its_time() -> None:
    log = snapshots(tenth=0.1, half=0.5, full=0.9)
    end = outcome(log, Ending(Seconds(10.0)))
    assert [(seen.fraction, seen.metrics["accuracy"], seen.seconds) for seen in end.observations] == [
        (TENTH, 0.1, 1.0), (HALF, 0.5, 2.0), (FULL, 0.9, 10.0),
    ]  # fmt: skip
    taken(end, log)


def test_reports_without_a_share_count_for_the_trials_own() -> None:
    log = snapshots(tenth=0.1, half=0.5)
    say(log, 3.0, accuracy=0.8)
    assert outcome(log, Ending(Seconds(10.0))).observations[-1].metrics == {"accuracy": 0.8}


def test_a_share_that_a_program_rounded() -> None:
    problem = Problem(SPACE, maximize("accuracy"), [], [Fraction(1, 60), FULL])
    log = heard_of(problem, (Fraction(1, 60), FULL))
    say(log, 1.0, Fraction("0.016667"), accuracy=0.2)
    say(log, 2.0, Fraction("0.3"), accuracy=0.3)
    say(log, 3.0, FULL, accuracy=0.4)
    end = outcome(log, Ending(Seconds(4.0)))
    assert [seen.metrics["accuracy"] for seen in end.observations] == [0.2, 0.4]


@pytest.mark.parametrize(
    ("told", "ending", "kept", "at", "cause"),
    [
        ({"tenth": 0.1}, Ending(Seconds(9.0), code=1), [TENTH], FULL, "exit code 1"),
        ({}, Ending(Seconds(9.0), code=1), [], FULL, "exit code 1"),
        ({"tenth": 0.1, "half": math.nan}, Ending(Seconds(9.0), code=1), [TENTH], FULL, "exit code 1"),
        ({"tenth": 0.1, "half": 0.5, "full": 0.9}, Ending(Seconds(9.0), code=1), [TENTH, HALF], FULL, "exit code 1"),
        (
            {"tenth": 0.1, "full": 0.9},
            Ending(Seconds(9.0)),
            [TENTH],
            HALF,
            "metric 'accuracy' was not reported at the share 1/2 (report it with fraction=1/2)",
        ),
        ({"tenth": 0.1, "half": math.nan, "full": 0.9}, Ending(Seconds(9.0)), [TENTH], HALF, "accuracy is nan"),
    ],
)
def test_what_came_before_a_failure_stays(
    told: dict[str, float], ending: Ending, kept: list[Fraction], at: Fraction, cause: str
) -> None:
    log = snapshots(**told)
    end = outcome(log, ending)
    assert (end.state, end.cause) == (TrialState.FAILED, cause)
    assert [seen.fraction for seen in end.observations] == [*kept, at]
    assert [seen.kind.value for seen in end.observations] == ["measured"] * len(kept) + ["failed"]
    assert end.observations[-1].seconds == 9.0
    taken(end, log)


def test_a_resumed_run_need_not_repeat_the_smaller_shares() -> None:
    log = snapshots(half=0.5, full=0.9)
    end = outcome(log, Ending(Seconds(10.0)), RESUMED, Terms(earlier_seconds=Seconds(100.0)))
    assert end.state is TrialState.DONE
    assert [(seen.fraction, seen.seconds) for seen in end.observations] == [(HALF, 1.0), (FULL, 110.0)]
    assert (end.seconds, end.resumed) == (10.0, True)
    taken(end, log)


# -- ended by us


@pytest.mark.parametrize("why", [EndReason.STOP, EndReason.SIGNAL])
def test_interrupted(why: EndReason) -> None:
    log = heard_of()
    end = outcome(log, Ending(Seconds(4.0), code=-15, why=why, log="/l"))
    assert (end.state, end.cause, end.observations) == (TrialState.QUEUED, "interrupted (log: /l)", ())
    assert end.seconds == 4.0
    assert outcome(log, Ending(Seconds(4.0), code=0, why=why)).state is TrialState.QUEUED, "no metrics yet"
    say(log, 1.0, accuracy=0.5)
    assert outcome(log, Ending(Seconds(4.0), code=1, why=why)).state is TrialState.QUEUED
    assert outcome(log, Ending(Seconds(4.0), code=0, why=why)).state is TrialState.DONE, "it ended by itself"


@pytest.mark.parametrize("why", [EndReason.LEASE, EndReason.ORPHANED])
def test_a_lost_lease(why: EndReason) -> None:
    log = heard_of()
    say(log, 1.0, accuracy=0.5)
    end = outcome(log, Ending(Seconds(4.0), code=0, why=why))
    assert (end.state, end.observations, end.seconds) == (TrialState.LOST, (), 4.0)


# -- reports


def test_what_is_a_report() -> None:
    log = heard_of()
    assert log.hear(ProgramReport({"loss": 1.0}), 1.0, on_purpose=False) is None, "just output"
    report = log.hear(ProgramReport({"loss": 1.0, "inf": math.inf}, step=2.0), 1.0, on_purpose=True)
    assert report is not None
    assert (report.number, report.seconds, report.metrics, report.step) == (0, 1.0, {"loss": 1.0}, 2.0)
    report = log.hear(ProgramReport({"accuracy": 0.5, "loss": 2.0}), 2.0, on_purpose=False)
    assert report is not None
    assert report.metrics == {"accuracy": 0.5, "loss": 2.0}
    assert report.fraction is None
    for named, share in ((FULL, FULL), (Fraction("0.99999"), FULL), (HALF, HALF)):
        report = log.hear(ProgramReport({"accuracy": 0.5}, fraction=named), 2.0, on_purpose=False)
        assert report is not None
        assert report.fraction == share


def test_money_and_time_are_never_believed() -> None:
    log = heard_of()
    say(log, 1.0, accuracy=0.5, cost=0.0, time=0.0)
    (seen,) = outcome(log, Ending(Seconds(36.0))).observations
    assert seen.metrics == {"accuracy": 0.5}
    assert seen.seconds == 36.0
    assert seen.cost == pytest.approx(0.036)


def test_a_program_that_makes_up_names_fills_no_memory() -> None:
    log = heard_of()
    for number in range(5 * MOST_NAMES):
        say(log, 1.0, None, accuracy=0.5, **{f"metric_{number}": 1.0})
    assert len(log.names) <= MOST_NAMES
    assert len(log.results[FULL].metrics) <= MOST_NAMES + 1
    assert outcome(log, Ending(Seconds(1.0))).state is TrialState.DONE


METRICS = st.dictionaries(st.sampled_from(["accuracy", "latency", "loss", "cost"]), st.floats(), max_size=3)
SAID = st.builds(ProgramReport, METRICS, st.none(), st.none() | st.sampled_from([TENTH, HALF, FULL, Fraction(1, 3)]))
ENDINGS = st.builds(
    Ending,
    st.floats(0, 1e6),
    code=st.sampled_from([0, 0, 1, -9]),
    why=st.sampled_from(EndReason),
    last_line=st.sampled_from(["", "accuracy=0.5 latency=1", "accuracy=nan"]),
)


@given(st.lists(st.tuples(SAID, st.booleans()), max_size=6), ENDINGS, st.booleans(), st.sampled_from([1, 2, 3]))
def test_whatever_happens_the_history_takes_it(
    said: list[tuple[ProgramReport, bool]], ending: Ending, resumed: bool, count: int
) -> None:
    log = heard_of(PROBLEM, (TENTH, HALF, FULL)[-count:])
    for report, on_purpose in said:
        log.hear(report, 0.5 * ending.seconds, on_purpose=on_purpose)
    end = outcome(log, ending, Restored(own=resumed), Terms(earlier_seconds=Seconds(3.0)))
    taken(end, log)
    assert end.seconds == ending.seconds
    assert all((seen.seconds or 0.0) <= ending.seconds + 3.0 for seen in end.observations)


def test_a_resumed_run_that_has_nothing_left_to_say_is_done_with_what_was_said_before() -> None:
    problem = Problem(Space(n=integer(0, 9)), maximize("accuracy"))
    _, trial = History().propose(problem.space.configuration({"n": 1}), FULL)
    earlier = {"accuracy": 0.75}
    end = outcome(
        ReportLog(problem, trial), Ending(Seconds(1.0)), RESUMED, Terms(earlier_seconds=Seconds(9.0), reported=earlier)
    )
    assert (end.state, end.observations[0].metrics, end.observations[0].seconds) == (TrialState.DONE, earlier, 10.0)
    newer = ReportLog(problem, trial)
    newer.take(FULL, {"accuracy": 0.8}, 1.0)
    assert outcome(newer, Ending(Seconds(1.0)), RESUMED, Terms(reported=earlier)).observations[0].metrics == {
        "accuracy": 0.8
    }
    failed = outcome(ReportLog(problem, trial), Ending(Seconds(1.0), code=1), terms=Terms(reported=earlier))
    assert failed.state is TrialState.FAILED, "it did not end well"
    stopped = outcome(
        ReportLog(problem, trial), Ending(Seconds(1.0), why=EndReason.STOP), RESUMED, Terms(reported=earlier)
    )
    assert stopped.state is TrialState.QUEUED, "it was asked to end, and is not done"


def test_a_program_that_keeps_its_state_elsewhere_went_on_from_it() -> None:
    """Without a checkpoint of ours: seconds of the training are those of all attempts, as its metrics are."""
    problem = Problem(Space(n=integer(0, 9)), maximize("accuracy"), ["latency <= 20"])
    _, trial = History().propose(problem.space.configuration({"n": 1}), FULL)
    earlier = {"accuracy": 0.75, "latency": 3.0}
    terms = Terms(attempt=2, earlier_seconds=Seconds(9.0), reported=earlier)
    end = outcome(ReportLog(problem, trial), Ending(Seconds(1.0)), terms=terms)
    assert (end.state, end.resumed) == (TrialState.DONE, True)
    assert (end.observations[0].metrics, end.observations[0].seconds) == (earlier, 10.0)
    afresh = ReportLog(problem, trial)
    afresh.take(FULL, {"accuracy": 0.8}, 1.0)
    half = outcome(afresh, Ending(Seconds(1.0)), terms=terms)
    assert (half.state, half.cause) == (TrialState.FAILED, "metric 'latency' was not reported")
    assert half.resumed is False, "it began anew, and only what it says itself counts"
