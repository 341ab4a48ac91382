"""Results as a short table in a terminal, one line a strategy and table."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.lean.measures import EARLY, figures, goods, units
from benchmarks.papers.results import Results
from benchmarks.papers.words import number, percent


def explored(results: Results) -> str:
    """Dollars to each target with the interval of the hardest, arrivals, broken limits, seconds an ask."""
    blocks = []
    for group in dict.fromkeys(place[0] for place in results.runs):
        targets = goods(group)
        head = [group, "table", *(f"$ to {name}" for name in targets), "95 %", "arrived", "ends inf."]
        rows = [[*head, f"inf. after {EARLY}", "s/ask", "seeds"]]
        for (_, setup, table, method), runs in ((p, r) for p, r in results.runs.items() if p[0] == group):
            found = figures(runs, targets, unit=units(results.groups[group], table, method))
            last = found.last
            rows.append(
                [
                    f"{method}, {setup}" if setup else method,
                    table,
                    *(number(one.value) for one in found.dollars.values()),
                    f"{number(last.low)}-{number(last.high)}",
                    percent(last.share),
                    str(found.infeasible_ends),
                    percent(found.infeasible_late),
                    number(found.ask),
                    str(found.seeds),
                ]
            )
        blocks.append(aligned(rows))
    return "\n\n".join(blocks)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
