"""What is run, as data: which strategies on which tables, with how many seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.arena.generated import FAMILIES, Generated
from benchmarks.arena.limited import TimeLimited
from benchmarks.lean.variants import PARTS
from benchmarks.papers.experiments import BUDGETS, ITERATIONS, OURS, QUICK_ITERATIONS, Case, Group
from benchmarks.papers.experiments import NEPHELE as CHEAPEST_SPECS
from benchmarks.papers.inventory import CHEAPEST, NETWORKS
from leantune.lab.replay.pool import Source, TableSource
from leantune.lab.replay.runs import Settings

LEAN, RIVAL = "lean", "trimtuner-gp"
SEEDS, FEW_SEEDS, ABLATION_SEEDS, QUICK_SEEDS = 50, 5, 3, 1
TABLES = ("rnn", "cnn")
MAIN = (LEAN, RIVAL, "trimtuner", "fabolas", "eic", "eic-usd", "fabulinus", "random")
# So that the group takes less than an hour: what the issue compares has all seeds.
MAIN_SEEDS = {name: 10 for name in MAIN if name not in (LEAN, RIVAL)} | {"fabolas": 5, "fabulinus": 5}
CHEAPEST_TESTS = 100  # at most: with cheap tests the budget lasts for hundreds, long after the answer is found
NEPHELE = {LEAN: LEAN, **{name: CHEAPEST_SPECS[name] for name in ("nephele", "lynceus", "cherrypick")}}
TWO = (LEAN, RIVAL, "eic")
NOISE = BATCHES = (LEAN, RIVAL)
GENERATED = (LEAN, RIVAL, "eic-usd")
PROBLEMS = 1  # of each family
SEQUENTIAL, PARALLEL = "one at a time", "four at once"
TESTS_AT_ONCE = {SEQUENTIAL: 1, PARALLEL: 4}
ABLATIONS = {  # `lean` with one part changed
    LEAN: LEAN,
    "32 members": "lean(members=32)",
    **{f"without {part}": f"benchmarks.lean.variants:lean_without(part={part!r})" for part in PARTS},
}


@dataclass(frozen=True)
class Effort:
    """How much is run.

    quick: only to see that it runs. seeds (of generated problems: how many of each family), strategies, tables: rather
    than each group's own. data: folder of the tables. lean: the strategy text that goes by the name of `lean`.
    """

    quick: bool = False
    seeds: int | None = None
    strategies: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    data: Path | None = None
    lean: str = LEAN

    def chosen(self, own: Mapping[str, str] | tuple[str, ...]) -> dict[str, str]:
        """Strategies by name: those that were asked for, or the group's own."""
        named = dict(own) if isinstance(own, Mapping) else {name: name for name in own}
        named[LEAN] = self.lean
        return {name: named.get(name, name) for name in self.strategies} if self.strategies else named

    @property
    def networks(self) -> tuple[str, ...]:
        """TrimTuner's tables to use."""
        return tuple(name for name in TABLES if not self.tables or name in self.tables)

    def source(self, table: str, problem: str = "") -> Source:
        """One of them."""
        return Source(NETWORKS[table], self.data, problem)


@dataclass(frozen=True)
class _Outline:
    title: str
    seeds: int  # 1 where the cases are many problems
    cases: Callable[[Effort], Iterator[Case]]


def groups(effort: Effort, only: tuple[str, ...] = ()) -> dict[str, Group]:
    """The groups by name; a quick run has one seed and few iterations."""
    found = {}
    for name in only or OUTLINES:
        outline = OUTLINES[name]
        cases = tuple(outline.cases(effort))
        seeds = 1 if outline.seeds == 1 else effort.seeds or (QUICK_SEEDS if effort.quick else outline.seeds)
        found[name] = Group(name, outline.title, seeds, tuple(map(_quick, cases)) if effort.quick else cases)
    return found


def _quick(case: Case) -> Case:
    fewer = min(case.settings.iterations or QUICK_ITERATIONS, QUICK_ITERATIONS)
    return replace(case, settings=replace(case.settings, iterations=fewer))


def _main(effort: Effort) -> Iterator[Case]:
    for table in effort.networks:
        for method, spec in effort.chosen(MAIN).items():
            seeds = None if effort.strategies else MAIN_SEEDS.get(method)
            yield Case("", table, method, effort.source(table), Settings(spec, iterations=ITERATIONS), seeds)


def _nephele(effort: Effort) -> Iterator[Case]:
    for table in effort.networks:
        initial, whole = BUDGETS[OURS][table]
        for method, spec in effort.chosen(NEPHELE).items():
            settings = Settings(spec.format(initial=initial), iterations=CHEAPEST_TESTS, usd=whole, overshoot=True)
            yield Case("", table, method, effort.source(table, CHEAPEST), settings)


def _each(effort: Effort, own: Mapping[str, str] | tuple[str, ...], setup: str, settings: Settings) -> Iterator[Case]:
    for table in effort.networks:
        source: TableSource = effort.source(table)
        for method, spec in effort.chosen(own).items():
            yield Case(setup, table, method, source, replace(settings, strategy=spec))


def _two(effort: Effort) -> Iterator[Case]:
    for case in _each(effort, TWO, "", Settings(LEAN, iterations=ITERATIONS)):
        assert isinstance(case.source, Source)
        yield replace(case, source=TimeLimited(case.source))


def _noise(effort: Effort) -> Iterator[Case]:
    return _each(effort, NOISE, "", Settings(LEAN, iterations=ITERATIONS, noise=1.0))


def _generated(effort: Effort) -> Iterator[Case]:
    problems = effort.seeds or (QUICK_SEEDS if effort.quick else PROBLEMS)
    for family in FAMILIES:
        for method, spec in effort.chosen(GENERATED).items():
            for number in range(problems):
                yield Case("", family, method, Generated(family, number), Settings(spec, iterations=ITERATIONS))


def _batches(effort: Effort) -> Iterator[Case]:
    for setup, parallel in TESTS_AT_ONCE.items():
        yield from _each(effort, BATCHES, setup, Settings(LEAN, iterations=ITERATIONS, parallel=parallel))


def _ablations(effort: Effort) -> Iterator[Case]:
    return _each(effort, ABLATIONS, "", Settings(LEAN, iterations=ITERATIONS))


OUTLINES: dict[str, _Outline] = {
    "main": _Outline("The papers' tables, everybody", SEEDS, _main),
    "nephele": _Outline("Cheapest anywhere, our budgets", FEW_SEEDS, _nephele),
    "two": _Outline("Two limits at once", FEW_SEEDS, _two),
    "noise": _Outline("Noise in every test", FEW_SEEDS, _noise),
    "batches": _Outline("Four tests at once", FEW_SEEDS, _batches),
    "generated": _Outline("Generated problems", 1, _generated),
    "ablations": _Outline("`lean` without one of its parts", ABLATION_SEEDS, _ablations),
}
