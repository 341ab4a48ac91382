"""What the commands about studies do: open, call `Study`, print, set the exit code."""

from __future__ import annotations

import hashlib
import json
import math
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from leantune.cli import show
from leantune.cli.command import Answer, ExitCode, Json, picked
from leantune.cli.terminal import Mode, say, warn
from leantune.cli.watching import status_of, watching
from leantune.cloud.catalog_tables import user_folder
from leantune.errors import InvalidInput, StudyOver
from leantune.files import write_whole
from leantune.jobfile import Job, load_job
from leantune.problem import Budget
from leantune.run.loop import End, Outcome
from leantune.space import Clusters, Space
from leantune.strategies.proposals import Recommendation
from leantune.study import Study
from leantune.study.definition import raised
from leantune.text import budget_words, listed

CODE_OF_OUTCOME = {
    Outcome.OVER: ExitCode.WELL,
    Outcome.ENOUGH: ExitCode.WELL,
    Outcome.FAILING: ExitCode.BAD_NEWS,
    Outcome.INTERRUPTED: ExitCode.INTERRUPTED,
}
OPTION = "--trust"
EXTENSION = 1.5  # times the budget, in the line that says how to extend a study


@dataclass(frozen=True)
class StudyTarget:
    """Which study is meant: that of a job file, or one by its store and name.

    trust: the SHA-256 of the store's text that the user accepts.
    """

    job: Path | None
    store: str | None = None
    study: str | None = None
    trust: str = ""

    def __post_init__(self) -> None:
        given = (self.job is not None, self.store is not None, self.study is not None)
        if given not in ((True, False, False), (False, True, True)):
            hint = "Give either a job file, or both --store URL and --study NAME"
            raise InvalidInput("which study is meant is not clear", where="command line", hint=hint)
        if self.trust and self.job is not None:
            hint = "Leave it out: a job file of your own needs no other word"
            raise InvalidInput("--trust is about a job that comes from a store", where="command line", hint=hint)

    def open(self, *, to_run: bool = False) -> Study:
        """The study. to_run: created if need be, once the job is known to fit this place."""
        if self.job is None:
            return Study.open(self.store or "", self.study or "")
        job = load_job(self.job)
        return Study.from_job(warned(job) if to_run else job, create=to_run)

    def open_here(self, *, to_run: bool = False) -> Study:
        """The study, to start its program here: a command that comes from a store must have been accepted."""
        study = self.open(to_run=to_run)
        try:
            own = None if self.job is None else load_job(self.job)
            if own is not None:
                accept_own(own)
            if own is None or sha_of(own) != sha_of(study.job):
                check_stored(study.job, self.trust)
        except BaseException:
            study.close()
            raise
        return study

    def arguments(self, study: Study) -> str:
        """The options that name the study on a command line; never with a password."""
        if self.job is not None:
            return shlex.quote(str(self.job))
        return f"--store {shlex.quote(study.url)} --study {shlex.quote(study.name)}"


def warned(job: Job) -> Job:
    """The job, after a warning about what looks like a mistake in it."""
    for text in job.warnings:
        warn(text)
    return job


def named_trials(words: Sequence[str], store: str | None, study: str | None) -> tuple[StudyTarget, list[int]]:
    """The study and the trials that are meant: a job file, if one is named, then numbers."""
    numbers = [int(word) for word in words if word.isdecimal()]
    others = [word for word in words if not word.isdecimal()]
    if len(others) > 1:
        hint = "Name one job file, and trials by their numbers: job.yaml 3 7"
        raise InvalidInput(f"{others[1]!r} is no number of a trial", where="command line", hint=hint)
    return StudyTarget(Path(others[0]) if others else None, store, study), numbers


# -- run, worker


def dry_run(path: Path) -> Answer:
    """Say what a run would do first."""
    from leantune.study import forecast

    job = warned(load_job(path))
    return show.dry_run(job.name, f"{job.strategy}, seed {job.seed}", job.problem, forecast.dry_run(job))


def run(target: StudyTarget, mode: Mode) -> Answer:
    """Work on the job's study until it is over, and recommend."""
    with target.open_here(to_run=True) as study:
        return _work(study, target, mode)


def worker(target: StudyTarget, mode: Mode, parallel: int | None) -> Answer:
    """Join a study that exists."""
    with target.open_here() as study:
        return _work(study, target, mode, parallel, recommend=False)


