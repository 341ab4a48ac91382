"""The page from made-up results: losses first, and whoever did not play."""

from dataclasses import replace
from pathlib import Path

from benchmarks.arena.contests import BATCHES, LEAN, STOPPED, Contest, Entrant, Played
from benchmarks.arena.page import Absent, write_page
from tests.benchmarks.arena.made import ENTRANTS, PROBLEM, beside, made_run, played
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


def test_the_new_parts_stand_on_the_page(tmp_path: Path) -> None:
    contest = played({LEAN: [0.9, 0.0, 0.0], "eic": [0.9] * 3, "random": [0.9] * 3})
    contest = beside(contest, BATCHES, {0: made_run(0, [0.9, 0.9, 0.0])})
    contest = beside(contest, STOPPED, {number: made_run(number, [0.9, 0.0]) for number in range(4)})
    text = write_page(contest, Absent({}, {}), tmp_path).page.read_text(encoding="utf-8")
    assert "| ranks-well (1 of 4) | 2.00 | 3.00 | 1.50 |" in text
    assert "| ranks-well | 100 % | 4 | 0 of 4 | 0 |" in text
    assert "### On measured tables only\n\nNot enough runs." in text
    assert "### 10 tests: generated" in text
    assert "| lean, four at once | compared with itself | 1 replays |" in text


def test_cells_with_fewer_runs_than_asked_say_so(tmp_path: Path) -> None:
    contest = played({LEAN: [0.5], "eic": [0.5], "random": [0.5]}, seeds=2)
    whole = write_page(contest, Absent({}, {}), tmp_path).page.read_text(encoding="utf-8")
    assert "0.500 (" not in whole
    longer = Played(replace(contest.contest, lean_seeds=3, seeds=2), contest.runs)
    text = write_page(longer, Absent({}, {}), tmp_path).page.read_text(encoding="utf-8")
    assert "| ranks-well | 0.500 (2 of 3) | 0.500 | 0.500 |" in text


def test_who_was_left_out_is_told_with_the_reason(tmp_path: Path) -> None:
    contest = Contest((PROBLEM,), (*ENTRANTS, Entrant("nephele", "nephele")))
    text = write_page(Played(contest, {}), Absent({}, {}), tmp_path).page.read_text(encoding="utf-8")
    assert "| nephele | ranks-well | left out: " in text
