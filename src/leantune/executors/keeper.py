"""Keeps the checkpoints of running trials: brought back before a run, saved while it runs, given up when it is over.

Copying gigabytes takes a while, so it happens in a thread of its own and the executor goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from leantune.checkpoints.store import CheckpointStore
from leantune.errors import CheckpointError
from leantune.executors.run_folder import Fingerprint, RunFolder
from leantune.history import Trial, TrialState

SAVE_EVERY = 30.0  # seconds between looks at a running trial's checkpoint
QUIET = 1.0  # seconds without a change after which a checkpoint counts as complete


class Background:
    """One thread that copies, one thing after the other; `wake` is called after each."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._thread: ThreadPoolExecutor | None = None

    def do(self, work: Callable[[], str]) -> Future[str]:
        """Do it soon; the result is what went wrong, in words."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "leantune-checkpoints")
        future = self._thread.submit(work)
        future.add_done_callback(lambda _: self._wake())
        return future

    def close(self) -> None:
        """Finish what was begun."""
        if self._thread is not None:
            self._thread.shutdown()
            self._thread = None


class Keeper:
    """Of the checkpoint of one run. Without a store, a checkpoint lives in the run's own folder only.

    next_look: when to call `look` again. notes: what went wrong, in words.
    """

    def __init__(
        self, store: CheckpointStore | None, folder: RunFolder, background: Background, every: float = SAVE_EVERY
    ) -> None:
        self._store, self._folder, self._background, self._every = store, folder, background, every
        self._saved: Fingerprint = ()
        self._seen: Fingerprint | None = None  # changed since it was saved, and perhaps not complete
        self._saving: Future[str] | None = None
        self._in_store = False
        self.next_look = float("inf")
        self.notes: list[str] = []

    def restore(self, attempt: int) -> bool:
        """Bring the checkpoint back; whether there is one to go on from.

        One that is damaged is not used, and the run starts over, with a note. A first attempt finds nothing: whatever
        lies there is of another study of the same name.
        """
        self._folder.prepare_checkpoint(empty=attempt == 1)
        if self._store is not None:
            self._bring_back(self._store, attempt)
        self._saved = self._folder.fingerprint()
        return attempt > 1 and bool(self._saved)

    def _bring_back(self, store: CheckpointStore, attempt: int) -> None:
        if attempt == 1:
            store.delete(self._folder.key)
            return
        try:
            self._in_store = store.restore(self._folder.key, self._folder.checkpoint) > 0
        except CheckpointError as error:
            self._in_store = True
            self._folder.prepare_checkpoint(empty=True)
            self.notes.append(f"started over, because {error.what}")

    def begin(self, now: float) -> None:
        """The run has begun."""
        self.next_look = now + self._every if self._store is not None else float("inf")

    def look(self, now: float) -> None:
        """Save the checkpoint when it has changed and then kept still for a moment."""
        if self._saving is not None:
            if not self._saving.done():
                self.next_look = now + QUIET
                return
            self._note(self._saving.result())
        found = self._folder.fingerprint()
        if found == self._saved:
            self._seen, self.next_look = None, now + self._every
        elif found != self._seen:
            self._seen, self.next_look = found, now + QUIET
        else:
            self._saving = self._background.do(self._save)
            self._seen, self.next_look = None, now + self._every

    def settle(self, trial: Trial, state: TrialState) -> Future[str] | None:
        """After the run: save it for the next attempt, or as the verified model; what is over needs none.

        The future, if any, is to be awaited before the end is told: another worker may start the trial then.
        """
        over = state in (TrialState.DONE, TrialState.FAILED)
        kept = trial.verifies and state is TrialState.DONE
        if self._store is not None and (state is TrialState.QUEUED or kept):
            return self._background.do(self._save)
        if over and not kept and (self._in_store or self._saving is not None or self._folder.fingerprint()):
            self._background.do(self._give_up)
        elif over and not kept:
            self._folder.remove_checkpoint()
        return None

    def _note(self, trouble: str) -> None:
        if trouble and trouble not in self.notes:
            self.notes.append(trouble)

    def _save(self) -> str:
        """In the background: what went wrong, in words."""
        assert self._store is not None
        found = self._folder.fingerprint()
        if found == self._saved:
            return ""
        try:
            self._store.save(self._folder.key, self._folder.checkpoint)
        except CheckpointError as error:
            return f"its checkpoint was not saved: {error.what}"
        self._saved = found
        return ""

    def _give_up(self) -> str:
        """In the background: what is left behind only takes space."""
        self._folder.remove_checkpoint()
        if self._store is not None:
            try:
                self._store.delete(self._folder.key)
            except CheckpointError as error:
                return error.what
        return ""
