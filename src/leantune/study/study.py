"""The face of a study, from Python and from a job file: open, ask and tell, run, verify, extend, recommend, report.

space = Space(lr=log(1e-5, 1e-1), cluster=clusters("aws", types=["t2.small"], nodes=[1, 2]))
study = Study(
    space, maximize("accuracy"), subject_to=["cost <= 0.10 USD"], fractions=[1/60, 0.1, 1], budget=Budget(trials=44),
    store="sqlite:///leantune.db", name="my-study",
)
study.optimize(train)  # train(trial) -> {"accuracy": ...}; run the program again and it goes on
study.recommendation()

study = Study.from_job("job.yaml")  # the program that the file names is run, in processes of its own
study.optimize()
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from types import TracebackType
from typing import TYPE_CHECKING, Self, overload

from leantune.checkpoints import Keep
from leantune.checkpoints.store import study_folder
from leantune.clock import Clock, RealClock
from leantune.errors import InvalidInput, Outdated, StudyOver, UnknownStudy
from leantune.history import History, Note, NoteKind, Trial, TrialKind, TrialState
from leantune.jobfile import Job, load_job, parse_job
from leantune.problem import Budget, Constraint, Fidelity, Goal, Problem, Stop
from leantune.run.attempts import seed_of
from leantune.run.events import End, Observer, Outcome, no_observer
from leantune.run.ledger import TimeRules, continued_dollars, smaller_result
from leantune.run.loop import Loop
from leantune.space import Space
from leantune.store.database import Database
from leantune.store.study import StudyStore
from leantune.strategies.baseline import Comparison, compared, next_test
from leantune.strategies.proposals import Proposal, Recommendation
from leantune.strategies.recipe import Recipe
from leantune.strategies.recommending import required
from leantune.strategies.registry import at_work, check_repeats, default_strategy, named_tuner
from leantune.strategies.tuner import Over, Tuner, View, Wait
from leantune.study.definition import describe, document_of, kept_open, open_or_create, open_unchanged, raised
from leantune.study.program import FunctionProgram, JobProgram, StudyPlaces
from leantune.study.trials import AskedTrial, Metrics, RunResult, Snapshot, of_whole_training
from leantune.study.verification import (
    Verification,
    latest_verification,
    standing_verification,
    unfinished_verification,
    verifying_trial,
)
from leantune.units import parse_share

if TYPE_CHECKING:
    from leantune.strategies.spottune import RankedTrial
    from leantune.study.cleaning import Cleaning

IN_MEMORY = "sqlite://"
LEASE = 60.0  # seconds after which another process takes over the trial of one that vanished
PENDING = (TrialState.QUEUED, TrialState.RUNNING, TrialState.PAUSED)  # of a run by LeanTune, not asked for by the user

Train = Callable[[AskedTrial], Metrics | Sequence[Snapshot] | None]


def no_interrupts(_loop: Loop) -> None:
    """For callers that never interrupt the loop."""


class Study:
    """A tuning study. Every proposal is a pure function of the problem, the history and the seed.

    snapshots: one run of the training program reports at every fraction it passes (then tell them with
    `snapshots=`). fidelity: "data", fractions are of the data; "epochs", they are of the epochs, and a larger share
    goes on from a smaller one and pays the difference. steps: the last step of a training, which SpotTune needs.
    strategy: by default lean, or eic where there is one fraction only, as in a job file.
    settings: the configurations to test; none: all of the space. baseline: your present setting, tested first and
    compared with. stop: `lean` ends the study when nothing is likely to be better by this share of the goal, or
    "never"; by default 0.01 where there is no budget. repeats: how often `lean` may run one configuration on all data,
    each time with another `trial.seed`. store, name: where the study is kept, such as
    "sqlite:///leantune.db", and as what; a study that is there already goes on, if it is the same. Without a store
    it lives as long as this object. checkpoints: the folder in which `optimize` keeps those of its trials, of
    finished ones that of the best result; without one they live as long as their runs, and with fidelity="epochs"
    as long as this object.
    """

    def __init__(  # noqa: PLR0913 - the options of PRODUCT.md, all but two by name
        self,
        space: Space,
        goal: Goal,
        *,
        subject_to: Iterable[str | Constraint] = (),
        fractions: Iterable[int | float | str | Fraction] = (1,),
        budget: Budget | None = None,
        strategy: str | Recipe | Tuner | None = None,
        seed: int = 0,
        snapshots: bool = False,
        fidelity: Fidelity = "data",
        steps: float | None = None,
        settings: Iterable[Mapping[str, object]] = (),
        baseline: Mapping[str, object] | None = None,
        stop: Stop = "auto",
        repeats: int = 1,
        store: str = IN_MEMORY,
        name: str = "study",
        checkpoints: str | Path | None = None,
        clock: Clock | None = None,
    ) -> None:
        problem = Problem(
            space,
            goal,
            subject_to,
            fractions,
            budget or Budget(),
            snapshots=snapshots,
            fidelity=fidelity,
            steps=steps,
            settings=settings,
            baseline=baseline,
            stop=stop,
            repeats=repeats,
        )
        tuner, strategy_name, options = _tuner(strategy or default_strategy(problem))
        tuner.check(problem)
        check_repeats(tuner, problem)
        document = describe(problem, strategy_name, options, _checked_seed(seed))
        self.clock = clock or RealClock()
        with kept_open(store) as database:
            self._set(database, open_or_create(database, name, problem, document, "", self.clock), problem, tuner)
        self.name, self.strategy_name, self.seed = name, strategy_name, seed
        self._program: JobProgram | None = None
        self._lease = None if store == IN_MEMORY else LEASE
        self._checkpoints = None if checkpoints is None else Path(checkpoints) / study_folder(name)

    def _set(self, database: Database, store: StudyStore, problem: Problem, tuner: Tuner) -> None:
        self._database, self.store, self._definition, self.strategy = database, store, problem, tuner
        self._temporary: TemporaryDirectory[str] | None = None

    @classmethod
    def from_job(cls, job: Job | str | Path, *, create: bool = True, clock: Clock | None = None) -> Self:
        """The study of a job file in its store, created if need be, with the budget of the file.

        create=False: as it is, with the budget in force, and nothing is written; where it was only ever run by
        `leantune spot run`, that one. UnknownStudy when it was never run.
        """
        job = job if isinstance(job, Job) else load_job(Path(job))
        program, clock = JobProgram(job), clock or RealClock()
        if create:
            program.check_place()
        elif not Database.exists(job.store):
            raise _never_run(job.name, job.store)
        with kept_open(job.store) as database:
            row = database.find(job.name)
            if create:
                store = open_or_create(database, job.name, job.problem, document_of(job), job.text, clock)
            elif row is not None:
                store = open_unchanged(database, row, job.problem, document_of(job))
            else:
                return cls._of_spottune(database, job, clock)
        return cls._of_program(program, database, store, clock)

    @classmethod
    def _of_spottune(cls, database: Database, job: Job, clock: Clock) -> Self:
        """The study that `leantune spot run` made of a job file that was never run itself."""
        from leantune.jobfile.edit import spottune_name

        other = spottune_name(job.name)
        if database.find(other) is None:
            raise _never_run(job.name, database.url)
        database.close()
        return cls.open(job.store, other, folder=job.folder, clock=clock)

    @classmethod
    def open(cls, url: str, name: str, *, folder: Path | None = None, clock: Clock | None = None) -> Self:
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
        return cls._of_program(JobProgram(job), database, store, clock or RealClock())

    @classmethod
    def _of_program(cls, program: JobProgram, database: Database, store: StudyStore, clock: Clock) -> Self:
        study, job = cls.__new__(cls), program.job
        study._set(database, store, job.problem, program.tuner)
        study.name, study.strategy_name, study.seed, study.clock = job.name, job.strategy, job.seed, clock
        study._program = program
        return study

    @property
    def job(self) -> Job:
        """The job file that defines the study; InvalidInput where a Python program does."""
        return self._own_program().job

    @property
    def url(self) -> str:
        """The address of its store, without a password."""
        return self._database.url

    @property
    def problem(self) -> Problem:
        """What is searched, with the budget that is in force."""
        return self._definition.with_budget(self.store.budget())

    @property
    def history(self) -> History:
        """All trials so far; immutable."""
        return self.store.history()

    def _view(self, history: History | None = None) -> View:
        view = View(self.problem, self.history if history is None else history, self.seed)
        if not self.strategy.judges:
            return view
        from leantune.run.curves import learning_curves

        return replace(view, curves=learning_curves(self.store, view.problem))

    @property
    def stop_reason(self) -> str | None:
        """Why the study is over (budget, stop rule), or None while it is not, or a run is still to end."""
        view = self._view()
        if any(trial.state in PENDING for trial in view.history.trials):
            return None
        return self.strategy.stop_reason(view)

    @overload
    def ask(self) -> AskedTrial: ...

    @overload
    def ask(self, count: int) -> list[AskedTrial]: ...

    def ask(self, count: int | None = None) -> AskedTrial | list[AskedTrial]:
        """The next trial, or a batch to run at once: each takes the others, and everything pending, into account.

        StudyOver when the budget is used or nothing is left to test; a batch may be cut short by it.
        """
        if count is None:
            return self._ask_batch(1)[0]
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise InvalidInput(f"asked for {count!r} trials", where="ask", hint="Ask for a whole number of at least 1")
        return self._ask_batch(count)

    def _ask_batch(self, count: int) -> list[AskedTrial]:
        asked: list[AskedTrial] = []
        while len(asked) < count:
            view = self._view()
            proposal = next_test(self.strategy, view)
            if not isinstance(proposal, Proposal):
                if asked:
                    break
                raise _nothing_to_ask(proposal)
            try:
                trial = self.store.propose(
                    proposal.configuration,
                    proposal.fraction,
                    proposal.snapshots,
                    time=self.clock.now(),
                    notes=proposal.notes,
                    expected=proposal.expected,
                    after=len(view.history),
                    queue=False,
                )
            except Outdated:
                continue  # another process has proposed meanwhile: take that into account
            asked.append(self._asked(trial))
        return asked

    def _asked(self, trial: Trial) -> AskedTrial:
        smaller = smaller_result(self._definition, lambda: self.history, trial)
        seed = seed_of(trial, self.history, self.seed)
        return AskedTrial.of(trial, seed, None if smaller is None else smaller[0].number)

    def enqueue(self, configuration: Mapping[str, object], fraction: int | float | str | Fraction = 1) -> AskedTrial:
        """A trial that you choose, to be told like any other; it may repeat an earlier trial."""
        problem = self._definition
        checked = problem.choices.configuration(configuration)
        share = problem.fractions[problem.level_of(parse_share(fraction))]
        notes, kind = (Note(NoteKind.PLAIN, "enqueued by the user"),), TrialKind.ENQUEUED
        trial = self.store.propose(checked, share, time=self.clock.now(), notes=notes, kind=kind, queue=False)
        return self._asked(trial)

    def tell(
        self,
        trial: int | AskedTrial | Trial,
        metrics: Metrics | None = None,
        *,
        seconds: float | None = None,
        cost: float | None = None,
        snapshots: Sequence[Snapshot] = (),
        cut: bool = False,
        failed: str = "",
        continues: int | None = None,
    ) -> None:
        """The result of a trial: metrics and seconds, or snapshots, or the cause of its failure.

        cut: the run was stopped at a limit, so that seconds and dollars are lower bounds. cost: dollars, where they are
        not seconds times the machine's rate. continues: with fidelity="epochs", the trial at a smaller share whose
        checkpoint the run went on from, such as `trial.continues`; seconds and dollars are then told of the rest, which
        is what the study pays. None: it started from nothing.
        """
        result = RunResult(metrics, seconds, cost, snapshots, cut, failed, continues)
        history, problem = self.history, self._definition
        stored = history.trial(trial if isinstance(trial, int) else trial.number)
        rest = result.observations(problem, stored)
        smaller = result.continued(problem, history, stored)
        observations = [of_whole_training(seen, smaller) for seen in rest]
        self.store.record(
            stored.number,
            observations,
            time=self.clock.now(),
            state=TrialState.FAILED if failed else TrialState.DONE,
            cause=failed,
            seconds=None if smaller is None else max(rest, key=lambda seen: seen.fraction).seconds,
            resumed_dollars=continued_dollars(observations, smaller),
        )

    def optimize(
        self,
        train: Train | None = None,
        *,
        trials: int | None = None,
        catch: tuple[type[Exception], ...] = (),
        observer: Observer = no_observer,
    ) -> Recommendation:
        """Ask, run, tell until the budget or `trials` more are used, then recommend.

        train: what is run; None where a job file names a program. A function is called in this process, and its
        seconds are measured here. It returns its metrics, a list of snapshots, or nothing when it has told all by
        `trial.report(...)`. A metric that is missing or not finite, and an exception named in `catch`, make the trial
        failed: its cost is kept and the models learn to avoid its neighbourhood. Any other exception ends the call; its
        trial is run again by the next. A function cannot be ended from outside, so the budget is checked before each
        trial and the last may go over.
        """
        program, problem = self._program_of(train, catch), self.problem
        if trials is None and not (problem.budget.limits or self.strategy.ends_by_itself(problem)):
            hint = "Give budget=Budget(trials=20), or optimize(train, trials=20)"
            raise InvalidInput("the study has no end", where="optimize", hint=hint)
        self._loop(program, observer).run(trials=trials)
        return self.recommendation()

    def run(
        self,
        *,
        observer: Observer = no_observer,
        ready: Callable[[Loop], None] = no_interrupts,
        parallel: int | None = None,
    ) -> End:
        """Work on the study of a job file until it is over, and say why it ended.

        ready: is given the loop before it starts, to be able to interrupt it. parallel: runs at once on this worker,
        where it is not the job's.
        """
        loop = self._loop(self._program_of(None), observer, parallel)
        ready(loop)
        return loop.run()

    def _loop(self, program: JobProgram | FunctionProgram, observer: Observer, parallel: int | None = None) -> Loop:
        settings = program.loop_settings(self.problem, self.strategy, self.seed)
        if parallel is not None:
            settings = replace(settings, rules=replace(settings.rules, parallel=parallel))
        if isinstance(program, JobProgram):  # a function's seconds are measured in this very process
            # Compiled while the first programs run: on a new machine that takes seconds. A daemon: no delay at the end.
            Thread(target=self.strategy.prepare, name="leantune-prepare", daemon=True).start()
        return Loop(self.store, settings, program.executor(self.store, self.clock), self.clock, observer)

    def _own_program(self) -> JobProgram:
        if self._program is None:
            what, hint = "a Python program made this study, not a job file", "Give the function: study.optimize(train)"
            raise InvalidInput(what, where=f"study {self.name!r}", hint=hint)
        return self._program

    def _program_of(self, train: Train | None, catch: tuple[type[Exception], ...] = ()) -> JobProgram | FunctionProgram:
        """What is run, known to fit this place."""
        if train is None:
            program = self._own_program()
            program.check_place()
            return program
        if self._program is not None:
            what, hint = "the job file names the program to run", "Leave the function out: study.optimize()"
            raise InvalidInput(what, where=f"study {self.name!r}", hint=hint)
        return FunctionProgram(
            self._definition,
            lambda current: train(self._asked(self.history.trial(current.number))),
            catch,
            folder=self._place_of_checkpoints(),
            keep=Keep.NONE if self._checkpoints is None else Keep.BEST,
            lease=self._lease,
        )

    def _place_of_checkpoints(self) -> Path | None:
        """A folder for those of the trials; None: each lives as long as its run."""
        if self._checkpoints is not None or self._definition.fidelity == "data":
            return self._checkpoints
        if self._lease is not None:
            what = "the study outlives this program, and what a larger share is to go on from would not"
            hint = "Give Study(..., checkpoints='./checkpoints')"
            raise InvalidInput(f"fidelity='epochs': {what}", where="optimize", hint=hint)
        self._temporary = self._temporary or TemporaryDirectory(prefix="leantune-checkpoints-")
        return Path(self._temporary.name)

    def extend(self, budget: Budget, cause: str = "extended by the user") -> Budget:
        """Raise the budget to these totals; what they leave open stays. Returns the budget in force.

        The study goes on with the next `optimize`, `run` or `ask`; every program that shares its store sees it.
        """
        new = raised(self.store.budget(), budget)
        self.store.set_budget(new, time=self.clock.now(), cause=cause)
        return new

    def retry(self, *numbers: int, failed: bool = False, cause: str = "run again by the user") -> list[int]:
        """Queue failed trials to be run again, once what made them fail is put right: those of these numbers, or
        (failed=True) all. Returns their numbers; the next `optimize` or `run` runs them, from nothing.

        Their failures teach the models nothing any more; the dollars stay spent, and no trial of the budget is used.
        """
        if failed:
            numbers += tuple(trial.number for trial in self.history.trials if trial.state is TrialState.FAILED)
        return [trial.number for trial in self.store.retry(numbers, time=self.clock.now(), cause=cause)]

    def recommendation(self) -> Recommendation:
        """The configuration to use, predicted metrics, the probability of each limit, and why; StudyOver while nothing
        is known.

        While nothing has been tested since a run verified a recommendation, that one stands: one more result would
        shift the models a little, and the advice to something never shown.
        """
        view = self._view()
        verified = standing_verification(view.problem, view.history)
        if verified is not None:
            advice = self.strategy.recommend(self._view(History(view.history.trials[: verified.number])))
            if advice is not None and advice.configuration == verified.configuration:
                why = f"{advice.why} Trial {verified.number} has verified it since."
                return replace(advice, feasible=True, tested=True, why=why)
        return required(self.strategy.recommend(view))

    def comparison(self, advice: Recommendation | None = None) -> Comparison | None:
        """The recommendation beside your present setting (`baseline`); None where you gave none."""
        advice = advice or self.recommendation()
        return compared(self._definition, self.history, advice.configuration, advice.fraction, advice.metrics)

    def checkpoint(self, advice: Recommendation | None = None) -> Path | None:
        """Where the model of the recommendation is on this machine: the checkpoint of the run that verified it, or of
        one that tested it and was kept; None where there is none.
        """
        places = self._places
        return None if places is None else places.checkpoint_of(advice or self.recommendation(), self.history)

    @property
    def _places(self) -> StudyPlaces | None:
        """Where its files lie; None where they do not outlive this object."""
        if self._program is not None:
            return self._program.places
        return None if self._checkpoints is None else StudyPlaces(self.name, self._checkpoints, None)

    def ranking(self) -> tuple[RankedTrial, ...]:
        """SpotTune's settings, best first; of other strategies nothing."""
        from leantune.strategies.spottune import SpotTune

        return self.strategy.ranking(self._view()) if isinstance(self.strategy, SpotTune) else ()

    def verify(
        self,
        train: Train | None = None,
        *,
        beyond_budget: bool = False,
        observer: Observer = no_observer,
        ready: Callable[[Loop], None] = no_interrupts,
    ) -> Verification:
        """Run the recommendation once on all the data, and say whether the limits held.

        It is paid from the study's budget; where its worst case does not fit, beyond_budget=True raises the budget by
        it. train, observer, ready: as in `optimize` and `run`.
        """
        program, recommended = self._program_of(train), self.recommendation()
        problem, history, rules = self.problem, self.history, program.rules
        standing = standing_verification(problem, history)
        if standing is not None and standing.configuration == recommended.configuration:
            return Verification.of(problem, recommended, standing)  # nothing was tested since: no need to pay again
        unfinished = unfinished_verification(history, recommended.configuration)
        draft = unfinished or verifying_trial(
            problem, history, recommended, rules, self.store.money(), self.clock.now()
        )
        self._make_affordable(draft, rules, beyond_budget)
        trial = unfinished or self.store.propose(
            draft.configuration,
            draft.fraction,
            draft.snapshots,
            time=self.clock.now(),
            **draft.details,
        )
        loop = self._loop(program, observer)
        ready(loop)
        end = loop.run(only=trial.number)
        trial = self.history.trial(trial.number)
        if trial.pending:
            hint = "The same command goes on with it" if end.outcome is Outcome.INTERRUPTED else "Try it again"
            what = f"the verifying run did not end: {end.reason}"
            raise StudyOver(what, where=f"trial {trial.number}", hint=hint)
        return Verification.of(problem, recommended, trial)

    def _make_affordable(self, trial: Trial, rules: TimeRules, beyond_budget: bool) -> None:
        """Refuse (StudyOver) a trial whose worst case does not fit, or raise the budget by what is missing."""
        money = self.store.money()
        if rules.booking(trial, money) is not None:
            return
        if not beyond_budget or money.budget_usd is None:
            hint = "Allow it with --beyond-budget, or raise the budget"
            raise StudyOver(rules.shortfall(trial, money), where="verify", hint=hint)
        missing = rules.worst_case(rules.rate(trial.configuration) or 0.0, trial.time_limit) - money.left
        raised_by = missing * (1 + 1e-9)  # rounding must not leave a cent of it uncovered
        self.extend(Budget(usd=money.budget_usd + raised_by), cause="verification beyond budget")

    def report(self, path: str | Path | None = None) -> Path:
        """Write one HTML file about the study as it is now (default: NAME-report.html), and say where it is."""
        from leantune.report.data import StudyView
        from leantune.report.page import write_report

        recommendation, why_none = None, ""
        try:
            recommendation = self.recommendation()
        except StudyOver as nothing:
            why_none = nothing.what
        row, verified = self._database.find(self.name), latest_verification(self.history)
        view = StudyView(
            self.name,
            self.problem,
            self.history,
            self.strategy_name,
            self.seed,
            recommendation,
            why_none,
            self.stop_reason,
            self.store.ledger(),
            self.store.money(),
            self.store.reports(),
            self.clock.now() if row is None else row.created,
            version("leantune"),
            None if verified is None else verified.number,
            None if recommendation is None else self.comparison(recommendation),
        )
        file = Path(path or f"{self.name}-report.html")
        write_report(view, file)
        return file

    def clean(self, *, dry_run: bool = False) -> Cleaning:
        """Remove what a study that is over has left on this machine: folders of trials, logs, copies of checkpoints.

        The model of the recommendation stays, and everything in the store. dry_run: only say what would go.
        InvalidInput while the study is not over, or a worker is at work on it.
        """
        from leantune.run.workers import dead_workers
        from leantune.study.cleaning import Cleaning, clean, cleaning

        workers, places = self.store.workers(), self._places
        if self.stop_reason is None or len(dead_workers(workers)) < len(workers):
            hint = "Run it to its end first: until then its trials need their folders"
            raise InvalidInput("the study is not over", where=f"study {self.name!r}", hint=hint)
        if places is None:
            return Cleaning((), 0, None)
        kept = None
        with suppress(StudyOver):  # there is nothing to recommend
            kept = self.checkpoint()
        what = cleaning(places, kept)
        if not dry_run:
            clean(places, what)
        return what

    def close(self) -> None:
        """Let go of the store; nothing is lost but checkpoints that have no place of their own."""
        self._database.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _never_run(name: str, where: str) -> UnknownStudy:
    return UnknownStudy(f"study {name!r} was never run", where=where, hint="Start it with leantune run")


def _checked_seed(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise InvalidInput(f"the seed is {seed!r}", where="Study", hint="Give a whole number, such as seed=1")
    return seed


def _nothing_to_ask(answer: Wait | Over) -> StudyOver:
    if isinstance(answer, Wait):
        return StudyOver(f"nothing is to be tested now: {answer.why}", where="ask", hint="Tell a result first")
    hint = "Raise the budget, give stop='never', or widen the space, to go on"
    return StudyOver(f"the study is over: {answer.why}", where="ask", hint=hint)


def _tuner(strategy: str | Recipe | Tuner) -> tuple[Tuner, str, dict[str, object]]:
    """The tuner, its name and its options; one of the caller's own is known by what it is made of."""
    if isinstance(strategy, str):
        return named_tuner(strategy), strategy, {}
    if isinstance(strategy, Recipe):
        return at_work(strategy), strategy.name, {"recipe": repr(strategy)}
    return strategy, getattr(strategy, "name", type(strategy).__name__), {"tuner": repr(strategy)}
