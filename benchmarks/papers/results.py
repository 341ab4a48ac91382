"""Replays of the groups: found in the results folder or run, with the minutes that took."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.papers.experiments import Group
from leantune.clock import Clock, RealClock
from leantune.lab.replay.kept import Kept, Key, program_digest
from leantune.lab.replay.pool import Done, Task, run_all
from leantune.lab.replay.runs import Row

TIMINGS = "papers-timings.json"

Run = Sequence[Row]
Runs = Sequence[Run]  # by seed
Place = tuple[str, str, str, str]  # group, setup, table, method


@dataclass(frozen=True)
class Timing:
    """Wall-clock seconds in which so many replays of a group were run."""

    seconds: float = 0.0
    replays: int = 0


@dataclass(frozen=True)
class Results:
    """Rows by (group, setup, table, method), and what is known of each group."""

    runs: Mapping[Place, Runs] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)
    timings: Mapping[str, Timing] = field(default_factory=dict)

    def __or__(self, other: Results) -> Results:
        """Both."""
        return Results({**self.runs, **other.runs}, {**self.groups, **other.groups}, {**self.timings, **other.timings})

    def of(self, group: str, table: str, setup: str = "") -> dict[str, Runs]:
        """The runs of every method; empty when the group was not run."""
        return {key[3]: runs for key, runs in self.runs.items() if key[:3] == (group, setup, table)}

    def tables(self, group: str, setup: str | None = None) -> tuple[str, ...]:
        """Tables that the group was run on."""
        found = (key[2] for key in self.runs if key[0] == group and setup in (None, key[1]))
        return tuple(dict.fromkeys(found))

    def setups(self, group: str) -> tuple[str, ...]:
        """Parts of the group that were run."""
        return tuple(dict.fromkeys(key[1] for key in self.runs if key[0] == group))


def collect(
    groups: Mapping[str, Group],
    folder: Path,
    *,
    processes: int | None = None,
    done: Callable[[Group, Done], None] = lambda _group, _done: None,
    clock: Clock | None = None,
) -> Results:
    """Run what is not in the folder yet; `done` hears of each replay."""
    kept, clock = Kept(folder), clock or RealClock()
    runs: dict[Place, Runs] = {}
    for group in groups.values():
        fresh: list[Done] = []

        def heard(one: Done, group: Group = group, fresh: list[Done] = fresh) -> None:
            if one.fresh:
                fresh.append(one)
            done(group, one)

        began = clock.now()
        try:
            rows = run_all([task for _, task in group.tasks()], kept, processes=processes, done=heard)
        finally:
            if fresh:
                _remember(folder, group.name, Timing(clock.now() - began, len(fresh)))
        runs |= _placed(group, rows)
    return Results(runs, dict(groups), read_timings(folder))


def complete(groups: Mapping[str, Group], folder: Path) -> Results:
    """Groups of which every replay is in the folder; nothing is run."""
    kept = Kept(folder)
    runs: dict[Place, Runs] = {}
    found: dict[str, Group] = {}
    for name, group in groups.items():
        tables = {source: source.load() for source in {case.source for case in group.cases}}
        rows: dict[Task, list[Row]] = {}
        for _, task in group.tasks():
            known = kept.get(Key.of(tables[task.source], task.settings, task.seed))
            if known is None:
                break
            rows[task] = known
        else:
            runs |= _placed(group, rows)
            found[name] = group
    return Results(runs, found, read_timings(folder))


def _placed(group: Group, rows: Mapping[Task, list[Row]]) -> dict[Place, Runs]:
    found: dict[Place, list[Run]] = {}
    for case, task in group.tasks():
        found.setdefault((group.name, case.setup, case.table, case.method), []).append(rows[task])
    order = [(group.name, case.setup, case.table, case.method) for case in group.cases]
    return {place: found[place] for place in order}


def read_timings(folder: Path) -> dict[str, Timing]:
    """Minutes of the groups, as they were measured for the program as it is now; those of another one are forgotten."""
    try:
        found = json.loads((folder / TIMINGS).read_text(encoding="utf-8"))
        if found["program"] != program_digest():
            return {}
        return {name: Timing(**timing) for name, timing in found["groups"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _remember(folder: Path, name: str, more: Timing) -> None:
    known = read_timings(folder)
    before = known.get(name, Timing())
    known[name] = Timing(before.seconds + more.seconds, before.replays + more.replays)
    document = {
        "program": program_digest(),
        "groups": {group: {"seconds": one.seconds, "replays": one.replays} for group, one in known.items()},
    }
    scratch = folder / f".{TIMINGS}.{os.getpid()}"
    scratch.write_text(json.dumps(document, indent=1), encoding="utf-8")
    scratch.replace(folder / TIMINGS)
