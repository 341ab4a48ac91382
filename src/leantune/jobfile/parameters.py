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
from leantune.jobfile import json_schema as js
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

_SPACE_HINT = "List the parameters: lr: {log: [1e-5, 1e-1]}, batch: [16, 64, 256]"
_FORMS_HINT = (
    "Write [a, b, c], {log: [low, high]}, {linear: [low, high]}, {int: [low, high]}, {ordinal: [a, b, c]} or "
    "{bool: true}"
)
_CLUSTER_HINT = (
    "Write {provider: aws, types: [t2.small], nodes: [1, 2]}, or "
    "{machines: {small: {vcpus: 1, memory: 2 GiB, usd_per_hour: 0.02}}, nodes: [1, 2]}"
)
_MACHINE_HINT = "Write small: {vcpus: 1, memory: 2 GiB, usd_per_hour: 0.02}"
_LARGEST_SIZE = 1e9  # processors, GiB or dollars an hour of one machine
# Their names in other tuners.
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
_COUNTS = js.one_or_more(js.WHOLE | {"minimum": 1})


@js.reads({"type": "array", "items": js.NUMBER, "minItems": 2, "maxItems": 2})
def _range(
    entry: Entry,
    make: Callable[..., Parameter],
    hint: str,
    read: Callable[[Entry, str], float] = Entry.number,
    **options: bool,
) -> Parameter:
    bounds = entry.items("Write the two bounds in brackets: [low, high]")
    if len(bounds) != 2:
        raise entry.error(f"two bounds are expected, not {len(bounds)}", "Write [low, high]")
    low, high = (read(bound, hint) for bound in bounds)
    with entry.blamed():
        return make(low, high, **options)


@js.reads(js.items(js.SCALAR))
def _listed(entry: Entry, make: Callable[..., Parameter], hint: str, each: str) -> Parameter:
    options = [option.scalar("an option", each) for option in entry.items(hint)]
    with entry.blamed():
        return make(*options)


@js.reads({"const": True})
def _boolean(entry: Entry) -> Parameter:
    if not entry.truth("Write {bool: true}"):
        raise entry.error("bool is false", "Write {bool: true} for a parameter that is false or true")
    return boolean()


_choice = partial(_listed, make=choice, hint="List them: [16, 64, 256]", each="List texts, numbers, true or false")
# By form: the reader of the parameter, and the readers of its further keys.
_FORMS: dict[str, dict[str, Reader]] = {
    "log": {"log": partial(_range, make=log, hint="Write two numbers, as in {log: [1e-5, 1e-1]}")},
    "linear": {"linear": partial(_range, make=linear, hint="Write two numbers, as in {linear: [0, 1]}")},
    "int": {
        "int": partial(_range, make=integer, hint="Write two whole numbers, as in {int: [1, 8]}", read=Entry.whole),
        "log": partial(Entry.truth, hint="Write {int: [low, high], log: true}"),
    },
    "choice": {"choice": _choice},
    "ordinal": {
        "ordinal": partial(
            _listed, make=ordinal, hint="List them in order: [s, m, l]", each="List texts or numbers in order"
        )
    },
    "bool": {"bool": _boolean},
}
_FORM_KEYS = ("int", *(form for form in _FORMS if form != "int"))  # in the order in which messages list them


@js.reads(js.by_name(js.one_or_more(js.SCALAR)))
def _conditional(condition: Entry, parameter: Parameter, others: Mapping[str, Entry]) -> Parameter:
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


_MACHINE: dict[str, Reader] = {
    "vcpus": partial(Entry.number, hint="Write a number of processors"),
    "memory": partial(Entry.quantity, kind="memory", hint="Write a size, such as 2 GiB"),
    "usd_per_hour": partial(Entry.quantity, kind="money", hint="Write dollars per hour"),
    "accelerators": partial(Entry.whole, hint="Write a whole number", least=0),
    "accelerator": partial(Entry.text, hint="Write its name"),
}


@js.reads(js.by_name(js.table(_MACHINE, ["vcpus", "memory"])))
def _machines(entry: Entry) -> dict[str, Machine]:
    machines = entry.any_fields(_MACHINE_HINT)
    if not machines:
        raise entry.error("there are no machines", _MACHINE_HINT)
    return {name: _machine(name, given) for name, given in machines.items()}


def _machine(name: str, entry: Entry) -> Machine:
    given = entry.read(_MACHINE, _MACHINE_HINT, needs={key: f"{key} of {name!r}" for key in ("vcpus", "memory")})
    for key in ("vcpus", "memory", "usd_per_hour"):
        if key in given and not 0 < given[key] <= _LARGEST_SIZE:
            wrong = entry.at(key)
            raise wrong.error(f"{wrong.written} is not the size or price of a machine", _MACHINE_HINT)
    with entry.blamed():
        return machine(name, **given)


@js.reads(js.one_or_more(js.TEXT))
def _types(types: Entry) -> list[str]:
    chosen: list[str] = []
    for entry in types.one_or_more():
        name = entry.text("Name a type of machine, such as t2.small")
        if name in chosen:
            raise entry.error(f"type {name!r} comes twice", "Name each type once")
        chosen.append(name)
    if not chosen:
        raise types.error("types is empty", "Name at least one type, or leave it out for all")
    return chosen


