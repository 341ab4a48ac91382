"""The page from made-up results: losses first, and whoever did not play."""

from pathlib import Path

from benchmarks.arena.contests import LEAN, Contest, Played
from benchmarks.arena.page import Absent, write_page
from tests.benchmarks.arena.made import ENTRANTS, PROBLEM, played
from tests.benchmarks.arena.test_targets import LEAN_LOSES

NOBODY = Absent({"smac": "there is no network"}, {"demo-mnist": "no such file"})


def test_losses_come_first(tmp_path: Path) -> None:
    written = write_page(played(LEAN_LOSES), NOBODY, tmp_path, remark="A remark.")
    text = written.page.read_text(encoding="utf-8")
    assert text.index("## Where `lean` loses") < text.index("## To reach, and reached") < text.index("## Average ranks")
    assert "| ranks-well | 44 tests | regret | 1.50 | `eic` 0.400 |" in text
    assert "A remark." in text
    assert "not run: there is no network" in text
    assert "not run: no such file" in text
    assert written.losses


def test_a_contest_without_runs_is_a_page_without_numbers(tmp_path: Path) -> None:
    written = write_page(Played(Contest((PROBLEM,), ENTRANTS), {}), Absent({}, {}), tmp_path)
    assert "In no comparison that was run." in written.page.read_text(encoding="utf-8")
    assert all(target.reached is None for target in written.targets)
    assert not written.losses
    assert LEAN in written.page.read_text(encoding="utf-8")
