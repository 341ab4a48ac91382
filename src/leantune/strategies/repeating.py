"""Runs of one configuration scatter: the favourites are run again with another seed, and their mean counts.

    a surprise   a favourite whose one run was much better than expected, at once: it may have been luck
    a favourite  late in the budget, or before a study without one ends: whether runs scatter
    the others   where they do, those whose order is in doubt, in competition with new tests: gain for the share of the
                 budget that it takes

Nothing is known of the noise before the first repeat, and until then single results count as they are. Late, as a test
that is made twice is one that the search does not have: docs/lean.md has what was tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from leantune.acquisition.base import Belief, Conditions
from leantune.acquisition.repeats import EVEN, Contest, LimitedContest, Race, Runs
from leantune.acquisition.worth import FullDataOutlook, MeasuredResults
from leantune.arrays import BoolArray, FloatArray, IntArray
from leantune.history import Estimate, Note, NoteKind
from leantune.models.base import Gaussian
from leantune.models.gp import GaussianProcess
from leantune.problem import COST, TIME, Budget
from leantune.strategies.beliefs import SUCCESS
from leantune.strategies.budgets import Resources
from leantune.strategies.candidates import Table
from leantune.strategies.evidence import SMALLEST_SPEND, Evidence
from leantune.strategies.proposals import Recommendation
from leantune.strategies.recommending import best_word
from leantune.units import SECONDS_PER_HOUR

SURPRISE = 2.5  # deviations by which a single run must be better than expected, to be doubted at once
DOUBT = 2.0  # factor on the deviation of what models say of a measured one by the others: runs count for more
LATE = 0.85  # of a budget, at which it is time to see whether runs scatter


@dataclass(frozen=True)
class RepeatedRuns:
    """The configurations that were measured on all data, after at least one of them was repeated.

    where: observations of each, by their places in the evidence. contests: of the goal and of every limited quantity,
    by its number among the belief's. scatter: whether runs differ in the goal.
    """

    race: Race
    where: tuple[IntArray, ...]
    contests: Mapping[int, Contest]
    scatter: bool

    @classmethod
    def of(cls, table: Table, evidence: Evidence, belief: Belief) -> RepeatedRuns | None:
        """None before the first repeat."""
        results = _results(table, evidence)
        if all(len(places) < 2 for places in results.values()):
            return None
        rows, where = np.array(list(results), dtype=np.int64), tuple(results.values())
        goal = _runs(evidence, where, belief.objective.name)
        assert goal is not None
        contests = {0: _contest(belief, 0, rows, goal)}
        sound, limits = _sound(table, evidence, rows), []
        for limit in belief.limits:
            name = belief.quantities[limit.quantity].name
            runs = None if name == SUCCESS else _runs(evidence, where, name)
            if runs is not None:
                contests[limit.quantity] = _contest(belief, limit.quantity, rows, runs)
                limits.append(LimitedContest(contests[limit.quantity], limit.low[rows], limit.high[rows]))
        race = Race(rows, goal.counts, contests[0], limits, sound, _base(belief))
        return cls(race, where, contests, goal.scatter)

    def runs_of(self, row: int) -> int:
        """How often the configuration was measured."""
        return int(self.race.counts[self.race.rows == row].sum())

    def believed(self, measured: MeasuredResults) -> MeasuredResults:
        """Measured results as they are believed after the noise is taken into account."""
        y, kept = measured.y.copy(), measured.kept.copy()
        place = {int(row): index for index, row in enumerate(self.race.rows)}
        for index, row in enumerate(measured.rows.tolist()):
            if row in place:
                y[index] = self.race.goal.belief.mean[place[row]]
                kept[index] = self.race.probability[place[row]] > EVEN
        return replace(measured, y=y, kept=kept)


def _results(table: Table, evidence: Evidence) -> dict[int, IntArray]:
    """Places of the results on all data that told the goal, by row of the configuration table."""
    rows = table.observed
    reported = np.isfinite(evidence.metrics[table.problem.goal.metric]) & ~evidence.failed
    there = np.flatnonzero(reported & (rows >= 0) & (evidence.level == len(table.problem.fractions) - 1))
    return {row: there[rows[there] == row] for row in dict.fromkeys(rows[there].tolist())}


def _sound(table: Table, evidence: Evidence, rows: IntArray) -> BoolArray:
    """Whether no run of a configuration on all data failed, or was cut where dollars or seconds are limited; [M]."""
    limited = any(limit.metric in (COST, TIME) for limit in table.problem.constraints)
    bad = (evidence.failed | (evidence.cut & limited)) & ~evidence.harmless
    bad &= evidence.level == len(table.problem.fractions) - 1
    return ~np.isin(rows, table.observed[bad])


def _runs(evidence: Evidence, where: tuple[IntArray, ...], metric: str) -> Runs | None:
    """The metric of each run; None where not all of them told it."""
    least = SMALLEST_SPEND if metric in (COST, TIME) else -np.inf
    values = tuple(np.maximum(evidence.metrics[metric][places], least) for places in where)
    return Runs(values) if all(np.isfinite(runs).all() for runs in values) else None


def _contest(belief: Belief, index: int, rows: IntArray, runs: Runs) -> Contest:
    quantity = belief.quantities[index]
    model = quantity.model
    assert isinstance(model, GaussianProcess)
    noise = runs.noise(quantity.transform, model.noise_deviation)
    others = model.without_own(belief.candidates.at_full(rows))
    prior = Gaussian(others.mean, DOUBT * others.sd)
    return Contest.of(prior, quantity.transform.forward(runs.means), runs.counts, noise)


def _base(belief: Belief) -> float:
    """A little below what is expected of all that may keep the limits."""
    beliefs = belief.full_beliefs
    mean, probability = beliefs[0].mean, belief.feasibility(beliefs, belief.everything)
    total = float(probability.sum())
    return float(probability @ mean / total if total > 0 else mean.mean()) - float(mean.std())


def surprise(table: Table, evidence: Evidence, belief: Belief, row: int) -> float:
    """By how many deviations of what is expected without them a configuration's results on all data are better."""
    model, transform = belief.objective.model, belief.objective.transform
    assert isinstance(model, GaussianProcess)
    values = evidence.metrics[table.problem.goal.metric][_results(table, evidence)[row]]
    expected = model.without_own(belief.candidates.at_full(np.array([row])))
    y = float(transform.forward(np.array([values.mean()]))[0])
    deviation = np.hypot(expected.sd[0], model.noise_deviation / np.sqrt(len(values)))
    return float((y - expected.mean[0]) / deviation)


