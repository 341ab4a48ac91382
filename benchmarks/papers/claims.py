"""All claims of the papers."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.papers.claims_thesis import thesis_claims
from benchmarks.papers.claims_trimtuner import trimtuner_claims
from benchmarks.papers.inventory import Inventory
from benchmarks.papers.results import Results
from benchmarks.papers.verdicts import Claim, Verdict
from benchmarks.papers.words import listed


def claims(results: Results, inventory: Inventory) -> list[Claim]:
    """In the order of the papers."""
    return [*trimtuner_claims(results), *thesis_claims(results, inventory)]


def counted(found: Sequence[Claim]) -> str:
    """How many hold, hold in part, do not."""
    words = {
        Verdict.HOLDS: "hold",
        Verdict.IN_PART: "hold in part",
        Verdict.NOT: "do not hold",
        Verdict.NO_DATA: "have no data",
    }
    counts = {verdict: sum(claim.verdict is verdict for claim in found) for verdict in Verdict}
    told = [f"{count} {words[verdict]}" for verdict, count in counts.items() if count]
    return f"Of {len(found)} claims {listed(told)}."
