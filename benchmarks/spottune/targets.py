"""What this repository set itself to reach on spot machines, and whether it does."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from benchmarks.papers.targets import Target
from benchmarks.papers.verdicts import Measure
from benchmarks.papers.words import number, percent, spread
from benchmarks.spottune.claims import Evidence
from benchmarks.spottune.measures import gap, hit_rate
from benchmarks.spottune.policies import Policy, Rule
from benchmarks.spottune.results import Results

HALF = 0.5
SLOWER = 1.005  # of the time on demand: no slower, to half a per cent
RIVALS = ("tributary", "logistic", "hazard")


def targets(results: Results, evidence: Evidence) -> list[Target]:
    """All of them."""
    found = gap(results.of("volatile", "volatile"))
    closed = Target(
        "Share of the gap in dollars per kept step from no skill to the oracle that ours closes, volatile prices",
        "at least half",
        spread(found.closed) if found.known else "not run",
        found.closed.value >= HALF if found.known else None,
        Measure.of(found.closed) if found.known else None,
    )
    pace = Target(
        "Completion time (finished) over that on demand on the type with the cheapest steps there, volatile prices",
        "no slower: at most 1",
        f"{spread(found.time)}; until selected {spread(found.selected)}" if found.known else "not run",
        found.time.value <= SLOWER if found.known else None,
        Measure.of(found.time) if found.known else None,
    )
    return [closed, pace, _top_3(results), *(_brier(evidence.scores, rival) for rival in RIVALS)]


def _top_3(results: Results) -> Target:
    rates = [
        hit_rate(results.of(group, setup), Policy(Rule.OURS), 3)
        for group in ("volatile", "smooth", "capacity")
        for setup in results.setups(group)
    ]
    known = [rate for rate in rates if not math.isnan(rate)]
    return Target(
        "theta = 0.7, mcnt = 3: tunings of the recorded families whose best setting goes on, all pools",
        "100 %",
        percent(min(known)) if known else "not run",
        min(known) == 1.0 if known else None,
        Measure(min(known)) if known else None,
    )


def _brier(scores: Mapping[str, Mapping[str, Any]], rival: str) -> Target:
    text = f"Brier score of RevPred (corrected) against {rival}, the volatile pool's last quarter"
    if "revpred" not in scores or rival not in scores:
        return Target(text, "lower", "not run", None)
    ours, other = scores["revpred"]["pooled"]["brier"], scores[rival]["pooled"]["brier"]
    return Target(text, "lower", f"{number(ours)} against {number(other)}", ours < other, Measure(ours / other))
