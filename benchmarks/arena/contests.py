"""Who plays against whom: every replay of the arena as a task with its place, and the runs by place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from benchmarks.arena.budgets import BUDGETS, MOST_TESTS, OPEN, ArenaBudget, open_settings
from benchmarks.arena.problems import ArenaProblem, facts
from benchmarks.papers.results import Run
from leantune.clock import Clock, RealClock
from leantune.lab.replay.kept import Kept, Key
from leantune.lab.replay.pool import Done, Task, run_all
from leantune.units import SECONDS_PER_HOUR

LEAN, RANDOM = "lean", "random"
LEAN_SEEDS, SEEDS, QUICK_SEEDS = 20, 10, 2


@dataclass(frozen=True)
class Entrant:
    """A strategy in the arena.

    spec: its text for a replay. told: it looks at the budget, and is replayed under each; the others are replayed once,
    and what lies within a budget counts. families: of problems that it plays on; none named: all. tests: of a replay
    without a budget, where they are other than the contest's.
    """

    name: str
    spec: str
    told: bool = False
    families: tuple[str, ...] = ()
    tests: int = MOST_TESTS

    def plays(self, problem: ArenaProblem) -> bool:
        """Whether the problem is one for it."""
        return not self.families or problem.family in self.families


LEAN_ENTRANT = Entrant(LEAN, LEAN, told=True)
OWN_ENTRANTS = (
    LEAN_ENTRANT,
    Entrant("eic", "eic"),
    Entrant("eic-usd", "eic-usd"),
    Entrant("trimtuner-gp", "trimtuner-gp", families=("papers",)),  # minutes a replay on the larger tables
    Entrant(RANDOM, RANDOM),
)


@dataclass(frozen=True)
class Place:
    """budget: its name; of entrants that are not told: of none."""

    problem: str
    method: str
    budget: str


@dataclass(frozen=True)
class Contest:
    """What is compared. lean_seeds, seeds: runs of `lean`, and of each other one. tests: of a run without a budget."""

    problems: tuple[ArenaProblem, ...]
    entrants: tuple[Entrant, ...]
    lean_seeds: int = LEAN_SEEDS
    seeds: int = SEEDS
    budgets: Mapping[str, ArenaBudget] = field(default_factory=lambda: dict(BUDGETS))
    tests: int = MOST_TESTS

    def tasks(self) -> Iterator[tuple[Place, Task]]:
        """All replays, run 0 of everybody first: whenever it is ended, everybody has about as many runs."""
        for number in range(max(self.lean_seeds, self.seeds)):
            for problem in self.problems:
                for entrant in self.entrants:
                    if entrant.plays(problem) and number < self._seeds(entrant):
                        yield from self._replays(problem, entrant, number)

    def _seeds(self, entrant: Entrant) -> int:
        return self.lean_seeds if entrant.name == LEAN else self.seeds

    def _replays(self, problem: ArenaProblem, entrant: Entrant, number: int) -> Iterator[tuple[Place, Task]]:
        source = problem.source(number)
        if not entrant.told:
            place = Place(problem.name, entrant.name, OPEN.name)
            budgets, tests = self.budgets.values(), min(self.tests, entrant.tests)
            yield place, Task(source, open_settings(entrant.spec, facts(source).unit, budgets, tests), number)
            return
        for budget in self.budgets.values():
            place = Place(problem.name, entrant.name, budget.name)
            yield place, Task(source, budget.settings(entrant.spec, facts(source).unit), number)


class TimeUpError(Exception):
    """The hours are over: what was finished is kept."""


@dataclass(frozen=True)
class Played:
    """A contest with its runs by place and run number; a run that was not made is missing."""

    contest: Contest
    runs: Mapping[Place, Mapping[int, Run]]

    def under(self, problem: ArenaProblem, method: str, budget: ArenaBudget) -> dict[int, Run]:
        """The runs of a method under a budget, by number."""
        told = next(entrant.told for entrant in self.contest.entrants if entrant.name == method)
        made = self.runs.get(Place(problem.name, method, budget.name if told else OPEN.name), {})
        return {number: budget.part(run, facts(problem.source(number)).unit) for number, run in made.items()}


def play(
    contest: Contest,
    folder: Path,
    *,
    processes: int | None = None,
    hours: float | None = None,
    done: Callable[[Done], None] = lambda _done: None,
    clock: Clock | None = None,
) -> Played:
    """Run what is not in the folder yet, for at most so many hours; `done` hears of each replay."""
    clock, tasks = clock or RealClock(), list(contest.tasks())
    end = None if hours is None else clock.now() + hours * SECONDS_PER_HOUR

    def heard(finished: Done) -> None:
        done(finished)
        if end is not None and finished.fresh and clock.now() > end:
            raise TimeUpError

    try:
        rows: Mapping[Task, Run] = run_all([task for _, task in tasks], Kept(folder), processes=processes, done=heard)
    except TimeUpError:
        rows = kept_rows((task for _, task in tasks), folder)
    return placed(contest, tasks, rows)


def kept_rows(tasks: Iterable[Task], folder: Path) -> dict[Task, Run]:
    """Of the tasks that were finished earlier; nothing is run."""
    kept, load = Kept(folder), cache(lambda source: source.load())
    rows: dict[Task, Run] = {}
    for task in tasks:
        known = kept.get(Key.of(load(task.source), task.settings, task.seed))
        if known is not None:
            rows[task] = known
    return rows


def placed(contest: Contest, tasks: Sequence[tuple[Place, Task]], rows: Mapping[Task, Run]) -> Played:
    """The rows of the tasks by place and run number."""
    runs: dict[Place, dict[int, Run]] = {}
    for place, task in tasks:
        if task in rows:
            runs.setdefault(place, {})[task.seed] = rows[task]
    return Played(contest, runs)
