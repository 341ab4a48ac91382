"""How fast machine types are relative to each other: measured where Scout's table has them, by a rule elsewhere.

    slowness[type] = seconds on the type / seconds on the reference type
    measured:  exp(mean over workloads of log seconds), each workload's seconds being the geometric mean of its runs
    by rule:   C0 / CPU^b, with C0 such that the rule agrees on average with the measured types that were asked for

The table (Hsu et al. 2018, "Scout": Hadoop and Spark workloads on 18 EC2 types) is read where it lies and not shipped.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leantune.arrays import FloatArray
from leantune.errors import InvalidInput, TableError
from leantune.files import csv_records, read_bytes
from leantune.rent.step_times import EXPONENT

COLUMNS = ("instance_type", "workload_framework_size", "completed", "elapsed_s")
COMPLETED = {"true": True, "false": False}


@dataclass(frozen=True)
class Runtimes:
    """log_seconds (workloads, types): mean log seconds of the completed runs of workloads that every type completed."""

    source: str
    types: tuple[str, ...]
    workloads: tuple[str, ...]
    log_seconds: FloatArray


@dataclass(frozen=True)
class Speed:
    """How slow a type is.

    slowness: seconds per second on the reference. spread: geometric standard deviation of the slowness over
    workloads (1: none), against the mean of the measured types where the reference was not measured; None for a type
    that the rule gave.
    """

    instance_type: str
    slowness: float
    spread: float | None


@dataclass(frozen=True)
class Speeds:
    """The speed of every requested type, and the source of the figures in words."""

    reference: str
    source: str
    by_type: Mapping[str, Speed]

    def slowness(self, instance_type: str) -> float:
        """Seconds on the type per second on the reference type."""
        if instance_type not in self.by_type:
            hint = f"Known are {', '.join(self.by_type)}"
            raise InvalidInput(f"no speed of {instance_type!r}", where="speeds", hint=hint)
        return self.by_type[instance_type].slowness


def read_runtimes(path: Path) -> Runtimes:
    """Completed runs of scout_ec2_runtimes.csv; workloads that some type never completed are left out."""
    runs: dict[tuple[str, str], list[float]] = {}
    hint = f"It needs {', '.join(COLUMNS)}"
    for where, row in csv_records(read_bytes(path, hint), str(path), COLUMNS, hint):
        seconds = _seconds(row, where)
        if seconds is not None:
            runs.setdefault((row["workload_framework_size"], row["instance_type"]), []).append(math.log(seconds))
    types = tuple(sorted({name for _, name in runs}))
    workloads = sorted({workload for workload, _ in runs})
    common = tuple(workload for workload in workloads if all((workload, name) in runs for name in types))
    if not common:
        raise TableError("no workload was completed on every type", where=str(path), hint="Give a table of such runs")
    means = np.array([[np.mean(runs[workload, name]) for name in types] for workload in common])
    return Runtimes(path.name, types, common, means)


def relative_speeds(
    vcpus: Mapping[str, float], reference: str, *, table: Path | None = None, exponent: float = EXPONENT
) -> Speeds:
    """Speeds of the types whose vCPUs are given. Without a table all come from the rule, and `source` says so."""
    _check(vcpus, reference, exponent)
    runtimes = None if table is None else read_runtimes(table)
    columns = {} if runtimes is None else dict(zip(runtimes.types, runtimes.log_seconds.T, strict=True))
    measured = {name: columns[name] for name in vcpus if name in columns}  # log seconds of each workload
    logs = {name: -exponent * math.log(cpus) for name, cpus in vcpus.items()}
    spreads: dict[str, float] = {}
    if measured:
        means = {name: float(seconds.mean()) for name, seconds in measured.items()}
        offset = float(np.mean([means[name] - logs[name] for name in means]))  # log C0
        logs = {name: means.get(name, offset + log) for name, log in logs.items()}
        against = measured.get(reference, np.mean([*measured.values()], axis=0))
        spreads = {name: float(np.exp(np.std(seconds - against))) for name, seconds in measured.items()}
    by_type = {name: Speed(name, math.exp(logs[name] - logs[reference]), spreads.get(name)) for name in vcpus}
    return Speeds(reference, _source(runtimes, by_type, exponent), by_type)


def _seconds(row: Mapping[str, str], where: str) -> float | None:
    """Seconds of a completed run; None of another."""
    completed = COMPLETED.get((row["completed"] or "").strip().lower())
    if completed is None:
        raise TableError(f"completed is {row['completed']!r}", where=where, hint="Write True or False")
    if not completed:
        return None
    try:
        seconds = float(row["elapsed_s"])
    except (TypeError, ValueError):
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds > 0):
        raise TableError(f"elapsed_s is {row['elapsed_s']!r}", where=where, hint="A completed run has positive seconds")
    return seconds


def _source(runtimes: Runtimes | None, by_type: Mapping[str, Speed], exponent: float) -> str:
    rule = f"C0 / CPU^{exponent:g}"
    if runtimes is None:
        return f"{rule} for all types: no table was given"
    source = f"{runtimes.source}, {len(runtimes.workloads)} workloads"
    by_rule = [name for name, speed in by_type.items() if speed.spread is None]
    return f"{source}; {rule} for {', '.join(by_rule)}" if by_rule else source


def _check(vcpus: Mapping[str, float], reference: str, exponent: float) -> None:
    if reference not in vcpus:
        hint = f"Name one of {', '.join(vcpus)}"
        raise InvalidInput(f"the reference {reference!r} is not among the types", where="speeds", hint=hint)
    if not all(math.isfinite(cpus) and cpus > 0 for cpus in vcpus.values()):
        raise InvalidInput("a type without vCPUs", where="speeds", hint="Give a positive number for every type")
    if not (math.isfinite(exponent) and exponent >= 0):
        raise InvalidInput(f"an exponent of {exponent}", where="speeds", hint="Give 0 or more, such as 0.6")
