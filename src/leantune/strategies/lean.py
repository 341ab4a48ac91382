"""LeanTune's own strategy: the best configuration that the budget can find, tested before it is recommended.

    start        three configurations: on all data where only trials are limited, else on as little as is useful
    models       curves that may level off (models.saturation), of the goal and of every limited quantity
    next test    the largest gain above the best result for the share of the budget that it takes (acquisition.worth)
    last test    the favourite, on all data, while the budget still allows that
    recommend    the best after a deviation is taken off, the chance of breaking a limit included
                 a configuration that can no longer be tested gives way to the best measured result
    noise        favourites are run again where runs scatter, and their mean counts (strategies.repeating)

The cheapest anywhere, which needs no test on all data, is constrained expected improvement by the same models.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from leantune.acquisition.base import Pairs, largest
from leantune.acquisition.worth import FullDataOutlook, gains, places
from leantune.arrays import BoolArray, FloatArray
from leantune.history import Estimate, History, Note, NoteKind
from leantune.models.threads import one_blas_thread
from leantune.problem import TIME, At, Problem
from leantune.strategies.beliefs import expectations
from leantune.strategies.budgets import Resources, Takes, amount
from leantune.strategies.candidates import Table
from leantune.strategies.cutoffs import Cutoffs, useful_seconds
from leantune.strategies.evidence import Evidence
from leantune.strategies.proposals import Proposal, Recommendation, derived_seed
from leantune.strategies.prospects import Prospects
from leantune.strategies.recipe import Recipe
from leantune.strategies.recommending import cheapest_measured, recommendation_at
from leantune.strategies.strategy import Strategy
from leantune.strategies.tuner import Judgement, Over, View
from leantune.text import least_share

if TYPE_CHECKING:  # loaded only by the few studies that need it
    from leantune.strategies.repeating import Repeats
    from leantune.strategies.trial_ends import StoppedTrial

UNLIKELY = 0.1  # chance that something better exists, at which a study may end
ALL_TESTED = "every pair that the strategy may test has been tested"
UNTESTABLE = "Another configuration promises more, but the budget left does not allow to test it on all {}."
NEAR, PLACES = 60, 150  # configurations whose tests are weighed, and among which the best after a test is sought


@dataclass(frozen=True)
class Lean:
    """See the module. recipe: start and models, and the way to look for the cheapest anywhere."""

    recipe: Recipe

    @property
    def judges(self) -> bool:
        """Whether a test that will not pay is stopped."""
        return self.recipe.curves

    def check(self, problem: Problem) -> None:
        Strategy(self.recipe).check(problem)

    def prepare(self) -> None:
        Strategy(self.recipe).prepare()

    def ends_by_itself(self, problem: Problem) -> bool:
        return problem.goal.at is At.FULL and problem.regret_to_end is not None

    def stop_reason(self, view: View) -> str | None:
        answer = self.ask(view)
        return answer.why if isinstance(answer, Over) else None

    def judge(self, view: View, only: Collection[int] | None = None) -> Mapping[int, Judgement]:
        """See trial_ends: a trial that will not beat the best measured result is stopped, if the recipe says so."""
        if not self.recipe.curves:
            return {}
        from leantune.strategies.trial_ends import judgements

        return judgements(view, only)

    def ask(self, view: View) -> Proposal | Over:
        """The next test; pending ones count as tested, with the outcome that the models predict."""
        reason = Strategy(self.recipe).stop_reason(view)
        if reason is not None:
            return Over(reason)
        with one_blas_thread():
            if view.problem.goal.at is At.ANYWHERE:
                answer = Strategy(self.recipe).ask(view)
                return _ended_early(view, answer, self.recipe.thrift) if isinstance(answer, Proposal) else answer
            return self._propose(view)

    def recommend(self, view: View) -> Recommendation | None:
        """The configuration to use, given what is known now; None before the first result."""
        problem, history, seed = view.problem, view.history, view.seed
        evidence = Evidence.of(problem, history)
        if problem.goal.at is At.ANYWHERE or evidence.failed.all():
            return cheapest_measured(problem, history)
        with one_blas_thread():
            table = Table.of(problem, history, self.recipe, derived_seed(seed, "recommendation", len(history.trials)))
            prospects = self._prospects(view, table, evidence, derived_seed(seed, len(history.trials)), advising=True)
            row, qualified = prospects.favourite
            measured = self._measured(prospects, evidence)
            if prospects.outlook.is_measured[row] and qualified:
                return measured
            if prospects.outlook.has_result and not prospects.can_be_tested(row):
                assert measured is not None
                return replace(measured, why=f"{measured.why} {UNTESTABLE.format(problem.fidelity)}")
            incumbent = self.recipe.incumbent
            advice = recommendation_at(table, prospects.belief, prospects.conditions, row, qualified, incumbent)
            return replace(advice, why=f"{advice.why} {_why_not_measured(prospects)}")

    def _prospects(
        self, view: View, table: Table, evidence: Evidence, seed: int, *, advising: bool = False
    ) -> Prospects:
        stopped: tuple[StoppedTrial, ...] = ()
        if self.recipe.curves:
            from leantune.strategies.trial_ends import stopped_trials

            stopped = stopped_trials(view)
        return Prospects.of(table, evidence, self.recipe, seed, stopped, advising=advising)

    @staticmethod
    def _measured(prospects: Prospects, evidence: Evidence) -> Recommendation | None:
        """The best measured result; by the mean of its runs, where runs were repeated."""
        if prospects.standing is None:
            return cheapest_measured(prospects.table.problem, prospects.table.history)
        from leantune.strategies.repeating import mean_recommended

        return mean_recommended(prospects.table, evidence, prospects.belief, prospects.conditions, prospects.standing)

    # -- the next test

    def _propose(self, view: View) -> Proposal | Over:
        problem, history, seed = view.problem, view.history, view.seed
        start = self.recipe.start.next(problem, history, seed)
        if start is not None:
            shares = _snapshots(problem, history, start.configuration.id, start.fraction)
            return _ended_early(view, replace(start, snapshots=shares), self.recipe.thrift)
        seed = derived_seed(seed, len(history.trials))
        table = Table.of(problem, history, self.recipe, seed)
        untested = table.untested(self.recipe)
        if Resources.of(problem, history).only_trials and untested[:, -1].any():
            untested[:, :-1] = False
        evidence = Evidence.of(problem, history)
        if not untested.any() and (problem.repeats == 1 or evidence.failed.all()):
            return Over(ALL_TESTED)
        if evidence.failed.all():
            return _ended_early(view, self._at_random(table, untested, seed), self.recipe.thrift)
        prospects = self._prospects(view, table, evidence, seed)
        repeats = self._repeats(prospects, evidence)
        if not untested.any():
            return (
                self._due(prospects, repeats, at_end=True) or self._repeat(prospects, repeats, 0.0) or Over(ALL_TESTED)
            )
        ending = self._ending(prospects, untested)
        due = self._due(prospects, repeats, at_end=isinstance(ending, Over))
        if due is None and isinstance(ending, Over):
            due = self._repeat(prospects, repeats, 0.0, prospects.noticed(problem.regret_to_end or 0.0))
        return due or ending or self._choose(prospects, untested, repeats)

    @staticmethod
    def _repeats(prospects: Prospects, evidence: Evidence) -> Repeats | None:
        """The repeats that are possible; None where there is none."""
        if prospects.table.problem.repeats == 1:
            return None
        from leantune.strategies.repeating import Repeats

        return Repeats.of(
            prospects.table, evidence, prospects.settled, prospects.standing, prospects.measured_favourite
        )

    def _due(self, prospects: Prospects, repeats: Repeats | None, *, at_end: bool) -> Proposal | None:
        """A favourite that is run again before it is believed."""
        due = None if repeats is None else repeats.due(at_end=at_end)
        if due is None or not prospects.can_be_tested(due[0]):
            return None
        return self._proposal(prospects, prospects.on_all_data(due[0]), due[1], NoteKind.FAVOURITE)

    def _repeat(
        self, prospects: Prospects, repeats: Repeats | None, above: float, least: float = 0.0
    ) -> Proposal | None:
        """The repeat that gains most for its price, if that is more than what a new test does; least: gain that is
        worth a run at all.
        """
        if repeats is None:
            return None
        rows, gain = repeats.candidates(prospects.outlook)
        rows, gain = rows[gain > least], gain[gain > least]
        pairs = prospects.belief.candidates.full_pairs(rows)
        takes = prospects.takes(pairs)
        score = np.where(takes.fit(prospects.left), gain / takes.price(prospects.left), 0.0)
        if not len(rows) or score.max() <= above:
            return None
        why = "runs scatter, and which of the best is best is in doubt: it is run once more with another seed"
        return self._proposal(prospects, pairs.take(np.array([score.argmax()])), why, NoteKind.FAVOURITE)

    def _ending(self, prospects: Prospects, untested: BoolArray) -> Proposal | Over | None:
        """The end of a study in which nothing promises more than the user would notice; before it, the favourite is
        tested on all data.
        """
        least = prospects.table.problem.regret_to_end
        if least is None:
            return None
        row, qualified = prospects.favourite
        chance = float((prospects.regrets(row) > least).mean())
        if not qualified or chance > UNLIKELY:
            return None
        words = f"the chance that something better by {least:.2%} of the goal exists is {chance:.0%}"
        if prospects.outlook.is_measured[row]:  # pending trials may show otherwise
            return None if prospects.table.history.pending else Over(words + prospects.left.words)
        if not untested[row, -1] or not prospects.can_be_tested(row):
            return None
        why = f"it is the favourite, and is tested on all {prospects.table.problem.fidelity}: {words}"
        return self._proposal(prospects, prospects.on_all_data(row), why, NoteKind.FAVOURITE)

    def _choose(self, prospects: Prospects, untested: BoolArray, repeats: Repeats | None) -> Proposal | Over:
        outlook, full = prospects.outlook, len(prospects.belief.candidates.levels) - 1
        open_rows = np.flatnonzero(untested.any(axis=1))
        pairs, takes = prospects.affordable(untested, open_rows[largest(outlook.improvement[open_rows], NEAR)])
        if not len(pairs):  # the most promising tests are too expensive by now
            pairs, takes = prospects.affordable(untested, open_rows)
            cheap = largest(outlook.improvement[pairs.configuration], NEAR)
            pairs, takes = pairs.take(cheap), takes.take(cheap)
        if not len(pairs):
            return self._repeat(prospects, repeats, 0.0) or Over("no test fits into the budget left")
        if outlook.has_result and not prospects.full_tests_fit(untested):
            noun = prospects.table.problem.fidelity
            return Over(f"no test on all {noun} fits into the budget left, and the best result is measured")
        near = np.unique(pairs.configuration)
        gain = gains(prospects.belief, outlook, pairs, np.union1d(places(outlook, PLACES), near))
        score = gain / takes.price(prospects.left)
        best = int(score.argmax()) if gain.any() else _hope(outlook, pairs, full + 1)
        why = _why(prospects, bool(pairs.level[best] == full))
        if not gain.any():
            why = f"no test promises much; {why}"
        last = self._last_test(prospects, untested, takes.take(np.array([best])))
        if last is not None:
            noun = prospects.table.problem.fidelity
            why = f"it is the favourite, and is tested on all {noun} while the budget allows that"
            return self._proposal(prospects, last, why, NoteKind.FAVOURITE)
        again = self._repeat(prospects, repeats, float(score[best]))
        return again or self._proposal(prospects, pairs.take(np.array([best])), why)

    def _last_test(self, prospects: Prospects, untested: BoolArray, next_takes: Takes) -> Pairs | None:
        """The favourite's test on all data, if it was not made yet and could not be paid for after the next test."""
        row, _ = prospects.favourite
        if prospects.outlook.is_measured[row] or not untested[row, -1] or not prospects.left.any:
            return None
        pair = prospects.on_all_data(row)
        takes = prospects.takes(pair)
        if not takes.fit(prospects.left).all():
            return None
        is_last = prospects.left.trials is not None and prospects.left.trials <= 1
        after = prospects.left.without(next_takes)
        return pair if is_last or not takes.fit(after).all() else None

    def _proposal(self, prospects: Prospects, pair: Pairs, why: str, kind: NoteKind = NoteKind.MODELS) -> Proposal:
        table, belief = prospects.table, prospects.belief
        row, level = int(pair.configuration[0]), int(pair.level[0])
        configuration = table.configurations[row]
        shares = _snapshots(table.problem, table.history, configuration.id, table.problem.fractions[level])
        expected = expectations(belief, prospects.conditions.cost, belief.predict(pair), row)
        useful, cut = useful_seconds(float(prospects.ended_after(pair, patient=kind is NoteKind.FAVOURITE)[0]))
        notes = (Note(kind, why), *cut, *table.notes)
        return Proposal(configuration, shares[-1], shares, expected, notes, useful)

    def _at_random(self, table: Table, untested: BoolArray, seed: int) -> Proposal:
        """Nothing was measured yet, as every run failed."""
        rng = np.random.default_rng(derived_seed(seed, "search"))
        least = int(untested.any(axis=0).argmax())
        row = int(rng.choice(np.flatnonzero(untested[:, least])))
        share = table.problem.fractions[least]
        words = f"no result to learn from yet; at random, on {least_share(table.problem.fidelity)}"
        note = Note(NoteKind.FALLBACK, words)
        return Proposal(table.configurations[row], share, (share,), {}, (note, *table.notes))


