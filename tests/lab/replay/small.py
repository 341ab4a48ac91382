"""A small table for replays, 16 configurations x 3 fractions, and rows made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from leantune.lab.replay.runs import Advice, Row
from leantune.lab.replay.tables import MeasuredTable, load_table
from leantune.lab.replay.truth import TrueQuality

PRICES = {"small": 1.0, "large": 5.0}  # USD per hour of one machine
YAML = """\
# A small table.
file: measured.csv
parameters: {lr: log, batch: choice}
cluster:
  type: vm
  nodes: nodes
  machines:
    small: {vcpus: 1, memory: 2 GiB, usd_per_hour: 1}
    large: {vcpus: 4, memory: 8 GiB, usd_per_hour: 5}
time: seconds
fraction: {column: images, full: 1000}
snapshots: true
metrics: {accuracy: accuracy}
maximize: accuracy
subject_to: [cost <= 0.06 USD]
problems:
  cheapest: {minimize: cost, at: anywhere, subject_to: [accuracy >= 0.8]}
"""


def lines() -> list[str]:
    """The rows of the CSV, without its header."""
    found = []
    for lr, error in ((0.001, 0.20), (0.01, 0.08), (0.1, 0.12), (1.0, 0.60)):
        for batch, factor in (("few", 1.0), ("many", 1.25)):
            for vm, vcpus in (("small", 1), ("large", 4)):
                for images in (100, 500, 1000):
                    accuracy = 1.0 - error * factor * (1.0 + 0.5 * (1.0 - images / 1000) ** 2)
                    seconds = 5.0 + 0.2 * images / factor / vcpus**0.7
                    found.append(f"{lr},{batch},{vm},1,{images},{seconds:.3f},{accuracy:.4f}")
    return found


def write(folder: Path, *more: str, yaml: str = YAML, failing: int = 0) -> Path:
    """The YAML and, beside it, the CSV; failing: that many first rows have no accuracy. more: lines of the YAML."""
    rows = [f"{line.rpartition(',')[0]}," if number < failing else line for number, line in enumerate(lines())]
    header = "lr,batch,vm,nodes,images,seconds,accuracy"
    (folder / "measured.csv").write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    path = folder / "measured.yaml"
    path.write_text("\n".join([yaml, *more]), encoding="utf-8")
    return path


def small(folder: Path, problem: str = "", *, failing: int = 0) -> MeasuredTable:
    return load_table(str(write(folder, failing=failing)), problem=problem)


def verdict(feasible: bool = True, ratio: float = 1.0, ratio_full: float = 1.0) -> TrueQuality:
    return TrueQuality({"accuracy": 0.9, "cost": 0.05}, feasible, 0.9, ratio, ratio_full)


def row(test: int, judged: TrueQuality | None, *, start: bool = False, fraction: str = "1", rule: str = "paper") -> Row:
    """Test number `test`, each of 2 dollars and 10 seconds, chosen in half a second."""
    advice: Mapping[str, Advice] = {} if judged is None else {rule: Advice({"lr": 1}, "1", True, judged)}
    return Row(test, start, {"lr": 1}, fraction, 2.0, 10.0, False, 2.0 * test, 10.0 * test, 0.5, ("note",), advice)


def run(*goods: bool) -> list[Row]:
    """A run whose recommendations are the best, or infeasible."""
    return [row(number, verdict(feasible=good)) for number, good in enumerate(goods, start=1)]
