"""A word on each figure and table: what the paper says, and what the rows say. Our numbers come from the rows only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean

from benchmarks.papers import facts, published
from benchmarks.papers.experiments import FEW_TREES, LOOK_AHEAD_TESTS, OURS, THESIS
from benchmarks.papers.inventory import Inventory
from benchmarks.papers.measures import Good, arrivals, ask_seconds, ends, feasible, near_best, near_full, within
from benchmarks.papers.results import Results, Runs
from benchmarks.papers.targets import NEAR_FULL
from benchmarks.papers.words import listed, number, percent
from leantune.lab.replay.arrivals import median
from leantune.lab.replay.runs import COMMON, PAPER


def ranking(methods: Mapping[str, Runs], good: Good) -> str:
    """Methods with the median dollars to arrive, cheapest first; those that do not arrive in most seeds at the end."""
    spent = {name: median([one.dollars for one in arrivals(runs, PAPER, good)]).value for name, runs in methods.items()}
    ordered = sorted(spent, key=lambda name: spent[name])
    known = [f"{name} ${number(spent[name])}" for name in ordered if math.isfinite(spent[name])]
    never = [name for name in ordered if not math.isfinite(spent[name])]
    if not known:
        return "none arrives in most seeds"
    return f"{', '.join(known)}{f' (not in most seeds: {listed(never)})' if never else ''}"


def _rankings(results: Results, group: str, good: Good, setup: str = "") -> str:
    """A ranking for each table."""
    found = [f"on {table} {ranking(results.of(group, table, setup), good)}" for table in results.tables(group, setup)]
    return "; ".join(found) if found else "not run"


def figure_1(results: Results) -> str:
    """TrimTuner Fig. 1."""
    both = [
        f"on {table} in {percent(ends(runs['fabolas'], PAPER, feasible))} of the seeds by its own rule and in "
        f"{percent(ends(runs['fabolas'], COMMON, feasible))} by the common one"
        for table in results.tables("trimtuner")
        if "fabolas" in (runs := results.of("trimtuner", table))
    ]
    return (
        "The paper: both variants of TrimTuner reach a high Accuracy_C for a fraction of the dollars, and Fabolas, "
        "which "
        "knows no limit, is worst. Ours, by dollars to 99 % of the optimum: "
        f"{_rankings(results, 'trimtuner', within(0.99))}. "
        f"Fabolas ends with something feasible {listed(both)}."
    )


def figure_2(results: Results) -> str:
    """TrimTuner Fig. 2."""
    return (
        "The paper shows 90 % and TrimTuner with trees only; its factors, beside ours, are among the claims. Ours, by "
        f"dollars to 90 %: {_rankings(results, 'trimtuner', within(0.90))}."
    )


def table_3(results: Results) -> str:
    """TrimTuner Table III."""
    tables = results.tables("trimtuner")
    ours: dict[str, float] = {}
    for name in published.TRIMTUNER_TABLE_3:
        asks = [ask_seconds(results.of("trimtuner", table).get(name, ())) for table in tables]
        if all(asks) and asks:
            ours[name] = fmean(map(fmean, asks))
    if not ours:
        return ""
    slowest = max(ours, key=lambda name: ours[name])
    theirs = max(ours, key=lambda name: published.TRIMTUNER_TABLE_3[name])
    order = "the slowest is the same" if slowest == theirs else f"the slowest is {slowest}, not {theirs}"
    return (
        "Candidates are scored together by compiled code, with common random numbers, where the authors' program "
        "computes "
        f"each by itself; {order}, and what is computed for every pair rather than for those that pass CEA costs most."
    )


def figure_3(results: Results) -> str:
    """TrimTuner Fig. 3."""
    gp, trees = (ranking(results.of("filters", "rnn", models), within(0.90)) for models in ("gp", "trees"))
    return (
        "The paper: with Gaussian processes CEA arrives for far fewer dollars than DIRECT and CMA-ES. Ours, by "
        "dollars to "
        f"90 %: {gp}. With trees, which the paper does not show: {trees}."
    )


def table_4(results: Results) -> str:
    """TrimTuner Table IV."""
    saved = []
    for models in ("gp", "trees"):
        runs = results.of("filters", "rnn", models)
        plain, filtered = ask_seconds(runs.get("no filter", ())), ask_seconds(runs.get("CEA 10 %", ()))
        if not plain or not filtered:
            return ""
        saved.append(fmean(plain) / fmean(filtered))
    theirs = [published.TRIMTUNER_TABLE_4["no filter"][i] / published.TRIMTUNER_TABLE_4["CEA 10 %"][i] for i in (0, 1)]
    return (
        f"Without a filter a recommendation takes {number(saved[0])}x as long as with CEA 10 % with Gaussian "
        "processes and "
        f"{number(saved[1])}x with trees (paper: {number(theirs[0])}x and {number(theirs[1])}x): fitting the models "
        "and "
        "sampling the optimum cost the same whatever the filter."
    )


def figure_4(results: Results) -> str:
    """TrimTuner Fig. 4."""
    methods = results.of("filters", "rnn", "trees")
    shown = {name: runs for name, runs in methods.items() if name.startswith("CEA") or name == "no filter"}
    return (
        "The paper: the fewer pairs CEA lets through the worse, no filter is best, and little is lost down to 10 %. "
        "Ours, by "
        f"dollars to 90 %: {ranking(shown, within(0.90))}; to 99 %: {ranking(shown, within(0.99))}."
    )


def by_share(inventory: Inventory) -> str:
    """Feasible configurations at each share."""
    grows = {
        name: all(before <= after for before, after in pairwise(facts.feasible_by_share(inventory, name).values()))
        for name in inventory.networks
    }
    told = [f"on {name} it {'does' if grow else 'does not'}" for name, grow in grows.items()]
    return f"The thesis prints no counts, but says that the count grows with the share except on cnn: {listed(told)}."


def figures_cno(results: Results) -> str:
    """Thesis Figs. 1-2."""
    budgets = {THESIS: "With the thesis' budgets", OURS: "With ours"}
    told = [
        f"{name}: {_rankings(results, 'nephele', near_full(NEAR_FULL), setup)}."
        for setup, name in budgets.items()
        if results.tables("nephele", setup)
    ]
    return (
        "The thesis: for the same dollars Nephele always recommends something cheaper than Lynceus and CherryPick. "
        "Ours, by "
        f"dollars until the recommendation costs at most {NEAR_FULL:g}x the best at full data. {' '.join(told)} With "
        "the "
        "thesis' budgets half of the dollars go to the start (dashed), which knows nothing of any strategy."
    )


def figures_fabulinus(results: Results) -> str:
    """Thesis Figs. 4-5."""
    ending = []
    for table in results.tables("fabulinus"):
        methods = results.of("fabulinus", table)
        shares = [f"{name} {percent(ends(runs, PAPER, feasible))}" for name, runs in methods.items()]
        ending.append(f"on {table} {', '.join(shares)}")
    return (
        "The thesis: Fabulinus arrives for a fraction of the dollars, Fabolas never recommends anything feasible, "
        "and the "
        "time to recommend makes Fabulinus slow. Ours, by dollars to 90 %: "
        f"{_rankings(results, 'fabulinus', within(0.90))}. "
        f"Seeds that end feasible: {'; '.join(ending)}. Recommendations are quick here, so that the two rightmost "
        "panels of a row hardly differ."
    )


def sensitivity(results: Results, setup: str) -> str:
    """One knob."""
    good = near_full(NEAR_FULL) if about_dollars(setup) else within(0.90)
    return f"{_SAID.get(setup, '')} Ours: {_rankings(results, 'sensitivity', good, setup)}.".strip()


def about_dollars(setup: str) -> bool:
    """Whether a knob is one of cheapest anywhere."""
    return "nephele" in setup or "lynceus" in setup


_MORE_STARTS = "The paper: more than one starting configuration brought no benefit."
_FEW = (
    f" (here with {FEW_TREES} trees and {LOOK_AHEAD_TESTS} tests after the start; h = 2 takes minutes for a few "
    "proposals, so that it is tried with `--full` only)."
)
_GAIN = "The paper prints the expected information after a test; entropy search subtracts what is known before."
_COST_MODEL = "The paper models dollars; prices are known, so that seconds are enough."
_SAID: Mapping[str, str] = {
    "trees of nephele": f"The thesis: {published.TREES['nephele']} trees save most dollars in most cases.",
    "trees of trimtuner": f"The authors' program has {published.TREES['trimtuner']} trees; they print no others.",
    "initial budget of nephele": "The thesis chose its initial budgets by a study that it does not print.",
    "look-ahead of nephele": f"The thesis describes the look-ahead and evaluates none{_FEW}",
    "look-ahead of lynceus": f"Lynceus looks ahead; the thesis compares without{_FEW}",
    "start of trimtuner": _MORE_STARTS,
    "start of trimtuner-gp": _MORE_STARTS,
    "gain of trimtuner": _GAIN,
    "gain of trimtuner-gp": _GAIN,
    "cost model of trimtuner": _COST_MODEL,
    "cost model of trimtuner-gp": _COST_MODEL,
    "ESc of fabulinus": "The thesis proposes this ablation and had no time for it.",
}


def optuna(results: Results, ours: Sequence[str]) -> str:
    """What a user would pick instead."""
    told = []
    for table in results.tables("optuna"):
        beside = {name: runs for name, runs in results.of("trimtuner", table).items() if name in ours}
        told.append(f"on {table} {ranking({**beside, **results.of('optuna', table)}, within(0.99))}")
    return (
        "Neither sampler knows what a test costs, nor that part of the data tells something for less: each pays for "
        "full "
        f"runs. By dollars to 99 %: {'; '.join(told)}."
    )


def others(results: Results) -> str:
    """Lynceus' and CherryPick's tables."""
    return (
        "No figure of the papers is measured again here. By dollars until the recommendation costs at most "
        f"{NEAR_FULL:g}x the optimum: {_rankings(results, 'others', near_best(NEAR_FULL))}."
    )
