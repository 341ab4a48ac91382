"""What was frozen is read again, and a comparison tells what is the same, what moved and what differs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.papers.verdicts import Measure
from benchmarks.spottune import frozen
from benchmarks.spottune.claims import Evidence, claims
from benchmarks.spottune.command import main
from benchmarks.spottune.frozen import Change, Entry
from benchmarks.spottune.targets import targets
from leantune.errors import InvalidInput
from tests.benchmarks.spottune.made import GAP, recording, results

KEPT = Path(__file__).with_name("frozen_verdicts.json")
CLAIM = Entry("claims", "it is cheaper", "holds", "2.00x [1.50, 2.50]", Measure(0.5, 0.4, 0.7))


def made() -> list[Entry]:
    found = results(GAP)
    return frozen.entries(found, claims(found, Evidence()), targets(found, Evidence()))


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    before = made()
    frozen.write(tmp_path / "frozen.json", before)
    again = frozen.read(tmp_path / "frozen.json")
    assert again == before
    assert [one.text for one in again if one.section == "figures"][:2] == ["volatile, no skill", "volatile, ours"]
    closed = next(one.measure for one in again if one.section == "targets")
    assert closed is not None and closed.value == pytest.approx(0.75)
    assert all(one.same and one.same_verdict for one in frozen.changes(before, again))


@pytest.mark.parametrize(
    ("now", "same", "same_verdict", "inside", "begins"),
    [
        (CLAIM, True, True, True, "same "),
        (replace(CLAIM, ours="1.67x", measure=Measure(0.6)), False, True, True, "moved "),
        (replace(CLAIM, ours="1.25x", measure=Measure(0.8)), False, True, False, "moved "),
        (replace(CLAIM, verdict="in part"), False, False, True, "DIFFERS "),
        (replace(CLAIM, verdict="absent", measure=None), False, False, None, "DIFFERS "),
    ],
)
def test_changes(now: Entry, same: bool, same_verdict: bool, inside: bool | None, begins: str) -> None:
    change = Change(CLAIM, now)
    assert (change.same, change.same_verdict, change.inside) == (same, same_verdict, inside)
    assert change.line.startswith(begins)
    assert ("OUTSIDE" in change.line) == (inside is False)


def test_what_is_only_in_one_of_both_differs() -> None:
    other = replace(CLAIM, text="it is faster")
    gone, new = frozen.changes([CLAIM], [other])
    assert not gone.same_verdict and "before holds, 2.00x [1.50, 2.50]; now absent" in gone.line
    assert not new.same_verdict and "before absent; now holds" in new.line
    assert frozen.summary([gone, new]).endswith("2 verdicts differ")


def test_the_kept_file_has_every_claim_with_its_number() -> None:
    kept = frozen.read(KEPT)
    texts = [[one.text for one in found if one.section != "figures"] for found in (kept, made())]
    assert texts[0] == texts[1]
    assert all(one.measure is not None for one in kept)
    assert "no data" not in {one.verdict for one in kept}


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"claims": {"x": 1}}', encoding="utf-8")
    for name in ("other.json", "absent.json"):
        with pytest.raises(InvalidInput, match="no frozen verdicts"):
            frozen.read(tmp_path / name)


def test_the_command_compares_and_fails_where_a_verdict_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "frozen.json"
    options = ["--quick", "--results", str(tmp_path / "results"), "--data", str(tmp_path / "nowhere")]
    options += ["--processes", "1", "--only", "smooth", "--recording", str(recording(tmp_path / "recording"))]
    main([*options, "--freeze", str(path)])
    main([*options, "--against", str(path)])
    assert "0 moved, 0 out of their interval; 0 verdicts differ" in capsys.readouterr().out
    entries = frozen.read(path)
    wrong = [replace(one, verdict="missed" if one.verdict == "reached" else "reached") for one in entries]
    frozen.write(path, [new if old.section == "targets" else old for old, new in zip(entries, wrong, strict=True)])
    with pytest.raises(SystemExit) as stopped:
        main([*options, "--against", str(path)])
    assert stopped.value.code == 1
    assert "6 verdicts differ" in capsys.readouterr().out
