"""The YAML beside a CSV."""

import re
from fractions import Fraction
from pathlib import Path

import pytest

from leantune.errors import InvalidInput, JobError
from leantune.lab.replay.tables import preset_names, preset_text
from leantune.lab.replay.tables.description import KEYS, parse_description
from leantune.problem import maximize, minimize
from tests.lab.replay.made import described, text

DOCUMENT = Path(__file__).resolve().parents[4] / "docs" / "replay-tables.md"
BLOCKS = re.findall(r"```yaml\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)


def refused(whole: str) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        parse_description(whole, "runs.yaml")
    assert caught.value.hint
    assert caught.value.where.startswith("runs.yaml")
    return caught.value


def test_defaults() -> None:
    read = described()
    assert (read.file, read.separator, read.snapshots, read.time_limit) == ("runs.csv", ",", False, None)
    assert (read.missing, read.nan, read.duplicates, read.units) == ("skip", "fail", "mean", "refuse")
    assert (read.time.factor, read.usd_per_hour, read.cost, dict(read.columns)) == (1.0, None, None, {})
    assert read.metrics["accuracy"].unit == "any"
    assert list(read.problems) == [""]


def test_everything() -> None:
    read = described(
        separator='separator: ";"',
        time="time: {column: minutes, unit: min}",
        time_limit="time_limit: 10 min",
        fraction="fraction: {column: images, full: 60000}",
        snapshots="snapshots: true",
        usd_per_hour="usd_per_hour: (n + 1) * 2",
        metrics="metrics: {accuracy: {column: acc, unit: percent}}",
        problems="problems:\n  cheap: {minimize: cost, at: anywhere, scale: log, subject_to: time <= median}",
        rules="missing: fail\nnan: drop\nduplicates: last\nunits: convert",
    )
    assert (read.separator, read.time.factor, read.time_limit, read.snapshots) == (";", 60.0, 600.0, True)
    assert read.fraction is not None
    assert (read.fraction.formula.text, read.fraction.full) == ("images", Fraction(60000))
    assert read.usd_per_hour is not None
    assert read.usd_per_hour.text == "(n + 1) * 2"
    assert (read.missing, read.nan, read.duplicates, read.units) == ("fail", "drop", "last", "convert")
    assert read.problems[""].goal == maximize("accuracy")
    assert read.problems["cheap"].goal == minimize("cost", "log", "anywhere")
    assert [entry.value for entry in read.problems["cheap"].limits] == ["time <= median"]


@pytest.mark.parametrize("separator", ["tab", '"\\t"', "'\\t'"])
def test_tabs_by_name(separator: str) -> None:
    assert described(separator=f"separator: {separator}").separator == "\t"


def test_kinds_of_parameters() -> None:
    read = described(parameters="parameters: {a: log, b: [x, y], c: {ordinal: [1, 2]}, d: bool}").parameters
    assert {name: (one.kind, one.options) for name, one in read.items()} == {
        "a": ("log", None),
        "b": ("choice", ("x", "y")),
        "c": ("ordinal", (1, 2)),
        "d": ("bool", None),
    }


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split("\n", 1)[0])
def test_the_documentation_is_right(block: str) -> None:
    """A block is a description, or some keys of one."""
    keys = re.findall(r"^(\w+):", block, re.MULTILINE)
    assert set(keys) <= set(KEYS)
    whole = block if "file" in keys else text(**dict.fromkeys(keys, "")) + block
    assert parse_description(whole, "runs.yaml").problems


