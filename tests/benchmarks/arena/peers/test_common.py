"""The common rule is asked after every test at first, then more seldom, and says the same until then."""

from dataclasses import dataclass, field

import pytest

from benchmarks.arena.peers.common import EVERY, CommonRule, asked_after
from leantune.history import History
from leantune.strategies.proposals import Recommendation
from leantune.strategies.recommending import cheapest_measured
from leantune.strategies.registry import recipe
from leantune.strategies.strategy import Strategy
from leantune.strategies.tuner import Over, View
from tests import toy


def test_it_is_asked_more_seldom_when_there_are_many_tests() -> None:
    assert [asked_after(tests) for tests in range(EVERY + 1)] == list(range(EVERY + 1))
    later = sorted({asked_after(tests) for tests in range(EVERY, 200)})
    assert later == [44, 52, 62, 74, 88, 105, 126, 151, 181]
    assert asked_after(87) == 74


@dataclass(frozen=True)
class Counting(Strategy):
    """Random search that counts what it is asked."""

    seen: list[int] = field(default_factory=list)

    def recommend(self, view: View) -> Recommendation | None:
        self.seen.append(len(view.history))
        return cheapest_measured(view.problem, view.history)


def test_between_two_questions_it_repeats_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.arena.peers.common.EVERY", 5)
    problem, counting = toy.toy_problem(), Counting(recipe("random"))
    rule = CommonRule(counting)
    history = toy.told(problem, [(row, 2) for row in range(12)])
    answers = []
    for tests in range(1, 13):
        answers.append(rule.recommend(View(problem, History(history.trials[:tests]), 1)))
    assert counting.seen == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12]
    assert answers[10] is answers[9]
    assert rule.recommend(View(problem, History(history.trials[:11]), 2)) is not answers[9]


def test_it_proposes_nothing() -> None:
    rule = CommonRule()
    assert isinstance(rule.ask(View(toy.toy_problem(), History(), 1)), Over)
