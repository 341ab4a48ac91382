"""The claims of SpotTune's section IV, ours beside the paper's, with a verdict by a stated rule."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.papers.verdicts import Claim, Measure, Verdict, advantage, settled
from benchmarks.papers.words import number, percent
from benchmarks.spottune.evidence import Chosen, CurveErrors, largest_models
from benchmarks.spottune.experiments import THETAS
from benchmarks.spottune.measures import Found, Ratio, hit_rate, over_families, ratio, selected, slowness, usd
from benchmarks.spottune.policies import Policy, Rule
from benchmarks.spottune.results import Results
from leantune.lab.replay.arrivals import Median

RULE = (
    "By which rule: an advantage of a factor p (a saving s counts as 1 / (1 - s)) *holds* when we measure at "
    "least half of it, (r - 1) >= (p - 1) / 2, *in part* when r > 1, and otherwise *does not hold*. A share *holds* "
    "from ten points below the paper's on and *in part* from half of it on; an upper limit *holds* up to it and "
    "*in part* up to twice it. Judged on 2016's prices with our rule, by the mean over families of the ratio, median "
    "over starts; brackets hold 95 % bootstrap intervals over starts."
)
FULL, EARLY = Policy(Rule.OURS, 1.0), Policy(Rule.OURS, 0.7)
PRINTED = {1.0: Policy(Rule.PRINTED, 1.0), 0.7: Policy(Rule.PRINTED, 0.7)}
CHEAPEST, FASTEST = Policy(Rule.SPOT_CHEAPEST, 1.0), Policy(Rule.SPOT_FASTEST, 1.0)
SINGLES = {"cheapest": CHEAPEST, "fastest": FASTEST}
REFUNDS = "Ours courts a refund only where the kept steps pay for the boots; and these are other prices than 2017's."
PRICES = (
    "The pool decides: 2016's cheapest machine (m3.large, 2 vCPUs, hardly ever dear) is a better bargain than the "
    "paper's r4.large, and the fastest has 40 vCPUs, not 16."
)


@dataclass(frozen=True)
class Evidence:
    """What was found besides the tunings. scores: of each predictor on the volatile pool's last quarter."""

    scores: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    curves: Sequence[CurveErrors] = ()
    chosen: Sequence[Chosen] = ()
    variations: Mapping[str, float] = field(default_factory=dict)


def claims(results: Results, evidence: Evidence) -> list[Claim]:
    """In the order of the paper."""
    volatile, smooth = results.of("volatile", "volatile"), results.of("smooth", "smooth")
    return [
        _variation(evidence),
        *_costs(volatile, smooth),
        *_times(volatile, smooth),
        *_rates(volatile, smooth),
        *_selection(results),
        _free(volatile, smooth),
        *_predictors(evidence),
        *_loop(results),
        _earlycurve(evidence),
        _checkpoints(volatile),
        *_sizes(),
    ]


def verdict_of_share(paper: float, ours: float) -> Verdict:
    """The rule for shares that should be high."""
    if math.isnan(ours):
        return Verdict.NO_DATA
    return Verdict.HOLDS if ours >= paper - 0.1 else Verdict.IN_PART if ours >= paper / 2 else Verdict.NOT


def verdict_of_limit(paper: float, ours: float) -> Verdict:
    """The rule for upper limits."""
    if math.isnan(ours):
        return Verdict.NO_DATA
    return Verdict.HOLDS if ours <= paper else Verdict.IN_PART if ours <= 2 * paper else Verdict.NOT


def saved(found: Median) -> str:
    """A ratio of costs as what is saved."""
    if not found.count:
        return "not run"
    return f"{percent(1 - found.value)} [{percent(1 - found.high)}, {percent(1 - found.low)}]"


def factor(found: Median) -> str:
    """How many times better, from a ratio of what is spent."""
    if not found.count:
        return "not run"
    return f"{number(1 / found.value)}x [{number(1 / found.high)}, {number(1 / found.low)}]"


def _saving(text: str, paper: float, ours: Ratio, more: Mapping[str, Ratio], why: str, where: str) -> Claim:
    if not ours.known:
        return Claim(text, where, percent(paper), "not run", Verdict.NO_DATA)
    others = [f"{name}: {saved(one.mean_of)}" for name, one in more.items() if one.known]
    told = "; ".join([f"{saved(ours.mean_of)}, of means {saved(ours.of_means)}", *others])
    verdict = advantage(1 / (1 - paper), 1 / ours.mean_of.value)
    return settled(Claim(text, where, percent(paper), told, verdict, why, Measure.of(ours.mean_of)))


