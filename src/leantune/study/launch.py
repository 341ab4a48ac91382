"""A job file at work: its study opened, run, verified, extended. What the commands do, without the printing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from leantune.clock import Clock, RealClock
from leantune.errors import InvalidInput, StudyOver, UnknownStudy
from leantune.executors.registry import is_available
from leantune.history import History, Note, NoteKind, Observation, Trial, TrialKind, TrialState
from leantune.jobfile import Job, parse_job
from leantune.jobfile.job import read_text
from leantune.jobfile.tree import read_tree
from leantune.problem import At, Budget, Problem
from leantune.run.events import Observer, nobody
from leantune.run.ledger import TimeRules
from leantune.run.loop import End, Loop, Outcome
from leantune.space import Configuration
from leantune.store.database import Database
from leantune.store.rows import Money
from leantune.store.study import StudyStore
from leantune.strategies.baseline import Comparison, compared, next_test
from leantune.strategies.proposals import Proposal, Recommendation
from leantune.strategies.recommending import required
from leantune.strategies.tuner import Tuner, View
from leantune.study.definition import document_of, kept_open, open_or_create, open_unchanged, raised
from leantune.study.program import JobProgram

if TYPE_CHECKING:
    from leantune.jobfile.edit import SpotTuneOptions
    from leantune.strategies.spottune import RankedTrial

FIRST_PROPOSALS = 3  # shown by a dry run


@dataclass(frozen=True)
class OpenedStudy:
    """A study in its store, with the job that defines it."""

    program: JobProgram
    database: Database
    store: StudyStore
    clock: Clock

    @property
    def job(self) -> Job:
        """The job that defines the study."""
        return self.program.job

    @property
    def strategy(self) -> Tuner:
        """The strategy that the job names."""
        return self.program.tuner

    @property
    def problem(self) -> Problem:
        """The job's problem with the budget that is in force."""
        return self.job.problem.with_budget(self.store.budget())

    @property
    def history(self) -> History:
        """All trials so far."""
        return self.store.history()

    @property
    def stop_reason(self) -> str | None:
        """Why the study is over, or None while it is not, or a trial is still to end."""
        unfinished = (TrialState.QUEUED, TrialState.RUNNING, TrialState.PAUSED)
        if any(trial.state in unfinished for trial in self.history.trials):
            return None
        return self.strategy.stop_reason(self._view(self.history))

    def recommendation(self) -> Recommendation:
        """The configuration to use, by what is known now; StudyOver while nothing is.

        While nothing has been tested since a run verified a recommendation, that one stands: one more result would
        shift the models a little, and the advice to something nobody has seen.
        """
        history, verified = self.history, self.standing_verification()
        if verified is not None:
            before = History(history.trials[: verified.number])
            advice = self.strategy.recommend(self._view(before))
            if advice is not None and advice.configuration == verified.configuration:
                why = f"{advice.why} Trial {verified.number} has verified it since."
                return replace(advice, feasible=True, tested=True, why=why)
        return required(self.strategy.recommend(self._view(history)))

    def _view(self, history: History) -> View:
        problem = self.problem
        if not self.strategy.judges:
            return View(problem, history, self.job.seed)
        from leantune.run.curves import learning_curves

        return View(problem, history, self.job.seed, learning_curves(self.store, problem))

    def comparison(self, advice: Recommendation) -> Comparison | None:
        """A recommendation beside the user's present setting; None where the job file gives none."""
        return compared(self.problem, self.history, advice.configuration, advice.fraction, advice.metrics)

    def ranking(self) -> tuple[RankedTrial, ...]:
        """SpotTune's settings, best first; of other strategies nothing."""
        from leantune.strategies.spottune import SpotTune

        strategy = self.strategy
        return strategy.ranking(self._view(self.history)) if isinstance(strategy, SpotTune) else ()

    def standing_verification(self) -> Trial | None:
        """The latest trial of all, if it verified a recommendation and kept the limits."""
        latest = (trial for trial in self.history.trials[-1:] if trial.verifies and trial.state is TrialState.DONE)
        return next((trial for trial in latest if all(check.held for check in self.limit_checks(trial))), None)

    def limit_checks(self, trial: Trial) -> tuple[LimitCheck, ...]:
        """Which limits a trial that came through has kept."""
        values = [(limit, trial.observations[-1].value(limit.metric)) for limit in self.problem.constraints]
        return tuple(LimitCheck(limit.text, value, limit.holds(value)) for limit, value in values)

    def verification(self) -> Trial | None:
        """The latest finished run that was to verify a recommendation."""
        runs = (trial for trial in reversed(self.history.trials) if trial.verifies)
        return next((trial for trial in runs if not trial.pending), None)

    def close(self) -> None:
        """Let go of the database."""
        self.database.close()


