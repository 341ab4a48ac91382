"""LeanTune's own strategy: the best configuration that the budget can find, tested before it is recommended.

    start        three configurations: on all data where only trials are limited, else on as little as is useful
    models       curves that may level off (models.saturation), of the goal and of every limited quantity
    next test    the largest gain above the best result for the share of the budget that it takes (acquisition.worth)
    last test    the favourite, on all data, while the budget still allows that
    recommend    the best after a deviation is taken off, the chance of breaking a limit included
                 what can no longer be tested gives way to the best measured result
    noise        favourites are run again where runs scatter, and their mean counts (strategies.repeating)

The cheapest anywhere, which needs no test on all data, is constrained expected improvement by the same models.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from leantune.acquisition.base import Belief, Pairs, largest
from leantune.acquisition.worth import Measured, Outlook, Resources, Takes, gains, places
from leantune.arrays import BoolArray, FloatArray, IntArray
from leantune.history import History, Note, NoteKind
from leantune.models.base import Gaussian
from leantune.models.gp import GaussianProcess
from leantune.models.scales import Transform
from leantune.models.threads import one_blas_thread
from leantune.problem import At, Problem
from leantune.strategies.beliefs import build_belief, expectations
from leantune.strategies.budgets import resources
from leantune.strategies.candidates import Table
from leantune.strategies.evidence import Evidence
from leantune.strategies.proposals import Proposal, Recommendation, derived_seed
from leantune.strategies.recipe import Recipe
from leantune.strategies.recommending import cheapest_measured, recommendation_at
from leantune.strategies.repeating import Repeats, Standing, mean_recommended
from leantune.strategies.strategy import Strategy
from leantune.strategies.tuner import Judgement, Over, View

CAUTION = 0.5  # kappa: deviations that an untested configuration must be better by, where there is a budget
RESERVE = 1.0  # deviations by which an untested configuration must promise more, to be recommended
RIVALS, DRAWS = 100, 32  # configurations, and draws of each member, among which the best of all is sought
UNLIKELY = 0.1  # chance that something better exists, at which a study may end
SMALLEST = 1e-12
ALL_TESTED = "every pair that the strategy may test has been tested"
UNTESTABLE = "Another one promises more, but what is left of the budget does not allow to test it on all data."
NEAR, PLACES = 60, 150  # configurations whose tests are weighed, and among which the best after a test is sought


@dataclass(frozen=True)
class Lean:
    """See the module. recipe: start and models, and the way to look for the cheapest anywhere."""

    recipe: Recipe
    kappa: float = CAUTION

    @property
    def judges(self) -> bool:
        """Every test runs to its end."""
        return False

    def check(self, problem: Problem) -> None:
        """See Tuner."""
        Strategy(self.recipe).check(problem)

    def prepare(self) -> None:
        """See Tuner."""
        Strategy(self.recipe).prepare()

    def ends_by_itself(self, problem: Problem) -> bool:
        """See Tuner."""
        return problem.goal.at is At.FULL and problem.regret_to_end is not None

    def stop_reason(self, view: View) -> str | None:
        """See Tuner."""
        answer = self.ask(view)
        return answer.why if isinstance(answer, Over) else None

    def judge(self, view: View, only: Collection[int] | None = None) -> Mapping[int, Judgement]:
        """Nothing: every trial runs to its end."""
        return {}

    def ask(self, view: View) -> Proposal | Over:
        """The next test; pending ones count as tested, with the outcome that the models predict."""
        if view.problem.goal.at is At.ANYWHERE:
            return Strategy(self.recipe).ask(view)
        reason = Strategy(self.recipe).stop_reason(view)
        if reason is not None:
            return Over(reason)
        with one_blas_thread():
            return self._propose(view.problem, view.history, view.seed)

    def recommend(self, view: View) -> Recommendation | None:
        """The configuration to use, given what is known now; None before the first result."""
        problem, history, seed = view.problem, view.history, view.seed
        if problem.goal.at is At.ANYWHERE:
            return cheapest_measured(problem, history)
        with one_blas_thread():
            table = Table.of(problem, history, self.recipe, derived_seed(seed, "recommendation", len(history.trials)))
            evidence = Evidence.of(problem, history)
            if evidence.failed.all():
                return cheapest_measured(problem, history)
            belief = build_belief(self.recipe, evidence, table.candidates, derived_seed(seed, len(history.trials)))
            standing = Standing.of(table, evidence, belief)
            outlook = Outlook.of(belief, measured_results(table, evidence, belief, standing), 0.0)
            row, qualified = favourite(belief, outlook)
            measured = cheapest_measured(problem, history)
            if standing is not None:
                measured = mean_recommended(table, evidence, belief, standing)
            if outlook.is_measured[row] and qualified:
                return measured
            if outlook.has_result and not can_be_tested(table, belief, row, resources(problem, history)):
                assert measured is not None
                return replace(measured, why=f"{measured.why} {UNTESTABLE}")
            everything = np.arange(len(table.configurations))
            advice = recommendation_at(table, belief, row, qualified, everything, self.recipe.incumbent)
            return replace(advice, why=f"{advice.why} {_why_not_measured(problem, belief, outlook)}")

    # -- the next test

    def _propose(self, problem: Problem, history: History, seed: int) -> Proposal | Over:
        left = resources(problem, history)
        start = self.recipe.start.next(problem, history, seed)
        if start is not None:
            shares = _snapshots(problem, history, start.configuration.id, start.snapshots[-1])
            return Proposal(start.configuration, shares[-1], shares, {}, (Note(NoteKind.START, "start"),))
        seed = derived_seed(seed, len(history.trials))
        table = Table.of(problem, history, self.recipe, seed)
        untested = table.untested(self.recipe)
        if left.only_trials and untested[:, -1].any():
            untested[:, :-1] = False
        evidence = Evidence.of(problem, history)
        if not untested.any() and (problem.repeats == 1 or evidence.failed.all()):
            return Over(ALL_TESTED)
        if evidence.failed.all():
            return self._at_random(table, untested, seed)
        belief = build_belief(self.recipe, evidence, table.candidates, seed)
        standing = Standing.of(table, evidence, belief)
        measured = measured_results(table, evidence, belief, standing)
        believed, belief = belief, _with_pending(belief, table)
        outlook = Outlook.of(belief, measured, self.kappa if left.any else 0.0)
        repeats = Repeats.of(table, evidence, believed, standing, self._measured_favourite(belief, outlook))
        if not untested.any():
            again = self._due(belief, repeats, at_end=True) or self._repeat(belief, outlook, repeats, 0.0)
            return again or Over(ALL_TESTED)
        ending = self._ending(table, belief, outlook, untested, left)
        due = self._due(belief, repeats, at_end=isinstance(ending, Over))
        if due is None and isinstance(ending, Over):
            due = self._repeat(belief, outlook, repeats, 0.0, noticed(belief, outlook, problem.regret_to_end or 0.0))
        return due or ending or self._choose(table, belief, outlook, untested, left, repeats)

    def _measured_favourite(self, belief: Belief, outlook: Outlook) -> int | None:
        row, qualified = favourite(belief, outlook)
        return row if qualified and outlook.is_measured[row] else None

    def _due(self, belief: Belief, repeats: Repeats, *, at_end: bool) -> Proposal | None:
        """A favourite that is run again before it is believed."""
        due, left = repeats.due(at_end=at_end), repeats.left
        if due is None:
            return None
        pair = belief.candidates.full_pairs(np.array([due[0]]))
        is_paid_for = (left.trials is None or left.trials >= 1) and Takes.of(belief, pair).fit(left, 1).all()
        return self._proposal(repeats.table, belief, pair, due[1]) if is_paid_for else None

    def _repeat(
        self, belief: Belief, outlook: Outlook, repeats: Repeats, above: float, least: float = 0.0
    ) -> Proposal | None:
        """The repeat that gains most for its price, if that is more than what a new test does; least: gain that is
        worth a run at all.
        """
        rows, gain = repeats.candidates(outlook)
        rows, gain = rows[gain > least], gain[gain > least]
        pairs = belief.candidates.full_pairs(rows)
        takes = Takes.of(belief, pairs)
        score = np.where(takes.fit(repeats.left, len(pairs)), gain / takes.price(repeats.left, len(pairs)), 0.0)
        if not len(rows) or score.max() <= above:
            return None
        why = "runs scatter, and which of the best is best is in doubt: it is run once more with another seed"
        return self._proposal(repeats.table, belief, pairs.take(np.array([score.argmax()])), why)

    def _ending(
        self, table: Table, belief: Belief, outlook: Outlook, untested: BoolArray, left: Resources
    ) -> Proposal | Over | None:
        """The end of a study in which nothing promises more than the user would notice; before it, the favourite is
        tested on all data.
        """
        least = table.problem.regret_to_end
        if least is None:
            return None
        row, qualified = favourite(belief, outlook)
        chance = float((regrets(belief, outlook, row) > least).mean())
        if not qualified or chance > UNLIKELY:
            return None
        words = f"the chance that something better by {least:.2%} of the goal exists is {chance:.0%}"
        if outlook.is_measured[row]:  # what is still under way may show otherwise
            return None if table.history.pending else Over(words + left.words)
        pair = belief.candidates.full_pairs(np.array([row]))
        if not untested[row, -1] or not can_be_tested(table, belief, row, left):
            return None
        return self._proposal(table, belief, pair, f"it is the favourite, and is tested on all data: {words}")

    def _choose(
        self, table: Table, belief: Belief, outlook: Outlook, untested: BoolArray, left: Resources, repeats: Repeats
    ) -> Proposal | Over:
        open_rows = np.flatnonzero(untested.any(axis=1))
        near = open_rows[largest(outlook.improvement[open_rows], NEAR)]
        pairs, takes = _affordable(table, belief, untested, near, left)
        if not len(pairs):  # the most promising ones are too dear by now
            pairs, takes = _affordable(table, belief, untested, open_rows, left)
            cheap = largest(outlook.improvement[pairs.configuration], NEAR)
            pairs, takes = pairs.take(cheap), takes.take(cheap)
        if not len(pairs):
            again = self._repeat(belief, outlook, repeats, 0.0)
            return again or Over("no test fits into what is left of the budget")
        near = np.unique(pairs.configuration)
        gain = gains(belief, outlook, pairs, np.union1d(places(outlook, PLACES), near))
        score = gain / takes.price(left, len(pairs))
        best = int(score.argmax()) if gain.any() else _hope(outlook, pairs, len(belief.candidates.levels))
        why = _why(belief, outlook, bool(pairs.level[best] == len(belief.candidates.levels) - 1))
        if not gain.any():
            why = f"no test promises much; {why}"
        last = self._last_test(table, belief, outlook, untested, left, takes.take(np.array([best])))
        pair = pairs.take(np.array([best]))
        if last is not None:
            pair, why = last, "it is the favourite, and is tested on all data while the budget allows that"
            return self._proposal(table, belief, pair, why)
        again = self._repeat(belief, outlook, repeats, float(score[best]))
        return again or self._proposal(table, belief, pair, why)

    def _last_test(
        self,
        table: Table,
        belief: Belief,
        outlook: Outlook,
        untested: BoolArray,
        left: Resources,
        next_takes: Takes,
    ) -> Pairs | None:
        """The favourite's test on all data, if it was not made yet and could not be paid for after the next test."""
        row, _ = favourite(belief, outlook)
        if outlook.is_measured[row] or not untested[row, -1] or not left.any:
            return None
        pair = belief.candidates.full_pairs(np.array([row]))
        takes = takes_of(table, belief, pair)
        if not takes.fit(left, 1).all():
            return None
        is_last = left.trials is not None and left.trials <= 1
        after = left.without(next_takes)
        return pair if is_last or not takes.fit(after, 1).all() else None

    def _proposal(self, table: Table, belief: Belief, pair: Pairs, why: str) -> Proposal:
        row, level = int(pair.configuration[0]), int(pair.level[0])
        configuration = table.configurations[row]
        shares = _snapshots(table.problem, table.history, configuration.id, table.problem.fractions[level])
        beliefs = tuple(q.model.predict(belief.candidates.points(pair)) for q in belief.quantities)
        notes = (Note(NoteKind.MODELS, why), *table.notes)
        return Proposal(configuration, shares[-1], shares, expectations(belief, beliefs, row), notes)

    def _at_random(self, table: Table, untested: BoolArray, seed: int) -> Proposal:
        """Nothing was measured yet, as every run failed."""
        rng = np.random.default_rng(derived_seed(seed, "search"))
        least = int(untested.any(axis=0).argmax())
        row = int(rng.choice(np.flatnonzero(untested[:, least])))
        share = table.problem.fractions[least]
        note = Note(NoteKind.FALLBACK, "no result to learn from yet; at random, on the least data")
        return Proposal(table.configurations[row], share, (share,), {}, (note, *table.notes))


