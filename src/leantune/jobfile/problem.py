"""The problem in a job file: goal, limits, shares of the data, listed settings, the present setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from leantune.errors import InvalidInput, ProblemError
from leantune.jobfile import json_schema as js
from leantune.jobfile.tree import Entry
from leantune.problem import COST, At, Constraint, Goal, Problem, Scale, maximize, minimize, parse_fractions
from leantune.space import Cluster, Clusters, Space
from leantune.units import parse_share

_LIMIT_HINT = "Write a limit, such as cost <= 0.10 USD or accuracy >= 0.85"
_FRACTIONS_HINT = "Give increasing shares that end in 1, such as [1/60, 0.1, 0.25, 0.5, 1]"
_SETTINGS_HINT = "Write one setting a line, such as - {lr: 0.1, batch: 64}"
_BASELINE_HINT = "Write your present setting, such as baseline: {lr: 0.001, batch: 64}"
_CLUSTER_HINT = "Write cluster: 2 x small, or cluster: {type: small, nodes: 2}"


def _limit(entry: Entry) -> Constraint:
    text = entry.text(_LIMIT_HINT)
    with entry.blamed(f"{text!r}: "):
        return Constraint.parse(text)


def _goal(entry: Entry, make: Callable[..., Goal], keys: Mapping[str, js.Schema]) -> Goal:
    direction = make.__name__
    hint = f"Write {direction}: accuracy, or {direction}: {{metric: accuracy, scale: linear}}"
    options = {"metric": entry}
    if isinstance(entry.value, dict):
        options = entry.fields(keys, hint)
        if "metric" not in options:
            raise entry.error("the metric is missing", hint)
    words = {name: option.text(hint) for name, option in options.items()}
    with entry.blamed():
        return make(**words)


_MAXIMIZE: dict[str, js.Schema] = {"metric": js.TEXT, "scale": js.words(Scale)}
_MINIMIZE = {**_MAXIMIZE, "at": js.words(At)}


@js.reads(js.either(js.TEXT, js.mapping(_MAXIMIZE, ["metric"])), "Write maximize: accuracy")
def read_maximize(entry: Entry) -> Goal:
    return _goal(entry, maximize, _MAXIMIZE)


@js.reads(js.either(js.TEXT, js.mapping(_MINIMIZE, ["metric"])), "Write minimize: loss")
def read_minimize(entry: Entry) -> Goal:
    return _goal(entry, minimize, _MINIMIZE)


@js.reads(js.one_or_more(js.TEXT), _LIMIT_HINT)
def read_limits(entry: Entry) -> list[Constraint]:
    return [_limit(limit) for limit in entry.one_or_more()]


@js.reads(js.one_or_more(js.AMOUNT), _FRACTIONS_HINT)
def read_fractions(entry: Entry) -> tuple[Fraction, ...]:
    shares = []
    for item in entry.one_or_more():
        share = item.scalar("a share of the data", _FRACTIONS_HINT)
        with item.blamed():
            shares.append(parse_share(share))
    with entry.blamed():
        return parse_fractions(shares)


@js.reads(js.items(js.by_name(js.SCALAR)), _SETTINGS_HINT)
def read_settings(entry: Entry, space: Space) -> list[Mapping[str, object]]:
    """A list of settings; each is checked as a configuration, on any machine of the space."""
    machines = {name: clusters.options[0] for name, clusters in space.clusters.items()}
    settings: list[Mapping[str, object]] = []
    for item in entry.items(_SETTINGS_HINT):
        values = {
            name: value.scalar("a value", _SETTINGS_HINT) for name, value in item.any_fields(_SETTINGS_HINT).items()
        }
        for name in machines:
            if name in values:
                raise item.error(f"{name} is not part of a setting", "Leave it out: machines come from the space")
        try:
            chosen = space.configuration({**values, **machines})
        except InvalidInput as error:
            raise item.error(f"{error.what} ({error.where})", error.job_hint) from None
        setting = {name: value for name, value in chosen.items() if name not in machines}
        if setting in settings:
            raise item.error("the setting comes twice", "Write each once")
        settings.append(setting)
    if not settings:
        raise entry.error("there are no settings", _SETTINGS_HINT)
    return settings


def _cluster(entry: Entry, clusters: Clusters) -> Cluster:
    """One of the space's: as it is shown ("2 x small"), by type and nodes, or by type where that has one size only."""
    if isinstance(entry.value, dict):
        given = entry.read(
            {"type": partial(Entry.text, hint=_CLUSTER_HINT), "nodes": partial(Entry.whole, hint=_CLUSTER_HINT)},
            _CLUSTER_HINT,
            needs={"type": "the type"},
        )
        name, nodes = given["type"], given.get("nodes")
    else:
        count, _, rest = entry.text(_CLUSTER_HINT).replace("×", "x").partition(" x ")
        name, nodes = (rest.strip(), int(count)) if rest and count.strip().isdecimal() else (entry.written, None)
    fitting = [option for option in clusters.options if option.type == name and nodes in (None, option.nodes)]
    if len(fitting) == 1:
        return fitting[0]
    options = fitting or [option for option in clusters.options if option.type == name] or list(clusters.options)
    shown = ", ".join(map(str, options[:10])) + (f", ... ({len(options)} in all)" if len(options) > 10 else "")
    what = "the number of nodes is missing" if fitting else f"{entry.written or name!r} is none of the space's clusters"
    raise entry.error(what, f"There are {shown}")


