"""Verdicts by the stated rule."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from benchmarks.papers.verdicts import Verdict
from benchmarks.spottune.claims import Evidence, claims, factor, loop_ratio, saved, verdict_of_limit, verdict_of_share
from benchmarks.spottune.evidence import CurveErrors
from benchmarks.spottune.experiments import Group
from benchmarks.spottune.measures import usd
from benchmarks.spottune.policies import Policy, Rule
from benchmarks.spottune.results import Results
from benchmarks.spottune.tunings import Tuning
from leantune.lab.replay.arrivals import Median
from tests.benchmarks.spottune.made import MEASURED, results

SCORES = {
    "revpred": {"pooled": {"accuracy": 0.9, "f1": 0.6, "brier": 0.08}},
    "tributary": {"pooled": {"accuracy": 0.75, "f1": 0.55, "brier": 0.1}},
}
COSTS = {
    Policy(Rule.OURS, 1.0): [[5.0, 5.0]],
    Policy(Rule.OURS, 0.7): [[4.0, 2.0]],
    Policy(Rule.SPOT_CHEAPEST, 1.0): [[10.0, 10.0]],
    Policy(Rule.SPOT_FASTEST, 1.0): [[5.0, 5.0]],
}


def by_text(made: Results, evidence: Evidence) -> dict[str, tuple[Verdict, str]]:
    return {claim.text: (claim.verdict, claim.ours) for claim in claims(made, evidence)}


def test_without_runs_every_measured_claim_has_no_data() -> None:
    verdicts = [claim.verdict for claim in claims(Results(), Evidence())]
    assert verdicts.count(Verdict.NO_DATA) == len(verdicts) - 2  # sizes in a notice are arithmetic


@pytest.mark.parametrize(
    ("ours", "wanted"),
    [
        (0.9, Verdict.HOLDS),
        (0.7, Verdict.HOLDS),
        (0.5, Verdict.IN_PART),
        (0.1, Verdict.NOT),
        (math.nan, Verdict.NO_DATA),
    ],
)
def test_shares(ours: float, wanted: Verdict) -> None:
    assert verdict_of_share(0.775, ours) is wanted


@pytest.mark.parametrize(("ours", "wanted"), [(0.05, Verdict.HOLDS), (0.15, Verdict.IN_PART), (0.3, Verdict.NOT)])
def test_limits(ours: float, wanted: Verdict) -> None:
    assert verdict_of_limit(0.1, ours) is wanted


def test_savings_are_judged_as_factors() -> None:
    found = by_text(results(COSTS), Evidence())
    cheapest, told = found["theta = 1 saves cost against the single cheapest spot machine"]
    assert cheapest is Verdict.HOLDS and told.startswith("50 %")  # half of 1/(1 - 0.415) - 1 is enough
    assert found["theta = 1 saves cost against the single fastest spot machine"][0] is Verdict.NOT  # nothing saved
    verdict, told = found["theta = 0.7 saves up to this against the single cheapest"]
    assert told.startswith("80 % (f1)") and verdict is Verdict.HOLDS


def test_predictors_are_compared_relatively() -> None:
    found = by_text(Results(), Evidence(SCORES))
    assert found["RevPred's accuracy over Tributary's"] == (Verdict.HOLDS, "+20.0% (0.900 against 0.750)")
    assert found["RevPred's F1 score over Tributary's"][0] is Verdict.IN_PART


def test_the_loop_compares_the_same_tunings_under_two_predictors() -> None:
    kinds = ("revpred", "tributary")
    tunings = {kind: Tuning("volatile", "LoR", Policy(Rule.OURS), kind, 0) for kind in kinds}
    group = Group("loop", "", tuple(tunings.items()))
    measured = {
        tunings["revpred"]: replace(MEASURED, usd=3.0),
        tunings["tributary"]: replace(MEASURED, usd=4.0),
    }
    made = Results(measured, {"loop": group})
    assert loop_ratio(made, Rule.OURS, usd).mean_of.value == 0.75
    assert not loop_ratio(made, Rule.PRINTED, usd).known
    assert by_text(made, Evidence())["RevPred rather than Tributary's in the loop: less cost"][0] is Verdict.HOLDS


def test_earlycurve_is_compared_on_the_resnets() -> None:
    curves = [CurveErrors("ResNet", "earlycurve", (0.1, 0.2), 0), CurveErrors("ResNet", "slaq", (0.3, 0.5), 0)]
    text = "EarlyCurve's error on the ResNets is below SLAQ's, theta = 0.7"
    assert by_text(Results(), Evidence(curves=curves))[text] == (Verdict.HOLDS, "earlycurve 15 %, slaq 40 %")


def test_the_worst_family_decides_on_the_variation() -> None:
    text = "Variation (COV) of the seconds per step of a job on one machine"
    assert by_text(Results(), Evidence(variations={"LoR": 0.02, "SVM": 0.15}))[text][0] is Verdict.IN_PART


def test_words_turn_ratios_round() -> None:
    half = Median(0.5, 0.4, 0.8, 3, 3)
    assert saved(half) == "50 % [20 %, 60 %]"
    assert factor(half) == "2.00x [1.25, 2.50]"
    assert saved(Median(math.nan, math.nan, math.nan, 0, 0)) == "not run"
