"""A table as a whole: the YAML, the CSV it names, and a problem about it, `median` in its limits being a number."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from statistics import median
from types import MappingProxyType

from leantune.errors import ProblemError, TableError, did_you_mean
from leantune.executors.replay import Measurement
from leantune.files import digest
from leantune.jobfile.tree import Entry
from leantune.lab.replay.tables.columns import TableColumns
from leantune.lab.replay.tables.description import Description, ProblemText, Remark, check_metric, parse_description
from leantune.lab.replay.tables.pairs import TablePairs, gather
from leantune.lab.replay.tables.rows import read_rows
from leantune.lab.replay.tables.sheet import parse_sheet, read_bytes, select
from leantune.problem import COST, TIME, Constraint, Problem

DATA_VARIABLE = "LEANTUNE_DATA"
_PRESETS = "leantune.lab.replay.tables"
_REPOSITORY = Path(__file__).resolve().parents[5]
_MEDIAN = re.compile(r"\s*(?P<metric>[^\s<>=@!≤≥]+)\s*(?P<sign><=|>=|≤|≥)\s*median\s*(?P<sure>@.*)?")
_UNIT = {COST: " USD", TIME: " s"}


@dataclass(frozen=True, eq=False)
class MeasuredTable:
    """The measurements of a CSV, and a problem about them.

    name: of the preset, or the YAML's stem. source: path of the CSV. problem_name: "" for the main one.
    measurements: by configuration id and share of the data. rows: of the CSV, those that count. digest: sha256 over the
    bytes of the CSV, the text of the description and the problem's name.
    """

    name: str
    source: str
    problem_name: str
    problem: Problem
    measurements: Mapping[tuple[str, Fraction], Measurement]
    remarks: tuple[Remark, ...]
    rows: int
    digest: str


def load_table(name_or_path: str, *, data: Path | None = None, problem: str = "") -> MeasuredTable:
    """The table of a preset, or of a YAML file.

    data: the folder that its `file:` is looked for in; by default the YAML's own, for presets `default_data()`.
    """
    name, text, source, folder = _find(name_or_path, data)
    parsed = parse_description(text, source)
    _check_problem(problem, parsed, source)
    description = parsed.of(problem)
    path = folder / description.file
    raw = read_bytes(path, _absent_hint(description.file, folder, preset=name_or_path in preset_names()))
    sheet, selected = select(parse_sheet(raw, str(path), description.separator), description.where)
    columns = TableColumns(sheet, description.columns, description.units)
    rows = read_rows(description, columns, description.problems[problem].metrics)
    pairs = gather(rows, description, description.problems[problem].goal.at)
    stated, medians = _stated(description.problems[problem], description, pairs)
    mark = [Remark("byte-order mark", 1, "the file starts with a byte-order mark")] if sheet.byte_order_mark else []
    return MeasuredTable(
        name=name,
        source=str(path),
        problem_name=problem,
        problem=stated,
        measurements=MappingProxyType(dict(pairs.measurements)),
        remarks=(*mark, *selected, *columns.remarks(), *pairs.remarks, *medians),
        rows=len(sheet),
        digest=digest([raw, text.encode(), problem.encode()]),
    )


def preset_names() -> tuple[str, ...]:
    """Tables whose descriptions are shipped."""
    names = (entry.name for entry in files(_PRESETS).joinpath("presets").iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml")))


def preset_text(name: str) -> str:
    """The description of a preset."""
    return files(_PRESETS).joinpath("presets", f"{name}.yaml").read_text(encoding="utf-8")


def default_data() -> Path:
    """The folder LEANTUNE_DATA names, or the one beside the checkout, or ./shared/data."""
    named = os.environ.get(DATA_VARIABLE)
    if named:
        return Path(named)
    from_checkout = (_REPOSITORY / "pyproject.toml").is_file() and (_REPOSITORY / "src" / "leantune").is_dir()
    return (_REPOSITORY.parent if from_checkout else Path()) / "shared" / "data"


def _find(name_or_path: str, data: Path | None) -> tuple[str, str, str, Path]:
    """(name, text of the description, its source, folder of the CSV)."""
    if name_or_path in preset_names():
        return name_or_path, preset_text(name_or_path), f"preset {name_or_path}", data or default_data()
    path = Path(name_or_path)
    if path.suffix.lower() in (".csv", ".tsv"):
        beside = path.with_suffix(".yaml")
        hint = f"Did you mean {beside}?" if beside.is_file() else "Write one beside it (docs/replay-tables.md)"
        raise TableError("this is a CSV; name the YAML that describes it", where=name_or_path, hint=hint)
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        close = get_close_matches(name_or_path, preset_names(), n=1)
        meant = f"Did you mean {close[0]}? " if close else ""
        hint = f"{meant}Name a YAML file or one of {', '.join(preset_names())}"
        raise TableError("there is no such table", where=name_or_path, hint=hint) from None
    except UnicodeDecodeError:
        raise TableError("the description is not UTF-8", where=name_or_path, hint="Save it as UTF-8 text") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TableError(
            f"the description cannot be read: {reason}", where=name_or_path, hint="Name a YAML file"
        ) from None
    return path.stem, text, name_or_path, data or path.parent


def _check_problem(problem: str, description: Description, source: str) -> None:
    if problem not in description.problems:
        named = [name for name in description.problems if name]
        others = f"There are {', '.join(named)}, and the main one without a name"
        hint = did_you_mean(problem, named) + others if named else "It has the main one only"
        raise TableError(f"there is no problem {problem!r}", where=source, hint=hint)


def _absent_hint(file: str, folder: Path, *, preset: bool) -> str:
    if not preset:
        return f"It was looked for in {folder.absolute()}: correct file:, or name another folder with --data"
    return f"Put {file} below {folder}, or name the folder that holds it with --data or {DATA_VARIABLE}"


def _stated(stated: ProblemText, description: Description, pairs: TablePairs) -> tuple[Problem, list[Remark]]:
    """The problem without a budget, and its medians."""
    remarks: list[Remark] = []
    limits = [_limit(entry, description, pairs, remarks) for entry in stated.limits]
    metrics = [stated.goal.metric, *(limit.metric for limit in limits)]
    if COST in metrics and not pairs.has_dollars:
        entry = (stated.goal_entry, *stated.limits)[metrics.index(COST)]
        raise entry.error("this needs dollars, and the table gives none", "Add usd_per_hour: or cost:")
    goal, snapshots, fidelity = stated.goal, description.snapshots, description.fidelity
    try:
        problem = Problem(
            pairs.space, goal, limits, pairs.fractions, snapshots=snapshots, fidelity=fidelity, gaps=pairs.gaps
        )
    except ProblemError as error:  # each part was checked: only limits that contradict each other are left
        at_fault = stated.limits[-1] if stated.limits else stated.goal_entry
        raise at_fault.error(f"{error.what}: {error.where}", error.job_hint) from None
    return problem, remarks


def _limit(entry: Entry, description: Description, pairs: TablePairs, remarks: list[Remark]) -> Constraint:
    text = entry.text("Write a limit, such as cost <= 0.10 USD")
    match = _MEDIAN.fullmatch(text)
    if match is not None:
        metric = match["metric"]
        check_metric(metric, description.metrics, entry)
        middle, count = _median(metric, pairs, entry)
        unit = _UNIT.get(metric, "")
        said = f"the median {metric} of {count} full-data runs is {middle:g}{unit}"
        remarks.append(Remark("median", count, said))
        text = f"{metric} {match['sign']} {middle!r}{unit} {match['sure'] or ''}".rstrip()
    with entry.blamed(f"{text!r}: "):
        constraint = Constraint.parse(text)
    check_metric(constraint.metric, description.metrics, entry)
    return constraint


def _median(metric: str, pairs: TablePairs, entry: Entry) -> tuple[float, int]:
    runs = [{**run.metrics, TIME: run.seconds, COST: run.cost} for run in pairs.at_full_data]
    values = [value for run in runs if (value := run[metric]) is not None]
    if not values:
        raise entry.error(f"there is no median {metric}: no run on all the data has one", "Write a number")
    return median(values), len(values)