@dataclass(frozen=True)
class Forecast:
    """A proposal before it is made: its time limit and the dollars that would be reserved for it (None: no prices)."""

    proposal: Proposal
    time_limit: float | None
    worst_case_usd: float | None


@dataclass(frozen=True)
class DryRun:
    """What a run would do. size: combinations in the space, None when infinite. pairs: with each share of the data.

    over: why nothing would follow the first proposals, empty where something would.
    """

    size: int | None
    pairs: int | None
    first: tuple[Forecast, ...]
    resumes: int  # trials that the store already holds
    budget: Budget
    rules: TimeRules
    over: str = ""


@dataclass(frozen=True)
class LimitCheck:
    """A limit, what the verifying run measured, and whether it held."""

    text: str
    value: float
    held: bool


@dataclass(frozen=True)
class Verification:
    """One full-data run of the recommendation, and whether the limits held; failed: why it brought no result."""

    recommendation: Recommendation
    trial: Trial
    measured: Observation | None
    limits: tuple[LimitCheck, ...]
    failed: str = ""

    @property
    def held(self) -> bool:
        """Whether the run came through and kept every limit."""
        return not self.failed and all(limit.held for limit in self.limits)


def open_job(job: Job, *, create: bool = True, clock: Clock | None = None) -> OpenedStudy:
    """The job's study in its store, created if need be, with the job's budget.

    create=False: as it is, with the budget in force, and nothing is written; UnknownStudy when it was never run.
    """
    clock, document = clock or RealClock(), document_of(job)
    if not create and not Database.exists(job.store):
        raise _never_run(job.name, job.store)
    with kept_open(job.store) as database:
        row = database.find(job.name)
        if row is None and not create:
            raise _never_run(job.name, database.url)
        if row is None or create:
            store = open_or_create(database, job.name, job.problem, document, job.text, clock)
        else:
            store = open_unchanged(database, row, job.problem, document)
    return OpenedStudy(JobProgram(job), database, store, clock)


def load_spottune(path: Path, options: SpotTuneOptions) -> Job:
    """The job that `leantune spot run` makes of a job file."""
    from leantune.jobfile.edit import as_spottune

    own = read_text(path)
    text = as_spottune(own, options, str(path))
    return parse_job(text, folder=path.absolute().parent, source=str(path), lines=read_tree(own, str(path)).lines())


def open_spottune(job: Job, clock: Clock | None = None) -> OpenedStudy | None:
    """The study that `leantune spot run` made of a job file, if there is one and none of the file itself."""
    if not Database.exists(job.store):
        return None
    with Database(job.store) as database:
        names = {row.name for row in database.studies()}
    from leantune.jobfile.edit import spottune_name

    other = spottune_name(job.name)
    return open_stored(job.store, other, folder=job.folder, clock=clock) if other in names - {job.name} else None


def _never_run(name: str, where: str) -> UnknownStudy:
    return UnknownStudy(f"study {name!r} was never run", where=where, hint="Start it with leantune run")


