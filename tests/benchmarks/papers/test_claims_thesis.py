"""The thesis' claims, on rows that are made to keep or break them."""

import pytest

from benchmarks.papers.claims_thesis import thesis_claims
from benchmarks.papers.experiments import OURS, THESIS
from benchmarks.papers.results import Results, Run
from benchmarks.papers.verdicts import Verdict
from tests.benchmarks.papers.made import BEST, advice, inventory, row, run


def cheap(arrives: float) -> Run:
    """A run whose recommendation is the best anywhere once so many dollars are spent; before, ten times as dear."""
    return [
        row(1, 0.1, advice(0.9, ratio=10.0, full=5.0), start=True),
        row(2, arrives, advice(0.9, ratio=1.0, full=0.5)),
    ]


def test_cno_within_the_own_space_and_by_the_common_optimum() -> None:
    runs = {
        ("nephele", setup, "rnn", name): [cheap(dollars)] * 3
        for setup in (THESIS, OURS)
        for name, dollars in (("nephele", 1.0), ("lynceus", 1.3), ("cherrypick-trees", 2.0))
    }
    found = {claim.text: claim for claim in thesis_claims(Results(runs), inventory())}
    lynceus = found["To a CNO of 2 on rnn, lynceus spends 1.2x what Nephele does"]
    assert lynceus.verdict is Verdict.HOLDS
    assert lynceus.ours.startswith("thesis' budgets 1.30x [1.30, 1.30]; our budgets: 1.30x")
    cherrypick = found["To a CNO of 2 on rnn, cherrypick spends 3.67x what Nephele does"]
    assert cherrypick.verdict is Verdict.IN_PART


@pytest.mark.parametrize(("cost", "verdict"), [(0.5, Verdict.HOLDS), (0.2, Verdict.IN_PART), (0.05, Verdict.NOT)])
def test_savings_are_of_all_dollars(cost: float, verdict: Verdict) -> None:
    runs = {
        ("fabulinus", "", "rnn", "fabulinus"): [run([BEST] * 4, cost=0.1)] * 3,
        ("fabulinus", "", "rnn", "eic"): [run([BEST] * 4, cost=cost)] * 3,
    }
    found = {claim.text: claim for claim in thesis_claims(Results(runs), inventory())}
    assert found["Fabulinus' optimisation costs 80 % less than that of eic on rnn"].verdict is verdict
    slower = found["With the time to recommend, Fabulinus takes 6.46x as long as eic on rnn"]
    assert slower.verdict is not Verdict.HOLDS