def favourite(belief: Belief, outlook: Outlook) -> tuple[int, bool]:
    """Row of the configuration to recommend, and whether it keeps the limits as surely as asked.

    The largest value(m - sd) min(P / asked, 1). Whoever keeps the limits as surely as asked is not held back by
    them; else their chance counts, so that a good one that may well keep them is not passed over for a bad one that
    surely does. A measured result has sd = 0 and P of 0 or 1: it gives way only to what promises more by more than its
    own error.
    """
    assurance = belief.assurance(belief.full_beliefs, belief.everything)
    assurance[outlook.is_measured] = outlook.probability[outlook.is_measured]
    value = _value(belief.objective.transform, outlook.mean - RESERVE * outlook.sd)
    row = int((value * assurance).argmax())
    return row, bool(assurance[row] >= 1.0)


def _why(belief: Belief, outlook: Outlook, on_all_data: bool) -> str:
    """What a test is for, in words for a newcomer."""
    if not on_all_data:
        return "a look at a part of the data, which tells most for what it takes"
    if not outlook.has_result:
        return "nothing that was measured on all data keeps the limits yet, and this one may"
    return f"it may be better than the best measured on all data, {_best_measured(belief, outlook):.4g}"


def _best_measured(belief: Belief, outlook: Outlook) -> float:
    """The floor on the goal's own scale."""
    return float(belief.objective.transform.expectation(Gaussian(np.array([outlook.floor]), np.zeros(1)))[0])