def _costs(volatile: Found, smooth: Found) -> list[Claim]:
    made = []
    for name, paper in (("cheapest", 0.415), ("fastest", 0.8604)):
        more = {
            "as printed": ratio(volatile, PRINTED[1.0], SINGLES[name], usd),
            "smooth prices": ratio(smooth, FULL, SINGLES[name], usd),
        }
        text = f"theta = 1 saves cost against the single {name} spot machine"
        made.append(_saving(text, paper, ratio(volatile, FULL, SINGLES[name], usd), more, PRICES, "IV-B, Fig. 7a"))
    more = {
        "as printed": ratio(volatile, PRINTED[0.7], PRINTED[1.0], usd),
        "smooth prices": ratio(smooth, EARLY, FULL, usd),
    }
    why = "Three of 16 settings are finished after the selection and paid for here: 24 % fewer steps in all."
    found = ratio(volatile, EARLY, FULL, usd)
    made.append(_saving("theta = 0.7 saves cost against theta = 1", 0.5716, found, more, why, "IV-B, Fig. 7a"))
    for name, paper in (("cheapest", 0.7564), ("fastest", 0.9418)):
        found = ratio(volatile, EARLY, SINGLES[name], usd)
        text = f"theta = 0.7 saves up to this against the single {name}"
        if not found.known:
            made.append(Claim(text, "IV-B", f"up to {percent(paper)}", "not run", Verdict.NO_DATA))
            continue
        family = min(found.families, key=lambda one: found.families[one])
        told = f"{percent(1 - found.families[family])} ({family}), on average {saved(found.mean_of)}"
        verdict = advantage(1 / (1 - paper), 1 / found.families[family])
        by = Measure(found.families[family])
        made.append(settled(Claim(text, "IV-B", f"up to {percent(paper)}", told, verdict, PRICES, by)))
    return made


def _times(volatile: Found, smooth: Found) -> list[Claim]:
    why = "Ours keeps to machines with cheap steps and aims only at the pace of those on demand, not at speed."
    rows = (("theta = 0.7 is faster than the single cheapest", "cheapest", 2.14),)
    made = []
    for text, name, paper in rows:
        found = ratio(volatile, EARLY, SINGLES[name], selected)
        more = ratio(volatile, PRINTED[0.7], SINGLES[name], selected), ratio(smooth, EARLY, SINGLES[name], selected)
        told = _times_told(found, *more)
        verdict = advantage(paper, 1 / found.mean_of.value) if found.known else Verdict.NO_DATA
        made.append(settled(Claim(text, "IV-B, Fig. 7b", f"{paper:g}x", told, verdict, why, _by(found))))
    found = ratio(volatile, EARLY, FASTEST, selected)
    more = ratio(volatile, PRINTED[0.7], FASTEST, selected), ratio(smooth, EARLY, FASTEST, selected)
    text = "theta = 0.7 reaches this share of the fastest's speed"
    verdict = verdict_of_share(0.6459, 1 / found.mean_of.value) if found.known else Verdict.NO_DATA
    told = _times_told(found, *more, share=True)
    made.append(settled(Claim(text, "IV-B, Fig. 7b", percent(0.6459), told, verdict, why, _by(found))))
    return made


def _by(found: Ratio) -> Measure | None:
    return Measure.of(found.mean_of) if found.known else None


def _times_told(found: Ratio, printed: Ratio, smooth: Ratio, *, share: bool = False) -> str:
    if not found.known:
        return "not run"

    def shown(one: Ratio) -> str:
        return percent(1 / one.mean_of.value) if share else factor(one.mean_of)

    others = {"as printed": printed, "smooth prices": smooth}
    return "; ".join([shown(found), *(f"{name}: {shown(one)}" for name, one in others.items() if one.known)])


