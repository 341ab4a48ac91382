"""What is wanted: a goal, limits, shares of the data, a budget.

Two problems (ALGORITHMS.md): the best at full data, `Goal.at` = full; the cheapest anywhere, `Goal.at` = anywhere,
where every pair (configuration, share) counts as an answer.
"""

import math
import re
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from leantune.arrays import BoolArray, FloatArray
from leantune.errors import InvalidInput, ProblemError, SpaceError
from leantune.space import Configuration, Space
from leantune.units import Kind, parse_quantity, parse_share

COST = "cost"  # dollars of one run: seconds x rate, or told
TIME = "time"  # seconds of one run
Fidelity = Literal["data", "epochs"]  # what a share is a share of
Stop = float | Literal["auto", "never"]
DEFAULT_REGRET = 0.01  # of the goal: a difference too small to matter
DEFAULT_REPEATS = 3  # runs of one configuration on all data, where a program takes a seed
_RESERVED: dict[str, Kind] = {COST: "money", TIME: "time"}
_METRIC = re.compile(r"[^\s<>=@!≤≥]+")


class Direction(StrEnum):
    """Which way is better."""

    MAXIMIZE = "maximize"
    MINIMIZE = "minimize"


class Scale(StrEnum):
    """On which scale a goal is modelled; `auto` is share while all values lie in [0, 1] (ALGORITHMS.md, "Scales")."""

    AUTO = "auto"
    SHARE = "share"
    LINEAR = "linear"
    LOG = "log"


class At(StrEnum):
    """Which pairs (configuration, share of the data) count as an answer."""

    FULL = "full"
    ANYWHERE = "anywhere"


_Option = TypeVar("_Option", bound=StrEnum)


@dataclass(frozen=True)
class Goal:
    """The metric to make as large or as small as possible."""

    metric: str
    direction: Direction
    scale: Scale = Scale.AUTO
    at: At = At.FULL

    def __post_init__(self) -> None:
        where = f"goal {self.metric!r}"
        if not isinstance(self.metric, str) or _METRIC.fullmatch(self.metric) is None:
            what = f"{self.metric!r} is not the name of a metric"
            hint = "Write maximize('accuracy')"
            raise ProblemError(what, where="goal", hint=hint, path=("metric",), job_hint="Write maximize: accuracy")
        object.__setattr__(self, "direction", _option(Direction, self.direction, where))
        object.__setattr__(self, "scale", _option(Scale, self.scale, where))
        object.__setattr__(self, "at", _option(At, self.at, where))
        if self.direction is Direction.MINIMIZE and self.scale is Scale.SHARE:
            advice = "Maximise its complement (accuracy rather than error), or use "
            what = "a goal to minimise cannot have the scale 'share'"
            hint = f"{advice}scale='linear' or 'log'"
            job_hint = f"{advice}scale: 'linear' or 'log'"
            raise ProblemError(what, where=where, hint=hint, path=("scale",), job_hint=job_hint)
        if self.direction is Direction.MAXIMIZE and self.metric in _RESERVED:
            what = f"{self.metric} cannot be maximised"
            hint = f"Write minimize({self.metric!r})"
            job_hint = f"Write minimize: {self.metric}"
            raise ProblemError(what, where=where, hint=hint, path=("metric",), job_hint=job_hint)


def maximize(metric: str, scale: str = Scale.AUTO) -> Goal:
    """The larger the better, at full data."""
    return Goal(metric, Direction.MAXIMIZE, Scale(_option(Scale, scale, f"goal {metric!r}")))


def minimize(metric: str, scale: str = Scale.AUTO, at: str = At.FULL) -> Goal:
    """The smaller the better, at full data or (at="anywhere") at any share of it. "cost" and "time" need no report."""
    where = f"goal {metric!r}"
    return Goal(metric, Direction.MINIMIZE, _option(Scale, scale, where), _option(At, at, where))


