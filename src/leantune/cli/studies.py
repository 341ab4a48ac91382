"""What the commands about studies do: open, call `leantune.study.launch`, print, and say how it went."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from leantune.cli import show
from leantune.cli.command import Answer, ExitCode, Json
from leantune.cli.terminal import Mode, warn
from leantune.cli.watching import status_of, watching
from leantune.errors import InvalidInput, StudyOver, UnknownStudy
from leantune.jobfile import Job, load_job
from leantune.problem import Budget
from leantune.run.loop import End, Outcome
from leantune.strategies.proposals import Recommendation
from leantune.study import launch
from leantune.study.definition import raised
from leantune.study.launch import OpenedStudy
from leantune.study.program import JobProgram
from leantune.text import budget_words

CODE_OF_OUTCOME = {
    Outcome.OVER: ExitCode.WELL,
    Outcome.ENOUGH: ExitCode.WELL,
    Outcome.FAILING: ExitCode.BAD_NEWS,
    Outcome.INTERRUPTED: ExitCode.INTERRUPTED,
}
EXTENSION = 1.5  # times the budget, in the line that says how to extend a study


@dataclass(frozen=True)
class StudyTarget:
    """Which study is meant: that of a job file, or one by its store and name."""

    job: Path | None
    store: str | None = None
    study: str | None = None

    def __post_init__(self) -> None:
        given = (self.job is not None, self.store is not None, self.study is not None)
        if given not in ((True, False, False), (False, True, True)):
            hint = "Give either a job file, or both --store URL and --study NAME"
            raise InvalidInput("which study is meant is not clear", where="command line", hint=hint)

    @contextmanager
    def opened(self, *, to_run: bool = False) -> Iterator[OpenedStudy]:
        """The study, while the block runs. to_run: created if need be, once the job is known to fit this place."""
        if self.job is None:
            opened = launch.open_stored(self.store or "", self.study or "")
        else:
            job = load_job(self.job)
            if to_run:
                JobProgram(warned(job)).check_place()
            opened = self._opened(job, create=to_run)
        with closing(opened):
            yield opened

    @staticmethod
    def _opened(job: Job, *, create: bool) -> OpenedStudy:
        """The study of a job file; where it was only ever run by `leantune spot run`, that one."""
        try:
            return launch.open_job(job, create=create)
        except UnknownStudy:
            other = None if create else launch.open_spottune(job)
            if other is None:
                raise
            return other

    def arguments(self, opened: OpenedStudy) -> str:
        """How the study is named on a command line; never with a password."""
        if self.job is not None:
            return shlex.quote(str(self.job))
        return f"--store {shlex.quote(opened.database.url)} --study {shlex.quote(opened.job.name)}"


def warned(job: Job) -> Job:
    """The job, with a word about what looks like a mistake in it."""
    for text in job.warnings:
        warn(text)
    return job


# -- run, worker


def dry_run(path: Path) -> Answer:
    """Say what a run would do first."""
    job = warned(load_job(path))
    return show.dry_run(job.name, f"{job.strategy}, seed {job.seed}", job.problem, launch.dry_run(job))


def run(target: StudyTarget, mode: Mode) -> Answer:
    """Work on the job's study until it is over, and recommend."""
    with target.opened(to_run=True) as opened:
        return _work(opened, target, mode, opened.job.run.parallel)


def worker(target: StudyTarget, mode: Mode, parallel: int | None) -> Answer:
    """Join a study that exists."""
    with target.opened() as opened:
        return _work(opened, target, mode, parallel or opened.job.run.parallel, recommend=False)


def _work(opened: OpenedStudy, target: StudyTarget, mode: Mode, parallel: int, *, recommend: bool = True) -> Answer:
    end = worked(opened, mode, parallel)
    recommended, why_none = None, ""
    if recommend and end.outcome in (Outcome.OVER, Outcome.ENOUGH):
        recommended, why_none = _recommended(opened)
    beside = None if recommended is None else opened.comparison(recommended)
    answer = show.ended(status_of(opened), end, recommended, why_none, beside, shown=mode is Mode.LIVE)
    lines = [*answer.lines, *_next_lines(opened, target, end, recommended, recommend)]
    return replace(answer, lines=lines, code=ExitCode.NOTHING_YET if why_none else CODE_OF_OUTCOME[end.outcome])


