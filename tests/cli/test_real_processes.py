"""Signals, terminals and pipes with real processes: once gently, twice at once, nothing lost and nobody left behind."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.tiny import TRAIN, invoke, left_behind, make_job, start, told

# Says when it runs; asked to stop, it saves a checkpoint and ends; run again, it finds that and comes through.
RESUMABLE = """\
folder=$2
if test -e "$folder/saved"; then echo "accuracy=0.5"; exit 0; fi
trap 'echo state > "$folder/saved"; kill $!; exit 1' TERM
echo "attempt $3" > ready
sleep 300 & wait
"""
STUBBORN = """\
trap '' TERM
echo "attempt $3" > ready
sleep 300 & wait; wait
"""
TRAINS = "sh train.sh {lr} {checkpoint_dir} {attempt}"
PATIENCE = 60.0
pytestmark = pytest.mark.slow


def long_job(folder: Path, train: str, grace: str = "20 s") -> Path:
    """A job of one trial that says through a pipe when it runs."""
    os.mkfifo(folder / "ready")
    return make_job(folder, train, train=TRAINS, budget={"trials": 1}, run={"time_limit": "10 min", "grace": grace})


def wait_until_it_runs(folder: Path) -> str:
    """What the program says when it runs; where it never does, this is an error and not a wait without end."""
    said, file = b"", os.open(folder / "ready", os.O_RDONLY | os.O_NONBLOCK)
    try:
        while True:
            assert select.select([file], [], [], PATIENCE)[0], "the training program does not run"
            part = os.read(file, 4096)
            if not part:
                return said.decode().strip()
            said += part
    finally:
        os.close(file)


def output_until(process: "subprocess.Popen[str]", words: str) -> str:
    assert process.stdout is not None
    seen = ""
    for line in process.stdout:
        seen += line
        if words in line:
            return seen
    raise AssertionError(f"{words!r} never came:\n{seen}")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_once_is_gentle_and_the_same_command_goes_on(tmp_path: Path, number: signal.Signals) -> None:
    job = long_job(tmp_path, RESUMABLE)
    with start("run", job, cwd=tmp_path) as process:
        assert wait_until_it_runs(tmp_path) == "attempt 1"
        process.send_signal(number)
        output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, output
    assert "stopping: asking 1 running trial to save a checkpoint; Ctrl-C again to end them at once" in output
    assert "Study digits: interrupted" in output
    assert f"Go on:   leantune run {job}" in output
    assert left_behind(tmp_path) == []
    assert told("status", job)["trials"] == {**dict.fromkeys(told("status", job)["trials"], 0), "total": 1, "queued": 1}
    again = invoke("run", job)
    assert again.exit_code == 0, again.output
    assert "trial 0 started again, attempt 2" in again.stdout
    assert told("status", job)["trials"]["done"] == 1


def test_twice_ends_a_program_that_does_not_listen_at_once(tmp_path: Path) -> None:
    job = long_job(tmp_path, STUBBORN, grace="5 min")
    with start("run", job, "--json", cwd=tmp_path) as process:
        wait_until_it_runs(tmp_path)
        process.send_signal(signal.SIGINT)
        output_until(process, "stopping: asking 1 running trial")
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, output
    assert "stopping: ending 1 running trial at once" in output
    assert '"outcome": "interrupted"' in output
    assert left_behind(tmp_path) == []
    assert told("status", job)["trials"]["queued"] == 1


def test_twice_while_the_loop_is_busy_with_a_proposal(tmp_path: Path) -> None:
    """A proposal may take long: the second Ctrl-C does not wait for it, and runs that are under way are given back."""
    slow = (
        "import sys, time\n"
        "from leantune.strategies.strategy import Strategy\n"
        "ask = Strategy.ask\n"
        "def slow(self, view):\n"
        "    if len(view.history): print('thinking', flush=True); [time.sleep(0.1) for _ in range(3000)]\n"
        "    return ask(self, view)\n"
        "Strategy.ask = slow\n"
        "from leantune.cli.app import main\n"
        "main()\n"
    )
    os.mkfifo(tmp_path / "ready")
    run = {"time_limit": "10 min", "grace": "5 min", "parallel": 2}
    job = make_job(tmp_path, STUBBORN, train=TRAINS, run=run)
    command = [sys.executable, "-c", slow, "run", str(job)]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1
    ) as process:
        wait_until_it_runs(tmp_path)
        output_until(process, "thinking")
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)  # a second SIGINT could be merged with the first
        output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, output
    assert "ended at once by the user" in output
    assert left_behind(tmp_path) == []
    assert told("status", job)["trials"]["queued"] == 1


def test_verify_can_be_interrupted_and_goes_on(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ready")
    run = {"time_limit": "10 min", "grace": "20 s"}
    job = make_job(tmp_path, train=TRAINS, budget={"trials": 1}, run=run)
    assert invoke("run", job).exit_code == 0
    (tmp_path / "train.sh").write_text(RESUMABLE, encoding="utf-8")
    with start("verify", job, cwd=tmp_path) as process:
        wait_until_it_runs(tmp_path)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, output
    assert "error: interrupted. The same command goes on" in output
    assert left_behind(tmp_path) == []
    result = invoke("verify", job)
    assert result.exit_code == 0, result.output
    assert "trial 1 started again, attempt 2" in result.stdout


def test_workers_share_a_study_and_every_trial_runs_once(tmp_path: Path) -> None:
    log = 'echo "$2 $3" >> starts\ntest "$2" = 0 && cat gate\necho "accuracy=$1"\n'
    rates = [rate / 20 for rate in range(20)]
    job = make_job(
        tmp_path, log, train="sh train.sh {lr} {trial} {attempt}", space={"lr": rates}, budget={"trials": 12}
    )
    os.mkfifo(tmp_path / "gate")
    with start("run", job, cwd=tmp_path) as first:
        output_until(first, "trial 0 started")
        stored = ("--store", f"sqlite:///{tmp_path}/leantune.db", "--study", "digits")
        with start("worker", *stored, "--parallel", 2, cwd=tmp_path) as second:
            helped = output_until(second, " done after ")
            (tmp_path / "gate").write_text("open\n", encoding="utf-8")  # only now may the first worker go on
            helped += second.communicate(timeout=PATIENCE)[0]
        first.communicate(timeout=PATIENCE)
    assert (first.returncode, second.returncode) == (0, 0), helped
    starts = [line.split() for line in (tmp_path / "starts").read_text(encoding="utf-8").splitlines()]
    assert sorted(int(trial) for trial, _ in starts) == list(range(12))
    assert {attempt for _, attempt in starts} == {"1"}
    assert told("status", job)["trials"]["done"] == 12
    assert told("status", job)["workers"] == []
    assert left_behind(tmp_path) == []


def test_when_nobody_reads_any_more_the_study_stops_gently(tmp_path: Path) -> None:
    job = long_job(tmp_path, RESUMABLE)
    with start("run", job, cwd=tmp_path) as process:
        assert process.stdout is not None
        wait_until_it_runs(tmp_path)
        process.stdout.close()
        process.send_signal(signal.SIGINT)  # something to tell, and nobody to hear it
        process.wait(timeout=PATIENCE)
    assert left_behind(tmp_path) == []
    assert told("status", job)["trials"]["queued"] == 1
    assert told("run", job)["best"]["metrics"] == {"accuracy": 0.5}  # it found its checkpoint


class Terminal:
    """A command on a terminal of its own, as the leader of its session: Ctrl-C reaches it as a key does."""

    def __init__(self, *arguments: object, cwd: Path) -> None:
        self.pid, self._file = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.environ.update(TERM="xterm-256color", COLUMNS="100", LINES="40")
            os.environ.pop("NO_COLOR", None)
            os.execv(sys.executable, [sys.executable, "-m", "leantune", *map(str, arguments)])
        self.seen = ""

    def read_until(self, words: str) -> None:
        """Wait until the words were on the screen."""
        while words not in self.text:
            assert self._read(), f"{words!r} never came:\n{self.text}"

    def press_ctrl_c(self) -> None:
        os.write(self._file, b"\x03")

    def end(self) -> int:
        """Its exit code."""
        while self._read():
            pass
        os.close(self._file)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def _read(self) -> bool:
        ready, _, _ = select.select([self._file], [], [], PATIENCE)
        assert ready, f"silence:\n{self.text}"
        try:
            part = os.read(self._file, 65536)
        except OSError:  # the other side is closed
            return False
        self.seen += part.decode(errors="replace")
        return bool(part)

    @property
    def text(self) -> str:
        """What was shown, without colours and movements."""
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.seen)


def test_a_terminal_shows_a_live_view_and_then_the_recommendation(tmp_path: Path) -> None:
    waits = "until test -e seen; do sleep 0.05; done\n"  # however slow the machine is to draw it
    terminal = Terminal("run", make_job(tmp_path, waits + TRAIN), cwd=tmp_path)
    terminal.read_until("trial 0")
    (tmp_path / "seen").touch()
    assert terminal.end() == 0, terminal.text
    assert re.search(r"digits  maximize accuracy  random +\S+", terminal.text)
    assert "4 of 4 (4 done)" in terminal.text
    assert re.search(r"trial 0 +lr = ", terminal.text)
    assert "\x1b[32m" in terminal.seen  # green: there is a best
    assert terminal.text.index("4 of 4") < terminal.text.index("Recommended configuration:")
    assert "trial 0 started:" not in terminal.text  # no plain lines between the pictures


def test_plain_lines_on_a_terminal_when_asked_for(tmp_path: Path) -> None:
    terminal = Terminal("run", make_job(tmp_path), "--plain", cwd=tmp_path)
    assert terminal.end() == 0, terminal.text
    assert "trial 0 started:" in terminal.text


def test_the_ctrl_c_key_reaches_the_command_and_not_the_training_programs(tmp_path: Path) -> None:
    job = long_job(tmp_path, RESUMABLE)
    terminal = Terminal("run", job, cwd=tmp_path)
    wait_until_it_runs(tmp_path)
    terminal.read_until("trial 0")
    terminal.press_ctrl_c()
    assert terminal.end() == 130, terminal.text
    assert "asking 1 running trial to save a checkpoint" in terminal.text
    assert left_behind(tmp_path) == []
    assert told("status", job)["trials"]["queued"] == 1
    assert told("run", job)["best"]["metrics"] == {"accuracy": 0.5}  # it found its checkpoint


def test_errors_on_a_terminal_are_red(tmp_path: Path) -> None:
    terminal = Terminal("run", "none.yaml", cwd=tmp_path)
    assert terminal.end() == 2
    assert "\x1b[31merror: " in terminal.seen


def test_ctrl_c_before_anything_has_begun(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "job.yaml")
    with start("run", "job.yaml", cwd=tmp_path) as process, (tmp_path / "job.yaml").open("w", encoding="utf-8"):
        process.send_signal(signal.SIGINT)  # while it waits for the rest of its job file
        output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, output
    assert output == "error: interrupted. The same command goes on\n"
