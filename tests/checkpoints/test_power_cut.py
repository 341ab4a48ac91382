"""A power cut at any moment of a save leaves a whole checkpoint: the one before, or the new one."""

from pathlib import Path

import pytest

from leantune.checkpoints.store import CheckpointStore
from leantune.files import write_whole
from tests.powercut import Disk

KEY = "trial-0003"


def fill(folder: Path, text: str) -> None:
    (folder / "nested").mkdir(parents=True, exist_ok=True)
    (folder / "model").write_text(text)
    (folder / "nested" / "optimiser").write_text(text)


class Cuts:
    """Cuts the power after each sync, in a copy, and says what a restore finds there."""

    def __init__(self, place: Path, copies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._copies, self._count = copies, 0
        self.found: list[int] = []
        self._disk = Disk(place, monkeypatch, self.cut)

    def cut(self) -> None:
        for deletions in (False, True):
            name, self._count = str(self._count), self._count + 1
            copy, there = self._copies / name, self._copies / f"{name}-restored"
            self._disk.after_power_cut(copy, deletions=deletions)
            generation = CheckpointStore(copy / "checkpoints", "study").restore(KEY, there)
            texts = {path.read_text() for path in there.rglob("*") if path.is_file()}
            assert texts == ({str(generation)} if generation else set())
            self.found.append(generation)


def test_a_power_cut_leaves_a_whole_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, folder = tmp_path / "disk", tmp_path / "run" / "checkpoint"
    for path in (place, tmp_path / "copies"):
        path.mkdir()
    cuts = Cuts(place, tmp_path / "copies", monkeypatch)
    store = CheckpointStore(place / "checkpoints", "study")
    for generation in (1, 2, 3):
        fill(folder, str(generation))
        assert store.save(KEY, folder) == generation
        cuts.cut()
        assert cuts.found[-2:] == [generation, generation], "what was saved is on the disk"
        assert set(cuts.found) <= {generation - 1, generation}
        assert cuts.found == sorted(cuts.found)
        cuts.found.clear()


def test_files_that_are_replaced_durably(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "disk"
    found: list[list[str]] = []
    place.mkdir()

    def cut() -> None:
        copy = tmp_path / str(len(found))
        disk.after_power_cut(copy, deletions=False)
        found.append([path.read_text() for path in copy.glob("[!.]*")])

    disk = Disk(place, monkeypatch, cut)
    for text in ("old", "new"):
        write_whole(place / "file", text, durable=True)
        cut()
    assert found == [[], ["old"], ["old"], ["old"], ["new"], ["new"]]
