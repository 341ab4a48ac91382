"""A finished tiny study, run once; each test that wants one gets a copy."""

import shutil
from pathlib import Path

import pytest

from tests.cli.tiny import invoke, make_job


@pytest.fixture(scope="session")
def finished_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    assert invoke("run", make_job(folder)).exit_code == 0
    return folder


@pytest.fixture
def finished(finished_study: Path, tmp_path: Path) -> Path:
    """The job file of a study of four trials that is over."""
    return Path(shutil.copytree(finished_study, tmp_path, dirs_exist_ok=True)) / "job.yaml"
