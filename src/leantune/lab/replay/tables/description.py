"""The YAML beside a CSV: which columns are what (docs/replay-tables.md). Read and checked here, without the CSV."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, Literal, get_args

from leantune.jobfile.parameters import read_space
from leantune.jobfile.tree import Entry, Reader, read_tree, readers_of
from leantune.problem import COST, TIME, Fidelity, Goal, maximize, minimize
from leantune.space import Boolean, Machine, Space
from leantune.units import UNITS, Kind

SEPARATORS = (",", ";", "\t", "|")
CLUSTER = "cluster"  # the name of the cluster among the parameters
# The meaning of a parameter's values for a model: ranks, names, numbers, logarithms, booleans.
ParameterKind = Literal["ordinal", "choice", "linear", "log", "bool"]
MetricUnit = Literal["any", "number", "share", "percent"]  # the unit of a metric's numbers
# The handling of odd rows and cells; the first word of each is the default.
Missing = Literal["skip", "drop", "fail", "refuse"]  # configurations that lack a fraction
Lacking = Literal["fail", "drop", "refuse"]  # rows without a metric, time or dollars
Duplicates = Literal["mean", "first", "last", "refuse"]  # several rows of one configuration and fraction
Units = Literal["refuse", "convert"]  # cells in another unit than the rest of their column

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
_FRACTION_HINT = "Write fraction: {column: training_set_size, full: 60000}, or the column alone where it holds shares"
_METRICS_HINT = "Write metrics: {accuracy: column}, or {accuracy: {column: name, unit: percent}}"
_DEVIATIONS_HINT = "Write deviations: {time: column, accuracy: column}, standard deviations of one run"
_WHERE_HINT = "Write where: {dataset: adult}, or several values: where: {dataset: [adult, higgs], epoch: 52}"
_PROBLEMS_HINT = "Write problems: {cheapest: {minimize: cost, subject_to: [accuracy >= 0.85]}}"
_LIMITED = re.compile(r"\s*([^\s<>=@!≤≥]+)")  # the metric at the beginning of a limit
_LIMIT_HINT = "Write a limit, such as cost <= 0.10 USD, accuracy >= 0.85 or time <= median"


@dataclass(frozen=True)
class Formula:
    """A column or an expression over columns, and the entry that errors name.

    kind: what units must measure; "" takes any one kind. factor: to the base unit, of numbers without a unit.
    """

    text: str
    entry: Entry
    kind: Kind | Literal[""] = ""
    factor: float = 1.0


@dataclass(frozen=True)
class MadeColumn:
    """A further column: `formula`, the same as `column`, what its cells stand for (`of`), or `constant` in all rows."""

    entry: Entry
    formula: Formula | None = None
    column: Formula | None = None
    of: Mapping[str, str] | None = None
    constant: str = ""


@dataclass(frozen=True)
class ParameterColumn:
    """How the values of a column span a parameter; `options` are the values in order, where they are listed."""

    kind: ParameterKind
    options: tuple[str | int | float | bool, ...] | None
    entry: Entry


@dataclass(frozen=True)
class FractionColumn:
    """Share of the data = column / full."""

    formula: Formula
    full: Fraction


@dataclass(frozen=True)
class MetricColumn:
    """A metric; its unit."""

    formula: Formula
    unit: MetricUnit


@dataclass(frozen=True)
class RowFilter:
    """Rows count whose cell in a column has one of the values, as written."""

    values: tuple[str, ...]
    entry: Entry


@dataclass(frozen=True)
class ProblemText:
    """A goal and limits that may name the median. own: the keys in which the problem differs from the table."""

    goal: Goal
    goal_entry: Entry
    limits: tuple[Entry, ...]
    own: Mapping[str, Any] = field(default_factory=dict)

    @property
    def metrics(self) -> frozenset[str]:
        """The metrics of the goal and the limits."""
        limited = (_LIMITED.match(limit.written) for limit in self.limits)
        return frozenset({self.goal.metric, *(match[1] for match in limited if match)})


@dataclass(frozen=True)
class Remark:
    """Something odd about a table: its kind in a word, how often it was met, and a sentence on how it was handled."""

    kind: str
    count: int
    text: str


def parse_description(text: str, source: str) -> Description:
    """Check the text of a description; the error names the line and the key of the mistake."""
    root = read_tree(text, source, called="description", begin="file:, parameters:, time:, metrics:")
    given = root.fields(KEYS, _ROOT_HINT)
    root.check_given({"file": "file: measurements.csv", "time": "time: training_time"})
    if "parameters" not in given and "cluster" not in given:
        raise root.error("there are neither parameters nor a cluster", f"Add parameters:. {_PARAMETERS_HINT}")
    if "usd_per_hour" in given and "cost" in given:
        raise given["cost"].error("both usd_per_hour and cost are given", "Keep one: dollars of an hour, or of the run")
    values = {name: read(given[name]) for name, read in _READERS.items() if name in given}
    values |= {name: _word(given[name], words) for name, words in _RULES.items() if name in given}
    metrics = values.get("metrics", {})
    for name in values.get("deviations", {}):
        check_metric(name, metrics, given["deviations"].at(name))
    return Description(text=text, problems=_problems(given, root, metrics), **values)


def check_metric(name: str, metrics: Mapping[str, MetricColumn], entry: Entry) -> None:
    """Goals and limits are about what the table measures."""
    names = [*metrics, COST, TIME]
    if name not in names:
        raise entry.unknown(f"there is no metric {name!r}", name, names)


def _formula(entry: Entry, kind: Kind | Literal[""] = "") -> Formula:
    written = entry.scalar("a column or an expression", _FORMULA_HINT)
    if isinstance(written, bool) or not entry.written.strip():
        raise entry.is_not("a column or an expression", _FORMULA_HINT)
    return Formula(entry.written.strip(), entry, kind)


_OptionalFormula = Annotated[Formula | None, _formula]
_OptionalDollars = Annotated[Formula | None, partial(_formula, kind="money")]


def _written(entry: Entry, hint: str) -> str:
    """A value as it stands in the file."""
    entry.scalar("a value", hint)
    return entry.written.strip()


def _word(entry: Entry, words: Any) -> Any:
    """One of the words of a Literal."""
    hint = f"Write one of {', '.join(get_args(words))}"
    word = entry.text(hint)
    if word not in get_args(words):
        raise entry.error(f"{word!r} is not known here", hint)
    return word


def _column(entry: Entry, other: str, read: Reader, default: object, hint: str) -> tuple[Formula, Any]:
    """A column and something about it: {column: name, other: value}, or the column alone."""
    if not isinstance(entry.value, dict):
        return _formula(entry), default
    given = entry.read({"column": _formula, other: read}, hint, needs={"column": "the column"})
    return given["column"], given.get(other, default)


def _separator(entry: Entry) -> str:
    text = entry.text('Write separator: ";"')
    separator = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if separator not in SEPARATORS:
        raise entry.error(f"{text!r} does not separate columns", 'Write one of ",", ";", "|" or tab')
    return separator


def _columns(entry: Entry) -> dict[str, MadeColumn]:
    return {name: _made(column) for name, column in entry.any_fields(_COLUMNS_HINT).items()}


def _made(entry: Entry) -> MadeColumn:
    if not isinstance(entry.value, dict):
        return MadeColumn(entry, formula=_formula(entry))
    fields = entry.fields(("column", "is", "by", "of"), _COLUMNS_HINT)
    match sorted(fields):
        case ["column"]:
            return MadeColumn(entry, column=_formula(fields["column"]))
        case ["is"]:
            return MadeColumn(entry, constant=_written(fields["is"], _COLUMNS_HINT))
        case ["by", "of"]:
            values = fields["of"].any_fields(_COLUMNS_HINT)
            looked_up = {key: _written(value, _COLUMNS_HINT) for key, value in values.items()}
            return MadeColumn(entry, column=_formula(fields["by"]), of=looked_up)
    raise entry.error(f"{' and '.join(fields) or 'nothing'} does not make a column", _COLUMNS_HINT)


def _parameters(entry: Entry) -> dict[str, ParameterColumn]:
    given = entry.any_fields(_PARAMETERS_HINT)
    if CLUSTER in given:
        raise given[CLUSTER].error(f"{CLUSTER!r} goes by that name already", "Give the column another name: columns:")
    for name, parameter in given.items():
        hint = f"Make a column of another name under columns:, as in {{column: {name}}}"
        if not name.isidentifier() or name == "self":
            raise parameter.error(f"{name!r} cannot name a parameter", hint)
        with parameter.blamed():
            Space(**{name: Boolean()})
    return {name: _parameter(parameter) for name, parameter in given.items()}


def _parameter(entry: Entry) -> ParameterColumn:
    if not isinstance(entry.value, list | dict):
        return ParameterColumn(_word(entry, ParameterKind), None, entry)
    kinds = get_args(ParameterKind)
    given = {"choice": entry} if isinstance(entry.value, list) else entry.fields(kinds, _PARAMETERS_HINT)
    if len(given) != 1:
        raise entry.error(f"{' and '.join(given) or 'nothing'} is not one kind of parameter", _PARAMETERS_HINT)
    ((kind, values),) = given.items()
    if kind == "bool":
        raise entry.error("bool has no list of values", f"Write {entry.where.key.split('.')[-1]}: bool")
    options = tuple(value.scalar("a value", _PARAMETERS_HINT) for value in values.items(_PARAMETERS_HINT))
    if not options:
        raise values.error("there are no values", _PARAMETERS_HINT)
    return ParameterColumn(kind, options, entry)  # type: ignore[arg-type] # a key of `fields`


def _machines(entry: Entry) -> dict[str, Machine]:
    """Machines as in a job file, read by its reader."""
    space = read_space(Entry({CLUSTER: Entry({"machines": entry}, entry.where)}, entry.where))
    return {option.type: option.machine for option in space.clusters[CLUSTER].options}


@dataclass(frozen=True)
class ClusterColumns:
    """Which columns make the cluster, and where its machines' sizes and prices come from."""

    entry: Entry
    type: Annotated[Formula, _formula]
    nodes: _OptionalFormula = None
    extra_nodes: _OptionalFormula = None
    provider: Annotated[str | None, partial(Entry.text, hint="Write provider: aws")] = None
    region: Annotated[str | None, partial(Entry.text, hint="Write region: us-east-1")] = None
    machines: Annotated[Mapping[str, Machine] | None, _machines] = None
    vcpus: _OptionalFormula = None
    memory: Annotated[Formula | None, partial(_formula, kind="memory")] = None
    price: _OptionalDollars = None


