"""docs/lean-results.md: what was to be reached and what was, then every group. All numbers come from the results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.arena.generated import FAMILIES
from benchmarks.lean.experiments import LEAN, OUTLINES, Effort
from benchmarks.lean.measures import EARLY, Figures, compared, figures, goods, units
from benchmarks.lean.targets import Loss, losses, standings, targets, winners
from benchmarks.papers.experiments import BUDGETS, OURS
from benchmarks.papers.results import Results, Runs
from benchmarks.papers.targets import Target
from benchmarks.papers.words import arrived, listed, markdown, number, percent
from leantune.lab.replay.runs import COMMON, PAPER, RULES

PAGE = "lean-results.md"
RULE_NAMES = {PAPER: "its own", COMMON: "common"}
ABOUT = {
    "main": "Best accuracy at full data: cost <= 0.02 on rnn, <= 0.10 on cnn. 44 tests after the start. Strategies "
    "other than `lean` are listed with their own rule of recommending and with the common one (the best expected "
    "accuracy among configurations that keep the limits with 90 %), where the two differ; the better one is compared.",
    "two": "The main problem with a limit on seconds beside the one on dollars: the third quartile of the seconds, at "
    "full data, of the configurations that keep the limit on dollars, so that a quarter of them is lost.",
    "noise": "Every test draws its seconds and its accuracy anew, with the standard deviations of the table. "
    "Recommendations are judged on the means.",
    "batches": "Four tests at once against one at a time, 44 in all either way.",
    "generated": "Problems of every family (`benchmarks/arena/generated.py` says by which laws), each replayed "
    "once. Dollars are over those of one median run on all the data; cells: median, in brackets how many problems "
    "arrive, then how many end infeasible.",
    "ablations": "One part changed at a time.",
}


@dataclass(frozen=True)
class Written:
    """The page, and what it says first."""

    page: Path
    targets: tuple[Target, ...]
    losses: tuple[Loss, ...]


def write_page(results: Results, effort: Effort, folder: Path) -> Written:
    """Write it, whole or not at all."""
    found, lost = tuple(targets(results)), tuple(losses(results))
    text = "\n\n".join(_blocks(results, effort, found, lost)) + "\n"
    path = folder / PAGE
    folder.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(".part")
    scratch.write_text(text, encoding="utf-8")
    scratch.replace(path)
    return Written(path, found, lost)


def _blocks(results: Results, effort: Effort, found: tuple[Target, ...], lost: tuple[Loss, ...]) -> Iterator[str]:
    yield f"# How good `{LEAN}` is"
    made = "`make lean` (`python -m benchmarks.lean`)"
    shown = f" `{LEAN}` stands for `{effort.lean}` here." if effort.lean != LEAN else ""
    quick = " This is a quick run: one seed and few tests, only to see that it runs." if effort.quick else ""
    yield (
        f"Made by {made}; every number on this page is computed by it.{shown}{quick} Arrival: the dollars after which "
        "the recommendation is good and stays good until the last test; never arriving counts as infinite. Medians "
        "over seeds with bootstrapped 95 % intervals, in brackets how many seeds arrive."
    )
    yield "## To reach, and reached"
    yield markdown(["", "to reach", "reached", ""], [[t.text, t.wanted, t.ours, _verdict(t)] for t in found])
    yield (
        "No figures were set for two limits and for noise: fewer dollars than the others compared, and no seed that "
        "ends infeasible, stand for them. Choosing among 10^6 pairs is timed by `python -m benchmarks.scale`."
    )
    yield f"## Where `{LEAN}` loses"
    yield from _lost(lost)
    for name, outline in OUTLINES.items():
        yield f"## {outline.title}"
        yield from _group(results, name)
    yield "## What was run"
    yield _minutes(results)


def _verdict(target: Target) -> str:
    return "no data" if target.reached is None else "holds" if target.reached else "**missed**"


def _lost(lost: tuple[Loss, ...]) -> Iterator[str]:
    if not lost:
        yield "In no comparison that was run."
        return
    yield "Every comparison, whichever table, in which another strategy is better; in brackets how many seeds arrive."
    yield markdown(["group", "table", "what"], [[one.group, one.table, one.text] for one in lost])


def _group(results: Results, name: str) -> Iterator[str]:
    if name not in results.groups:
        yield f"Not run (`python -m benchmarks.lean --only {name}`)."
        return
    yield _about(results, name)
    if name == "generated":
        yield _generated(results)
        return
    for setup in results.setups(name):
        for table in results.tables(name, setup):
            yield f"{table}, {setup}:" if setup else f"{table}:"
            yield _standing(results, name, table, setup)


def _about(results: Results, name: str) -> str:
    if name == "nephele":
        amounts = {table: BUDGETS[OURS][table] for table in results.tables(name)}
        budgets = "; ".join(
            f"{table}: ${whole:g} in all, of which the others spend ${initial:g} at first"
            for table, (initial, whole) in amounts.items()
        )
        return (
            f"The cheapest run, at any share of the data, with accuracy >= 0.85 and time <= 5 min. Budgets: {budgets}."
        )
    if name != "two":
        return ABOUT[name]
    sources = {case.table: case.source for case in results.groups[name].cases}
    limits = {table: source.load().problem.constraints for table, source in sources.items()}
    told = "; ".join(f"{table}: {' and '.join(map(str, found))}" for table, found in limits.items())
    return f"{ABOUT[name]} {told}."


def _standing(results: Results, group: str, table: str, setup: str) -> str:
    rows: list[list[str]] = []
    aims = goods(group)
    for method, runs in results.of(group, table, setup).items():
        for rule in _rules(method, runs):
            one = figures(runs, aims, rule)
            rows.append([method, RULE_NAMES[rule], *_cells(one)])
    head = ["", "rule", *(f"dollars to {name}" for name in aims)]
    return markdown([*head, "end infeasible", f"infeasible after test {EARLY}", "to choose a test"], rows)


def _rules(method: str, runs: Runs) -> tuple[str, ...]:
    """The rules that make a difference."""
    differ = any(row.advice.get(PAPER) != row.advice.get(COMMON) for run in runs for row in run)
    return RULES if differ and method.partition("(")[0] != LEAN else (PAPER,)


def _cells(one: Figures) -> list[str]:
    return [
        *(arrived(found) for found in one.dollars.values()),
        f"{one.infeasible_ends} of {one.seeds}",
        percent(one.infeasible_late),
        f"{number(one.ask)} s",
    ]


def _generated(results: Results) -> str:
    rows: list[list[str]] = []
    methods: dict[str, None] = {}
    for family in results.tables("generated"):
        everybody = standings(results, "generated", family)
        methods |= dict.fromkeys(everybody)
        rows.append([family, FAMILIES[family].about, *map(_cell, everybody.values()), listed(winners(everybody))])
    rows.append(["all of them", "", *(_cell(_pooled(results, method)) for method in methods), ""])
    return markdown(["family", "", *methods, "fewest"], rows)


def _cell(one: Figures) -> str:
    return f"{number(one.last.value)} ({one.last.finite}/{one.last.count}), {one.infeasible_ends}"


def _pooled(results: Results, method: str) -> Figures:
    """Over the problems of all families."""
    group = results.groups["generated"]
    runs = [run for family in results.tables("generated") for run in results.of("generated", family)[method]]
    unit = [one for family in results.tables("generated") for one in units(group, family, method) or ()]
    return compared(method, runs, goods("generated"), unit)


def _minutes(results: Results) -> str:
    rows = []
    for name, outline in OUTLINES.items():
        group, timing = results.groups.get(name), results.timings.get(name)
        if group is None:
            rows.append([name, outline.title, "not run", "–"])
            continue
        took = "–" if timing is None else f"{timing.seconds / 60:.1f} min for {timing.replays} replays"
        rows.append([name, outline.title, str(len({task for _, task in group.tasks()})), took])
    return markdown(["group", "what for", "replays", "wall-clock time, as measured"], rows)
