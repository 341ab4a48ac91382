"""What TrimTuner's paper claims."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from benchmarks.papers import published
from benchmarks.papers.measures import ask_seconds, ends, feasible, ratio, step_cost, step_share, within
from benchmarks.papers.results import Results, Runs
from benchmarks.papers.verdicts import (
    Claim,
    Spent,
    Verdict,
    arriving,
    best_of,
    compare,
    each,
    factor_claim,
    not_run,
    settled,
)
from benchmarks.papers.words import percent, spread
from leantune.lab.replay.arrivals import Median, median
from leantune.lab.replay.runs import PAPER

GP = "with Gaussian processes"
NEAR_SHARE = 1.5  # the mean share is "about" the paper's within this factor
FREQUENTLY = 0.5  # of the recommendations
CEA = "CEA 10 %"
STRONG_BASELINES = (
    "Here the baselines share TrimTuner's Gaussian process, encodings and marginalised hyper-parameters, so that they "
    "need few tests; the paper's factor is over weaker baselines."
)
FAST_PROCESSES = (
    "Sample paths of a Gaussian process are conditioned on every candidate in one matrix product, which leaves little "
    "for trees and filters to save; the authors' program pays for each candidate anew."
)


def trimtuner_claims(results: Results) -> list[Claim]:
    """In the order of the paper."""
    return [
        *_step_costs(results),
        _mean_share(results),
        *_to_arrive(results),
        _fabolas_infeasible(results),
        _trees_as_good(results),
        _trees_faster(results),
        *_filter_savings(results),
        _recommendation_faster(results),
        _no_filter(results),
        _one_start(results),
    ]


def _against(results: Results, name: str, spent: Spent) -> tuple[Mapping[str, Median], Mapping[str, Median]]:
    """Factors over trimtuner with trees, and over the one with Gaussian processes."""
    trees = compare(results, "trimtuner", name, "trimtuner", spent)
    return trees, compare(results, "trimtuner", name, "trimtuner-gp", spent)


def _step_costs(results: Results) -> list[Claim]:
    made = []
    for name, factor in published.STEP_COST.items():
        trees, gp = _against(results, name, each(step_cost))
        made.append(
            factor_claim(
                f"A step of TrimTuner costs {factor:g}x less than one of {name}",
                "TrimTuner, IV-A",
                factor,
                trees,
                more={GP: gp},
                why="What a step costs depends on what the filter lets through and on how soon a baseline turns to "
                "cheap configurations; ours do so early.",
            )
        )
    return made


def _mean_share(results: Results) -> Claim:
    text, where = "The mean share of the data that is tested is about 1/4", "TrimTuner, IV-A"
    printed = f"{published.MEAN_SHARE:g} (holds: within a factor of {NEAR_SHARE:g})"
    found = {
        (table, method): median([step_share(run) for run in results.of("trimtuner", table)[method]])
        for table in results.tables("trimtuner")
        for method in ("trimtuner", "trimtuner-gp")
    }
    if not found:
        return not_run(text, where, printed)
    average = fmean(one.value for (_, method), one in found.items() if method == "trimtuner")
    apart = max(average / published.MEAN_SHARE, published.MEAN_SHARE / max(average, 1e-9))
    verdict = Verdict.HOLDS if apart <= NEAR_SHARE else Verdict.IN_PART if average < 1.0 else Verdict.NOT
    why = (
        "Smaller shares are tested here: they tell most for a dollar."
        if average < published.MEAN_SHARE
        else "Larger shares are tested here: CEA favours what is accurate, and that is what has seen more data."
    )
    ours = ", ".join(f"{table} {method} {spread(one)}" for (table, method), one in found.items())
    return settled(Claim(text, where, printed, ours, verdict, why))


def _to_arrive(results: Results) -> list[Claim]:
    made = []
    training, dollars = arriving(lambda one: one.seconds), arriving(lambda one: one.dollars)
    for name, factor in published.CHEAPER.items():
        trees, gp = _against(results, name, dollars)
        text = f"To 90 % of the optimum, {name} costs {factor:g}x more than TrimTuner with trees"
        where = "TrimTuner, IV-A, Fig. 2b"
        made.append(factor_claim(text, where, factor, trees, up_to=True, more={GP: gp}, why=STRONG_BASELINES))
    for name, factor in published.FASTER.items():
        trees, gp = _against(results, name, training)
        thinking, _ = _against(results, name, arriving(lambda one: one.seconds + one.thinking))
        text = f"To 90 % of the optimum, {name} takes {factor:g}x longer than TrimTuner with trees"
        more = {"and choosing the tests": thinking, GP: gp}
        where = "TrimTuner, IV-A, Fig. 2a"
        made.append(factor_claim(text, where, factor, trees, up_to=True, more=more, why=STRONG_BASELINES))
    return made


def _fabolas_infeasible(results: Results) -> Claim:
    text, where = "What Fabolas recommends frequently violates the limit", "TrimTuner, IV-A"
    printed = f"frequently (holds: at least {percent(FREQUENTLY)} on every table)"
    violating = {
        table: 1.0 - ends(methods["fabolas"], PAPER, feasible)
        for table in results.tables("trimtuner")
        if "fabolas" in (methods := results.of("trimtuner", table))
    }
    if not violating:
        return not_run(text, where, printed)
    often = [share >= FREQUENTLY for share in violating.values()]
    verdict = Verdict.HOLDS if all(often) else Verdict.IN_PART if any(often) else Verdict.NOT
    ours = ", ".join(f"{table} {percent(share)} of the last ones" for table, share in violating.items())
    why = "Where the most accurate configurations happen to be cheap, knowing no limit does no harm."
    return settled(Claim(text, where, printed, ours, verdict, why))


def _trees_as_good(results: Results) -> Claim:
    text, where = "Trees are slightly more accurate than Gaussian processes", "TrimTuner, IV-A, Fig. 1"
    found: dict[str, tuple[float, float]] = {}
    for table in results.tables("trimtuner"):
        methods = results.of("trimtuner", table)
        if {"trimtuner", "trimtuner-gp"} <= methods.keys():
            trees, gp = (ends(methods[name], PAPER, within(0.95)) for name in ("trimtuner", "trimtuner-gp"))
            found[table] = trees, gp
    if not found:
        return not_run(text, where, "slightly")
    ahead = [trees >= gp for trees, gp in found.values()]
    verdict = Verdict.HOLDS if all(ahead) else Verdict.IN_PART if any(ahead) else Verdict.NOT
    ours = ", ".join(
        f"{table}: {percent(trees)} of the seeds end within 5 % with trees, {percent(gp)} {GP}"
        for table, (trees, gp) in found.items()
    )
    why = (
        "A Gaussian process with a kernel for the share of the data learns for each configuration how it changes with "
        "the data; trees have one slope for all."
    )
    return settled(Claim(text, where, "slightly", ours, verdict, why))


def _asking(runs: Runs) -> list[float]:
    return [fmean(asks) for run in runs if (asks := ask_seconds([run]))]


def _trees_faster(results: Results) -> Claim:
    factor = published.TREES_FASTER
    found = compare(results, "trimtuner", "trimtuner-gp", "trimtuner", _asking)
    text = f"Trees recommend {factor:g}x faster than Gaussian processes"
    return factor_claim(text, "TrimTuner, IV-A, Table III", factor, found, why=FAST_PROCESSES)


def _filter_savings(results: Results) -> list[Claim]:
    made = []
    dollars = arriving(lambda one: one.dollars)
    for name, factor in published.FILTER_SAVINGS.items():
        trees = compare(results, "filters", name, CEA, dollars, "trees")
        made.append(
            factor_claim(
                f"To 90 % of the optimum, CEA is {factor:g}x cheaper than {name.removesuffix(' 10 %')}",
                "TrimTuner, IV-B, Fig. 3",
                factor,
                compare(results, "filters", name, CEA, dollars, "gp"),
                more={"with trees": trees},
                why="Every search has as many evaluations of the acquisition as CEA, and is snapped to untested pairs "
                "of the table, so that it loses little.",
            )
        )
    return made


def _recommendation_faster(results: Results) -> Claim:
    factor = published.RECOMMENDATION_FASTER
    slow = results.of("filters", "rnn", "gp").get("no filter", ())
    fast = results.of("filters", "rnn", "trees").get("CEA 1 %", ())
    text = f"CEA 1 % with trees recommends {factor:g}x faster than no filter with Gaussian processes"
    found = {"rnn": ratio(_asking(slow), _asking(fast))}
    return factor_claim(text, "TrimTuner, V, Table IV", factor, found, up_to=True, why=FAST_PROCESSES)


def _no_filter(results: Results) -> Claim:
    situations = {
        f"rnn {name}": results.of("filters", "rnn", models) for name, models in (("with trees", "trees"), (GP, "gp"))
    }
    return best_of(
        "No filter is best",
        "TrimTuner, IV-B, Fig. 4",
        situations,
        "no filter",
        why="A filter keeps the acquisition from cheap pairs that only look informative: it can save dollars, not only "
        "time.",
    )


def _one_start(results: Results) -> Claim:
    situations = {
        f"{table} {setup.removeprefix('start of ')}": results.of("sensitivity", table, setup)
        for setup in ("start of trimtuner", "start of trimtuner-gp")
        for table in results.tables("sensitivity", setup)
    }
    return best_of(
        "One starting point is enough: more bring no benefit",
        "TrimTuner, III, footnote 1",
        situations,
        "1 starting point",
        why="A single random start may be a bad one; where others cost little beside what they tell, they pay.",
    )
