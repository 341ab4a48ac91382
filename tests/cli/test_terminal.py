"""What a person sees: rows in columns, what a long command says meanwhile; and signals, which reach the loop.

Real processes with real signals are in test_studies.py.
"""

import os
import pty
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import typer
from typer.main import get_command

from leantune.cli.app import app
from leantune.cli.terminal import (
    QUIET_SECONDS,
    SIGNALS,
    Interrupts,
    activity,
    columned,
    interruptible,
    job_files,
    study_names,
    table_names,
)
from leantune.clock import SimulatedClock
from leantune.lab.replay.tables import preset_names
from leantune.problem import Budget
from leantune.space import Space, choice
from leantune.store.database import Database

URL = "sqlite:///leantune.db"
SCRIPT = "from leantune.cli.terminal import activity\nwith activity('reading') as tell: tell('[7] rows\\x1b[2J')"


def test_plain_lines_come_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    clock = SimulatedClock(5.0)
    with activity("reading", clock=clock) as tell:
        for number in range(5):
            tell(f"{number} rows")
            clock.sleep(0.6 * QUIET_SECONDS)
    shown = capsys.readouterr()
    assert shown.err.splitlines() == ["reading: 2 rows", "reading: 4 rows"]
    assert shown.out == "", "standard output belongs to the result"


def test_a_terminal_shows_one_line_and_no_control_of_others() -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], stderr=theirs, stdout=subprocess.PIPE, env=environment, check=True
    )
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert "reading" in shown
    assert "\x1b[2J" not in shown
    assert done.stdout == b""


def test_words_begin_together_and_numbers_end_together() -> None:
    lines = columned(("name", "kind", "n"), [("a", "long one", "1"), ("bcdef", "", "1,000")], left=2)
    assert lines == [
        "  name   kind          n",
        "  a      long one      1",
        "  bcdef            1,000",
    ]


def test_no_rows_and_no_trailing_spaces() -> None:
    assert columned(("a", "b"), []) == ["  a  b"]
    assert columned(("a", "bb"), [("x", "")]) == ["  a  bb", "  x"]


# -- signals


class Loop:
    def __init__(self) -> None:
        self.asked = 0

    def interrupt(self) -> None:
        self.asked += 1


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_asks_the_loop_and_nothing_else(number: signal.Signals) -> None:
    before, loop = signal.getsignal(number), Loop()
    with interruptible() as interrupts:
        interrupts.ready(loop)
        os.kill(os.getpid(), number)
        assert loop.asked == 1
        interrupts.noticed()
        os.kill(os.getpid(), number)
        assert loop.asked == 2
    assert interrupts.count == 2
    assert signal.getsignal(number) is before


def test_before_there_is_a_loop_ctrl_c_ends_the_command() -> None:
    with pytest.raises(KeyboardInterrupt), interruptible():
        os.kill(os.getpid(), signal.SIGINT)


def test_a_loop_that_has_not_noticed_the_first_is_left_at_the_second() -> None:
    loop, interrupts = Loop(), Interrupts()
    interrupts.ready(loop)
    interrupts.interrupt()
    with pytest.raises(KeyboardInterrupt):
        interrupts.interrupt()
    interrupts.interrupt()  # it cleans up: a third does not disturb that
    assert loop.asked == 3


def test_handlers_are_put_back_after_an_error() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), interruptible():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is before


def test_in_another_thread_there_are_no_handlers_and_no_error() -> None:
    seen: list[int] = []

    def work() -> None:
        with interruptible() as interrupts:
            seen.append(interrupts.count)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [0]


# -- what the Tab key offers, in a real bash as well


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
