"""When checkpoints are saved, brought back and given up; programs with checkpoints: see test_local."""

from __future__ import annotations

from pathlib import Path

import pytest

from leantune.checkpoints.store import CheckpointStore
from leantune.clock import SimulatedClock
from leantune.errors import CheckpointError
from leantune.executors.keeper import QUIET, Background, Keeper, SavedCopy, give_up
from leantune.executors.run_folder import RunFolder
from leantune.history import TrialKind, TrialState
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
        self.background = Background(self.wake)

    def wake(self) -> None:
        self.woken += 1

    def keeper(self, store: CheckpointStore | None = None) -> Keeper:
        return Keeper(store or self.store, self.folder, self.background, self.clock, EVERY)

    def write(self, text: str) -> None:
        (self.folder.checkpoint / "w").write_text(text)

    @property
    def generation(self) -> int:
        """After everything that was begun."""
        self.background.close()
        return self.store.generation("trial-0000")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_saved_when_it_has_changed_and_is_quiet(world: World) -> None:
    keeper = world.keeper()
    assert not keeper.restore(1)
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
    assert keeper.look(62.5, 8.0) == [SavedCopy(7.0, 1000.0, 1000.0)]
    assert keeper.look(63.0, 8.0) == [], "told once"
    keeper.look(92.0, 7.0)
    keeper.look(93.0, 7.0)
    assert world.generation == 1, "it has not changed"


def test_a_second_attempt_finds_it_and_does_not_save_it_again(world: World) -> None:
    first = world.keeper()
    first.restore(1)
    world.write("1")
    saving = first.settle(trial_of(), TrialState.QUEUED)
    assert saving is not None
    assert saving.result() == ""
    second = world.keeper()
    assert second.restore(2)
    again = second.settle(trial_of(), TrialState.QUEUED)
    assert again is not None
    assert again.result() == ""
    assert world.generation == 1


def test_what_is_over_is_given_up(world: World) -> None:
    for state in (TrialState.DONE, TrialState.FAILED):
        keeper = world.keeper()
        keeper.restore(1)
        world.write("1")
        saving = keeper.settle(trial_of(), TrialState.QUEUED)
        assert saving is not None
        saving.result()
        again = world.keeper()
        assert again.restore(2)
        assert again.settle(trial_of(), state) is None
        assert world.generation == 0
        assert not world.folder.checkpoint.exists()


@pytest.mark.parametrize("state", [TrialState.LOST, TrialState.REVOKED])
def test_what_somebody_else_may_have_is_left_alone(world: World, state: TrialState) -> None:
    keeper = world.keeper()
    keeper.restore(1)
    world.write("1")
    assert keeper.settle(trial_of(), state) is None
    assert world.generation == 0
    assert world.folder.fingerprint()


def test_a_verified_model_is_kept_and_a_failed_verification_is_not(world: World) -> None:
    trial = trial_of(kind=TrialKind.VERIFICATION)
    keeper = world.keeper()
    keeper.restore(1)
    world.write("1")
    saving = keeper.settle(trial, TrialState.DONE)
    assert saving is not None
    assert saving.result() == ""
    assert world.generation == 1
    assert world.folder.fingerprint()
    assert world.keeper().settle(trial, TrialState.FAILED) is None
    world.background.close()
    assert not world.folder.checkpoint.exists()


def test_without_a_store_the_folder_is_all_there_is(world: World) -> None:
    keeper = Keeper(None, world.folder, world.background, world.clock)
    assert not keeper.restore(1)
    keeper.begin(0.0)
    assert keeper.next_look == float("inf")
    world.write("1")
    assert keeper.settle(trial_of(), TrialState.QUEUED) is None
    again = Keeper(None, world.folder, world.background, world.clock)
    assert again.restore(2)


def test_saved_when_it_is_asked_for(world: World) -> None:
    keeper = world.keeper()
    keeper.restore(1)
    keeper.ask(0.0)
    assert keeper.next_look == float("inf"), "not before it has begun"
    keeper.begin(1.0)
    assert keeper.look(1.0, None) == [SavedCopy(0.0, 1000.0, 1.0)], "there is nothing to save"
    world.write("1")
    keeper.ask(2.0)
    assert keeper.look(2.0, 3.0) == [], "perhaps it is still being written"
    assert keeper.look(2.0 + QUIET, 4.0) == []
    assert world.generation == 1
    assert [copy.step for copy in keeper.look(4.0, 5.0)] == [4.0], "the last one reported when saving began"
    keeper.ask(5.0)
    assert [copy.step for copy in keeper.look(5.0, 6.0)] == [4.0], "nothing has changed since"
    assert keeper.look(6.0, 6.0) == []


def test_without_a_store_it_is_saved_when_it_is_quiet(world: World) -> None:
    keeper = Keeper(None, world.folder, world.background, world.clock)
    keeper.restore(1)
    keeper.begin(0.0)
    world.write("1")
    keeper.ask(1.0)
    assert keeper.look(1.0, 3.0) == []
    assert keeper.look(1.0 + QUIET, 3.0) == [SavedCopy(3.0, 1000.0, 1.0 + QUIET)]
    assert keeper.next_look == float("inf")


def test_a_checkpoint_is_given_up_here_and_in_the_store(world: World, tmp_path: Path) -> None:
    keeper = world.keeper()
    keeper.restore(1)
    world.write("1")
    saving = keeper.settle(trial_of(), TrialState.QUEUED)
    assert saving is not None
    saving.result()
    assert keeper.holds
    assert give_up(world.store, world.folder) == ""
    assert not keeper.holds
    assert world.generation == 0
    assert give_up(Broken(tmp_path / "broken", "s"), world.folder) == "the network is down"
    assert give_up(None, RunFolder(tmp_path / "nowhere", 1)) == ""


class Broken(CheckpointStore):
    """A store that was full when it was needed."""

    def save(self, key: str, folder: Path) -> int:
        raise CheckpointError("no space left")

    def restore(self, key: str, folder: Path) -> int:
        raise CheckpointError("the network is down")

    def delete(self, key: str) -> None:
        raise CheckpointError("the network is down")


def test_a_store_that_fails_is_told_and_stops_nothing(world: World, tmp_path: Path) -> None:
    keeper = world.keeper(Broken(tmp_path / "broken", "s"))
    assert not keeper.restore(2)
    assert keeper.notes == ["started over, because the network is down"]
    world.write("1")
    saving = keeper.settle(trial_of(), TrialState.QUEUED)
    assert saving is not None
    assert saving.result() == "its checkpoint was not saved: no space left"
    keeper.begin(0.0)
    for now in (30.0, 31.0, 60.0, 61.0, 61.5, 91.0):
        assert keeper.look(now, 7.0) == []
        world.background.close()
    assert keeper.notes[1:] == ["its checkpoint was not saved: no space left"], "once"
    assert keeper.settle(trial_of(), TrialState.DONE) is None
    world.background.close()
    with pytest.raises(CheckpointError, match="the network is down"):
        world.keeper(Broken(tmp_path / "broken", "s")).restore(1)
