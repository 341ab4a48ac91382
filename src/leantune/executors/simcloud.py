"""The place `simcloud`: machines of a simulated market, for which this machine stands in."""

from __future__ import annotations

from leantune.clock import Clock
from leantune.cloud.market_settings import MarketSettings
from leantune.cloud.marketplace import Marketplace, marketplace
from leantune.errors import InvalidInput, JobError
from leantune.executors import local
from leantune.executors.keeper import SAVE_EVERY
from leantune.executors.registry import Charges, ProgramSettings
from leantune.executors.rented import RentedExecutor
from leantune.executors.renting import Renter
from leantune.executors.run_folder import RunFolder
from leantune.revocation.predictors import predictor


def market_of(settings: ProgramSettings) -> Marketplace:
    """The market that the study's machines are rented on; JobError where there can be none."""
    machines = [cluster.machine for cluster in settings.clusters]
    try:
        return marketplace(machines, settings.market or MarketSettings(), spot=settings.spot)
    except InvalidInput as error:
        raise JobError(error.what, where=error.where, hint=error.hint) from None


def check_settings(settings: ProgramSettings) -> None:
    """Refuse machines without a price, and those that this machine cannot stand in for."""
    market_of(settings)
    local.check_settings(settings)


def charges(settings: ProgramSettings) -> Charges:
    """By the market's bills; a machine is paid for while it boots, and for the least that is billed."""
    return Charges(True, _speed(settings), market_of(settings).setup_seconds)


def make_executor(settings: ProgramSettings, clock: Clock) -> RentedExecutor:
    """Rents machines and runs the program here. A study that goes on finds the market later, by what it has trained."""
    market, speed = market_of(settings), _speed(settings)
    time = market.clock(clock, speed, later=settings.trained_seconds)
    provider = market.provider(time)
    save = market.save_seconds(speed)
    renter = Renter(provider, time, predictor(), tag=settings.study, boot=market.boot_seconds, save=save)
    # A market that runs faster leaves less of this world's time between two checkpoints.
    programs = local.make_executor(settings, clock, save_every=SAVE_EVERY / max(1.0, speed))
    return RentedExecutor(
        programs, provider, renter, time, clock, lambda number: RunFolder(settings.runs, number).remove_checkpoint()
    )


def _speed(settings: ProgramSettings) -> float:
    return (settings.market or MarketSettings()).speed