def _cluster(entry: Entry) -> ClusterColumns:
    given = entry.read(readers_of(ClusterColumns), _CLUSTER_HINT, needs={"type": "the type"})
    sources = [name for name in ("provider", "machines", "vcpus") if name in given]
    if len(sources) != 1:
        both = f"{' and '.join(sources)} at once" if sources else "nothing says how large the machines are"
        raise entry.error(both, _CLUSTER_HINT)
    if ("vcpus" in given) != ("memory" in given):
        raise entry.error("vcpus and memory go together", _CLUSTER_HINT)
    if "region" in given and "provider" not in given:
        raise entry.at("region").error("region without provider", _CLUSTER_HINT)
    return ClusterColumns(entry, **given)


def _time(entry: Entry) -> Formula:
    hint = "Write time: column, or time: {column: name, unit: min}"

    def factor(unit: Entry) -> float:
        if unit.text(hint).lower() not in UNITS["time"]:
            raise unit.error(f"{unit.text(hint)!r} is not a unit of time", "Write one of ms, s, min, h or days")
        return UNITS["time"][unit.text(hint).lower()]

    formula, seconds = _column(entry, "unit", factor, 1.0, hint)
    return replace(formula, kind="time", factor=seconds)


def _fraction(entry: Entry) -> FractionColumn:
    return FractionColumn(*_column(entry, "full", _full, Fraction(1), _FRACTION_HINT))


