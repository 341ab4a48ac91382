"""A contest that nobody played, for tests of what is made of it."""

from collections.abc import Mapping
from statistics import median

from benchmarks.arena.budgets import BUDGETS, OPEN
from benchmarks.arena.contests import LEAN, Contest, Entrant, Place, Played, Side
from benchmarks.arena.generated import Generated
from benchmarks.arena.problems import ArenaProblem, facts
from benchmarks.papers.results import Run
from tests.benchmarks.papers.made import advice, row

PROBLEM = ArenaProblem("ranks-well", "generated", (Generated("ranks-well", 0), Generated("ranks-well", 1)))
ENTRANTS = (Entrant(LEAN, LEAN, told=True), Entrant("eic", "eic"), Entrant("random", "random"))


def made_run(number: int, regrets: list[float], runs: float = 1.0) -> Run:
    """Recommendations of these regrets, each test for so many full runs; below 0: it breaks the limit."""
    known = facts(PROBLEM.source(number))
    feasible = [known.truth.judge(pair) for pair in known.truth.answers()]
    values = [verdict.metrics["accuracy"] for verdict in feasible if verdict.feasible]
    spread = known.truth.best - median(values)
    rows = []
    for index, regret in enumerate(regrets):
        value = known.truth.best - abs(regret) * spread
        told = advice(value, feasible=regret >= 0, ratio=known.truth.best / value)
        dollars = known.unit * runs
        rows.append(row(index + 1, dollars * (index + 1), told, start=index == 0, cost=dollars))
    return rows


def played(regrets: Mapping[str, list[float]], *, seeds: int = 4, runs: float = 1.0) -> Played:
    """Every method with the same regrets in all its runs and under all budgets."""
    contest = Contest((PROBLEM,), ENTRANTS, seeds, seeds)
    made = {}
    for entrant in ENTRANTS:
        for budget in BUDGETS if entrant.told else (OPEN.name,):
            made[Place(PROBLEM.name, entrant.name, budget)] = {
                number: made_run(number, regrets[entrant.name], runs) for number in range(seeds)
            }
    return Played(contest, made)


def beside(contest: Played, side: Side, runs: Mapping[int, Run]) -> Played:
    """The contest with these runs of a side."""
    return Played(contest.contest, {**contest.runs, Place(PROBLEM.name, side.name, OPEN.name): runs})
