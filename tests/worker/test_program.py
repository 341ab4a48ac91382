"""Starting a program: what it finds when it begins. Run in a process of its own, because a warden adopts everything."""

import json
import subprocess
import sys
from pathlib import Path

from leantune.worker import program

SOURCE = str(Path(program.__file__).parents[2])
WARDEN = """
import json, os, sys, time
sys.path.append(sys.argv[1])
from leantune.worker.program import Program
os.environ["PLACE"] = "here"
started = Program(json.loads(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4]))
while started.reap(): time.sleep(0.005)
out, err = os.read(started.out, 65536) if not started.failure else b"", b""
print(json.dumps({"out": out.decode(), "status": started.status, "failure": started.failure}))
"""


def start(argv: list[str], folder: Path, cores: list[int]) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", WARDEN, SOURCE, json.dumps(argv), str(folder), json.dumps(cores)],
        capture_output=True,
        check=True,
    )
    told = json.loads(done.stdout)
    assert isinstance(told, dict)
    return told


def test_what_a_program_finds(tmp_path: Path) -> None:
    code = """
import os, signal, sys
print(os.getcwd(), os.environ["PLACE"], sorted(os.sched_getaffinity(0)), os.getsid(0) == os.getpid(), sys.stdin.read())
print(signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, sorted(os.listdir("/proc/self/fd"))[:4])
print(open("/proc/self/oom_score_adj").read().strip())
print([line for line in open("/proc/self/status") if line.startswith("SigIgn")][0].split()[1])
"""
    told = start([sys.executable, "-I", "-S", "-c", code], tmp_path, [0])
    assert (told["status"], told["failure"]) == (0, "")
    where, files, oom, ignored = str(told["out"]).splitlines()
    assert where == f"{tmp_path} here [0] True "
    assert files == "True ['0', '1', '2', '3']", "and 3 is the folder it lists"
    assert int(oom) >= 0
    status = Path("/proc/self/status").read_text(encoding="ascii")
    ours = int(status.partition("SigIgn:")[2].split()[0], 16)  # as under nohup, or in the background of a shell
    own = 1 << 12 | 1 << 24  # SIGPIPE and SIGXFSZ, which its own Python ignores
    assert int(ignored, 16) & ~(own | ours) == 0


def test_what_cannot_be_started(tmp_path: Path) -> None:
    told = start(["no-such-program"], tmp_path, [])
    assert told["failure"] == "there is no program 'no-such-program' on the PATH"
    assert (
        start(["true"], tmp_path / "away", [])["failure"] == f"its folder '{tmp_path}/away': No such file or directory"
    )
    assert str(start(["true"], tmp_path, [100_000])["failure"]).endswith("Invalid argument")