def _full(entry: Entry) -> Fraction:
    full = entry.number(_FRACTION_HINT)
    if full <= 0:
        raise entry.error(f"{full} is not the size of all the data", _FRACTION_HINT)
    return Fraction(str(full))


def _metrics(entry: Entry) -> dict[str, MetricColumn]:
    given = entry.any_fields(_METRICS_HINT)
    for reserved in (COST, TIME):
        if reserved in given:
            hint = f"Write {reserved}: COLUMN beside metrics:, not inside"
            raise given[reserved].error(f"{reserved} is not a metric", hint)
    unit = partial(_word, words=MetricUnit)
    return {name: MetricColumn(*_column(metric, "unit", unit, "any", _METRICS_HINT)) for name, metric in given.items()}


def _where(entry: Entry) -> dict[str, RowFilter]:
    return {name: _filter(cells) for name, cells in entry.any_fields(_WHERE_HINT).items()}


def _filter(entry: Entry) -> RowFilter:
    if not entry.one_or_more():
        raise entry.error("no value is given", _WHERE_HINT)
    return RowFilter(tuple(_written(value, _WHERE_HINT) for value in entry.one_or_more()), entry)


def _deviations(entry: Entry) -> dict[str, Formula]:
    given = entry.any_fields(_DEVIATIONS_HINT)
    if COST in given:
        raise given[COST].error("cost has no deviation of its own", f"Leave it out: it follows the {TIME}")
    return {name: _formula(column) for name, column in given.items()}


