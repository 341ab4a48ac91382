"""The page's tables, in Markdown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.papers.targets import Target
from benchmarks.papers.verdicts import Claim
from benchmarks.papers.words import markdown, number, percent, spread
from benchmarks.spottune.claims import factor, loop_ratio, saved
from benchmarks.spottune.evidence import Chosen, CurveErrors, largest_models
from benchmarks.spottune.measures import Found, finished, gap, hit_rate, over_families, ratio, selected, slowness, usd
from benchmarks.spottune.policies import Policy, Rule
from benchmarks.spottune.results import Results
from leantune.lab.simulate.speeds import Speeds

SINGLES = (Policy(Rule.SPOT_CHEAPEST, 1.0), Policy(Rule.SPOT_FASTEST, 1.0))


def targets_table(found: Sequence[Target]) -> str:
    """Aims."""
    return markdown(("target", "wanted", "ours", ""), [(one.text, one.wanted, one.ours, one.verdict) for one in found])


def claims_table(found: Sequence[Claim]) -> str:
    """Claims with verdicts."""
    rows = [(o.text, o.where, o.paper, o.ours, f"**{o.verdict}**", o.why or "–") for o in found]
    return markdown(("claim", "where", "paper", "ours", "verdict", "on the difference"), rows)


def policies_of(found: Found) -> list[Policy]:
    """In the order in which they were run."""
    return list(dict.fromkeys(tuning.policy for tuning in found))


def policies_table(found: Found) -> str:
    """Every policy of a pool: means over families, medians over starts."""
    header = (
        "policy",
        "cost of a tuning",
        "selected after",
        "finished after",
        "free steps",
        "refunds",
        "revocations",
        "on demand",
        "steps lost",
    )
    rows = []
    for policy in policies_of(found):
        rows.append(
            (
                str(policy),
                spread(over_families(found, policy, usd), "$"),
                spread(over_families(found, policy, selected), "h"),
                spread(over_families(found, policy, finished), "h"),
                percent(over_families(found, policy, lambda one: one.free_share).value),
                percent(over_families(found, policy, lambda one: one.refund_share).value),
                number(over_families(found, policy, lambda one: float(one.revocations)).value),
                percent(over_families(found, policy, lambda one: one.demand_share).value),
                percent(over_families(found, policy, lambda one: one.lost_steps / one.kept_steps).value),
            )
        )
    return markdown(header, rows)


def ratios_table(found: Found) -> str:
    """What ours and the paper's rule save against the others, both ways of averaging."""
    header = (
        "",
        "against",
        "cost saved: mean of ratios",
        "of means",
        "time: times as fast",
        "rate: mean of ratios",
        "of means",
    )
    rows = []
    for policy in (
        Policy(Rule.OURS, 0.7),
        Policy(Rule.OURS, 1.0),
        Policy(Rule.PRINTED, 0.7),
        Policy(Rule.PRINTED, 1.0),
    ):
        for other in (*SINGLES, Policy(Rule.DEMAND_STEP, 1.0), Policy(Rule.DEMAND_FASTEST, 1.0)):
            cost, time, rate = (ratio(found, policy, other, what) for what in (usd, selected, slowness))
            if cost.known:
                cells = (saved(cost.mean_of), saved(cost.of_means), factor(time.mean_of))
                rows.append((str(policy), str(other.rule), *cells, factor(rate.mean_of), factor(rate.of_means)))
    return markdown(header, rows)


def gap_table(results: Results) -> str:
    """No skill, ours, oracle in every pool and setup that has them."""
    header = ("", "no skill", "ours", "oracle", "gap closed", "finished, on demand = 1", "selected, on demand = 1")
    rows = []
    for group in ("volatile", "smooth", "capacity", "sensitivity"):
        for setup in results.setups(group):
            one = gap(results.of(group, setup))
            if one.known:
                told = (spread(each) for each in (one.random, one.ours, one.oracle, one.closed, one.time, one.selected))
                rows.append((setup if group != "sensitivity" else f"volatile, {setup}", *told))
    return markdown(header, rows)


def theta_table(results: Results) -> str:
    """Cost, time and hits by theta."""
    rows = []
    for setup in results.setups("theta"):
        found, policy = results.of("theta", setup), Policy(Rule.OURS, float(setup))
        hits = (percent(hit_rate(found, policy, count)) for count in (1, 3))
        cost, time = (spread(over_families(found, policy, w), u) for w, u in ((usd, "$"), (selected, "h")))
        rows.append((setup, cost, time, *hits))
    return markdown(("theta", "cost of a tuning", "selected after", "top 1", "top 3"), rows)


