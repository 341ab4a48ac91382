"""Traces laid over a period against a lookup tick by tick, and every real one where the data is there."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.cloud.markets import Market
from leantune.cloud.traces import Trace, capacities, read_mapping, read_trace
from leantune.errors import InvalidInput
from tests.data import needs

REPOSITORY = Path(__file__).resolve().parents[2]
TRACES = Path(os.environ.get("LEANTUNE_DATA", REPOSITORY.parent / "shared" / "data")) / "spot" / "traces"
START = 1_456_000_000.0


def written(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def ticks(*data: int, gap: float = 10) -> dict[str, Any]:
    return {"metadata": {"gap_seconds": gap}, "data": list(data)}


def test_falls_become_preemptions_with_their_share(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, "preemption_x.json", ticks(0, 4, 4, 3, 1, 0, 2, 2)))
    assert trace.seconds == 80
    capacity = trace.capacity(START, START + 80)
    assert (capacity.begins - START).tolist() == [10, 60]
    assert (capacity.ends - START).tolist() == [50, 80]
    assert (capacity.preemptions - START).tolist() == [30, 40, 50]
    assert capacity.shares.tolist() == pytest.approx([1 / 4, 2 / 3, 1])
    assert capacity.source == "preemption_x.json"


def test_a_short_trace_is_repeated_and_says_so(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, "preemption_x.json", ticks(1, 0, 1)))
    capacity = trace.capacity(START, START + 75)
    assert (capacity.begins - START).tolist() == [0, 20, 50]
    assert (capacity.ends - START).tolist() == [10, 40, 70]
    assert (capacity.preemptions - START).tolist() == [10, 40, 70]
    assert "repeated: the period is 2.5 times as long" in capacity.source
    shifted = trace.capacity(START, START + 20, offset=25)
    assert (shifted.begins - START).tolist() == [0]
    assert (shifted.ends - START).tolist() == [15]
    assert "continued from its begin" in shifted.source


def test_the_jump_from_end_to_begin_takes_no_machine(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, "preemption_x.json", ticks(0, 3, 3)))
    capacity = trace.capacity(START, START + 300)
    assert len(capacity.preemptions) == 0
    assert not capacity.available(START + 30)


def test_availability_refuses_launches_and_takes_nothing_unless_declared(tmp_path: Path) -> None:
    written(tmp_path, "availability_x.json", ticks(1, 0, 1, 0))
    name = "r3.large/us-east-1c"
    by_itself = capacities({name: "availability_x.json"}, tmp_path, START, START + 40)
    declared = capacities({name: {"file": "availability_x.json", "preempts": True}}, tmp_path, START, START + 40)
    market = Market("r3.large", "us-east-1c")
    assert len(by_itself[market].preemptions) == 0
    assert not by_itself[market].available(START + 10)
    assert (declared[market].preemptions - START).tolist() == [10, 30]


def test_nodes_that_come_and_go(tmp_path: Path) -> None:
    lines = [
        "0,add,a",
        "0,add,b",
        "5000,remove,a",
        "5000,remove,b",
        "9000,add,c",
        "9000,add,a",
        "12500,remove,a",
        "20000,add,b",
    ]
    trace = read_trace(written(tmp_path, "nodes.csv", "\n".join(lines)))
    capacity = trace.capacity(START, START + 20)
    assert trace.seconds == 20
    assert (capacity.begins - START).tolist() == [0, 9]
    assert (capacity.ends - START).tolist() == [5, 20]
    assert (capacity.preemptions - START).tolist() == [5, 12.5]
    assert capacity.shares.tolist() == [1.0, 0.5]


counts = st.lists(st.integers(0, 4), min_size=1, max_size=12)


@given(counts, st.integers(1, 7), st.integers(0, 200), st.integers(1, 150))
def test_against_a_lookup_second_by_second(data: list[int], gap: int, offset: int, period: int) -> None:
    trace = Trace("t", gap * np.arange(len(data), dtype=float), np.array(data), float(gap * len(data)))
    capacity = trace.capacity(START, START + period, offset=float(offset))
    ups = [data[((second + offset) % (gap * len(data))) // gap] for second in range(period)]
    assert [capacity.available(START + second) for second in range(period)] == [n >= 1 for n in ups]
    falls = {}
    for second in range(period):
        tick, within = divmod((second + offset) % (gap * len(data)), gap)
        if within == 0 and tick > 0 and data[tick] < data[tick - 1]:
            falls[second] = (data[tick - 1] - data[tick]) / data[tick - 1]
    assert (capacity.preemptions - START).tolist() == list(falls)
    assert capacity.shares.tolist() == pytest.approx(list(falls.values()))


def test_a_declared_mapping(tmp_path: Path) -> None:
    written(tmp_path, "four.json", ticks(*[4, 3] * 200))
    text = "r3.large/us-east-1c: four.json\nr3.large/us-east-1d: {file: four.json, offset: 10 s}\n"
    mapping = read_mapping(written(tmp_path, "traces.yaml", text))
    one, other = capacities(mapping, tmp_path, START, START + 4000, seed=3).values()
    assert one.preemptions[0] == other.preemptions[0] + 10
    lives = [[capacity.preemption(START, slot) for slot in range(20)] for capacity in (one, other)]
    # Another market has other luck, also on the same file; the same seed has the same.
    assert [time and time - 10 for time in lives[0]] != lives[1]
    again = capacities(mapping, tmp_path, START, START + 4000, seed=3)[Market("r3.large", "us-east-1c")]
    assert [again.preemption(START, slot) for slot in range(20)] == lives[0]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "[1, 2", "another form"),
        ("a.json", [1, 2], "another form"),
        ("a.json", {"data": [1]}, "another form"),
        ("a.json", {"metadata": {"gap_seconds": 0}, "data": [1]}, "gap_seconds is 0"),
        ("a.json", {"metadata": {"gap_seconds": "5"}, "data": [1]}, "gap_seconds is '5'"),
        ("a.json", ticks(), "no data"),
        ("a.json", {"metadata": {"gap_seconds": 5}, "data": [1, -1]}, r"data\[1\] is -1"),
        ("a.json", {"metadata": {"gap_seconds": 5}, "data": [1.5]}, r"data\[0\] is 1.5"),
        ("a.json", {"metadata": {"gap_seconds": 5}, "data": [True]}, r"data\[0\] is True"),
        ("a.csv", "0,add,a\nx,add,b\n", "line 2"),
        ("a.csv", "0,add\n", "no event"),
        ("a.csv", "0,gone,a\n", "no event"),
        ("a.csv", "-5,add,a\n", "no time"),
        ("a.csv", "500,add,a\n400,remove,a\n", "earlier"),
        ("a.csv", "0,add,a\n5,add,a\n", "is up already"),
        ("a.csv", "5,remove,a\n", "is not up"),
        ("a.csv", "", "no event after its begin"),
        ("a.txt", "", "no trace"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, name: str, content: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as error:
        read_trace(written(tmp_path, name, content))
    assert name in str(error.value)
    assert error.value.hint


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"r3.large": "x.json"}, "names no market"),
        ({"a/b": {"offset": 1}}, "no file"),
        ({"a/b": 5}, "no file"),
        ({"a/b": {"file": "x.json", "of": 1}}, "unknown key 'of'"),
        ({"a/b": {"file": "x.json", "preempts": "yes"}}, "preempts is 'yes'"),
        ({"a/b": {"file": "x.json", "offset": [1]}}, "offset is"),
        ({"a/b": {"file": "x.json", "offset": "soon"}}, "not an amount of time"),
        ({"a/b": {"file": "x.json", "offset": float("inf")}}, "offset is inf"),
        ({"a/b": "absent.json"}, "cannot be read"),
    ],
)
def test_bad_mappings_are_refused(tmp_path: Path, mapping: Any, message: str) -> None:
    written(tmp_path, "x.json", ticks(1, 0))
    with pytest.raises(InvalidInput, match=message):
        capacities(mapping, tmp_path, START, START + 10)


@pytest.mark.parametrize("text", ["", "- a\n", "a: [\n"])
def test_bad_mapping_files_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidInput, match="mapping"):
        read_mapping(written(tmp_path, "m.yaml", text))
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_mapping(tmp_path / "absent.yaml")


def test_a_period_must_have_a_length(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, "x.json", ticks(1, 0)))
    with pytest.raises(InvalidInput, match="no period"):
        trace.capacity(START, START)


def test_every_real_trace() -> None:
    needs(TRACES)
    files = sorted(TRACES.iterdir())
    assert len(files) >= 25
    for path in files:
        trace = read_trace(path)
        capacity = trace.capacity(START, START + trace.seconds)
        if path.suffix == ".json":
            read = json.loads(path.read_text())
            data, gap = read["data"], read["metadata"]["gap_seconds"]
            falls = [gap * i for i in range(1, len(data)) if data[i] < data[i - 1]]
            assert (capacity.ends - capacity.begins).sum() == pytest.approx(gap * sum(n > 0 for n in data))
        else:
            rows = [line.split(",") for line in path.read_text().split()]
            last = rows[-1][0]
            falls = sorted({int(ms) / 1000 for ms, what, _ in rows if what == "remove" and ms != last})
        if not path.name.startswith("availability") and path.suffix == ".json":
            assert (capacity.preemptions - START).tolist() == pytest.approx(falls)
        elif path.suffix == ".csv":  # what came at the same moment can outweigh what went
            assert set(capacity.preemptions - START) <= set(falls)
            assert len(capacity.preemptions) > 0.8 * len(falls)
        else:
            assert len(capacity.preemptions) == 0
