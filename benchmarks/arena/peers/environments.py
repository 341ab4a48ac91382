"""Which libraries play, in which versions, and where: one virtual environment each, as their requirements clash.

    python -m benchmarks.arena.peers install [NAME ...]

Made by pip from PyPI, below .venv-peers. torch is pinned wherever it comes along: other versions bring gigabytes of
CUDA. What is of the extra `bench` already (Optuna, BoTorch) plays in LeanTune's own environment.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from leantune.errors import LeanTuneError, MissingExtra

FOLDER = Path(__file__).resolve().parents[3] / ".venv-peers"
TORCH = "torch==2.13.0"
INSTALL = "python -m benchmarks.arena.peers install"
LAST_LINES = 4  # of what pip wrote, in a message


@dataclass(frozen=True)
class Environment:
    """A library with its versions. module: what must be importable here, of one without an environment of its own."""

    name: str
    requirements: tuple[str, ...] = ()
    module: str = ""

    @property
    def folder(self) -> Path:
        """Where it is."""
        return FOLDER / self.name

    @property
    def python(self) -> Path:
        """Its interpreter, whether it is there or not."""
        return self.folder / "bin" / "python" if self.requirements else Path(sys.executable)

    @property
    def installed(self) -> bool:
        """Whether it is there, with these versions."""
        if not self.requirements:
            return find_spec(self.module) is not None
        return self._mark.is_file() and self._mark.read_text(encoding="utf-8") == self._marked

    def ready_python(self) -> Path:
        """Its interpreter; MissingExtra where it is not installed."""
        if not self.installed:
            hint = INSTALL if self.requirements else "pip install 'leantune[bench]'"
            raise MissingExtra(f"{self.name} is not installed", where="peers", hint=hint)
        return self.python

    def install(self) -> None:
        """Make it; LeanTuneError with pip's last words where that fails. What is installed already is left alone."""
        if not self.requirements or self.installed:
            return
        self._run([sys.executable, "-m", "venv", "--clear", str(self.folder)])
        self._run([str(self.python), "-m", "pip", "install", "--quiet", *self.requirements])
        self._mark.write_text(self._marked, encoding="utf-8")

    def _run(self, command: list[str]) -> None:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            last = " | ".join((done.stderr or done.stdout).strip().splitlines()[-LAST_LINES:])
            hint = "The arena plays without it, and says so"
            raise LeanTuneError(f"it cannot be installed: {last}", where=self.name, hint=hint)

    @property
    def _mark(self) -> Path:
        return self.folder / "installed.txt"

    @property
    def _marked(self) -> str:
        return "\n".join(self.requirements) + "\n"


ENVIRONMENTS = {
    environment.name: environment
    for environment in (
        Environment(
            "syne-tune",
            ("syne-tune==0.16.0", "botorch==0.18.1", "huggingface_hub==2.4.0", "xgboost==3.2.0", TORCH, "numpy==2.4.6"),
        ),
        Environment("smac", ("smac==2.4.1", "ConfigSpace==1.2.2", "scikit-learn==1.9.1", "numpy==2.4.6")),
        Environment("neps", ("neural-pipeline-search==0.17.0", TORCH, "numpy==2.4.6")),
        Environment("openbox", ("openbox==0.9.0", "ConfigSpace==0.6.1", "scikit-learn==1.3.2", "numpy==1.26.4")),
        Environment("botorch", module="botorch"),
        Environment("optuna", module="optuna"),
    )
}
