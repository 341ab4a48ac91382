"""What `leantune replay` does: check everything, replay what is not kept yet, print the results.

What is infinite (never arrived) or unknown is null in JSON and empty in a CSV.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path

from leantune.cli.command import Answer, Json, encoded, picked
from leantune.cli.terminal import activity, aligned, interruptible, say, warn
from leantune.clock import Clock, RealClock
from leantune.errors import InvalidInput, StrategyError
from leantune.files import write_whole
from leantune.lab.replay.calibration import Calibration, calibrate
from leantune.lab.replay.contenders import contender, split_specs
from leantune.lab.replay.kept import Kept
from leantune.lab.replay.pool import Done, Source, Task, run_all
from leantune.lab.replay.runs import Row, Settings, check
from leantune.lab.replay.summary import Arrivals, Regret, Summary, summarise
from leantune.lab.replay.tables import MeasuredTable, default_data, preset_names, preset_text
from leantune.lab.replay.tables.description import Description, ProblemText, parse_description
from leantune.lab.replay.truth import Truth, facts
from leantune.problem import At, Direction, Fidelity, Problem
from leantune.strategies.registry import RECIPES
from leantune.text import (
    at_full,
    counted,
    duration,
    goal_words,
    listed,
    percent,
    quantity,
    share_of_data,
    significant,
    usd,
)

Runs = Mapping[Settings, Mapping[int, Sequence[Row]]]  # the rows of each seed


def presets(data: Path | None) -> Answer:
    """Say which tables are known by name, with their goals and limits, and whether their files are there.

    The main problem of a table has no name.
    """
    tables: list[Json] = []
    lines = ["Tables that come with a description (or name a YAML of your own, docs/replay-tables.md):"]
    for name in preset_names():
        description = parse_description(preset_text(name), f"preset {name}")
        file = (data or default_data()) / description.file
        problems = {
            problem: {
                **picked(described.goal, "goal=metric direction at"),
                "limits": [limit.written for limit in described.limits],
            }
            for problem, described in description.problems.items()
        }
        tables.append({"name": name, "problems": problems, "file": file, "there": file.is_file()})
        named = description.problems.items()
        flags = ((f"--problem {key}" if key else "main", _wanted(problem, description)) for key, problem in named)
        lines += [f"  {name}", *aligned(flags, "    "), *([] if file.is_file() else [f"    no file {file}"])]
    if not all(preset["there"] for preset in tables):
        lines.append("Name the folder that holds the files with --data DIR (or LEANTUNE_DATA).")
    return Answer({"presets": tables}, lines)


def _wanted(problem: ProblemText, description: Description) -> str:
    fidelity = problem.own.get("fidelity", description.fidelity)
    limits = listed(limit.written for limit in problem.limits)
    goal = f"{problem.goal.direction.value} {problem.goal.metric}, {_at(problem.goal.at, fidelity)}"
    return f"{goal}, subject to {limits}" if limits else goal


def _at(at: At, fidelity: Fidelity) -> str:
    return f"at any share of the {fidelity}" if at is At.ANYWHERE else at_full(fidelity)


def table_facts(source: Source) -> Answer:
    """Say what is true of a table."""
    table = source.load()
    return Answer(facts(table), facts_lines(table, facts(table)))


@dataclass(frozen=True)
class Evaluation:
    """How the runs are judged and what is said of them.

    rule: by which recommendations are judged. rows: a CSV file for every test. at_usd: dollars at which regrets are
    given, as written. calibration: whether beliefs are compared with the truth.
    """

    rule: str = "paper"
    rows: Path | None = None
    at_usd: str = ""
    calibration: bool = False

    @property
    def dollars(self) -> list[float]:
        """Of `at_usd`, ascending."""
        try:
            dollars = sorted(float(amount) for amount in self.at_usd.split(",") if self.at_usd)
        except ValueError:
            dollars = [math.nan]
        if not all(math.isfinite(amount) and amount > 0 for amount in dollars):
            hint = "Write dollars above 0, separated by commas: --at-usd 0.1,0.5"
            raise InvalidInput(f"{self.at_usd!r} is no list of dollars", where="--at-usd", hint=hint)
        return dollars


def compare(
    source: Source,
    strategies: str,
    common: Settings,
    seeds: Sequence[int],
    evaluation: Evaluation,
    results: Path,
    processes: int | None,
) -> Answer:
    """Replay every strategy with every seed and summarise; nothing is started before all of it is known to be right.

    common: the settings of all strategies. results: the folder where runs are kept.
    """
    dollars = evaluation.dollars
    table = source.load()
    _check_target(evaluation.rows)
    contestants = _contestants(source, table, strategies, common)
    tasks = {(settings, seed): Task(source, settings, seed) for settings in contestants for seed in seeds}
    kept, progress = Kept(results), ReplayProgress(len(tasks), RealClock())
    with activity("replay", len(tasks)) as tell, interruptible():

        def done(what: Done) -> None:
            progress.after(what)
            tell(progress.words, progress.count)

        try:
            rows_by_task = run_all([*tasks.values()], kept, processes=processes, done=done)
        except KeyboardInterrupt:
            say(f"{progress.count} of {counted(len(tasks), 'run')} are kept in {results}", err=True)
            raise
    if kept.damaged:
        warn(f"{counted(len(kept.damaged), 'kept result')} could not be read and ran again: {kept.damaged[0]}")
    runs = {settings: {seed: rows_by_task[tasks[settings, seed]] for seed in seeds} for settings in contestants}
    labelled = {settings.label: [*ran.values()] for settings, ran in runs.items()}
    truth, rule = Truth.of(table), evaluation.rule
    summaries = summarise(truth, labelled, rule, dollars)
    rows = [*rows_json(truth, runs, rule)]
    if evaluation.rows is not None:
        _write(evaluation.rows, rows_csv(rows))
    document = comparison_json(table, rule, summaries, rows)
    lines = [*table_lines(table), *summary_lines(table.problem, summaries)]
    if evaluation.calibration:
        document["calibration"] = calibrations = calibrate(table.problem, labelled, rule)
        lines += calibration_lines(table.problem, calibrations)
    return Answer(document, lines)


# -- what may be wrong


def _check_target(rows: Path | None) -> None:
    if rows is not None and not rows.absolute().parent.is_dir():
        raise InvalidInput("there is no such folder", where=str(rows.parent), hint="Correct --rows, or make it")
    if rows is not None and rows.is_dir():
        raise InvalidInput("this is a folder", where=str(rows), hint="Name a file: --rows rows.csv")


def _contestants(source: Source, table: MeasuredTable, strategies: str, common: Settings) -> list[Settings]:
    """The settings of each strategy, once all of them are known to be able to run."""
    if not strategies:
        hint = f"Give --strategies; these serve it: {', '.join(_serving(table.problem))}"
        raise StrategyError("no strategies to compare", where=table.name, hint=hint)
    chosen = [replace(common, strategy=spec) for spec in dict.fromkeys(split_specs(strategies))]
    for settings in chosen:
        contender(settings.strategy, settings.filter)
        try:
            check(table, settings)
        except StrategyError as error:
            raise StrategyError(error.what, where=error.where, hint=error.hint + _others(source)) from None
    return chosen


def _serving(problem: Problem) -> Iterator[str]:
    for name in RECIPES:
        with suppress(StrategyError):
            contender(name).tuner.check(problem)
            yield name


def _others(source: Source) -> str:
    """A word about the table's other problems."""
    text = preset_text(source.name) if source.name in preset_names() else Path(source.name).read_text(encoding="utf-8")
    names = [name for name in parse_description(text, source.name).problems if name != source.problem]
    ways = [f"--problem {name}" if name else "the main one, without --problem" for name in names]
    return f". The table has another problem: {', '.join(ways)}" if ways else ""


