"""The warden's own rules: its protocol, leases, and what it does when asked by others. Bad programs: see test_local."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.worker import warden
from leantune.worker.supervision import lease_deadlines

SECONDS = st.floats(0.1, 1e5)


@given(SECONDS, SECONDS)
def test_a_run_is_asked_before_it_is_killed_and_dead_before_the_lease_is_over(lease: float, grace: float) -> None:
    asked, killed = lease_deadlines(1000.0, lease, grace)
    assert 1000.0 + lease / 2 * (1 - 1e-9) <= asked <= killed < 1000.0 + lease
    assert killed - asked <= grace + 1e-6


def test_the_grace_period_fits_into_a_usual_lease() -> None:
    assert lease_deadlines(0.0, 60.0, 10.0) == (49.0, 59.0)
    assert lease_deadlines(0.0, 60.0, 30.0) == (30.0, 59.0)


class Warden:
    """A warden at work, spoken to as a worker does."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def tell(self, message: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        told = json.loads(self.process.stdout.readline())
        assert isinstance(told, dict)
        return told


@contextmanager
def at_work(place: Path, *argv: str, script: str = warden.__file__, **changes: object) -> Iterator[Warden]:
    orders = {
        "argv": list(argv), "folder": str(place), "log": str(place / "log"), "log_limit": 1 << 20,
        "reports": str(place / "reports"), "temporary": str(place),
        "time_limit": None, "grace": 0.3, "lease": None, "renewed_ago": 0.0,
        "cores": [], "vcpus": 0.0, "memory": 0, "held": [], **changes,
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/"
    )
    working = Warden(process)
    working.tell(orders)
    try:
        yield working
    finally:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(15) == 0
        assert process.stdout is not None
        process.stdout.close()


def test_start_report_and_exit(tmp_path: Path) -> None:
    code = r"""
import os
os.write(1, b'{"a": 1}\nb=2')
os.write(os.open(os.environ['LEANTUNE_REPORTS'], os.O_WRONLY), b'{"c": 3}\n')
"""
    with at_work(tmp_path, sys.executable, "-I", "-S", "-c", code) as working:
        started = working.hear()
        assert started["event"] == "started"
        reports = [working.hear(), working.hear()]
        end = working.hear()
    assert sorted((report["line"], report["told"]) for report in reports) == [('{"a": 1}', False), ('{"c": 3}', True)]
    assert all(0.0 <= report["at"] <= end["seconds"] for report in reports)
    assert (end["event"], end["code"], end["why"], end["error"]) == ("exit", 0, "", "")
    assert (end["last_line"], end["left"], end["dropped"], end["log_error"]) == ("b=2", [], 0, "")
    assert 0 < end["peak_bytes"] < 1 << 30
    assert 0.0 < end["cpu_seconds"] <= 2 * end["seconds"]
    assert (tmp_path / "log").read_text() == '{"a": 1}\nb=2'
    assert not (tmp_path / "reports").exists()


def test_it_works_from_an_installed_wheel(tmp_path: Path) -> None:
    """Files of the package in another place, nothing of this checkout on the path, and no compiled files."""
    package = Path(warden.__file__).parents[1]
    installed = tmp_path / "site-packages" / "leantune"
    for path in [package / "__init__.py", *package.glob("worker/*.py")]:
        copy = installed / path.relative_to(package)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    with at_work(tmp_path, "true", script=str(installed / "worker" / "warden.py")) as working:
        assert [working.hear()["event"] for _ in range(2)] == ["started", "exit"]


