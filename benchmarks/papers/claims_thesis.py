"""What the thesis on Nephele and Fabulinus claims."""

from __future__ import annotations

import math

from benchmarks.papers import published
from benchmarks.papers.experiments import OURS, THESIS
from benchmarks.papers.facts import production_savings
from benchmarks.papers.inventory import Inventory
from benchmarks.papers.measures import arrivals, near_best, near_full, ratio, total_dollars, total_seconds
from benchmarks.papers.results import Results
from benchmarks.papers.verdicts import (
    Claim,
    Verdict,
    advantage,
    arriving,
    compare,
    each,
    factor_claim,
    not_run,
    settled,
)
from benchmarks.papers.words import percent, times
from leantune.lab.replay.arrivals import Median
from leantune.lab.replay.runs import PAPER

EXACT = 0.0005  # half of the last digit that the thesis prints


def thesis_claims(results: Results, inventory: Inventory) -> list[Claim]:
    """In the order of the thesis."""
    return [*_production(inventory), *_nephele(results), *_fabulinus_savings(results), *_fabulinus_slower(results)]


def _production(inventory: Inventory) -> list[Claim]:
    made = []
    for table, paper in published.PRODUCTION_SAVINGS.items():
        text = f"Sub-sampling saves {percent(paper)} of the production cost of {table}"
        found = production_savings(inventory, table)
        if found is None:
            made.append(not_run(text, "Thesis, VII-C", percent(paper)))
            continue
        verdict = Verdict.HOLDS if abs(found.saving - paper) <= EXACT else Verdict.NOT
        ours = f"{percent(found.saving)}, at {found.share} of the data"
        made.append(Claim(text, "Thesis, VII-C", percent(paper), ours, verdict))
    return made


def _nephele(results: Results) -> list[Claim]:
    made = []
    for table, baselines in published.NEPHELE_SAVINGS.items():
        cno = published.NEPHELE_CNO[table]
        for name, factor in baselines.items():
            own, common = (
                {setup: _cno_ratio(results, table, setup, name, cno, own=mine) for setup in (THESIS, OURS)}
                for mine in (True, False)
            )
            more = {
                "our budgets": {"": own[OURS]},
                "by the common optimum": {"thesis' budgets": common[THESIS], "ours": common[OURS]},
            }
            made.append(
                factor_claim(
                    f"To a CNO of {cno:g} on {table}, {name} spends {factor:g}x what Nephele does",
                    "Thesis, VII-D",
                    factor,
                    {"thesis' budgets": own[THESIS]},
                    more=more,
                    why="With the thesis' initial budget the Latin hypercube alone may reach that quality before any "
                    "model is asked; and a CNO within its own space forgives a strategy that cannot sub-sample.",
                )
            )
    return made


def _cno_ratio(results: Results, table: str, setup: str, name: str, cno: float, *, own: bool) -> Median:
    """Dollars of a rival (with trees, as in the thesis) over Nephele's until the recommendation is that cheap."""
    methods = results.of("nephele", table, setup)
    rival = "cherrypick-trees" if name == "cherrypick" else name
    if "nephele" not in methods or rival not in methods:
        return Median(math.nan, math.nan, math.nan, 0, 0)
    theirs = arrivals(methods[rival], PAPER, near_full(cno) if own else near_best(cno))
    ours = arrivals(methods["nephele"], PAPER, near_best(cno))
    return ratio([one.dollars for one in theirs], [one.dollars for one in ours])


def _fabulinus_savings(results: Results) -> list[Claim]:
    made = []
    for table, baselines in published.FABULINUS_SAVINGS.items():
        for name, paper in baselines.items():
            text = f"Fabulinus' optimisation costs {percent(paper)} less than that of {name} on {table}"
            whole = compare(results, "fabulinus", name, "fabulinus", each(total_dollars)).get(table)
            if whole is None or not whole.count:
                made.append(not_run(text, "Thesis, VIII-C", percent(paper)))
                continue
            arrived = compare(results, "fabulinus", name, "fabulinus", arriving(lambda one: one.dollars))[table]
            ours = (
                f"{percent(1.0 - 1.0 / whole.value)} of all dollars, {times(whole)}; dollars to 90 %: {times(arrived)}"
            )
            why = (
                "The thesis does not say at which quality it compares; over a whole run Fabolas buys cheap pairs as "
                "well, and EIc soon turns to cheap configurations."
            )
            verdict = advantage(1.0 / (1.0 - paper), whole.value)
            made.append(settled(Claim(text, "Thesis, VIII-C", percent(paper), ours, verdict, why)))
    return made


def _fabulinus_slower(results: Results) -> list[Claim]:
    made = []
    whole = each(lambda run: total_seconds(run, thinking=True))
    for table, slower in published.FABULINUS_SLOWER.items():
        for name, factor in slower.items():
            found = compare(results, "fabulinus", "fabulinus", name, whole)
            made.append(
                factor_claim(
                    f"With the time to recommend, Fabulinus takes {factor:g}x as long as {name} on {table}",
                    "Thesis, VIII-C",
                    factor,
                    {table: found[table]} if table in found else {},
                    why="Recommendations are quick here, so that what small shares of the data save in training is not "
                    "lost in choosing them.",
                )
            )
    return made
