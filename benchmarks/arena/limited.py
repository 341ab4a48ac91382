"""Tables that are made of other tables: the same measurements, another problem about them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import quantiles

from leantune.errors import InvalidInput
from leantune.files import digest
from leantune.lab.replay.pool import Source
from leantune.lab.replay.tables import MeasuredTable
from leantune.lab.replay.truth import Truth
from leantune.problem import COST, TIME, Problem


@dataclass(frozen=True)
class TimeLimited:
    """A table with a limit on seconds beside the one on dollars.

    The limit is the third quartile of the seconds, at full data, of the configurations that keep the limits so far, to
    three digits: a quarter of them is lost. (The median leaves a single one within 1 % of the best on both tables.)
    """

    source: Source

    @property
    def name(self) -> str:
        """As the table's own, and what was added."""
        return f"{self.source.name}, time"

    def load(self) -> MeasuredTable:
        """The table with one limit more."""
        table = self.source.load()
        problem, text = table.problem, f"time <= {time_limit(table)!r} s"
        limited = Problem(
            problem.space, problem.goal, [*problem.constraints, text], problem.fractions, snapshots=problem.snapshots
        )
        return replace(table, problem=limited, digest=digest([table.digest.encode(), text.encode()]))


def time_limit(table: MeasuredTable) -> float:
    """Third quartile, to three digits, of the seconds at full data of the configurations that keep the limits."""
    truth = Truth.of(table)
    known = [values for pair in table.measurements if pair[1] == 1 and (values := truth.values(pair)) is not None]
    kept = [values[TIME] for values in known if truth.feasible(values)]
    if not kept or any(limit.metric == TIME for limit in table.problem.constraints):
        hint = f"Give a table with a limit on {COST} that some configurations keep, and none on {TIME}"
        raise InvalidInput("no limit on seconds can be added", where=table.name, hint=hint)
    return float(f"{quantiles(kept, method='inclusive')[-1]:.3g}")
