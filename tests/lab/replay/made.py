"""Small tables for tests."""

from pathlib import Path

from leantune.lab.replay.tables import MeasuredTable, load_table
from leantune.lab.replay.tables.columns import TableColumns
from leantune.lab.replay.tables.description import Description, Units, parse_description
from leantune.lab.replay.tables.sheet import parse_sheet

# Two configurations x two fractions.
CSV = """\
lr,vm,workers,images,seconds,acc
0.1,t2.small,2,30,10,0.5
0.1,t2.small,2,60,20,0.6
0.01,t2.medium,1,30,30,0.7
0.01,t2.medium,1,60,40,0.8
"""
_SMALLEST = {
    "file": "file: runs.csv",
    "parameters": "parameters: {lr: ordinal}",
    "cluster": "cluster: {type: vm, nodes: workers, provider: aws}",
    "time": "time: seconds",
    "fraction": "fraction: {column: images, full: 60}",
    "metrics": "metrics: {accuracy: acc}",
    "maximize": "maximize: accuracy",
}


def text(**lines: str) -> str:
    """A description of CSV (seven lines) with other or more keys; "" takes a key out."""
    return "\n".join(line for line in {**_SMALLEST, **lines}.values() if line) + "\n"


def described(**lines: str) -> Description:
    return parse_description(text(**lines), "runs.yaml")


def columns(csv: str, units: Units = "refuse", **lines: str) -> TableColumns:
    return TableColumns(parse_sheet(csv.encode(), "runs.csv"), described(**lines).columns, units)


def table(folder: Path, csv: str | bytes = CSV, *, problem: str = "", **lines: str) -> MeasuredTable:
    (folder / "runs.csv").write_bytes(csv if isinstance(csv, bytes) else csv.encode())
    (folder / "runs.yaml").write_text(text(**lines), encoding="utf-8")
    return load_table(str(folder / "runs.yaml"), problem=problem)


def rows(*lines: str) -> str:
    """The header of CSV and other rows."""
    return "\n".join([CSV.split("\n", 1)[0], *lines]) + "\n"
