"""A strategy is a recipe: start, models, acquisition, filter, tests, incumbent, stops. Nothing here computes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

from leantune.acquisition.base import Acquisition
from leantune.filters.base import Filter
from leantune.filters.ranked import NoFilter
from leantune.models.base import Fitter
from leantune.problem import At
from leantune.strategies.designs import Design
from leantune.strategies.stops import StopRule

Spend = Literal["dollars", "seconds"]


class Shares(StrEnum):
    """Which shares of the data a recipe tests."""

    ALL = "all s"
    PARTIAL = "s < 1"
    FULL = "s = 1"


@dataclass(frozen=True)
class Incumbent:
    """Which configurations may be recommended when the problem is about full data.

    probability: of all limits together that carry none of their own. constrained: whether the recipe knows limits at
    all (Fabolas and EI do not).
    """

    probability: float = 0.90
    constrained: bool = True


@dataclass(frozen=True)
class Caps:
    """Limits of the work in large spaces; a proposal notes the caps that applied.

    candidates: pairs that get the full acquisition. representers: configurations over which p_opt is sampled, those of
    largest mean + sd at full data. incumbents: configurations among which the incumbent after a simulated test is
    sought, those of largest CEA at full data by the present models. pool: configurations drawn where the space cannot
    be enumerated.
    """

    candidates: int = 2000
    representers: int = 500
    incumbents: int = 500
    pool: int = 2000


@dataclass(frozen=True)
class Recipe:
    """One named strategy.

    serves: problems it is made for; with the single fraction 1 both are one. models, acquisition: None means random
    search. spend: model seconds and multiply by the known rate, or model dollars as a black box, as the papers do (and
    as is done in any case where rates are unknown). repeats: how often one pair may be tested. snapshots: a test
    reports at every smaller fraction that was not tested yet, where the program can do that. natural_scales: a share is
    modelled by its logit, and a positive goal that is to be small by its logarithm, where the user says nothing; a
    machine by those of its columns that say something new.
    decides: by the acquisition and the incumbent's rule, or by what tests are worth above the best result within the
    budget (strategies.lean); then the acquisition serves the cheapest anywhere. curves: whether `lean` stops runs that
    will not pay, by their learning curves (strategies.trial_ends). thrift: what dollars count for to `lean` where only
    trials are limited (strategies.budgets).
    """

    name: str
    start: Design
    models: Fitter | None
    acquisition: Acquisition | None
    filter: Filter = field(default_factory=NoFilter)
    tests: Shares = Shares.ALL
    serves: frozenset[At] = frozenset(At)
    incumbent: Incumbent = Incumbent()
    spend: Spend = "seconds"
    repeats: int = 1
    snapshots: bool = False
    natural_scales: bool = False
    decides: Literal["acquisition", "worth"] = "acquisition"
    curves: bool = False
    thrift: float = 0.0
    stops: tuple[StopRule, ...] = ()
    caps: Caps = Caps()

    def with_common_incumbent(self) -> Recipe:
        """The recipe under the rule that all share in a fair comparison (ALGORITHMS.md: `incumbent: common`)."""
        return replace(self, incumbent=Incumbent(), decides="acquisition")
