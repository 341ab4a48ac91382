"""How fast studies are kept: `python -m benchmarks.store --json`.

- Trials per second of several worker processes that share a study of trivial trials (each is proposed, claimed and
  finished, in transactions of its own), against the rate at which the same database takes bare one-row transactions in
  the same run. None may be lost or done twice. PostgreSQL needs the wheel `pgserver`.
- What a study of 10,000 trials takes longer than a fresh one to open and to propose its next trial, both by models:
  fresh is a study whose start has just ended.
- What the loop itself costs for one trial (everything but the training), at 44 and at 1,000 trials.
- What a run costs in a store in memory, as simulations make them (claimed, on a machine, revoked): at once, and when
  every trial has 1,000 moves behind it. Alone: `--memory`.

Workers are spawned processes that wait for each other before they begin, so that only work is timed.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from fractions import Fraction
from multiprocessing.synchronize import Barrier
from pathlib import Path

import sqlalchemy as sa

import leantune
from benchmarks.histories import proposed
from leantune.clock import RealClock
from leantune.cloud.catalog import clusters
from leantune.executors.base import EndMode, Event, Finished, FreeCapacity, Terms
from leantune.history import Trial, TrialState, observe
from leantune.problem import Budget, Problem, maximize
from leantune.run.ledger import TimeRules
from leantune.run.loop import Loop, LoopSettings
from leantune.space import Space, integer, machine
from leantune.store.connections import Connections, parse_url
from leantune.store.database import Database
from leantune.store.memory import MemoryStudyStore
from leantune.store.rows import Booking, StayRow
from leantune.store.study import StudyStore
from leantune.strategies.registry import at_work, recipe
from leantune.study.definition import describe
from leantune.units import NO_SECONDS, Seconds, Usd

NAME = "bench"
BARE_ROWS = 1000  # before and after the study: the rate of one disk varies by a factor of three within a minute
MOVES_OF_A_RUN = 3  # that is revoked: running, revoked, queued
REPEATED = 5  # trials over which the loop's own time is averaged


def problem(trials: int) -> Problem:
    """12,000 configurations, a limit and three fractions."""
    machines = [machine(f"m{size}", vcpus=size, memory=size, usd_per_hour=size) for size in (1, 2, 4)]
    space = Space(a=integer(0, 79), b=integer(0, 49), cluster=clusters(machines))
    return Problem(space, maximize("a"), ["cost <= 1 USD"], ["1/10", "1/2", 1], Budget(usd=1e6, trials=trials))


def value(trial: Trial) -> float:
    """A smooth function of the configuration, as if it were an accuracy."""
    a, b = (float(str(trial.configuration[name])) for name in ("a", "b"))
    height = 1.0 / (1.0 + ((a - 30) / 40) ** 2 + ((b - 20) / 30) ** 2)
    return height * math.pow(trial.fraction, 0.1)


class InstantExecutor:
    """Trials that take no time."""

    def __init__(self, of: Problem) -> None:
        self._problem = of
        self._started: list[Trial] = []

    @property
    def running(self) -> frozenset[int]:
        return frozenset(trial.number for trial in self._started)

    @property
    def owes(self) -> bool:
        return False

    def check(self, trial: Trial) -> None:
        """Anything can be run."""

    def capacity(self) -> FreeCapacity:
        return FreeCapacity(slots=0 if self._started else 1)

    def start(self, trial: Trial, terms: Terms = Terms()) -> None:  # noqa: B008 - frozen
        self._started.append(trial)

    def wait(self, timeout: Seconds | None = None) -> None:
        """There is always something to tell."""

    def next_event_time(self) -> float | None:
        return None

    def step(self, now: float) -> list[Event]:
        ended, self._started = self._started, []
        return [
            Finished(
                trial.number,
                (observe(self._problem, trial, {"a": value(trial)}, seconds=1.0),),
                TrialState.DONE,
                seconds=Seconds(1.0),
            )
            for trial in ended
        ]

    def renew(self, number: int, ago: Seconds = NO_SECONDS) -> None:
        """Nothing runs long enough."""

    def end(self, number: int, mode: EndMode) -> None:
        self._started = [trial for trial in self._started if trial.number != number]

    def remains(self, number: int, attempt: int, grace: Seconds) -> bool:
        """Nothing: nothing runs."""
        return False

    def kept(self, numbers: Iterable[int]) -> frozenset[int]:
        return frozenset()

    def forget(self, number: int) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        self._started.clear()


def create(database: Database, of: Problem, strategy: str) -> StudyStore:
    """A new study in the database."""
    document = describe(of, strategy, {}, 1)
    return database.create(NAME, of.space, document, "", of.budget, time=0.0, leantune_version=leantune.__version__)


def plan(of: Problem, strategy: str, lease: float | None = 60.0) -> LoopSettings:
    """One trial at a time for each worker."""
    return LoopSettings(of, at_work(recipe(strategy)), 1, TimeRules(60.0, 1.0), lease=lease)


def work(url: str, trials: int, ready: Barrier) -> None:
    """One worker process."""
    of = problem(trials)
    with Database(url) as database:
        store = database.open(NAME, of.space)
        loop = Loop(store, plan(of, "random"), InstantExecutor(of), RealClock())
        of.space.grid()  # listed once for a process
        ready.wait()
        loop.run()


@dataclass(frozen=True)
class Throughput:
    """Trials per second of a shared study, and how many times slower than bare one-row transactions that is."""

    workers: int
    trials: int
    seconds: float
    trials_per_s: float
    bare_inserts_per_s: float
    ratio: float
    lost: int
    doubled: int


def throughput(url: str, workers: int, trials: int) -> Throughput:
    """Let `workers` processes run a study of `trials` trivial trials."""
    before = bare_inserts(url, BARE_ROWS)
    of = problem(trials)
    with Database(url) as database:
        create(database, of, "random")
    spawning = multiprocessing.get_context("spawn")
    ready = spawning.Barrier(workers + 1)
    processes = [spawning.Process(target=work, args=(url, trials, ready)) for _ in range(workers)]
    for process in processes:
        process.start()
    ready.wait()
    began = time.perf_counter()
    for process in processes:
        process.join()
    seconds = time.perf_counter() - began
    if any(process.exitcode for process in processes):
        sys.exit(f"a worker failed: exit codes {[process.exitcode for process in processes]}")
    lost, doubled = damage(url, of, trials)
    rate, bare = trials / seconds, 2 / (1 / before + 1 / bare_inserts(url, BARE_ROWS))
    return Throughput(workers, trials, seconds, rate, bare, rate / bare, lost, doubled)


def damage(url: str, of: Problem, trials: int) -> tuple[int, int]:
    """Trials that did not end, and pairs or runs that were done more than once."""
    with Database(url) as database:
        store = database.open(NAME, of.space)
        history, ledger = store.history(), store.ledger()
    ended = [trial for trial in history.trials if trial.state is TrialState.DONE]
    pairs = Counter((trial.configuration.id, trial.fraction) for trial in ended)
    runs = Counter(row.number for row in ledger)
    return trials - len(ended), sum(n - 1 for n in pairs.values()) + sum(n - 1 for n in runs.values())


def bare_inserts(url: str, rows: int) -> float:
    """One-row transactions per second, by one process and the store's own settings, into a table of its own."""
    Database(url).close()  # sets the write-ahead log up
    connections = Connections(parse_url(url))
    table = sa.Table("bare", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("text", sa.Text))
    with connections.writing() as connection:
        table.create(connection)
    began = time.perf_counter()
    for row in range(rows):
        with connections.writing() as connection:
            connection.execute(table.insert(), {"id": row, "text": "x" * 200})
    seconds = time.perf_counter() - began
    with connections.writing() as connection:
        table.drop(connection)
    connections.close()
    return rows / seconds


