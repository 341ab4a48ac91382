"""What the tables themselves say: the papers' Tables I and II, and what sub-sampling saves in production."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.papers.inventory import CHEAPEST, Inventory
from leantune.lab.replay.truth import Truth, facts
from leantune.problem import COST

HIGH_ACCURACY = 0.85  # thesis, Table II


@dataclass(frozen=True)
class Production:
    """Dollars of the cheapest run that keeps the limits, at any share of the data and at full data."""

    share: str
    dollars: float
    dollars_full: float

    @property
    def saving(self) -> float:
        """Of the dollars at full data."""
        return 1.0 - self.dollars / self.dollars_full


def trimtuner_table_2(inventory: Inventory, table: str) -> tuple[int, int] | None:
    """Feasible at full data; of those, accuracy at least 95 % of the best."""
    if (table, "") not in inventory.tables:
        return None
    found = facts(inventory.tables[table, ""])
    return _int(found["feasible"]), _int(found["near_optimal"])


def thesis_table_1(inventory: Inventory, table: str) -> tuple[int, int] | None:
    """Feasible for cheapest anywhere: at all shares, at full data."""
    if (table, CHEAPEST) not in inventory.tables:
        return None
    by_share = feasible_by_share(inventory, table)
    return sum(by_share.values()), by_share["1"]


def thesis_table_2(inventory: Inventory, table: str) -> tuple[int, int] | None:
    """Feasible at full data; of those, accuracy at least 0.85."""
    found = inventory.tables.get((table, ""))
    if found is None:
        return None
    truth = Truth.of(found)
    verdicts = [truth.judge(pair) for pair in found.measurements if pair[1] == 1]
    accuracies = [one.metrics[found.problem.goal.metric] for one in verdicts if one.feasible]
    return len(accuracies), sum(accuracy >= HIGH_ACCURACY for accuracy in accuracies)


def feasible_by_share(inventory: Inventory, table: str) -> dict[str, int]:
    """How many configurations are feasible at each share, for cheapest anywhere."""
    found = facts(inventory.tables[table, CHEAPEST])["feasible_by_fraction"]
    assert isinstance(found, dict)
    return {str(share): int(count) for share, count in found.items()}


def production_savings(inventory: Inventory, table: str) -> Production | None:
    """The cheapest feasible run, with and without sub-sampling."""
    found = inventory.tables.get((table, CHEAPEST))
    if found is None:
        return None
    truth = Truth.of(found)
    feasible = {pair: one.metrics[COST] for pair in found.measurements if (one := truth.judge(pair)).feasible}
    best = min(feasible, key=lambda pair: feasible[pair])
    full = min(cost for (_, share), cost in feasible.items() if share == 1)
    return Production(str(best[1]), feasible[best], full)


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value
