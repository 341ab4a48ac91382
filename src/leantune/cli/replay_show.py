"""How replays read: lines for people, one JSON object and a flat CSV for programs, side by side to stay equal.

Keys of the JSON objects are promises, as in `show.py`. What is infinite (never arrived) or unknown is null in JSON and
empty in a CSV.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from leantune.cli.words import aligned, goal_words
from leantune.lab.replay.arrivals import Median
from leantune.lab.replay.runs import Row, Settings
from leantune.lab.replay.summary import Arrivals, Summary, finite
from leantune.lab.replay.tables import MeasuredTable
from leantune.lab.replay.tables.described import Description
from leantune.problem import Direction, Problem
from leantune.text import counted, duration, listed, percent, quantity, share_of_data, significant, usd

Json = dict[str, object]
Runs = Mapping[Settings, Mapping[int, Sequence[Row]]]  # the rows of each seed


@dataclass(frozen=True)
class Preset:
    """A shipped description; path: where its CSV is looked for."""

    name: str
    description: Description
    path: Path


# -- presets


def presets_lines(presets: Sequence[Preset]) -> list[str]:
    """The presets with their goals and limits, and where their files are missing."""
    lines = ["Tables that come with a description (or name a YAML of your own, docs/replay-tables.md):"]
    for preset in presets:
        lines.append(f"  {preset.name}")
        lines += aligned(((_flag(name), text) for name, text in _problem_texts(preset.description).items()), "    ")
        if not preset.path.is_file():
            lines.append(f"    no file {preset.path}")
    if not all(preset.path.is_file() for preset in presets):
        lines.append("Name the folder that holds the files with --data DIR (or LEANTUNE_DATA).")
    return lines


def presets_json(presets: Sequence[Preset]) -> Json:
    """{presets: [{name, problems: {name: {goal, direction, at, limits}}, file, there}]}; the main one has no name."""
    return {
        "presets": [
            {
                "name": preset.name,
                "problems": {
                    name: {
                        "goal": problem.goal.metric,
                        "direction": problem.goal.direction.value,
                        "at": problem.goal.at.value,
                        "limits": [limit.written for limit in problem.limits],
                    }
                    for name, problem in preset.description.problems.items()
                },
                "file": str(preset.path),
                "there": preset.path.is_file(),
            }
            for preset in presets
        ]
    }


def _flag(problem: str) -> str:
    return f"--problem {problem}" if problem else "main"


def _problem_texts(description: Description) -> dict[str, str]:
    texts = {}
    for name, problem in description.problems.items():
        limits = listed(limit.written for limit in problem.limits)
        goal = f"{problem.goal.direction.value} {problem.goal.metric}, at {problem.goal.at.value} data"
        texts[name] = f"{goal}, subject to {limits}" if limits else goal
    return {name: text.replace("anywhere data", "any share of the data") for name, text in texts.items()}


# -- facts


def facts_lines(table: MeasuredTable, facts: Mapping[str, object]) -> list[str]:
    """What is true of a table."""
    metric, best, cost = table.problem.goal.metric, facts["best"], facts["best_cost"]
    rows = [(name.replace("_", " "), str(facts[name])) for name in ("rows", "configurations", "feasible")]
    rows.append(("within 5 % of the best", str(facts["near_optimal"])))
    if isinstance(best, float):
        price = f" for {usd(cost)}" if isinstance(cost, float) and metric != "cost" else ""
        rows.append(
            (
                "best",
                f"{metric} {quantity(metric, best)}{price}, on {share_of_data(Fraction(str(facts['best_fraction'])))}",
            )
        )
        chosen = facts["best_configuration"]
        assert isinstance(chosen, Mapping)
        rows.append(("", ", ".join(f"{name} = {value}" for name, value in _flat(chosen).items())))
    return [*table_lines(table), *aligned(rows)]


def table_lines(table: MeasuredTable) -> list[str]:
    """Which table and problem, and what is odd about the file."""
    named = f", problem {table.problem_name}" if table.problem_name else ""
    at = "" if len(table.problem.fractions) == 1 else f" (at {table.problem.goal.at.value} data)"
    goal = goal_words(table.problem) + at.replace("anywhere data", "any share of the data")
    return [f"Table {table.name}{named}: {goal}", *(f"  note: {remark.text}" for remark in table.remarks)]


# -- the summary


def summary_lines(problem: Problem, summaries: Iterable[Summary]) -> list[str]:
    """One block a strategy."""
    lines = []
    for summary in summaries:
        head = f"{counted(summary.seeds, 'seed')}, {significant(summary.tests, 3)} tests each"
        money = f" for {usd(summary.dollars)}" if summary.dollars > 0 else ""
        rows = [(_level_words(problem, arrived), _arrival_words(arrived)) for arrived in summary.arrivals]
        rows += [("at the end", _end_words(summary)), ("a test", _test_words(summary))]
        lines += [f"{summary.strategy}: {head}{money}", *aligned(rows)]
    return lines


def _level_words(problem: Problem, arrived: Arrivals) -> str:
    if problem.goal.direction is Direction.MAXIMIZE:
        return f"{percent(arrived.level)} of the best"
    full = " at full data" if arrived.full else ""
    return f"{arrived.level:g} x the best{full}"


def _arrival_words(arrived: Arrivals) -> str:
    reached = f"{arrived.dollars.finite} of {counted(arrived.dollars.count, 'seed')}"
    if not arrived.dollars.finite:
        return f"{reached}; never"
    if not math.isfinite(arrived.dollars.value):
        return f"{reached}; median never"
    money = f"{_median_words(arrived.dollars)}, " if arrived.dollars.value > 0 else ""
    spent = f"{money}{duration(arrived.seconds.value)} of training, test {significant(arrived.tests.value, 3)}"
    return f"{reached}; median {spent}"


def _median_words(dollars: Median) -> str:
    high = usd(dollars.high) if math.isfinite(dollars.high) else "never"
    return f"{usd(dollars.value)} ({usd(dollars.low)} to {high})"


def _end_words(summary: Summary) -> str:
    close = f"{percent(summary.within_5)} within 5 % of the best, {percent(summary.within_1)} within 1 %"
    return f"{percent(summary.feasible)} of the seeds feasible, {close}"


def _test_words(summary: Summary) -> str:
    parts = [f"{usd(summary.dollars_per_test)} on average"] if summary.dollars_per_test > 0 else []
    if math.isfinite(summary.share_of_data):
        parts.append(f"on {percent(summary.share_of_data)} of the data after the start")
        parts.append(f"chosen in {duration(summary.ask_seconds)}")
    return ", ".join(parts) or "none after the start"


def comparison_json(
    table: MeasuredTable, facts: Json, rule: str, summaries: Iterable[Summary], rows: Sequence[Json]
) -> Json:
    """{table, problem: {name, goal: {metric, direction, at}, limits}, remarks, facts, incumbent, summary: [{strategy,
    seeds, tests, dollars, arrivals: [{level, full, dollars, seconds, tests, thinking}], feasible, within_5, within_1,
    dollars_per_test, share_of_data, ask_seconds}], rows}.

    An arrival is {value, low, high, finite, count}: the median over seeds, its 95 % interval, and how many arrived.
    """
    goal = table.problem.goal
    return {
        "table": table.name,
        "problem": {
            "name": table.problem_name,
            "goal": {"metric": goal.metric, "direction": goal.direction.value, "at": goal.at.value},
            "limits": [limit.text for limit in table.problem.constraints],
        },
        "remarks": [remark.text for remark in table.remarks],
        "facts": facts,
        "incumbent": rule,
        "summary": [summary.as_json() for summary in summaries],
        "rows": list(rows),
    }


# -- rows


def rows_json(problem: Problem, runs: Runs, rule: str) -> list[Json]:
    """[{strategy, seed, test, start, configuration, fraction, test_dollars, test_seconds, cut, dollars, seconds,
    ask_seconds, notes, recommendation: {configuration, fraction, sure, feasible, metrics, accuracy_c, cno, cno_full}}].

    dollars and seconds are sums up to this test; recommendation is null while there is none. Goals to maximise have an
    accuracy_c, goals to minimise a cno (over the best of all fractions) and a cno_full (over the best at full data).
    """
    return [
        {"strategy": settings.label, "seed": seed, **_row_json(problem, row, rule)}
        for settings, seeds in runs.items()
        for seed, rows in seeds.items()
        for row in rows
    ]


def _row_json(problem: Problem, row: Row, rule: str) -> Json:
    told = {name: finite(value) for name, value in row.as_json().items() if name != "advice"}
    advice = row.advice.get(rule)
    if advice is None:
        return {**told, "recommendation": None}
    verdict, minimise = advice.verdict, problem.goal.direction is Direction.MINIMIZE
    recommended = {
        "configuration": advice.configuration,
        "fraction": advice.fraction,
        "sure": advice.sure,
        "feasible": verdict.feasible,
        "metrics": verdict.metrics,
        "accuracy_c": verdict.accuracy_c,
        "cno": verdict.ratio if minimise else None,
        "cno_full": verdict.ratio_full if minimise else None,
    }
    return {**told, "recommendation": finite(recommended)}


def rows_csv(rows: Iterable[Json]) -> str:
    """The rows of `rows_json` as a CSV: what is nested has dots in its name, notes are one text."""
    flat = [_flat(row) for row in rows]
    names = list(dict.fromkeys(name for row in flat for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def _flat(values: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        elif isinstance(value, list | tuple):
            flat[f"{prefix}{name}"] = "; ".join(map(str, value))
        elif value is not None:
            flat[f"{prefix}{name}"] = value
    return flat