def filled(url: str, trials: int, strategy: str) -> Problem:
    """A study of at least so many finished trials, its start among them."""
    of = problem(trials + 1000)
    pool, start = of.space.pool(max(1, min(trials, 4000)), seed=1), recipe(strategy).start
    with Database(url) as database:
        store = create(database, of, strategy)
        while (first := start.next(of, store.history(), 1)) is not None:
            _told(store, of, store.propose(first.configuration, first.snapshots[-1], first.snapshots, time=0.0))
        for number in range(trials - len(store.history())):
            share = of.fractions[number // len(pool) % len(of.fractions)]
            _told(store, of, store.propose(pool[number % len(pool)], share, time=0.0))
    return of


def _told(store: StudyStore, of: Problem, trial: Trial) -> None:
    seen = observe(of, trial, {"a": value(trial)}, seconds=1.0 + trial.number % 7)
    store.record(trial.number, [seen], time=0.0, state=TrialState.DONE)


def open_and_propose(url: str, of: Problem, strategy: str) -> dict[str, float]:
    """Seconds until a study is loaded, and until its next trial is proposed and stored."""
    began = time.perf_counter()
    with Database(url) as database:
        store = database.open(NAME, of.space)
        history = store.history()
        loaded = time.perf_counter() - began
        proposal = proposed(at_work(recipe(strategy)), of, history, 1)
        store.propose(proposal.configuration, proposal.fraction, proposal.snapshots, time=0.0, queue=False)
        return {"open_s": loaded, "propose_s": time.perf_counter() - began - loaded}


def large_study(folder: Path, trials: int) -> dict[str, float]:
    """A study of many trials against a fresh one; both have warm kernels."""
    strategy = "trimtuner-gp"
    warm, fresh, large = (f"sqlite:///{folder / name}" for name in ("warm.db", "fresh.db", "large.db"))
    open_and_propose(warm, filled(warm, 12, strategy), strategy)
    new = open_and_propose(fresh, filled(fresh, 0, strategy), strategy)
    old = open_and_propose(large, filled(large, trials, strategy), strategy)
    more = sum(old.values()) - sum(new.values())
    return {
        "trials": trials,
        **{f"large_{k}": v for k, v in old.items()},
        **{f"fresh_{k}": v for k, v in new.items()},
        "more_s": more,
    }


def loop_overhead(folder: Path, trials: int, strategy: str) -> float:
    """Seconds of everything but training, for one trial, in a study that has so many."""
    url = f"sqlite:///{folder / f'overhead-{strategy}-{trials}.db'}"
    of = filled(url, trials, strategy)
    with Database(url) as database:
        store = database.open(NAME, of.space)
        loop = Loop(store, plan(of, strategy, lease=None), InstantExecutor(of), RealClock())
        loop.run(trials=1)  # loads the history, warms the kernels up
        began = time.perf_counter()
        loop.run(trials=REPEATED)
        return (time.perf_counter() - began) / REPEATED


@dataclass(frozen=True)
class InMemory:
    """Microseconds of the processor for a run of a trial: claim, open_stay, finish, and the caller's own rows.

    us: over all runs, Python's search for garbage included. fresh_us, late_us: without it, while trials have few moves,
    and when each has `moves_of_each`. look_us: for a look at history and money after a run.
    """

    trials: int
    moves_of_each: int
    us: float
    fresh_us: float
    late_us: float
    look_us: float


def in_memory(trials: int, moves: int) -> InMemory:
    """Runs that are revoked, all trials at once, until each has so many moves."""
    rounds = max(10, moves // MOVES_OF_A_RUN)
    everything = _revoked_runs(_new_study(trials), trials, rounds)
    store = _new_study(trials)
    gc.disable()
    try:
        fresh = _revoked_runs(store, trials, 10)
        _revoked_runs(store, trials, rounds - 10)
        late = _revoked_runs(store, trials, 10)
        looking = _revoked_runs(store, trials, 10, look=True)
    finally:
        gc.enable()
    return InMemory(trials, len(store.history().trial(0).moves), everything, fresh, late, max(0.0, looking - late))


def _new_study(trials: int) -> MemoryStudyStore:
    store = MemoryStudyStore(Space(n=integer(0, trials)), Budget(usd=1e9))
    for number in range(trials):
        store.propose({"n": number}, Fraction(1), time=0.0)
    return store


def _revoked_runs(store: MemoryStudyStore, trials: int, rounds: int, *, look: bool = False) -> float:
    """Microseconds for each; look: history and money are looked at after each."""
    booking, began = Booking(Usd(0.25), 0.36, Seconds(3600.0)), time.process_time()
    for turn in range(rounds):
        at = float(turn)
        for number in range(trials):
            claim = store.claim("w", time=at, lease=1e9, fitting=lambda *_: booking)
            assert claim is not None
            store.open_stay("w", StayRow(number, claim.attempt, "i-1", "m/a", False, 0.5, 0.36, "prices", at))
        for claim in store.running():
            number, attempt = claim.trial.number, claim.attempt
            over = StayRow(number, attempt, "i-1", "m/a", False, 0.5, 0.36, "prices", at, ended=at + 9.0, revoked=True)
            store.finish(
                claim,
                observations=(),
                state=TrialState.REVOKED,
                cause="revoked",
                time=at + 9.0,
                dollars=Usd(0.01),
                seconds=Seconds(9.0),
                stays=(over,),
            )
            if look:
                store.look()
    return (time.process_time() - began) / max(1, rounds * trials) * 1e6


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """A real PostgreSQL server of our own."""
    from pgserver.postgres_server import get_server

    server = get_server(folder / "postgres")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def measured(quick: bool, say: Callable[[str], None]) -> dict[str, object]:
    """All figures."""
    sizes = {"postgresql": (2, 40), "sqlite": (2, 20)} if quick else {"postgresql": (8, 2000), "sqlite": (4, 500)}
    results: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        say("sqlite: shared study")
        results["sqlite"] = asdict(throughput(f"sqlite:///{folder / 'shared.db'}", *sizes["sqlite"]))
        say("postgresql: shared study")
        with postgres(folder) as url:
            results["postgresql"] = asdict(throughput(url, *sizes["postgresql"]))
        say("in memory")
        results["memory"] = asdict(in_memory(8, 60) if quick else in_memory(96, 1000))
        say("a large study")
        results["large"] = large_study(folder, 200 if quick else 10_000)
        for strategy in ("random", "trimtuner-gp"):
            for trials in (4, 8) if quick else (44, 1000):
                say(f"the loop's own time: {strategy} at {trials} trials")
                results[f"loop_{strategy}_{trials}_s"] = loop_overhead(folder, trials, strategy)
    return results


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description="How fast studies are kept.")
    options.add_argument("--json", action="store_true", help="print one JSON object")
    options.add_argument("--quick", action="store_true", help="only that it runs: tiny sizes")
    options.add_argument("--memory", action="store_true", help="only the store in memory: seconds")
    chosen = options.parse_args()
    if chosen.memory:
        print(json.dumps(asdict(in_memory(96, 1000)), indent=2))
        return
    results = measured(chosen.quick, lambda text: print(text, file=sys.stderr))
    if chosen.json:
        print(json.dumps(results, indent=2))
    else:
        for key, figure in results.items():
            print(key, figure)


if __name__ == "__main__":
    main()