def _work(
    study: Study, target: StudyTarget, mode: Mode, parallel: int | None = None, *, recommend: bool = True
) -> Answer:
    end = worked(study, mode, parallel)
    recommended, why_none = None, ""
    if recommend and end.outcome in (Outcome.OVER, Outcome.ENOUGH):
        recommended, why_none = _recommended(study)
    beside = None if recommended is None else study.comparison(recommended)
    kept = None if recommended is None else study.checkpoint(recommended)
    answer = show.ended(status_of(study), end, recommended, why_none, beside, kept, shown=mode is Mode.LIVE)
    lines = [*answer.lines, *_next_lines(study, target, end, recommended, recommend)]
    return replace(answer, lines=lines, code=ExitCode.NOTHING_YET if why_none else CODE_OF_OUTCOME[end.outcome])


def worked(study: Study, mode: Mode, parallel: int | None = None) -> End:
    """Run the loop, watched, until it ends or is ended."""
    try:
        with watching(study, mode) as watcher:
            return study.run(observer=watcher, ready=watcher.interrupts.ready, parallel=parallel)
    except KeyboardInterrupt:
        return End(Outcome.INTERRUPTED, "ended at once by the user; the same command goes on")


def _recommended(study: Study) -> tuple[Recommendation | None, str]:
    try:
        return study.recommendation(), ""
    except StudyOver as nothing:
        return None, nothing.what


def _next_lines(
    study: Study, target: StudyTarget, end: End, recommended: Recommendation | None, recommend: bool
) -> list[str]:
    """What to type next."""
    named = target.arguments(study)
    again = f"leantune {'run' if recommend and target.job else 'worker'} {named}"
    if end.outcome is Outcome.INTERRUPTED:
        return [f"Go on:   {again}"]
    if end.outcome is Outcome.FAILING:
        return [f"Logs:    {study.job.logs / study.name}", f"Go on:   {again}"]
    lines = [f"Verify:  leantune verify {named}"] if recommended else []
    lines += [f"Report:  leantune report {named}"]
    extension = _extension(study.store.budget())
    return [*lines, f"Extend:  leantune extend {named} {extension}"] if extension else lines


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
    """Show the state of a study."""
    with target.open() as study:
        return show.status(status_of(study), study.stop_reason, study.store.workers(), study.clock.now())


def recommend(target: StudyTarget) -> Answer:
    """Say which configuration to use."""
    with target.open() as study:
        recommended, name = study.recommendation(), study.name
        beside, fidelity = study.comparison(recommended), study.problem.fidelity
        kept = study.checkpoint(recommended)
    document = {"study": name, **show.recommendation_json(recommended, beside, kept)}
    return Answer(document, show.recommendation_lines(recommended, beside, fidelity, kept))


def verify(target: StudyTarget, mode: Mode, *, beyond_budget: bool) -> Answer:
    """Run the recommendation on all the data, and say whether the limits held."""
    with target.open_here() as study:
        allowed = study.store.budget().usd
        with watching(study, mode) as watcher:
            try:
                checked = study.verify(observer=watcher, ready=watcher.interrupts.ready, beyond_budget=beyond_budget)
            except StudyOver:
                if watcher.interrupts.count:
                    raise KeyboardInterrupt from None
                raise
        problem, name, kept = study.problem, study.name, study.checkpoint(checked.recommendation)
        if target.job is not None and problem.budget.usd != allowed:
            from leantune.jobfile.edit import with_budget

            # Else the next run would take the raised budget back.
            with_budget(target.job, Budget(usd=problem.budget.usd))
    return show.verification(name, problem, checked, kept)


# -- extend, report


def extend(target: StudyTarget, new: Budget) -> Answer:
    """Raise the budget, in the store and in the job file."""
    from leantune.jobfile.edit import with_budget

    with target.open() as study:
        raised(study.store.budget(), new)
        if target.job is not None:  # first: a file that is ahead of the store is taken over by the next run
            with_budget(target.job, new)
        budget = study.extend(new)
        name, named = study.name, target.arguments(study)
    command = "run" if target.job is not None else "worker"
    lines = [f"Study {name} may now use {budget_words(budget)}", f"Go on:   leantune {command} {named}"]
    return Answer({"study": name, "budget": budget}, lines)


def retry(target: StudyTarget, numbers: Sequence[int], *, failed: bool) -> Answer:
    """Queue failed trials again."""
    if bool(numbers) == failed:
        hint = "Give their numbers, or --failed for all that have failed"
        raise InvalidInput("which trials are meant is not clear", where="command line", hint=hint)
    with target.open() as study:
        queued = study.retry(*numbers, failed=failed)
        name, named = study.name, target.arguments(study)
    if not queued:
        return Answer({"study": name, "queued": []}, [f"Study {name}: no trial has failed"])
    command = "run" if target.job is not None else "worker"
    lines = [f"Study {name}: queued again: {trials_words(queued)}", f"Go on:   leantune {command} {named}"]
    return Answer({"study": name, "queued": queued}, lines)


