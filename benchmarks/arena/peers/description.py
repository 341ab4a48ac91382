"""How other people's tuners play, for the page."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from importlib.metadata import version

from benchmarks.arena.peers.entrants import PEER_ENTRANTS
from benchmarks.arena.peers.environments import ENVIRONMENTS
from benchmarks.arena.peers.tuners import METHODS
from benchmarks.papers.words import markdown

HOW = {
    "optuna-tpe": "TPE, on all data, told of every limit",
    "optuna-gp": "Gaussian process, on all data, told of every limit",
    "asha": "successive halving that stops trials, random configurations",
    "bohb": "the same, configurations by kernel densities",
    "asha-cqr": "the same, configurations by conformal quantile regression",
    "smac": "Hyperband, configurations by random forests; results are told at its own points, not where they were made",
    "neps-hyperband": "Hyperband, random configurations; random search where there is one share",
    "neps-priorband": "Hyperband, half of the configurations near the best one; nobody has a prior to give it",
    "openbox": "Bayesian optimisation as it chooses by itself, on all data, told of every limit",
    "mfkg": "multi-fidelity knowledge gradient, 8 fantasies, every share of the table",
}


def described(played: Collection[str]) -> Iterator[str]:
    """Paragraphs about the peers among those that played."""
    entrants = [entrant for entrant in PEER_ENTRANTS if entrant.name in played]
    if not entrants:
        return
    yield (
        "Other people's tuners run in environments of their own, with their own settings, one test at a time. What "
        "they suggest is tested at the nearest configuration of the table that they have not been given yet. "
        "Successive halving uses the shares nearest to 1, 1/3, 1/9, ...; a promoted configuration pays the larger "
        "share in full unless shares are of epochs. Those that know no limits are told a loss worse than the worst "
        "so far where one is broken. Their own rule is the best measured result on all data that keeps the limits; "
        "the common rule stands beside it. None looks at the budget: a replay goes on until all budgets are used, for "
        "at most so many tests, and what lies within a budget counts."
    )
    rows = [
        [entrant.name, HOW[entrant.name], _versions(METHODS[entrant.name].environment), str(entrant.tests)]
        for entrant in entrants
    ]
    yield markdown(["peer", "how", "versions", "tests"], rows)


def _versions(name: str) -> str:
    environment = ENVIRONMENTS[name]
    return ", ".join(environment.requirements) or f"{environment.module}=={version(environment.module)}"
