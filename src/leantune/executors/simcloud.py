"""The place `simcloud`: machines of a simulated market, for which this machine stands in."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from leantune.clock import Clock, ScaledClock
from leantune.cloud.market_settings import MarketSettings
from leantune.cloud.marketplace import Marketplace, marketplace
from leantune.cloud.provider import Offer
from leantune.errors import InvalidInput, JobError
from leantune.executors import local
from leantune.executors.base import Executor
from leantune.executors.fleet import RentalMarket
from leantune.executors.keeper import SAVE_EVERY
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


def market_of(settings: ProgramSettings) -> Marketplace:
    """The market that the study's machines are rented on; JobError where there can be none."""
    machines = [cluster.machine for cluster in settings.clusters]
    try:
        return marketplace(machines, settings.market or MarketSettings(), spot=settings.spot)
    except InvalidInput as error:
        raise JobError(error.what, where=error.where, hint=error.hint) from None


def check_settings(settings: ProgramSettings) -> None:
    """Refuse machines without a price, those that this machine cannot stand in for, and a predictor that is not there
    or lacks its library.
    """
    market_of(settings)
    named_or_saved(settings.predictor)
    local.check_settings(settings)


def charges(settings: ProgramSettings) -> Charges:
    """By the market's bills; a machine is paid for while it boots, and for the least that is billed."""
    worst = None
    if settings.on_machine is not None:
        worst = max(cluster.usd_per_hour or 0.0 for cluster in settings.clusters)
    return Charges(True, _speed(settings), market_of(settings).setup_seconds, worst, adds_up=worst is not None)


def make_executor(settings: ProgramSettings, clock: Clock) -> Executor:
    """Rents machines and runs the program here. A study that goes on finds the market where it was left."""
    place, speed = market_of(settings), _speed(settings)
    time = ScaledClock(clock, speed, max(place.opens + settings.trained_seconds, settings.past.latest))
    provider = place.provider(time, launches=len(settings.past.stays))
    offers = provider.offers()
    forecaster = LiveForecaster(offers, provider.history, named_or_saved(settings.predictor))
    chooser = CheapestStep(place.policy, poll=POLL_SECONDS * speed)
    placement = _placement(settings, place, offers, chooser, time.now())
    # So that kernels are compiled before anything is paid for, and no launch is decided by prices that are over.
    forecaster.quotes(time.now())
    save = place.save_seconds(speed)
    source = (settings.market or MarketSettings()).prices
    market = RentalMarket(provider, time, offers, forecaster, tag=settings.study, source=source)
    hooks = ProgramHooks(
        settings.on_machine or as_it_is,
        lambda number: RunFolder(settings.runs, number).remove_checkpoint(),
        lambda trial: (save, save),
        bills_add_up=settings.on_machine is not None,
    )
    # A market that runs faster leaves less of this world's time between two checkpoints.
    programs = local.make_executor(settings, clock, save_every=SAVE_EVERY / max(1.0, speed))
    rented = RentedExecutor(programs, market, placement, clock, hooks)
    rented.recall(settings.past.stays)
    return WatchedExecutor(rented, clock)


def _placement(
    settings: ProgramSettings, place: Marketplace, offers: tuple[Offer, ...], chooser: CheapestStep, now: float
) -> Placement:
    if settings.on_machine is None:
        return FixedPlacement(offers, chooser, place.boot_seconds)
    speed = _speed(settings)
    notice = max(place.policy.notice_seconds - POLL_SECONDS * speed, 0.0)
    # With fewer programs at once than settings nobody can keep pace with one machine for each.
    count = len(settings.problem.settings)
    pace = 1.0 if 0 < count <= settings.parallel else None
    times = StepTimes({offer.machine.name: offer.machine.vcpus for offer in offers}, max(count, 1))
    recall_steps(times, settings.past)
    last = 1.0 if settings.problem.steps is None else settings.problem.steps
    return FreePlacement(
        offers,
        chooser,
        Pace(boot=place.boot_seconds, notice=notice, pace=pace),
        settings.course or Course(),
        min((stay.launched for stay in settings.past.stays), default=now),
        times,
        side_by_side=[(number, last) for number in range(count)],
    )


def recall_steps(times: StepTimes, past: Past) -> None:
    """What earlier runs showed of seconds per step: from report to report, on the machine that the run was on."""
    types = {(stay.number, stay.attempt): stay.market.partition("/")[0] for stay in past.stays}
    runs: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for row in past.reports:
        if row.step is not None and (row.number, row.attempt) in types:
            runs[row.number, row.attempt].append((row.seconds, row.step))
    for run, points in runs.items():
        for (began, first), (seconds, step) in pairwise(points):
            if seconds > began and step > first:
                times.measured(types[run], run[0], seconds - began, step - first)


def _speed(settings: ProgramSettings) -> float:
    return (settings.market or MarketSettings()).speed
