"""Relative speeds against hand-made tables and against Scout's."""

from __future__ import annotations

import csv
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.errors import InvalidInput, TableError
from leantune.lab.simulate.speeds import read_runtimes, relative_speeds
from leantune.rent.step_times import EXPONENT
from tests.data import needs

REPOSITORY = Path(__file__).parents[3]
SCOUT = Path(os.environ.get("LEANTUNE_DATA", REPOSITORY.parent / "shared" / "data")) / "curves/scout_ec2_runtimes.csv"
SIZES = {"large": 2.0, "xlarge": 4.0, "2xlarge": 8.0}
POOL = {"r4.large": 2, "r3.xlarge": 4, "r4.xlarge": 4, "m4.2xlarge": 8, "r4.2xlarge": 8, "m4.4xlarge": 16}
HEADER = "instance_type,workload_framework_size,run,completed,elapsed_s\n"


def table(folder: Path, *rows: str) -> Path:
    file = folder / "runs.csv"
    file.write_text(HEADER + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return file


SMALL = (
    "a.large,sort,1,True,80",
    "a.large,sort,2,True,20",  # geometric mean 40
    "b.xlarge,sort,1,True,10",
    "a.large,join,1,True,90",
    "b.xlarge,join,1,True,90",
    "a.large,scan,1,True,5",  # never completed on b.xlarge: left out
    "b.xlarge,scan,1,False,",
)


def test_geometric_means_over_workloads_that_all_types_completed(tmp_path: Path) -> None:
    speeds = relative_speeds({"a.large": 2, "b.xlarge": 4}, "a.large", table=table(tmp_path, *SMALL))
    assert speeds.slowness("a.large") == 1.0
    assert speeds.slowness("b.xlarge") == pytest.approx(math.sqrt((10 / 40) * (90 / 90)))
    assert speeds.by_type["b.xlarge"].spread == pytest.approx(math.exp(np.std([math.log(1 / 4), 0.0])))
    assert speeds.by_type["a.large"].spread == pytest.approx(1.0)
    assert speeds.source == "runs.csv, 2 workloads"


def test_types_outside_follow_the_rule_through_the_measured_ones(tmp_path: Path) -> None:
    vcpus = {"a.large": 2.0, "b.xlarge": 4.0, "new.big": 16.0}
    speeds = relative_speeds(vcpus, "a.large", table=table(tmp_path, *SMALL), exponent=0.5)
    level = math.sqrt(1.0 * math.sqrt(2) * (0.5 * math.sqrt(4)))  # C0: mean of slowness * CPU^b of the measured
    assert speeds.slowness("new.big") == pytest.approx(level / math.sqrt(16))
    assert speeds.by_type["new.big"].spread is None
    assert speeds.source.endswith("C0 / CPU^0.5 for new.big")


def test_the_reference_may_be_outside_the_table(tmp_path: Path) -> None:
    vcpus = {"a.large": 2.0, "new.big": 16.0}
    file = table(tmp_path, *SMALL)
    there, back = (relative_speeds(vcpus, name, table=file) for name in vcpus)
    assert back.slowness("a.large") == pytest.approx(1 / there.slowness("new.big"))
    assert back.by_type["a.large"].spread == pytest.approx(1.0)


@given(st.floats(0, 2), st.lists(st.integers(1, 128), min_size=1, max_size=5))
def test_without_a_table_the_rule_gives_everything_and_says_so(exponent: float, sizes: list[int]) -> None:
    vcpus = {f"type{index}": float(size) for index, size in enumerate(sizes)}
    speeds = relative_speeds(vcpus, "type0", exponent=exponent)
    for name, size in vcpus.items():
        assert speeds.slowness(name) == pytest.approx((size / sizes[0]) ** -exponent)
    assert "no table was given" in speeds.source


def test_an_absent_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"absent\.csv"):
        relative_speeds({"a.large": 2.0}, "a.large", table=tmp_path / "absent.csv")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (("a.large,sort,1,maybe,80",), r"completed is 'maybe'.*line 2.*True or False"),
        (("a.large,sort,1,True,",), r"elapsed_s is ''.*line 2"),
        (("a.large,sort,1,True,-3",), "positive seconds"),
        (("a.large,sort,1,True,3", "b.large,join,1,True,3"), "no workload was completed on every type"),
        ((), "no workload was completed"),
    ],
)
def test_wrong_tables_are_refused(tmp_path: Path, rows: tuple[str, ...], message: str) -> None:
    with pytest.raises(TableError, match=message):
        read_runtimes(table(tmp_path, *rows))


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    file = tmp_path / "other.csv"
    file.write_text("instance_type,seconds\na,1\n", encoding="utf-8")
    with pytest.raises(TableError, match="no column 'workload_framework_size'"):
        read_runtimes(file)


def test_wrong_questions_are_refused() -> None:
    with pytest.raises(InvalidInput, match="'x' is not among the types"):
        relative_speeds({"a": 2.0}, "x")
    with pytest.raises(InvalidInput, match="without vCPUs"):
        relative_speeds({"a": 0.0}, "a")
    with pytest.raises(InvalidInput, match="exponent of -1"):
        relative_speeds({"a": 2.0}, "a", exponent=-1)
    with pytest.raises(InvalidInput, match=r"no speed of 'b'.*Known are a"):
        relative_speeds({"a": 2.0}, "a").slowness("b")


def test_scout_says_that_seconds_fall_with_about_the_power_0_6_of_the_vcpus() -> None:
    needs(SCOUT)
    runtimes = read_runtimes(SCOUT)
    assert (len(runtimes.types), len(runtimes.workloads)) == (18, 107)
    vcpus = {name: SIZES[name.partition(".")[2]] for name in runtimes.types}
    # the same types for every workload: the workloads' own levels drop out of the slope
    slope, _ = np.polyfit(np.log([*vcpus.values()]), runtimes.log_seconds.mean(axis=0), 1)
    assert -slope == pytest.approx(EXPONENT, abs=0.1)


def test_scout_against_a_second_reading_of_the_file() -> None:
    needs(SCOUT)
    speeds = relative_speeds(POOL, "r4.large", table=SCOUT)
    seconds: dict[tuple[str, str], list[float]] = {}
    with SCOUT.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["completed"] == "True":
                key = (row["instance_type"], row["workload_framework_size"])
                seconds.setdefault(key, []).append(float(row["elapsed_s"]))
    types = {name for name, _ in seconds}
    common = [w for w in {w for _, w in seconds} if all((name, w) in seconds for name in types)]
    geometric = {
        name: np.prod([np.prod(seconds[name, w]) ** (1 / len(seconds[name, w]) / len(common)) for w in common])
        for name in types
    }
    for name in POOL:
        if name in types:
            assert speeds.slowness(name) == pytest.approx(geometric[name] / geometric["r4.large"])
    assert [name for name in POOL if speeds.by_type[name].spread is None] == ["m4.4xlarge"]
    assert speeds.slowness("m4.4xlarge") < speeds.slowness("m4.2xlarge") < speeds.slowness("r4.xlarge") < 1
