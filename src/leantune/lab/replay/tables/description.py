"""The YAML beside a CSV: which columns are what (docs/replay-tables.md). Read and checked here, without the CSV."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction
from typing import TypeVar

from leantune.errors import TableError
from leantune.jobfile.parameters import read_space
from leantune.jobfile.tree import Entry, read_tree
from leantune.lab.replay.tables.described import (
    CLUSTER,
    ClusterColumns,
    Description,
    Duplicates,
    Formula,
    FractionColumn,
    Kind,
    Lacking,
    MadeColumn,
    MetricColumn,
    MetricUnit,
    Missing,
    ParameterColumn,
    ProblemText,
    TimeColumn,
    Units,
)
from leantune.lab.replay.tables.sheet import SEPARATORS
from leantune.problem import COST, TIME, maximize, minimize
from leantune.space import Boolean, Clusters, Machine, Space
from leantune.units import UNITS

_Word = TypeVar("_Word", bound=StrEnum)


_PROBLEM_KEYS = ("maximize", "minimize", "scale", "at", "subject_to")
KEYS = (
    "file",
    "separator",
    "columns",
    "parameters",
    "cluster",
    "usd_per_hour",
    "cost",
    "time",
    "time_limit",
    "fraction",
    "snapshots",
    "metrics",
    "deviations",
    *_PROBLEM_KEYS,
    "problems",
    "missing",
    "nan",
    "duplicates",
    "units",
)
_CLUSTER_KEYS = ("type", "nodes", "extra_nodes", "provider", "region", "machines", "vcpus", "memory", "price")
_ROOT_HINT = "Write one key and its value a line: file: measurements.csv"
_FORMULA_HINT = "Name a column, or write an expression over columns: (n_workers + 1) * price"
_COLUMNS_HINT = (
    "Write name: expression, name: {column: other name}, name: {is: value}, or name: {by: column, of: {value: number}}"
)
_PARAMETERS_HINT = "Write name: ordinal (or choice, linear, log, bool), or list its values: {ordinal: [16, 256]}"
_CLUSTER_HINT = (
    "Write {type: column, nodes: column, provider: aws}, or give the sizes: {type: column, nodes: column, "
    "vcpus: column, memory: column, price: column}"
)
_METRICS_HINT = "Write metrics: {accuracy: column}, or {accuracy: {column: name, unit: percent}}"
_DEVIATIONS_HINT = "Write deviations: {time: column, accuracy: column}, standard deviations of one run"
_LIMIT_HINT = "Write a limit, such as cost <= 0.10 USD, accuracy >= 0.85 or time <= median"


def parse_description(text: str, source: str) -> Description:
    """Check the text of a description; the error names the line and the key of whatever is wrong."""
    if all(not line.strip() or line.lstrip().startswith("#") for line in text.removeprefix("\ufeff").splitlines()):
        raise TableError(
            "the description is empty", where=source, hint="Begin with file:, parameters:, time:, metrics:"
        )
    root = read_tree(text, source)
    given = root.fields(KEYS, _ROOT_HINT)
    for key, example in (("file", "file: measurements.csv"), ("time", "time: training_time")):
        if key not in given:
            raise root.error(f"{key!r} is missing", f"Add {example}")
    if "parameters" not in given and "cluster" not in given:
        raise root.error("there are neither parameters nor a cluster", f"Add parameters:. {_PARAMETERS_HINT}")
    if "usd_per_hour" in given and "cost" in given:
        raise given["cost"].error("both usd_per_hour and cost are given", "Keep one: dollars of an hour, or of the run")
    metrics = _metrics(given.get("metrics"))
    limit = given.get("time_limit")
    return Description(
        text=text,
        file=given["file"].text("Name the CSV: file: measurements.csv"),
        separator=_separator(given.get("separator")),
        columns=_columns(given.get("columns")),
        parameters=_parameters(given.get("parameters")),
        cluster=_cluster(given["cluster"]) if "cluster" in given else None,
        usd_per_hour=_optional(given, "usd_per_hour"),
        cost=_optional(given, "cost"),
        time=_time(given["time"]),
        time_limit=None if limit is None else _positive(limit),
        fraction=_fraction(given["fraction"]) if "fraction" in given else None,
        snapshots="snapshots" in given and given["snapshots"].truth(),
        metrics=metrics,
        deviations=_deviations(given.get("deviations"), metrics),
        problems=_problems(given, root, metrics),
        missing=_word(given.get("missing"), Missing.DROP),
        nan=_word(given.get("nan"), Lacking.FAIL),
        duplicates=_word(given.get("duplicates"), Duplicates.MEAN),
        units=_word(given.get("units"), Units.REFUSE),
    )


def _word(entry: Entry | None, default: _Word) -> _Word:
    if entry is None:
        return default
    known = ", ".join(type(default))
    word = entry.text(f"Write one of {known}")
    if word not in list(type(default)):
        raise entry.error(f"{word!r} is not known here", f"Write one of {known}")
    return type(default)(word)


def _formula(entry: Entry) -> Formula:
    written = entry.scalar("a column or an expression", _FORMULA_HINT)
    if isinstance(written, bool) or not entry.written.strip():
        raise entry.is_not("a column or an expression", _FORMULA_HINT)
    return Formula(entry.written.strip(), entry)


def _optional(given: Mapping[str, Entry], key: str) -> Formula | None:
    return _formula(given[key]) if key in given else None


def _separator(entry: Entry | None) -> str:
    if entry is None:
        return ","
    text = entry.text('Write separator: ";"')
    separator = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if separator not in SEPARATORS:
        raise entry.error(f"{text!r} does not separate columns", 'Write one of ",", ";", "|" or tab')
    return separator


def _columns(entry: Entry | None) -> dict[str, MadeColumn]:
    return {} if entry is None else {name: _made(one) for name, one in entry.any_fields(_COLUMNS_HINT).items()}


def _made(entry: Entry) -> MadeColumn:
    if not isinstance(entry.value, dict):
        return MadeColumn(entry, formula=_formula(entry))
    fields = entry.fields(("column", "is", "by", "of"), _COLUMNS_HINT)
    match sorted(fields):
        case ["column"]:
            return MadeColumn(entry, alias=_formula(fields["column"]))
        case ["is"]:
            fields["is"].scalar("a value", _COLUMNS_HINT)
            return MadeColumn(entry, constant=fields["is"].written.strip())
        case ["by", "of"]:
            values = fields["of"].any_fields(_COLUMNS_HINT)
            for one in values.values():
                one.scalar("a value", _COLUMNS_HINT)
            looked_up = {key: one.written.strip() for key, one in values.items()}
            return MadeColumn(entry, by=_formula(fields["by"]), of=looked_up)
    raise entry.error(f"{' and '.join(fields) or 'nothing'} does not make a column", _COLUMNS_HINT)


def _parameters(entry: Entry | None) -> dict[str, ParameterColumn]:
    if entry is None:
        return {}
    given = entry.any_fields(_PARAMETERS_HINT)
    if CLUSTER in given:
        raise given[CLUSTER].error(f"{CLUSTER!r} goes by that name already", "Give the column another name: columns:")
    for name, one in given.items():
        hint = f"Make a column of another name under columns:, as in {{column: {name}}}"
        if not name.isidentifier() or name == "self":
            raise one.error(f"{name!r} cannot name a parameter", hint)
        with one.blamed():
            Space(**{name: Boolean()})
    return {name: _parameter(one) for name, one in given.items()}


def _parameter(entry: Entry) -> ParameterColumn:
    if not isinstance(entry.value, list | dict):
        return ParameterColumn(_word(entry, Kind.ORDINAL), None, entry)
    if isinstance(entry.value, list):
        kind, listed = Kind.CHOICE, entry
    else:
        fields = entry.fields(list(Kind), _PARAMETERS_HINT)
        if len(fields) != 1:
            raise entry.error(f"{' and '.join(fields) or 'nothing'} is not one kind of parameter", _PARAMETERS_HINT)
        kind, listed = next((Kind(word), one) for word, one in fields.items())
    if kind is Kind.BOOL:
        raise entry.error("bool has no list of values", f"Write {entry.where.key.split('.')[-1]}: bool")
    options = tuple(one.scalar("a value", _PARAMETERS_HINT) for one in listed.items(_PARAMETERS_HINT))
    if not options:
        raise listed.error("there are no values", _PARAMETERS_HINT)
    return ParameterColumn(kind, options, entry)


def _cluster(entry: Entry) -> ClusterColumns:
    fields = entry.fields(_CLUSTER_KEYS, _CLUSTER_HINT)
    if "type" not in fields:
        raise entry.error("the type is missing", _CLUSTER_HINT)
    sources = [key for key in ("provider", "machines", "vcpus") if key in fields]
    if len(sources) != 1:
        both = f"{' and '.join(sources)} at once" if sources else "nothing says how large the machines are"
        raise entry.error(both, _CLUSTER_HINT)
    if ("vcpus" in fields) != ("memory" in fields):
        raise entry.error("vcpus and memory go together", _CLUSTER_HINT)
    if "region" in fields and "provider" not in fields:
        raise fields["region"].error("region without provider", _CLUSTER_HINT)
    provider, region = fields.get("provider"), fields.get("region")
    return ClusterColumns(
        entry=entry,
        type=_formula(fields["type"]),
        nodes=_optional(fields, "nodes"),
        extra_nodes=_optional(fields, "extra_nodes"),
        provider=None if provider is None else provider.text("Write provider: aws"),
        region=None if region is None else region.text("Write region: us-east-1"),
        machines=_machines(fields["machines"]) if "machines" in fields else None,
        vcpus=_optional(fields, "vcpus"),
        memory=_optional(fields, "memory"),
        price=_optional(fields, "price"),
    )


def _machines(entry: Entry) -> dict[str, Machine]:
    """Machines as in a job file, read by its reader."""
    space = read_space(Entry({CLUSTER: Entry({"machines": entry}, entry.where)}, entry.where))
    parameter = space.parameters[CLUSTER]
    assert isinstance(parameter, Clusters)
    return {option.type: option.machine for option in parameter.options}


def _time(entry: Entry) -> TimeColumn:
    hint = "Write time: column, or time: {column: name, unit: min}"
    if not isinstance(entry.value, dict):
        return TimeColumn(_formula(entry), 1.0)
    fields = entry.fields(("column", "unit"), hint)
    if "column" not in fields:
        raise entry.error("the column is missing", hint)
    unit = fields["unit"].text(hint) if "unit" in fields else "s"
    if unit.lower() not in UNITS["time"]:
        raise fields["unit"].error(f"{unit!r} is not a unit of time", "Write one of ms, s, min, h or days")
    return TimeColumn(_formula(fields["column"]), UNITS["time"][unit.lower()])


def _positive(entry: Entry) -> float:
    seconds = entry.quantity("time", "Write time_limit: 10 min")
    if seconds <= 0:
        raise entry.error(f"{entry.written} is no time limit", "Write time_limit: 10 min")
    return seconds


def _fraction(entry: Entry) -> FractionColumn:
    hint = "Write fraction: {column: training_set_size, full: 60000}, or the column alone where it holds shares"
    if not isinstance(entry.value, dict):
        return FractionColumn(_formula(entry), Fraction(1))
    fields = entry.fields(("column", "full"), hint)
    if "column" not in fields:
        raise entry.error("the column is missing", hint)
    full = fields["full"].number(hint) if "full" in fields else 1
    if full <= 0:
        raise fields["full"].error(f"{full} is not the size of all the data", hint)
    return FractionColumn(_formula(fields["column"]), Fraction(str(full)))


def _metrics(entry: Entry | None) -> dict[str, MetricColumn]:
    if entry is None:
        return {}
    given = entry.any_fields(_METRICS_HINT)
    for reserved in (COST, TIME):
        if reserved in given:
            hint = f"Write {reserved}: COLUMN beside metrics:, not inside"
            raise given[reserved].error(f"{reserved} is not a metric", hint)
    return {name: _metric(one) for name, one in given.items()}


def _metric(entry: Entry) -> MetricColumn:
    if not isinstance(entry.value, dict):
        return MetricColumn(_formula(entry), MetricUnit.ANY)
    fields = entry.fields(("column", "unit"), _METRICS_HINT)
    if "column" not in fields:
        raise entry.error("the column is missing", _METRICS_HINT)
    return MetricColumn(_formula(fields["column"]), _word(fields.get("unit"), MetricUnit.ANY))


def _deviations(entry: Entry | None, metrics: Mapping[str, MetricColumn]) -> dict[str, Formula]:
    if entry is None:
        return {}
    given = entry.any_fields(_DEVIATIONS_HINT)
    for name, one in given.items():
        if name == COST:
            raise one.error("cost has no deviation of its own", f"Leave it out: it follows the {TIME}")
        check_metric(name, metrics, one)
    return {name: _formula(one) for name, one in given.items()}


def _problems(given: Mapping[str, Entry], root: Entry, metrics: Mapping[str, MetricColumn]) -> dict[str, ProblemText]:
    problems = {"": _problem(given, root, metrics)}
    hint = "Write problems: {cheapest: {minimize: cost, subject_to: [accuracy >= 0.85]}}"
    further = given["problems"].any_fields(hint) if "problems" in given else {}
    for name, entry in further.items():
        if not name.strip():
            raise entry.error("the problem has no name", hint)
        problems[name] = _problem(entry.fields(_PROBLEM_KEYS, hint), entry, metrics)
    return problems


def _problem(given: Mapping[str, Entry], parent: Entry, metrics: Mapping[str, MetricColumn]) -> ProblemText:
    directions = [key for key in ("maximize", "minimize") if key in given]
    if not directions:
        raise parent.error("there is no goal", "Add maximize: accuracy, or minimize: cost")
    if len(directions) == 2:
        raise given["minimize"].error("there are two goals", "Keep one; write limits under subject_to")
    entry = given[directions[0]]
    metric = entry.text(f"Write {directions[0]}: accuracy; scale and at are keys of their own beside it")
    check_metric(metric, metrics, entry)
    options = {key: given[key].text(f"Write {key}: ...") for key in ("scale", "at") if key in given}
    if directions[0] == "maximize" and "at" in options:
        raise given["at"].error("at is for goals to minimise", "Leave it out: the best at full data is sought")
    with entry.blamed():
        goal = (maximize if directions[0] == "maximize" else minimize)(metric, **options)
    limits = given["subject_to"].one_or_more() if "subject_to" in given else []
    for limit in limits:
        limit.text(_LIMIT_HINT)
    return ProblemText(goal, entry, tuple(limits))


def check_metric(name: str, metrics: Mapping[str, MetricColumn], entry: Entry) -> None:
    """Goals and limits are about what the table measures."""
    known = [*metrics, COST, TIME]
    if name not in known:
        raise entry.unknown(f"there is no metric {name!r}", name, known)
