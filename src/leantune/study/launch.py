"""A job file at work: its study opened, run, verified, extended. What the commands do, without the printing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from leantune.checkpoints.store import CheckpointStore
from leantune.clock import Clock, RealClock
from leantune.errors import InvalidInput, JobError, StudyOver, UnknownStudy
from leantune.executors.base import Executor
from leantune.executors.keeper import SAVE_EVERY
from leantune.executors.local import LocalExecutor
from leantune.executors.machine import check_cluster
from leantune.history import History, Note, NoteKind, Observation, Trial, TrialKind, TrialState
from leantune.jobfile import Job, parse_job
from leantune.problem import At, Budget, Problem
from leantune.run.curves import learning_curves
from leantune.run.events import Observer, nobody
from leantune.run.ledger import TimeRules
from leantune.run.loop import End, Loop, Outcome, Plan
from leantune.space import Clusters, Configuration, Machine
from leantune.store.database import Database
from leantune.store.study import Money, StudyStore
from leantune.strategies.proposals import Proposal, Recommendation
from leantune.strategies.recommending import required
from leantune.strategies.registry import named_tuner
from leantune.strategies.tuner import Tuner, View
from leantune.study.definition import document_of
from leantune.study.opening import open_or_create, open_unchanged

if TYPE_CHECKING:
    from leantune.cloud.marketplace import Marketplace

FIRST_PROPOSALS = 3  # shown by a dry run


@dataclass(frozen=True)
class OpenedStudy:
    """A study in its store, with the job that defines it."""

    job: Job
    database: Database
    store: StudyStore
    clock: Clock

    @property
    def strategy(self) -> Tuner:
        """The strategy that the job names."""
        return strategy_of(self.job)

    @property
    def problem(self) -> Problem:
        """The job's problem with the budget that is in force."""
        return self.job.problem.with_budget(self.store.budget())

    @property
    def history(self) -> History:
        """All trials so far."""
        return self.store.history()

    @property
    def rules(self) -> TimeRules:
        """What the job says about time."""
        return rules_of(self.job)

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
                return replace(advice, tested=True, why=why)
        return required(self.strategy.recommend(self._view(history)))

    def _view(self, history: History) -> View:
        return View(self.problem, history, self.job.seed, learning_curves(self.store, self.problem))

    def standing_verification(self) -> Trial | None:
        """The latest trial of all, if it verified a recommendation and kept the limits."""
        latest = self.history.trials[-1:]
        return next((trial for trial in latest if trial.verifies and _keeps_limits(self.problem, trial)), None)

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


def _keeps_limits(problem: Problem, trial: Trial) -> bool:
    """Whether the trial came through at full data and measured values that keep every limit."""
    if trial.state is not TrialState.DONE:
        return False
    measured = trial.observations[-1]
    return all(limit.holds(measured.value(limit.metric)) for limit in problem.constraints)


def strategy_of(job: Job) -> Tuner:
    """The strategy that the job names, checked against its problem."""
    strategy = named_tuner(job.strategy, **job.strategy_options)
    strategy.check(job.problem)
    return strategy


def rules_of(job: Job) -> TimeRules:
    """What the job says about time; on a simulated market, also how fast it runs and what is paid beside a run."""
    rules = TimeRules(job.run.time_limit, job.run.grace, job.run.parallel)
    if job.run.market is None:
        return rules
    return replace(rules, billed=True, speed=job.run.market.speed, setup=market_of(job).setup_seconds)


def market_of(job: Job) -> Marketplace:
    """The simulated market that the job's machines are rented on."""
    from leantune.cloud.marketplace import MarketSettings, marketplace

    try:
        return marketplace(_machines(job), job.run.market or MarketSettings(), spot=job.run.spot)
    except InvalidInput as error:
        raise JobError(error.what, where=error.where, hint=error.hint) from None


def _machines(job: Job) -> list[Machine]:
    return [
        cluster.machine
        for parameter in job.problem.space.parameters.values()
        if isinstance(parameter, Clusters)
        for cluster in parameter.options
    ]


def open_job(job: Job, *, create: bool = True, clock: Clock | None = None) -> OpenedStudy:
    """The job's study in its store, created if need be, with the job's budget.

    create=False: as it is, with the budget in force, and nothing is written; UnknownStudy when it was never run.
    """
    clock = clock or RealClock()
    if not create and not Database.exists(job.store):
        raise _never_run(job.name, job.store)
    database = Database(job.store)
    try:
        found = database.find(job.name)
        if found is None and not create:
            raise _never_run(job.name, database.url)
        if found is None or create:
            store = open_or_create(database, job.name, job.problem, document_of(job), job.text, clock)
        else:
            store = open_unchanged(database, found, job.problem, document_of(job))
    except BaseException:
        database.close()
        raise
    return OpenedStudy(job, database, store, clock)


