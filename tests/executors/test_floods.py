"""A program may report as often and as much as it likes; what is kept of it is bounded, and that is said once."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from leantune.executors.base import Finished, Report
from leantune.executors.outcome import Ending, ReportLog, outcome
from leantune.history import History, TrialState
from leantune.problem import Problem, maximize
from leantune.space import Space, integer
from leantune.study import Study
from leantune.units import Seconds
from leantune.worker.lines import FREELY_KEPT, MOST_METRICS, SPACING, ProgramReport, ReportLimits
from tests.executors.programs import local, log_of, python, trial_of, until

HALF, FULL = Fraction(1, 2), Fraction(1)
SPACE = Space(n=integer(0, 9))


def test_usual_programs_are_kept_whole() -> None:
    limits = ReportLimits()
    assert all(limits.keeps(0.0) for _ in range(FREELY_KEPT))
    limits = ReportLimits()
    assert all(limits.keeps(0.2 * n) for n in range(2 * FREELY_KEPT))
    assert limits.notes == ()


@given(st.floats(1e-4, 1.0), st.integers(1, 20))
def test_a_curve_goes_on_to_its_end_and_stays_small(spacing: float, thousands: int) -> None:
    limits, times = ReportLimits(), [spacing * n for n in range(1000 * thousands)]
    kept = [time for time in times if limits.keeps(time)]
    assert len(kept) + limits.left_out == len(times)
    gaps = [later - earlier for earlier, later in pairwise(kept[FREELY_KEPT - 1 :])]
    assert all(gap >= SPACING for gap in gaps)
    assert times[-1] - kept[-1] <= 0.51 * times[-1] + 2 * SPACING
    assert bool(limits.notes) == bool(limits.left_out)


def test_a_month_of_reports() -> None:
    limits = ReportLimits()
    assert sum(limits.keeps(2.0 * n) for n in range(30 * 86400 // 2)) < 16_500


def test_the_last_value_counts_whether_it_is_kept_or_not() -> None:
    log = ReportLog(Problem(SPACE, maximize("accuracy"), [], [HALF, FULL]), History().propose(
        SPACE.grid()[0], FULL, (HALF, FULL))[1])  # fmt: skip
    kept = [log.hear(ProgramReport({"accuracy": n / 1e6}, step=n), 1e-6 * n, on_purpose=False) for n in range(3000)]
    assert sum(report is not None for report in kept) == FREELY_KEPT
    at_half = log.hear(ProgramReport({"accuracy": 0.5}, fraction=HALF), 0.01, on_purpose=False)
    assert at_half is not None, "judged by it"
    assert log.hear(ProgramReport({"accuracy": 0.6}, fraction=HALF), 0.01, on_purpose=False) is None
    log.hear(ProgramReport({"accuracy": 0.9}), 0.01, on_purpose=False)
    end = outcome(log, Ending(Seconds(1.0)))
    assert end.state is TrialState.DONE
    assert [seen.metrics["accuracy"] for seen in end.observations] == [0.5, 0.9]
    assert end.cause.startswith("2,002 reports were not kept: after the first 1,000 one in 0.1 s is")


def test_of_a_large_report_what_the_problem_needs_is_kept() -> None:
    log = ReportLog(Problem(SPACE, maximize("accuracy")), History().propose(SPACE.grid()[0], FULL)[1])
    many = {f"m{n}": float(n) for n in range(5000)}
    report = log.hear(ProgramReport({**many, "accuracy": 0.5}), 1.0, on_purpose=False)
    assert report is not None
    assert len(report.metrics) == MOST_METRICS
    assert report.metrics["accuracy"] == 0.5
    assert outcome(log, Ending(Seconds(1.0))).cause == "a report of 5,001 metrics: 100 of one are kept"


def test_a_flood_of_json_from_a_program(tmp_path: Path) -> None:
    code = """
import os
flood = b''.join(b'{"accuracy": 0.%d}\\n' % n for n in range(10, 99)) * 500
while flood: flood = flood[os.write(1, flood):]
os.write(1, b'{"x": "' + b'x' * 70000 + b'"}\\n{"accuracy": 0.5}\\n')
"""
    with local(tmp_path, python(code)) as executor:
        executor.start(trial_of())
        (end,), events = until(executor, Finished)
    assert end.state is TrialState.DONE
    assert end.observations[0].metrics == {"accuracy": 0.5}
    assert FREELY_KEPT <= sum(isinstance(event, Report) for event in events) < 1.5 * FREELY_KEPT
    assert end.cause.count("reports were not kept") == 1
    assert "lines that began as reports and were too long to be read: 1" in end.cause
    assert log_of(tmp_path).count("reports were not kept") == 1


def test_a_flood_from_a_function_is_not_stored() -> None:
    def train(trial: object) -> None:
        for step in range(20_000):
            trial.report(step=step, accuracy=step / 20_000)  # type: ignore[attr-defined]

    with Study(SPACE, maximize("accuracy"), strategy="random", steps=20_000) as study:
        study.optimize(train, trials=1)
        assert FREELY_KEPT <= len(study.store.reports()) < 3 * FREELY_KEPT
        trial = study.history.trial(0)
        assert trial.observations[0].metrics["accuracy"] == 19_999 / 20_000
        assert "reports were not kept" in trial.moves[-1].cause
