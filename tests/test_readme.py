"""The README tells the truth: its example runs, its strategies exist, its links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from leantune.jobfile import parse_job
from leantune.jobfile.job import KEYS
from leantune.strategies.registry import STRATEGIES

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", *sorted(f"docs/{p.name}" for p in ROOT.glob("docs/*.md"))]


def python_blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


def test_the_example_is_short() -> None:
    (example,) = python_blocks()
    assert len([line for line in example.splitlines() if line.strip()]) <= 20


@pytest.mark.slow
def test_the_example_runs_and_recommends(tmp_path: Path) -> None:
    (example,) = python_blocks()
    program = tmp_path / "example.py"
    program.write_text(example, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-W", "error", str(program)], capture_output=True, text=True, timeout=300, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "lr" in run.stdout


@pytest.mark.parametrize("document", ["README.md", "docs/job-file.md"])
def test_the_job_files_are_right(document: str, tmp_path: Path) -> None:
    blocks = re.findall(r"^```yaml\n(.*?)^```", (ROOT / document).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        assert parse_job(block, folder=tmp_path).problem.goal.metric == "accuracy"


def test_every_key_of_a_job_file_is_documented() -> None:
    text = (ROOT / "docs" / "job-file.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| (`[^|]+`)", text, flags=re.MULTILINE))))
    assert documented >= set(KEYS)


def test_the_table_of_strategies_is_the_registry() -> None:
    rows = re.findall(r"^\| (`[^|]+`) \|", README, flags=re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    assert named == set(STRATEGIES)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_to_files(document: str) -> None:
    path = ROOT / document
    links = re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8"))
    local = [link for link in links if not link.startswith("https://")]
    assert [link for link in local if not (path.parent / link).exists()] == []
