"""Studies in plain Python objects keep the same promises as those in a database."""

from __future__ import annotations

from leantune.store.memory import MemoryDatabase
from leantune.testing.store_contract import StoreContract


class TestMemory(StoreContract):
    shared = False

    def opened(self) -> MemoryDatabase:
        return MemoryDatabase()
