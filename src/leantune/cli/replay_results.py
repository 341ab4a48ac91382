"""How replays read: a table and a comparison as lines, as JSON and as a CSV.

What is infinite (never arrived) or unknown is null in JSON and empty in a CSV.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from leantune.cli.command import Json, encoded, picked
from leantune.cli.terminal import aligned
from leantune.lab.replay.calibration import Calibration
from leantune.lab.replay.pool import Task
from leantune.lab.replay.runs import Row
from leantune.lab.replay.summary import Arrivals, Regret, Summary
from leantune.lab.replay.tables import MeasuredTable
from leantune.lab.replay.truth import Truth, facts
from leantune.problem import At, Direction, Fidelity, Problem
from leantune.text import (
    at_full,
    counted,
    duration,
    goal_words,
    percent,
    quantity,
    share_of_data,
    significant,
    usd,
)


def answer_place(at: At, fidelity: Fidelity) -> str:
    """Where the answers of a problem lie, in words."""
    return f"at any share of the {fidelity}" if at is At.ANYWHERE else at_full(fidelity)


def facts_lines(table: MeasuredTable, facts: Mapping[str, object]) -> list[str]:
    """The facts of a table as lines."""
    metric, best, cost = table.problem.goal.metric, facts["best"], facts["best_cost"]
    rows = [(name.replace("_", " "), str(facts[name])) for name in ("rows", "configurations", "feasible")]
    rows.append(("within 5 % of the best", str(facts["near_optimal"])))
    if isinstance(best, float):
        price = f" for {usd(cost)}" if isinstance(cost, float) and metric != "cost" else ""
        share = share_of_data(Fraction(str(facts["best_fraction"])), table.problem.fidelity)
        rows.append(("best", f"{metric} {quantity(metric, best)}{price}, on {share}"))
        chosen = facts["best_configuration"]
        assert isinstance(chosen, Mapping)
        rows.append(("", ", ".join(f"{name} = {value}" for name, value in _flat(chosen).items())))
    return [*table_lines(table), *aligned(rows)]


def table_lines(table: MeasuredTable) -> list[str]:
    """Which table and problem, and remarks about the file."""
    named = f", problem {table.problem_name}" if table.problem_name else ""
    at = (
        "" if len(table.problem.fractions) == 1 else f" ({answer_place(table.problem.goal.at, table.problem.fidelity)})"
    )
    return [
        f"Table {table.name}{named}: {goal_words(table.problem)}{at}",
        *(f"  note: {remark.text}" for remark in table.remarks),
    ]


# -- the summary


def summary_lines(problem: Problem, summaries: Iterable[Summary]) -> list[str]:
    """A block of lines for each strategy."""
    lines = []
    for summary in summaries:
        head = f"{counted(summary.seeds, 'seed')}, {significant(summary.tests, 3)} tests each"
        money = f" for {usd(summary.dollars)}" if summary.dollars > 0 else ""
        rows = [(_level_words(problem, arrived), _arrival_words(arrived)) for arrived in summary.arrivals]
        close = f"{percent(summary.within_5)} within 5 % of the best, {percent(summary.within_1)} within 1 %"
        end = f"{percent(summary.feasible)} of the seeds feasible, {percent(summary.tested)} tested, {close}"
        rows += [("at the end", end), *map(_regret_words, summary.regrets), ("a test", _test_words(problem, summary))]
        lines += [f"{summary.strategy}: {head}{money}", *aligned(rows)]
    return lines


def _regret_words(regret: Regret) -> tuple[str, str]:
    at = "at the end" if regret.dollars is None else f"at {usd(regret.dollars)}"
    if not math.isfinite(regret.mean):
        return f"regret {at}", "unknown"
    amounts = [significant(amount, 3) for amount in (regret.mean, regret.median, regret.worst)]
    return f"regret {at}", "{} on average, median {}, worst {}".format(*amounts)


def calibration_lines(problem: Problem, calibrations: Iterable[Calibration]) -> list[str]:
    """Predictions for recommendations that were not tested on all the data, and the truth."""
    lines = []
    for belief in calibrations:
        if not belief.cases:
            lines.append(f"{belief.strategy} predicted nothing of what it recommended")
            continue
        within = (
            f"{percent(belief.within_1)} within 1 sd, {percent(belief.within_2)} within 2 sd (a normal: 68 %, 95 %)"
        )
        square = f"{significant(belief.square, 3)}, {significant(belief.capped_square, 3)} where each is capped at 9"
        rows = [("the goal", within), ("mean z²", square), ("log density", significant(belief.log_density, 3))]
        for decile in belief.deciles:
            held = f"said {decile.said:.2f}, held {decile.held:.2f} in {counted(decile.count, 'case')}"
            rows += [(f"limits, P {decile.low:.1f} to {decile.high:.1f}", held)] if decile.count else []
        rows += [("limits, off by", f"{belief.limits_off:.3f} on average")] if belief.limits else []
        what = counted(belief.cases, "recommendation")
        lines += [f"{belief.strategy}, {what} before they were tested on all the {problem.fidelity}:", *aligned(rows)]
    return lines


def _level_words(problem: Problem, arrived: Arrivals) -> str:
    if problem.goal.direction is Direction.MAXIMIZE:
        return f"{percent(arrived.level)} of the best"
    full = f" {at_full(problem.fidelity)}" if arrived.full else ""
    return f"{arrived.level:g} x the best{full}"


def _arrival_words(arrived: Arrivals) -> str:
    dollars = arrived.dollars
    reached = f"{dollars.finite} of {counted(dollars.count, 'seed')}"
    if not dollars.finite:
        return f"{reached}; never"
    if not math.isfinite(dollars.value):
        return f"{reached}; median never"
    high = usd(dollars.high) if math.isfinite(dollars.high) else "never"
    money = f"{usd(dollars.value)} ({usd(dollars.low)} to {high}), " if dollars.value > 0 else ""
    spent = f"{money}{duration(arrived.seconds.value)} of training, test {significant(arrived.tests.value, 3)}"
    return f"{reached}; median {spent}"


def _test_words(problem: Problem, summary: Summary) -> str:
    parts = [f"{usd(summary.dollars_per_test)} on average"] if summary.dollars_per_test > 0 else []
    if math.isfinite(summary.share_of_data):
        parts.append(f"on {percent(summary.share_of_data)} of the {problem.fidelity} after the start")
        parts.append(f"chosen in {duration(summary.ask_seconds)}")
    return ", ".join(parts) or "none after the start"


def comparison_json(table: MeasuredTable, rule: str, summaries: Sequence[Summary], rows: Iterable[Json]) -> Json:
    """{table, problem: {name, goal: {metric, direction, at}, limits}, remarks, facts, incumbent, summary: [{strategy,
    seeds, tests, dollars, arrivals: [{level, full, dollars, seconds, tests, thinking}], feasible, within_5, within_1,
    tested, regrets: [{dollars, mean, median, worst}], dollars_per_test, share_of_data, ask_seconds}], rows}, and with
    --calibration: calibration: [{strategy, cases, within_1, within_2, square, capped_square, log_density, limits,
    limits_off, deciles: [{low, high, count, said, held}]}].

    An arrival is {value, low, high, finite, count}: the median over seeds, its 95 % interval, and how many arrived. The
    first regret, with null for dollars, is at the end.
    """
    return {
        "table": table.name,
        "problem": {
            "name": table.problem_name,
            "goal": picked(table.problem.goal, "metric direction at"),
            "limits": [limit.text for limit in table.problem.constraints],
        },
        "remarks": [remark.text for remark in table.remarks],
        "facts": facts(table),
        "incumbent": rule,
        "summary": summaries,
        "rows": rows,
    }


# -- rows


def rows_json(truth: Truth, runs: Mapping[Task, Sequence[Row]], rule: str) -> Iterator[Json]:
    """[{strategy, seed, test, start, configuration, fraction, test_dollars, test_seconds, cut, dollars, seconds,
    ask_seconds, notes, recommendation: {configuration, fraction, sure, tested, predicted: {metric: {mean, sd}},
    probabilities: {limit: p}, modelled: {scale, mean, sd, truth}, feasible, metrics, accuracy_c, cno, cno_full,
    regret}}].

    dollars and seconds are sums up to this test; recommendation is null while there is none. Of it, sure to modelled
    are what the strategy believed, feasible to regret what is true. modelled: of the goal, on the scale on which it is
    modelled; null where no model predicted it. Goals to maximise have an accuracy_c, goals to minimise a cno (over the
    best of all fractions) and a cno_full (over the best at full data).
    """
    test = "test start configuration fraction test_dollars test_seconds cut dollars seconds ask_seconds notes"
    for task, rows in runs.items():
        for row in rows:
            yield {
                **picked(task, "strategy=settings.label seed"),
                **picked(row, test),
                "recommendation": _advice_json(truth, row, rule),
            }


def _advice_json(truth: Truth, row: Row, rule: str) -> Json | None:
    advice = row.advice.get(rule)
    if advice is None:
        return None
    minimise = truth.problem.goal.direction is Direction.MINIMIZE
    return {
        **picked(advice, "configuration fraction sure tested predicted probabilities modelled"),
        **picked(advice.verdict, "feasible metrics accuracy_c"),
        "cno": advice.verdict.ratio if minimise else None,
        "cno_full": advice.verdict.ratio_full if minimise else None,
        "regret": truth.regret(advice.verdict),
    }


def rows_csv(rows: Iterable[Json]) -> str:
    """The rows of `rows_json` as a CSV: what is nested has dots in its name, notes are one text."""
    flat = [_flat(row) for row in map(encoded, rows) if isinstance(row, Mapping)]
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
