"""What `leantune replay` does: check everything, replay what is not kept yet, answer with the results."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from leantune.cli.command import Answer, Json, picked
from leantune.cli.replay_results import (
    answer_place,
    calibration_lines,
    comparison_json,
    facts_lines,
    rows_csv,
    rows_json,
    summary_lines,
    table_lines,
)
from leantune.cli.terminal import activity, aligned, interruptible, say, warn
from leantune.clock import Clock, RealClock
from leantune.errors import InvalidInput, StrategyError
from leantune.files import write_whole
from leantune.lab.replay.calibration import calibrate
from leantune.lab.replay.contenders import contender, split_specs
from leantune.lab.replay.kept import Kept
from leantune.lab.replay.pool import Done, Source, Task, run_all
from leantune.lab.replay.runs import Settings, check
from leantune.lab.replay.summary import summarise
from leantune.lab.replay.tables import MeasuredTable, default_data, preset_names, preset_text
from leantune.lab.replay.tables.description import Description, ProblemText, parse_description
from leantune.lab.replay.truth import Truth, facts
from leantune.problem import Problem
from leantune.strategies.registry import RECIPES
from leantune.text import counted, duration, listed


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
        flags = [
            (f"--problem {key}" if key else "main", _problem_words(problem, description))
            for key, problem in description.problems.items()
        ]
        lines += [f"  {name}", *aligned(flags, "    "), *([] if file.is_file() else [f"    no file {file}"])]
    if not all(preset["there"] for preset in tables):
        lines.append("Name the folder that holds the files with --data DIR (or LEANTUNE_DATA).")
    return Answer({"presets": tables}, lines)


def _problem_words(problem: ProblemText, description: Description) -> str:
    fidelity = problem.own.get("fidelity", description.fidelity)
    limits = listed(limit.written for limit in problem.limits)
    goal = f"{problem.goal.direction.value} {problem.goal.metric}, {answer_place(problem.goal.at, fidelity)}"
    return f"{goal}, subject to {limits}" if limits else goal


def table_facts(source: Source) -> Answer:
    """What a table holds: rows, configurations, its best answer."""
    table = source.load()
    document = facts(table)
    return Answer(document, facts_lines(table, document))


@dataclass(frozen=True)
class Evaluation:
    """How the runs are judged and what is reported.

    rule: by which recommendations are judged. rows: a CSV file for every test. at_usd: dollars at which regrets are
    given, as written. calibration: whether beliefs are compared with the truth.
    """

    rule: str = "paper"
    rows: Path | None = None
    at_usd: str = ""
    calibration: bool = False

    @property
    def dollars(self) -> list[float]:
        """The dollars of `at_usd`, ascending."""
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
    """Replay every strategy with every seed and summarise; every setting is checked before the first run.

    common: the settings of all strategies. results: the folder where runs are kept.
    """
    dollars = evaluation.dollars
    table = source.load()
    _check_target(evaluation.rows)
    contestants = _contestants(source, table, strategies, common)
    tasks = [Task(source, settings, seed) for settings in contestants for seed in seeds]
    kept, progress = Kept(results), ReplayProgress(len(tasks), RealClock())
    with activity("replay", len(tasks)) as tell, interruptible():

        def done(what: Done) -> None:
            progress.after(what)
            tell(progress.words, progress.count)

        try:
            rows_by_task = run_all(tasks, kept, processes=processes, done=done)
        except KeyboardInterrupt:
            say(f"{progress.count} of {counted(len(tasks), 'run')} are kept in {results}", err=True)
            raise
    if kept.damaged:
        warn(f"{counted(len(kept.damaged), 'kept result')} could not be read and ran again: {kept.damaged[0]}")
    runs = {task: rows_by_task[task] for task in tasks}
    labelled = {settings.label: [runs[Task(source, settings, seed)] for seed in seeds] for settings in contestants}
    truth, rule = Truth.of(table), evaluation.rule
    summaries = summarise(truth, labelled, rule, dollars)
    rows = [*rows_json(truth, runs, rule)]
    if evaluation.rows is not None:
        _write_rows(evaluation.rows, rows_csv(rows))
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
    """The settings of each strategy, after a check that all of them can run."""
    if not strategies:
        hint = f"Give --strategies; these serve it: {', '.join(_usable_recipes(table.problem))}"
        raise StrategyError("no strategies to compare", where=table.name, hint=hint)
    chosen = [replace(common, strategy=spec) for spec in dict.fromkeys(split_specs(strategies))]
    for settings in chosen:
        contender(settings.strategy, settings.filter)
        try:
            check(table, settings)
        except StrategyError as error:
            raise StrategyError(error.what, where=error.where, hint=error.hint + _other_problems(source)) from None
    return chosen


def _usable_recipes(problem: Problem) -> Iterator[str]:
    for name in RECIPES:
        with suppress(StrategyError):
            contender(name).tuner.check(problem)
            yield name


def _other_problems(source: Source) -> str:
    """The end of a hint: which other problems the table has."""
    text = preset_text(source.name) if source.name in preset_names() else Path(source.name).read_text(encoding="utf-8")
    names = [name for name in parse_description(text, source.name).problems if name != source.problem]
    ways = [f"--problem {name}" if name else "the main one, without --problem" for name in names]
    return f". The table has another problem: {', '.join(ways)}" if ways else ""


def _write_rows(path: Path, text: str) -> None:
    """Write the CSV file, whole or not at all."""
    try:
        write_whole(path, text)
    except OSError as error:
        hint = "Correct --rows; the results are kept, and the same command is quick"
        raise InvalidInput(f"the rows cannot be written: {error.strerror}", where=str(path), hint=hint) from None


class ReplayProgress:
    """How many runs are done, how many of them are old, and how long the others will take."""

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
