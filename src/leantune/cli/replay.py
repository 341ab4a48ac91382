"""What `leantune replay` does: check everything, replay what is not kept yet, print what came of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from leantune.cli import replay_show as show
from leantune.cli.exit_codes import ExitCode
from leantune.cli.failures import print_json, say, warn
from leantune.cli.interrupts import interruptible
from leantune.clock import Clock, RealClock
from leantune.errors import InvalidInput, StrategyError
from leantune.files import write_whole
from leantune.lab.replay.contenders import contender, split_specs
from leantune.lab.replay.facts import facts
from leantune.lab.replay.kept import Kept
from leantune.lab.replay.pool import Done, Source, Task, run_all
from leantune.lab.replay.runs import PAPER, Settings, check
from leantune.lab.replay.summary import summarise
from leantune.lab.replay.tables import MeasuredTable, default_data, preset_names, preset_text
from leantune.lab.replay.tables.description import parse_description
from leantune.lab.replay.truth import Truth
from leantune.problem import Problem
from leantune.strategies.registry import RECIPES
from leantune.text import counted, duration

DEFAULT_ITERATIONS = 44
QUIET_SECONDS = 10.0  # between plain lines about progress


@dataclass(frozen=True)
class Comparison:
    """What is compared: strategies as they were typed, how many seeds, how long, how many tests at once, how noisy."""

    source: Source
    strategies: str
    seeds: int
    filter: str = ""
    iterations: int | None = None
    budget_usd: float | None = None
    parallel: int = 1
    noise: float = 0.0

    def settings(self) -> list[Settings]:
        """One for each strategy; with a budget and no iterations, a run ends with its money."""
        iterations = DEFAULT_ITERATIONS if self.iterations is None and self.budget_usd is None else self.iterations
        specs = dict.fromkeys(split_specs(self.strategies))
        how = (self.filter, iterations, self.budget_usd, self.parallel, self.noise)
        return [Settings(spec, *how) for spec in specs]


@dataclass(frozen=True)
class Output:
    """By which rule recommendations are judged, and where results go."""

    rule: str = PAPER
    results: Path = Path("leantune-replay")
    rows: Path | None = None
    as_json: bool = False


def list_presets(data: Path | None, *, as_json: bool) -> ExitCode:
    """Say which tables are known by name, and whether their files are there."""
    presets = []
    for name in preset_names():
        description = parse_description(preset_text(name), f"preset {name}")
        presets.append(show.Preset(name, description, (data or default_data()) / description.file))
    if as_json:
        print_json(show.presets_json(presets))
    else:
        say("\n".join(show.presets_lines(presets)))
    return ExitCode.WELL


def tell_facts(source: Source, *, as_json: bool) -> ExitCode:
    """Say what is true of a table."""
    table = source.load()
    if as_json:
        print_json(facts(table))
    else:
        say("\n".join(show.facts_lines(table, facts(table))))
    return ExitCode.WELL


def compare(compared: Comparison, output: Output, processes: int | None) -> ExitCode:
    """Replay every strategy with every seed and summarise; nothing is started before all of it is known to be right."""
    table = compared.source.load()
    contestants, seeds = _checked(compared, output, table), range(compared.seeds)
    tasks = {(settings, seed): Task(compared.source, settings, seed) for settings in contestants for seed in seeds}
    kept = Kept(output.results)
    with _progress(len(tasks), output.results, RealClock()) as done, interruptible():
        found = run_all([*tasks.values()], kept, processes=processes, done=done)
    if kept.damaged:
        warn(f"{counted(len(kept.damaged), 'kept result')} could not be read and ran again: {kept.damaged[0]}")
    runs = {settings: {seed: found[tasks[settings, seed]] for seed in seeds} for settings in contestants}
    labelled = {settings.label: [*ran.values()] for settings, ran in runs.items()}
    summaries = summarise(Truth.of(table), labelled, output.rule)
    rows = show.rows_json(table.problem, runs, output.rule) if output.as_json or output.rows else []
    if output.rows:
        _write(output.rows, show.rows_csv(rows))
    if output.as_json:
        print_json(show.comparison_json(table, facts(table), output.rule, summaries, rows))
    else:
        say("\n".join([*show.table_lines(table), *show.summary_lines(table.problem, summaries)]))
    return ExitCode.WELL


# -- what may be wrong


def _checked(compared: Comparison, output: Output, table: MeasuredTable) -> list[Settings]:
    """The settings of each strategy, once all of them are known to be able to run."""
    if not compared.strategies:
        hint = f"Give --strategies; these serve it: {', '.join(_serving(table.problem))}"
        raise StrategyError("no strategies to compare", where=table.name, hint=hint)
    if output.rows is not None and not output.rows.absolute().parent.is_dir():
        raise InvalidInput("there is no such folder", where=str(output.rows.parent), hint="Correct --rows, or make it")
    if output.rows is not None and output.rows.is_dir():
        raise InvalidInput("this is a folder", where=str(output.rows), hint="Name a file: --rows rows.csv")
    chosen = compared.settings()
    for settings in chosen:
        contender(settings.strategy, settings.filter)
        try:
            check(table, settings)
        except StrategyError as error:
            raise StrategyError(error.what, where=error.where, hint=error.hint + _others(compared.source)) from None
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


# -- progress


class Progress:
    """How many runs are there, how many of them were found, and how long the others will take."""

    def __init__(self, total: int, clock: Clock) -> None:
        self.total, self.found, self.fresh, self.last = total, 0, 0, ""
        self._clock, self._began = clock, clock.now()

    def after(self, done: Done) -> None:
        """One more; found ones come first and take no time."""
        self.last = done.task.settings.label
        if done.fresh:
            self.fresh += 1
        else:
            self.found, self._began = self.found + 1, self._clock.now()

    @property
    def count(self) -> int:
        return self.found + self.fresh

    @property
    def words(self) -> str:
        parts = [f"{self.count} of {counted(self.total, 'run')}"]
        parts += [f"{self.found} found"] if self.found else []
        parts += [f"{self.last} done"] if self.fresh else []
        if self.fresh and self.count < self.total:
            left = (self._clock.now() - self._began) / self.fresh * (self.total - self.count)
            parts.append(f"about {duration(left)} left")
        return ", ".join(parts)


@contextmanager
def _progress(total: int, results: Path, clock: Clock) -> Iterator[Callable[[Done], None]]:
    """Within the block progress is shown on standard error; an interrupt is told what is kept."""
    progress = Progress(total, clock)
    drawn = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    try:
        with _bar(progress) if drawn else _plain_lines(progress, clock) as done:
            yield done
    except KeyboardInterrupt:
        say(f"{progress.count} of {counted(total, 'run')} are kept in {results}", err=True)
        raise


@contextmanager
def _plain_lines(progress: Progress, clock: Clock) -> Iterator[Callable[[Done], None]]:
    told = clock.now()

    def done(what: Done) -> None:
        nonlocal told
        progress.after(what)
        if progress.count == progress.total or clock.now() - told >= QUIET_SECONDS:
            told = clock.now()
            say(f"replay: {progress.words}", err=True)

    yield done


@contextmanager
def _bar(progress: Progress) -> Iterator[Callable[[Done], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (SpinnerColumn(), BarColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task(progress.words, total=progress.total)

        def done(what: Done) -> None:
            progress.after(what)
            bars.update(bar, completed=progress.count, description=progress.words)

        yield done