@dataclass(frozen=True)
class Constraint:
    """A limit that the recommendation must keep, with its own probability or (None) the recipe's for all of them."""

    metric: str
    upper: bool
    limit: float
    probability: float | None = None
    text: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not self.text:
            object.__setattr__(self, "text", str(self))
        where = f"constraint {self.text!r}"
        if _METRIC.fullmatch(self.metric) is None:
            raise ProblemError(f"{self.metric!r} is not the name of a metric", where=where, hint=_GRAMMAR)
        if not math.isfinite(self.limit):
            raise ProblemError(f"the limit is {self.limit}", where=where, hint="Give a finite number")
        if self.probability is not None and not 0 < self.probability < 1:
            hint = "Give a probability above 0 and below 1, such as @ 0.95"
            raise ProblemError(f"probability {self.probability:g} cannot be kept", where=where, hint=hint)
        if self.metric in _RESERVED and not (self.upper and self.limit > 0):
            hint = f"Write an upper limit above 0, such as {_EXAMPLE[self.metric]!r}"
            raise ProblemError(f"{self.metric} cannot have this limit", where=where, hint=hint)

    @classmethod
    def parse(cls, text: "str | Constraint") -> "Constraint":
        """Read "cost <= 0.10 USD", "time <= 10 min @ 0.95", "latency_ms <= 20" or "accuracy >= 0.85"."""
        if isinstance(text, Constraint):
            return text
        if not isinstance(text, str):
            raise ProblemError(f"{text!r} is not a constraint", where="constraints", hint=_GRAMMAR)
        where = f"constraint {text!r}"
        match = _CONSTRAINT.fullmatch(text)
        if match is None:
            raise ProblemError("it does not read as a limit", where=where, hint=_GRAMMAR)
        metric, sign, amount, probability = match["metric"], match["sign"], match["amount"], match["probability"]
        if sign not in _SIGNS:
            hint = f"Write {metric} <= or {metric} >=; measurements cannot tell < from <=, nor equal a number exactly"
            raise ProblemError(f"{sign!r} cannot be checked on a measurement", where=where, hint=hint)
        limit = _limit(metric, amount.strip(), where)
        return cls(metric, _SIGNS[sign], limit, None if probability is None else _probability(probability, where), text)

    def __str__(self) -> str:
        """In the form that `parse` reads, with the limit in dollars or seconds."""
        unit = {COST: " USD", TIME: " s"}.get(self.metric, "")
        sure = "" if self.probability is None else f" @ {self.probability!r}"
        return f"{self.metric} {'<=' if self.upper else '>='} {self.limit!r}{unit}{sure}"

    def holds(self, value: float) -> bool:
        """Whether a measured value keeps the limit."""
        return value <= self.limit if self.upper else value >= self.limit


_EXAMPLE = {COST: "cost <= 0.10 USD", TIME: "time <= 10 min"}
_GRAMMAR = "Write it as 'cost <= 0.10 USD', 'time <= 10 min @ 0.95', 'latency_ms <= 20' or 'accuracy >= 0.85'"
_SIGNS = {"<=": True, "≤": True, ">=": False, "≥": False}
_CONSTRAINT = re.compile(
    rf"\s*(?P<metric>{_METRIC.pattern})\s*(?P<sign>[<>=!≤≥]+)(?P<amount>[^@<>=!≤≥]*)(?:@(?P<probability>[^@]*))?"
)


def _limit(metric: str, amount: str, where: str) -> float:
    if not amount:
        raise ProblemError("the number is missing", where=where, hint=_GRAMMAR)
    if metric in _RESERVED:
        try:
            return parse_quantity(amount, _RESERVED[metric])
        except InvalidInput as error:
            raise ProblemError(error.what, where=where, hint=error.hint) from None
    try:
        return float(amount)
    except ValueError:
        hint = f"Write a bare number, in the unit in which {metric} is reported; only cost and time have units"
        raise ProblemError(f"{amount!r} is not a number", where=where, hint=hint) from None


def _probability(text: str, where: str) -> float:
    digits = text.strip().removesuffix("%")
    try:
        return float(digits) / (100.0 if text.strip().endswith("%") else 1.0)
    except ValueError:
        hint = "Write a probability above 0 and below 1 after the @, such as @ 0.95"
        raise ProblemError(f"{text.strip()!r} is not a probability", where=where, hint=hint) from None


