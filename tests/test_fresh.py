"""tools/fresh on a repository of three files: what it keeps of the caller's world, what it hides, how it ends."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

TOOL = Path(__file__).parent.parent / "tools" / "fresh"
MAKEFILE = """
demo:
	@echo demo in $$(pwd); ls -A "$$HOME" ..; env > ../seen
test:
	@echo "options: $$PYTEST_ADDOPTS"; test -f sound
"""  # make wants tabs


def git(folder: Path, *arguments: str) -> None:
    """In that folder, even where a hook of git runs these tests."""
    who = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(["git", *who, *arguments], cwd=folder, env=own, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """With data beside it, and a change that is not committed."""
    top = tmp_path / "work" / "leantune"
    (top / "tools").mkdir(parents=True)
    (tmp_path / "work" / "shared" / "data").mkdir(parents=True)
    shutil.copy(TOOL, top / "tools" / "fresh")
    (top / "Makefile").write_text(MAKEFILE, encoding="utf-8")
    (top / "sound").touch()
    git(top, "init", "--quiet")
    git(top, "add", ".")
    git(top, "commit", "--quiet", "-m", "all")
    (top / "forgotten").touch()
    return top


def fresh(repository: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    home = repository.parent.parent / "home"
    (home / ".config" / "pip").mkdir(parents=True, exist_ok=True)
    (home / ".config" / "pip" / "pip.conf").touch()
    temporary = repository.parent.parent / "tmp"
    temporary.mkdir(exist_ok=True)
    own = {"HOME": str(home), "PATH": os.environ["PATH"], "TMPDIR": str(temporary)}
    tool = repository / "tools" / "fresh"
    return subprocess.run(
        [str(tool), *arguments], env=own | environment, capture_output=True, text=True, check=False, timeout=60
    )


def seen(place: Path) -> dict[str, str]:
    text = (place / "seen").read_text(encoding="utf-8")
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def test_only_how_packages_are_reached_is_kept(repository: Path, tmp_path: Path) -> None:
    place = tmp_path / "kept"
    ended = fresh(
        repository,
        "--keep",
        str(place),
        PIP_RETRIES="3",
        https_proxy="p:1",
        LEANTUNE_DATA="/d",
        PYTHONPATH="x",
        MINE="y",
    )
    assert ended.returncode == 0, ended.stderr
    world = seen(place)
    assert world["HOME"] == str(place / "home")
    assert set(world["PATH"].split(":")) <= {
        f"{root}/{kind}" for root in ("/usr/local", "/usr", "") for kind in ("bin", "sbin")
    }
    assert (world["PIP_RETRIES"], world["https_proxy"]) == ("3", "p:1")
    assert world["PIP_CONFIG_FILE"] == str(tmp_path / "home" / ".config" / "pip" / "pip.conf")
    assert not {"LEANTUNE_DATA", "PYTHONPATH", "MINE"} & set(world)
    assert sorted(path.name for path in (place / "leantune").iterdir()) == [".git", "Makefile", "sound", "tools"]
    assert sorted(path.name for path in place.iterdir()) == ["home", "leantune", "seen"], "no data beside the clone"
    assert list((place / "home").iterdir()) == []
    assert "not committed" in ended.stdout


def test_options_reach_pytest_and_nothing_is_left(repository: Path, tmp_path: Path) -> None:
    ended = fresh(repository, "--", "--skipped-to", "a b", PIP_CONFIG_FILE="/mine")
    assert ended.returncode == 0, ended.stderr
    assert "options: --strict-skips --skipped-to a\\ b" in ended.stdout
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_command_that_fails_fails_it_and_nothing_is_left(repository: Path, tmp_path: Path) -> None:
    git(repository, "rm", "--quiet", "sound")
    git(repository, "commit", "--quiet", "-m", "unsound")
    assert fresh(repository).returncode != 0
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize("arguments", [["--keep"], ["--quick"], ["--keep", "."]])
def test_what_it_does_not_understand_is_refused(arguments: list[str], repository: Path) -> None:
    ended = fresh(repository, *arguments)
    assert ended.returncode != 0
    assert ended.stderr
    assert "make demo" not in ended.stdout
