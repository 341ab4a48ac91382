"""The recorded jobs are what docs say, and wrong recordings are refused."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leantune.lab.simulate
from leantune.errors import InvalidInput
from leantune.lab.simulate.workloads import RecordedJob, families, parsed, recorded_jobs, stretched

FOLDER = Path(leantune.lab.simulate.__file__).parent / "recorded"


def written(**changes: Any) -> dict[str, Any]:
    """A file of one job with two reports."""
    job = {
        "name": "toy-bs1",
        "setting": {"bs": 1, "kernel": "rbf"},
        "steps": [10, 20],
        "values": [0.5, None],
        "seconds": [1.0, 3.0],
        "wall_seconds": 5.0,
        "drops": [12],
        "model_bytes": 100,
        "save_seconds": 0.1,
        "restore_seconds": 0.2,
    }
    header = {"format": 1, "family": "Toy", "metric": "loss", "maximize": False}
    header |= {key: changes.pop(key) for key in list(changes) if key in (*header, "jobs")}
    return {"jobs": [job | changes], **header}


def read(**changes: Any) -> tuple[RecordedJob, ...]:
    return parsed(json.dumps(written(**changes)), "toy.json")


def test_six_families_of_sixteen_different_settings() -> None:
    assert families() == ("CNN", "GBTR", "LiR", "LoR", "ResNet", "SVM")
    for family in families():
        jobs = recorded_jobs(family)
        assert len({job.name for job in jobs}) == len({tuple(job.setting.items()) for job in jobs}) == 16
        assert {job.family for job in jobs} == {family}
    assert len(recorded_jobs()) == 96


@pytest.mark.parametrize("job", recorded_jobs(), ids=lambda job: job.name)
def test_a_recorded_job_learned_something(job: RecordedJob) -> None:
    known = job.values[np.isfinite(job.values)]
    assert len(job.steps) >= 40
    assert not job.maximize and known[-1] < known[0]
    assert job.model_bytes > 0 and 0 < job.save_seconds < 10 and 0 < job.restore_seconds < 10
    assert all(0 < drop < job.total_steps for drop in job.drops)


def test_only_settings_that_mean_the_same_have_the_same_curve() -> None:
    """With a decay rate of 1 it does not matter when the rate decays."""

    def meaning(job: RecordedJob) -> tuple[Any, ...]:
        meant = {**job.setting, "family": job.family}
        if meant.get("dr") == 1.0:
            meant = {key: value for key, value in meant.items() if key not in ("ds", "de")}
        return tuple(sorted((key, str(value)) for key, value in meant.items()))

    curves = {(job.family, job.values.tobytes()) for job in recorded_jobs()}
    assert len(curves) == len({meaning(job) for job in recorded_jobs()})


def test_residual_networks_declare_the_drops_of_their_setting() -> None:
    for job in recorded_jobs("ResNet"):
        per_epoch = job.steps[0]
        assert job.drops == (per_epoch * float(job.setting["de"]), 2 * per_epoch * float(job.setting["de"]))
    assert all(not job.drops for job in recorded_jobs() if job.family != "ResNet")


def test_the_recording_is_small() -> None:
    assert 0 < sum(file.stat().st_size for file in FOLDER.iterdir()) < 2e6


def test_reads_what_was_written_and_null_is_nan() -> None:
    (job,) = read()
    assert (job.family, job.metric, job.total_steps, job.total_seconds) == ("Toy", "loss", 20.0, 4.0)
    assert job.setting["kernel"] == "rbf" and job.drops == (12.0,)
    assert job.values[0] == 0.5 and math.isnan(job.final_value)
    with pytest.raises(ValueError, match="read-only"):
        job.values[0] = 1.0


def test_stretching_gives_the_median_job_its_hours_and_keeps_proportions() -> None:
    jobs = [replace(job, seconds=job.seconds * factor) for factor in (1, 2, 5) for job in read()]
    after = stretched([*jobs, replace(jobs[0], family="Other")], hours=3.0)
    assert [job.total_seconds for job in after] == pytest.approx([1.5 * 3600, 3 * 3600, 7.5 * 3600, 3 * 3600])
    assert after[1].seconds == pytest.approx([0.75 * 3600, 2.25 * 3600])
    assert after[1].save_seconds == jobs[1].save_seconds


@pytest.mark.parametrize("hours", [0.0, -1.0, math.nan, math.inf])
def test_hours_must_be_positive(hours: float) -> None:
    with pytest.raises(InvalidInput, match="positive number of hours"):
        stretched(read(), hours)


def test_an_unknown_family_names_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match=r"no recording of 'AlexNet'.*Recorded are CNN, GBTR"):
        recorded_jobs("AlexNet")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 2}, "reads format 1"),
        ({"jobs": []}, "without jobs"),
        ({"steps": [10]}, "differ in length"),
        ({"steps": [20, 10]}, "do not increase"),
        ({"steps": [0, 10]}, "do not increase"),
        ({"seconds": [1.0, 0.0]}, "positive seconds"),
        ({"drops": None}, "no recording of jobs"),
    ],
)
def test_wrong_recordings_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read(**changes)


def test_text_that_is_no_recording_is_refused() -> None:
    for text in ("{", "[]", "{}", "3"):
        with pytest.raises(InvalidInput, match=r"no recording of jobs.*toy\.json"):
            parsed(text, "toy.json")
