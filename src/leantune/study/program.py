"""What a study runs: the program of a job file, or a Python function in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from leantune.checkpoints import Keep
from leantune.clock import Clock
from leantune.executors.base import Executor
from leantune.executors.registry import Past, ProgramSettings, charges_at, executor_module
from leantune.history import Trial
from leantune.jobfile import Job
from leantune.jobfile.settings import FREE
from leantune.problem import Problem
from leantune.run.ledger import TimeRules
from leantune.run.loop import LoopSettings
from leantune.space import Cluster
from leantune.store.study import StudyStore
from leantune.strategies.registry import named_tuner
from leantune.strategies.tuner import Tuner

if TYPE_CHECKING:
    from leantune.cloud.provider import Offer
    from leantune.worker.client import CurrentTrial


class JobProgram:
    """The training program of a job file, at the place that the job names. It runs in processes of its own."""

    def __init__(self, job: Job) -> None:
        self.job = job

    @cached_property
    def tuner(self) -> Tuner:
        """The strategy that the job names, checked against its problem."""
        tuner = named_tuner(self.job.strategy, **self.job.strategy_options)
        tuner.check(self.job.problem)
        return tuner

    @cached_property
    def settings(self) -> ProgramSettings:
        """What a place to run is told about the job."""
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
            runs=job.logs / job.name,
            checkpoints=job.checkpoints.at,
            spot=job.run.spot,
            market=job.run.market,
            parallel=job.run.parallel,
            on_machine=self._on_machine() if free else None,
            course=course,
            predictor=job.run.predictor,
        )

    @cached_property
    def rules(self) -> TimeRules:
        """What the job says about time, and how its runs are paid for."""
        run, charges = self.job.run, charges_at(self.job.run.on, self.settings)
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
        """Those that trials may run on; where the machine is free, one node of each type."""
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
        """Refuse a job that cannot be run: at a place that is not available, or on a cluster larger than the host."""
        executor_module(self.job.run.on).check_settings(self.settings)

    def executor(self, store: StudyStore, clock: Clock) -> Executor:
        """Runs the program; a simulated market goes on from what the store holds."""
        stays = tuple(store.stays())
        past = Past(stays, tuple(store.reports())) if stays else Past()
        seconds = store.history().seconds
        settings = replace(self.settings, past=past, trained_seconds=seconds, store=store.key)
        return executor_module(self.job.run.on).make_executor(settings, clock)

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
            keep=self.job.checkpoints.keep,
        )


@dataclass(frozen=True)
class FunctionProgram:
    """A training function, called in this process. It cannot be ended from outside: no time limit is enforced.

    folder: for checkpoints of trials; None: each lives as long as its run. lease: None where nobody shares the study.
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
