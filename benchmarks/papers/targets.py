"""What this repository set itself to reach on the papers' tables, and whether it does."""

from __future__ import annotations

import math
from dataclasses import dataclass

from benchmarks.papers.experiments import OURS
from benchmarks.papers.measures import arrivals, ends, near_full, within
from benchmarks.papers.results import Results, Runs
from benchmarks.papers.verdicts import Measure
from benchmarks.papers.words import arrived, number, percent
from leantune.lab.replay.arrivals import Median, median
from leantune.lab.replay.runs import PAPER

MOST_DOLLARS = {"trimtuner-gp": {"rnn": 0.05, "cnn": 0.65}, "eic": {"rnn": 0.25, "cnn": 1.25}}
MOST_OF_EIC = {"rnn": 1 / 4, "cnn": 1 / 1.5}
SEEDS_WITHIN_1 = 0.90
TREES_WITHIN_5 = 0.85
NEAR_FULL = 1.1


@dataclass(frozen=True)
class Target:
    """One aim; reached: None where there are no runs. judged_by: the number behind that, where it is kept."""

    text: str
    wanted: str
    ours: str
    reached: bool | None
    judged_by: Measure | None = None

    @property
    def verdict(self) -> str:
        """In one word."""
        return "no data" if self.reached is None else "reached" if self.reached else "**missed**"

    def as_json(self) -> dict[str, object]:
        """Plain JSON."""
        return {"target": self.text, "wanted": self.wanted, "ours": self.ours, "reached": self.reached}


def targets(results: Results) -> list[Target]:
    """All of them."""
    made: list[Target] = []
    for table in ("rnn", "cnn"):
        methods = results.of("trimtuner", table)
        spent = {name: _dollars_to_99(methods.get(name, ())) for name in MOST_DOLLARS}
        for name, limits in MOST_DOLLARS.items():
            made.append(
                Target(
                    f"`{name}` to 99 % of the optimum, {table}",
                    f"at most ${limits[table]:g}",
                    arrived(spent[name]),
                    _at_most(spent[name], limits[table]),
                )
            )
        made.append(_of_eic(table, spent["trimtuner-gp"], spent["eic"]))
        for name, share, least in (("trimtuner-gp", 0.99, SEEDS_WITHIN_1), ("trimtuner", 0.95, TREES_WITHIN_5)):
            made.append(_ending(table, name, methods.get(name, ()), share, least))
    made += [_cheapest(results, table) for table in ("rnn", "cnn")]
    return made


def _dollars_to_99(runs: Runs) -> Median:
    return median([one.dollars for one in arrivals(runs, PAPER, within(0.99))])


def _at_most(found: Median, limit: float) -> bool | None:
    return None if found.count == 0 else found.value <= limit


def _of_eic(table: str, ours: Median, eic: Median) -> Target:
    """Ours may be at most a share of eic's; an eic that never arrives is beaten by whoever does."""
    limit = MOST_OF_EIC[table]
    text = f"`trimtuner-gp` over `eic`, dollars to 99 %, {table}"
    wanted = f"at most 1/{1 / limit:g}"
    if not ours.count or not eic.count:
        return Target(text, wanted, "not run", None)
    if not math.isfinite(ours.value):
        return Target(text, wanted, "never arrives", False)
    if not math.isfinite(eic.value):
        return Target(text, wanted, "eic never arrives", True)
    return Target(text, wanted, f"1/{number(eic.value / ours.value)}", ours.value <= limit * eic.value)


def _ending(table: str, name: str, runs: Runs, share: float, least: float) -> Target:
    found = ends(runs, PAPER, within(share))
    text = f"Seeds of `{name}` that end feasible and within {percent(1 - share)}, {table}"
    reached = None if math.isnan(found) else found >= least
    return Target(text, f"at least {percent(least)}", percent(found) if runs else "not run", reached)


def _cheapest(results: Results, table: str) -> Target:
    methods = results.of("nephele", table, OURS)
    names = ("nephele", "lynceus", "cherrypick", "cherrypick-trees")
    spent = {
        name: median([one.dollars for one in arrivals(methods[name], PAPER, near_full(NEAR_FULL))])
        for name in names
        if name in methods
    }
    text = f"Cheapest anywhere, our budgets, {table}: dollars until a run costs {NEAR_FULL:g}x the best at full data"
    wanted = "`nephele` fewer than `lynceus` and `cherrypick`"
    if len(spent) < len(names):
        return Target(text, wanted, "not run", None)
    told = ", ".join(f"{name} {arrived(found)}" for name, found in spent.items())
    return Target(text, wanted, told, all(spent["nephele"].value < spent[name].value for name in names[1:]))