def _never_run(name: str, where: str) -> UnknownStudy:
    return UnknownStudy(f"study {name!r} was never run", where=where, hint="Start it with leantune run")


def open_stored(url: str, name: str, *, folder: Path | None = None, clock: Clock | None = None) -> OpenedStudy:
    """A study by its store and name; its job file is the one kept in the store, its programs start in `folder`."""
    if not Database.exists(url):
        raise UnknownStudy("there is no such store", where=url, hint="Give the address that the job file gives")
    database = Database(url)
    try:
        row = database.find(name)
        if row is None:
            known = ", ".join(study.name for study in database.studies()) or "none"
            raise UnknownStudy(f"there is no study {name!r}", where=database.url, hint=f"It holds: {known}")
        if not row.job:
            raise InvalidInput(
                f"study {name!r} was made by a Python program", where=database.url, hint="Go on with that program"
            )
        written = parse_job(row.job, folder=folder or Path.cwd(), source=f"the job file of study {name!r}")
        job = replace(written, store=url, problem=written.problem.with_budget(row.budget))
        store = database.open(name, job.problem.space)
    except BaseException:
        database.close()
        raise
    return OpenedStudy(job, database, store, clock or RealClock())


def check_place(job: Job) -> None:
    """Refuse a job that this machine cannot run: another place to run, or a cluster larger than the host."""
    if job.run.on not in ("local", "simcloud"):
        raise JobError(
            f"running on {job.run.on!r} is not available in this version",
            where="run.on",
            hint="Write on: local (or simcloud), with machine sizes that this host can give",
        )
    if job.run.on == "simcloud":
        market_of(job)
    for parameter in job.problem.space.parameters.values():
        if isinstance(parameter, Clusters):
            for cluster in parameter.options:
                check_cluster(cluster)


def local_executor(job: Job, clock: Clock) -> LocalExecutor:
    """Runs the job's program on this machine."""
    # A market that runs faster leaves less of this world's time between two checkpoints.
    speed = 1.0 if job.run.market is None else max(1.0, job.run.market.speed)
    return LocalExecutor(
        job.problem,
        job.command.arguments,
        folder=job.folder,
        runs=job.logs / job.name,
        checkpoints=CheckpointStore(job.checkpoints, job.name),
        clock=clock,
        study=job.name,
        save_every=SAVE_EVERY / speed,
    )


def executor_of(opened: OpenedStudy) -> Executor:
    """Runs the job's program on this machine, which stands in for rented ones where the job says so.

    A study that goes on finds the market later, by the seconds that it has trained.
    """
    job, clock = opened.job, opened.clock
    local = local_executor(job, clock)
    if job.run.market is None:
        return local
    from leantune.executors.rented import RentedExecutor
    from leantune.executors.renting import Renter
    from leantune.executors.run_folder import RunFolder
    from leantune.revocation.predictors import predictor

    market, speed = market_of(job), job.run.market.speed
    time = market.clock(clock, speed, later=opened.history.seconds)
    provider = market.provider(time)
    save = market.save_seconds(speed)
    renter = Renter(provider, time, predictor(), tag=job.name, boot=market.boot_seconds, save=save)
    runs = job.logs / job.name
    return RentedExecutor(
        local, provider, renter, time, clock, lambda number: RunFolder(runs, number).remove_checkpoint()
    )


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
    job = opened.job
    check_place(job)
    rules = opened.rules if parallel is None else replace(opened.rules, parallel=parallel)
    plan = Plan(
        job.problem,
        opened.strategy,
        job.seed,
        rules,
        lease=job.run.lease,
        deterministic=job.run.deterministic,
        batch=job.run.parallel,
        max_failures=job.run.max_failures,
    )
    loop = Loop(opened.store, plan, executor_of(opened), opened.clock, observer)
    ready(loop)
    return loop.run(only=only)