def _ended_early(view: View, draft: Proposal, thrift: float) -> Proposal | Over:
    """A proposal that no model of `lean` has weighed, ended when it is of no more use."""
    left = Resources.of(view.problem, view.history, thrift)
    cutoffs = Cutoffs.of(view.problem, Evidence.of(view.problem, view.history), left)
    rate = draft.configuration.usd_per_hour
    expected = None if TIME not in draft.expected else _log_normal_amount(draft.expected[TIME])
    rates = None if rate is None else np.array([rate])
    if cutoffs.pays_for_none(rates):
        return Over("the budget left pays for no run")
    useful, cut = useful_seconds(float(cutoffs.after(rates, expected)[0]))
    return replace(draft, useful_seconds=useful, notes=(*draft.notes, *cut))


def _log_normal_amount(seconds: Estimate) -> FloatArray:
    """Of a log-normal with that mean and deviation."""
    variance = np.log1p((seconds.sd / max(seconds.mean, 1e-12)) ** 2)
    return amount(np.array([np.log(max(seconds.mean, 1e-12)) - variance / 2]), np.array([np.sqrt(variance)]))


def _why(prospects: Prospects, on_all_data: bool) -> str:
    """The purpose of a test, in words for a newcomer."""
    noun = prospects.table.problem.fidelity
    if not on_all_data:
        return f"a look at a part of the {noun}, which tells most for what it takes"
    if not prospects.outlook.has_result:
        return f"nothing that was measured on all {noun} keeps the limits yet, and this one may"
    return f"it may be better than the best measured on all {noun}, {prospects.best_measured:.4g}"


def _why_not_measured(prospects: Prospects) -> str:
    """Why the best measured result is not the one recommended."""
    noun = prospects.table.problem.fidelity
    if not prospects.outlook.is_measured.any():
        return f"Nothing was measured on all {noun} yet."
    if not prospects.outlook.has_result:
        return f"Nothing that was measured on all {noun} kept the limits."
    best = f"{prospects.best_measured:.4g}"
    return f"The best measured on all {noun}, {best}, is worse than this by more than the error of the prediction."


def _hope(outlook: FullDataOutlook, pairs: Pairs, levels: int) -> int:
    """Where no test promises anything: the test on all data that may be best."""
    on_all = pairs.level == levels - 1
    hope = outlook.improvement[pairs.configuration]
    return int(np.where(on_all, hope, -1.0).argmax() if on_all.any() else hope.argmax())


def _snapshots(problem: Problem, history: History, configuration: str, share: Fraction) -> tuple[Fraction, ...]:
    """Where a test reports: on the way at every share that was not tested yet, where the program can do that."""
    if not problem.snapshots:
        return (share,)
    tested = history.tested(configuration)
    return (*(smaller for smaller in problem.fractions if smaller < share and smaller not in tested), share)
