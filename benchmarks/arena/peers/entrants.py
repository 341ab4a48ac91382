"""Other people's tuners as entrants: none looks at the budget, so that one replay of each serves all budgets.

The slowest play on a few problems only, and make fewer tests.
"""

from __future__ import annotations

from benchmarks.arena.budgets import MOST_TESTS
from benchmarks.arena.contests import Entrant

SLOW_TESTS = 44
SLOW_FAMILIES = ("papers", "demo")
_TUNERS = "benchmarks.arena.peers.tuners"


def _peer(method: str, tests: int = MOST_TESTS, families: tuple[str, ...] = ()) -> Entrant:
    return Entrant(method, f"{_TUNERS}:peer(method={method!r})", families=families, tests=tests)


PEER_ENTRANTS = (
    _peer("optuna-tpe"),
    _peer("optuna-gp"),
    _peer("asha"),
    _peer("bohb"),
    _peer("asha-cqr"),
    _peer("smac"),
    _peer("neps-hyperband"),
    _peer("neps-priorband"),
    _peer("openbox", SLOW_TESTS, SLOW_FAMILIES),
    _peer("mfkg", SLOW_TESTS, SLOW_FAMILIES),
)