def dry_run(job: Job) -> DryRun:
    """What a run would do first and what that may cost; nothing is created and nothing is started."""
    _check_place_if_local(job)
    history, budget = _known(job)
    problem = job.problem.with_budget(budget)
    strategy, rules = strategy_of(job), rules_of(job)
    money, foreseen = Money(budget.usd, history.cost, 0.0), history
    forecasts: list[Forecast] = []
    while len(forecasts) < FIRST_PROPOSALS:
        proposal = strategy.ask(View(problem, foreseen, job.seed))
        if not isinstance(proposal, Proposal):
            over = proposal.why
            break
        rate = proposal.configuration.usd_per_hour
        limit = rules.first_limit(rate, dict(proposal.expected), money)
        worst = None if rate is None or limit is None else rules.worst_case(rate, limit)
        forecasts.append(Forecast(proposal, limit, worst))
        foreseen, _ = foreseen.propose(proposal.configuration, proposal.fraction, proposal.snapshots)
    else:
        over = strategy.stop_reason(View(problem, foreseen, job.seed)) or ""
    size = len(problem.choices.grid()) if problem.choices.enumerable else problem.choices.size
    pairs = None if size is None else size * len(problem.fractions)
    return DryRun(size, pairs, tuple(forecasts), len(history), budget, rules, over)


def _check_place_if_local(job: Job) -> None:
    """A dry run may look at a job for another place; one for this machine must fit it."""
    if job.run.on in ("local", "simcloud"):
        check_place(job)


def _known(job: Job) -> tuple[History, Budget]:
    """What the store already holds, without creating one."""
    if not Database.exists(job.store):
        return History(), job.problem.budget
    database = Database(job.store)
    try:
        if database.find(job.name) is None:
            return History(), job.problem.budget
        return database.open(job.name, job.problem.space).history(), job.problem.budget
    finally:
        database.close()


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
    check_place(opened.job)
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
    measured = trial.observations[-1]
    values = [(limit, measured.value(limit.metric)) for limit in opened.problem.constraints]
    limits = tuple(LimitCheck(limit.text, value, limit.holds(value)) for limit, value in values)
    return Verification(recommended, trial, measured, limits)


def _unfinished_verification(opened: OpenedStudy, configuration: Configuration) -> Trial | None:
    """A verifying run of the same configuration that was interrupted."""
    return next(
        (trial for trial in opened.history.pending if trial.verifies and trial.configuration == configuration),
        None,
    )


def _verification_trial(opened: OpenedStudy, recommended: Recommendation) -> Trial:
    """A new verifying trial: at full data, or where the goal is sought at any share, at the recommended one."""
    rate, now = recommended.configuration.usd_per_hour, opened.clock.now()
    limit = opened.rules.first_limit(rate, dict(recommended.metrics), opened.store.money())
    share = recommended.fraction if opened.problem.goal.at is At.ANYWHERE else Fraction(1)
    notes, kind = (Note(NoteKind.PLAIN, "verification of the recommendation"),), TrialKind.VERIFICATION
    configuration, expected = recommended.configuration, recommended.metrics
    return opened.history.propose(configuration, share, (), notes, now, expected, limit, kind=kind)[1]


def _make_affordable(opened: OpenedStudy, trial: Trial, beyond_budget: bool) -> None:
    """Refuse (StudyOver) a trial whose worst case does not fit, or raise the budget by what is missing."""
    money, rules = opened.store.money(), opened.rules
    if rules.booking(trial, money) is not None:
        return
    if not beyond_budget or money.budget_usd is None:
        raise StudyOver(
            rules.shortfall(trial, money), where="verify", hint="Allow it with --beyond-budget, or raise the budget"
        )
    missing = rules.worst_case(trial.configuration.usd_per_hour or 0.0, trial.time_limit) - money.left
    extend(opened, usd=money.budget_usd + missing * (1 + 1e-9), cause="verification beyond budget")


def extend(
    opened: OpenedStudy,
    *,
    usd: float | None = None,
    trials: int | None = None,
    hours: float | None = None,
    cause: str = "extended by the user",
) -> Budget:
    """Raise the study's budget to the given totals; what is not given stays. Returns the budget in force."""
    new = raised(opened.store.budget(), usd=usd, trials=trials, hours=hours)
    opened.store.set_budget(new, time=opened.clock.now(), cause=cause)
    return new


def raised(old: Budget, *, usd: float | None, trials: int | None, hours: float | None) -> Budget:
    """A budget with larger totals; InvalidInput where one would become smaller."""
    for name, before, now in (("usd", old.usd, usd), ("trials", old.trials, trials), ("hours", old.hours, hours)):
        if now is not None and (before is None or now < before):
            known = "unlimited" if before is None else f"{before:g}"
            raise InvalidInput(
                f"{name} is {known} and cannot become {now:g}",
                where="extend",
                hint="There is nothing to raise" if before is None else "Give a total above the present one",
            )
    if usd is trials is hours is None:
        raise InvalidInput("nothing to extend", where="extend", hint="Give --usd, --trials or --hours")
    return Budget(
        old.usd if usd is None else usd, old.trials if trials is None else trials, old.hours if hours is None else hours
    )