def _write(path: Path, text: str) -> None:
    """All of it or nothing."""
    try:
        write_whole(path, text)
    except OSError as error:
        hint = "Correct --rows; the results are kept, and the same command is quick"
        raise InvalidInput(f"the rows cannot be written: {error.strerror}", where=str(path), hint=hint) from None


class ReplayProgress:
    """How many runs are done, how many of them were kept from before, and how long the others will take."""

    def __init__(self, total: int, clock: Clock) -> None:
        self.total, self.reused, self.fresh, self.last = total, 0, 0, ""
        self._clock, self._began = clock, clock.now()

    def after(self, done: Done) -> None:
        """One run more; kept ones come first and take no time."""
        self.last = done.task.settings.label
        if done.fresh:
            self.fresh += 1
        else:
            self.reused, self._began = self.reused + 1, self._clock.now()

    @property
    def count(self) -> int:
        return self.reused + self.fresh

    @property
    def words(self) -> str:
        parts = [f"{self.count} of {counted(self.total, 'run')}"]
        parts += [f"{self.reused} found"] if self.reused else []
        parts += [f"{self.last} done"] if self.fresh else []
        if self.fresh and self.count < self.total:
            left = (self._clock.now() - self._began) / self.fresh * (self.total - self.count)
            parts.append(f"about {duration(left)} left")
        return ", ".join(parts)


# -- facts


def facts_lines(table: MeasuredTable, facts: Mapping[str, object]) -> list[str]:
    """What is true of a table."""
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
    """Which table and problem, and what is odd about the file."""
    named = f", problem {table.problem_name}" if table.problem_name else ""
    at = "" if len(table.problem.fractions) == 1 else f" ({_at(table.problem.goal.at, table.problem.fidelity)})"
    return [
        f"Table {table.name}{named}: {goal_words(table.problem)}{at}",
        *(f"  note: {remark.text}" for remark in table.remarks),
    ]


# -- the summary


def summary_lines(problem: Problem, summaries: Iterable[Summary]) -> list[str]:
    """One block a strategy."""
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
    """What was believed of recommendations that were not tested on all the data, and what was true."""
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


def rows_json(truth: Truth, runs: Runs, rule: str) -> Iterator[Json]:
    """[{strategy, seed, test, start, configuration, fraction, test_dollars, test_seconds, cut, dollars, seconds,
    ask_seconds, notes, recommendation: {configuration, fraction, sure, tested, predicted: {metric: {mean, sd}},
    probabilities: {limit: p}, modelled: {scale, mean, sd, truth}, feasible, metrics, accuracy_c, cno, cno_full,
    regret}}].

    dollars and seconds are sums up to this test; recommendation is null while there is none. Of it, sure to modelled
    are what the strategy believed, feasible to regret what is true. modelled: of the goal, on the scale on which it is
    modelled; null where no model predicted it. Goals to maximise have an accuracy_c, goals to minimise a cno (over the
    best of all fractions) and a cno_full (over the best at full data).
    """
    for settings, seeds in runs.items():
        for seed, rows in seeds.items():
            for row in rows:
                test = asdict(row)
                del test["advice"]
                yield {
                    "strategy": settings.label,
                    "seed": seed,
                    **test,
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
