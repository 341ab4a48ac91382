"""The page is made of the results, and of nothing else."""

from pathlib import Path

from benchmarks.arena.generated import FAMILIES
from benchmarks.lean.experiments import LEAN, OUTLINES, Effort
from benchmarks.lean.page import write_page
from benchmarks.papers.results import Results
from leantune.lab.replay.tables import default_data
from tests.benchmarks.lean.made import POOR, results
from tests.benchmarks.papers.made import run
from tests.data import needs

NEEDS_DATA = ("two",)  # its limits are computed from the tables
FREE = tuple(name for name in OUTLINES if name not in NEEDS_DATA)


def test_a_page_of_everything(tmp_path: Path) -> None:
    written = write_page(results(only=FREE), Effort(), tmp_path)
    text = written.page.read_text(encoding="utf-8")
    assert text.startswith("# How good `lean` is")
    assert "python -m benchmarks.lean" in text
    assert text.index("## To reach, and reached") < text.index("## Where `lean` loses") < text.index("## The papers'")
    assert "In no comparison that was run." in text
    assert all(f"| {family} |" in text for family in FAMILIES)
    assert "Not run (`python -m benchmarks.lean --only two`)" in text
    assert "missed" not in text
    assert [path.name for path in tmp_path.iterdir()] == ["lean-results.md"]


def test_losses_and_misses_are_written_plainly(tmp_path: Path) -> None:
    never = [run([POOR] * 14)] * 2
    worse = results(only=("main",), changed={("main", "", "rnn", LEAN): never})
    text = write_page(worse, Effort(), tmp_path).page.read_text(encoding="utf-8")
    assert "**missed**" in text
    assert "dollars: `eic` 0.120 (2/2), `lean` ∞ (0/2)" in text
    assert "| lean | its own | never (0/2 arrive) |" in text


def test_a_page_of_nothing_says_so(tmp_path: Path) -> None:
    text = write_page(Results(), Effort(quick=True, lean="eic"), tmp_path).page.read_text(encoding="utf-8")
    assert "| no data |" in text
    assert "holds" not in text
    assert "stands for `eic`" in text
    assert "quick run" in text


def test_the_limit_on_seconds_is_told(tmp_path: Path) -> None:
    needs(default_data() / "trimtuner" / "rnn.csv")
    text = write_page(results(only=("two",)), Effort(), tmp_path).page.read_text(encoding="utf-8")
    assert "rnn: cost <= 0.02 USD and time <= " in text
