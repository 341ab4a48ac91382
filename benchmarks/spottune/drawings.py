"""What the figures show: medians over starts of each family or policy, as panels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from benchmarks.spottune.claims import Evidence, loop_ratio
from benchmarks.spottune.evidence import CurveErrors
from benchmarks.spottune.experiments import GIGABYTES
from benchmarks.spottune.figures import Bars, Figure, Lines, exact
from benchmarks.spottune.measures import (
    Found,
    What,
    array,
    by_family,
    gap,
    hit_rate,
    over_families,
    selected,
    slowness,
    usd,
)
from benchmarks.spottune.policies import Policy, Rule
from benchmarks.spottune.pools import PoolName
from benchmarks.spottune.results import Results
from leantune.lab.replay.arrivals import Median, median
from leantune.lab.simulate.speeds import Speeds

FIG_7 = (
    Policy(Rule.OURS, 0.7),
    Policy(Rule.OURS, 1.0),
    Policy(Rule.PRINTED, 0.7),
    Policy(Rule.PRINTED, 1.0),
    Policy(Rule.SPOT_CHEAPEST, 1.0),
    Policy(Rule.SPOT_FASTEST, 1.0),
    Policy(Rule.DEMAND_STEP, 1.0),
)
POOL_WORDS = {
    PoolName.VOLATILE: "2016's volatile prices",
    PoolName.SMOOTH: "today's smooth prices",
    PoolName.CAPACITY: "preemption traces, with notice",
    PoolName.NO_NOTICE: "preemption traces, without notice",
}
MEDIANS = "Medians over starts with 95 % bootstrap intervals."


def drawings(results: Results, evidence: Evidence, speeds: Mapping[str, Speeds]) -> list[Figure]:
    """Every figure that there are results for."""
    made = [_speeds(speeds, evidence)]
    for group in ("volatile", "smooth", "capacity"):
        made += [_costs(results.of(group, setup), PoolName(setup)) for setup in results.setups(group)]
    if results.setups("theta"):
        made.append(_theta(results))
    if results.setups("volatile"):
        made += [_free(results), _gap(results)]
    if evidence.scores:
        made.append(_scores(evidence))
    if results.setups("loop"):
        made.append(_loop(results))
    if evidence.curves:
        made.append(_curves(evidence.curves))
    if results.setups("sizes"):
        made.append(_sizes(results))
    return made


def _speeds(speeds: Mapping[str, Speeds], evidence: Evidence) -> Figure:
    panels: list[Bars | Lines] = []
    for name, found in speeds.items():
        ordered = sorted(found.by_type.values(), key=lambda one: -one.slowness)
        values = {"": [exact(one.slowness) for one in ordered]}
        panels.append(
            Bars(
                f"{name}: seconds per second on {found.reference}",
                "slowness",
                [o.instance_type for o in ordered],
                values,
            )
        )
    if evidence.variations:
        shown = {"": [exact(value) for value in evidence.variations.values()]}
        panels.append(
            Bars(
                "variation of seconds per step",
                "standard deviation / mean",
                list(evidence.variations),
                shown,
                paper=0.1,
            )
        )
    return Figure("fig6", "Fig. 6: speeds by machine type, and how steady steps are", "Types by speed.", panels)


def _costs(found: Found, pool: PoolName) -> Figure:
    families = sorted({tuning.family for tuning in found})
    panels: list[Bars | Lines] = []
    shown: tuple[tuple[str, str, What], ...] = (
        ("a: cost", "USD", usd),
        ("b: time until the best are selected", "hours", selected),
    )
    for title, unit, what in shown:
        panels.append(Bars(title, unit, families, _by_policy(found, what), log=True))
    panels.append(
        Bars("c: performance-cost rate, ours at theta 0.7 = 1", "1 / (hours x USD)", families, _rates(found), log=True)
    )
    caption = f"{MEDIANS} Log scales. Baselines train all steps; on demand: the type whose steps are cheapest."
    return Figure(f"fig7-{pool}", f"Fig. 7: cost, time and rate on {POOL_WORDS[pool]}", caption, panels)


def _by_policy(found: Found, what: What) -> dict[str, Sequence[Median]]:
    shown = {str(policy): list(by_family(found, policy, what).values()) for policy in FIG_7}
    return {name: values for name, values in shown.items() if values}


def _rates(found: Found) -> dict[str, Sequence[Median]]:
    ours = array(found, FIG_7[0], slowness)
    shown: dict[str, Sequence[Median]] = {}
    for policy in FIG_7:
        values = array(found, policy, slowness)
        if values.size:
            shown[str(policy)] = [median(column.tolist()) for column in (ours / values).T]
    return shown


def _theta(results: Results) -> Figure:
    thetas = [float(name) for name in results.setups("theta")]
    found = {theta: results.of("theta", f"{theta:g}") for theta in thetas}
    families = sorted({tuning.family for one in found.values() for tuning in one})
    panels: list[Bars | Lines] = []
    for title, unit, what in (("a: cost", "USD", usd), ("b: time until selected", "hours", selected)):
        lines = {
            family: [by_family(found[theta], Policy(Rule.OURS, theta), what)[family] for theta in thetas]
            for family in families
        }
        panels.append(Lines(title, "theta", unit, thetas, lines))
    hits = {
        f"top {count}": [exact(hit_rate(found[theta], Policy(Rule.OURS, theta), count)) for theta in thetas]
        for count in (1, 3)
    }
    panels.append(Lines("c: the best setting is found", "theta", "share of the tunings", thetas, hits))
    caption = f"{MEDIANS} Of the cost, what follows the selection is part."
    return Figure("fig8", "Fig. 8: the share theta of the steps before selection", caption, panels)


def _free(results: Results) -> Figure:
    pools = [(group, setup) for group in ("volatile", "smooth", "capacity") for setup in results.setups(group)]
    volatile = results.of("volatile", "volatile")
    families = sorted({tuning.family for tuning in volatile})
    policies = (Policy(Rule.OURS), Policy(Rule.PRINTED), Policy(Rule.RANDOM), Policy(Rule.ORACLE))
    panels: list[Bars | Lines] = []
    free = {str(p.rule): list(by_family(volatile, p, lambda one: one.free_share).values()) for p in policies}
    panels.append(
        Bars("steps that cost nothing, volatile prices", "share of the kept steps", families, free, paper=0.775)
    )
    refund = {str(p.rule): list(by_family(volatile, p, lambda one: one.refund_share).values()) for p in policies}
    panels.append(Bars("refunds, volatile prices", "share of what machines would cost", families, refund))
    by_pool = {
        str(p.rule): [over_families(results.of(*place), p, lambda one: one.refund_share) for place in pools]
        for p in policies
    }
    panels.append(
        Bars("refunds by pool, mean over families", "share of what machines would cost", [s for _, s in pools], by_pool)
    )
    return Figure("fig9", "Fig. 9: what refunds contribute, theta 0.7", MEDIANS, panels)


def _scores(evidence: Evidence) -> Figure:
    kinds = sorted(evidence.scores, key=lambda kind: float(evidence.scores[kind]["pooled"]["brier"]))
    panels: list[Bars | Lines] = []
    rows = (
        ("accuracy", "a: accuracy"),
        ("f1", "b: F1"),
        ("brier", "Brier score: lower is better"),
        ("calibration_error", "calibration error: lower is better"),
        ("area", "area under precision-recall"),
    )
    for key, title in rows:
        values = {"": [exact(evidence.scores[kind]["pooled"][key]) for kind in kinds]}
        panels.append(Bars(title, key.replace("_", " "), kinds, values))
    caption = "All predictors on the same questions of the last quarter of 2016's prices."
    return Figure("fig10", "Fig. 10a-b: predictors of revocation on a common later slice", caption, panels)


def _loop(results: Results) -> Figure:
    kinds = list(results.setups("loop"))
    panels: list[Bars | Lines] = []
    for title, what in (("cost over that with tributary", usd), ("rate over that with tributary", slowness)):
        shown = {}
        for rule in (Rule.OURS, Rule.PRINTED):
            ratios = [loop_ratio(results, rule, what, kind, _versus(kinds)).mean_of for kind in kinds]
            shown[str(rule)] = ratios if what is usd else [_inverse(one) for one in ratios]
        panels.append(
            Bars(title.replace("tributary", _versus(kinds)), "ratio", kinds, shown, paper=0.75 if what is usd else 1.24)
        )
    caption = f"{MEDIANS} Dashed: what the paper reports for RevPred over Tributary's."
    return Figure("fig10c", "Fig. 10c: predictors inside the loop, theta 0.7, volatile prices", caption, panels)


def _versus(kinds: Sequence[str]) -> str:
    return "tributary" if "tributary" in kinds else kinds[0]


def _inverse(one: Median) -> Median:
    return Median(1 / one.value, 1 / one.high, 1 / one.low, one.finite, one.count)


def _curves(errors: Sequence[CurveErrors]) -> Figure:
    panels: list[Bars | Lines] = []
    for family in dict.fromkeys(one.family for one in errors):
        mine = [one for one in errors if one.family == family]
        count = max(len(one.errors) for one in mine)
        at = [float(place + 1) for place in range(count)]
        lines = {
            one.predictor: [exact(value) for value in sorted(e for e in one.errors if not math.isnan(e))]
            for one in mine
        }
        panels.append(Lines(f"{family}: errors, sorted", "settings", "|predicted - true| / true", at, lines))
    return Figure("fig11", "Fig. 11: predicting the end of training at theta 0.7", "Each line: one predictor.", panels)


def _sizes(results: Results) -> Figure:
    panels: list[Bars | Lines] = []
    sizes = [f"{size:g} GB" for size in GIGABYTES]
    pools = dict.fromkeys(setup.rpartition(", ")[0] for setup in results.setups("sizes"))
    shares: tuple[tuple[str, What], ...] = (
        ("saving and restoring", lambda one: one.checkpoint_share),
        ("with booting", lambda one: one.overhead_share),
        ("steps lost", lambda one: one.lost_steps / (one.kept_steps + one.lost_steps)),
    )
    for pool in pools:
        values = {
            words: [over_families(results.of("sizes", f"{pool}, {size}"), Policy(Rule.OURS), what) for size in sizes]
            for words, what in shares
        }
        panels.append(Bars(POOL_WORDS[PoolName(pool)], "share", sizes, values, paper=0.1))
    caption = f"{MEDIANS} By the size of a checkpoint, at 62.83 MB/s; mean over families."
    return Figure("fig12", "Fig. 12: what checkpoints take, ours, theta 0.7", caption, panels)


def _gap(results: Results) -> Figure:
    pools = [(group, setup) for group in ("volatile", "smooth", "capacity") for setup in results.setups(group)]
    gaps = {setup: gap(results.of(group, setup)) for group, setup in pools}
    dollars = {
        "no skill": [one.random for one in gaps.values()],
        "ours": [one.ours for one in gaps.values()],
        "oracle": [one.oracle for one in gaps.values()],
    }
    times = {
        "until finished": [one.time for one in gaps.values()],
        "until selected": [one.selected for one in gaps.values()],
    }
    panels: list[Bars | Lines] = [
        Bars("dollars per kept step, on demand = 1", "share", list(gaps), dollars),
        Bars("time of ours, on demand = 1", "ratio", list(gaps), times),
    ]
    return Figure("gap", "No skill, ours and the oracle, theta 0.7", MEDIANS, panels)