def worked(opened: OpenedStudy, mode: Mode, parallel: int) -> End:
    """Run the loop, watched, until it ends or is ended."""
    try:
        with watching(opened, mode, parallel) as watcher:
            return launch.run(opened, observer=watcher, ready=watcher.interrupts.ready, parallel=parallel)
    except KeyboardInterrupt:
        return End(Outcome.INTERRUPTED, "ended at once by the user; the same command goes on")


def _recommended(opened: OpenedStudy) -> tuple[Recommendation | None, str]:
    try:
        return opened.recommendation(), ""
    except StudyOver as nothing:
        return None, nothing.what


def _next_lines(
    opened: OpenedStudy, target: StudyTarget, end: End, recommended: Recommendation | None, recommend: bool
) -> list[str]:
    """What to type next."""
    study = target.arguments(opened)
    again = f"leantune {'run' if recommend and target.job else 'worker'} {study}"
    if end.outcome is Outcome.INTERRUPTED:
        return [f"Go on:   {again}"]
    if end.outcome is Outcome.FAILING:
        return [f"Logs:    {opened.job.logs / opened.job.name}", f"Go on:   {again}"]
    lines = [f"Verify:  leantune verify {study}"] if recommended else []
    lines += [f"Report:  leantune report {study}"]
    extension = _extension(opened.store.budget())
    return [*lines, f"Extend:  leantune extend {study} {extension}"] if extension else lines


def _extension(budget: Budget) -> str:
    """Options that raise each limit by half."""
    usd, trials, hours = budget.usd, budget.trials, budget.hours
    options = [
        "" if usd is None else f"--usd {usd * EXTENSION:.6g}",
        "" if trials is None else f"--trials {math.ceil(trials * EXTENSION)}",
        "" if hours is None else f"--hours {hours * EXTENSION:.6g}",
    ]
    return " ".join(option for option in options if option)


# -- status, recommend, verify


def status(target: StudyTarget) -> Answer:
    """Say how a study stands."""
    with target.opened() as opened:
        return show.status(status_of(opened), opened.stop_reason, opened.store.workers(), opened.clock.now())


def recommend(target: StudyTarget) -> Answer:
    """Say which configuration to use."""
    with target.opened() as opened:
        recommended, name = opened.recommendation(), opened.job.name
        beside, fidelity = opened.comparison(recommended), opened.problem.fidelity
    document = {"study": name, **show.recommendation_json(recommended, beside)}
    return Answer(document, show.recommendation_lines(recommended, beside, fidelity))


def verify(target: StudyTarget, mode: Mode, *, beyond_budget: bool) -> Answer:
    """Run the recommendation on all the data, and say whether the limits held."""
    with target.opened() as opened:
        allowed = opened.store.budget().usd
        with watching(opened, mode, opened.job.run.parallel) as watcher:
            try:
                checked = launch.verify(
                    opened, observer=watcher, ready=watcher.interrupts.ready, beyond_budget=beyond_budget
                )
            except StudyOver:
                if watcher.interrupts.count:
                    raise KeyboardInterrupt from None
                raise
        problem, name = opened.problem, opened.job.name
        if target.job is not None and problem.budget.usd != allowed:
            from leantune.jobfile.edit import with_budget

            # Else the next run would take the raised budget back.
            with_budget(target.job, Budget(usd=problem.budget.usd))
    return show.verification(name, problem, checked)


# -- extend, report


def extend(target: StudyTarget, new: Budget) -> Answer:
    """Raise the budget, in the store and in the job file."""
    from leantune.jobfile.edit import with_budget

    with target.opened() as opened:
        raised(opened.store.budget(), new)
        if target.job is not None:  # first: a file that is ahead of the store is taken over by the next run
            with_budget(target.job, new)
        budget = launch.extend(opened, new)
        name, study = opened.job.name, target.arguments(opened)
    command = "run" if target.job is not None else "worker"
    lines = [f"Study {name} may now use {budget_words(budget)}", f"Go on:   leantune {command} {study}"]
    return Answer({"study": name, "budget": budget}, lines)


def report(target: StudyTarget, output: Path | None, *, show_it: bool) -> Answer:
    """Write the report, and open it where that was asked for."""
    from leantune.report.data import view_of
    from leantune.report.page import write_report

    with target.opened() as opened:
        view = view_of(opened)
    path = output or Path(f"{view.name}-report.html")
    try:
        write_report(view, path)
    except OSError as error:
        raise InvalidInput(
            f"the report cannot be written: {error.strerror}", where=str(path), hint="Name another file with --output"
        ) from None
    if show_it:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    document: Json = {"study": view.name, "report": path.resolve(), "bytes": path.stat().st_size}
    return Answer(document, [f"Report: {path}"])
