"""Tunings of the groups: found in the results folder, or simulated in spawned processes and kept as they come.

One JSON file holds the tunings of one family at one start with one predictor, which share a table of risks. Its name
is a hash of what decides the results: sources, prices, traces, recorded runs and the trained predictor.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache, lru_cache
from importlib.resources import files
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.spottune.experiments import Group
from benchmarks.spottune.pools import MAPPING, Pool, PoolName, pool, without_capacity
from benchmarks.spottune.risks import Shelf, prices_digest
from benchmarks.spottune.tunings import Measured, Tuning, forecaster, scenario, tune
from leantune.cloud.feeds import MarketFeed
from leantune.errors import StoreError
from leantune.files import digest
from leantune.lab.replay.kept import decisive_files
from leantune.lab.replay.pool import ONE_THREAD
from leantune.lab.simulate.workloads import RecordedJob, families, parsed, recorded_jobs
from leantune.rent.quotes import Forecaster
from leantune.revocation.predictors import UNTRAINED

FORMAT = 1
DECISIVE = (
    "cloud",
    "curves",
    "lab/simulate",
    "rent",
    "revocation",
    "executors/fleet.py",
    "executors/rental.py",
    "executors/rented.py",
    "run",
    "store/memory.py",
    "strategies/midway.py",
    "strategies/spottune.py",
    "strategies/standings.py",
    "units.py",
)
OWN = ("policies.py", "pools.py", "risks.py", "tunings.py", "capacity.yaml")


@dataclass(frozen=True)
class Place:
    """Where a process finds what it needs. recording: a folder of packed families, None for the shipped ones."""

    results: Path
    shelf: Shelf
    data: Path | None = None
    recording: Path | None = None


@dataclass(frozen=True)
class Results:
    """What was measured, by group and (setup, tuning)."""

    measured: Mapping[Tuning, Measured] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)

    def of(self, group: str, setup: str) -> dict[Tuning, Measured]:
        """The tunings of one setup of a group; empty when it was not run."""
        found = self.groups.get(group)
        chosen = [tuning for name, tuning in found.tunings if name == setup] if found else []
        return {tuning: self.measured[tuning] for tuning in chosen}

    def setups(self, group: str) -> tuple[str, ...]:
        """In the order of the group."""
        found = self.groups.get(group)
        return tuple(dict.fromkeys(name for name, _ in found.tunings)) if found else ()


@dataclass(frozen=True)
class Batch:
    """Tunings that share a table of risks."""

    pool: str
    start: int
    predictor: str
    family: str
    tunings: tuple[Tuning, ...]


def jobs_of(family: str, recording: Path | None) -> tuple[RecordedJob, ...]:
    """The settings of a family, as shipped or from a folder of packed files."""
    if recording is None:
        return recorded_jobs(family)
    return next(jobs for jobs in _packed(recording) if jobs[0].family == family)


def families_of(recording: Path | None) -> tuple[str, ...]:
    """Families of a folder of packed files."""
    return families() if recording is None else tuple(sorted(jobs[0].family for jobs in _packed(recording)))


@cache
def _packed(recording: Path) -> tuple[tuple[RecordedJob, ...], ...]:
    return tuple(parsed(path.read_text(encoding="utf-8"), path.name) for path in sorted(recording.glob("*.json")))


def batches(groups: Sequence[Group]) -> list[Batch]:
    """All tunings, each once; those of the first starts first."""
    shared: dict[tuple[str, int, str, str], dict[Tuning, None]] = {}
    for group in groups:
        for _, tuning in group.tunings:
            shared.setdefault((tuning.pool, tuning.start, tuning.predictor, tuning.family), {})[tuning] = None
    ordered = sorted(shared, key=lambda key: (key[1], key[0], key[2], key[3]))
    return [Batch(*key, tuple(shared[key])) for key in ordered]


def collect(
    groups: Mapping[str, Group],
    place: Place,
    *,
    processes: int = 2,
    done: Callable[[int], None] = lambda count: None,
) -> Results:
    """Simulate what is not in the folder; `done` hears how many tunings are there now."""
    prepare(place.results)
    measured: dict[Tuning, Measured] = {}
    missing: list[Batch] = []
    for batch in batches(list(groups.values())):
        found = _kept(batch, place)
        measured |= found
        done(len(found))
        lacking = tuple(tuning for tuning in batch.tunings if tuning not in found)
        if lacking:
            missing.append(replace(batch, tunings=lacking))
    for fresh in _run(missing, place, processes):
        measured |= fresh
        done(len(fresh))
    return Results(measured, dict(groups))


def prepare(folder: Path) -> None:
    """A folder that git does not look into, wherever it lies."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    except OSError as error:
        hint = "Name a folder of yours for the results (--results DIR)"
        raise StoreError(f"results cannot be kept: {error.strerror}", where=str(folder), hint=hint) from error