# -- choosing a repeat


@dataclass(frozen=True)
class Repeats:
    """The repeats that are possible now.

    row: the configuration to recommend if the study ended now; None where that one was not measured. surprise: by how
    many deviations of what was expected it came out better.
    """

    table: Table
    standing: RepeatedRuns | None
    row: int | None
    surprise: float
    left: Resources

    @classmethod
    def of(
        cls, table: Table, evidence: Evidence, belief: Belief, standing: RepeatedRuns | None, row: int | None
    ) -> Repeats:
        """belief: without what is pending."""
        deviations = 0.0
        if row is not None and table.problem.repeats > 1:
            deviations = surprise(table, evidence, belief, row)
        return cls(table, standing, row, deviations, Resources.of(table.problem, table.history))

    def due(self, *, at_end: bool) -> tuple[int, str] | None:
        """The row of a favourite that is to be run again before it is believed, and why. at_end: nothing else is to be
        tested.
        """
        row, standing = self.row, self.standing
        if row is None or not self._open(row):
            return None
        if standing is not None and not (standing.scatter and standing.runs_of(row) == 1):
            return None
        if self.surprise > SURPRISE:
            return row, "it came out much better than expected, so it is run once more with another seed"
        if at_end or used_share(self.table.problem.budget, self.left) >= LATE:
            return row, "it is the favourite, and is run once more with another seed to see how much runs scatter"
        return None

    def candidates(self, outlook: FullDataOutlook) -> tuple[IntArray, FloatArray]:
        """Rows whose order is in doubt, and the gain of one more run of each."""
        if self.standing is None:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        race = self.standing.race
        untested = float(outlook.worth.max())
        gains = race.gains(untested + max(outlook.floor - race.base, 0.0) if untested > 0 else 0.0)
        fitting = np.flatnonzero([gain > 0 and self._open(row) for gain, row in zip(gains, race.rows, strict=True)])
        return race.rows[fitting], gains[fitting]

    def _open(self, row: int) -> bool:
        """Whether the configuration may be run once more on all data, and is not under way."""
        there = [trial for trial in self.table.history.trials if self.table.row_of(trial) == row]
        runs = [trial for trial in there if trial.fraction == 1]
        return len(runs) < self.table.problem.repeats and not any(trial.pending for trial in there)