@dataclass(frozen=True)
class Budget:
    """The limits of the whole study; None is no limit, and Budget() has none."""

    usd: float | None = None
    trials: int | None = None
    hours: float | None = None

    def __post_init__(self) -> None:
        for name, amount in self.limits.items():
            number = isinstance(amount, int | float) and not isinstance(amount, bool)
            if not (number and math.isfinite(amount) and amount > 0):
                hint = f"Give {name} a finite number above 0, or leave it out for no limit"
                raise ProblemError(f"{name} is {amount!r}", where="budget", hint=hint)
        if self.trials is not None and not isinstance(self.trials, int):
            raise ProblemError(f"trials is {self.trials!r}", where="budget", hint="Give a whole number of trials")

    @property
    def limits(self) -> dict[str, Any]:
        """The given limits, by name."""
        return {name: amount for name, amount in vars(self).items() if amount is not None}


@dataclass(frozen=True, init=False, eq=False)
class Problem:
    """A space, a goal, limits, shares of the data and a budget, checked together.

    snapshots: one run of the training program reports at every fraction it passes, so that a start at several
    fractions is one run. fidelity: "data", a run at a larger share starts from nothing; "epochs", it goes on from the
    run of the same configuration at the largest smaller share, and only the difference is paid. stop: `lean` ends the
    study when nothing is likely to be better by this share of the goal; "never"; "auto": 0.01 where there is no budget.
    steps: the last step of a training, None where it is not given. settings: the list of configurations to test, in
    that order; empty: all of the space. choices: the space, without what is not listed. gaps: pairs (id of a
    configuration, share) that cannot be tested, as a table has no result of them; only of choices that can be
    enumerated. baseline: the user's present setting, None where it is not given. repeats: how often one configuration
    may be run on all data, each time with another seed; 1: runs do not scatter, or cannot be repeated.
    """

    space: Space
    goal: Goal
    constraints: tuple[Constraint, ...]
    fractions: tuple[Fraction, ...]
    budget: Budget
    snapshots: bool
    fidelity: Fidelity
    stop: Stop
    steps: float | None
    settings: tuple[Configuration, ...]
    choices: Space
    gaps: frozenset[tuple[str, Fraction]]
    baseline: Configuration | None
    repeats: int

    def __init__(  # noqa: PLR0913 - the whole problem, most of it by name
        self,
        space: Space,
        goal: Goal,
        constraints: Iterable[str | Constraint] = (),
        fractions: Iterable[int | float | str | Fraction] = (1,),
        budget: Budget = Budget(),  # noqa: B008 - frozen
        *,
        snapshots: bool = False,
        fidelity: Fidelity = "data",
        stop: Stop = "auto",
        steps: float | None = None,
        settings: Iterable[Mapping[str, object]] = (),
        gaps: Iterable[tuple[str, Fraction]] = (),
        baseline: Mapping[str, object] | None = None,
        repeats: int = 1,
    ) -> None:
        if not isinstance(space, Space):
            raise ProblemError(f"{space!r} is not a space", where="problem", hint="Write Space(lr=log(1e-5, 1e-1))")
        if not isinstance(goal, Goal):
            raise ProblemError(f"{goal!r} is not a goal", where="problem", hint="Write maximize('accuracy')")
        settings = _checked_settings(space, settings)
        choices = space.only(settings) if settings else space
        vars(self).update(
            space=space,
            goal=goal,
            constraints=_checked_constraints(constraints),
            fractions=parse_fractions(fractions),
            budget=_checked_budget(budget),
            snapshots=bool(snapshots),
            fidelity=_checked_fidelity(fidelity),
            stop=_checked_stop(stop),
            steps=_checked_steps(steps),
            settings=settings,
            choices=choices,
            gaps=frozenset(gaps),
            baseline=None if baseline is None else _checked_baseline(choices, baseline),
            repeats=_checked_repeats(repeats),
        )

    def with_budget(self, budget: Budget) -> "Problem":
        """The same problem with another budget."""
        return self._with("budget", _checked_budget(budget))

    def with_baseline(self, baseline: Mapping[str, object] | None) -> "Problem":
        """The same problem with another present setting of the user, or none."""
        return self._with("baseline", None if baseline is None else _checked_baseline(self.choices, baseline))

    def with_stop(self, stop: Stop) -> "Problem":
        """The same problem with another end."""
        return self._with("stop", _checked_stop(stop))

    def with_repeats(self, repeats: int) -> "Problem":
        """The same problem with another number of runs of one configuration."""
        return self._with("repeats", _checked_repeats(repeats))

    def _with(self, name: str, value: object) -> "Problem":
        changed = copy(self)  # nothing else has to be checked again
        vars(changed)[name] = value
        return changed

    @property
    def regret_to_end(self) -> float | None:
        """The least improvement that is worth looking for, as a share of the goal; None: any."""
        if self.stop == "auto":
            return None if self.budget.limits else DEFAULT_REGRET
        return None if self.stop == "never" else self.stop

    @property
    def curves_by_share(self) -> bool:
        """Whether a learning curve goes by the shares that a run passes, as the number of its steps is not given."""
        return self.steps is None and self.snapshots and len(self.fractions) > 1

    @cached_property
    def levels(self) -> FloatArray:
        """s~ = log(s / s_1) / log(1 / s_1) of each fraction, [k] in [0, 1], read-only; [1.0] for the single level 1."""
        if len(self.fractions) == 1:
            levels = np.ones(1)
        else:
            logs = np.log([float(share) for share in self.fractions])
            levels = 1.0 - logs / logs[0]
        levels.flags.writeable = False
        return levels

    @cached_property
    def testable(self) -> BoolArray:
        """Which pairs can be tested, [n, k] over the grid of the choices, read-only."""
        rows = [[(x.id, share) not in self.gaps for share in self.fractions] for x in self.choices.grid()]
        testable = np.array(rows, dtype=np.bool_)
        testable.flags.writeable = False
        return testable

    @cached_property
    def required_metrics(self) -> tuple[str, ...]:
        """What every measured run must report: the goal's and the constraints' metrics other than cost and time."""
        names = [self.goal.metric, *(constraint.metric for constraint in self.constraints)]
        return tuple(dict.fromkeys(name for name in names if name not in _RESERVED))

    @property
    def needs_cost(self) -> bool:
        """Whether dollars must be known of every run: a cost goal, a cost limit or a budget in dollars."""
        return self._is_about(COST) or self.budget.usd is not None

    @property
    def needs_time(self) -> bool:
        """Whether seconds must be known of every run: a time goal or a time limit."""
        return self._is_about(TIME)

    def level_of(self, fraction: Fraction) -> int:
        """Index of a share among `fractions`."""
        if fraction not in self.fractions:
            shares = ", ".join(str(share) for share in self.fractions)
            raise ProblemError(f"{fraction} is not one of the shares", where="fractions", hint=f"They are {shares}")
        return self.fractions.index(fraction)

    def _is_about(self, metric: str) -> bool:
        return metric == self.goal.metric or any(constraint.metric == metric for constraint in self.constraints)


