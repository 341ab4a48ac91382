"""Curves, steps and notices, without a simulation."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.spottune.evidence import chosen, curve_errors, known_part, largest_models, variations
from tests.benchmarks.spottune.made import jobs_in, recording


def test_a_notice_saves_rate_times_seconds() -> None:
    assert [round(one.gigabytes, 2) for one in largest_models()] == [7.54, 6.91, 16.11, 14.76]


def test_the_known_part_ends_with_the_first_report_from_theta_on(tmp_path: Path) -> None:
    job = jobs_in(recording(tmp_path))[0]
    assert known_part(job, 0.7).steps[-1] == 700
    assert known_part(job, 0.71).steps[-1] == 750
    assert known_part(job, 1.0).steps[-1] == 1000


def test_the_last_values_error_is_its_distance_from_the_end(tmp_path: Path) -> None:
    jobs = jobs_in(recording(tmp_path))
    errors = {one.predictor: one for one in curve_errors(jobs)}
    wanted = [abs(job.values[13] - job.values[-1]) / job.values[-1] for job in jobs]
    np.testing.assert_allclose(errors["last"].errors, wanted, rtol=1e-6)
    assert errors["earlycurve"].median < errors["last"].median  # the curves are of its family


def test_a_drop_to_come_is_not_predicted(tmp_path: Path) -> None:
    jobs = [replace(job, drops=(900.0,)) for job in jobs_in(recording(tmp_path))]
    one = curve_errors(jobs)[0]
    assert one.later == len(jobs)
    assert math.isnan(one.median)


def test_twins_are_one_and_a_miss_has_its_price(tmp_path: Path) -> None:
    jobs = jobs_in(recording(tmp_path))
    assert chosen(jobs, "last").top_1
    hidden = replace(jobs[4], values=np.where(jobs[4].steps == 1000, 0.05, jobs[4].values))
    late = chosen([*jobs[:4], hidden], "last")
    assert not late.top_3
    assert late.regret == pytest.approx((0.15 - 0.05) / 0.05)


def test_one_lucky_last_report_does_not_make_the_best_of_three(tmp_path: Path) -> None:
    jobs = jobs_in(recording(tmp_path))
    lucky = replace(jobs[4], values=np.where(jobs[4].steps == 1000, 0.05, jobs[4].values))
    assert chosen([*jobs[:4], lucky], "last", reports=3).top_1


def test_variation_is_of_the_seconds_per_step(tmp_path: Path) -> None:
    found = variations({"ResNet": jobs_in(recording(tmp_path))})
    pace = np.array([0.10 if k % 2 == 0 else 0.11 for k in range(2, 21)])
    assert found["ResNet"] == pytest.approx(pace.std() / pace.mean())
