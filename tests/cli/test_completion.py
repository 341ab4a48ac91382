"""What the Tab key offers, in a real bash as well."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.main import get_command

from leantune.cli.app import app
from leantune.cli.completion import job_files, study_names, table_names
from leantune.lab.replay.tables import preset_names
from leantune.problem import Budget
from leantune.space import Space, choice
from leantune.store.database import Database

URL = "sqlite:///leantune.db"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs").mkdir()
    for name in ("job.yaml", "other.yml", "train.py", "jobs/deep.yaml"):
        (tmp_path / name).touch()
    with Database(URL) as database:
        for name in ("digits", "dogs", "cats"):
            database.create(name, Space(a=choice(1, 2)), {}, "", Budget(trials=1), time=1.0, leantune_version="0")
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("", ["job.yaml", "other.yml"]),
        ("jo", ["job.yaml"]),
        ("jobs/", ["jobs/deep.yaml"]),
        ("./o", ["./other.yml"]),
        ("train", []),
        ("nowhere/", []),
    ],
)
def test_job_files(folder: Path, typed: str, offered: list[str]) -> None:
    assert job_files(typed) == offered


def test_job_files_by_an_absolute_path(folder: Path) -> None:
    assert job_files(f"{folder}/j") == [f"{folder}/job.yaml"]
    assert job_files("/zz-nothing-begins-like-this") == []


def test_tables_by_name_and_by_file(folder: Path) -> None:
    assert table_names("trimtuner-r") == ["trimtuner-rnn"]
    assert table_names("jo") == ["job.yaml"]
    assert table_names("") == [*preset_names(), "job.yaml", "other.yml"]


@pytest.mark.parametrize(
    ("store", "typed", "offered"),
    [
        (URL, "d", ["digits", "dogs"]),
        (URL, "", ["cats", "digits", "dogs"]),
        ("sqlite:///none.db", "", []),
        ("sqlite", "", []),
        (None, "", []),
    ],
)
def test_names_of_studies_in_a_store_that_is_not_made(
    folder: Path, store: str | None, typed: str, offered: list[str]
) -> None:
    context = typer.Context(get_command(app))
    context.params["store"] = store
    assert study_names(context, typed) == offered
    assert not (folder / "none.db").exists()


def completed(*words: str) -> list[str]:
    """What a real bash offers for the last of the words, split where bash splits them."""
    split = [part for word in words for part in (word.replace(":", "\n:\n").split("\n") if ":" in word else [word])]
    quoted = " ".join(f"'{word}'" for word in split)
    python = f"{sys.executable} -m leantune"
    script = f"""
        leantune() {{ {python} "$@"; }}
        export -f leantune
        eval "$({python} --show-completion bash | sed 's/ $1 / bash -c leantune /')"
        COMP_WORDS=({quoted}); COMP_CWORD={len(split) - 1}
        _leantune_completion leantune
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    run = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return run.stdout.split()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_in_bash(folder: Path) -> None:
    assert completed("leantune", "status", "jo") == ["job.yaml"]
    assert completed("leantune", "status", "--store", URL, "--study", "d") == []
    assert "recommend" in completed("leantune", "re")
    assert completed("leantune", "replay", "trimtuner-r") == ["trimtuner-rnn"]
