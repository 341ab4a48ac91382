"""TrimTuner's claims, on rows that are made to keep or break them."""

from benchmarks.papers.claims_trimtuner import trimtuner_claims
from benchmarks.papers.results import Results, Runs
from benchmarks.papers.verdicts import Claim, Verdict
from tests.benchmarks.papers.made import BEST, run

SLOW = [run([0.1] * 9 + [BEST], cost=0.5, asked=0.1)] * 3  # arrives for $5
QUICK = [run([BEST] * 10, cost=0.05, share="1/4", asked=0.01)] * 3  # arrives for $0.05
WRONG = [run([-BEST] * 10)] * 3


def found(text: str, **methods: Runs) -> Claim:
    runs = {("trimtuner", "", "rnn", name.replace("_", "-")): rows for name, rows in methods.items()}
    (claim,) = (claim for claim in trimtuner_claims(Results(runs)) if text in claim.text)
    return claim


def test_factors_are_of_trees_and_gaussian_processes_are_told() -> None:
    claim = found("eic costs 50x more", trimtuner=QUICK, trimtuner_gp=SLOW, eic=SLOW)
    assert claim.verdict is Verdict.HOLDS
    assert claim.ours == "rnn 100x [100, 100]; with Gaussian processes: rnn 1.00x [1.00, 1.00]"
    assert found("eic takes 65x longer", trimtuner=QUICK, trimtuner_gp=SLOW, eic=SLOW).verdict is Verdict.HOLDS
    assert (
        found("costs 10x less than one of eic", trimtuner=QUICK, trimtuner_gp=QUICK, eic=SLOW).verdict is Verdict.HOLDS
    )


def test_never_arriving_does_not_hold() -> None:
    claim = found("eic costs 50x more", trimtuner=WRONG, trimtuner_gp=QUICK, eic=SLOW)
    assert claim.verdict is Verdict.NOT
    assert "itself never arrives" in claim.ours
    assert claim.why


def test_shares_fabolas_and_trees() -> None:
    methods = {"trimtuner": QUICK, "trimtuner_gp": SLOW, "fabolas": WRONG, "eic": SLOW}
    assert found("mean share", **methods).verdict is Verdict.HOLDS
    assert found("mean share", trimtuner=SLOW, trimtuner_gp=SLOW).verdict is Verdict.NOT
    assert found("Fabolas", **methods).verdict is Verdict.HOLDS
    assert found("Fabolas", fabolas=QUICK, trimtuner=QUICK, trimtuner_gp=QUICK).verdict is Verdict.NOT
    assert found("Trees are slightly", **methods).verdict is Verdict.HOLDS
    assert found("Trees recommend", **methods).ours == "rnn 10.0x [10.0, 10.0]"
