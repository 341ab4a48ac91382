"""Numbers and texts as people read them.

`escaped` is for HTML, `plain` for texts inside figures: Plotly reads tags and entities, so that a name from outside
could otherwise become a link.
"""

import json
import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from fractions import Fraction
from html import escape

from leantune.history import Estimate
from leantune.problem import COST, TIME, Budget, Constraint, Fidelity, Problem
from leantune.space import Cluster, Configuration, Value

_REAL_DATES = (1e9, 4e9)  # seconds since 1970 of 2001 and 2096; what lies outside was told by a simulated clock
_LONGEST_NAME = 40
NBSP = "\u00a0"  # a number and its unit stay on one line
UNITS = ((1.0, "s", 120.0), (60.0, "min", 7200.0), (3600.0, "h", 172800.0), (86400.0, "days", math.inf))


def escaped(text: object) -> str:
    """Text for HTML, in content or between quotes."""
    return escape(str(text), quote=True)


def plain(text: object) -> str:
    """Text for a figure: what looks like a tag stays visible as text."""
    return escape(str(text), quote=False)


def script_json(data: object) -> str:
    """JSON inside a script element: nothing in it can end the element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def clipped(text: object, most: int = _LONGEST_NAME) -> str:
    """Text on one line of at most `most` characters."""
    line = " ".join(str(text).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def significant(value: float, digits: int = 4) -> str:
    """That many significant digits; never fewer digits than the whole part has, powers of ten only where it is tiny or
    huge.
    """
    size = abs(value)
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    if size < 1e-4 or size >= 1e9:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        trimmed = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{trimmed}e{int(exponent)}"
    return f"{value:,.0f}" if size >= 10**digits else f"{value:.{digits}g}"


def usd(value: float) -> str:
    """Dollars: cents, and three significant digits below a dollar; never rounded to nothing."""
    size = abs(value)
    if size == 0 or size >= 1:
        return f"${value:,.2f}"
    if size < 1e-6:
        return f"${significant(value, 2)}"
    decimals = max(2, 2 - math.floor(math.log10(size)))
    whole, _, cents = f"{value:.{decimals}f}".partition(".")
    return f"${whole}.{cents.rstrip('0').ljust(2, '0')}"


def duration(seconds: float) -> str:
    """Seconds in a suitable unit, such as 12 min."""
    if 0 < abs(seconds) < 1:
        return f"{significant(seconds * 1000, 3)}{NBSP}ms"
    size, unit = time_unit(seconds)
    return f"{significant(seconds / size, 3)}{NBSP}{unit}"


def time_unit(seconds: float) -> tuple[float, str]:
    """(seconds of one, name) of the unit that suits a number of seconds."""
    return next((size, unit) for size, unit, below in UNITS if abs(seconds) < below or below == math.inf)


def quantity(metric: str, value: float) -> str:
    """A value of the metric, with its unit where that is known."""
    if not math.isfinite(value):
        return "–"
    return usd(value) if metric == COST else duration(value) if metric == TIME else significant(value)


def estimated(metric: str, estimate: Estimate) -> str:
    """Mean ± sd; dollars and seconds share the unit of the mean."""
    if not math.isfinite(estimate.mean):
        return "–"
    if estimate.sd == 0 or not math.isfinite(estimate.sd):
        return quantity(metric, estimate.mean)
    size, unit = time_unit(estimate.mean) if metric == TIME else (1.0, "")
    mean, sd = estimate.mean / size, estimate.sd / size
    sign, tail = "$" if metric == COST else "", f"{NBSP}{unit}" if unit else ""
    decimals = max(1 - math.floor(math.log10(sd)), 2 if metric == COST else 0)
    if decimals <= 8 and abs(mean) < 1e6:
        return f"{sign}{mean:,.{decimals}f} ± {sign}{sd:,.{decimals}f}{tail}"
    return f"{sign}{significant(mean)} ± {sign}{significant(sd, 2)}{tail}"


def spread(metric: str, sd: float) -> str:
    """A standard deviation: two digits of it are enough."""
    size, unit = time_unit(sd) if metric == TIME else (1.0, "")
    return f"± {'$' if metric == COST else ''}{significant(sd / size, 2)}{f'{NBSP}{unit}' if unit else ''}"


def percent(share: float) -> str:
    """A share; only nothing is 0 % and only all is 100 %."""
    if 0 < share < 0.005:
        return f"under 1{NBSP}%"
    if 0.995 < share < 1:
        return f"over 99{NBSP}%"
    return f"{100 * share:.0f}{NBSP}%"


def certain(probability: float) -> str:
    """A probability that models give: they are never quite sure, even where rounding says so."""
    return percent(min(max(probability, 1e-9), 1 - 1e-9))


def share_of_data(fraction: Fraction, fidelity: Fidelity) -> str:
    """A share of the training data, or of its epochs."""
    return f"all {fidelity}" if fraction == 1 else f"{fraction} of the {fidelity}"


def at_full(fidelity: Fidelity) -> str:
    """Where a training counts: at its largest share."""
    return "at full data" if fidelity == "data" else "on all epochs"


def least_share(fidelity: Fidelity) -> str:
    """The smallest share that may be tested."""
    return "the least data" if fidelity == "data" else "the fewest epochs"


def limit_text(constraint: Constraint) -> str:
    """A limit as a person writes it."""
    sign = "≤" if constraint.upper else "≥"
    return f"{clipped(constraint.metric)} {sign}{NBSP}{quantity(constraint.metric, constraint.limit)}"


def goal_words(problem: Problem) -> str:
    """The goal and its limits, on one line."""
    goal = f"{problem.goal.direction.value} {problem.goal.metric}"
    limits = listed(limit_text(limit) for limit in problem.constraints)
    return f"{goal}, subject to {limits}" if limits else goal


def budget_words(budget: Budget) -> str:
    """The limits of a budget, such as $5.00 and 10 trials."""
    parts = [
        "" if budget.usd is None else usd(budget.usd),
        "" if budget.trials is None else counted(budget.trials, "trial"),
        "" if budget.hours is None else f"{budget.hours:g} h of training",
    ]
    return listed(part for part in parts if part) or "no limit"


def value_text(value: Value) -> str:
    """A parameter's value, rounded."""
    if isinstance(value, Cluster):
        return f"{value.nodes} × {value.type}"
    if isinstance(value, bool):
        return "true" if value else "false"
    return significant(value) if isinstance(value, float) else str(value)


