"""Functions, replays and reports need no Linux: what only Linux or Unix has is taken away in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from leantune.errors import JobError
from leantune.executors import registry
from tests.cli.tiny import invoke, make_job
from tests.lab.replay.small import write as write_table

ELSEWHERE = """
import errno, os, select, signal, sys
from importlib.abc import MetaPathFinder

class NoUnix(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "resource", "termios", "pwd", "grp"):
            raise ModuleNotFoundError(f"there is no {name} here", name=name)

def no_proc(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and str(arguments[0]).startswith("/proc"):
        raise FileNotFoundError(errno.ENOENT, f"there is no {arguments[0]} here")

for name in ("fcntl", "resource", "termios", "pwd", "grp"):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, NoUnix())
sys.addaudithook(no_proc)
real_stat = os.stat

def stat(path, *arguments, **options):
    if not isinstance(path, int):
        no_proc("open", [os.fspath(path)])
    return real_stat(path, *arguments, **options)

os.stat = stat
for module, names in (
    (signal, ["pthread_sigmask"]),
    (select, ["PIPE_BUF", "poll", "epoll"]),
    (os, ["fchmod", "getuid", "sched_getaffinity", "sched_setaffinity", "mkfifo", "O_NONBLOCK", "O_CLOEXEC", "killpg"]),
):
    for name in names:
        delattr(module, name)
"""

FUNCTIONS = """
from pathlib import Path
import leantune as lt

def study():
    return lt.Study(lt.Space(lr=lt.log(1e-4, 1e-1)), lt.maximize("accuracy"), budget=lt.Budget(trials=6),
                    store="sqlite:///kept.db", name="s", checkpoints="checkpoints")

def train(trial):
    trial.report(step=1, accuracy=trial["lr"])
    (trial.checkpoint_dir / "weights").write_text("w")
    return {"accuracy": 1 - trial["lr"]}

study().optimize(train, trials=2)
again = study()
trial = again.ask()
again.tell(trial, {"accuracy": 0.5}, seconds=1)
again.optimize(train)
assert len(again.history) == 6, again.history
assert again.recommendation().configuration["lr"] <= 0.1
assert again.report(Path("report.html")).stat().st_size > 1000
for held in ("fcntl", "resource", "pwd"):
    assert held not in sys.modules, held
"""

COMMAND = """
from leantune.cli.app import main
sys.argv = ["leantune", *{arguments!r}]
main()
"""


def run_elsewhere(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", ELSEWHERE + program]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def test_a_study_of_a_function_and_its_report(tmp_path: Path) -> None:
    result = run_elsewhere(FUNCTIONS, tmp_path)
    assert result.returncode == 0, result.stderr


def test_a_replay_of_a_table(tmp_path: Path) -> None:
    write_table(tmp_path)
    arguments = ["replay", "measured.yaml", "--strategies", "random,eic", "--seeds", "1", "--iterations", "2"]
    result = run_elsewhere(COMMAND.format(arguments=[*arguments, "--processes", "0"]), tmp_path)
    assert result.returncode == 0, result.stderr
    assert "eic" in result.stdout


@pytest.mark.parametrize("arguments", [["run", "job.yaml"], ["run", "job.yaml", "--json"]])
def test_programs_are_refused_at_once_with_what_to_do(tmp_path: Path, arguments: list[str]) -> None:
    make_job(tmp_path)
    result = run_elsewhere(COMMAND.format(arguments=arguments), tmp_path)
    assert result.returncode == 2, result.stderr
    assert "programs are run on Linux only" in result.stderr
    assert "Use a Linux machine, WSL 2 or a container; here Python functions can be tuned" in result.stderr
    assert not (tmp_path / "leantune.db").exists()


def test_what_is_read_only_works_everywhere(tmp_path: Path) -> None:
    assert invoke("run", make_job(tmp_path)).exit_code == 0
    for arguments in (["status", "job.yaml"], ["recommend", "job.yaml"], ["report", "job.yaml"], ["logs", "job.yaml"]):
        result = run_elsewhere(COMMAND.format(arguments=arguments), tmp_path)
        assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_other_systems_are_named(monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(JobError, match=f"programs are run on Linux only, and this is {platform}"):
        registry.executor_module("local")