def _run(missing: Sequence[Batch], place: Place, processes: int) -> Iterator[dict[Tuning, Measured]]:
    if processes < 2 or len(missing) < 2:
        yield from (run_batch(batch, place) for batch in missing)
        return
    with (
        _one_thread_each(),
        ProcessPoolExecutor(min(processes, len(missing)), mp_context=get_context("spawn")) as executor,
    ):
        try:
            for future in as_completed([executor.submit(run_batch, batch, place) for batch in missing]):
                yield future.result()
        except BaseException:
            executor.shutdown(cancel_futures=True)
            raise


@contextmanager
def _one_thread_each() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def run_batch(batch: Batch, place: Place) -> dict[Tuning, Measured]:
    """Simulate the tunings of a batch and keep them beside those of the same file."""
    _pin_torch()
    rented = _pool(batch.pool, place.data)
    feeds, forecast = _foreseen(batch.pool, batch.start, batch.predictor, place)
    jobs = jobs_of(batch.family, place.recording)
    fresh = {tuning: tune(tuning, scenario(tuning, rented, feeds, jobs), forecast) for tuning in batch.tunings}
    _keep(fresh, batch, place)
    return fresh


@lru_cache(maxsize=2)
def _foreseen(name: str, number: int, predictor: str, place: Place) -> tuple[tuple[MarketFeed, ...], Forecaster]:
    """Feeds and risks of a start: six families share them."""
    rented = _pool(name, place.data)
    start = rented.start(number)
    feeds = rented.feeds(start)
    return feeds, forecaster(rented, feeds, start, place.shelf.get(predictor, without_capacity(rented)))


def _pin_torch() -> None:
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


@cache
def _pool(name: str, data: Path | None) -> Pool:
    return pool(name, data)


# -- kept results


def _kept(batch: Batch, place: Place) -> dict[Tuning, Measured]:
    """Those of the batch's tunings that its file holds."""
    told = _read(_file(batch, place))
    names = {tuning: tuning_name(tuning) for tuning in batch.tunings}
    return {tuning: Measured.from_json(told[name]) for tuning, name in names.items() if name in told}


def _keep(found: Mapping[Tuning, Measured], batch: Batch, place: Place) -> None:
    path = _file(batch, place)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    fresh = {tuning_name(tuning): one.as_json() for tuning, one in found.items()}
    scratch.write_text(json.dumps({**_read(path), **fresh}), encoding="utf-8")
    scratch.replace(path)


def _read(path: Path) -> dict[str, Any]:
    """A file's tunings by name; none where it is missing, or damaged and so to be made again."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def tuning_name(tuning: Tuning) -> str:
    """All of a tuning as one text."""
    return json.dumps(asdict(tuning), sort_keys=True)


def _file(batch: Batch, place: Place) -> Path:
    rented = _pool(batch.pool, place.data)
    parts = [str(FORMAT), batch.pool, str(batch.start), batch.predictor, batch.family, program_digest()]
    parts += [_inputs_digest(batch.pool, place.data), jobs_digest(batch.family, place.recording)]
    if batch.predictor != UNTRAINED:
        parts.append(place.shelf.path(batch.predictor, without_capacity(rented)).name)
    return place.results / f"tunings-{digest(part.encode() for part in parts)[:24]}.json"


@cache
def _inputs_digest(name: str, data: Path | None) -> str:
    rented = _pool(name, data)
    extra = rented.files if PoolName(name).by_capacity else ()
    scout = rented.data / "curves" / "scout_ec2_runtimes.csv"
    read = [path.read_bytes() for path in (*extra, scout) if path.is_file()]
    return digest([prices_digest(rented).encode(), *read])


@cache
def jobs_digest(family: str, recording: Path | None) -> str:
    """Of a family's recorded runs."""
    parts: list[bytes] = []
    for job in jobs_of(family, recording):
        scalars = (job.name, job.maximize, job.drops, job.model_bytes, job.save_seconds, job.restore_seconds)
        parts += [repr(scalars).encode(), job.steps.tobytes(), job.values.tobytes(), job.seconds.tobytes()]
    return digest(parts)


@cache
def program_digest() -> str:
    """Of the sources that decide a tuning, and of the mapping of traces."""
    root, own = Path(str(files("leantune"))), Path(__file__).parent
    sources = [*decisive_files(root, DECISIVE), *(own / name for name in OWN), MAPPING]
    return digest(part for path in sources for part in (path.name.encode(), path.read_bytes()))
