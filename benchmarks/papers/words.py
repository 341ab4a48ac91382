"""Numbers for people, and tables in Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence

from leantune.lab.replay.arrivals import Median

INFINITE = "∞"
NOT_RUN = "not run"


def number(value: float) -> str:
    """Three significant digits, never an exponent."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return INFINITE if value > 0 else f"-{INFINITE}"
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"


def percent(share: float) -> str:
    """A share as a percentage."""
    return "–" if math.isnan(share) else f"{100 * share:.3g} %"


def times(found: Median) -> str:
    """How many times more the other spends, with the interval; infinite or 0 where one of both does not arrive."""
    if found.count == 0:
        return NOT_RUN
    if math.isnan(found.value):
        return "(neither arrives)"
    who = "the other" if math.isinf(found.value) else "" if found.value else "itself"
    note = f" ({who} never arrives in most seeds)" if who else ""
    return f"{number(found.value)}x [{number(found.low)}, {number(found.high)}]{note}"


def arrived(found: Median, unit: str = "$") -> str:
    """A median with its interval and how many seeds have a value at all."""
    if found.count == 0:
        return NOT_RUN
    who = f"{found.finite}/{found.count}"
    return f"{spread(found, unit)} ({who})" if math.isfinite(found.value) else f"never ({who} arrive)"


def spread(found: Median, unit: str = "") -> str:
    """A median with its interval."""
    if found.count == 0:
        return NOT_RUN
    before, after = ("$", "") if unit == "$" else ("", f" {unit}" if unit else "")
    return f"{before}{number(found.value)}{after} [{number(found.low)}, {number(found.high)}]"


def listed(names: Sequence[str]) -> str:
    """a, b and c."""
    if len(names) < 2:
        return names[0] if names else "none"
    return f"{', '.join(names[:-1])} and {names[-1]}"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table."""
    return "\n".join([_row(header), "|" + "---|" * len(header), *map(_row, rows)])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
