"""The figures of `recommend` for a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

LEAST = {"ratio_trees": 100.0, "ratio_botorch": 1.5, "ratio_optuna": 0.6}
MOST = {"trees_cea10_s": 0.1, "trees_nofilter_s": 0.6, "gp_cea10_s": 0.3, "gp_nofilter_s": 0.8}


def print_report(result: Mapping[str, object], console: Console | None = None) -> None:
    """Three tables: seconds and ratios beside what they should reach, scale, agreement."""
    console = console or Console()
    settings = result["settings"]
    assert isinstance(settings, Mapping)
    shown = ("data", "observations", "pairs", "threads", "cores", "load_average")
    console.print(", ".join(f"{name}: {settings[name]}" for name in shown))
    console.print(_headline(result))
    for name in ("scale", "agreement"):
        rows = result[name]
        assert isinstance(rows, Sequence)
        console.print(_listing(name, rows))


def _headline(result: Mapping[str, object]) -> Table:
    table = Table("figure", "reached", "to reach", title="one recommendation")
    for name, limit in (MOST | LEAST).items():
        value = result[name]
        sign = "<=" if name in MOST else ">="
        table.add_row(name, _text(value) if value is not None else "not measured", f"{sign} {limit:g}")
    return table


def _listing(title: str, rows: Sequence[Mapping[str, object]]) -> Table:
    table = Table(*(rows[0] if rows else ()), title=title)
    for row in rows:
        table.add_row(*(_text(value) for value in row.values()))
    return table


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {number}" for name, number in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)
