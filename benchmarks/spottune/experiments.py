"""What is simulated: groups of tunings, as data. A group answers one question of section IV."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from benchmarks.spottune.policies import BASELINES, Policy, Rule
from benchmarks.spottune.pools import PoolName
from benchmarks.spottune.risks import QUICK_PLAN
from benchmarks.spottune.tunings import Tuning
from leantune.lab.training.training import TrainingPlan
from leantune.revocation.predictors import DEFAULT_KIND, UNTRAINED

STARTS, FEW_STARTS = 10, 5
THETAS = tuple(round(0.1 * tenth, 1) for tenth in range(1, 11))
PRINTED_KIND = "revpred-printed"
PREDICTORS = ("revpred", "tributary", "logistic", "hazard", "boosted", UNTRAINED, PRINTED_KIND)
OTHER_HOURS = 1.0
EXPONENTS = (0.4, 0.8)
GIGABYTES = (0.1, 1.0, 5.0, 10.0)
DEMAND = Policy(Rule.DEMAND_STEP)  # the yardstick of completion time
GAP = (Policy(Rule.RANDOM), Policy(Rule.OURS), Policy(Rule.ORACLE), DEMAND)


@dataclass(frozen=True)
class Effort:
    """How much is run. pools: those at hand. families: recorded ones. starts: rather than each group's own number."""

    pools: tuple[PoolName, ...]
    families: tuple[str, ...]
    quick: bool = False
    starts: int | None = None
    tries: int = 2

    @property
    def plan(self) -> TrainingPlan:
        """How predictors are trained."""
        return QUICK_PLAN if self.quick else TrainingPlan(tries=self.tries, processes=2)

    @property
    def printed_kind(self) -> str:
        """The predictor of the paper's rule; a quick run trains no network."""
        return "logistic" if self.quick else PRINTED_KIND

    @property
    def predictors(self) -> tuple[str, ...]:
        """Those compared."""
        return ("logistic", "hazard", UNTRAINED, DEFAULT_KIND) if self.quick else PREDICTORS


@dataclass(frozen=True)
class Group:
    """Tunings under the same question, by what is varied (`setup`)."""

    name: str
    title: str
    tunings: tuple[tuple[str, Tuning], ...] = field(repr=False)


def groups(effort: Effort, only: Sequence[str] = ()) -> dict[str, Group]:
    """The groups by name."""
    found = {}
    for name in only or OUTLINES:
        outline = OUTLINES[name]
        starts = range(effort.starts or (1 if effort.quick else outline.starts))
        made = tuple(outline.tunings(effort, starts))
        found[name] = Group(name, outline.title, made)
    return found


def kinds_needed(chosen: Sequence[Group]) -> list[tuple[str, str]]:
    """(pool, predictor) pairs to be trained before anything is simulated; capacity pools share the smooth one's."""
    pairs = {(tuning.pool, tuning.predictor) for group in chosen for _, tuning in group.tunings}
    shared = {(_priced(pool), kind) for pool, kind in pairs}
    return sorted(shared)


def _priced(pool: str) -> str:
    return PoolName.SMOOTH if PoolName(pool).by_capacity else pool


@dataclass(frozen=True)
class _Outline:
    title: str
    starts: int
    tunings: Callable[[Effort, range], Iterator[tuple[str, Tuning]]]


def _policies(effort: Effort, pool: PoolName) -> Iterator[tuple[Policy, str]]:
    """Every policy of Fig. 7 and its predictor; those that ask none have the default one's table at hand."""
    for theta in (0.7, 1.0):
        yield Policy(Rule.OURS, theta), DEFAULT_KIND
        yield Policy(Rule.PRINTED, theta), _printed(effort, pool)
    for policy in GAP:
        if policy.rule is not Rule.OURS:
            yield policy, DEFAULT_KIND
    for rule in BASELINES:
        yield Policy(rule, 1.0), DEFAULT_KIND


def _printed(effort: Effort, pool: PoolName) -> str:
    """As printed, RevPred included, where it is trained; on smooth prices the rule alone is the paper's."""
    return effort.printed_kind if pool is PoolName.VOLATILE else DEFAULT_KIND


def _main(pools: Sequence[PoolName]) -> Callable[[Effort, range], Iterator[tuple[str, Tuning]]]:
    def made(effort: Effort, starts: range) -> Iterator[tuple[str, Tuning]]:
        for pool in (one for one in pools if one in effort.pools):
            for start in starts:
                for family in effort.families:
                    for policy, kind in _policies(effort, pool):
                        yield pool, Tuning(pool, family, policy, kind, start)

    return made


def _theta(effort: Effort, starts: range) -> Iterator[tuple[str, Tuning]]:
    if PoolName.VOLATILE not in effort.pools:
        return
    for start in starts:
        for family in effort.families:
            for theta in THETAS[2::4] if effort.quick else THETAS:
                yield f"{theta:g}", Tuning(PoolName.VOLATILE, family, Policy(Rule.OURS, theta), DEFAULT_KIND, start)


def _loop(effort: Effort, starts: range) -> Iterator[tuple[str, Tuning]]:
    if PoolName.VOLATILE not in effort.pools:
        return
    for start in starts:
        for family in effort.families:
            for kind in effort.predictors:
                for rule in (Rule.OURS, Rule.PRINTED):
                    yield kind, Tuning(PoolName.VOLATILE, family, Policy(rule), kind, start)


def _sensitivity(effort: Effort, starts: range) -> Iterator[tuple[str, Tuning]]:
    if PoolName.VOLATILE not in effort.pools:
        return
    changed = [(f"b = {b:g}", {"exponent": b}) for b in EXPONENTS]
    changed.append((f"median job {OTHER_HOURS:g} h", {"hours": OTHER_HOURS}))
    singles = [Policy(Rule.SPOT_CHEAPEST, 1.0), Policy(Rule.SPOT_FASTEST, 1.0)]
    for start in starts:
        for family in effort.families:
            for setup, options in changed:
                for policy in (*GAP, *singles):
                    yield setup, Tuning(PoolName.VOLATILE, family, policy, DEFAULT_KIND, start, **options)


def _sizes(effort: Effort, starts: range) -> Iterator[tuple[str, Tuning]]:
    for pool in (one for one in (PoolName.VOLATILE, PoolName.NO_NOTICE) if one in effort.pools):
        for start in starts:
            for family in effort.families:
                for size in GIGABYTES:
                    tuning = Tuning(pool, family, Policy(Rule.OURS), DEFAULT_KIND, start, gigabytes=size)
                    yield f"{pool}, {size:g} GB", tuning


OUTLINES = {
    "volatile": _Outline("2016's volatile prices", STARTS, _main((PoolName.VOLATILE,))),
    "smooth": _Outline("today's smooth prices", FEW_STARTS, _main((PoolName.SMOOTH,))),
    "capacity": _Outline("preemption traces", FEW_STARTS, _main((PoolName.CAPACITY, PoolName.NO_NOTICE))),
    "theta": _Outline("the share of the steps before selection", FEW_STARTS, _theta),
    "loop": _Outline("predictors inside the loop", STARTS, _loop),
    "sensitivity": _Outline("other speeds, other lengths", FEW_STARTS, _sensitivity),
    "sizes": _Outline("large checkpoints", FEW_STARTS, _sizes),
}
