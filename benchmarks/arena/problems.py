"""What is played on: problems by family, and the facts about them that strategies do not know."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import median

from benchmarks.arena.budgets import OPEN_TESTS
from benchmarks.arena.generated import FAMILIES as LAWS
from benchmarks.arena.generated import Generated
from benchmarks.arena.limited import TimeLimited
from benchmarks.papers.inventory import CHEAPEST
from leantune.errors import TableError
from leantune.lab.replay.pool import Source, TableSource
from leantune.lab.replay.runs import Settings
from leantune.lab.replay.truth import Truth

GENERATED_PROBLEMS = 5  # of each family of laws
UNLIMITED = "unlimited"
LCBENCH = ("lcbench-3945", "lcbench-34539", "lcbench-167104", "lcbench-168908", "lcbench-189906")
XGBOOST = ("xgboost-1461", "xgboost-1486", "xgboost-1489", "xgboost-40984")
PAPERS = ("trimtuner-rnn", "trimtuner-cnn")
NOISY_LAWS = ("loose", "ranks-well")
NOISE = 1.0  # tests scatter as runs did
CHEAPEST_TESTS = OPEN_TESTS  # after the start: small tests would go on for hundreds, long after the answer is found
SINGLE = ("cherrypick-kmeans", "cherrypick-terasort", "cherrypick-tpch", "lynceus-cnn", "lynceus-rnn")


@dataclass(frozen=True)
class ArenaProblem:
    """Run number i plays on source i modulo their number, under the seed i.

    noise: of every test, in standard deviations of the table; recommendations are judged on the means. tests: after the
    start at most, however long the dollars last.
    """

    name: str
    family: str
    sources: tuple[TableSource, ...]
    noise: float = 0.0
    tests: int | None = None

    def source(self, number: int) -> TableSource:
        """Of run `number`."""
        return self.sources[number % len(self.sources)]

    @property
    def real(self) -> bool:
        """Whether somebody measured it."""
        return not any(isinstance(source, Generated) for source in self.sources)

    def settings(self, general: Settings) -> Settings:
        """As a replay on this problem has them: with its noise, and no more than its tests."""
        counts = [count for count in (general.iterations, self.tests) if count is not None]
        return replace(general, noise=self.noise, iterations=min(counts, default=None))


@dataclass(frozen=True)
class Facts:
    """truth: how good recommendations are. unit: median dollars of a run on all data."""

    truth: Truth
    unit: float


@cache
def facts(source: TableSource) -> Facts:
    """Of one table; TableError where it knows no dollars."""
    table = source.load()
    dollars = [row.cost for (_, share), row in table.measurements.items() if share == 1 and row.cost is not None]
    if not dollars:
        hint = "Say in its description what a run costs"
        raise TableError("no run on all data has a price", where=source.name, hint=hint)
    return Facts(Truth.of(table), median(dollars))


def _papers(data: Path | None) -> Iterator[ArenaProblem]:
    for name in PAPERS:
        yield ArenaProblem(name, "papers", (Source(name, data),))


def _two_limits(data: Path | None) -> Iterator[ArenaProblem]:
    for name in PAPERS:
        yield ArenaProblem(f"{name}, two limits", "two limits", (TimeLimited(Source(name, data)),))


def _noisy(data: Path | None) -> Iterator[ArenaProblem]:
    for name in PAPERS:
        yield ArenaProblem(f"{name}, noisy", "noisy", (Source(name, data),), noise=NOISE)
    for law in NOISY_LAWS:
        yield ArenaProblem(f"{law}, noisy", "noisy", _drawn(law), noise=NOISE)


def _cheapest(data: Path | None) -> Iterator[ArenaProblem]:
    for name in PAPERS:
        source = Source(name, data, CHEAPEST)
        yield ArenaProblem(f"{name}, {CHEAPEST}", CHEAPEST, (source,), tests=CHEAPEST_TESTS)


def _demo(data: Path | None) -> Iterator[ArenaProblem]:
    yield ArenaProblem("demo-mnist", "demo", (Source("demo-mnist", data),))


def _yahpo(family: str, names: tuple[str, ...], data: Path | None) -> Iterator[ArenaProblem]:
    for name in names:
        for problem in ("", UNLIMITED):
            called = f"{name}, {problem}" if problem else name
            yield ArenaProblem(called, family, (Source(name, data, problem),))


def _single(data: Path | None) -> Iterator[ArenaProblem]:
    for name in SINGLE:
        yield ArenaProblem(name, "single share", (Source(name, data),))


def _generated(data: Path | None) -> Iterator[ArenaProblem]:
    for law in LAWS:
        yield ArenaProblem(law, "generated", _drawn(law))


def _drawn(law: str) -> tuple[Generated, ...]:
    return tuple(Generated(law, number) for number in range(GENERATED_PROBLEMS))


FAMILIES: dict[str, Callable[[Path | None], Iterator[ArenaProblem]]] = {
    "papers": _papers,
    "demo": _demo,
    "lcbench": lambda data: _yahpo("lcbench", LCBENCH, data),
    "xgboost": lambda data: _yahpo("xgboost", XGBOOST, data),
    "single share": _single,
    "two limits": _two_limits,
    "noisy": _noisy,
    CHEAPEST: _cheapest,
    "generated": _generated,
}
# Small tables of every kind, for a quick run.
QUICK = ("demo-mnist", "xgboost-1489", "lynceus-cnn", "ranks-well")


def problem_names() -> tuple[str, ...]:
    """Of all problems, whether their tables are at hand or not."""
    return tuple(problem.name for make in FAMILIES.values() for problem in make(None))


@dataclass(frozen=True)
class Problems:
    """Those at hand, and why the others are not, by name."""

    ready: tuple[ArenaProblem, ...]
    missing: dict[str, str]


def find_problems(names: tuple[str, ...], data: Path | None) -> Problems:
    """The problems of these names, or of these families."""
    ready: list[ArenaProblem] = []
    missing: dict[str, str] = {}
    for problem in (problem for make in FAMILIES.values() for problem in make(data)):
        if problem.name not in names and problem.family not in names:
            continue
        try:
            for source in problem.sources:
                facts(source)
        except TableError as error:
            missing[problem.name] = str(error)
        else:
            ready.append(problem)
    return Problems(tuple(ready), missing)
