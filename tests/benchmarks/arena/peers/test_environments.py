"""Environments that are absent, present, or cannot be made."""

from pathlib import Path

import pytest

from benchmarks.arena.peers import environments
from benchmarks.arena.peers.__main__ import main
from benchmarks.arena.peers.environments import ENVIRONMENTS, TORCH, Environment
from leantune.errors import LeanTuneError, MissingExtra


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(environments, "FOLDER", tmp_path)
    return tmp_path


def test_an_absent_one_says_how_to_install_it() -> None:
    with pytest.raises(MissingExtra, match=r"smac is not installed.*python -m benchmarks.arena.peers install"):
        ENVIRONMENTS["smac"].ready_python()


def test_one_of_our_own_environment_is_there_when_its_module_is() -> None:
    assert Environment("json", module="json").ready_python().exists()
    with pytest.raises(MissingExtra, match="bench"):
        Environment("none", module="no_such_module").ready_python()


def test_other_versions_are_not_the_ones_asked_for(folder: Path) -> None:
    made = Environment("one", ("a==1",))
    made.folder.mkdir()
    (made.folder / "installed.txt").write_text("a==1\n")
    assert made.installed
    assert not Environment("one", ("a==2",)).installed


def test_one_that_cannot_be_made_says_why_and_is_not_marked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = Environment("broken", ("./no such thing",))
    with pytest.raises(LeanTuneError, match="cannot be installed"):
        broken.install()
    assert not broken.installed
    monkeypatch.setitem(ENVIRONMENTS, "broken", broken)
    main(["install", "broken"])
    assert "without broken: it cannot be installed" in capsys.readouterr().err


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["install", "ax"])
    assert "there is no environment 'ax'" in capsys.readouterr().err


def test_every_version_is_pinned_and_torch_is_the_one_without_gigabytes() -> None:
    for environment in ENVIRONMENTS.values():
        assert all("==" in requirement for requirement in environment.requirements)
        torch = [requirement for requirement in environment.requirements if requirement.startswith("torch")]
        assert torch in ([], [TORCH])