def noticed(belief: Belief, outlook: Outlook, share: float) -> float:
    """The gain on the modelled scale that makes the best measured result better by this share of it."""
    transform, best = belief.objective.transform, _best_measured(belief, outlook)
    sign = -1.0 if transform.descending else 1.0
    return float(transform.forward(np.array([best + sign * share * abs(best)]))[0]) - outlook.floor


def can_be_tested(table: Table, belief: Belief, row: int, left: Resources) -> bool:
    """Whether a configuration's test on all data fits into what is left of the budget."""
    if left.trials is not None and left.trials < 1:
        return False
    pair = belief.candidates.full_pairs(np.array([row]))
    return bool(takes_of(table, belief, pair).fit(left, 1).all())


def _why_not_measured(problem: Problem, belief: Belief, outlook: Outlook) -> str:
    """Why the best measured result is not the one recommended."""
    if not outlook.is_measured.any():
        return "Nothing was measured on all data yet."
    if not outlook.has_result:
        return "Nothing that was measured on all data kept the limits."
    best = f"{_best_measured(belief, outlook):.4g}"
    return f"The best measured on all data, {best}, is worse than this by more than the error of the prediction."


def regrets(belief: Belief, outlook: Outlook, row: int) -> FloatArray:
    """Max over x that keeps the limits of max(a(x) - a(row), 0) / |a(row)|: what the best of all is better than the
    favourite by, as a share of it, in joint draws on all data at those that promise most. a: the goal on its own scale.
    """
    model = belief.objective.model
    assert isinstance(model, GaussianProcess)
    rivals = places(outlook, RIVALS)
    rivals = rivals[(rivals != row) & ~outlook.is_measured[rivals]]
    drawn = model.paths(belief.candidates.at_full(np.append(rivals, row)), DRAWS, belief.seed)
    sign = -1.0 if belief.objective.transform.descending else 1.0

    def own_scale(y: FloatArray) -> FloatArray:
        return sign * belief.objective.transform.expectation(Gaussian(y, np.zeros_like(y)))

    mine = own_scale(np.full(len(drawn), outlook.mean[row]) if outlook.is_measured[row] else drawn[:, -1])
    keeps = np.random.default_rng(belief.seed).random((len(drawn), len(rivals))) < outlook.probability[rivals]
    more = np.where(keeps, own_scale(drawn[:, :-1]) - mine[:, None], 0.0).max(axis=1, initial=0.0)
    if outlook.has_result:
        more = np.maximum(more, float(own_scale(np.array([outlook.floor]))[0]) - mine)
    return np.asarray(more / max(abs(float(mine.mean())), SMALLEST))


