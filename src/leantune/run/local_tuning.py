"""SpotTune's own mode with real programs: every setting of a list is trained, the best ones to the end.

The machines are those of the space's clusters, one node each, on a simulated market whose clock runs faster; the
programs run on this machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leantune.checkpoints.store import CheckpointStore
from leantune.clock import Clock, RealClock, SimulatedClock
from leantune.cloud.marketplace import Marketplace
from leantune.cloud.predictor import Predictor
from leantune.cloud.provider import Offer
from leantune.curves.base import Curve
from leantune.curves.predictors import curve_predictor
from leantune.errors import InvalidInput
from leantune.executors.base import cores_for
from leantune.executors.local import LocalExecutor
from leantune.executors.local_run import Arguments
from leantune.executors.machine import check_cluster, this_host
from leantune.executors.run_folder import RunFolder
from leantune.problem import Direction, Problem
from leantune.rent.provisioner import CheapestStep, Demand
from leantune.rent.quotes import LiveForecaster
from leantune.run.fleet import FleetEvent
from leantune.run.local_fleet import TURN, LocalFleet, Place
from leantune.run.spottune import SpotTune
from leantune.run.tuning import Stay, TuningJob, TuningOutcome, TuningRules
from leantune.space import Cluster, Clusters, Configuration, Machine, Space

Setting = Mapping[str, object]
POLL_SECONDS = 0.1  # of this world, until a notice is heard


@dataclass(frozen=True)
class Workshop:
    """How and where programs run. name: of the tuning, in the folders of runs and checkpoints."""

    problem: Problem
    arguments: Arguments
    folder: Path
    runs: Path
    checkpoints: Path
    name: str
    parallel: int = 1
    grace: float = 30.0
    save_every: float = 1.0


@dataclass(frozen=True)
class Asked:
    """What is to be tuned. steps: the last one of a training. speed: seconds of the market in one of this world."""

    settings: tuple[Setting, ...]
    steps: float
    theta: float = 0.7
    mcnt: int = 3
    speed: float = 60.0

    def __post_init__(self) -> None:
        if not self.settings:
            raise InvalidInput("there are no settings", where="SpotTune", hint="Give at least one")
        if not (math.isfinite(self.steps) and self.steps > 0):
            raise InvalidInput(f"steps is {self.steps}", where="SpotTune", hint="Give the last step of a training")


@dataclass(frozen=True)
class BilledMachine:
    """A stay of a job on a machine that was paid for."""

    stay: Stay
    offer: Offer
    usd: float
    refund_usd: float
    revoked: bool


@dataclass(frozen=True)
class Tuned:
    """How a tuning went; times are the market's. failures: of programs, by job."""

    asked: Asked
    outcome: TuningOutcome
    machines: tuple[BilledMachine, ...]
    failures: Mapping[int, str]
    notes: tuple[str, ...]

    @property
    def usd(self) -> float:
        """Dollars paid, refunds taken off."""
        return math.fsum(machine.usd for machine in self.machines)

    @property
    def refund_usd(self) -> float:
        """Dollars given back."""
        return math.fsum(machine.refund_usd for machine in self.machines)

    @property
    def revocations(self) -> int:
        """Machines that the provider took."""
        return sum(machine.revoked for machine in self.machines)


class Told:
    """A fleet's events, passed on to whoever watches; a `Fleet` like the one inside."""

    def __init__(self, fleet: LocalFleet, observer: Callable[[FleetEvent], None]) -> None:
        self._fleet, self._observer = fleet, observer
        self.now, self.place, self.save = fleet.now, fleet.place, fleet.save
        self.leave, self.terminate = fleet.leave, fleet.terminate

    @property
    def offers(self) -> Sequence[Offer]:
        """As inside."""
        return self._fleet.offers

    def wait(self, until: float | None) -> Sequence[FleetEvent]:
        """As inside; turns are nobody's business."""
        events = self._fleet.wait(until)
        for event in events:
            if not event.machine.startswith(TURN):
                self._observer(event)
        return events


def settings_of(space: Space) -> tuple[Setting, ...]:
    """All settings of a space, whatever machine they run on; InvalidInput where they cannot be listed."""
    clusters = _cluster_names(space)
    if space.size is None:
        hint = "Write every parameter as a list of values, or list the settings themselves under settings:"
        raise InvalidInput("SpotTune trains every setting, and this space has no end of them", where="space", hint=hint)
    if not space.enumerable:
        hint = "Give fewer values, or list the settings themselves under settings:"
        raise InvalidInput("the space is too large to train every setting", where="space", hint=hint)
    found: dict[tuple[tuple[str, object], ...], Setting] = {}
    for configuration in space.grid():
        setting = {name: value for name, value in configuration.items() if name not in clusters}
        found.setdefault(tuple(setting.items()), setting)
    return tuple(found.values())


def machines_of(space: Space) -> tuple[Machine, ...]:
    """The machines that a job may be on: the clusters of one node."""
    return tuple(dict.fromkeys(one.machine for one in _clusters(space) if one.nodes == 1))


