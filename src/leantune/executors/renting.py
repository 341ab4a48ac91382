"""Where to rent the machines of a trial: which zone, with which max price, or on demand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leantune.clock import Clock
from leantune.cloud.predictor import Predictor
from leantune.cloud.provider import Offer, Provider
from leantune.errors import LaunchRefused, SpaceError
from leantune.history import Trial
from leantune.problem import TIME
from leantune.rent.provisioner import CheapestStep, Demand
from leantune.rent.quotes import LiveForecaster
from leantune.space import Cluster
from leantune.units import SECONDS_PER_HOUR, Seconds

Wanted = tuple[Offer, float | None]  # and the max price to ask with; None on demand


class Renter:
    """Rents machines of a trial's own type, in whichever zone a kept second of work costs the fewest dollars.

    boot: seconds before a machine is of use. save: seconds of the market that saving and restoring take.
    """

    def __init__(
        self, provider: Provider, clock: Clock, predictor: Predictor, *, tag: str, boot: float = 60.0, save: float = 5.0
    ) -> None:
        self._provider, self._clock, self._tag = provider, clock, tag
        self._boot, self._save = boot, save
        self._offers = provider.offers()
        self._forecaster = LiveForecaster(self._offers, provider.history, predictor)
        self._chooser = CheapestStep(provider.policy)
        # so that kernels are compiled before anything is paid for, and no launch is decided by prices that are over
        next(self._chooser.ranked(self._demand(1.0), self._forecaster.quotes(clock.now()), 0), None)

    def cluster_of(self, trial: Trial) -> Cluster:
        """The cluster of a trial; SpaceError where it has none, or one that nobody rents out."""
        cluster = trial.configuration.cluster
        where = f"trial {trial.number}"
        if cluster is None:
            raise SpaceError("it names no machine to rent", where=where, hint="Add a cluster to the space")
        if all(offer.machine.name != cluster.type for offer in self._offers):
            known = ", ".join(dict.fromkeys(offer.machine.name for offer in self._offers))
            raise SpaceError(f"{cluster.type} is not for rent", where=where, hint=f"There are {known}")
        return cluster

    def wanted(self, trial: Trial, time_limit: Seconds | None) -> Sequence[Wanted]:
        """What to ask for, best first, and at last on demand, whatever is expected of it.

        How long it will run is taken from the models, else from its limit.
        """
        kind, quotes = self.cluster_of(trial).type, self._forecaster.quotes(self._clock.now())
        others = [index for index, offer in enumerate(self._offers) if offer.machine.name != kind]
        known = trial.expected[TIME].mean if TIME in trial.expected else time_limit or SECONDS_PER_HOUR
        ranked = self._chooser.ranked(self._demand(max(known, 1.0)), quotes.closed(others), trial.number)
        wanted = [(self._offers[choice.offer], choice.max_price) for choice in ranked]
        sure = [offer for offer in self._offers if offer.on_demand and offer.machine.name == kind]
        return [*wanted, *((offer, None) for offer in sure if (offer, None) not in wanted)]

    def _demand(self, seconds: float) -> Demand:
        """Of a run of so many seconds, on whichever machine."""
        return Demand(np.ones(len(self._offers)), seconds, self._boot, self._save, self._save)

    def rent(self, trial: Trial, time_limit: Seconds | None) -> list[str]:
        """The ids of all machines of the trial's cluster; fewer, or none, where more were not to be had."""
        cluster, wanted, rented = self.cluster_of(trial), list(self.wanted(trial, time_limit)), list[str]()
        while wanted and len(rented) < cluster.nodes + cluster.extra_nodes:
            offer, max_price = wanted[0]
            try:
                rented.append(self._provider.launch(offer, max_price, self._tag))
            except LaunchRefused:
                wanted.pop(0)  # the next zone, or on demand
        return rented
