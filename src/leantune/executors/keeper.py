"""Keeps the checkpoints of running trials: brought back before a run, saved while it runs and after it.

Copying gigabytes takes a while, so it happens in a thread of its own and the executor goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from leantune.checkpoints.store import CheckpointStore
from leantune.clock import Clock
from leantune.errors import CheckpointError
from leantune.executors.base import CheckpointSaved, Finished
from leantune.executors.outcome import Restored
from leantune.executors.run_folder import Fingerprint, RunFolder
from leantune.history import TrialState

SAVE_EVERY = 30.0  # seconds between looks at a running trial's checkpoint
QUIET = 1.0  # seconds without a change after which a checkpoint counts as complete

Copy = tuple[float, CheckpointSaved]  # with the moment it was complete, by `Clock.monotonic`


class Checkpoints:
    """The checkpoints of an executor's trials: in their folders under `runs` and, where there is one, in a store.

    One thread copies, one thing after the other; `wake` is called after each. every: seconds between looks at a running
    trial's checkpoint.
    """

    def __init__(
        self,
        runs: Path,
        store: CheckpointStore | None,
        clock: Clock,
        wake: Callable[[], None] = lambda: None,
        every: float = SAVE_EVERY,
    ) -> None:
        self.store, self.clock = store, clock
        self.every = every if store is not None else float("inf")
        self._runs, self._wake = runs, wake
        self._thread: ThreadPoolExecutor | None = None

    def folder(self, number: int) -> RunFolder:
        """The folder of a trial."""
        return RunFolder(self._runs, number)

    def kept(self, numbers: Iterable[int]) -> frozenset[int]:
        """Those of the trials of which a checkpoint, or a part of one, is in their folder or in the store."""
        stored = frozenset() if self.store is None else frozenset(self.store.places())
        folders = {number: self.folder(number) for number in numbers}
        return frozenset(number for number, folder in folders.items() if folder.key in stored or folder.has_checkpoint)

    def forget(self, number: int) -> Future[str]:
        """Remove a checkpoint that no run will go on from, here and in the store, soon."""
        return self.do(lambda: self._remove(self.folder(number)))

    def _remove(self, folder: RunFolder) -> str:
        folder.remove_checkpoint()
        if self.store is not None:
            try:
                self.store.delete(folder.key)
            except CheckpointError as error:
                return error.what
        return ""

    def do(self, work: Callable[[], str]) -> Future[str]:
        """Do it soon; the result is the error in words, empty without one."""
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
    """Of the checkpoint of one run. Without a store, a checkpoint lives in the trial's own folder only.

    next_look: from when on `look` will do something, by `Clock.monotonic`. notes: what went wrong, in words.
    """

    def __init__(self, checkpoints: Checkpoints, number: int) -> None:
        self.folder, self._number = checkpoints.folder(number), number
        self._checkpoints, self._store, self._clock = checkpoints, checkpoints.store, checkpoints.clock
        self._saved: Fingerprint = ()
        self._saved_step: float | None = None
        self._seen: Fingerprint | None = None  # changed since it was saved, and perhaps not complete
        self._saving: Future[str] | None = None
        self._copy: Copy | None = None  # what the thread has saved last
        self._last: Future[str] | None = None  # saving after the run
        self._begun = self._asked = False
        self.next_look = float("inf")
        self.notes: list[str] = []

    @property
    def holds(self) -> bool:
        """Whether there is a checkpoint for the next attempt."""
        return bool(self.folder.fingerprint())

    def restore(self, attempt: int, smaller: int | None = None) -> Restored:
        """Restore the checkpoint; returns whose checkpoint the run goes on from.

        One that is damaged is not used, and the run starts over, with a note. A first attempt finds nothing: what
        is there belongs to another study of the same name. smaller: the trial at a smaller share that it goes on from
        where it has no checkpoint of its own.
        """
        self.folder.prepare_checkpoint(empty=attempt == 1)
        if self._store is not None:
            self._bring_back(self._store, attempt)
        self._saved = self.folder.fingerprint()
        own = attempt > 1 and bool(self._saved)
        if smaller is None or own:
            return Restored(own, own and smaller is not None and not self.folder.began_anew)
        continued = self._continue(smaller)
        self._saved = ()  # the trial itself has saved nothing
        return Restored(False, continued)

    def _continue(self, smaller: int) -> bool:
        """Begin with a copy of another trial's checkpoint; returns whether there was one."""
        self.folder.prepare_checkpoint(empty=True)
        source, why = self._checkpoints.folder(smaller), ""
        try:
            if self._store is not None:
                self._store.borrow(source.key, self.folder.checkpoint)
            else:
                self.folder.begin_with(source)
        except CheckpointError as error:
            why = error.what
        except OSError as error:
            why = f"its folder cannot be read: {error.strerror}"
        if not why and self.holds:
            return True
        self.folder.prepare_checkpoint(empty=True)
        self.folder.note_anew()
        self.notes.append(f"started from nothing, as trial {smaller} left no checkpoint to go on from")
        if why:
            self.notes[-1] += f" ({why})"
        return False

    def _bring_back(self, store: CheckpointStore, attempt: int) -> None:
        if attempt == 1:
            store.delete(self.folder.key)
            return
        try:
            store.restore(self.folder.key, self.folder.checkpoint)
        except CheckpointError as error:
            self.folder.prepare_checkpoint(empty=True)
            self.notes.append(f"started over, because {error.what}")

    def begin(self, now: float) -> None:
        """The run has begun."""
        self._begun = True
        self.next_look = now if self._asked else now + self._checkpoints.every

    def ask(self, now: float) -> None:
        """Save it now, or as soon as it is complete; `look` tells when that is so, also where nothing has changed."""
        self._asked = True
        if self._begun:
            self.next_look = now

    def look(self, now: float, step: float | None) -> list[Copy]:
        """Save the checkpoint once it has changed and is complete; returns what was saved since the last look.

        step: the last one that the run has reported; of a copy, when saving began.
        """
        copies = self._completed()
        if now >= self.next_look:
            copies += self._inspect(now, step)
        return copies

    def settle(self, state: TrialState, *, keep: bool) -> Future[str] | None:
        """After the run: save it for the next attempt, or (keep) as the model of a run that has succeeded.

        The future, if any, is to be awaited before the end is told: another worker may start the trial then. Nothing is
        removed here: that the trial is over is not yet known to the store.
        """
        is_wanted = state is TrialState.QUEUED or (keep and state is TrialState.DONE)
        self._last = self._checkpoints.do(lambda: self._save(None)) if is_wanted and self._store is not None else None
        return self._last

    @property
    def is_settled(self) -> bool:
        """Whether nothing more is to be saved."""
        return self._last is None or self._last.done()

    def with_checkpoint(self, finished: Finished, step: float | None) -> Finished:
        """The end of the run with its checkpoint, and errors of saving it. step: the last one that it reported."""
        trouble = "" if self._last is None else self._last.result()
        cause = "; ".join(part for part in (finished.cause, trouble) if part)
        kept: float | None = None
        if finished.state is TrialState.QUEUED and self._begun and not trouble:
            kept = step if self.holds else 0.0
        return finished._replace(cause=cause, kept_step=kept)

    def _completed(self) -> list[Copy]:
        """Checkpoints that the thread has saved; each error is noted once."""
        if self._saving is None or not self._saving.done():
            return []
        trouble, self._saving = self._saving.result(), None
        if trouble and trouble not in self.notes:
            self.notes.append(trouble)
        return [self._copy] if self._copy is not None and not trouble else []

    def _inspect(self, now: float, step: float | None) -> list[Copy]:
        if self._saving is not None:
            self.next_look = now + QUIET
            return []
        fingerprint = self.folder.fingerprint()
        if fingerprint not in (self._saved, self._seen):
            self._seen, self.next_look = fingerprint, now + QUIET
            return []
        self._seen, self.next_look = None, now + self._checkpoints.every
        asked, self._asked = self._asked, False
        if fingerprint != self._saved and self._store is not None:
            self._copy = None
            self._saving = self._checkpoints.do(lambda: self._save(step))
            return []
        if fingerprint != self._saved:  # the folder is all there is
            self._saved, self._saved_step = fingerprint, step
        return [self._copied(self._saved_step if fingerprint else 0.0, now)] if asked else []

    def _save(self, step: float | None) -> str:
        """In the background: what went wrong, in words."""
        assert self._store is not None
        began, fingerprint = self._clock.monotonic(), self.folder.fingerprint()
        if fingerprint != self._saved:
            try:
                self._store.save(self.folder.key, self.folder.checkpoint)
            except CheckpointError as error:
                return f"its checkpoint was not saved: {error.what}"
        ended = self._clock.monotonic()
        self._saved, self._saved_step = fingerprint, step
        self._copy = self._copied(step, ended, ended - began)
        return ""

    def _copied(self, step: float | None, ended: float, seconds: float = 0.0) -> Copy:
        return ended, CheckpointSaved(self._number, self._clock.now(), step, seconds)