def scores_table(scores: Mapping[str, Mapping[str, Any]]) -> str:
    """Predictors on the common slice."""
    header = (
        "predictor",
        "accuracy",
        "F1",
        "Brier",
        "log loss",
        "calibration error",
        "area (AUPRC)",
        "seconds to train",
    )
    keys = ("accuracy", "f1", "brier", "log_loss", "calibration_error", "area")
    ordered = sorted(scores.items(), key=lambda item: float(item[1]["pooled"]["brier"]))
    rows = [
        (kind, *(f"{found['pooled'][key]:.4f}" for key in keys), number(found["seconds"])) for kind, found in ordered
    ]
    return markdown(header, rows)


def loop_table(results: Results, against: str) -> str:
    """Cost and rate in the loop with each predictor over those with another."""
    rows = []
    for kind in results.setups("loop"):
        for rule in (Rule.OURS, Rule.PRINTED):
            cost = loop_ratio(results, rule, usd, kind, against)
            rate = loop_ratio(results, rule, slowness, kind, against)
            spent = over_families(results.of("loop", kind), Policy(rule), usd)
            told = (spread(cost.mean_of), factor(rate.mean_of)) if kind != against else ("1", "1x")
            rows.append((kind, str(rule), spread(spent, "$"), *told))
    return markdown(("predictor", "rule", "cost of a tuning", f"cost, {against} = 1", f"rate, {against} = 1"), rows)


def curves_table(errors: Sequence[CurveErrors]) -> str:
    """Median errors by family and predictor, and how many settings go on because a drop is still to come."""
    families = list(dict.fromkeys(one.family for one in errors))
    names = list(dict.fromkeys(one.predictor for one in errors))
    by = {(one.family, one.predictor): one for one in errors}
    rows = []
    for name in names:
        cells = []
        for family in families:
            one = by[family, name]
            later = f" ({one.later} go on)" if one.later else ""
            cells.append(("–" if math.isnan(one.median) else percent(one.median)) + later)
        rows.append((name, *cells))
    return markdown(("predictor", *families), rows)


def chosen_table(found: Sequence[Chosen]) -> str:
    """Which place the best setting gets, and what a miss costs, by predictor and family."""
    families = list(dict.fromkeys(one.family for one in found))
    names = list(dict.fromkeys(one.predictor for one in found))
    by = {(one.family, one.predictor): one for one in found}
    rows = []
    for name in names:
        mine = [by[family, name] for family in families]
        told = ["first" if o.top_1 else "top 3" if o.top_3 else f"missed, {percent(o.regret)} worse" for o in mine]
        rows.append((name, *told))
    return markdown(("predictor", *families), rows)


def sizes_table(results: Results) -> str:
    """What large checkpoints cost."""
    rows = []
    for setup in results.setups("sizes"):
        found, policy = results.of("sizes", setup), Policy(Rule.OURS)
        shares = (
            over_families(found, policy, lambda one: one.checkpoint_share),
            over_families(found, policy, lambda one: one.overhead_share),
            over_families(found, policy, lambda one: one.lost_steps / (one.kept_steps + one.lost_steps)),
        )
        rows.append((setup, spread(over_families(found, policy, usd), "$"), *(percent(one.value) for one in shares)))
    return markdown(("checkpoint", "cost of a tuning", "saving and restoring", "with booting", "steps lost"), rows)


def largest_table() -> str:
    """The largest model that a notice can save."""
    rows = [(f"{one.rate / 1e6:g} MB/s", f"{one.seconds:g} s", f"{one.gigabytes:.2f} GB") for one in largest_models()]
    return markdown(("rate", "of the notice", "largest checkpoint"), rows)


def speeds_table(speeds: Mapping[str, Speeds]) -> str:
    """Slowness of each type and where it comes from."""
    rows = []
    for pool, found in speeds.items():
        for one in sorted(found.by_type.values(), key=lambda one: -one.slowness):
            told = f"measured, spread {one.spread:.2f}" if one.spread is not None else "by the rule"
            rows.append((pool, one.instance_type, number(one.slowness), told))
    return markdown(("pool", "type", "seconds per second on the reference", "from"), rows)