def test_the_wheel_holds_it() -> None:
    """Hatchling packs every Python file of src/leantune; nothing may exclude this one."""
    project = (Path(warden.__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8")
    assert 'packages = ["src/leantune"]' in project
    assert "exclude = " not in project.partition("[tool.hatch.build")[2].partition("[tool.ruff]")[0]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_warden_that_is_asked_to_end_passes_it_on(tmp_path: Path, number: signal.Signals) -> None:
    with at_work(tmp_path, "sleep", "60") as working:
        working.hear()
        working.process.send_signal(number)
        end = working.hear()
    assert (end["why"], end["code"], end["killed"]) == ("signal", -signal.SIGTERM, False)


def test_the_end_of_its_input_is_the_end_of_the_run(tmp_path: Path) -> None:
    with at_work(tmp_path, "sleep", "60") as working:
        working.hear()
        assert working.process.stdin is not None
        working.process.stdin.close()
        assert working.hear()["why"] == "orphaned"


def test_stop_at_once_and_with_grace(tmp_path: Path) -> None:
    for how, code in (("term", -signal.SIGTERM), ("kill", -signal.SIGKILL)):
        with at_work(tmp_path, "sleep", "60", grace=30.0) as working:
            working.hear()
            working.tell({"stop": how})
            end = working.hear()
        assert (end["why"], end["code"]) == ("stop", code)
        assert end["seconds"] < 5.0


def test_a_renewed_lease_is_longer(tmp_path: Path) -> None:
    with at_work(tmp_path, "sleep", "60", lease=0.6, grace=0.05) as working:
        working.hear()
        for _ in range(6):
            working.tell({"renewed": time.monotonic()})
            time.sleep(0.1)
        working.tell({"renewed": time.monotonic()})
        end = working.hear()
    assert end["why"] == "lease"
    assert 1.0 < end["seconds"] < 4.0


def test_a_lease_that_was_nearly_over_at_the_start(tmp_path: Path) -> None:
    with at_work(tmp_path, "sleep", "60", lease=10.0, renewed_ago=9.5, grace=1.0) as working:
        working.hear()
        end = working.hear()
    assert end["why"] == "lease"
    assert end["seconds"] < 4.0


def test_a_worker_that_reads_nothing_does_not_stop_it(tmp_path: Path) -> None:
    """12 MB of reports fill every pipe; the program still ends, and the end is told."""
    code = 'for n in range(12_000): print(\'{"a": %d, "b": "%s"}\' % (n, \'x\' * 1000))'
    with at_work(tmp_path, sys.executable, "-I", "-S", "-c", code, log_limit=3000) as working:
        end_of_log = tmp_path / "log"
        deadline = time.monotonic() + 15
        while not (end_of_log.exists() and "11999" in end_of_log.read_text()) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert "11999" in end_of_log.read_text(), "written when the run has ended, though nobody reads"
        events = [working.hear()]
        while events[-1]["event"] != "exit":
            events.append(working.hear())
    assert json.loads(events[-2]["line"])["a"] == 11_999
    assert len(events) == 2 + 12_000 - events[-1]["dropped"]
    assert events[-1]["dropped"] > 0


def test_locks_are_held_until_everything_has_ended(tmp_path: Path) -> None:
    readable, writable = os.pipe()
    script = [sys.executable, "-I", "-S", warden.__file__]
    orders = {
        "argv": ["sleep", "0.2"], "folder": "/", "log": str(tmp_path / "log"), "log_limit": 1000,
        "reports": str(tmp_path / "reports"), "temporary": str(tmp_path),
        "time_limit": None, "grace": 1.0, "lease": None, "renewed_ago": 0.0,
        "cores": [], "vcpus": 0.0, "memory": 0, "held": [writable],
    }  # fmt: skip
    process = subprocess.Popen(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[writable])
    os.close(writable)
    assert process.stdin is not None
    process.stdin.write(json.dumps(orders).encode() + b"\n")
    process.stdin.flush()
    began = time.monotonic()
    assert os.read(readable, 1) == b"", "closed by the warden, and never open in the program"
    assert time.monotonic() - began >= 0.2
    os.close(readable)
    process.communicate()


def test_a_folder_without_named_pipes(tmp_path: Path) -> None:
    code = "import os; print(os.environ['LEANTUNE_REPORTS'])"
    nowhere = str(tmp_path / "away" / "reports")
    with at_work(tmp_path, sys.executable, "-I", "-S", "-c", code, reports=nowhere) as working:
        working.hear()
        path = working.hear()["last_line"]
    assert path.startswith(f"{tmp_path}/leantune-reports-")
    assert not Path(path).exists()


def test_a_worker_that_dies_before_its_orders() -> None:
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", warden.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    out, _ = process.communicate(b'{"argv": ["tou', timeout=15)
    assert (out, process.returncode) == (b"", 0)