def open_stored(url: str, name: str, *, folder: Path | None = None, clock: Clock | None = None) -> OpenedStudy:
    """A study by its store and name; its job file is the one kept in the store, its programs start in `folder`."""
    if not Database.exists(url):
        raise UnknownStudy("there is no such store", where=url, hint="Give the address that the job file gives")
    with kept_open(url) as database:
        row = database.find(name)
        if row is None:
            names = ", ".join(study.name for study in database.studies()) or "none"
            raise UnknownStudy(f"there is no study {name!r}", where=database.url, hint=f"It holds: {names}")
        if not row.job:
            raise InvalidInput(
                f"study {name!r} was made by a Python program", where=database.url, hint="Go on with that program"
            )
        written = parse_job(row.job, folder=folder or Path.cwd(), source=f"the job file of study {name!r}")
        job = replace(written, store=url, problem=written.problem.with_budget(row.budget))
        store = database.open(name, job.problem.space)
    return OpenedStudy(JobProgram(job), database, store, clock or RealClock())


def run(
    opened: OpenedStudy,
    *,
    observer: Observer = nobody,
    ready: Callable[[Loop], None] = lambda _loop: None,
    parallel: int | None = None,
    only: int | None = None,
) -> End:
    """Work on the study until it is over, or trial `only` has run.

    ready: is given the loop before it starts, to be able to interrupt it. parallel: runs at once on this worker, where
    it is not the job's.
    """
    program = opened.program
    program.check_place()
    settings = program.loop_settings(opened.problem, opened.strategy, opened.job.seed)
    if parallel is not None:
        settings = replace(settings, rules=replace(settings.rules, parallel=parallel))
    loop = Loop(opened.store, settings, program.executor(opened.store, opened.clock), opened.clock, observer)
    ready(loop)
    # Compiled while the first programs run: on a new machine that takes seconds. A daemon, so that it delays no end.
    Thread(target=opened.strategy.prepare, name="leantune-prepare", daemon=True).start()
    return loop.run(only=only)


def dry_run(job: Job) -> DryRun:
    """What a run would do first and what that may cost; nothing is created and nothing is started."""
    program = JobProgram(job)
    if is_available(job.run.on):  # one may look at a job for another place
        program.check_place()
    history, problem = _stored_history(job), job.problem
    strategy, rules = program.tuner, program.rules
    money, foreseen = Money(problem.budget.usd, history.cost, 0.0), history
    forecasts: list[Forecast] = []

    def affordable(test: Proposal) -> bool:
        return rules.affords(test.configuration, money)

    while len(forecasts) < FIRST_PROPOSALS:
        proposal = next_test(strategy, View(problem, foreseen, job.seed), affordable)
        if not isinstance(proposal, Proposal):
            over = proposal.why
            break
        rate = rules.rate(proposal.configuration)
        limit = rules.first_limit(rate, dict(proposal.expected), money, proposal.useful_seconds)
        worst = None if rate is None or limit is None else rules.worst_case(rate, limit)
        forecasts.append(Forecast(proposal, limit, worst))
        foreseen, _ = foreseen.propose(proposal.configuration, proposal.fraction, proposal.snapshots)
    else:
        over = strategy.stop_reason(View(problem, foreseen, job.seed)) or ""
    size = len(problem.choices.grid()) if problem.choices.enumerable else problem.choices.size
    pairs = None if size is None else size * len(problem.fractions)
    return DryRun(size, pairs, tuple(forecasts), len(history), problem.budget, rules, over)


def _stored_history(job: Job) -> History:
    """What the store already holds, without creating one."""
    if not Database.exists(job.store):
        return History()
    with Database(job.store) as database:
        stored = database.find(job.name) is not None
        return database.open(job.name, job.problem.space).history() if stored else History()