def parse_fractions(fractions: Iterable[int | float | str | Fraction]) -> tuple[Fraction, ...]:
    """Increasing shares of the training data in (0, 1] that end in 1, as exact rationals."""
    given = [fractions] if isinstance(fractions, str) else list(fractions)
    right = "Give increasing shares that end in 1, such as [1/60, 0.1, 0.25, 0.5, 1]"
    try:
        shares = tuple(parse_share(share) for share in given)
    except InvalidInput as error:
        raise ProblemError(error.what, where="fractions", hint=right) from None
    shown = ", ".join(str(share) for share in shares)
    if any(later <= earlier for earlier, later in pairwise(shares)):
        raise ProblemError(f"shares do not increase: {shown}", where="fractions", hint=right)
    if not shares or shares[-1] != 1:
        raise ProblemError(f"shares do not end in 1: {shown or 'there are none'}", where="fractions", hint=right)
    return shares


def _checked_constraints(given: Iterable[str | Constraint]) -> tuple[Constraint, ...]:
    if isinstance(given, str | Constraint):
        given = (given,)
    constraints = tuple(Constraint.parse(constraint) for constraint in given)
    sides: dict[tuple[str, bool], Constraint] = {}
    for constraint in constraints:
        side = (constraint.metric, constraint.upper)
        where = f"constraints {sides[side].text!r} and {constraint.text!r}" if side in sides else ""
        if where:
            hint = "Keep the tighter one"
            raise ProblemError(f"two limits of one kind on {constraint.metric}", where=where, hint=hint)
        sides[side] = constraint
    for (metric, upper), high in sides.items():
        low = sides.get((metric, False))
        if upper and low is not None and low.limit >= high.limit:
            where = f"constraints {low.text!r} and {high.text!r}"
            hint = "Put the >= limit below the <= limit"
            raise ProblemError(f"no {metric} can keep both limits", where=where, hint=hint)
    return constraints