def used_share(budget: Budget, left: Resources) -> float:
    """The largest share that is used of dollars, seconds and trials; 0 without a budget."""
    hours = None if budget.hours is None else budget.hours * SECONDS_PER_HOUR
    parts = ((budget.usd, left.usd), (hours, left.seconds), (budget.trials, left.trials))
    return max((1.0 - rest / given for given, rest in parts if given and rest is not None), default=0.0)


# -- recommending


def mean_recommended(
    table: Table, evidence: Evidence, belief: Belief, conditions: Conditions, standing: RepeatedRuns
) -> Recommendation:
    """The leader, by the mean of its runs."""
    problem, race = table.problem, standing.race
    place = race.leader
    row, where = int(race.rows[place]), standing.where[place]
    probabilities = {}
    for constraint, limit in zip(problem.constraints, conditions.user_limits, strict=True):
        kept = 0.0 if constraint.upper else 1.0  # where not every run told the metric
        if limit.quantity in standing.contests:
            mean = standing.contests[limit.quantity].belief.at((np.array([place]),))
            kept = float(limit.probability(mean, np.array([row]))[0])
        probabilities[constraint.text] = kept * float(race.sound[place])
    feasible = bool(race.probability[place] > EVEN)
    metrics = _metrics(evidence, belief, standing, place)
    goal, runs = metrics[problem.goal.metric], len(where)
    shown = f"mean of {runs} runs, {goal}" if runs > 1 else f"one run, {goal} by the scatter of others"
    noun = problem.fidelity
    why = f"{best_word(problem)} {problem.goal.metric} measured on all {noun}, runs of one configuration taken together"
    if not feasible:
        why = "No configuration's runs met the limits together; this one came nearest to them"
    broke = runs - int(evidence.kept_limits()[where].sum())
    broken = f" Of its {runs} runs {broke} broke a limit." if feasible and broke else ""
    notes = () if feasible else (Note(NoteKind.FALLBACK, "no measured configuration meets the limits"),)
    return Recommendation(
        table.configurations[row],
        Fraction(1),
        metrics,
        probabilities,
        feasible,
        True,
        f"{why}: {shown}.{broken}",
        notes,
        largest_share=Fraction(1),
    )


def _metrics(evidence: Evidence, belief: Belief, standing: RepeatedRuns, place: int) -> dict[str, Estimate]:
    """Means over the runs, with the deviation that is left where a quantity is modelled."""
    estimates: dict[str, Estimate] = {}
    where = standing.where[place]
    for name in dict.fromkeys([evidence.problem.goal.metric, *evidence.metrics]):
        values = evidence.metrics[name][where]
        if np.isfinite(values).all():
            estimates[name] = Estimate(float(values.mean()), 0.0)
    for index, contest in standing.contests.items():
        quantity = belief.quantities[index]
        left = contest.belief.at((np.array([place]),))
        estimate = estimates[quantity.name]
        estimates[quantity.name] = replace(estimate, sd=float(quantity.transform.deviation(left)[0]))
    return estimates
