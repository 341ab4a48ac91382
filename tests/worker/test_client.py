"""What a training program sees of its trial."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from leantune.errors import LeanTuneError, NoTrial, ObservationError
from leantune.worker import client
from leantune.worker.client import CurrentTrial, acting, current_trial, real_number

CLUSTER = {
    "type": "small", "nodes": 2, "vcpus": 2.0, "memory_gib": 4.0, "accelerators": 0, "usd_per_hour": 0.04,
}  # fmt: skip


class Link:
    """Keeps what is sent."""

    def __init__(self, sent: list[dict[str, object]], own_process: bool) -> None:
        self._sent, self.own_process = sent, own_process

    def checkpoint_dir(self) -> Path:
        return Path("/somewhere")

    def send(self, message: dict[str, object]) -> None:
        self._sent.append(message)


def made(sent: list[dict[str, object]], own_process: bool = False) -> CurrentTrial:
    return CurrentTrial(
        number=3,
        attempt=1,
        seed=5,
        fraction=Fraction(1, 2),
        snapshots=(Fraction(1, 10), Fraction(1, 2)),
        parameters={"lr": 0.1},
        link=Link(sent, own_process),
    )


@pytest.fixture
def pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The other end of the pipe of a trial that is found by the environment."""
    told = {
        "study": "s", "number": 3, "attempt": 2, "seed": 7, "configuration": {"lr": 0.1, "cluster": CLUSTER},
        "fraction": "1/2", "snapshots": ["1/10", "1/2"], "checkpoint_dir": str(tmp_path / "checkpoint"),
    }  # fmt: skip
    (tmp_path / "trial.json").write_text(json.dumps(told))
    os.mkfifo(tmp_path / "reports")
    monkeypatch.setenv("LEANTUNE_TRIAL", str(tmp_path / "trial.json"))
    monkeypatch.setenv("LEANTUNE_REPORTS", str(tmp_path / "reports"))
    file = os.open(tmp_path / "reports", os.O_RDWR | os.O_NONBLOCK)
    yield file
    os.close(file)


def test_outside_of_a_trial_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEANTUNE_TRIAL", raising=False)
    with pytest.raises(NoTrial, match=r"no trial here .*leantune run job.yaml"):
        current_trial()


def test_a_trial_from_the_environment(pipe: int, tmp_path: Path) -> None:
    trial = current_trial()
    assert current_trial() is trial
    assert (trial.number, trial.attempt, trial.seed, trial.fraction) == (3, 2, 7, Fraction(1, 2))
    assert trial.snapshots == (Fraction(1, 10), Fraction(1, 2))
    assert trial["lr"] == 0.1
    assert "lr" in trial
    assert list(trial.configuration) == ["lr", "cluster"]
    assert "momentum" not in trial
    cluster = trial["cluster"]
    assert (cluster.type, cluster.nodes, cluster.vcpus) == ("small", 2, 2.0)
    assert (cluster.memory_gib, cluster.usd_per_hour) == (4.0, 0.04)
    assert str(cluster) == "2 x small"
    with pytest.raises(AttributeError):
        cluster.nodes = 3
    assert trial.checkpoint_dir == tmp_path / "checkpoint"
    with pytest.raises(KeyError, match="it has lr, cluster"):
        trial["momentum"]
    trial.report(step=1, fraction=0.1, accuracy=0.5)
    assert json.loads(os.read(pipe, 4096)) == {"accuracy": 0.5, "step": 1.0, "fraction": "1/10"}


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"number": 1}'])
def test_a_trial_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (tmp_path / "trial.json").write_text(text)
    monkeypatch.setenv("LEANTUNE_TRIAL", str(tmp_path / "trial.json"))
    with pytest.raises(NoTrial, match="cannot be read"):
        current_trial()


