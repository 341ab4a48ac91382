"""What is run: groups of replays, as data. A group is a part of the page; `setup` tells its parts apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from inspect import signature
from statistics import mean

from benchmarks.methods import INSTALL
from benchmarks.papers.inventory import CHEAPEST, Inventory
from leantune.lab.replay.pool import TableSource, Task
from leantune.lab.replay.runs import Settings
from leantune.strategies.registry import RECIPES

SEEDS, FEW_SEEDS = 20, 5
ITERATIONS = 44  # TrimTuner, section IV
THESIS_ITERATIONS, THESIS_ITERATIONS_FULL = 40, 100  # Fabulinus: the thesis makes 100
QUICK_ITERATIONS = 12
RNN = "rnn"

# TrimTuner Fig. 1: as the registry has them, with the same models where the papers' difference is not the models.
TRIMTUNER = ("trimtuner", "trimtuner-gp", "fabolas", "eic", "eic-usd", "random")
OPTUNA = {
    "optuna-tpe": "benchmarks.methods:optuna_tuner(sampler='tpe')",
    "optuna-gp": "benchmarks.methods:optuna_tuner(sampler='gp')",
}
# (initial, whole) dollars of cheapest anywhere; the thesis names only initial ones (VII-B): twice that in all.
THESIS, OURS = "thesis", "ours"
BUDGETS: Mapping[str, Mapping[str, tuple[float, float]]] = {
    THESIS: {"cnn": (5.0, 10.0), "rnn": (2.0, 4.0), "multilayer": (1.0, 2.0)},
    OURS: {"cnn": (0.5, 3.0), "rnn": (0.05, 0.3), "multilayer": (0.1, 0.6)},
}
NEPHELE = {  # without look-ahead, as the thesis compares
    "nephele": "nephele(horizon=0, initial_usd={initial})",
    "lynceus": "lynceus(horizon=0, initial_usd={initial})",
    "cherrypick-trees": "cherrypick(models='trees', initial_usd={initial})",
    "cherrypick": "cherrypick(initial_usd={initial})",
    "random": "random(points=1)",
    "random (all s)": "random(fractions='all', points=1)",
}
FILTERS = {
    "no filter": "none",
    "CEA 1 %": "cea:0.01",
    "CEA 5 %": "cea:0.05",  # of Fig. 4 only, so with trees only
    "CEA 10 %": "cea:0.1",
    "CEA 20 %": "cea:0.2",
    "DIRECT 10 %": "direct:0.1",
    "CMA-ES 10 %": "cmaes:0.1",
    "random 10 %": "random:0.1",
}
MODELS = {"trees": "trimtuner", "gp": "trimtuner-gp"}
# The thesis starts everybody with 3 % of the configurations, 9 of 288.
FABULINUS = {
    "fabulinus": "fabulinus",
    "fabolas": "fabolas(points=9)",
    "eic": "eic(points=9)",
    "ei": "ei(points=9)",
}
OTHER_METHODS = {
    "nephele": "nephele(horizon=0, initial_usd={initial})",
    "lynceus": "lynceus(horizon=0, initial_usd={initial})",
    "cherrypick": "cherrypick(initial_usd={initial})",
    "cherrypick-trees": "cherrypick(models='trees', initial_usd={initial})",
    "random": "random(points=1)",
}
OTHER_SHARE, OTHER_BUDGET = 0.03, 3.0  # initial: what this share of the configurations costs on average; whole: x 3
OTHER_POINTS = 4  # at least
FEW_TREES, LOOK_AHEAD_TESTS = 5, 24  # with which h = 2 takes some ten minutes a run rather than hours
_LONGEST = "horizon=2"


@dataclass(frozen=True)
class Case:
    """One method on one table; setup: which part of its group it belongs to. seeds: fewer than the group has."""

    setup: str
    table: str
    method: str
    source: TableSource
    settings: Settings
    seeds: int | None = None


@dataclass(frozen=True)
class Group:
    """Cases that answer one question, each under the seeds 0 .. seeds - 1: starts are paired by seed."""

    name: str
    title: str
    seeds: int
    cases: tuple[Case, ...]

    def tasks(self) -> Iterator[tuple[Case, Task]]:
        """Every replay, all cases of a seed together; those that take longest first, so that no core waits for one."""
        ordered = sorted(self.cases, key=lambda case: _LONGEST not in case.settings.strategy)
        for seed in range(self.seeds):
            for case in (one for one in ordered if one.seeds is None or seed < one.seeds):
                yield case, Task(case.source, case.settings, seed)


@dataclass(frozen=True)
class Effort:
    """How much is run. seeds: rather than each group's own number."""

    quick: bool = False
    full: bool = False
    seeds: int | None = None


