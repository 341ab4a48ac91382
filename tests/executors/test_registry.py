"""Places that a job file may name: each can be made, and naming one loads nothing."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from inspect import signature
from pathlib import Path
from types import FunctionType

import pytest

from leantune.clock import RealClock
from leantune.errors import JobError
from leantune.executors.base import Executor
from leantune.executors.registry import (
    DEFAULT,
    DEFAULT_RENTED,
    PLACES,
    Charges,
    ExecutorModule,
    ProgramSettings,
    charges_at,
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
    module, settings = executor_module(name), settings_in(tmp_path)
    module.check_settings(settings)
    executor: Executor = module.make_executor(settings, RealClock())
    try:
        assert executor.running == frozenset()
    finally:
        executor.close()
    assert module.charges(settings).billed == PLACES[name].rents


@pytest.mark.parametrize("name", AVAILABLE)
@pytest.mark.parametrize("function", [name for name, one in vars(ExecutorModule).items() if type(one) is FunctionType])
def test_a_module_defines_what_is_asked_of_it(name: str, function: str) -> None:
    if function.startswith("_"):
        return
    wanted = list(signature(getattr(ExecutorModule, function)).parameters)[1:]
    found = signature(getattr(executor_module(name), function)).parameters
    assert list(found)[: len(wanted)] == wanted
    assert all(one.default is not one.empty for one in list(found.values())[len(wanted) :])


def test_the_defaults_are_available() -> None:
    assert is_available(DEFAULT) and not PLACES[DEFAULT].rents
    assert is_available(DEFAULT_RENTED) and PLACES[DEFAULT_RENTED].rents


def test_a_place_of_a_later_version_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="running on 'aws' is not available in this version") as caught:
        executor_module("aws")
    assert caught.value.where == "run.on"
    assert "on: local (or simcloud)" in caught.value.hint
    assert charges_at("aws", settings_in(tmp_path)) == Charges()


def test_a_machine_that_this_host_is_not_is_refused_everywhere(tmp_path: Path) -> None:
    huge = replace(settings_in(tmp_path), clusters=(Cluster(Machine("huge", 10_000, 1, usd_per_hour=1.0), 1),))
    for name in AVAILABLE:
        with pytest.raises(Exception, match="1 x huge has 10000 vCPUs"):
            executor_module(name).check_settings(huge)


def test_reading_a_job_file_loads_no_executor() -> None:
    program = "import sys, leantune.jobfile; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    rooms = ("leantune.executors.", "leantune.revocation", "leantune.rent")
    loaded = {name.rpartition(".")[2] for name in found if name.startswith(rooms)}
    assert loaded <= {"base", "command", "registry"}