def verify(
    opened: OpenedStudy,
    *,
    observer: Observer = nobody,
    ready: Callable[[Loop], None] = lambda _loop: None,
    beyond_budget: bool = False,
) -> Verification:
    """Run the recommendation once on all the data, and say whether the limits held.

    It is paid from the study's budget; where its worst case does not fit, beyond_budget=True raises the budget by it.
    """
    recommended = opened.recommendation()
    opened.program.check_place()
    verified = opened.standing_verification()
    if verified is not None and verified.configuration == recommended.configuration:
        return _verification(opened, recommended, verified)  # nothing was tested since: no need to pay again
    trial = _unfinished_verification(opened, recommended.configuration)
    draft = trial or _verification_trial(opened, recommended)
    _make_affordable(opened, draft, beyond_budget)
    if trial is None:
        trial = opened.store.propose(
            draft.configuration,
            draft.fraction,
            draft.snapshots,
            time=opened.clock.now(),
            notes=draft.notes,
            kind=draft.kind,
            expected=draft.expected,
            time_limit=draft.time_limit,
        )
    end = run(opened, observer=observer, ready=ready, only=trial.number)
    trial = opened.history.trial(trial.number)
    if trial.pending:
        raise StudyOver(
            f"the verifying run did not end: {end.reason}",
            where=f"trial {trial.number}",
            hint="The same command goes on with it" if end.outcome is Outcome.INTERRUPTED else "Try it again",
        )
    return _verification(opened, recommended, trial)


def _verification(opened: OpenedStudy, recommended: Recommendation, trial: Trial) -> Verification:
    """What a finished verifying run has shown."""
    if trial.state is not TrialState.DONE:
        return Verification(recommended, trial, None, (), trial.moves[-1].cause)
    return Verification(recommended, trial, trial.observations[-1], opened.limit_checks(trial))


def _unfinished_verification(opened: OpenedStudy, configuration: Configuration) -> Trial | None:
    """A verifying run of the same configuration that was interrupted."""
    pending = (trial for trial in opened.history.pending if trial.verifies)
    return next((trial for trial in pending if trial.configuration == configuration), None)


def _verification_trial(opened: OpenedStudy, recommended: Recommendation) -> Trial:
    """A new verifying trial: at full data, or where the goal is sought at any share, at the recommended one."""
    rules, now = opened.program.rules, opened.clock.now()
    rate = rules.rate(recommended.configuration)
    limit = rules.first_limit(rate, dict(recommended.metrics), opened.store.money())
    share = recommended.fraction if opened.problem.goal.at is At.ANYWHERE else Fraction(1)
    notes, kind = (Note(NoteKind.PLAIN, "verification of the recommendation"),), TrialKind.VERIFICATION
    configuration, expected = recommended.configuration, recommended.metrics
    return opened.history.propose(
        configuration, share, time=now, notes=notes, expected=expected, time_limit=limit, kind=kind
    )[1]


def _make_affordable(opened: OpenedStudy, trial: Trial, beyond_budget: bool) -> None:
    """Refuse (StudyOver) a trial whose worst case does not fit, or raise the budget by what is missing."""
    money, rules = opened.store.money(), opened.program.rules
    if rules.booking(trial, money) is not None:
        return
    if not beyond_budget or money.budget_usd is None:
        raise StudyOver(
            rules.shortfall(trial, money), where="verify", hint="Allow it with --beyond-budget, or raise the budget"
        )
    missing = rules.worst_case(rules.rate(trial.configuration) or 0.0, trial.time_limit) - money.left
    extend(opened, Budget(usd=money.budget_usd + missing * (1 + 1e-9)), cause="verification beyond budget")


def extend(opened: OpenedStudy, wanted: Budget, cause: str = "extended by the user") -> Budget:
    """Raise the study's budget to the totals of `wanted`; what it leaves open stays. Returns the budget in force."""
    new = raised(opened.store.budget(), wanted)
    opened.store.set_budget(new, time=opened.clock.now(), cause=cause)
    return new
