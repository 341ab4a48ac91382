"""The place `simcloud`: machines of a simulated market, played by this machine."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from itertools import pairwise

from leantune.clock import Clock, ScaledClock
from leantune.cloud.market_settings import MarketSettings
from leantune.cloud.marketplace import Marketplace, marketplace
from leantune.cloud.provider import Offer
from leantune.errors import InvalidInput, JobError
from leantune.executors.base import Executor
from leantune.executors.fleet import RentalMarket
from leantune.executors.keeper import SAVE_EVERY
from leantune.executors.local import LocalPlace
from leantune.executors.registry import Charges, Past, ProgramSettings
from leantune.executors.rented import ProgramHooks, RentedExecutor, as_it_is
from leantune.executors.run_folder import RunFolder
from leantune.executors.watched import WatchedExecutor
from leantune.rent.placement import Course, FixedPlacement, FreePlacement, Pace, Placement
from leantune.rent.provisioner import CheapestStep
from leantune.rent.quotes import LiveForecaster
from leantune.rent.step_times import StepTimes
from leantune.revocation.predictors import named_or_saved

POLL_SECONDS = 0.1  # of this world, until a notice is heard


class SimulatedPlace:
    """The simulated market for a study; it is made once."""

    def __init__(self, settings: ProgramSettings) -> None:
        self._settings = settings
        self._conditions = settings.market or MarketSettings()
        self._speed = self._conditions.speed

    @cached_property
    def market(self) -> Marketplace:
        """The market that the study's machines are rented on; JobError where there can be none."""
        machines = [cluster.machine for cluster in self._settings.clusters]
        try:
            return marketplace(machines, self._conditions, spot=self._settings.spot)
        except InvalidInput as error:
            raise JobError(error.what, where=error.where, hint=error.hint) from None

    def check(self) -> None:
        """Refuse machines without a price or larger than this machine, and a predictor that is missing or lacks its
        library.
        """
        _ = self.market
        named_or_saved(self._settings.predictor)
        LocalPlace(self._settings).check()

    @property
    def charges(self) -> Charges:
        """By the market's bills; a machine is paid for while it boots, and for the least that is billed."""
        worst = None
        if self._settings.on_machine is not None:
            worst = max(cluster.usd_per_hour or 0.0 for cluster in self._settings.clusters)
        return Charges(True, self._speed, self.market.setup_seconds, worst, adds_up=worst is not None)

    def executor(self, clock: Clock, past: Past = Past()) -> Executor:  # noqa: B008 - frozen
        """Rents machines and runs the program here. A study that goes on finds the market where it was left."""
        settings, speed = self._settings, self._speed
        time = ScaledClock(clock, speed, max(self.market.opens + past.trained_seconds, past.latest))
        provider = self.market.provider(time, launches=len(past.stays))
        offers = provider.offers()
        forecaster = LiveForecaster(offers, provider.history, named_or_saved(settings.predictor))
        placement = self._placement(offers, past, time.now())
        # So that kernels are compiled before anything is paid for, and no launch is decided by prices that are over.
        forecaster.quotes(time.now())
        save = self.market.save_seconds(speed)
        market = RentalMarket(provider, time, offers, forecaster, tag=settings.study, source=self._conditions.prices)
        hooks = ProgramHooks(
            settings.on_machine or as_it_is,
            lambda number: RunFolder(settings.runs, number).remove_checkpoint(),
            lambda trial: (save, save),
            bills_add_up=settings.on_machine is not None,
        )
        # A market that runs faster leaves less of this world's time between two checkpoints.
        programs = LocalPlace(settings).executor(clock, past, save_every=SAVE_EVERY / max(1.0, speed))
        rented = RentedExecutor(programs, market, placement, clock, hooks)
        rented.recall(past.stays)
        return WatchedExecutor(rented, clock)

    def _placement(self, offers: tuple[Offer, ...], past: Past, now: float) -> Placement:
        settings, policy, boot = self._settings, self.market.policy, self.market.boot_seconds
        chooser = CheapestStep(policy, poll=POLL_SECONDS * self._speed)
        if settings.on_machine is None:
            return FixedPlacement(offers, chooser, boot)
        notice = max(policy.notice_seconds - POLL_SECONDS * self._speed, 0.0)
        # With fewer programs at once than settings, the pace of one machine for each cannot be kept.
        count = len(settings.problem.settings)
        pace = 1.0 if 0 < count <= settings.parallel else None
        times = StepTimes({offer.machine.name: offer.machine.vcpus for offer in offers}, max(count, 1))
        recall_steps(times, past)
        last = 1.0 if settings.problem.steps is None else settings.problem.steps
        return FreePlacement(
            offers,
            chooser,
            Pace(boot=boot, notice=notice, pace=pace),
            settings.course or Course(),
            min((stay.launched for stay in past.stays), default=now),
            times,
            side_by_side=[(number, last) for number in range(count)],
        )


def place_of(settings: ProgramSettings) -> SimulatedPlace:
    """The simulated market, for a study."""
    return SimulatedPlace(settings)


def recall_steps(times: StepTimes, past: Past) -> None:
    """Seconds per step of earlier runs: from report to report, on the run's machine."""
    types = {(stay.number, stay.attempt): stay.market.partition("/")[0] for stay in past.stays}
    runs: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for row in past.reports:
        if row.step is not None and (row.number, row.attempt) in types:
            runs[row.number, row.attempt].append((row.seconds, row.step))
    for run, points in runs.items():
        for (began, first), (seconds, step) in pairwise(points):
            if seconds > began and step > first:
                times.measured(types[run], run[0], seconds - began, step - first)