def exact_text(value: Value) -> str:
    """A parameter's value, to be copied."""
    return repr(value) if isinstance(value, float) else value_text(value)


def described(configuration: Configuration) -> str:
    """A configuration on one line, its values rounded."""
    return ", ".join(f"{name} = {value_text(value)}" for name, value in configuration.items())


def listed(parts: Iterable[str]) -> str:
    """The parts as "a, b and c"."""
    *first, last = list(parts) or [""]
    return f"{', '.join(first)} and {last}" if first else last


def counted(count: int, what: str, plural: str = "") -> str:
    """1 trial, 2 trials, 1,234 trials."""
    return f"{count:,} {what if count == 1 else plural or what + 's'}"


def moment(time: float) -> str:
    """A date and time; nothing where the clock was a simulated one."""
    if not _REAL_DATES[0] <= time <= _REAL_DATES[1]:
        return ""
    return f"{datetime.fromtimestamp(time, UTC):%d %B %Y, %H:%M} UTC".removeprefix("0")


def period(start: float, end: float) -> str:
    """From one moment to another; the day once where it is one."""
    first, last = moment(start), moment(end)
    if not first or not last or first == last:
        return first or last
    day, _, clock = last.partition(", ")
    return f"{first.removesuffix(' UTC')} – {clock if first.startswith(day) else last}"


def setting_words(setting: Mapping[str, object]) -> str:
    """A setting such as lr=0.1 batch=64."""
    shown = {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in setting.items()}
    return " ".join(f"{name}={value}" for name, value in shown.items())
