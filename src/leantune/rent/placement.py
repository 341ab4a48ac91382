"""Places trials on rented machines: which machine, for how long, and how often they save meanwhile.

A `Placement` is known to the rented executor alone. Its answers are functions of what it is asked (`Need`, `Held`,
`Quotes`) and of the step times that it was told: the same events give the same decisions.

    FixedPlacement   the machine is part of the configuration (TrimTuner): any zone, spot or on demand
    FreePlacement    the machine is free (SpotTune): the fewest expected dollars per kept step, over all types
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np

from leantune.arrays import FloatArray
from leantune.cloud.provider import Offer
from leantune.errors import SpaceError
from leantune.history import Trial
from leantune.problem import TIME
from leantune.rent.expectation import hazard_of, save_interval
from leantune.rent.provisioner import (
    Chooser,
    Demand,
    Held,
    OfferChoice,
    cheapest_on_demand,
    fastest_on_demand,
)
from leantune.rent.quotes import Quotes
from leantune.rent.step_times import StepTimes
from leantune.space import Cluster
from leantune.units import SECONDS_PER_HOUR

# How much longer than estimated a step may take when a deadline is to be kept, on a type that was tried or not.
_TRIED, _UNTRIED = 1.03, 1.25


class Need(NamedTuple):
    """The needs of a trial at `now`. done: the step that it has reached. save, restore: seconds of its checkpoint.

    limit: seconds that its run may take, None where unknown. waited: seconds without a machine so far. keeps: its
    program saves checkpoints, as far as we know.
    """

    trial: Trial
    now: float
    done: float = 0.0
    save: float = 5.0
    restore: float = 5.0
    limit: float | None = None
    waited: float = 0.0
    keeps: bool = True


class Placement(ABC):
    """Decides where trials run. Unless it says otherwise, a trial runs on one machine, stays there, has no deadline."""

    @property
    def notice(self) -> float:
        """Seconds that a checkpoint may take when a machine is about to be taken; infinite: others watch for that."""
        return math.inf

    def nodes(self, trial: Trial) -> int:
        """How many machines it runs on."""
        return 1

    @abstractmethod
    def check(self, trial: Trial) -> None:
        """Refuse (SpaceError) a trial for which no machines are rented out."""

    @abstractmethod
    def choose(self, need: Need, quotes: Quotes) -> Iterable[OfferChoice]:
        """Offers to try, best first; a launch may be refused, then the next is tried."""

    def keep(self, need: Need, held: Held, quotes: Quotes) -> bool:
        """Whether a trial stays where it has been for a while; if not, it is saved and moves."""
        return True

    def save_every(self, need: Need, held: Held, quotes: Quotes) -> float:
        """Seconds until the next periodic checkpoint; infinite where the notice leaves time to save."""
        return math.inf

    def move_by(self, need: Need, held: Held) -> float:
        """When to look again whether a deadline forces it to a faster machine; infinite without a deadline."""
        return math.inf

    def must_move(self, need: Need) -> bool:
        """Whether the deadline forces it to a faster machine now."""
        return False

    def last_moment(self, need: Need) -> float:
        """When it must go on at the latest, on the fastest machine on demand; infinite without a deadline."""
        return math.inf

    @abstractmethod
    def measured(self, machine_type: str, number: int, seconds: float, steps: float) -> None:
        """A trial took `seconds` for `steps` on a machine of the type."""


@dataclass(frozen=True)
class FixedPlacement(Placement):
    """Machines of the type that the configuration names, wherever a kept second of work costs the fewest dollars.

    offers: what can be rented. boot: seconds before a machine is of use.
    Nothing moves it, and the executor of the programs watches for notices.
    """

    offers: tuple[Offer, ...]
    chooser: Chooser
    boot: float = 60.0

    def cluster_of(self, trial: Trial) -> Cluster:
        """The cluster of a trial; SpaceError where it has none, or one that is not for rent."""
        cluster = trial.configuration.cluster
        where = f"trial {trial.number}"
        if cluster is None:
            raise SpaceError("it names no machine to rent", where=where, hint="Add a cluster to the space")
        if all(offer.machine.name != cluster.type for offer in self.offers):
            names = ", ".join(dict.fromkeys(offer.machine.name for offer in self.offers))
            raise SpaceError(f"{cluster.type} is not for rent", where=where, hint=f"There are {names}")
        return cluster

    def nodes(self, trial: Trial) -> int:
        """All of the cluster."""
        cluster = self.cluster_of(trial)
        return cluster.nodes + cluster.extra_nodes

    def check(self, trial: Trial) -> None:
        """See `cluster_of`."""
        self.cluster_of(trial)

    def choose(self, need: Need, quotes: Quotes) -> Iterable[OfferChoice]:
        """Best first, and at last on demand, at any expected cost.

        How long it will run is taken from the models, else from its limit.
        """
        trial, kind = need.trial, self.cluster_of(need.trial).type
        others = [index for index, offer in enumerate(self.offers) if offer.machine.name != kind]
        seconds = trial.expected[TIME].mean if TIME in trial.expected else need.limit or SECONDS_PER_HOUR
        demand = Demand(np.ones(len(self.offers)), max(seconds, 1.0), self.boot, need.save, need.restore)
        ranked = list(self.chooser.ranked(demand, quotes.closed(others), trial.number))
        listed = {choice.offer for choice in ranked if choice.max_price is None}
        on_demand = [row for row, offer in enumerate(self.offers) if offer.on_demand and offer.machine.name == kind]
        return [
            *ranked,
            *(OfferChoice(row, None, math.nan) for row in on_demand if row not in listed and quotes.open[row].any()),
        ]

    def measured(self, machine_type: str, number: int, seconds: float, steps: float) -> None:
        """Ignored: the models learn seconds."""


@dataclass(frozen=True)
class Pace:
    """How fast, how safely and until when a free machine is to bring a trial to its goal.

    hour: seconds after which a move is considered. boot: seconds before a machine is of use. notice: seconds that a
    checkpoint may take after a warning; 0: there is no warning. finish_by: when all must be over, None for whenever;
    kept by machines on demand. pace: a wish, not a promise: to take no longer than this multiple of the time that the
    machines with the cheapest steps on demand would take; None: however long. patience: seconds without any machine
    after which a trial goes on demand. retry: seconds until it is tried again.
    """

    hour: float = 3600.0
    boot: float = 60.0
    notice: float = 110.0
    finish_by: float | None = None
    pace: float | None = 1.0
    patience: float = 6 * 3600.0
    retry: float = 60.0


@dataclass(frozen=True)
class Course:
    """How far trials go. last: the last step of a trial. goal: the step at which it is judged next, given how far it
    has come; theta: share of the steps at which all are judged, 1 where none is judged.
    """

    last: Callable[[Trial], float] = lambda trial: 1.0
    goal: Callable[[Trial, float], float] = lambda trial, done: 1.0
    theta: float = 1.0


@dataclass
class FreePlacement(Placement):
    """SpotTune's: a market for each trial and moment, by expected dollars per kept step.

    began: when the study began. side_by_side: number and last step of the trials whose longest sets the pace for all.
    notes: what could not be done, counted.
    """

    offers: tuple[Offer, ...]
    chooser: Chooser
    pace: Pace
    course: Course
    began: float
    times: StepTimes
    side_by_side: Sequence[tuple[int, float]] = ()
    notes: dict[str, int] = field(default_factory=dict)
    _longest: float = math.inf
    _longest_of: int = -1

    def __post_init__(self) -> None:
        names = list(dict.fromkeys(offer.machine.name for offer in self.offers))
        self._types = np.array([names.index(offer.machine.name) for offer in self.offers])

    @property
    def notice(self) -> float:
        """As the market gives it."""
        return self.pace.notice

    def check(self, trial: Trial) -> None:
        """Any machine will do."""

    def choose(self, need: Need, quotes: Quotes) -> Iterable[OfferChoice]:
        """By the chooser, or on demand by speed when time is running out.

        With a deadline and no idea yet how long a step takes, a trial must not wait for a cheap machine: on demand
        last. Neither does it wait for ever where the chooser wants nothing that is available.
        """
        impatient = need.waited > self.pace.patience
        deadline = self.pace.finish_by is not None
        on_demand = self._on_demand_by_speed(need, quotes) if deadline or impatient else []
        if on_demand and self._hurried(need):
            return on_demand
        ranked = self.chooser.ranked(self._demand(need), quotes, need.trial.number)
        return chain(ranked, on_demand) if impatient or not self.times.has_measurements else ranked

    def keep(self, need: Need, held: Held, quotes: Quotes) -> bool:
        """Not where another machine promises cheaper steps; a program that saves nothing is never moved."""
        if not need.keeps:
            self._note("a job is not moved: its program saves no checkpoint")
            return True
        if held.max_price is None and self._hurried(need):
            return True
        return self.chooser.stays(self._demand(need), quotes, held, need.trial.number)

    def save_every(self, need: Need, held: Held, quotes: Quotes) -> float:
        """Models that cannot be saved within the notice are saved every sqrt(2 C / hazard) seconds."""
        if held.max_price is None:
            return math.inf
        p = quotes.risk(held.offer, held.max_price)
        return save_interval(hazard_of(p), max(need.save, 1.0))

    def move_by(self, need: Need, held: Held) -> float:
        """The last moment, and before: how long steps take is learned only while they are done."""
        if self.pace.finish_by is None or held.offer == self._fastest(need.trial.number):
            return math.inf
        return min(max(self.last_moment(need), need.now), need.now + self.pace.hour / 6)

    def must_move(self, need: Need) -> bool:
        """Whether the deadline forces it to the fastest machine on demand now."""
        return self.last_moment(need) <= need.now + 1.0

    def measured(self, machine_type: str, number: int, seconds: float, steps: float) -> None:
        """Step times are learned while trials run."""
        self.times.measured(machine_type, number, seconds, steps)

    def last_moment(self, need: Need) -> float:
        """When a trial must be on the fastest machine on demand to be over in time; infinite without a deadline."""
        if self.pace.finish_by is None:
            return math.inf
        number, seconds = need.trial.number, self._step_seconds(need.trial.number)
        row = fastest_on_demand(self.offers, seconds)
        if row is None:
            self._note("a deadline without machines on demand cannot be kept for sure")
            return math.inf
        lead = self.pace.boot + need.restore + 2 * need.save + self.pace.retry
        tried = self.times.is_measured(self.offers[row].machine.name, number)
        left = self.course.last(need.trial) - need.done
        return self.pace.finish_by - left * float(seconds[row]) * (_TRIED if tried else _UNTRIED) - lead

    def _hurried(self, need: Need) -> bool:
        """Whether only the fastest machine on demand will do, or is about to."""
        return self.last_moment(need) - self.pace.hour / 6 <= need.now

    def _fastest(self, number: int) -> int | None:
        return fastest_on_demand(self.offers, self._step_seconds(number))

    def _on_demand_by_speed(self, need: Need, quotes: Quotes) -> list[OfferChoice]:
        """Machines on demand, fastest first."""
        seconds = self._step_seconds(need.trial.number)
        rows = [row for row, offer in enumerate(self.offers) if offer.on_demand and quotes.open[row].any()]
        return [OfferChoice(row, None, math.nan) for row in sorted(rows, key=lambda row: float(seconds[row]))]

    def _demand(self, need: Need) -> Demand:
        goal = self.course.goal(need.trial, need.done)
        within = max(self._target(need.trial, goal) - need.now, 0.0)
        seconds = self._step_seconds(need.trial.number)
        return Demand(seconds, max(goal - need.done, 1.0), self.pace.boot, need.save, need.restore, within)

    def _target(self, trial: Trial, goal: float) -> float:
        """When the trial should reach its goal, to be no slower than on demand; infinite where nothing is wished.

        A tuning is over with its last trial, so that the time of the longest counts for all: up to the selection, and
        once more, for the steps after it.
        """
        if self.pace.pace is None or not self.times.has_measurements:
            return math.inf
        if self._longest_of != self.times.version:
            self._longest_of = self.times.version
            self._longest = max((self._on_demand_seconds(*job) for job in self.side_by_side), default=math.inf)
        going_on = goal > self.course.theta * self.course.last(trial)
        return self.began + self.pace.pace * self._longest * (1.0 if going_on else self.course.theta)

    def _on_demand_seconds(self, number: int, last: float) -> float:
        """Seconds of a whole trial on the machine on demand whose steps are cheapest; infinite without such."""
        seconds = self._step_seconds(number)
        row = cheapest_on_demand(self.offers, seconds)
        return math.inf if row is None else self.pace.boot + last * float(seconds[row])

    def _step_seconds(self, number: int) -> FloatArray:
        seconds: FloatArray = self.times.of_job(number)[self._types]
        return seconds

    def _note(self, text: str) -> None:
        self.notes[text] = self.notes.get(text, 0) + 1