def test_reports_are_checked() -> None:
    sent: list[dict[str, object]] = []
    trial = made(sent)
    for wrong in ("0.9", True, None, [1, 2], np.bool_(True), np.array([1.0, 2.0]), 1j):
        with pytest.raises(ObservationError, match="accuracy is "):
            trial.report(accuracy=wrong)
    with pytest.raises(ObservationError, match="nothing was reported"):
        trial.report()
    with pytest.raises(ObservationError, match="nothing was reported"):
        trial.report(step=3)
    with pytest.raises(ObservationError, match="'cost' is not a metric"):
        trial.report(cost=1.0)
    with pytest.raises(ObservationError, match="step is nan"):
        trial.report(step=float("nan"), accuracy=1)
    with pytest.raises(ObservationError, match="2 is not a share"):
        trial.report(fraction=2, accuracy=1)
    assert sent == []
    trial.report(accuracy=np.float32(0.5), loss=np.int64(3), step=np.float32(7))
    trial.report(fraction="1/10")
    assert sent == [{"accuracy": 0.5, "loss": 3.0, "step": 7.0}, {"fraction": "1/10"}]


def test_numbers_of_any_library() -> None:
    class Tensor:
        def __float__(self) -> float:
            return 0.25

    class Several:
        def __float__(self) -> float:
            raise RuntimeError("a Tensor with 2 elements cannot be converted to Scalar")

    assert real_number(Tensor()) == 0.25
    assert real_number(Several()) is None
    assert real_number(10**400) == float("inf")
    assert real_number(Fraction(1, 4)) == 0.25


def test_a_report_that_is_too_long_for_one_write(pipe: int) -> None:
    with pytest.raises(ObservationError, match="Report fewer metrics"):
        current_trial().report(**{f"metric_{n}": 0.123456789 for n in range(200)})


def test_many_processes_do_not_mix_their_lines(pipe: int) -> None:
    """Eight processes of one trial, each with 200 reports of about 1 kB."""
    code = """
import os, sys
sys.path.append(sys.argv[1])
from leantune.worker.client import current_trial
trial = current_trial()
trial.report(first=1)
for _ in range(3): os.fork()
for n in range(200): trial.report(**{f"name_{i}_of_a_certain_length": os.getpid() for i in range(25)})
"""
    source = str(Path(client.__file__).parents[2])
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", code, source])
    data = b""
    while data.count(b"\n") < 1 + 8 * 200:
        ready, _, _ = select.select([pipe], [], [], 15)
        assert ready, "fewer reports than expected"
        data += os.read(pipe, 1 << 16)
    process.wait()
    reports = [json.loads(line) for line in data.splitlines()]
    assert len(reports) == 1 + 8 * 200
    assert all(len(set(report.values())) == 1 for report in reports)
    assert len({next(iter(report.values())) for report in reports[1:]}) == 8


def test_reports_that_nobody_hears(pipe: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "unread")
    monkeypatch.setenv("LEANTUNE_REPORTS", str(tmp_path / "unread"))
    with pytest.raises(NoTrial, match="the worker no longer reads reports"):
        current_trial().report(accuracy=1)


def test_a_trial_within_this_process() -> None:
    outer, inner = made([]), made([])
    with acting(outer):
        assert current_trial() is outer
        with acting(inner):
            assert current_trial() is inner
        assert current_trial() is outer


@pytest.fixture
def own_signals() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def test_sigterm_is_heard_once_somebody_asks(own_signals: None) -> None:
    heard: list[str] = []
    signal.signal(signal.SIGTERM, lambda *_: heard.append("the program's own"))
    trial = made([], own_process=True)
    signal.raise_signal(signal.SIGTERM)
    assert heard == ["the program's own"], "not ours yet"
    assert not trial.should_stop
    trial.on_stop(lambda: heard.append("ours"))
    signal.raise_signal(signal.SIGTERM)
    assert trial.should_stop
    assert heard[1:] == ["ours", "the program's own"]
    signal.raise_signal(signal.SIGTERM)
    assert heard.count("ours") == 1


def test_only_the_main_thread_can_begin_to_listen(own_signals: None) -> None:
    trial, errors = made([], own_process=True), []

    def read() -> None:
        try:
            assert trial.should_stop is None
        except LeanTuneError as error:
            errors.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    assert "main thread" in str(errors[0])


def test_a_function_is_asked_to_stop_without_signals() -> None:
    trial = made([])
    assert not trial.should_stop
    trial.request_stop()
    assert trial.should_stop


def test_the_client_is_light() -> None:
    code = "import sys; import leantune.worker.client; print({'numpy', 'scipy', 'pydantic'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "set()"
