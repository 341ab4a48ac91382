"""When a run is ended because its result would be of no use.

    a limit is broken       1.1 times what a limit on seconds allows, or one on dollars at the machine's price
    it is beaten            1.1 times the dollars (seconds) of the best result, where those are to be minimised
    it is a surprise        exp(2 sd) times the seconds that it was chosen for, and at least twice as many; where
                            dollars or hours are budgeted, and not for a favourite, which is tested to be believed
    the budget              all that is left, half of it while nothing is known of the run; where so budgeted

A result that breaks a limit teaches too. So no run is ended before it has taken three times its trial's share of the
dollars and hours that are left, and where only trials are limited none is, unless thrift asks for it. The tenth is for
what comes near a limit: that is measured to its end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leantune.arrays import FloatArray
from leantune.history import Note, NoteKind
from leantune.problem import COST, TIME, At, Direction, Problem
from leantune.strategies.budgets import SURPRISE, Resources
from leantune.strategies.evidence import Evidence
from leantune.text import duration
from leantune.units import SECONDS_PER_HOUR

NEAR = 1.1  # times a limit or the best result
FAIR = 3.0  # trials' shares of what is left, that a run may always take
OF_LEFT_BLIND = 0.5  # of what is left of a budget, that a run may take of which nothing is known
LEAST_USE = 0.1  # of the shortest run so far: a run that may take less shows nothing


@dataclass(frozen=True)
class Cutoffs:
    """The limits of a run, in seconds and in dollars; infinite where there is none. left: of the budget.

    priced: dollars are seconds times the machine's price. shortest: seconds of the shortest run so far; None before any
    has ended.
    """

    seconds: float
    usd: float
    left: Resources
    priced: bool
    shortest: float | None = None

    @classmethod
    def of(cls, problem: Problem, evidence: Evidence, left: Resources) -> Cutoffs:
        """As far as the limits, the best result and the budget say."""
        seen = evidence.metrics[TIME][np.isfinite(evidence.metrics[TIME])]
        shortest = float(seen.min()) if len(seen) else None
        if left.only_trials and not left.thrift:
            return cls(np.inf, np.inf, left, False, shortest)
        allowed = {COST: np.inf, TIME: np.inf}
        for limit in problem.constraints:
            if limit.upper and limit.metric in allowed and limit.limit > 0:
                allowed[limit.metric] = min(allowed[limit.metric], NEAR * limit.limit)
        goal = problem.goal
        if goal.metric in allowed and goal.direction is Direction.MINIMIZE:
            kept = evidence.kept_limits() & ~evidence.cut & np.isfinite(evidence.metrics[goal.metric])
            if goal.at is At.FULL:
                kept &= evidence.level == len(problem.fractions) - 1
            best = evidence.metrics[goal.metric][kept]
            allowed[goal.metric] = min(allowed[goal.metric], NEAR * float(best.min(initial=np.inf)))
        priced = evidence.dollars_follow_seconds or not evidence.informative(COST).any()
        return cls(allowed[TIME], allowed[COST], left, priced, shortest)

    def useless_after(
        self, rates: FloatArray | None, expected: FloatArray | None, *, patient: bool = False
    ) -> FloatArray:
        """Seconds after which each of B runs is of no more use, at any budget left; infinite: never; [B].

        rates: USD per hour of their machines, [B]. expected: seconds that they are expected to take, as of
        `budgets.amount`; None: nothing is known of them. patient: a surprise is borne.
        """
        most = np.full(_count(rates, expected), self.seconds)
        if rates is not None and self.priced:
            most = np.minimum(most, self.usd * _seconds_per_usd(rates))
        if expected is not None and self.left.limited and not patient:
            most = np.minimum(most, expected[SURPRISE])
        return np.asarray(np.maximum(most, self._fair(rates, len(most))))

    def _fair(self, rates: FloatArray | None, count: int) -> FloatArray:
        """Seconds that each run may take at least, by its trial's share of what is left; [B]."""
        if self.left.trials is None or self.left.only_trials:  # of trials alone there is no share in dollars
            return np.zeros(count)
        return self._affordable(rates, count, FAIR / max(self.left.trials, 1))

    def _affordable(self, rates: FloatArray | None, count: int, share: float) -> FloatArray:
        """Seconds that a share of what is left pays for, infinite where it has no such limit; [B]."""
        most = np.full(count, np.inf)
        if self.left.seconds is not None:
            most = np.minimum(most, share * max(self.left.seconds, 0.0))
        if self.left.usd is not None and rates is not None and self.priced:
            most = np.minimum(most, share * max(self.left.usd, 0.0) * _seconds_per_usd(rates))
        return np.asarray(most)

    def after(self, rates: FloatArray | None, expected: FloatArray | None, *, patient: bool = False) -> FloatArray:
        """Seconds after which each of B runs is ended, by what is left of the budget too; infinite for never; [B]."""
        most = self.useless_after(rates, expected, patient=patient)
        share = OF_LEFT_BLIND if expected is None else 1.0
        return np.asarray(np.minimum(most, self._affordable(rates, len(most), share)))

    def pays_for_none(self, rates: FloatArray | None) -> bool:
        """Whether what is left of the budget would end a run so early that it shows nothing."""
        return self.shortest is not None and self._affordable(rates, 1, 1.0)[0] < LEAST_USE * self.shortest


def _count(rates: FloatArray | None, expected: FloatArray | None) -> int:
    return len(rates) if rates is not None else 1 if expected is None else expected.shape[1]


def _seconds_per_usd(rates: FloatArray) -> FloatArray:
    return SECONDS_PER_HOUR / np.maximum(rates, 1e-12)


def useful_seconds(most: float) -> tuple[float | None, tuple[Note, ...]]:
    """For a proposal: None where nothing ends the run, else the seconds and a note."""
    if not 0.0 < most < np.inf:
        return None, ()
    return float(most), (Note(NoteKind.CUTOFF, f"of no more use after {duration(most)}"),)
