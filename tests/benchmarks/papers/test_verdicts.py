"""The rule by which a claim holds."""

import math

import pytest

from benchmarks.papers.measures import step_cost
from benchmarks.papers.results import Results
from benchmarks.papers.verdicts import Claim, Verdict, advantage, best_of, compare, each, factor_claim, settled
from leantune.lab.replay.arrivals import Median
from tests.benchmarks.papers.made import BEST, run


def factor(value: float) -> Median:
    return Median(value, value, value, 5, 5)


@pytest.mark.parametrize(
    ("paper", "ours", "verdict"),
    [
        (10.0, 5.5, Verdict.HOLDS),
        (10.0, 5.4, Verdict.IN_PART),
        (10.0, math.inf, Verdict.HOLDS),
        (1.2, 1.1, Verdict.HOLDS),
        (1.2, 1.0, Verdict.NOT),
        (2.0, 0.0, Verdict.NOT),
        (2.0, math.nan, Verdict.NOT),
    ],
)
def test_half_of_an_advantage_is_enough(paper: float, ours: float, verdict: Verdict) -> None:
    assert advantage(paper, ours) is verdict


def test_up_to_is_the_largest_and_else_the_mean() -> None:
    found = {"cnn": factor(2.0), "rnn": factor(8.0)}
    assert factor_claim("", "", 15.0, found, up_to=True).verdict is Verdict.HOLDS
    assert factor_claim("", "", 15.0, found).verdict is Verdict.IN_PART
    assert factor_claim("", "", 4.0, {"cnn": factor(0.0), "rnn": factor(9.0)}).verdict is Verdict.NOT


def test_what_was_not_run_has_no_verdict() -> None:
    claim = factor_claim("text", "where", 3.0, {"rnn": Median(math.nan, math.nan, math.nan, 0, 0)}, why="because")
    assert (claim.verdict, claim.ours, claim.why, claim.paper) == (Verdict.NO_DATA, "not run", "", "3x")


def test_a_difference_is_explained_only_where_there_is_one() -> None:
    assert settled(Claim("", "", "", "", Verdict.HOLDS, "because")).why == ""
    assert settled(Claim("", "", "", "", Verdict.NOT, "because")).why == "because"


def test_the_best_of_several() -> None:
    early, late = [run([BEST] * 5)] * 4, [run([0.1] * 3 + [BEST] * 2)] * 4
    holds = best_of("", "", {"rnn": {"a": early, "b": late}}, "a", why="")
    assert (holds.verdict, holds.ours) == (Verdict.HOLDS, "rnn: a is best, $0.100")
    assert best_of("", "", {"rnn": {"a": early, "b": late}}, "b", why="").verdict is Verdict.NOT
    mixed = [early[0], late[0], early[0], late[0], late[0]]
    assert best_of("", "", {"rnn": {"a": mixed, "b": early}}, "a", why="").verdict is Verdict.IN_PART
    assert best_of("", "", {}, "a", why="").verdict is Verdict.NO_DATA


def test_compare_is_by_table() -> None:
    results = Results({("g", "", "rnn", "a"): [run([0.5, 0.6], cost=0.2)], ("g", "", "rnn", "b"): [run([0.5, 0.6])]})
    assert compare(results, "g", "a", "b", each(step_cost))["rnn"].value == pytest.approx(2.0)
    assert compare(results, "g", "a", "absent", each(step_cost)) == {}
