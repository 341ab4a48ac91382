"""The worker's end of a warden."""

from __future__ import annotations

import os
import selectors
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from leantune.errors import LeanTuneError
from leantune.executors.warden_process import WardenProcess
from leantune.worker.messages import Orders
from tests.executors.programs import alive, eventually


def orders(place: Path, *argv: str) -> Orders:
    return {
        "argv": list(argv), "folder": str(place), "log": str(place / "log"), "log_limit": 1 << 20,
        "reports": str(place / "reports"), "temporary": str(place),
        "time_limit": None, "grace": 5.0, "lease": None, "renewed_ago": 0.0,
        "cores": [], "vcpus": 0.0, "memory": 0, "held": [],
    }  # fmt: skip


def hear(process: WardenProcess, event: str) -> dict[str, Any]:
    """Wait for an event of that name."""
    with selectors.DefaultSelector() as selector:
        selector.register(process, selectors.EVENT_READ)
        while selector.select(15):
            for told in process.events():
                if told["event"] == event:
                    return told
            assert not process.over
    raise AssertionError(f"no {event} in time")


def test_start_and_end(tmp_path: Path) -> None:
    process = WardenProcess(orders(tmp_path, "sh", "-c", 'echo "$COLOUR"'), {"COLOUR": "red", "PATH": os.defpath}, [])
    assert hear(process, "exit")["last_line"] == "red"
    process.end()
    assert process.over
    process.send({"renew": True})
    process.end()


def test_orders_longer_than_a_pipe(tmp_path: Path) -> None:
    long = ["echo", *["x" * 50_000] * 6]
    process = WardenProcess(orders(tmp_path, *long), os.environ, [])
    assert hear(process, "exit")["code"] == 0
    process.end()


def test_kill_waits_for_everything(tmp_path: Path) -> None:
    process = WardenProcess(orders(tmp_path, "sleep", "60"), os.environ, [])
    pid = hear(process, "started")["pid"]
    process.kill()
    assert not alive(pid)
    assert not alive(process.pid)
    assert process.over


def test_a_warden_that_dies_says_no_more(tmp_path: Path) -> None:
    process = WardenProcess(orders(tmp_path, "sleep", "60"), os.environ, [])
    pid = hear(process, "started")["pid"]
    os.kill(process.pid, signal.SIGKILL)
    eventually(lambda: process.events() == [] and process.over)
    process.send({"stop": "term"})
    process.end()
    eventually(lambda: not alive(pid))


def test_a_warden_in_trouble_is_quoted(tmp_path: Path) -> None:
    wrong = orders(tmp_path, "true")
    del wrong["argv"]  # type: ignore[misc]
    process = WardenProcess(wrong, os.environ, [])
    eventually(lambda: process.events() == [] and process.over)
    assert process.noise.strip().endswith("KeyError: 'argv'")
    process.end()


def test_a_python_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(LeanTuneError, match="no process can be started: No such file"):
        WardenProcess(orders(tmp_path, "true"), os.environ, [])
