"""The tables of the page, ours beside the papers'."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, stdev

from benchmarks.papers import facts, published
from benchmarks.papers.curves import Worth, accuracy_c, cno
from benchmarks.papers.drawings import SHARES
from benchmarks.papers.experiments import OUTLINES
from benchmarks.papers.inventory import Inventory
from benchmarks.papers.measures import (
    Good,
    arrivals,
    ask_seconds,
    ends,
    near_best,
    near_full,
    start_dollars,
    step_cost,
    step_share,
    total_dollars,
    total_seconds,
    within,
)
from benchmarks.papers.results import Results, Run, Runs
from benchmarks.papers.sentences import about_dollars
from benchmarks.papers.targets import NEAR_FULL, Target
from benchmarks.papers.verdicts import Claim
from benchmarks.papers.words import arrived, markdown, number, percent, spread
from leantune.lab.replay.arrivals import Median, median
from leantune.lab.replay.runs import COMMON, PAPER

NONE = "–"
ABSENT = "no data"
Count = Callable[[Inventory, str], tuple[int, int] | None]


def counted(inventory: Inventory, header: tuple[str, str], count: Count, paper: Mapping[str, tuple[int, int]]) -> str:
    """Two numbers a table, which must come out exactly."""
    rows = []
    for table, printed in paper.items():
        ours = count(inventory, table)
        told = (ABSENT, ABSENT) if ours is None else (str(ours[0]), str(ours[1]))
        same = NONE if ours is None else "the same" if ours == printed else "**different**"
        rows.append([table, str(printed[0]), told[0], str(printed[1]), told[1], same])
    head = ["table", f"{header[0]}: paper", "ours", f"{header[1]}: paper", "ours", ""]
    return markdown(head, rows)


def feasible_by_share(inventory: Inventory) -> str:
    """Feasible configurations at each share of the data (thesis, VII-C)."""
    found = {name: facts.feasible_by_share(inventory, name) for name in inventory.networks}
    shares = list(next(iter(found.values()), {}))
    return markdown(["table", *shares], [[name, *(str(row[s]) for s in shares)] for name, row in found.items()])


def production(inventory: Inventory) -> str:
    """What sub-sampling saves in production."""
    rows = []
    for name in inventory.networks:
        found = facts.production_savings(inventory, name)
        assert found is not None
        paper = published.PRODUCTION_SAVINGS.get(name)
        rows.append(
            [
                name,
                f"${number(found.dollars)} at {found.share}",
                f"${number(found.dollars_full)}",
                NONE if paper is None else percent(paper),
                percent(found.saving),
            ]
        )
    return markdown(["table", "cheapest anywhere", "cheapest at full data", "saving: paper", "ours"], rows)


def arrival_table(methods: Mapping[str, Runs], rule: str) -> str:
    """Dollars and training time to arrive, and how runs end."""
    rows = []
    for name, runs in methods.items():
        found = {share: arrivals(runs, rule, within(share)) for share in SHARES}
        dollars = [arrived(median([one.dollars for one in found[share]])) for share in SHARES]
        minutes = median([one.seconds / 60.0 for one in found[SHARES[0]]])
        thinking = median([(one.seconds + one.thinking) / 60.0 for one in found[SHARES[0]]])
        rows.append(
            [
                name,
                *dollars,
                arrived(minutes, "min"),
                number(thinking.value),
                percent(ends(runs, rule, within(0.95))),
                percent(ends(runs, rule, within(0.99))),
            ]
        )
    head = [
        "",
        *(f"dollars to {share:.0%}" for share in SHARES),
        "training to 90%",
        "with choosing (min)",
        "end within 5 %",
        "end within 1 %",
    ]
    return markdown(head, rows)


def step_table(methods: Mapping[str, Runs]) -> str:
    """What a test costs."""
    rows = [
        [
            name,
            spread(median([start_dollars(run) for run in runs]), "$"),
            spread(median([step_cost(run) for run in runs]), "$"),
            spread(median([step_share(run) for run in runs])),
            spread(median([total_dollars(run) for run in runs]), "$"),
        ]
        for name, runs in methods.items()
    ]
    return markdown(["", "start", "a step after it", "mean share of the data", "the whole run"], rows)


def table_3(results: Results) -> str:
    """Time to recommend a configuration."""
    rows = []
    tables = results.tables("trimtuner")
    methods = results.of("trimtuner", tables[0]) if tables else {}
    means = {name: _mean_ask(results, "trimtuner", tables, name) for name in methods}
    for name, (mean, spread_) in means.items():
        paper = published.TRIMTUNER_TABLE_3.get(name)
        baseline = means["eic"][0] if "eic" in means else math.nan
        rows.append(
            [
                name,
                NONE if paper is None else f"{paper:g} min",
                f"{number(mean)} s ± {number(spread_)}",
                NONE if paper is None else f"{number(paper / published.TRIMTUNER_TABLE_3['eic'])}x",
                f"{number(mean / baseline)}x",
                NONE if paper is None else f"{number(paper * 60.0 / mean)}x",
            ]
        )
    return markdown(["", "paper", "ours", "over eic: paper", "ours", "paper / ours"], rows)


def _mean_ask(results: Results, group: str, tables: Sequence[str], method: str, setup: str = "") -> tuple[float, float]:
    """Mean and deviation over all choices, mean over tables."""
    found = [ask_seconds(results.of(group, table, setup)[method]) for table in tables]
    known = [values for values in found if len(values) > 1]
    if not known:
        return math.nan, math.nan
    return fmean(map(fmean, known)), fmean(map(stdev, known))


def table_4(results: Results) -> str:
    """Time to recommend with each filter, both models."""
    rows = []
    for name in dict.fromkeys([*published.TRIMTUNER_TABLE_4, *results.of("filters", "rnn", "trees")]):
        paper = published.TRIMTUNER_TABLE_4.get(name)
        cells = [name]
        for position, models in enumerate(("gp", "trees")):
            runs = results.of("filters", "rnn", models).get(name)
            ours = NONE if runs is None else f"{number(fmean(ask_seconds(runs)))} s"
            cells += [NONE if paper is None else f"{paper[position]:g} min", ours]
        rows.append(cells)
    return markdown(["filter", "GP: paper", "ours", "trees: paper", "ours"], rows)


def filter_arrivals(results: Results) -> str:
    """Dollars to arrive with each filter."""
    rows = []
    for models in ("gp", "trees"):
        for name, runs in results.of("filters", "rnn", models).items():
            found = [median([one.dollars for one in arrivals(runs, PAPER, within(share))]) for share in SHARES]
            rows.append([models, name, *map(arrived, found)])
    return markdown(["models", "filter", *(f"dollars to {share:.0%}" for share in SHARES)], rows)


def cno_table(methods: Mapping[str, Runs], factor: float, full_only: Sequence[str]) -> str:
    """Dollars until the recommendation is cheap enough, in the three ways of saying so."""
    rows = []
    for name, runs in methods.items():
        own = near_full(factor) if name in full_only else near_best(factor)
        goods: tuple[Good, ...] = (own, near_best(factor), near_full(NEAR_FULL))
        found = [median([one.dollars for one in arrivals(runs, PAPER, good)]) for good in goods]
        rows.append([name, *map(arrived, found), percent(ends(runs, PAPER, near_best(1.0)))])
    head = [
        "",
        f"CNO <= {factor:g} in its own space",
        f"CNO <= {factor:g} of the common optimum",
        f"at most {NEAR_FULL:g}x the best at full data",
        "end at the optimum",
    ]
    return markdown(head, rows)


def fabulinus_table(methods: Mapping[str, Runs]) -> str:
    """Dollars and hours of the whole optimisation, and to arrive."""
    rows = []
    for name, runs in methods.items():
        rows.append(
            [
                name,
                spread(median([total_dollars(run) for run in runs]), "$"),
                spread(median([total_seconds(run, thinking=False) / 3600 for run in runs]), "h"),
                spread(median([total_seconds(run, thinking=True) / 3600 for run in runs]), "h"),
                arrived(median([one.dollars for one in arrivals(runs, PAPER, within(0.9))])),
                arrived(median([one.dollars for one in arrivals(runs, COMMON, within(0.9))])),
                percent(ends(runs, PAPER, lambda advice: advice.verdict.feasible)),
            ]
        )
    head = ["", "all dollars", "training", "with recommending", "dollars to 90%", "one rule for all", "end feasible"]
    return markdown(head, rows)


def sensitivity_table(results: Results, setup: str) -> str:
    """One knob; what is counted depends on the problem."""
    cheapest = about_dollars(setup)
    goods: Mapping[str, Good] = (
        {
            f"dollars to {NEAR_FULL:g}x the best at full data": near_full(NEAR_FULL),
            f"to {NEAR_FULL:g}x the best anywhere": near_best(NEAR_FULL),
        }
        if cheapest
        else {"dollars to 90 %": within(0.90), "to 99 %": within(0.99)}
    )
    rows = []
    for table in results.tables("sensitivity", setup):
        for method, runs in results.of("sensitivity", table, setup).items():
            found = [median([one.dollars for one in arrivals(runs, PAPER, good)]) for good in goods.values()]
            last = median([_last(run, cno if cheapest else accuracy_c) for run in runs])
            asks = ask_seconds(runs)
            rows.append(
                [table, method, *map(arrived, found), spread(last), f"{number(fmean(asks) if asks else math.nan)} s"]
            )
    end = "CNO at the end" if cheapest else "Accuracy_C at the end"
    return markdown(["table", setup, *goods, end, "to choose a test"], rows)


def _last(run: Run, worth: Worth) -> float:
    """What the last recommendation is worth."""
    found = run[-1].advice.get(PAPER) if run else None
    return math.nan if found is None else worth(found)


def same_dollars(methods: Mapping[str, Runs], amounts: Sequence[float]) -> str:
    """Accuracy_C of what is recommended once so many dollars are spent."""
    rows = []
    for name, runs in methods.items():
        cells = [name]
        for amount in amounts:
            values = [_accuracy_at(runs, index, amount) for index in range(len(runs))]
            found = median(values)
            cells.append("nothing yet" if not math.isfinite(found.value) else spread(found))
        rows.append([*cells, arrived(median([one.dollars for one in arrivals(runs, PAPER, within(0.99))]))])
    return markdown(["", *(f"${amount:g}" for amount in amounts), "dollars to 99%"], rows)


def _accuracy_at(runs: Runs, index: int, amount: float) -> float:
    """-inf before the first recommendation."""
    known = [row.advice[PAPER] for row in runs[index] if row.dollars <= amount and PAPER in row.advice]
    value = known[-1].verdict.accuracy_c if known else None
    return -math.inf if value is None else value


def others_table(methods: Mapping[str, Runs]) -> str:
    """Dollars to be near the optimum."""
    rows = []
    for name, runs in methods.items():
        found: list[Median] = [
            median([one.dollars for one in arrivals(runs, PAPER, near_best(factor))]) for factor in (2.0, NEAR_FULL)
        ]
        rows.append([name, *map(arrived, found), percent(ends(runs, PAPER, near_best(1.0)))])
    return markdown(["", "dollars to 2x the optimum", f"to {NEAR_FULL:g}x", "end at the optimum"], rows)


def claims_table(found: Sequence[Claim]) -> str:
    """Claims and verdicts."""
    rows = [
        [claim.text, claim.where, claim.paper, claim.ours, f"**{claim.verdict.value}**", claim.why or NONE]
        for claim in found
    ]
    return markdown(["claim", "where", "paper", "ours", "verdict", "on the difference"], rows)


def targets_table(found: Sequence[Target]) -> str:
    """Targets, reached or missed."""
    return markdown(["target", "wanted", "ours", ""], [[t.text, t.wanted, t.ours, t.verdict] for t in found])


def minutes_table(results: Results) -> str:
    """What the groups took."""
    rows = []
    for name, outline in OUTLINES.items():
        group, timing = results.groups.get(name), results.timings.get(name)
        if group is None:
            rows.append([name, outline.title, "not run", NONE, NONE])
            continue
        took = NONE if timing is None else f"{timing.seconds / 60:.1f} min for {timing.replays} replays"
        rows.append([name, outline.title, str(group.seeds), str(len({task for _, task in group.tasks()})), took])
    return markdown(["group", "what for", "seeds", "replays", "wall-clock time, as measured"], rows)
