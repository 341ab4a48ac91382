"""`space:` of a job file: parameters and clusters.

lr: {log: [1e-5, 1e-1]}      width: {linear: [0, 1]}      layers: {int: [1, 8], log: true}
batch: [16, 64, 256]         depth: {ordinal: [s, m, l]}  nesterov: {bool: true}
momentum: {linear: [0, 1], when: {optimizer: sgd}}
cluster: {provider: aws, region: us-east-1, types: [t2.small], vcpus: [8, 16]}
cluster: {machines: {small: {vcpus: 1, memory: 2 GiB, usd_per_hour: 0.02}}, nodes: [1, 2]}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from leantune.errors import SpaceError
from leantune.jobfile.tree import Entry, Reader
from leantune.space import (
    Clusters,
    Machine,
    Parameter,
    Space,
    boolean,
    choice,
    integer,
    linear,
    log,
    machine,
    ordinal,
    when,
)

if TYPE_CHECKING:
    from leantune.cloud.catalog import Catalogue

SPACE_HINT = "List the parameters: lr: {log: [1e-5, 1e-1]}, batch: [16, 64, 256]"
_FORMS_HINT = (
    "Write [a, b, c], {log: [low, high]}, {linear: [low, high]}, {int: [low, high]}, {ordinal: [a, b, c]} or "
    "{bool: true}"
)
_CLUSTER_HINT = (
    "Write {provider: aws, types: [t2.small], nodes: [1, 2]}, or "
    "{machines: {small: {vcpus: 1, memory: 2 GiB, usd_per_hour: 0.02}}, nodes: [1, 2]}"
)
_CLUSTER_KEYS = ("provider", "region", "machines", "types", "nodes", "vcpus", "extra_nodes", "overhead_usd_per_hour")
_MACHINE_HINT = "Write small: {vcpus: 1, memory: 2 GiB, usd_per_hour: 0.02}"
_LARGEST_SIZE = 1e9  # processors, GiB or dollars an hour of one machine
# What other tuners call them.
_SYNONYMS = {
    "uniform": "linear",
    "range": "linear",
    "float": "linear",
    "loguniform": "log",
    "log_uniform": "log",
    "integer": "int",
    "randint": "int",
    "categorical": "choice",
    "values": "choice",
    "options": "choice",
    "boolean": "bool",
}
_TAKEN = ("self", "valid")  # names that Space takes for itself


def read_space(entry: Entry) -> Space:
    """The space, every complaint at the line of the parameter it is about."""
    given = entry.any_fields(SPACE_HINT)
    if not given:
        raise entry.error("the space has no parameter", SPACE_HINT)
    for name, parameter in given.items():
        if name in _TAKEN:
            raise parameter.error(f"{name!r} is reserved", f"Call it {name}_ or the like")
    parameters = {name: _parameter(form, given) for name, form in given.items()}
    with entry.blamed():
        return Space(**parameters)


def _parameter(entry: Entry, others: Mapping[str, Entry]) -> Parameter:
    if isinstance(entry.value, list):
        return _FORMS["choice"](entry)
    if not isinstance(entry.value, dict):
        constant = f"Write [{entry.written}] for a value that does not change. " if entry.value is not None else ""
        raise entry.is_not("a parameter", constant + _FORMS_HINT)
    read = _read_clusters if {"provider", "machines"} & set(entry.value) else _read_form
    parameter = read(entry)
    condition = entry.value.get("when")
    return parameter if condition is None else _conditional(parameter, condition, others)


def _read_form(entry: Entry) -> Parameter:
    fields = entry.fields(["int", *_FORMS, "when", *_CLUSTER_KEYS], _FORMS_HINT, synonyms=_SYNONYMS)
    misplaced = next((name for name in _CLUSTER_KEYS if name in fields), None)
    if misplaced is not None:
        raise fields[misplaced].error(f"{misplaced!r} without provider or machines", _CLUSTER_HINT)
    forms = [name for name in ("int", *_FORMS) if name in fields and not (name == "log" and "int" in fields)]
    if len(forms) != 1:
        what = f"{' and '.join(forms)} at once" if forms else "no kind of parameter is given"
        raise entry.error(what, _FORMS_HINT)
    return _integer(fields["int"], fields.get("log")) if forms == ["int"] else _FORMS[forms[0]](fields[forms[0]])


def _integer(entry: Entry, log_scale: Entry | None) -> Parameter:
    on_log_scale = log_scale is not None and log_scale.truth("Write {int: [low, high], log: true}")
    hint = "Write two whole numbers, as in {int: [1, 8]}"
    return _range(entry, partial(integer, log=on_log_scale), hint, Entry.whole)


def _range(
    entry: Entry, make: Callable[..., Parameter], hint: str, read: Callable[[Entry, str], float] = Entry.number
) -> Parameter:
    items = entry.items("Write the two bounds in brackets: [low, high]")
    if len(items) != 2:
        raise entry.error(f"two bounds are expected, not {len(items)}", "Write [low, high]")
    low, high = (read(bound, hint) for bound in items)
    with entry.blamed():
        return make(low, high)


def _listed(entry: Entry, make: Callable[..., Parameter], hint: str, each: str) -> Parameter:
    options = [option.scalar("an option", each) for option in entry.items(hint)]
    with entry.blamed():
        return make(*options)


def _boolean(entry: Entry) -> Parameter:
    if not entry.truth("Write {bool: true}"):
        raise entry.error("bool is false", "Write {bool: true} for a parameter that is false or true")
    return boolean()


_FORMS: dict[str, Callable[[Entry], Parameter]] = {
    "log": partial(_range, make=log, hint="Write two numbers, as in {log: [1e-5, 1e-1]}"),
    "linear": partial(_range, make=linear, hint="Write two numbers, as in {linear: [0, 1]}"),
    "choice": partial(_listed, make=choice, hint="List them: [16, 64, 256]", each="List texts, numbers, true or false"),
    "ordinal": partial(
        _listed, make=ordinal, hint="List them in order: [s, m, l]", each="List texts or numbers in order"
    ),
    "bool": _boolean,
}


def _conditional(parameter: Parameter, condition: Entry, others: Mapping[str, Entry]) -> Parameter:
    hint = "Name a parameter and the value it must have: when: {optimizer: sgd}"
    wanted = condition.any_fields(hint)
    if not wanted:
        raise condition.error("there is no condition", hint)
    for name, entry in wanted.items():
        if name not in others:
            raise entry.unknown(f"condition on unknown parameter {name!r}", name, others)
    conditions = {
        name: [value.scalar("a value", hint) for value in entry.one_or_more()] for name, entry in wanted.items()
    }
    with condition.blamed():
        return when(parameter, **conditions)


def _read_clusters(entry: Entry) -> Clusters:
    from leantune.cloud.catalog import clusters

    fields = entry.fields([*_CLUSTER_KEYS, "when"], _CLUSTER_HINT)
    if "provider" in fields and "machines" in fields:
        raise fields["machines"].error("both a provider and machines of your own", "Keep one of them")
    if "nodes" in fields and "vcpus" in fields:
        raise fields["vcpus"].error("both nodes and vcpus are given", "Keep one: vcpus is the total of all nodes")
    table = _catalogue(fields) if "provider" in fields else _private(fields)
    readers: dict[str, Reader] = {
        "types": partial(_types, table=table),
        "nodes": partial(_nodes, table=table),
        "vcpus": partial(_counts, hint="Write total numbers of vCPUs, such as [8, 16]"),
        "extra_nodes": partial(Entry.whole, hint="Write a whole number of at least 0", least=0),
        "overhead_usd_per_hour": partial(Entry.quantity, kind="money", hint="Write dollars"),
    }
    given = {key: read(fields[key]) for key, read in readers.items() if key in fields}
    machines = table.provider if "provider" in fields else table.machines.values()
    with (fields.get("vcpus") or fields.get("nodes") or entry).blamed():
        return clusters(machines, region=table.region or None, **given)


def _catalogue(fields: Mapping[str, Entry]) -> Catalogue:
    from leantune.cloud.catalog import DEFAULT_REGION, catalogue

    provider, region = fields["provider"], fields.get("region")
    name = provider.text("Write provider: aws")
    if name not in DEFAULT_REGION:
        with provider.blamed():
            return catalogue(name)
    with (region or provider).blamed():
        return catalogue(name, None if region is None else region.text("Write region: us-east-1"))


def _private(fields: Mapping[str, Entry]) -> Catalogue:
    from leantune.cloud.catalog import Catalogue

    if "region" in fields:
        raise fields["region"].error("region is for machines of a provider", "Leave it out for your own machines")
    given = fields["machines"].any_fields(_MACHINE_HINT)
    if not given:
        raise fields["machines"].error("there are no machines", _MACHINE_HINT)
    return Catalogue("private", "", "", "", {name: _machine(name, entry) for name, entry in given.items()})


def _machine(name: str, entry: Entry) -> Machine:
    needs = {"vcpus": f"vcpus of {name!r}", "memory": f"memory of {name!r}"}
    given = entry.read(MACHINE_READERS, _MACHINE_HINT, needs)
    with entry.blamed():
        return machine(name, **given)


def read_size(entry: Entry, read: Callable[[Entry], float]) -> float:
    size = read(entry)
    if not 0 < size <= _LARGEST_SIZE:
        raise entry.error(f"{entry.written} is not the size or price of a machine", _MACHINE_HINT)
    return size


MACHINE_READERS: dict[str, Reader] = {
    "vcpus": partial(read_size, read=partial(Entry.number, hint="Write a number of processors")),
    "memory": partial(read_size, read=partial(Entry.quantity, kind="memory", hint="Write a size, such as 2 GiB")),
    "usd_per_hour": partial(read_size, read=partial(Entry.quantity, kind="money", hint="Write dollars per hour")),
    "accelerators": partial(Entry.whole, hint="Write a whole number", least=0),
    "accelerator": partial(Entry.text, hint="Write its name"),
}


def _types(types: Entry, table: Catalogue) -> list[str]:
    """The types to use; one that does not exist is blamed on its own line."""
    chosen: list[str] = []
    for entry in types.one_or_more():
        name = entry.text("Name a type of machine, such as t2.small")
        if name in chosen:
            raise entry.error(f"type {name!r} comes twice", "Name each type once")
        _check_type(name, table, entry)
        chosen.append(name)
    if not chosen:
        raise types.error("types is empty", "Name at least one type, or leave it out for all")
    return chosen


def _check_type(name: str, table: Catalogue, entry: Entry) -> None:
    try:
        table[name]
    except SpaceError as error:
        own = f"There are {', '.join(table.machines)}" if table.provider == "private" else error.job_hint
        raise entry.error(error.what, own) from None


def _counts(entry: Entry, hint: str) -> list[int]:
    return [count.whole(hint, least=1) for count in entry.one_or_more()]


def _nodes(entry: Entry, table: Catalogue) -> list[int] | dict[str, list[int]]:
    hint = "Write numbers of nodes, such as [1, 2]"
    if not isinstance(entry.value, dict):
        return _counts(entry, hint)
    for name, counts in entry.value.items():
        _check_type(name, table, counts)
    return {name: _counts(counts, hint) for name, counts in entry.value.items()}
