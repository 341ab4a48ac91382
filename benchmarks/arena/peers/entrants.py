"""Other people's tuners as entrants: none looks at the budget, so that one replay of each serves all budgets.

tests: a test on all data costs about a full run, so that FULL_TESTS of them exceed the dollars of 30 full runs and the
44 tests of the other budgets. Those that begin on small shares need more tests for as many dollars; asha-cqr, which
takes half a second to choose a test where there is one share, has fewer. The slowest play on a few problems only.
"""

from __future__ import annotations

from benchmarks.arena.contests import Entrant

FULL_TESTS, SHARES_TESTS, SLOW_TESTS = 60, 150, 44
SLOW_FAMILIES = ("papers", "demo")
_TUNERS = "benchmarks.arena.peers.tuners"


def _peer(method: str, tests: int, families: tuple[str, ...] = ()) -> Entrant:
    return Entrant(method, f"{_TUNERS}:peer(method={method!r})", families=families, tests=tests)


PEER_ENTRANTS = (
    _peer("optuna-tpe", FULL_TESTS),
    _peer("optuna-gp", FULL_TESTS),
    _peer("asha", SHARES_TESTS),
    _peer("bohb", SHARES_TESTS),
    _peer("asha-cqr", FULL_TESTS),
    _peer("smac", SHARES_TESTS),
    _peer("neps-hyperband", SHARES_TESTS),
    _peer("neps-priorband", SHARES_TESTS),
    _peer("openbox", SLOW_TESTS, SLOW_FAMILIES),
    _peer("mfkg", SLOW_TESTS, SLOW_FAMILIES),
)
