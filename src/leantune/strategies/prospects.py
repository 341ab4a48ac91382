"""The data of `lean` for choosing a test or recommending: beliefs, results, and the budget left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from leantune.acquisition.base import Belief, Conditions, Pairs
from leantune.acquisition.worth import FullDataOutlook, MeasuredResults, places
from leantune.arrays import BoolArray, FloatArray, IntArray
from leantune.models.base import Gaussian
from leantune.models.gp import GaussianProcess
from leantune.models.scales import Transform
from leantune.strategies.beliefs import build_belief, with_pending
from leantune.strategies.budgets import Resources, Takes
from leantune.strategies.candidates import Table
from leantune.strategies.cutoffs import Cutoffs
from leantune.strategies.evidence import Evidence
from leantune.strategies.recipe import Recipe

if TYPE_CHECKING:  # loaded only by the few studies that need it
    from leantune.strategies.repeating import RepeatedRuns
    from leantune.strategies.trial_ends import StoppedTrial

CAUTION = 0.5  # kappa: deviations that an untested configuration must be better by, where there is a budget
RESERVE = 1.0  # deviations by which an untested configuration must promise more, to be recommended
RIVALS, DRAWS = 100, 32  # configurations, and draws of each member, among which the best of all is sought
SMALLEST = 1e-12


@dataclass(frozen=True)
class Prospects:
    """See the module. settled: from results alone, `belief`: with pending trials too. standing: of those that
    were measured, where runs were repeated. cutoffs: when runs are ended.
    """

    table: Table
    belief: Belief
    settled: Belief
    conditions: Conditions
    outlook: FullDataOutlook
    standing: RepeatedRuns | None
    left: Resources
    cutoffs: Cutoffs

    @classmethod
    def of(
        cls,
        table: Table,
        evidence: Evidence,
        recipe: Recipe,
        seed: int,
        stopped: Sequence[StoppedTrial] = (),
        *,
        advising: bool,
    ) -> Prospects:
        """At least one run must have succeeded. stopped: trials whose ends the models are told. advising: for a
        recommendation, which must not rest on how trials under way are predicted to turn out.
        """
        left = Resources.of(table.problem, table.history, recipe.thrift)
        learned = evidence
        if stopped:
            from leantune.strategies.trial_ends import closed, informed

            learned = informed(evidence, stopped, natural=recipe.natural_scales)
        settled, conditions = build_belief(recipe, learned, table.candidates, seed)
        measured, standing = measured_on_all_data(table, evidence, settled), None
        if table.problem.repeats > 1:
            from leantune.strategies.repeating import RepeatedRuns

            standing = RepeatedRuns.of(table, evidence, settled)
        if standing is not None:
            measured = standing.believed(measured)
        if stopped:
            measured = closed(measured, stopped, table, settled)
        belief = settled if advising else with_pending(settled, table, settled.predict)
        cutoffs = Cutoffs.of(table.problem, evidence, left)
        outlook = FullDataOutlook.of(belief, measured, CAUTION if left.any and not advising else 0.0)
        return cls(table, belief, settled, conditions, outlook, standing, left, cutoffs)

    @property
    def favourite(self) -> tuple[int, bool]:
        """Row of the configuration to recommend, and whether it keeps the limits as surely as asked.

        The largest value(m - sd) min(P / asked, 1). Limits that are kept as surely as asked count no further;
        else their chance counts, so that a good one that may well keep them is not passed over for a bad one that
        surely does. A measured result has sd = 0 and P of 0 or 1: it gives way only to what promises more by more than
        its own error.
        """
        belief, outlook = self.belief, self.outlook
        assurance = self.conditions.rule.assurance(belief.full_beliefs, belief.everything)
        assurance[outlook.is_measured] = outlook.probability[outlook.is_measured]
        value = _value(belief.objective.transform, outlook.mean - RESERVE * outlook.sd)
        row = int((value * assurance).argmax())
        return row, bool(assurance[row] >= 1.0)

    @property
    def measured_favourite(self) -> int | None:
        """Row of the favourite, where it was measured and keeps the limits."""
        row, qualified = self.favourite
        return row if qualified and self.outlook.is_measured[row] else None

    def noticed(self, share: float) -> float:
        """The gain on the modelled scale that makes the best measured result better by this share of it."""
        transform, best = self.belief.objective.transform, self.best_measured
        sign = -1.0 if transform.descending else 1.0
        return float(transform.forward(np.array([best + sign * share * abs(best)]))[0]) - self.outlook.floor

    @property
    def best_measured(self) -> float:
        """The floor on the goal's own scale."""
        floor = Gaussian(np.array([self.outlook.floor]), np.zeros(1))
        return float(self.belief.objective.transform.expectation(floor)[0])

    def on_all_data(self, row: int) -> Pairs:
        """The test of a configuration on all data."""
        return self.belief.candidates.full_pairs(np.array([row]))

    def takes(self, pairs: Pairs) -> Takes:
        """The cost of tests; where shares are of epochs, only the part beyond the result that each goes on from."""
        takes = Takes.of(self.belief, self.conditions.cost, pairs)
        if takes.seconds is not None:
            rates = self._rates(pairs)
            takes = takes.ended_after(self.cutoffs.useless_after(rates, takes.seconds), rates)
        if self.table.problem.fidelity == "data":
            return takes
        return takes.without(*self._paid(pairs))

    def ended_after(self, pairs: Pairs, *, patient: bool = False) -> FloatArray:
        """Seconds after which each test is ended, infinite for never; [B]. patient: a surprise is borne."""
        return self.cutoffs.after(
            self._rates(pairs), Takes.of(self.belief, self.conditions.cost, pairs).seconds, patient=patient
        )

    def _rates(self, pairs: Pairs) -> FloatArray | None:
        rates = self.belief.candidates.rates
        return None if rates is None else rates[pairs.configuration]

    def _paid(self, pairs: Pairs) -> FloatArray:
        """Dollars and seconds of the results that tests go on from; [2, B]. A repeat starts from nothing."""
        table, paid = self.table, np.zeros((2, len(pairs)))
        tested = {int(row) for row in table.rows if row >= 0}
        for place, (row, level) in enumerate(zip(pairs.configuration.tolist(), pairs.level.tolist(), strict=True)):
            share, identity = table.problem.fractions[level], table.configurations[row].id
            if row in tested and share not in table.history.tested(identity):
                smaller = table.history.continued(identity, share)
                if smaller is not None:
                    paid[:, place] = smaller[1].cost or 0.0, smaller[1].seconds or 0.0
        return paid

    def can_be_tested(self, row: int) -> bool:
        """Whether a configuration's test on all data fits into what is left of the budget."""
        if self.left.trials is not None and self.left.trials < 1:
            return False
        return bool(self.takes(self.on_all_data(row)).fit(self.left).all())

    def affordable(self, untested: BoolArray, rows: IntArray) -> tuple[Pairs, Takes]:
        """Open pairs of these configurations that fit into what is left of the budget, and what they take."""
        mask = np.zeros_like(untested)
        mask[rows] = untested[rows]
        pairs = Pairs.of(mask)
        takes = self.takes(pairs)
        fit = np.flatnonzero(takes.fit(self.left))
        return pairs.take(fit), takes.take(fit)

    def full_tests_fit(self, untested: BoolArray) -> bool:
        """Whether any test on all data can still be paid for: without one, tests on parts lead to nothing."""
        rows = np.flatnonzero(untested[:, -1])
        if not self.left.any or not len(rows):
            return True
        pairs = self.belief.candidates.full_pairs(rows)
        return bool(self.takes(pairs).fit(self.left).any())

    def regrets(self, row: int) -> FloatArray:
        """Max over x that keeps the limits of max(a(x) - a(row), 0) / |a(row)|: what the best of all is better than
        that configuration by, as a share of it, in joint draws on all data at those that promise most. a: the goal on
        its own scale.
        """
        belief, outlook, seed = self.belief, self.outlook, self.conditions.seed
        model = belief.objective.model
        assert isinstance(model, GaussianProcess)
        rivals = places(outlook, RIVALS)
        rivals = rivals[(rivals != row) & ~outlook.is_measured[rivals]]
        drawn = model.paths(belief.candidates.at_full(np.append(rivals, row)), DRAWS, seed)
        sign = -1.0 if belief.objective.transform.descending else 1.0

        def own_scale(y: FloatArray) -> FloatArray:
            return sign * belief.objective.transform.expectation(Gaussian(y, np.zeros_like(y)))

        mine = own_scale(np.full(len(drawn), outlook.mean[row]) if outlook.is_measured[row] else drawn[:, -1])
        keeps = np.random.default_rng(seed).random((len(drawn), len(rivals))) < outlook.probability[rivals]
        more = np.where(keeps, own_scale(drawn[:, :-1]) - mine[:, None], 0.0).max(axis=1, initial=0.0)
        if outlook.has_result:
            more = np.maximum(more, float(own_scale(np.array([outlook.floor]))[0]) - mine)
        return np.asarray(more / max(abs(float(mine.mean())), SMALLEST))