def _value(transform: Transform, y: FloatArray) -> FloatArray:
    """What y on its modelled scale is worth, positive, for products with probabilities: a share itself, a ratio of a
    logarithm, the rank by a normal distribution of anything else; [N].
    """
    if transform.kind == "log":
        return np.asarray(np.exp(y - y.max()))
    return transform.merit(Gaussian(y, np.zeros_like(y)), float(y.mean()), float(y.std()) or 1.0)


def _hope(outlook: Outlook, pairs: Pairs, levels: int) -> int:
    """Of tests that promise nothing: on all data the one that may be best."""
    on_all = pairs.level == levels - 1
    hope = outlook.improvement[pairs.configuration]
    return int(np.where(on_all, hope, -1.0).argmax() if on_all.any() else hope.argmax())


def _affordable(
    table: Table, belief: Belief, untested: BoolArray, rows: IntArray, left: Resources
) -> tuple[Pairs, Takes]:
    """Open pairs of these configurations that fit into what is left of the budget, and what they take."""
    mask = np.zeros_like(untested)
    mask[rows] = untested[rows]
    pairs = Pairs.of(mask)
    takes = takes_of(table, belief, pairs)
    fit = np.flatnonzero(takes.fit(left, len(pairs)))
    return pairs.take(fit), takes.take(fit)


