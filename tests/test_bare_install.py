"""The base works with none of the extras: every extra's import is blocked in a process of its own."""

import subprocess
import sys

import pytest

from leantune.cli.doctor import PARTS

BLOCKED = sorted(part.module for part in PARTS if not part.is_base)

BLOCKER = f"""
import sys
from importlib.abc import MetaPathFinder

class NoExtras(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {BLOCKED!r}:
            raise ModuleNotFoundError(f"{{name}} belongs to an extra", name=name)

sys.meta_path.insert(0, NoExtras())
"""

STUDY = """
import leantune as lt

space = lt.Space(lr=lt.log(1e-4, 1e-1), cluster=lt.clusters([lt.machine("m", vcpus=1, memory=2, usd_per_hour=36)]))
study = lt.Study(space, lt.maximize("accuracy"), subject_to=["cost <= 0.05 USD"], fractions=["1/4", 1],
                 strategy="{strategy}", seed=3)
for _ in range(6):
    trial = study.ask()
    share = float(trial.fraction)
    study.tell(trial, {{"accuracy": 0.9 - 5 * trial["lr"] * share}}, seconds=4 * share)
assert 0 < study.recommendation().configuration["lr"] <= 0.1
"""

CMAES = """
from leantune.errors import MissingExtra
from leantune.strategies.registry import recipe

try:
    recipe("trimtuner", candidates="cmaes")
except MissingExtra as refused:
    print(refused)
recipe("trimtuner", candidates="direct")
"""

DOCTOR = """
from leantune.cli.app import main
sys.argv = ["leantune", "doctor", "--json"]
main()
"""


def run_without_extras(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BLOCKER + program], capture_output=True, text=True, timeout=300, check=False
    )


def test_the_blocker_blocks() -> None:
    assert "belongs to an extra" in run_without_extras("import sklearn").stderr


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["trimtuner-gp", "trimtuner", "random"])
def test_a_study_runs(strategy: str) -> None:
    run = run_without_extras(STUDY.format(strategy=strategy))
    assert run.returncode == 0, run.stderr


def test_the_doctor_runs_and_misses_every_extra() -> None:
    run = run_without_extras(DOCTOR)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count('"missing"') == len(BLOCKED)


def test_the_cma_es_filter_names_its_extra_when_it_is_chosen() -> None:
    run = run_without_extras(CMAES)
    assert run.returncode == 0, run.stderr
    assert "the CMA-ES filter" in run.stdout and "leantune[papers]" in run.stdout