def measured_on_all_data(table: Table, evidence: Evidence, belief: Belief) -> MeasuredResults:
    """Results on all data, those of one configuration together: their mean, and whether all of them kept the limits."""
    rows, goal = table.observed, evidence.metrics[table.problem.goal.metric]
    last = len(table.problem.fractions) - 1
    there = (evidence.level == last) & (rows >= 0) & (evidence.failed | np.isfinite(goal))
    succeeded = set(rows[there & ~evidence.failed].tolist())  # of those a run that we ended changes nothing
    there &= ~(evidence.harmless & np.array([row in succeeded for row in rows.tolist()], dtype=np.bool_))
    kept = evidence.kept_limits()
    values = belief.objective.transform.forward(np.where(np.isfinite(goal), goal, 0.5))
    places: dict[int, list[int]] = {}
    for place in np.flatnonzero(there).tolist():
        places.setdefault(int(rows[place]), []).append(place)
    means = [float(values[np.array(where)].mean()) for where in places.values()]
    all_kept = [bool(kept[np.array(where)].all()) for where in places.values()]
    return MeasuredResults(
        np.array(list(places), dtype=np.int64), np.array(means, dtype=np.float64), np.array(all_kept, dtype=np.bool_)
    )


def _value(transform: Transform, y: FloatArray) -> FloatArray:
    """What y on its modelled scale is worth, positive, for products with probabilities: a share itself, a ratio of a
    logarithm, the rank by a normal distribution of anything else; [N].
    """
    if transform.kind == "log":
        return np.asarray(np.exp(y - y.max()))
    return transform.merit(Gaussian(y, np.zeros_like(y)), float(y.mean()), float(y.std()) or 1.0)
