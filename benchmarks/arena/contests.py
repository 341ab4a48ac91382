"""Who plays against whom: every replay of the arena as a task with its place, and the runs by place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from benchmarks.arena.budgets import BUDGETS, MOST_TESTS, OPEN, OPEN_TESTS, ArenaBudget, open_settings
from benchmarks.arena.problems import NOISY_LAWS, UNLIMITED, ArenaProblem, facts
from benchmarks.papers.inventory import CHEAPEST
from benchmarks.papers.results import Run
from leantune.clock import Clock, RealClock
from leantune.errors import StrategyError
from leantune.lab.replay.contenders import contender
from leantune.lab.replay.kept import Kept, Key
from leantune.lab.replay.pool import Done, TableSource, Task, run_all
from leantune.lab.replay.runs import Settings
from leantune.problem import Stop
from leantune.units import SECONDS_PER_HOUR

LEAN, RANDOM = "lean", "random"
LEAN_SEEDS, SEEDS, QUICK_SEEDS = 20, 10, 2


@dataclass(frozen=True)
class Entrant:
    """A strategy in the arena.

    spec: its text for a replay. told: it looks at the budget, and is replayed under each; the others are replayed once,
    and what lies within a budget counts. families: of problems that it plays on; none named: all but those of
    `without`. real: on measured tables only. tests: of a replay without a budget, where they are other than the
    contest's.
    """

    name: str
    spec: str
    told: bool = False
    families: tuple[str, ...] = ()
    tests: int = MOST_TESTS
    without: tuple[str, ...] = ()
    real: bool = False

    def plays(self, problem: ArenaProblem) -> bool:
        """Whether the problem is one for it, and it does not refuse it."""
        return self.meant(problem) and self.refusal(problem) is None

    def meant(self, problem: ArenaProblem) -> bool:
        """Whether it was entered for the problem."""
        named = problem.family in self.families if self.families else problem.family not in self.without
        return named and (problem.real or not self.real)

    def refusal(self, problem: ArenaProblem) -> str | None:
        """Why the strategy cannot serve the problem; None: it can."""
        return _refusal(self.spec, problem.source(0))


@cache
def _refusal(spec: str, source: TableSource) -> str | None:
    try:
        contender(spec).tuner.check(facts(source).truth.problem)
    except StrategyError as error:
        return str(error)
    return None


LEAN_ENTRANT = Entrant(LEAN, LEAN, told=True)
OWN_ENTRANTS = (
    LEAN_ENTRANT,
    Entrant("eic", "eic"),
    Entrant("eic-usd", "eic-usd"),
    Entrant("trimtuner-gp", "trimtuner-gp", families=("papers",)),  # minutes a replay on the larger tables
    Entrant(RANDOM, RANDOM),
    # Made for the cheapest anywhere, and for tables without shares of the data; how they start depends on the budget.
    Entrant("nephele", "nephele", told=True, families=(CHEAPEST, "single share")),
    Entrant("cherrypick", "cherrypick", told=True, families=(CHEAPEST, "single share")),
)


@dataclass(frozen=True)
class Side:
    """`lean` in another way where no budget is told: compared with itself, seed by seed, and not ranked.

    parallel: tests at once. stop: as a problem has it. families: of problems that it is played on, but
    for those without limits; laws: of generated ones.
    """

    name: str
    families: tuple[str, ...]
    parallel: int = 1
    stop: Stop = "never"
    laws: tuple[str, ...] = ()

    def plays(self, problem: ArenaProblem) -> bool:
        """Whether it is played on the problem."""
        limited = problem.family in self.families and not problem.name.endswith(UNLIMITED)
        return limited or problem.name in self.laws

    @property
    def settings(self) -> Settings:
        """Of its replays; several tests at once are recommended from after each, by both rules."""
        marks = () if self.parallel == 1 else None
        return Settings(LEAN, iterations=OPEN_TESTS, parallel=self.parallel, stop=self.stop, common_at=marks)


STOP_AT = 0.01  # share of the goal by which something must be better to be worth looking for
BATCHES = Side("lean, four at once", ("papers", "demo", "xgboost"), parallel=4, laws=NOISY_LAWS)
STOPPED = Side("lean, stop rule", ("papers", "demo", "xgboost", "lcbench"), stop=STOP_AT)
SIDES = (BATCHES, STOPPED)


@dataclass(frozen=True)
class Place:
    """budget: its name; of entrants that are not told: of none."""

    problem: str
    method: str
    budget: str


@dataclass(frozen=True)
class Contest:
    """What is compared. lean_seeds, seeds: runs of `lean`, and of each other one. tests: of a run without a budget.
    sides: of `lean`, where it is played without a budget.
    """

    problems: tuple[ArenaProblem, ...]
    entrants: tuple[Entrant, ...]
    lean_seeds: int = LEAN_SEEDS
    seeds: int = SEEDS
    budgets: Mapping[str, ArenaBudget] = field(default_factory=lambda: dict(BUDGETS))
    tests: int = MOST_TESTS
    sides: tuple[Side, ...] = SIDES

    def tasks(self) -> Iterator[tuple[Place, Task]]:
        """All replays, run 0 of everybody first, and of each number `lean` first: whenever it is ended, everybody has
        about as many runs.
        """
        ordered = sorted(self.entrants, key=lambda entrant: entrant.name != LEAN)
        for number in range(max(self.lean_seeds, self.seeds)):
            for entrant in (entrant for entrant in ordered if number < self.asked(entrant.name)):
                for problem in self.problems:
                    if entrant.plays(problem):
                        yield from self._replays(problem, entrant, number)
                if entrant.name == LEAN and OPEN.name in self.budgets:
                    yield from self._beside(number)

    def asked(self, method: str) -> int:
        """Runs on each problem."""
        return self.lean_seeds if method == LEAN else self.seeds

    def refusals(self) -> dict[tuple[str, str], str]:
        """Why, by method and problem, an entrant does not play where it was entered."""
        pairs = ((entrant, problem) for entrant in self.entrants for problem in self.problems if entrant.meant(problem))
        found = {(entrant.name, problem.name): entrant.refusal(problem) for entrant, problem in pairs}
        return {pair: why for pair, why in found.items() if why is not None}

    def _beside(self, number: int) -> Iterator[tuple[Place, Task]]:
        for side in self.sides if number < self.seeds else ():
            for problem in (problem for problem in self.problems if side.plays(problem)):
                place = Place(problem.name, side.name, OPEN.name)
                yield place, Task(problem.source(number), problem.settings(side.settings), number)

    def _replays(self, problem: ArenaProblem, entrant: Entrant, number: int) -> Iterator[tuple[Place, Task]]:
        source = problem.source(number)
        if not entrant.told:
            place = Place(problem.name, entrant.name, OPEN.name)
            budgets, tests = self.budgets.values(), min(self.tests, entrant.tests)
            settings = open_settings(entrant.spec, facts(source).unit, budgets, tests)
            yield place, Task(source, problem.settings(settings), number)
            return
        for budget in self.budgets.values():
            place = Place(problem.name, entrant.name, budget.name)
            yield place, Task(source, problem.settings(budget.settings(entrant.spec, facts(source).unit)), number)


class TimeUpError(Exception):
    """The hours are over: what was finished is kept."""


@dataclass(frozen=True)
class Played:
    """A contest with its runs by place and run number; a run that was not made is missing."""

    contest: Contest
    runs: Mapping[Place, Mapping[int, Run]]

    def under(self, problem: ArenaProblem, method: str, budget: ArenaBudget) -> dict[int, Run]:
        """The runs of an entrant under a budget, by number."""
        told = next(entrant.told for entrant in self.contest.entrants if entrant.name == method)
        made = self.runs.get(Place(problem.name, method, budget.name if told else OPEN.name), {})
        return _parts(problem, budget, made)

    def beside(self, problem: ArenaProblem, side: Side) -> dict[int, Run]:
        """The runs of a side, by number."""
        return _parts(problem, OPEN, self.runs.get(Place(problem.name, side.name, OPEN.name), {}))


def _parts(problem: ArenaProblem, budget: ArenaBudget, made: Mapping[int, Run]) -> dict[int, Run]:
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
