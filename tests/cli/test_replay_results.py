"""How replays read, from rows made by hand."""

import csv
import io
import json
import math
from pathlib import Path

import pytest

from leantune.cli import replay_results as show
from leantune.cli.command import encoded
from leantune.cli.terminal import printable
from leantune.lab.replay.pool import Source, Task
from leantune.lab.replay.runs import Row, Settings
from leantune.lab.replay.summary import summarise
from leantune.lab.replay.tables import MeasuredTable
from leantune.lab.replay.truth import Truth, facts
from tests.lab.replay.small import row, run, small, verdict


def task(settings: Settings, seed: int) -> Task:
    return Task(Source("t"), settings, seed)


@pytest.fixture
def measured(tmp_path: Path) -> MeasuredTable:
    return small(tmp_path)


def text(lines: list[str]) -> str:
    return printable("\n".join(lines))


def summary_of(measured: MeasuredTable, *runs: list[Row]) -> str:
    return text(show.summary_lines(measured.problem, summarise(Truth.of(measured), {"mine": list(runs)}, "paper")))


def test_a_summary_by_hand(measured: MeasuredTable) -> None:
    assert summary_of(measured, run(False, True), run(True, True), run(True, True)).splitlines() == [
        "mine: 3 seeds, 2 tests each for $4.00",
        "  90 % of the best   3 of 3 seeds; median $2.00 ($2.00 to $4.00), 10 s of training, test 1",
        "  95 % of the best   3 of 3 seeds; median $2.00 ($2.00 to $4.00), 10 s of training, test 1",
        "  99 % of the best   3 of 3 seeds; median $2.00 ($2.00 to $4.00), 10 s of training, test 1",
        "  at the end         100 % of the seeds feasible, 0 % tested, 100 % within 5 % of the best, 100 % within 1 %",
        "  regret at the end  0.211 on average, median 0.211, worst 0.211",
        "  a test             $2.00 on average, on 100 % of the data after the start, chosen in 500 ms",
    ]


def test_who_does_not_arrive(measured: MeasuredTable) -> None:
    some = summary_of(measured, run(True), run(False), run(False))
    assert some.count("1 of 3 seeds; median never") == 3
    assert "33 % of the seeds feasible" in some
    most = summary_of(measured, run(True), run(True), run(True), run(False))
    assert "3 of 4 seeds; median $2.00 ($2.00 to never)" in most
    assert summary_of(measured, run(False)).count("0 of 1 seed; never") == 3


def test_a_table_without_dollars_tells_none(measured: MeasuredTable) -> None:
    free = [Row(1, True, {}, "1", 0.0, 5.0, False, 0.0, 5.0, 0.1, (), row(1, verdict()).advice)]
    shown = summary_of(measured, free)
    assert "$" not in shown
    assert "1 of 1 seed; median 5 s of training, test 1" in shown
    assert "none after the start" in shown


def test_rows_in_json_and_csv_tell_the_same(measured: MeasuredTable) -> None:
    runs = {task(Settings("eic"), 0): [row(1, None, start=True), row(2, verdict(feasible=False, ratio=math.inf))]}
    told = list(show.rows_json(Truth.of(measured), runs, "paper"))
    json.dumps(encoded(told), allow_nan=False)
    assert told[0]["recommendation"] is None
    assert told[0]["notes"] == ("note",)
    read = list(csv.DictReader(io.StringIO(show.rows_csv(told))))
    assert [one["test"] for one in read] == ["1", "2"]
    assert [one["recommendation.metrics.accuracy"] for one in read] == ["", "0.9"]
    assert [one["start"] for one in read] == ["True", "False"]
    assert read[0]["notes"] == "note"


def test_dollars_to_minimise_tell_both_ratios(tmp_path: Path) -> None:
    truth = Truth.of(small(tmp_path, "cheapest"))
    runs = {task(Settings("x"), 3): [row(1, verdict(ratio=1.5, ratio_full=math.inf))]}
    (told,) = show.rows_json(truth, runs, "paper")
    recommendation = encoded(told["recommendation"])
    assert isinstance(recommendation, dict)
    assert (recommendation["cno"], recommendation["cno_full"], told["seed"]) == (1.5, None, 3)


def test_facts_of_a_table_without_an_answer(tmp_path: Path, measured: MeasuredTable) -> None:
    nothing = {**facts(measured), "feasible": 0, "near_optimal": 0, "best": None, "best_cost": None}
    shown = text(show.facts_lines(measured, nothing))
    assert "feasible                0" in shown
    assert "best  " not in shown.replace("within 5 % of the best  ", "")


def test_remarks_are_told(tmp_path: Path) -> None:
    lines = show.table_lines(small(tmp_path, failing=1))
    assert lines[1:] == ["  note: 1 of 48 rows lack accuracy and count as failed runs"]