@dataclass(frozen=True, kw_only=True)
class Description:
    """The contents of a YAML about its CSV.

    where: which rows count, by column. deviations: columns of standard deviations of one run, by metric or "time".
    problems: the main one under "".
    """

    text: str
    file: Annotated[str, partial(Entry.text, hint="Name the CSV: file: measurements.csv")]
    separator: Annotated[str, _separator] = ","
    where: Annotated[Mapping[str, RowFilter], _where] = field(default_factory=dict)
    columns: Annotated[Mapping[str, MadeColumn], _columns] = field(default_factory=dict)
    parameters: Annotated[Mapping[str, ParameterColumn], _parameters] = field(default_factory=dict)
    cluster: Annotated[ClusterColumns | None, _cluster] = None
    usd_per_hour: _OptionalDollars = None
    cost: _OptionalDollars = None
    time: Annotated[Formula, _time]
    time_limit: Annotated[
        float | None, partial(Entry.quantity, kind="time", hint="Write time_limit: 10 min", above_0="is no time limit")
    ] = None
    fraction: Annotated[FractionColumn | None, _fraction] = None
    snapshots: Annotated[bool, Entry.truth] = False
    fidelity: Annotated[Fidelity, partial(_word, words=Fidelity)] = "data"
    metrics: Annotated[Mapping[str, MetricColumn], _metrics] = field(default_factory=dict)
    deviations: Annotated[Mapping[str, Formula], _deviations] = field(default_factory=dict)
    problems: Mapping[str, ProblemText]
    missing: Missing = "skip"
    nan: Lacking = "fail"
    duplicates: Duplicates = "mean"
    units: Units = "refuse"

    def of(self, problem: str) -> Description:
        """The description with this problem's own keys; its filters of rows are added."""
        own = self.problems[problem].own
        return replace(self, **{**own, "where": {**self.where, **own.get("where", {})}})


_PROBLEM_KEYS = ("maximize", "minimize", "scale", "at", "subject_to")
_OWN_KEYS = ("where", "fraction", "fidelity", "snapshots")  # that a further problem may say otherwise than the table
_RULES = {"missing": Missing, "nan": Lacking, "duplicates": Duplicates, "units": Units}
_READERS = readers_of(Description)
KEYS = (*_READERS, *_PROBLEM_KEYS, "problems", *_RULES)


def _problems(given: Mapping[str, Entry], root: Entry, metrics: Mapping[str, MetricColumn]) -> dict[str, ProblemText]:
    problems = {"": _problem(given, root, metrics)}
    further = given["problems"].any_fields(_PROBLEMS_HINT) if "problems" in given else {}
    for name, entry in further.items():
        if not name.strip():
            raise entry.error("the problem has no name", _PROBLEMS_HINT)
        keys = entry.fields((*_PROBLEM_KEYS, *_OWN_KEYS), _PROBLEMS_HINT)
        own = {key: _READERS[key](keys[key]) for key in _OWN_KEYS if key in keys}
        problems[name] = replace(_problem(keys, entry, metrics), own=own)
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