def _checked_budget(budget: Budget) -> Budget:
    if not isinstance(budget, Budget):
        raise ProblemError(f"{budget!r} is not a budget", where="problem", hint="Write Budget(usd=5)")
    return budget


def _checked_fidelity(fidelity: Fidelity) -> Fidelity:
    if fidelity not in get_args(Fidelity):
        hint = "Write data, or epochs where a run at a larger share goes on from a smaller one"
        raise ProblemError(f"{fidelity!r} is no fidelity", where="fidelity", hint=hint)
    return fidelity


def _checked_stop(stop: Stop) -> Stop:
    if isinstance(stop, str) and stop in ("auto", "never"):
        return stop
    if isinstance(stop, bool | str) or not isinstance(stop, int | float) or not 0.0 < stop < 1.0:
        hint = "Give a share of the goal above 0 and below 1, such as 0.01, or 'never'"
        raise ProblemError(f"{stop!r} is not a regret to stop at", where="stop", hint=hint)
    return float(stop)


def _checked_repeats(repeats: int) -> int:
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        hint = "Give how many times one configuration may be run on all data, such as 3, or 1 for no repeats"
        raise ProblemError(f"{repeats!r} is not a number of runs", where="repeats", hint=hint)
    return repeats


def _checked_steps(steps: float | None) -> float | None:
    if steps is None:
        return None
    number = isinstance(steps, int | float | np.integer | np.floating) and not isinstance(steps, bool)
    if not (number and math.isfinite(steps) and steps > 0):
        hint = "Give the last step that the program reports, such as steps=100"
        raise ProblemError(f"steps is {steps!r}", where="steps", hint=hint)
    return float(steps)


def _checked_settings(space: Space, given: Iterable[Mapping[str, object]]) -> tuple[Configuration, ...]:
    settings: dict[Configuration, int] = {}
    for place, values in enumerate(given, start=1):
        where = f"settings, number {place}"
        if not isinstance(values, Mapping):
            raise ProblemError(f"{values!r} is no setting", where=where, hint="Write settings=[{'lr': 0.1}]")
        try:
            setting = space.configuration(values)
        except SpaceError as error:
            raise ProblemError(f"{error.what} ({error.where})", where=where, hint=error.hint) from None
        if setting in settings:
            hint = f"It is number {settings[setting]} already: list it once"
            raise ProblemError("the setting comes twice", where=where, hint=hint)
        settings[setting] = place
    return tuple(settings)


def _checked_baseline(space: Space, given: Mapping[str, object]) -> Configuration:
    """A complete configuration; a parameter that has one value only may be left out."""
    if not isinstance(given, Mapping):
        raise ProblemError(f"{given!r} is no setting", where="baseline", hint="Write baseline={'lr': 0.1}")
    values = dict(given)
    for name, parameter in space.parameters.items():
        exists = all(values.get(parent) in wanted for parent, wanted in parameter.conditions)
        if name not in values and parameter.count == 1 and exists:
            values[name] = parameter.value(parameter.first)
    try:
        return space.configuration(values)
    except SpaceError as error:
        where = "baseline" if error.where == "configuration" else f"baseline, {error.where}"
        raise ProblemError(error.what, where=where, hint=error.hint) from None


def _option(kind: type[_Option], given: str, where: str) -> _Option:
    try:
        return kind(given)
    except ValueError:
        hint = f"Give one of {', '.join(repr(option.value) for option in kind)}"
        name = kind.__name__.lower()
        raise ProblemError(f"unknown {name} {given!r}", where=where, hint=hint, path=(name,)) from None