def _rates(volatile: Found, smooth: Found) -> list[Claim]:
    made = []
    for policy, papers in ((FULL, (2.65, 3.36)), (EARLY, (13.11, 16.61))):
        for (name, single), paper in zip(SINGLES.items(), papers, strict=True):
            found = ratio(volatile, policy, single, slowness)
            text = f"Performance-cost rate of theta = {policy.theta:g} against the single {name}"
            if not found.known:
                made.append(Claim(text, "IV-B, Fig. 7c", f"{paper:g}x", "not run", Verdict.NO_DATA))
                continue
            others = {
                "as printed": ratio(volatile, PRINTED[policy.theta], single, slowness),
                "smooth prices": ratio(smooth, policy, single, slowness),
            }
            more = [f"{key}: {factor(one.mean_of)}" for key, one in others.items() if one.known]
            told = "; ".join([f"{factor(found.mean_of)}, of means {factor(found.of_means)}", *more])
            why = "Cost and time both: a rate multiplies the two differences above."
            verdict = advantage(paper, 1 / found.mean_of.value)
            made.append(settled(Claim(text, "IV-B, Fig. 7c", f"{paper:g}x", told, verdict, why, _by(found))))
    return made


def _selection(results: Results) -> list[Claim]:
    rates = {theta: hit_rate(results.of("theta", f"{theta:g}"), Policy(Rule.OURS, theta), 3) for theta in THETAS}
    known = {theta: rate for theta, rate in rates.items() if not math.isnan(rate)}
    late = [rate for theta, rate in known.items() if theta >= 0.7]
    early = [rate for theta, rate in known.items() if 0.2 <= theta <= 0.4]
    why = "One family of six missed is 17 points; Fig. 8 tells which, by how much, and how noisy its last report is."
    texts = ("The best setting is among the first three from theta = 0.7 on", "... and at theta = 0.2 to 0.4")
    if not late or not early:
        rows = zip(texts, ("100 %", "70 to 80 %"), strict=True)
        return [Claim(text, "IV-B, Fig. 8c", paper, "not run", Verdict.NO_DATA) for text, paper in rows]
    worst, mean = min(late), sum(early) / len(early)
    verdict = Verdict.HOLDS if worst == 1.0 else Verdict.IN_PART if worst >= 0.8 else Verdict.NOT
    told = ", ".join(f"{theta:g}: {percent(rate)}" for theta, rate in known.items() if 0.2 <= theta <= 0.4)
    share = verdict_of_share(0.7, mean)
    return [
        settled(Claim(texts[0], "IV-B, Fig. 8c", "100 %", f"{percent(worst)} at least", verdict, why, Measure(worst))),
        settled(Claim(texts[1], "IV-B, Fig. 8c", "70 to 80 %", told, share, why, Measure(mean))),
    ]


def _free(volatile: Found, smooth: Found) -> Claim:
    text = "Steps that cost nothing in the end, theta = 0.7"
    found = over_families(volatile, EARLY, lambda one: one.free_share)
    if not found.count:
        return Claim(text, "IV-C, Fig. 9", percent(0.775), "not run", Verdict.NO_DATA)
    others = {
        "as printed": over_families(volatile, PRINTED[0.7], lambda one: one.free_share),
        "oracle": over_families(volatile, Policy(Rule.ORACLE), lambda one: one.free_share),
        "smooth prices": over_families(smooth, EARLY, lambda one: one.free_share),
    }
    more = [f"{name}: {percent(one.value)}" for name, one in others.items() if one.count]
    ours = f"{percent(found.value)} [{percent(found.low)}, {percent(found.high)}]"
    told = "; ".join([ours, *more])
    verdict = verdict_of_share(0.775, found.value)
    return settled(Claim(text, "IV-C, Fig. 9", percent(0.775), told, verdict, REFUNDS, Measure.of(found)))


def _predictors(evidence: Evidence) -> list[Claim]:
    made = []
    pairs = (("accuracy", "accuracy", 1.2032), ("F1 score", "f1", 1.3403))
    for words, key, paper in pairs:
        text = f"RevPred's {words} over Tributary's"
        scores = {kind: found["pooled"][key] for kind, found in evidence.scores.items()}
        if not {"revpred", "tributary"} <= set(scores):
            made.append(Claim(text, "IV-D, Fig. 10", f"+{percent(paper - 1)}", "not run", Verdict.NO_DATA))
            continue
        ours = scores["revpred"] / scores["tributary"]
        told = f"{ours - 1:+.1%} ({number(scores['revpred'])} against {number(scores['tributary'])})"
        if "revpred-printed" in scores:
            told += f"; RevPred as printed {number(scores['revpred-printed'])}"
        why = "Both are asked about the same max prices here and calibrated; in the paper each has its own."
        by, verdict = Measure(ours), advantage(paper, ours)
        made.append(settled(Claim(text, "IV-D, Fig. 10", f"+{percent(paper - 1)}", told, verdict, why, by)))
    return made


