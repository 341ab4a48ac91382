"""Other people's tuners as entrants: none looks at the budget, so that one replay of each serves all budgets."""

from __future__ import annotations

from benchmarks.arena.contests import Entrant
from benchmarks.arena.peers.tuners import METHODS

_TUNERS = "benchmarks.arena.peers.tuners"
PEER_ENTRANTS = (
    Entrant("optuna-tpe", f"{_TUNERS}:optuna(sampler='tpe')"),
    Entrant("optuna-gp", f"{_TUNERS}:optuna(sampler='gp')"),
    *(Entrant(method, f"{_TUNERS}:peer(method={method!r})") for method in METHODS),
)