def tune(
    asked: Asked,
    workshop: Workshop,
    market: Marketplace,
    predictor: Predictor,
    observer: Callable[[FleetEvent], None] = lambda event: None,
    clock: Clock | None = None,
) -> Tuned:
    """Train every setting to theta of its steps, predict where it ends, and train the best mcnt to the end."""
    _check_room(workshop, market)
    steps, curves = np.arange(1.0, 9.0), curve_predictor()
    curves.predict(Curve(steps, 1.0 / steps), 16.0)  # compiled before the market's clock counts, as is what follows
    _warm(market, predictor)
    base = clock or RealClock()
    time = market.clock(base, asked.speed)
    provider = market.provider(time)
    forecaster = LiveForecaster(provider.offers(), provider.history, predictor)
    fleet = LocalFleet(
        provider,
        time,
        base,
        _place(workshop, base),
        training=_training(workshop.problem.space, asked.settings),
        last_step=asked.steps,
        metric=workshop.problem.goal.metric,
        parallel=workshop.parallel,
    )
    maximize = workshop.problem.goal.direction is Direction.MAXIMIZE
    save, poll = market.save_seconds(asked.speed), POLL_SECONDS * asked.speed
    jobs = [TuningJob(setting_words(one), asked.steps, (), maximize, save, save) for one in asked.settings]
    # With fewer programs at once than settings nobody can keep pace with one machine for each.
    pace = 1.0 if workshop.parallel >= len(jobs) else None
    notice = max(market.policy.notice_seconds - poll, 0.0)
    rules = TuningRules(asked.theta, asked.mcnt, boot=market.boot_seconds, notice=notice, pace=pace)
    chooser = CheapestStep(market.policy, poll=poll)
    try:
        outcome = SpotTune(jobs, Told(fleet, observer), chooser, forecaster, curves, rules).run()
        fleet.drain()
        return _tuned(asked, outcome, fleet)
    finally:
        fleet.close()


def _warm(market: Marketplace, predictor: Predictor) -> None:
    """Compile what choosing machines needs, before the market's clock counts: it takes minutes of a fast one."""
    provider = market.provider(SimulatedClock(market.opens))
    offers = provider.offers()
    quotes = LiveForecaster(offers, provider.history, predictor).quotes(market.opens)
    demand = Demand(np.ones(len(offers)), 1.0, market.boot_seconds, 1.0, 1.0)
    next(CheapestStep(market.policy).ranked(demand, quotes, 0), None)


def setting_words(setting: Setting) -> str:
    """Such as lr=0.1 batch=64."""
    shown = {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in setting.items()}
    return " ".join(f"{name}={value}" for name, value in shown.items())


def _tuned(asked: Asked, outcome: TuningOutcome, fleet: LocalFleet) -> Tuned:
    bills = fleet.bills()
    machines = tuple(
        BilledMachine(
            stay,
            fleet.offers[stay.offer],
            bills[stay.machine].net_usd,
            bills[stay.machine].refund_usd,
            stay.machine in fleet.revoked,
        )
        for stay in outcome.stays
        if stay.machine in bills
    )
    return Tuned(asked, outcome, machines, dict(fleet.failures), (*outcome.notes, *fleet.notes))


def _place(workshop: Workshop, clock: Clock) -> Place:
    runs, store = workshop.runs / workshop.name, CheckpointStore(workshop.checkpoints, workshop.name)
    executor = LocalExecutor(
        workshop.problem,
        workshop.arguments,
        folder=workshop.folder,
        runs=runs,
        checkpoints=store,
        clock=clock,
        study=workshop.name,
        save_every=workshop.save_every,
    )
    return Place(
        executor,
        store,
        forget=lambda number: RunFolder(runs, number).remove_checkpoint(),
        key=lambda number: RunFolder(runs, number).key,
        grace=workshop.grace,
    )


def _training(space: Space, settings: Sequence[Setting]) -> Callable[[int, Offer], Configuration]:
    (name,) = _cluster_names(space)
    clusters = {one.type: one for one in _clusters(space) if one.nodes == 1}

    def training(job: int, offer: Offer) -> Configuration:
        return space.configuration({**settings[job], name: clusters[offer.machine.name]})

    return training


def _check_room(workshop: Workshop, market: Marketplace) -> None:
    """Whether this machine can stand in for as many machines as are used at once."""
    host = this_host()
    for machine in dict.fromkeys(feed.machine for feed in market.feeds):
        check_cluster(Cluster(machine, 1), host)
        most = len(host.cores) // cores_for(machine.vcpus)
        if workshop.parallel > most:
            what = f"{workshop.parallel} programs at once on {machine.name} need more than {len(host.cores)} cores"
            raise InvalidInput(what, where="run.parallel", hint=f"Write parallel: {most}, or take smaller machines")


def _cluster_names(space: Space) -> list[str]:
    return [name for name, one in space.parameters.items() if isinstance(one, Clusters)]


def _clusters(space: Space) -> list[Cluster]:
    parameters = (one for one in space.parameters.values() if isinstance(one, Clusters))
    return [cluster for parameter in parameters for cluster in parameter.options]
