"""Other people's tuners as entrants: none looks at the budget, so that one replay of each serves all budgets.

None plays for the cheapest anywhere, a goal that they do not know. Slow ones play on measured tables only, the slowest
on a few of those, and make fewer tests.
"""

from __future__ import annotations

from benchmarks.arena.budgets import MOST_TESTS
from benchmarks.arena.contests import Entrant
from benchmarks.papers.inventory import CHEAPEST

SLOW_TESTS = 44
SLOW_FAMILIES = ("papers", "demo")
_TUNERS = "benchmarks.arena.peers.tuners"


def _peer(method: str, *, tests: int = MOST_TESTS, families: tuple[str, ...] = (), real: bool = False) -> Entrant:
    spec = f"{_TUNERS}:peer(method={method!r})"
    return Entrant(method, spec, families=families, tests=tests, without=(CHEAPEST,), real=real)


PEER_ENTRANTS = (
    _peer("optuna-tpe"),
    _peer("optuna-gp", real=True),
    _peer("asha"),
    _peer("bohb", real=True),
    _peer("asha-cqr", families=SLOW_FAMILIES),
    _peer("smac"),
    _peer("neps-hyperband"),
    _peer("neps-priorband", real=True),
    _peer("openbox", tests=SLOW_TESTS, families=SLOW_FAMILIES),
    _peer("mfkg", tests=SLOW_TESTS, families=SLOW_FAMILIES),
)