@dataclass(frozen=True)
class _Outline:
    title: str
    seeds: int
    cases: Callable[[Inventory, Effort], Iterator[Case]]


def groups(inventory: Inventory, effort: Effort, only: tuple[str, ...] = ()) -> dict[str, Group]:
    """The groups by name; a quick run has one seed, few iterations and the rnn table."""
    found = {}
    for name in only or OUTLINES:
        outline = OUTLINES[name]
        cases = tuple(outline.cases(inventory, effort))
        seeds = effort.seeds or (1 if effort.quick else outline.seeds)
        found[name] = Group(name, outline.title, seeds, tuple(map(_quick, cases)) if effort.quick else cases)
    return found


def _quick(case: Case) -> Case:
    fewer = min(case.settings.iterations or QUICK_ITERATIONS, QUICK_ITERATIONS)
    return replace(case, settings=replace(case.settings, iterations=fewer))


def optuna_missing() -> str:
    """Why Optuna's samplers cannot be compared here; "" when they can."""
    absent = [library for library in ("optuna", "torch") if find_spec(library) is None]
    return f"{' and '.join(absent)} not installed: {INSTALL}" if absent else ""


def _networks(inventory: Inventory, effort: Effort) -> tuple[str, ...]:
    names = inventory.networks
    return tuple(name for name in names if name == RNN) if effort.quick else names


def _trimtuner(inventory: Inventory, effort: Effort) -> Iterator[Case]:
    for table in _networks(inventory, effort):
        for spec in TRIMTUNER:
            yield Case("", table, spec, inventory.source(table), Settings(spec, iterations=ITERATIONS))


def _optuna(inventory: Inventory, effort: Effort) -> Iterator[Case]:
    if optuna_missing():
        return
    for table in _networks(inventory, effort):
        for method, spec in OPTUNA.items():
            yield Case("", table, method, inventory.source(table), Settings(spec, iterations=ITERATIONS))


def _cheapest(inventory: Inventory, setup: str, table: str, method: str, spec: str, **extra: float) -> Case:
    initial, whole = BUDGETS[OURS if setup not in BUDGETS else setup][table]
    text = spec.format(**{"initial": initial, **extra})
    settings = Settings(text, iterations=None, usd=whole, overshoot=True)
    return Case(setup, table, method, inventory.source(table, CHEAPEST), settings)


def _nephele(inventory: Inventory, effort: Effort) -> Iterator[Case]:
    for setup in (OURS,) if effort.quick else (OURS, THESIS):
        for table in _networks(inventory, effort):
            for method, spec in NEPHELE.items():
                yield _cheapest(inventory, setup, table, method, spec)


def _filters(inventory: Inventory, effort: Effort) -> Iterator[Case]:
    if RNN not in inventory.networks:
        return
    for models, spec in MODELS.items():
        for method, text in FILTERS.items():
            if method != "CEA 5 %" or models == "trees":
                yield Case(models, RNN, method, inventory.source(RNN), Settings(spec, text, ITERATIONS))


def _fabulinus(inventory: Inventory, effort: Effort) -> Iterator[Case]:
    iterations = THESIS_ITERATIONS_FULL if effort.full else THESIS_ITERATIONS
    for table in _networks(inventory, effort):
        for method, spec in FABULINUS.items():
            yield Case("", table, method, inventory.source(table), Settings(spec, iterations=iterations))


def _sensitivity(inventory: Inventory, effort: Effort) -> Iterator[Case]:
    for table in _networks(inventory, effort):
        yield from _knobs_of_nephele(inventory, effort, table)
        yield from _knobs_at_full_data(inventory, effort, table)


