"""The numbered examples run."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(name: str, *options: str) -> str:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *options]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_examples_are_numbered_from_one() -> None:
    names = sorted(path.name for path in EXAMPLES.glob("*.py"))
    assert [name[:3] for name in names] == [f"{number:02d}_" for number in range(1, len(names) + 1)]


@pytest.mark.slow
def test_real_images_recommends_and_verifies(tmp_path: Path) -> None:
    shown = run("01_real_images.py", "--trials", "6", "--out", str(tmp_path))
    written = (tmp_path / "recommendation.md").read_text(encoding="utf-8")
    assert "Recommendation after 6 trials" in written
    assert "half-a-core" in written or "one-core" in written
    assert written.rstrip() in shown
    accuracy = float(written.partition("gave** accuracy ")[2].partition(",")[0])
    assert 0.5 < accuracy <= 1.0  # ten digits: guessing gives 0.1
