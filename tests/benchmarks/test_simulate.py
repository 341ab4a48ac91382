"""The benchmark measures what it says."""

import pytest

from benchmarks.simulate import bare_loop, events_of, measure, simulated, synthetic_jobs
from leantune.lab.simulate.comparison import ComparisonPlan, forecaster_of
from leantune.lab.simulate.setup import generated_pool


def test_both_sizes_are_measured_and_the_longer_one_spans_longer() -> None:
    usual, month = measure(0.03)
    assert (usual.name, month.name) == ("usual", "month")
    assert usual.jobs == month.jobs == 3
    assert month.span_days > 2 * usual.span_days > 0
    for figures in (usual, month):
        assert figures.ratio == pytest.approx(figures.simulate_s / figures.reference_s)
        assert figures.events > 2 * figures.machines > 0
        assert figures.table_s > 0


def test_events_are_those_of_machines_and_reports() -> None:
    plan = ComparisonPlan(
        pool := generated_pool(("r4.large",), days=1.0, zones=1), (synthetic_jobs(2, 0.5),), pool.speeds()
    )
    result = simulated(plan, forecaster_of(plan), plan.tunings[0])
    reports = sum(job.reports for job in result.jobs)
    assert 2 * len(result.stays) + reports < events_of(result) <= 4 * len(result.stays) + reports


def test_the_reference_goes_through_all_its_events() -> None:
    assert bare_loop(1000) < bare_loop(2000)