def _loop(results: Results) -> list[Claim]:
    texts = ("RevPred rather than Tributary's in the loop: less cost", "... and more performance-cost rate")
    made = []
    for text, what, paper in zip(texts, (usd, slowness), (1 / 0.75, 1.24), strict=True):
        printed = f"{percent(1 - 1 / paper)} less" if what is usd else f"{percent(paper - 1)} more"
        found = {rule: loop_ratio(results, rule, what) for rule in (Rule.OURS, Rule.PRINTED)}
        if not found[Rule.OURS].known:
            made.append(Claim(text, "IV-D, Fig. 10c", printed, "not run", Verdict.NO_DATA))
            continue
        told = "; ".join(f"{rule}: {factor(one.mean_of)}" for rule, one in found.items())
        why = "A better Brier score over all max prices is not yet a cheaper choice among the few that the rule weighs."
        verdict = advantage(paper, 1 / found[Rule.OURS].mean_of.value)
        made.append(settled(Claim(text, "IV-D, Fig. 10c", printed, told, verdict, why, _by(found[Rule.OURS]))))
    return made


def loop_ratio(results: Results, rule: Rule, what: Any, above: str = "revpred", below: str = "tributary") -> Ratio:
    """What a rule spends with one predictor over what it spends with another."""
    policy, other = Policy(rule, 0.7), Policy(rule, 1.0)  # told apart by theta, so that both fit into one table
    joined = {tuning: one for tuning, one in results.of("loop", above).items() if tuning.policy == policy}
    for tuning, one in results.of("loop", below).items():
        if tuning.policy == policy:
            joined[tuning.under(other)] = one
    return ratio(joined, policy, other, what)


def _earlycurve(evidence: Evidence) -> Claim:
    text = "EarlyCurve's error on the ResNets is below SLAQ's, theta = 0.7"
    found = {one.predictor: one.median for one in evidence.curves if one.family.lower() == "resnet"}
    if not found:
        return Claim(text, "IV-E, Fig. 11", "far below", "not run", Verdict.NO_DATA)
    told = ", ".join(f"{name} {percent(value)}" for name, value in found.items())
    verdict = Verdict.HOLDS if found["earlycurve"] < found["slaq"] else Verdict.NOT
    why, by = "The drops leave few points to a stage.", Measure(found["earlycurve"] / found["slaq"])
    return settled(Claim(text, "IV-E, Fig. 11", "far below", told, verdict, why, by))


def _checkpoints(volatile: Found) -> Claim:
    text = "Checkpoints and restores take less than this share of the time"
    found = over_families(volatile, EARLY, lambda one: one.checkpoint_share)
    if not found.count:
        return Claim(text, "IV-F, Fig. 12", "10 %", "not run", Verdict.NO_DATA)
    boots = over_families(volatile, EARLY, lambda one: one.overhead_share)
    told = f"{percent(found.value)}; with booting {percent(boots.value)}"
    verdict = verdict_of_limit(0.1, found.value)
    return settled(Claim(text, "IV-F, Fig. 12", "10 %", told, verdict, "Larger models.", Measure.of(found)))


def _sizes() -> list[Claim]:
    made = []
    papers = iter((7.36, 15.73))
    sizes = largest_models()
    for whole, left in zip(sizes[::2], sizes[1::2], strict=True):
        paper = next(papers)
        text = f"Largest model that a notice can save at {whole.rate / 1e6:g} MB/s"
        told = f"{number(whole.gigabytes)} GB in 120 s, {number(left.gigabytes)} GB in the 110 s that polling leaves"
        close = abs(whole.gigabytes / paper - 1) <= 0.05
        verdict = Verdict.HOLDS if close else Verdict.NOT
        by = Measure(whole.gigabytes)
        made.append(settled(Claim(text, "IV-F", f"{paper:g} GB", told, verdict, "Another rate.", by)))
    return made


def _variation(evidence: Evidence) -> Claim:
    text = "Variation (COV) of the seconds per step of a job on one machine"
    if not evidence.variations:
        return Claim(text, "IV-A, Fig. 6", "below 0.1", "not run", Verdict.NO_DATA)
    worst = max(evidence.variations.values())
    told = ", ".join(f"{name} {number(value)}" for name, value in evidence.variations.items())
    why = "Recorded on a shared machine, and over intervals of fractions of a second."
    verdict = verdict_of_limit(0.1, worst)
    return settled(Claim(text, "IV-A, Fig. 6", "below 0.1", told, verdict, why, Measure(worst)))