def test_the_documentation_is_complete() -> None:
    rows = re.findall(r"^\| (`.*?) \|", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(KEYS)
    assert all(f"`{name}`" in DOCUMENT.read_text(encoding="utf-8") for name in preset_names())


@pytest.mark.parametrize("name", preset_names())
def test_presets_are_descriptions(name: str) -> None:
    assert parse_description(preset_text(name), name).file.endswith(".csv")


@pytest.mark.parametrize(
    ("line", "says", "where", "hint"),
    [
        ({"x": "separater: ;"}, "unknown key 'separater'", "line 8, separater", "Did you mean 'separator'?"),
        ({"file": ""}, "'file' is missing", "line 1", "Add file:"),
        ({"time": ""}, "'time' is missing", "line 1", "Add time:"),
        ({"maximize": ""}, "there is no goal", "line 1", "Add maximize:"),
        ({"x": "minimize: cost"}, "there are two goals", "line 8, minimize", "Keep one"),
        ({"maximize": "maximize: acuracy"}, "there is no metric 'acuracy'", "line 7, maximize", "mean 'accuracy'?"),
        ({"maximize": "maximize: cost"}, "cost cannot be maximised", "line 7, maximize", "minimize: cost"),
        ({"x": "at: anywhere"}, "at is for goals to minimise", "line 8, at", "Leave it out"),
        ({"x": "scale: cubic"}, "unknown scale 'cubic'", "line 7, maximize", "'log'"),
        ({"x": "subject_to: [5]"}, "5 where a text is expected", "line 8, subject_to item 1", "cost <= 0.10 USD"),
        ({"metrics": "metrics: {cost: usd}"}, "cost is not a metric", "line 6, metrics.cost", "beside metrics:"),
        ({"metrics": "metrics: {a: {unit: share}}"}, "the column is missing", "line 6, metrics.a", "Write"),
        ({"metrics": "metrics: {a: {column: b, unit: m}}"}, "'m' is not known", "line 6, metrics.a.unit", "percent"),
        ({"x": "usd_per_hour: 1\ncost: usd"}, "both usd_per_hour and cost", "line 9, cost", "Keep one"),
        ({"x": "separator: ab"}, "'ab' does not separate columns", "line 8, separator", "tab"),
        ({"x": "nan: ignore"}, "'ignore' is not known here", "line 8, nan", "fail, drop, refuse"),
        ({"x": "snapshots: yes"}, "'yes' where true or false", "line 8, snapshots", "true"),
        ({"x": "time_limit: 600"}, "'600' has no unit", "line 8, time_limit", "10 min"),
        ({"x": "time_limit: 0 s"}, "0 s is no time limit", "line 8, time_limit", "10 min"),
        ({"time": "time: {column: t, unit: GB}"}, "'GB' is not a unit of time", "line 4, time.unit", "min"),
        ({"time": "time: {unit: s}"}, "the column is missing", "line 4, time", "Write time:"),
        ({"time": "time: true"}, "true where a column", "line 4, time", "Name a column"),
        ({"time": "time:"}, "nothing where a column", "line 4, time", "Name a column"),
        ({"fraction": "fraction: {column: i, full: 0}"}, "0 is not the size", "line 5, fraction.full", "full"),
        ({"fraction": "fraction: {full: 1}"}, "the column is missing", "line 5, fraction", "full"),
        ({"parameters": "parameters: {lr: logg}"}, "'logg' is not known", "line 2, parameters.lr", "ordinal"),
        ({"parameters": "parameters: {lr: {bool: [1]}}"}, "bool has no list", "line 2, parameters.lr", "lr: bool"),
        ({"parameters": "parameters: {lr: {log: []}}"}, "there are no values", "line 2, parameters.lr.log", "Write"),
        ({"parameters": "parameters: {lr: {}}"}, "nothing is not one kind", "line 2, parameters.lr", "Write"),
        ({"parameters": "parameters: {l r: log}"}, "'l r' cannot name", "line 2, parameters.l r", "columns:"),
        ({"parameters": "parameters: {self: log}"}, "'self' cannot name", "line 2, parameters.self", "columns:"),
        ({"parameters": "parameters: {valid: log}"}, "'valid' is reserved", "line 2, parameters.valid", "valid_"),
        ({"parameters": "parameters: {cluster: log}"}, "goes by that name", "line 2, parameters.cluster", "columns:"),
        ({"parameters": "", "cluster": ""}, "neither parameters nor a cluster", "line 1", "Add parameters:"),
        ({"cluster": "cluster: {nodes: n}"}, "the type is missing", "line 3, cluster", "type: column"),
        ({"cluster": "cluster: {type: vm}"}, "nothing says how large", "line 3, cluster", "provider: aws"),
        ({"cluster": "cluster: {type: v, vcpus: c}"}, "vcpus and memory go together", "line 3, cluster", "memory"),
        ({"cluster": "cluster: {type: v, provider: aws, vcpus: c}"}, "provider and vcpus", "line 3, cluster", "Write"),
        (
            {"cluster": "cluster: {type: v, machines: {a: {vcpus: 1}}}"},
            "memory of 'a' is missing",
            "line 3, cluster.machines.a",
            "memory",
        ),
        ({"x": "columns: {a: {by: b}}"}, "by does not make a column", "line 8, columns.a", "of:"),
        ({"x": "columns: {a: {by: b, of: {c: [1]}}}"}, "a list where a value", "line 8, columns.a.of.c", "by"),
        ({"x": "columns: {a: [1]}"}, "a list where a column", "line 8, columns.a", "Name a column"),
        ({"x": "problems: {p: {}}"}, "there is no goal", "line 8, problems.p", "maximize"),
        ({"x": "problems: {p: {goal: x}}"}, "unknown key 'goal'", "line 8, problems.p.goal", "maximize"),
        ({"x": "problems: {' ': {minimize: cost}}"}, "has no name", "line 8, problems. ", "cheapest"),
    ],
)
def test_wrong_descriptions(line: dict[str, str], says: str, where: str, hint: str) -> None:
    error = refused(text(**line))
    assert isinstance(error, JobError)
    assert says in error.what
    assert error.where == f"runs.yaml, {where}"
    assert hint in error.hint


@pytest.mark.parametrize("whole", ["", " \n", "# nothing\n", "\ufeff"])
def test_empty_descriptions(whole: str) -> None:
    assert refused(whole).what == "the description is empty"


@pytest.mark.parametrize("whole", ["- a\n", "file", "file: [\n", "file: a\nfile: b\n", "\tfile: a\n"])
def test_what_is_no_mapping(whole: str) -> None:
    refused(whole)
