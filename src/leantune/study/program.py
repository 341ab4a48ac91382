"""What a study runs: the program of a job file, or a Python function in this process; and where its files lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from leantune.checkpoints import Keep
from leantune.checkpoints.store import place_of
from leantune.clock import Clock
from leantune.executors.base import Executor
from leantune.executors.registry import Charges, Past, ProgramSettings, StudyPlace, executor_module, is_available
from leantune.executors.run_folder import RunFolder
from leantune.history import History, Trial, TrialState
from leantune.jobfile import Job
from leantune.jobfile.settings import FREE
from leantune.problem import Problem
from leantune.run.ledger import TimeRules
from leantune.run.loop import LoopSettings
from leantune.space import Cluster
from leantune.store.study import StudyStore
from leantune.strategies.proposals import Recommendation
from leantune.strategies.registry import named_tuner
from leantune.strategies.tuner import Tuner
from leantune.study.preflight import preflight

if TYPE_CHECKING:
    from leantune.cloud.provider import Offer
    from leantune.worker.client import CurrentTrial

FALSE_START_SECONDS = 5.0  # within which a program fails that lacks a file, a library or an option


@dataclass(frozen=True)
class StudyPlaces:
    """runs: the folder of its trials. copies: where copies of their checkpoints lie, by study; None: nowhere."""

    study: str
    runs: Path
    copies: Path | None

    def checkpoint(self, number: int) -> Path | None:
        """Where a trial's checkpoint is: its program's own folder, else the copy; None where there is none."""
        folder = RunFolder(self.runs, number)
        if folder.has_checkpoint:
            return folder.checkpoint
        return None if self.copies is None else place_of(self.copies, self.study, folder.key)

    def checkpoint_of(self, advice: Recommendation, history: History) -> Path | None:
        """The model of a recommendation: of the run that verified it, else of the last one that came through."""
        runs = [trial for trial in history.trials if _trained(trial, advice)]
        runs.sort(key=lambda trial: (trial.verifies, trial.number), reverse=True)
        return next((path for trial in runs if (path := self.checkpoint(trial.number)) is not None), None)


def _trained(trial: Trial, advice: Recommendation) -> bool:
    same = trial.configuration == advice.configuration and trial.fraction == advice.fraction
    return same and trial.state is TrialState.DONE


class JobProgram:
    """The training program of a job file, in the executor that the job names. It runs in separate processes."""

    def __init__(self, job: Job) -> None:
        self.job = job

    @cached_property
    def tuner(self) -> Tuner:
        """The strategy that the job names, checked against its problem."""
        tuner = named_tuner(self.job.strategy, **self.job.strategy_options)
        tuner.check(self.job.problem)
        return tuner

    @property
    def places(self) -> StudyPlaces:
        """Where its files lie."""
        return StudyPlaces(self.job.name, self.job.logs / self.job.name, self.job.checkpoints.at)

    @cached_property
    def settings(self) -> ProgramSettings:
        """The job's data for its executor."""
        job = self.job
        free = job.run.machine == FREE
        course = None
        if free:
            from leantune.run.placing import course_of

            course = course_of(self.tuner, job.problem)
        return ProgramSettings(
            study=job.name,
            problem=job.problem,
            arguments=job.command.arguments,
            clusters=self._clusters,
            folder=job.folder,
            runs=self.places.runs,
            checkpoints=self.places.copies,
            spot=job.run.spot,
            market=job.run.market,
            parallel=job.run.parallel,
            on_machine=self._on_machine() if free else None,
            course=course,
            predictor=job.run.predictor,
            kept_variables=job.run.environment.keep,
        )

    @cached_property
    def place(self) -> StudyPlace:
        """Where the job runs its program; JobError where that is not available."""
        return executor_module(self.job.run.on).place_of(self.settings)

    @cached_property
    def rules(self) -> TimeRules:
        """What the job says about time, and how its runs are paid for."""
        run = self.job.run
        charges = self.place.charges if is_available(run.on) else Charges()
        return TimeRules(
            run.time_limit,
            run.grace,
            run.parallel,
            billed=charges.billed,
            speed=charges.speed,
            setup=charges.setup_seconds,
            worst_rate=charges.worst_rate,
            adds_up=charges.adds_up,
            steps=self.job.problem.steps,
        )

    @property
    def _clusters(self) -> tuple[Cluster, ...]:
        """The clusters that trials may run on; where the machine is free, one node of each type."""
        parameters = self.job.full_space.clusters.values()
        clusters = (cluster for parameter in parameters for cluster in parameter.options)
        return tuple(cluster for cluster in clusters if cluster.nodes == 1 or self.job.run.machine != FREE)

    def _on_machine(self) -> Callable[[Trial, Offer], Trial]:
        """Puts a trial on a machine that was chosen for it."""
        space = self.job.full_space
        (name,) = space.clusters
        clusters = {cluster.type: cluster for cluster in self._clusters}

        def on_machine(trial: Trial, offer: Offer) -> Trial:
            values = {**trial.configuration, name: clusters[offer.machine.name]}
            return replace(trial, configuration=space.configuration(values))

        return on_machine

    def check_place(self) -> None:
        """Refuse a job that cannot be run: at a place that is not available, on a cluster larger than the host, or
        without what its program needs.
        """
        self.place.check()
        preflight(self.job)

    def executor(self, store: StudyStore, clock: Clock) -> Executor:
        """Runs the program; a simulated market goes on from what the store holds."""
        stays = tuple(store.stays())
        reports = tuple(store.reports()) if stays else ()
        return self.place.executor(clock, Past(stays, reports, store.history().seconds, store.key))

    def loop_settings(self, problem: Problem, tuner: Tuner, seed: int) -> LoopSettings:
        """How a worker works on the study."""
        run = self.job.run
        return LoopSettings(
            problem,
            tuner,
            seed,
            self.rules,
            lease=run.lease,
            deterministic=run.deterministic,
            batch=run.parallel,
            max_failures=run.max_failures,
            false_start=FALSE_START_SECONDS * self.rules.speed,
            keep=self.job.checkpoints.keep,
        )


@dataclass(frozen=True)
class FunctionProgram:
    """A training function, called in this process. It cannot be ended from outside: no time limit is enforced.

    folder: for checkpoints of trials; None: each lives as long as its run. lease: None where the study is not shared.
    """

    problem: Problem
    train: Callable[[CurrentTrial], object]
    catch: tuple[type[Exception], ...]
    folder: Path | None
    keep: Keep
    lease: float | None
    rules: ClassVar[TimeRules] = TimeRules(enforced=False)

    def executor(self, _store: StudyStore, clock: Clock) -> Executor:
        """Calls the function."""
        from leantune.executors.function import FunctionExecutor

        return FunctionExecutor(self.problem, self.train, clock, catch=self.catch, runs=self.folder)

    def loop_settings(self, problem: Problem, tuner: Tuner, seed: int) -> LoopSettings:
        """How this process works on the study."""
        return LoopSettings(problem, tuner, seed, self.rules, lease=self.lease, max_failures=None, keep=self.keep)
