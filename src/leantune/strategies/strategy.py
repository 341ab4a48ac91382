"""How a recipe is carried out.

`ask` and `recommend` are pure functions of the view (problem, history, seed): the seed of proposal n is derived from
the study's seed and n, nothing is carried over between calls, and BLAS runs on one thread, so that a resumed study,
another process or another number of cores gives the same answer bit for bit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from leantune.acquisition.base import Belief, Conditions, ConstrainedAccuracy, Pairs
from leantune.acquisition.improvement import Improvement
from leantune.acquisition.incumbents import present_incumbent
from leantune.arrays import BoolArray, FloatArray
from leantune.errors import StrategyError
from leantune.filters.base import Search, SearchResult
from leantune.history import Estimate, History, Note, NoteKind
from leantune.models.base import rehearse
from leantune.models.threads import one_blas_thread
from leantune.problem import At, Problem
from leantune.strategies.beliefs import build_belief, expectations, with_pending
from leantune.strategies.candidates import Table
from leantune.strategies.evidence import Evidence
from leantune.strategies.proposals import Proposal, Recommendation, derived_seed
from leantune.strategies.recipe import Recipe, Shares
from leantune.strategies.recommending import cheapest_measured, recommendation_at
from leantune.strategies.stops import budget_spent, check_stop
from leantune.strategies.tuner import Judgement, Over, View
from leantune.text import least_share


@dataclass(frozen=True)
class Strategy:
    """A recipe at work."""

    recipe: Recipe

    @property
    def judges(self) -> bool:
        """A recipe lets every test run to its end."""
        return False

    def check(self, problem: Problem) -> None:
        """Refuse a problem that the recipe cannot serve."""
        check_stop(self.recipe.name, problem, foresees=self.recipe.decides == "worth" and problem.goal.at is At.FULL)
        if self.recipe.tests is Shares.PARTIAL and len(problem.fractions) == 1:
            raise StrategyError(
                f"{self.recipe.name} tests only on parts of the {problem.fidelity}, and fractions is [1]",
                where="strategy",
                hint="Give fractions=[1/20, 1/4, 1], or choose 'eic'",
                job_hint="Give fractions: [1/20, 1/4, 1], or choose 'eic'",
            )
        if len(problem.fractions) > 1 and problem.goal.at not in self.recipe.serves:
            others = "'lean', 'nephele' or 'cherrypick'" if problem.goal.at is At.ANYWHERE else "'lean' or 'eic'"
            raise StrategyError(
                f"{self.recipe.name} does not serve a goal at={problem.goal.at.value!r}",
                where="strategy",
                hint=f"Choose {others}, or change the goal's at=",
                job_hint=f"Choose {others}, or change the goal's at: ",
            )

    def prepare(self) -> None:
        if self.recipe.models is not None:
            with one_blas_thread():
                rehearse(self.recipe.models)

    def ends_by_itself(self, problem: Problem) -> bool:
        return bool(self.recipe.stops)

    def ask(self, view: View) -> Proposal | Over:
        """The next test; pending ones count as tested, with the outcome the models predict."""
        reason = self.stop_reason(view)
        if reason is not None:
            return Over(reason)
        with one_blas_thread():
            return self._propose(view.problem, view.history, view.seed)

    def judge(self, view: View, only: Collection[int] | None = None) -> Mapping[int, Judgement]:
        """Nothing: a recipe lets every trial run to its end."""
        return {}

    def _propose(self, problem: Problem, history: History, seed: int) -> Proposal | Over:
        recipe = self.recipe
        start = recipe.start.next(problem, history, seed)
        if start is not None:
            return start
        seed = derived_seed(seed, len(history.trials))
        table = Table.of(problem, history, recipe, seed)
        untested = table.untested(recipe)
        if not untested.any():
            return Over("every pair that the strategy may test has been tested")
        rng = np.random.default_rng(derived_seed(seed, "search"))
        evidence = Evidence.of(problem, history)
        if recipe.models is None or recipe.acquisition is None or evidence.failed.all():
            return self._at_random(table, untested, rng)
        dollars_left = np.inf if problem.budget.usd is None else problem.budget.usd - history.cost
        fitted, conditions = build_belief(
            recipe, evidence, table.candidates, seed, dollars_left=dollars_left, open_pairs=Pairs.of(untested)
        )
        belief, acquisition = with_pending(fitted, table, fitted.at), recipe.acquisition

        def evaluate(pairs: Pairs) -> FloatArray:
            return acquisition.values(belief, pairs, conditions)

        searched = recipe.filter.search(Search(belief, conditions, untested, evaluate, recipe.caps.candidates, rng))
        chosen = searched.pairs.take(np.array([_winner(table, belief, conditions, searched)]))
        notes = (*_choice_notes(searched), *_cap_notes(table, recipe), *table.notes)
        expected = expectations(belief, conditions.cost, belief.at(chosen), int(chosen.configuration[0]))
        return self._proposal(table, chosen, expected, notes)

    def _at_random(self, table: Table, untested: BoolArray, rng: np.random.Generator) -> Proposal:
        """Random search, or models that have no result to learn from yet: then on the least data."""
        note = Note(NoteKind.RANDOM, "random")
        if self.recipe.models is not None:
            note = Note(NoteKind.FALLBACK, "no result to learn from yet; at random")
            least = int(untested.any(axis=0).argmax())
            if untested[:, least + 1 :].any():
                note = replace(note, text=f"{note.text}, on {least_share(table.problem.fidelity)}")
                untested[:, least + 1 :] = False
        configuration, level = divmod(int(rng.choice(np.flatnonzero(untested))), untested.shape[1])
        pair = Pairs(np.array([configuration]), np.array([level]))
        return self._proposal(table, pair, {}, (note, *table.notes))

    def _proposal(self, table: Table, pair: Pairs, expected: dict[str, Estimate], notes: tuple[Note, ...]) -> Proposal:
        row, level = int(pair.configuration[0]), int(pair.level[0])
        smaller: tuple[Fraction, ...] = ()
        if self.recipe.snapshots and table.problem.snapshots:
            untested = table.untested(self.recipe)[row, :level]
            smaller = tuple(f for f, is_open in zip(table.problem.fractions, untested, strict=False) if is_open)
        fraction: Fraction = table.problem.fractions[level]
        return Proposal(table.configurations[row], fraction, (*smaller, fraction), expected, notes)

    def recommend(self, view: View) -> Recommendation | None:
        """The configuration to use, given what is known now; None before the first result."""
        problem, history, seed = view.problem, view.history, view.seed
        if problem.goal.at is At.ANYWHERE:
            return cheapest_measured(problem, history)
        with one_blas_thread():
            table = Table.of(problem, history, self.recipe, derived_seed(seed, "recommendation", len(history.trials)))
            return self._recommend(table, seed)

    def _recommend(self, table: Table, seed: int) -> Recommendation | None:
        fitted = None if self.recipe.models is None else self._settled(table, seed)
        if fitted is None:
            return cheapest_measured(table.problem, table.history)
        belief, conditions = fitted
        row, qualified = present_incumbent(belief, conditions.rule, belief.everything)
        return recommendation_at(table, belief, conditions, row, qualified, self.recipe.incumbent)

    def _settled(self, table: Table, seed: int) -> tuple[Belief, Conditions] | None:
        """The belief from results alone: a recommendation must not rest on simulated outcomes."""
        evidence = Evidence.of(table.problem, table.history)
        if evidence.failed.all():
            return None
        return build_belief(self.recipe, evidence, table.candidates, derived_seed(seed, len(table.history.trials)))

    def stop_reason(self, view: View) -> str | None:
        """Why the study is over, or None."""
        reason = view.closed or budget_spent(view.problem.budget, view.history)
        if reason:
            return reason
        reasons = (rule.reason(view.history, lambda: self._improvement(view)) for rule in self.recipe.stops)
        return next((reason for reason in reasons if reason is not None), None)

    def _improvement(self, view: View) -> float | None:
        """Largest EI among the untested pairs, relative to the best result (on a log scale EI is relative already)."""
        with one_blas_thread():
            seed = derived_seed(view.seed, len(view.history.trials))
            table = Table.of(view.problem, view.history, self.recipe, seed)
            untested = table.untested(self.recipe)
            fitted = self._settled(table, view.seed)
            if fitted is None or fitted[0].best is None or not untested.any():
                return None
            belief, conditions = fitted
            improvement = float(Improvement().values(belief, Pairs.of(untested), conditions).max())
            is_relative = belief.objective.transform.kind == "log"
            return improvement if is_relative else improvement / max(abs(belief.best or 0.0), 1e-12)


def _cap_notes(table: Table, recipe: Recipe) -> tuple[Note, ...]:
    """The caps on configurations and observations that apply."""
    count = len(table.configurations)
    sought = (("the optimum", recipe.caps.representers), ("the next incumbent", recipe.caps.incumbents))
    caps = [f"{what} is sought among {cap} of {count} configurations" for what, cap in sought if count > cap]
    observations = sum(1 for _ in table.history.observations)
    pairs = count * len(table.problem.fractions)
    if recipe.models is not None:
        caps += recipe.models.caps_at(observations, pairs)
    return tuple(Note(NoteKind.CAP, words) for words in caps)


def _choice_notes(searched: SearchResult) -> tuple[Note, ...]:
    """Where the proposal comes from: the acquisition, the filter's own fallback, or no candidate has positive value."""
    if any(note.kind is NoteKind.FALLBACK for note in searched.notes):
        return searched.notes
    count = len(searched.pairs)
    if searched.values.max() > 0.0:
        return (Note(NoteKind.MODELS, f"largest acquisition of {count} pairs"), *searched.notes)
    words = f"none of {count} pairs promises anything; the largest expected accuracy"
    return (Note(NoteKind.FALLBACK, words), *searched.notes)


def _winner(table: Table, belief: Belief, conditions: Conditions, searched: SearchResult) -> int:
    """Largest acquisition; ties go to the larger CEA, then to the smaller id and fraction."""
    tied = np.flatnonzero(searched.values == searched.values.max())
    if len(tied) > 1:
        accuracy = ConstrainedAccuracy().values(belief, searched.pairs.take(tied), conditions)
        tied = tied[accuracy == accuracy.max()]
    if len(tied) == 1:
        return int(tied[0])
    pairs = searched.pairs
    return min(tied.tolist(), key=lambda i: (table.configurations[int(pairs.configuration[i])].id, int(pairs.level[i])))