@js.reads(js.by_name({"type": ["string", "number", "boolean", "object"]}), _BASELINE_HINT)
def read_baseline(entry: Entry, space: Space, full: Space) -> dict[str, object]:
    """The user's present setting; an error about a value names its line."""
    values: dict[str, object] = {}
    for name, given in entry.any_fields(_BASELINE_HINT).items():
        parameter = space.parameters.get(name)
        if parameter is None and name in full.parameters:
            raise given.error(f"{name} is no part of a setting: the machine is free", "Leave it out")
        if parameter is None:
            raise given.unknown(f"there is no parameter {name!r}", name, space.parameters)
        if isinstance(parameter, Clusters):
            values[name] = _cluster(given, parameter)
        else:
            values[name] = given.scalar("a value", _BASELINE_HINT)
        with given.blamed():
            parameter.code(values[name], name)
    return values


def without_machines(full: Space, given: Mapping[str, Entry]) -> Space:
    """The searched space where the machine is free: the space without its cluster."""
    machines = full.clusters
    if not machines:
        hint = "Add cluster: {machines: {small: {vcpus: 1, memory: 2 GiB, usd_per_hour: 0.02}}}"
        raise given["space"].error("the machine is free, and the space names none to choose from", hint)
    rest = {name: parameter for name, parameter in full.parameters.items() if name not in machines}
    hanging = [name for name, kept in rest.items() if any(parent in machines for parent, _ in kept.conditions)]
    if hanging or not rest:
        what = f"{hanging[0]} depends on the machine" if hanging else "nothing but the machine is to be chosen"
        raise given["space"].error(f"{what}, which is free", "Leave machine: free out, or change the space")
    return Space(**rest)


def read_problem(
    given: Mapping[str, Entry], values: Mapping[str, Any], root: Entry, space: Space, full: Space
) -> Problem:
    """The problem over a space.

    values: arguments of Problem that were read without looking at other keys. full: the space with its machines.
    """
    settings = read_settings(given["settings"], full) if "settings" in given else []
    clusters = [{name: option} for name, parameter in space.clusters.items() for option in parameter.options] or [{}]
    everywhere = [{**setting, **cluster} for setting in settings for cluster in clusters]
    goal, limits = _only_goal(given, root), read_limits(given["subject_to"]) if "subject_to" in given else ()
    try:
        problem = Problem(space, goal, limits, settings=everywhere, **values)
    except ProblemError as error:  # each part was checked: only limits that contradict each other are left
        raise given["subject_to"].error(f"{error.what}: {error.where}", error.hint) from None
    if "baseline" in given:
        with given["baseline"].blamed():
            problem = problem.with_baseline(read_baseline(given["baseline"], space, full))
    if problem.needs_cost and not full.has_prices:  # dollars come from the prices of machines: no program tells them
        hint = "Give every machine a price, as in machines: {small: {vcpus: 1, memory: 2 GiB, usd_per_hour: 0.02}}"
        raise _about_dollars(problem, given).error("this needs dollars, and not every configuration has a price", hint)
    return problem


def _only_goal(given: Mapping[str, Entry], root: Entry) -> Goal:
    both = [given[key] for key in ("maximize", "minimize") if key in given]
    if not both:
        raise root.error("there is no goal", "Add maximize: accuracy, or minimize: loss")
    if len(both) == 2:
        last = max(both, key=lambda entry: entry.where.line)
        raise last.error("there are two goals, maximize and minimize", "Keep one; write limits under subject_to")
    return read_maximize(both[0]) if "maximize" in given else read_minimize(both[0])


def _about_dollars(problem: Problem, given: Mapping[str, Entry]) -> Entry:
    """The first entry that makes the problem one of dollars."""
    limits = given["subject_to"].one_or_more() if "subject_to" in given else []
    for entry, constraint in zip(limits, problem.constraints, strict=True):
        if constraint.metric == COST:
            return entry
    return given["minimize"] if problem.goal.metric == COST else given["budget"].at("usd")