def takes_of(table: Table, belief: Belief, pairs: Pairs) -> Takes:
    """What tests take; where shares are of epochs, only what lies beyond the result that each goes on from."""
    takes = Takes.of(belief, pairs)
    if table.problem.fidelity == "data":
        return takes
    paid = np.zeros((2, len(pairs)))
    tested = {int(row) for row in table.rows if row >= 0}
    for place, (row, level) in enumerate(zip(pairs.configuration.tolist(), pairs.level.tolist(), strict=True)):
        if row in tested:
            smaller = table.history.continued(table.configurations[row].id, table.problem.fractions[level])
            if smaller is not None:
                paid[:, place] = smaller[1].cost or 0.0, smaller[1].seconds or 0.0
    return takes.without(*paid)


def _snapshots(problem: Problem, history: History, configuration: str, share: Fraction) -> tuple[Fraction, ...]:
    """Where a test reports: on the way at every share that was not tested yet, where the program can do that."""
    if not problem.snapshots:
        return (share,)
    tested = history.tested(configuration)
    return (*(smaller for smaller in problem.fractions if smaller < share and smaller not in tested), share)


def measured_on_all_data(table: Table, evidence: Evidence, belief: Belief) -> Measured:
    """Results on all data, those of one configuration together: their mean, and whether all of them kept the limits."""
    rows = np.array([table.row_of(trial) for trial, _ in table.history.observations], dtype=np.int64)
    goal = evidence.metrics[table.problem.goal.metric]
    last = len(table.problem.fractions) - 1
    there = (evidence.level == last) & (rows >= 0) & (evidence.failed | np.isfinite(goal))
    kept = evidence.kept_limits()
    values = belief.objective.transform.forward(np.where(np.isfinite(goal), goal, 0.5))
    found: dict[int, list[int]] = {}
    for place in np.flatnonzero(there).tolist():
        found.setdefault(int(rows[place]), []).append(place)
    means = [float(values[np.array(where)].mean()) for where in found.values()]
    all_kept = [bool(kept[np.array(where)].all()) for where in found.values()]
    return Measured(
        np.array(list(found), dtype=np.int64), np.array(means, dtype=np.float64), np.array(all_kept, dtype=np.bool_)
    )


def measured_results(table: Table, evidence: Evidence, belief: Belief, standing: Standing | None) -> Measured:
    """Results on all data; where runs were repeated, as they are believed by how much runs scatter."""
    measured = measured_on_all_data(table, evidence, belief)
    return measured if standing is None else standing.believed(measured)


def _with_pending(belief: Belief, table: Table) -> Belief:
    """Pending trials believed to turn out as predicted."""
    pending = [(table.row_of(trial), trial) for trial in table.history.trials if trial.pending]
    pairs = [(row, table.problem.level_of(share)) for row, trial in pending if row >= 0 for share in trial.snapshots]
    if not pairs:
        return belief
    rows, levels = np.array(pairs, dtype=np.int64).T
    believed = Pairs(rows, levels)
    outcomes = [q.model.predict(belief.candidates.points(believed)).mean for q in belief.quantities]
    return belief.extended(believed, outcomes, simulated=False)
