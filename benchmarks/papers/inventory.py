"""Which measured tables are at hand, and why the others are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.datasets import write_generated
from leantune.errors import TableError
from leantune.lab.replay.pool import Source
from leantune.lab.replay.tables import MeasuredTable

CHEAPEST = "cheapest"  # Nephele's problem on the tables of TrimTuner
# As the page names them -> preset.
NETWORKS = {"cnn": "trimtuner-cnn", "rnn": "trimtuner-rnn", "multilayer": "trimtuner-multilayer"}
OTHERS = ("lynceus-cnn", "lynceus-rnn", "cherrypick-kmeans", "cherrypick-terasort", "cherrypick-tpch")


@dataclass(frozen=True)
class Inventory:
    """Tables by (name, problem). missing: name -> where it was looked for. data: their folder, None: the default one.

    generated: none of them is real.
    """

    tables: Mapping[tuple[str, str], MeasuredTable]
    missing: Mapping[str, str]
    data: Path | None = None
    generated: bool = False

    @classmethod
    def take(cls, data: Path | None = None) -> Inventory:
        """Load every table that is there."""
        tables: dict[tuple[str, str], MeasuredTable] = {}
        missing: dict[str, str] = {}
        wanted = [(name, preset, problem) for name, preset in NETWORKS.items() for problem in ("", CHEAPEST)]
        for name, preset, problem in (*wanted, *((name, name, "") for name in OTHERS)):
            if name in missing:
                continue
            try:
                tables[name, problem] = Source(preset, data, problem).load()
            except TableError as error:
                missing[name] = str(error)
        return cls(tables, missing, data)

    @classmethod
    def generate(cls, folder: Path) -> Inventory:
        """A table of the rnn's shape with made-up numbers: to see that everything runs where there is no data."""
        write_generated("rnn", folder)
        return replace(cls.take(folder), generated=True)

    @property
    def networks(self) -> tuple[str, ...]:
        """The tables of TrimTuner that are at hand."""
        return tuple(name for name in NETWORKS if (name, "") in self.tables)

    @property
    def others(self) -> tuple[str, ...]:
        """The tables of Lynceus and CherryPick that are at hand."""
        return tuple(name for name in OTHERS if (name, "") in self.tables)

    def source(self, name: str, problem: str = "") -> Source:
        """Where another process finds the table."""
        return Source(NETWORKS.get(name, name), self.data, problem)
