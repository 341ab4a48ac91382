"""What is left of a folder when the power goes: only what was synced. A model of a disk, for tests.

A file has the bytes that it had when it was last synced, and none if it never was; a folder has the names that it had
when it was last synced. What was deleted may be gone at once, or be there until its folder is synced: both happen.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest


class Disk:
    """Records what is synced below a folder, which is itself on the disk.

    at_sync: called after each sync, which is when something new reaches the disk.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, at_sync: Callable[[], None]) -> None:
        self._folder, self._at_sync, self._synced = folder, at_sync, os.fsync
        self._files: dict[int, bytes] = {}
        self._folders: dict[int, dict[str, tuple[int, bool]]] = {}
        self._look(folder)
        monkeypatch.setattr(os, "fsync", self._fsync)

    def _fsync(self, opened: int) -> None:
        self._synced(opened)
        status = os.fstat(opened)
        if stat.S_ISDIR(status.st_mode):
            self._look(Path(f"/proc/self/fd/{opened}").resolve())
        else:
            self._files[status.st_ino] = Path(f"/proc/self/fd/{opened}").read_bytes()
        self._at_sync()

    def _look(self, folder: Path) -> None:
        names = {entry.name: (entry.inode(), entry.is_dir()) for entry in os.scandir(folder)}
        self._folders[folder.stat().st_ino] = names

    def after_power_cut(self, copy: Path, *, deletions: bool) -> None:
        """Put what is left into a new folder. deletions: what was deleted is gone."""
        self._restore(self._folder.stat().st_ino, self._folder, copy, deletions)

    def _restore(self, inode: int, now: Path, copy: Path, deletions: bool) -> None:
        copy.mkdir()
        for name, (below, is_folder) in self._folders.get(inode, {}).items():
            if deletions and not os.path.lexists(now / name):
                continue
            if is_folder:
                self._restore(below, now / name, copy / name, deletions)
            else:
                (copy / name).write_bytes(self._files.get(below, b""))
