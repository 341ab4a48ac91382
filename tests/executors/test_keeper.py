"""When checkpoints are saved, brought back and given up; programs with checkpoints: see test_local."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from leantune.checkpoints.store import CheckpointStore
from leantune.clock import SimulatedClock
from leantune.errors import CheckpointError
from leantune.executors.base import CheckpointSaved, Terms
from leantune.executors.keeper import QUIET, Checkpoints, Keeper
from leantune.executors.outcome import Restored
from leantune.executors.run_folder import RunFolder
from leantune.history import Observation, ObservationKind, TrialState
from leantune.units import Seconds, Usd
from tests.executors.programs import trial_of

EVERY = 30.0


class World:
    """A run folder and a store, and a thread that saves."""

    def __init__(self, place: Path) -> None:
        self.store = CheckpointStore(place / "kept", "s")
        self.folder = RunFolder(place / "runs", 0)
        self.folder.make()
        self.clock = SimulatedClock(1000.0)
        self.woken = 0
        self.runs = place / "runs"
        self.checkpoints = self.kept_in(self.store)

    def wake(self) -> None:
        self.woken += 1

    def kept_in(self, store: CheckpointStore | None) -> Checkpoints:
        return Checkpoints(self.runs, store, self.clock, self.wake, EVERY)

    def keeper(self) -> Keeper:
        return Keeper(self.checkpoints, 0)

    def write(self, text: str) -> None:
        (self.folder.checkpoint / "w").write_text(text)

    @property
    def generation(self) -> int:
        """After everything that was begun."""
        self.checkpoints.close()
        return self.store.generation("trial-0000")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_saved_when_it_has_changed_and_is_quiet(world: World) -> None:
    keeper = world.keeper()
    assert not any(keeper.restore(1))
    keeper.begin(0.0)
    assert keeper.next_look == EVERY
    keeper.look(30.0, 7.0)
    assert keeper.next_look == 60.0, "nothing there"
    world.write("1")
    keeper.look(60.0, 7.0)
    assert keeper.next_look == 60.0 + QUIET, "perhaps it is still being written"
    world.write("12")
    keeper.look(61.0, 7.0)
    assert keeper.next_look == 61.0 + QUIET
    assert world.generation == 0
    keeper.look(62.0, 7.0)
    assert keeper.next_look == 92.0
    assert world.generation == 1
    assert world.woken == 1
    assert keeper.look(62.5, 8.0) == [(1000.0, CheckpointSaved(0, 1000.0, 7.0, 0.0))]
    assert keeper.look(63.0, 8.0) == [], "told once"
    keeper.look(92.0, 7.0)
    keeper.look(93.0, 7.0)
    assert world.generation == 1, "it has not changed"


def test_a_second_attempt_finds_it_and_does_not_save_it_again(world: World) -> None:
    first = world.keeper()
    first.restore(1)
    world.write("1")
    saving = first.settle(TrialState.QUEUED, keep=False)
    assert saving is not None
    assert saving.result() == ""
    second = world.keeper()
    assert second.restore(2) == Restored(own=True)
    again = second.settle(TrialState.QUEUED, keep=False)
    assert again is not None
    assert again.result() == ""
    assert world.generation == 1


@pytest.mark.parametrize("state", [TrialState.DONE, TrialState.FAILED])
def test_what_is_over_is_not_removed_before_the_store_knows(world: World, state: TrialState) -> None:
    keeper = world.keeper()
    keeper.restore(1)
    world.write("1")
    assert keeper.settle(state, keep=False) is None
    assert world.generation == 0, "nor is it saved"
    assert world.folder.fingerprint()


@pytest.mark.parametrize("state", [TrialState.LOST, TrialState.REVOKED])
def test_what_somebody_else_may_have_is_left_alone(world: World, state: TrialState) -> None:
    keeper = world.keeper()
    keeper.restore(1)
    world.write("1")
    assert keeper.settle(state, keep=True) is None
    assert world.generation == 0
    assert world.folder.fingerprint()


def test_what_is_to_be_kept_is_saved_when_it_has_come_through(world: World) -> None:
    keeper = world.keeper()
    keeper.restore(1)
    world.write("1")
    assert keeper.settle(TrialState.FAILED, keep=True) is None
    assert world.generation == 0
    saving = keeper.settle(TrialState.DONE, keep=True)
    assert saving is not None
    assert saving.result() == ""
    assert world.generation == 1
    assert world.folder.fingerprint()


def test_whose_checkpoints_are_here(world: World, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    assert world.checkpoints.kept(range(4)) == frozenset()
    for number in (0, 1, 3):
        folder = RunFolder(runs, number)
        folder.make()
        folder.prepare_checkpoint(empty=True)
    world.write("1")
    world.store.save("trial-0002", world.folder.checkpoint)
    (RunFolder(runs, 3).checkpoint / "w").write_text("3")
    assert world.checkpoints.kept(range(3)) == {0, 2}
    assert world.kept_in(None).kept(range(4)) == {0, 3}
    shutil.rmtree(tmp_path / "kept/s/trial-0002")
    (tmp_path / "kept/s/trial-0002/00000001-0a0b0c0d").mkdir(parents=True)
    (tmp_path / "kept/s/trial-0002/00000001-0a0b0c0d/000000").write_text("what a kill left")
    assert world.store.keys() == []
    assert world.checkpoints.kept([2]) == {2}


def test_without_a_store_the_folder_is_all_there_is(world: World) -> None:
    keeper = Keeper(world.kept_in(None), 0)
    assert not any(keeper.restore(1))
    keeper.begin(0.0)
    assert keeper.next_look == float("inf")
    world.write("1")
    assert keeper.settle(TrialState.QUEUED, keep=False) is None
    again = Keeper(world.kept_in(None), 0)
    assert again.restore(2) == Restored(own=True)


def test_saved_when_it_is_asked_for(world: World) -> None:
    keeper = world.keeper()
    keeper.restore(1)
    keeper.ask(0.0)
    assert keeper.next_look == float("inf"), "not before it has begun"
    keeper.begin(1.0)
    assert keeper.look(1.0, None) == [(1.0, CheckpointSaved(0, 1000.0, 0.0, 0.0))], "there is nothing to save"
    world.write("1")
    keeper.ask(2.0)
    assert keeper.look(2.0, 3.0) == [], "perhaps it is still being written"
    assert keeper.look(2.0 + QUIET, 4.0) == []
    assert world.generation == 1
    assert [copy.step for _, copy in keeper.look(4.0, 5.0)] == [4.0], "the last one reported when saving began"
    keeper.ask(5.0)
    assert [copy.step for _, copy in keeper.look(5.0, 6.0)] == [4.0], "nothing has changed since"
    assert keeper.look(6.0, 6.0) == []


def test_without_a_store_it_is_saved_when_it_is_quiet(world: World) -> None:
    keeper = Keeper(world.kept_in(None), 0)
    keeper.restore(1)
    keeper.begin(0.0)
    world.write("1")
    keeper.ask(1.0)
    assert keeper.look(1.0, 3.0) == []
    assert keeper.look(1.0 + QUIET, 3.0) == [(1.0 + QUIET, CheckpointSaved(0, 1000.0, 3.0, 0.0))]
    assert keeper.next_look == float("inf")


def test_a_checkpoint_is_given_up_here_and_in_the_store(world: World, tmp_path: Path) -> None:
    keeper = world.keeper()
    keeper.restore(1)
    world.write("1")
    saving = keeper.settle(TrialState.QUEUED, keep=False)
    assert saving is not None
    saving.result()
    assert keeper.holds
    assert world.checkpoints.forget(0).result() == ""
    assert not keeper.holds
    assert world.generation == 0
    assert world.kept_in(Broken(tmp_path / "broken", "s")).forget(0).result() == "the network is down"
    assert world.kept_in(None).forget(1).result() == ""


class Broken(CheckpointStore):
    """A store that was full when it was needed."""

    def save(self, key: str, folder: Path) -> int:
        raise CheckpointError("no space left")

    def restore(self, key: str, folder: Path) -> int:
        raise CheckpointError("the network is down")

    def delete(self, key: str) -> None:
        raise CheckpointError("the network is down")


def test_a_store_that_fails_is_told_and_stops_nothing(world: World, tmp_path: Path) -> None:
    checkpoints = world.kept_in(Broken(tmp_path / "broken", "s"))
    keeper = Keeper(checkpoints, 0)
    assert not any(keeper.restore(2))
    assert keeper.notes == ["started over, because the network is down"]
    world.write("1")
    saving = keeper.settle(TrialState.QUEUED, keep=False)
    assert saving is not None
    assert saving.result() == "its checkpoint was not saved: no space left"
    keeper.begin(0.0)
    for now in (30.0, 31.0, 60.0, 61.0, 61.5, 91.0):
        assert keeper.look(now, 7.0) == []
        checkpoints.close()
    assert keeper.notes[1:] == ["its checkpoint was not saved: no space left"], "once"
    assert keeper.settle(TrialState.DONE, keep=False) is None
    checkpoints.close()
    with pytest.raises(CheckpointError, match="the network is down"):
        Keeper(checkpoints, 0).restore(1)


# -- a larger share goes on from a smaller one


def left_by(world: World, number: int, text: str) -> RunFolder:
    """What a trial at a smaller share left, in its folder and in the store."""
    folder = world.checkpoints.folder(number)
    folder.make()
    folder.prepare_checkpoint(empty=True)
    (folder.checkpoint / "w").write_text(text)
    world.store.save(folder.key, folder.checkpoint)
    return folder


@pytest.mark.parametrize("stored", [True, False])
def test_a_first_attempt_begins_with_a_copy_of_what_a_smaller_share_left(world: World, stored: bool) -> None:
    other = left_by(world, 7, "few epochs")
    keeper = world.keeper() if stored else Keeper(world.kept_in(None), 0)
    assert keeper.restore(1, 7) == Restored(continued=True)
    assert (world.folder.checkpoint / "w").read_text() == "few epochs"
    world.write("more epochs")
    assert (other.checkpoint / "w").read_text() == "few epochs", "a copy"
    assert keeper.notes == []


def test_what_it_began_with_is_saved_as_its_own(world: World) -> None:
    """Also by a program that had nothing left to do."""
    left_by(world, 7, "few epochs")
    keeper = world.keeper()
    keeper.restore(1, 7)
    saving = keeper.settle(TrialState.DONE, keep=True)
    assert saving is not None and saving.result() == ""
    assert world.generation == 1


def test_later_attempts_go_on_from_their_own(world: World) -> None:
    left_by(world, 7, "few epochs")
    first = world.keeper()
    first.restore(1, 7)
    world.write("more epochs")
    saving = first.settle(TrialState.QUEUED, keep=False)
    assert saving is not None and saving.result() == ""
    assert world.keeper().restore(2, 7) == Restored(own=True, continued=True)
    assert (world.folder.checkpoint / "w").read_text() == "more epochs"


def test_an_attempt_that_left_nothing_lets_the_next_begin_with_the_smaller_share_again(world: World) -> None:
    left_by(world, 7, "few epochs")
    world.folder.prepare_checkpoint(empty=True)
    assert world.keeper().restore(2, 7) == Restored(continued=True)


def test_without_what_it_would_go_on_from_it_starts_from_nothing_and_says_so(world: World) -> None:
    keeper = world.keeper()
    assert keeper.restore(1, 7) == Restored()
    assert keeper.notes == ["started from nothing, as trial 7 left no checkpoint to go on from"]
    assert world.folder.fingerprint() == ()
    world.write("from nothing")
    saving = keeper.settle(TrialState.QUEUED, keep=False)
    assert saving is not None and saving.result() == ""
    left_by(world, 7, "late")
    assert world.keeper().restore(2, 7) == Restored(own=True, continued=False), "and later attempts know it"


def test_a_damaged_one_is_not_used(world: World, tmp_path: Path) -> None:
    left_by(world, 7, "few epochs")
    (file,) = (tmp_path / "kept/s/trial-0007").glob("*/000000")
    file.write_text("few epochz")
    keeper = world.keeper()
    assert keeper.restore(1, 7) == Restored()
    assert world.folder.fingerprint() == ()
    assert "started from nothing" in keeper.notes[0] and "SHA-256" in keeper.notes[0]


def test_a_borrowed_checkpoint_is_not_taken_for_a_newer_one_of_its_own(world: World, tmp_path: Path) -> None:
    """Begun here, gone on elsewhere, and here again: what was saved elsewhere counts."""
    for text in ("1", "2", "3"):
        other = left_by(world, 7, text)
    assert world.store.generation(other.key) == 3
    world.keeper().restore(1, 7)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/w").write_text("4")
    world.store.save(world.folder.key, tmp_path / "elsewhere")
    assert world.keeper().restore(2, 7) == Restored(own=True, continued=True)
    assert (world.folder.checkpoint / "w").read_text() == "4"


@pytest.mark.parametrize(
    ("restored", "seconds"),
    [(Restored(), 0.0), (Restored(own=True), 5.0), (Restored(continued=True), 40.0), (Restored(True, True), 45.0)],
)
def test_how_long_what_it_goes_on_from_took(restored: Restored, seconds: float) -> None:
    smaller = Observation(Fraction(1, 4), ObservationKind.MEASURED, {"accuracy": 0.5}, Seconds(40.0), Usd(0.1))
    assert restored.earlier_seconds(Terms(2, earlier_seconds=Seconds(5.0), continues=(trial_of(), smaller))) == seconds
