"""What is true of a table, whatever a strategy finds in it: how many answers there are, and the best of them."""

from __future__ import annotations

from leantune.lab.replay.tables import MeasuredTable
from leantune.lab.replay.truth import Truth
from leantune.problem import Direction

NEAR = 0.95  # share of the best feasible value that counts as nearly optimal


def facts(table: MeasuredTable) -> dict[str, object]:
    """Plain JSON; judged on the measured values as they are, those of runs that were cut included."""
    problem, truth = table.problem, Truth.of(table)
    answers = [(pair, truth.values(pair)) for pair in truth.answers()]
    feasible = {
        pair: values[problem.goal.metric] for pair, values in answers if values is not None and truth.feasible(values)
    }
    by_fraction = {
        share: sum(fraction == share for _, fraction in feasible)
        for share in sorted({fraction for (_, fraction), _ in answers})
    }
    maximising = problem.goal.direction is Direction.MAXIMIZE
    by_id = {configuration.id: configuration for configuration in problem.space.grid()}
    best = (max if maximising else min)(feasible, key=lambda pair: feasible[pair], default=None)
    return {
        "table": table.name,
        "problem": table.problem_name,
        "rows": table.rows,
        "configurations": len(by_id),
        "feasible": len(feasible),
        "near_optimal": sum(truth.judge(pair).within(NEAR) for pair in feasible),
        "best": None if best is None else feasible[best],
        "best_cost": None if best is None else table.measurements[best].cost,
        "best_configuration": None if best is None else by_id[best[0]].as_json(),
        "best_fraction": None if best is None else str(best[1]),
        "feasible_by_fraction": {str(share): count for share, count in by_fraction.items()},
        "remarks": [remark.text for remark in table.remarks],
    }