def trials_words(numbers: Sequence[int]) -> str:
    """As in "trials 3, 4 and 7"."""
    return f"trial{'s' if len(numbers) > 1 else ''} {listed([str(number) for number in numbers])}"


def report(target: StudyTarget, output: Path | None, *, show_it: bool) -> Answer:
    """Write the report, and open it where that was asked for."""
    with target.open() as study:
        name = study.name
        try:
            path = study.report(output)
        except OSError as error:
            what = f"the report cannot be written: {error.strerror}"
            where = str(output or f"{name}-report.html")
            raise InvalidInput(what, where=where, hint="Name another file with --output") from None
    if show_it:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    document: Json = {"study": name, "report": path.resolve(), "bytes": path.stat().st_size}
    return Answer(document, [f"Report: {path}"])


def clean(target: StudyTarget, *, dry_run: bool) -> Answer:
    """Remove what a study that is over has left on this machine."""
    with target.open() as study:
        what, name = study.clean(dry_run=dry_run), study.name
    document: Json = {"study": name, "dry_run": dry_run, **picked(what, "removed=paths bytes kept")}
    would = "would be removed" if dry_run else "removed"
    lines = [f"{'Would remove' if dry_run else 'Removed'} {path}" for path in what.paths]
    lines.append(f"Study {name}: {what.bytes / 1e6:,.1f} MB {would}")
    lines += [f"Kept:    {what.kept}, the model of the recommendation"] if what.kept else []
    return Answer(document, lines)


# -- which commands this user lets a store start here: who may write to a shared database may change the job in it.
# What was accepted is a file for each text, named after its SHA-256, in `accepted` in the user's folder; deleting it
# takes the word back. A job file of the user's own is accepted by being run.


def accepted_folder() -> Path:
    """Where the texts lie that this user has accepted."""
    return user_folder() / "accepted"


def started_text(job: Job) -> str:
    """All of a job that says what is started and which files are written: its command, what may stand in the command's
    places besides numbers, the store's variables that it is given, the folders of logs and checkpoints.

    The same for every spelling of a job, whatever its budget, limits and ranges of numbers are.
    """
    document = {
        "train": job.command.template,
        "words": {name: words for name, words in _words(job.full_space).items() if words},
        "keep": sorted(job.run.environment.keep),
        "folders": [_relative(job.logs, job.folder), _relative(job.checkpoints.at, job.folder)],
    }
    return json.dumps(document, sort_keys=True)


def sha_of(job: Job) -> str:
    """The SHA-256 by which a job's text is accepted."""
    return hashlib.sha256(started_text(job).encode()).hexdigest()


def accept_own(job: Job) -> None:
    """The user runs a job file of their own. Where that cannot be kept, a worker with --store will ask."""
    with suppress(OSError):
        _keep(job)


def check_stored(job: Job, trusted: str) -> None:
    """Say what a store has this machine start; InvalidInput unless the user has accepted that text, or does so now.

    trusted: the SHA-256 given with --trust, or nothing.
    """
    sha, command = sha_of(job), shlex.join(job.command.template)
    say(f"command: {command}\nSHA-256: {sha}", err=True)
    if trusted and trusted.lower() != sha:
        what, hint = f"the store's text is not the one of {OPTION}", "Read the command again: somebody has changed it"
        raise InvalidInput(what, where=f"study {job.name!r}", hint=f"{hint}. To accept it: {OPTION} {sha}")
    if not trusted and not (accepted_folder() / sha).is_file():
        what = f"you have not accepted this command before: {command}"
        hint = f"It comes from the store and would run as you. Where it is what you want: {OPTION} {sha}"
        raise InvalidInput(what, where=f"study {job.name!r}", hint=hint)
    if trusted:
        try:
            _keep(job)
        except OSError as error:
            warn(f"that you accept it cannot be kept in {accepted_folder()}: {error.strerror}")


def _keep(job: Job) -> None:
    folder, sha = accepted_folder(), sha_of(job)
    if not (folder / sha).is_file():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(folder / sha, started_text(job) + "\n")


def _words(space: Space) -> dict[str, list[str]]:
    """What parameters that are no numbers may put into a command, whatever its order in the job file."""
    words = {}
    for name, parameter in space.parameters.items():
        options = parameter.as_json().get("options", [])
        assert isinstance(options, list)
        given = (
            {option.type for option in parameter.options} if isinstance(parameter, Clusters) else set(map(str, options))
        )
        words[name] = sorted(given)
    return words


def _relative(path: Path, folder: Path) -> str:
    """The same on every machine for a folder inside of the job's own."""
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)
