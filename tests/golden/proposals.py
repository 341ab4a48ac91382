"""What every recipe proposes first on a small generated table, and what it recommends then.

The table is that of `tests.toy`. Three problems: the best at full data, the cheapest anywhere, and the first again
where one run reports at every share of the data that it passes.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from leantune.errors import StrategyError
from leantune.history import Estimate, History
from leantune.problem import Budget, Problem
from leantune.space import Configuration
from leantune.strategies.proposals import Proposal
from leantune.strategies.registry import RECIPES, at_work, recipe
from tests.golden.kept import HERE, Json
from tests.toy import asked, measure, recommended, toy_problem

KEPT = HERE / "proposals.json"
SEED = 5
FEWEST, MODELLED, MOST = 8, 5, 16  # proposals; those by models among them; at the very most
BUDGET = Budget(usd=0.5)


def problems() -> dict[str, Problem]:
    """By name."""
    return {
        "full": toy_problem(budget=BUDGET),
        "anywhere": toy_problem(anywhere=True, budget=BUDGET),
        "snapshots": toy_problem(budget=BUDGET, snapshots=True),
    }


def cases() -> list[tuple[str, str]]:
    """(recipe, problem) wherever they go together; snapshots only where they make another start."""
    found = []
    for name in RECIPES:
        for problem, stated in problems().items():
            if problem == "snapshots" and name not in ("lean", "trimtuner", "trimtuner-gp", "fabolas"):
                continue
            with suppress(StrategyError):
                at_work(recipe(name)).check(stated)
                found.append((name, problem))
    return found


def proposed(name: str, problem_name: str) -> Json:
    """The first proposals, and the recommendation after them."""
    problem, strategy, history = problems()[problem_name], at_work(recipe(name)), History()
    told: list[Json] = []
    modelled = 0
    while len(told) < FEWEST or (modelled < MODELLED and len(told) < MOST and name != "random"):
        proposal = asked(strategy, problem, history, seed=SEED)
        history, trial = history.propose(proposal.configuration, proposal.fraction, proposal.snapshots)
        history = history.record(trial.number, measure(problem, trial), time=0.0)
        told.append(_proposal(proposal))
        modelled += bool(proposal.expected)
    found = recommended(strategy, problem, history, seed=SEED)
    return {
        "proposals": told,
        "recommended": {
            "configuration": _configuration(found.configuration),
            "fraction": str(found.fraction),
            "metrics": {key: _estimate(one) for key, one in found.metrics.items()},
            "probabilities": {text: float(one).hex() for text, one in found.probabilities.items()},
            "why": found.why,
            "notes": list(map(str, found.notes)),
        },
    }


def _proposal(proposal: Proposal) -> Json:
    return {
        "configuration": _configuration(proposal.configuration),
        "fraction": str(proposal.fraction),
        "snapshots": [str(share) for share in proposal.snapshots],
        "expected": {key: _estimate(one) for key, one in proposal.expected.items()},
        "notes": list(map(str, proposal.notes)),
    }


def _configuration(configuration: Configuration) -> str:
    return ", ".join(f"{name}={value}" for name, value in configuration.items())


def _estimate(estimate: Estimate) -> Json:
    return [float(estimate.mean).hex(), float(estimate.sd).hex()]


def answers() -> dict[Path, Json]:
    """All that is kept of them, by file."""
    return {KEPT: {f"{name}, {problem}": proposed(name, problem) for name, problem in cases()}}
