"""Figures as data: what is in each panel. `png` and `html` draw the same ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.papers import curves
from benchmarks.papers.curves import Along, Curve, Worth, curve
from benchmarks.papers.experiments import OURS, THESIS
from benchmarks.papers.measures import arrivals, within
from benchmarks.papers.results import Results, Runs
from leantune.arrays import BoolArray
from leantune.lab.replay.arrivals import Median, median
from leantune.lab.replay.runs import COMMON, PAPER

RULE_NAMES = {PAPER: "each paper's own incumbent", COMMON: "one incumbent rule for all"}
DOLLARS = "dollars spent (USD)"
ACCURACY = "Accuracy_C of the recommendation"
CNO = "cost of the recommendation / optimum"
SHARES = (0.90, 0.95, 0.99)
BESIDE_OPTUNA = ("trimtuner-gp", "trimtuner", "eic")
FULL_DATA_ONLY = ("lynceus", "cherrypick", "cherrypick-trees", "random")


@dataclass(frozen=True)
class Line:
    """One method."""

    method: str
    curve: Curve

    def parts(self) -> tuple[BoolArray, BoolArray]:
        """Places within the start and after it; where one follows the other, they share a place."""
        start = self.curve.x <= self.curve.start
        after = ~start
        if start.any() and after.any():
            after[int(np.flatnonzero(start)[-1])] = True
        return start, after


@dataclass(frozen=True)
class Panel:
    """Lines over one axis. limits: of y, begin: of x; None: as the lines need."""

    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    log_y: bool = False
    limits: tuple[float, float] | None = None
    begin: float | None = None


@dataclass(frozen=True)
class Dot:
    """A median with its interval; infinite where most seeds never arrive."""

    method: str
    series: str
    at: Median


@dataclass(frozen=True)
class DotPanel:
    """Methods from top to bottom, one mark a series."""

    title: str
    x: str
    dots: tuple[Dot, ...]


@dataclass(frozen=True)
class Drawing:
    """A figure: panels in rows; caption: what it is, and where the paper has it."""

    name: str
    title: str
    caption: str
    panels: tuple[tuple[Panel | DotPanel, ...], ...]


def drawings(results: Results) -> list[Drawing]:
    """Every figure that the groups at hand allow."""
    made = (
        trimtuner_1(results),
        trimtuner_2(results),
        trimtuner_3(results),
        trimtuner_4(results),
        nephele(results, common=False),
        nephele(results, common=True),
        fabulinus(results),
        optuna(results),
        others(results),
    )
    return [drawing for drawing in made if drawing is not None and drawing.panels]


def _lines(methods: Mapping[str, Runs], make: Callable[[str, Runs], Curve | None]) -> tuple[Line, ...]:
    drawn = ((method, make(method, runs)) for method, runs in methods.items())
    return tuple(Line(method, made) for method, made in drawn if made is not None)


def _accuracy_panel(
    title: str,
    methods: Mapping[str, Runs],
    rule: str,
    worth: Worth = curves.accuracy_c,
    along: Along = curves.dollars,
    x: str = DOLLARS,
) -> Panel:
    lines = _lines(methods, lambda _method, runs: curve(runs, rule, worth, along))
    return Panel(title, x, ACCURACY, lines, limits=_accuracy_limits(lines), begin=_from(lines))


def _accuracy_limits(lines: Sequence[Line]) -> tuple[float, float]:
    """From below the lowest median after a start."""
    lowest = min((float(np.nanmin(line.curve.middle[line.parts()[1]], initial=1.0)) for line in lines), default=0.0)
    return max(0.0, math.floor(lowest * 10) / 10 - 0.02), 1.01


def _from(lines: Sequence[Line]) -> float | None:
    """Half of what the cheapest start costs, where something is drawn there: what lies before says nothing."""
    if not lines:
        return None
    starts = [max(line.curve.start, float(line.curve.x[0])) for line in lines]
    return max(min(starts) / 2.0, min(float(line.curve.x[0]) for line in lines) * 0.9)


def _cno_panel(title: str, methods: Mapping[str, Runs], *, common: bool) -> Panel:
    def make(method: str, runs: Runs) -> Curve | None:
        worth = curves.cno_full if method in FULL_DATA_ONLY and not common else curves.cno
        return curve(runs, PAPER, worth, worst=math.inf)

    return Panel(title, DOLLARS, CNO, _lines(methods, make), log_y=True)


def trimtuner_1(results: Results) -> Drawing | None:
    """Accuracy_C against dollars, under both incumbent rules."""
    tables = results.tables("trimtuner")
    rows = tuple(
        tuple(_accuracy_panel(f"{table}, {name}", results.of("trimtuner", table), rule) for table in tables)
        for rule, name in RULE_NAMES.items()
    )
    return _drawing(
        "trimtuner-fig1",
        "TrimTuner Fig. 1: Accuracy_C against dollars",
        "Median over seeds and quartiles; the start is dashed. Accuracy_C by TrimTuner Eq. 7.",
        rows if tables else (),
    )


def trimtuner_2(results: Results) -> Drawing | None:
    """Dollars and seconds to arrive."""
    tables = results.tables("trimtuner")
    optuna_runs = {table: results.of("optuna", table) for table in tables}
    kinds: tuple[tuple[str, str], ...] = (
        ("dollars", "dollars to arrive (USD)"),
        ("seconds", "hours of training to arrive"),
    )
    rows = tuple(
        tuple(
            _arrival_panel(f"{table}: {label}", label, kind, {**results.of("trimtuner", table), **optuna_runs[table]})
            for table in tables
        )
        for kind, label in kinds
    )
    return _drawing(
        "trimtuner-fig2",
        "TrimTuner Fig. 2: what it takes to arrive",
        "Until the recommendation is feasible and within 90, 95 or 99 % of the best feasible accuracy, and stays so; "
        "medians with 95 % bootstrap intervals; at the right edge: most seeds never arrive (how many do is written "
        "beside).",
        rows if tables else (),
    )


def _arrival_panel(title: str, x: str, kind: str, methods: Mapping[str, Runs]) -> DotPanel:
    dots = []
    for method, runs in methods.items():
        for share in SHARES:
            found = arrivals(runs, PAPER, within(share))
            values = [one.dollars if kind == "dollars" else one.seconds / 3600.0 for one in found]
            dots.append(Dot(method, f"{share:.0%}", median(values)))
    return DotPanel(title, x, tuple(dots))


def trimtuner_3(results: Results) -> Drawing | None:
    """Filters, both models."""
    panels = []
    for models in ("gp", "trees"):
        methods = results.of("filters", "rnn", models)
        shown = {name: runs for name, runs in methods.items() if name.endswith("10 %") or name == "no filter"}
        if shown:
            panels.append(_accuracy_panel(f"rnn, {_models_name(models)}", shown, PAPER))
    return _drawing(
        "trimtuner-fig3",
        "TrimTuner Fig. 3: filters",
        "Which untested pairs get the full acquisition, 10 % of them each; the paper shows the Gaussian process only.",
        (tuple(panels),) if panels else (),
    )


def trimtuner_4(results: Results) -> Drawing | None:
    """Shares of CEA."""
    methods = results.of("filters", "rnn", "trees")
    shown = {name: runs for name, runs in methods.items() if name.startswith("CEA") or name == "no filter"}
    return _drawing(
        "trimtuner-fig4",
        "TrimTuner Fig. 4: the share beta that CEA keeps",
        "trimtuner (trees) on rnn.",
        ((_accuracy_panel("rnn, trees", shown, PAPER),),) if shown else (),
    )


def _models_name(models: str) -> str:
    return {"gp": "Gaussian process", "trees": "trees"}[models]


def nephele(results: Results, *, common: bool) -> Drawing | None:
    """CNO against dollars, with the thesis' budgets and ours."""
    rows = tuple(
        tuple(
            _cno_panel(f"{table}, {_budget_name(setup)}", results.of("nephele", table, setup), common=common)
            for table in results.tables("nephele", setup)
        )
        for setup in (THESIS, OURS)
    )
    normalised = "the best anywhere" if common else "the best in the space that each strategy searches"
    return _drawing(
        f"thesis-fig1-2{'-common' if common else ''}",
        f"Thesis Figs. 1-2: cost of the recommendation over {normalised}",
        "Median over seeds and quartiles, drawn from where half of the seeds recommend something feasible.",
        tuple(row for row in rows if row),
    )


