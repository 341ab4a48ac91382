"""What a description says about its CSV, and what is remarked about the table that comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from leantune.jobfile.tree import Entry
from leantune.problem import Goal
from leantune.space import Machine

CLUSTER = "cluster"  # the name of the cluster among the parameters


class Kind(StrEnum):
    """What the values of a parameter are to a model: ranks, names, numbers, logarithms, truth values."""

    ORDINAL = "ordinal"
    CHOICE = "choice"
    LINEAR = "linear"
    LOG = "log"
    BOOL = "bool"


class MetricUnit(StrEnum):
    """What the numbers of a metric are; `any` where nothing is said."""

    ANY = "any"
    NUMBER = "number"
    SHARE = "share"
    PERCENT = "percent"


class Missing(StrEnum):
    """What becomes of configurations that lack a fraction."""

    DROP = "drop"
    FAIL = "fail"
    REFUSE = "refuse"


class Lacking(StrEnum):
    """What becomes of rows without a metric, time or dollars."""

    FAIL = "fail"
    DROP = "drop"
    REFUSE = "refuse"


class Duplicates(StrEnum):
    """What becomes of several rows of one configuration and fraction."""

    MEAN = "mean"
    FIRST = "first"
    LAST = "last"
    REFUSE = "refuse"


class Units(StrEnum):
    """What becomes of cells in another unit than the rest of their column."""

    REFUSE = "refuse"
    CONVERT = "convert"


@dataclass(frozen=True)
class Formula:
    """A column or an expression over columns, and the entry that complaints name."""

    text: str
    entry: Entry


@dataclass(frozen=True)
class MadeColumn:
    """A further column: `formula`, another name of a column (`alias`), one value in all rows, or looked up."""

    entry: Entry
    formula: Formula | None = None
    alias: Formula | None = None
    constant: str | None = None
    by: Formula | None = None
    of: Mapping[str, str] | None = None


@dataclass(frozen=True)
class ParameterColumn:
    """How the values of a column span a parameter; `options` are the values in order, where they are listed."""

    kind: Kind
    options: tuple[str | int | float | bool, ...] | None
    entry: Entry


@dataclass(frozen=True)
class ClusterColumns:
    """Which columns make the cluster, and where its machines' sizes and prices come from."""

    entry: Entry
    type: Formula
    nodes: Formula | None
    extra_nodes: Formula | None
    provider: str | None
    region: str | None
    machines: Mapping[str, Machine] | None
    vcpus: Formula | None
    memory: Formula | None
    price: Formula | None


@dataclass(frozen=True)
class TimeColumn:
    """Seconds = column x factor."""

    formula: Formula
    factor: float


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
class ProblemText:
    """A goal and limits that may name the median."""

    goal: Goal
    goal_entry: Entry
    limits: tuple[Entry, ...]


@dataclass(frozen=True)
class Description:
    """All that a YAML says about its CSV.

    deviations: columns of standard deviations of one run, by metric or "time". problems: the main one under "".
    """

    text: str
    file: str
    separator: str
    columns: Mapping[str, MadeColumn]
    parameters: Mapping[str, ParameterColumn]
    cluster: ClusterColumns | None
    usd_per_hour: Formula | None
    cost: Formula | None
    time: TimeColumn
    time_limit: float | None
    fraction: FractionColumn | None
    snapshots: bool
    metrics: Mapping[str, MetricColumn]
    deviations: Mapping[str, Formula]
    problems: Mapping[str, ProblemText]
    missing: Missing
    nan: Lacking
    duplicates: Duplicates
    units: Units


@dataclass(frozen=True)
class Remark:
    """Something odd about a table: its kind in a word, how often it was met, and a sentence on how it was handled."""

    kind: str
    count: int
    text: str