@js.reads(_COUNTS)
def _counts(entry: Entry, hint: str) -> list[int]:
    return [count.whole(hint, least=1) for count in entry.one_or_more()]


@js.reads(js.either(*_COUNTS["anyOf"], js.by_name(_COUNTS)))
def _nodes(entry: Entry) -> list[int] | dict[str, list[int]]:
    hint = "Write numbers of nodes, such as [1, 2]"
    if not isinstance(entry.value, dict):
        return _counts(entry, hint)
    return {name: _counts(counts, hint) for name, counts in entry.value.items()}


_CLUSTERS: dict[str, Reader] = {
    "provider": partial(Entry.text, hint="Write provider: aws"),
    "region": partial(Entry.text, hint="Write region: us-east-1"),
    "machines": _machines,
    "types": _types,
    "nodes": _nodes,
    "vcpus": partial(_counts, hint="Write total numbers of vCPUs, such as [8, 16]"),
    "extra_nodes": partial(Entry.whole, hint="Write a whole number of at least 0", least=0),
    "overhead_usd_per_hour": partial(Entry.quantity, kind="money", hint="Write dollars"),
}


def _read_clusters(entry: Entry) -> Clusters:
    from leantune.cloud.catalog import DEFAULT_REGION, Catalogue, catalogue, clusters

    fields = entry.fields([*_CLUSTERS, "when"], _CLUSTER_HINT)
    if "provider" in fields and "machines" in fields:
        raise fields["machines"].error("both a provider and machines of your own", "Keep one of them")
    if "nodes" in fields and "vcpus" in fields:
        raise fields["vcpus"].error("both nodes and vcpus are given", "Keep one: vcpus is the total of all nodes")
    if "region" in fields and "machines" in fields:
        raise fields["region"].error("region is for machines of a provider", "Leave it out for your own machines")
    given = {key: read(fields[key]) for key, read in _CLUSTERS.items() if key in fields}
    provider, region, own = (given.pop(key, None) for key in ("provider", "region", "machines"))
    if own is None:
        place = fields.get("region") if provider in DEFAULT_REGION else None
        with (place or fields["provider"]).blamed():
            types = catalogue(provider, region)
    else:
        types = Catalogue("private", "", "", "", own)
    _check_types(fields, types)
    with (fields.get("vcpus") or fields.get("nodes") or entry).blamed():
        return clusters(provider or own.values(), region=types.region or None, **given)


def _check_types(fields: Mapping[str, Entry], catalogue: Catalogue) -> None:
    """Refuse a type of machine that does not exist, on the line that names it."""
    named = [(entry.text(""), entry) for entry in fields["types"].one_or_more()] if "types" in fields else []
    if "nodes" in fields and isinstance(fields["nodes"].value, dict):
        named += fields["nodes"].value.items()
    for name, entry in named:
        try:
            catalogue[name]
        except SpaceError as error:
            own = f"There are {', '.join(catalogue.machines)}"
            raise entry.error(error.what, own if "machines" in fields else error.job_hint) from None


def _read_form(entry: Entry) -> Parameter:
    fields = entry.fields([*_FORM_KEYS, "when", *_CLUSTERS], _FORMS_HINT, synonyms=_SYNONYMS)
    misplaced = next((name for name in _CLUSTERS if name in fields), None)
    if misplaced is not None:
        raise fields[misplaced].error(f"{misplaced!r} without provider or machines", _CLUSTER_HINT)
    forms = [name for name in _FORM_KEYS if name in fields and not (name == "log" and "int" in fields)]
    if len(forms) != 1:
        what = f"{' and '.join(forms)} at once" if forms else "no kind of parameter is given"
        raise entry.error(what, _FORMS_HINT)
    (form,) = forms
    options = {key: read(fields[key]) for key, read in _FORMS[form].items() if key in fields and key != form}
    parameter: Parameter = _FORMS[form][form](fields[form], **options)
    return parameter


def _parameter(entry: Entry, others: Mapping[str, Entry]) -> Parameter:
    if isinstance(entry.value, list):
        return _choice(entry)
    if not isinstance(entry.value, dict):
        constant = f"Write [{entry.written}] for a value that does not change. " if entry.value is not None else ""
        raise entry.is_not("a parameter", constant + _FORMS_HINT)
    read = _read_clusters if {"provider", "machines"} & set(entry.value) else _read_form
    parameter = read(entry)
    condition = entry.value.get("when")
    return parameter if condition is None else _conditional(condition, parameter, others)


_FORM = js.either(*(js.table({**keys, "when": _conditional}, [form], hints=False) for form, keys in _FORMS.items()))
_CLUSTER = js.table({**_CLUSTERS, "when": _conditional}, hints=False)
_CLUSTER["oneOf"] = [{"required": ["provider"]}, {"required": ["machines"]}]


@js.reads(js.by_name(js.either(js.schema_of(_choice, hints=False), _FORM, _CLUSTER)), _SPACE_HINT)
def read_space(entry: Entry) -> Space:
    """The space; every error names the line of its parameter."""
    given = entry.any_fields(_SPACE_HINT)
    if not given:
        raise entry.error("the space has no parameter", _SPACE_HINT)
    for name, parameter in given.items():
        if name in _TAKEN:
            raise parameter.error(f"{name!r} is reserved", f"Call it {name}_ or the like")
    parameters = {name: _parameter(form, given) for name, form in given.items()}
    with entry.blamed():
        return Space(**parameters)
