"""Results that nobody measured, for tests of what is made of them."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from benchmarks.lean.experiments import LEAN, Effort, groups
from benchmarks.papers.results import Place, Results, Run, Runs, Timing
from tests.benchmarks.papers.made import run

GOOD, POOR, BROKEN = 0.98, 0.5, -0.98  # accuracies: the best, feasible but poor, the best and infeasible
STEPS = 14
Cost = Callable[[str, str, str], float]  # dollars of a test, by group, table and method


def arriving(cost: float, *, after: int = 3, last: float = GOOD) -> Run:
    """A run whose recommendation is good from test `after` on, but for the last one."""
    return run([POOR] * (after - 1) + [GOOD] * (STEPS - after) + [last], cost=cost, asked=0.25)


def lean_is_cheap(group: str, table: str, method: str) -> float:
    """Tests of `lean` cost a tenth of anybody else's."""
    return 0.004 if method == LEAN else 0.04


def results(
    cost: Cost = lean_is_cheap, *, only: tuple[str, ...] = (), changed: Mapping[Place, Runs] | None = None
) -> Results:
    """Every group, two seeds each; changed: other runs of some places."""
    made = groups(Effort(seeds=2), only)
    runs: dict[Place, list[Run]] = {}
    for name, group in made.items():
        for case, _ in group.tasks():
            place = (name, case.setup, case.table, case.method)
            runs.setdefault(place, []).append(arriving(cost(name, case.table, case.method)))
    found = {**runs, **(changed or {})}
    return Results(found, made, {"main": Timing(1800.0, 10)})


def broken_at_the_end(found: Results, place: Place) -> Results:
    """The same with a first run that ends infeasible."""
    first, *others = found.runs[place]
    worse = [arriving(first[0].test_dollars, last=BROKEN), *others]
    return replace(found, runs={**found.runs, place: worse})