def _knobs_of_nephele(inventory: Inventory, effort: Effort, table: str) -> Iterator[Case]:
    """Our budgets, one knob at a time; every value is written out, defaults too."""
    for trees in (5, 10, 20):
        spec = f"nephele(trees={trees}, initial_usd={{initial}})"
        yield _cheapest(inventory, "trees of nephele", table, f"{trees} trees", spec)
    initial, _ = BUDGETS[OURS][table]
    for first in (initial * factor for factor in (0.5, 1.0, 2.0, 4.0)):
        spec = "nephele(initial_usd={initial})"
        yield _cheapest(inventory, "initial budget of nephele", table, f"${first:g} at first", spec, initial=first)
    for name in ("nephele", "lynceus") if table == RNN or effort.full else ():  # h = 2 takes long
        for horizon in (0, 1, 2) if effort.full else (0, 1):
            spec = f"{name}(horizon={horizon}, trees={FEW_TREES}, initial_usd={{initial}})"
            case = _cheapest(inventory, f"look-ahead of {name}", table, f"h = {horizon}", spec)
            yield replace(case, settings=replace(case.settings, iterations=LOOK_AHEAD_TESTS))


def _knobs_at_full_data(inventory: Inventory, effort: Effort, table: str) -> Iterator[Case]:
    def case(setup: str, method: str, name: str, iterations: int = ITERATIONS, **option: object) -> Case:
        spec = changed_spec(name, **option)
        return Case(setup, table, method, inventory.source(table), Settings(spec, iterations=iterations))

    for trees in (5, 10, 20, 50):
        yield case("trees of trimtuner", f"{trees} trees", "trimtuner", trees=trees)
    for name in ("trimtuner", "trimtuner-gp"):
        for points in (1, 2, 4):
            method = f"{points} starting point{'s' if points > 1 else ''}"
            yield case(f"start of {name}", method, name, points=points)
        for method, differenced in (("Eq. 5 as printed", False), ("differenced gain", True)):
            yield case(f"gain of {name}", method, name, differenced=differenced)
        for method, spend in (("seconds times the price", "seconds"), ("dollars as a black box", "dollars")):
            yield case(f"cost model of {name}", method, name, spend=spend)
    iterations = THESIS_ITERATIONS_FULL if effort.full else THESIS_ITERATIONS
    for method, refit in (("with the simulated refit", True), ("without it", False)):
        yield case("ESc of fabulinus", method, "fabulinus", iterations, refit=refit)


def changed_spec(name: str, **options: object) -> str:
    """A strategy with these options, those at their default left out: what another group has run is not run again."""
    defaults = {option: known.default for option, known in signature(RECIPES[name]).parameters.items()}
    told = [f"{option}={value!r}" for option, value in options.items() if value != defaults[option]]
    return f"{name}({', '.join(told)})" if told else name


def _others(inventory: Inventory, effort: Effort) -> Iterator[Case]:
    for table in inventory.others[:1] if effort.quick else inventory.others:
        initial, whole = other_budget(inventory, table)
        for method, spec in OTHER_METHODS.items():
            settings = Settings(spec.format(initial=initial), iterations=None, usd=whole, overshoot=True)
            yield Case("", table, method, inventory.source(table), settings)


def other_budget(inventory: Inventory, table: str) -> tuple[float, float]:
    """(initial, whole) dollars on a table of Lynceus or CherryPick, from what its runs cost on average."""
    costs = [row.cost or 0.0 for row in inventory.tables[table, ""].measurements.values()]
    initial = mean(costs) * max(OTHER_POINTS, OTHER_SHARE * len(costs))
    return round(initial, 3), round(OTHER_BUDGET * initial, 3)


OUTLINES: dict[str, _Outline] = {
    "trimtuner": _Outline("TrimTuner: Figs. 1-2, Table III", SEEDS, _trimtuner),
    "nephele": _Outline("Thesis: Figs. 1-2 (Nephele)", SEEDS, _nephele),
    "optuna": _Outline("Optuna instead", SEEDS, _optuna),
    "filters": _Outline("TrimTuner: Figs. 3-4, Table IV", FEW_SEEDS, _filters),
    "fabulinus": _Outline("Thesis: Figs. 4-5 (Fabulinus)", FEW_SEEDS, _fabulinus),
    "sensitivity": _Outline("Sensitivity", FEW_SEEDS, _sensitivity),
    "others": _Outline("Lynceus' and CherryPick's tables", FEW_SEEDS, _others),
}
