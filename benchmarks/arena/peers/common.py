"""The rule that all strategies share, for tuners without models of ours.

The largest expected goal on all data among configurations that keep the limits with 90 %, by our Gaussian processes.
Their price grows with the cube of the tests, and peers make many small ones: after EVERY tests the rule is asked again
only when a fifth more tests have been made, and says until then what it said.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from leantune.history import History
from leantune.lab.replay.contenders import contender
from leantune.problem import Problem
from leantune.strategies.proposals import Proposal, Recommendation
from leantune.strategies.tuner import Judgement, Over, Tuner, View, Wait

EVERY = 44  # tests after each of which it is asked
GROWTH = 1.2


def asked_after(tests: int) -> int:
    """The largest number of tests up to this one after which the rule is asked."""
    if tests <= EVERY:
        return tests
    last, following = EVERY, EVERY
    while following <= tests:
        last, following = following, int(following * GROWTH)
    return last


@dataclass
class CommonRule:
    """Recommends for a tuner; it proposes nothing. The last answer is kept, as the next question is mostly the same."""

    rule: Tuner = field(default_factory=lambda: contender("random").common)
    _last: tuple[Problem, History, int, Recommendation | None] | None = None

    @property
    def judges(self) -> bool:
        """It lets every test run to its end."""
        return False

    def check(self, problem: Problem) -> None:
        """As the rule does."""
        self.rule.check(problem)

    def prepare(self) -> None:
        """Nothing."""

    def ends_by_itself(self, problem: Problem) -> bool:
        """It proposes nothing."""
        return True

    def ask(self, view: View) -> Proposal | Wait | Over:
        """Nothing."""
        return Over("it only recommends")

    def judge(self, view: View, only: Collection[int] | None = None) -> Mapping[int, Judgement]:
        """Nothing."""
        return {}

    def stop_reason(self, view: View) -> str | None:
        """It proposes nothing."""
        return "it only recommends"

    def recommend(self, view: View) -> Recommendation | None:
        """What the rule said of the first tests, as many as `asked_after` says."""
        history = History(view.history.trials[: asked_after(len(view.history))])
        last = self._last
        if last is None or not (last[0] is view.problem and last[1] == history and last[2] == view.seed):
            found = self.rule.recommend(replace(view, history=history))
            self._last = view.problem, history, view.seed, found
            return found
        return last[3]
