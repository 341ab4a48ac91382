"""Places that a job file may name: each can be made, and naming one loads nothing."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from leantune.clock import RealClock
from leantune.errors import JobError
from leantune.executors.base import Executor
from leantune.executors.registry import (
    DEFAULT,
    DEFAULT_RENTED,
    PLACES,
    ProgramSettings,
    executor_module,
    is_available,
)
from leantune.space import Cluster, Machine
from tests.executors.programs import PROBLEM, python

AVAILABLE = [name for name in PLACES if is_available(name)]


def settings_in(place: Path) -> ProgramSettings:
    """Of a program that ends at once, on one small machine."""
    return ProgramSettings(
        study="s",
        problem=PROBLEM,
        arguments=lambda trial, extra: python("print('accuracy=0.5')"),
        clusters=(Cluster(Machine("box", 1, 0.1, usd_per_hour=3.6), 1),),
        folder=place,
        runs=place / "runs",
        checkpoints=place / "checkpoints",
    )


@pytest.mark.parametrize("name", AVAILABLE)
def test_every_place_that_is_available_makes_an_executor(name: str, tmp_path: Path) -> None:
    place = executor_module(name).place_of(settings_in(tmp_path))
    place.check()
    executor: Executor = place.executor(RealClock())
    try:
        assert executor.running == frozenset()
    finally:
        executor.close()
    assert place.charges.billed == PLACES[name].rents


def test_the_defaults_are_available() -> None:
    assert is_available(DEFAULT) and not PLACES[DEFAULT].rents
    assert is_available(DEFAULT_RENTED) and PLACES[DEFAULT_RENTED].rents


def test_a_place_of_a_later_version_is_told_so() -> None:
    with pytest.raises(JobError, match="running on 'aws' is not available in this version") as caught:
        executor_module("aws")
    assert caught.value.where == "run.on"
    assert "on: local (or simcloud)" in caught.value.hint


def test_a_machine_that_this_host_is_not_is_refused_everywhere(tmp_path: Path) -> None:
    huge = replace(settings_in(tmp_path), clusters=(Cluster(Machine("huge", 10_000, 1, usd_per_hour=1.0), 1),))
    for name in AVAILABLE:
        with pytest.raises(Exception, match="1 x huge has 10000 vCPUs"):
            executor_module(name).place_of(huge).check()


def test_reading_a_job_file_loads_no_executor() -> None:
    program = "import sys, leantune.jobfile; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    rooms = ("leantune.executors.", "leantune.revocation", "leantune.rent")
    loaded = {name.rpartition(".")[2] for name in found if name.startswith(rooms)}
    assert loaded <= {"base", "command", "registry"}