def _budget_name(setup: str) -> str:
    return {THESIS: "the thesis' budgets", OURS: "our budgets"}[setup]


def fabulinus(results: Results) -> Drawing | None:
    """Accuracy_C (0 when infeasible) against dollars, and hours without and with recommendation time."""
    axes: tuple[tuple[str, Along, str], ...] = (
        ("dollars", curves.dollars, DOLLARS),
        ("training", curves.hours, "hours of training"),
        ("training and recommending", curves.hours_and_thinking, "hours of training and recommending"),
    )
    rows = tuple(
        tuple(
            _accuracy_panel(
                f"{table}: {name}", results.of("fabulinus", table), PAPER, curves.accuracy_or_zero, along, label
            )
            for name, along, label in axes
        )
        for table in results.tables("fabulinus")
    )
    return _drawing(
        "thesis-fig4-5",
        "Thesis Figs. 4-5: Accuracy_C against dollars and hours",
        "Accuracy_C by thesis Eq. 12: 0 when the recommendation is infeasible. Every strategy starts with 9 "
        "configurations.",
        rows,
    )


def optuna(results: Results) -> Drawing | None:
    """What a user would pick instead."""
    tables = results.tables("optuna")
    row = tuple(
        _accuracy_panel(
            table,
            {
                **{name: runs for name, runs in results.of("trimtuner", table).items() if name in BESIDE_OPTUNA},
                **results.of("optuna", table),
            },
            PAPER,
        )
        for table in tables
    )
    return _drawing(
        "optuna",
        "Optuna's samplers in the same dollars",
        "TPE and GP with constraints, at full data, from eic's start; they recommend the best measured configuration.",
        (row,) if row else (),
    )


def others(results: Results) -> Drawing | None:
    """Lynceus' and CherryPick's tables."""
    panels = [_cno_panel(table, results.of("others", table), common=True) for table in results.tables("others")]
    rows = tuple(tuple(panels[start : start + 3]) for start in range(0, len(panels), 3))
    return _drawing(
        "others",
        "Lynceus' and CherryPick's tables: cost of the recommendation over the optimum",
        "Full data only: nephele and lynceus are one strategy there.",
        rows,
    )


def _drawing(name: str, title: str, caption: str, panels: tuple[tuple[Panel | DotPanel, ...], ...]) -> Drawing | None:
    return Drawing(name, title, caption, panels) if panels else None
