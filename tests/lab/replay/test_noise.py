"""Noise of tests: the same for the same trial, right in the large, and within what can be measured."""

import csv
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from leantune.errors import InvalidInput, StrategyError, TableError
from leantune.executors.replay import Measurement
from leantune.lab.replay.noise import Noise, Range, has_deviations
from leantune.lab.replay.runs import Row, Settings, replay
from leantune.lab.replay.tables import MeasuredTable, default_data, load_table
from leantune.lab.replay.truth import Truth
from tests.data import needs
from tests.lab.replay.small import lines, small, write

FULL = Fraction(1)
MANY = 5_000
MEAN = Measurement(
    {"accuracy": 0.7, "latency": 20.0, "gain": -3.0},
    100.0,
    cost=2.0,
    deviations={"time": 30.0, "accuracy": 0.05, "latency": 8.0, "gain": 2.0},
)
RANGES = {"accuracy": Range.SHARE, "latency": Range.POSITIVE, "gain": Range.ANY}


def noisy(folder: Path, *, factor: float = 0.1) -> MeasuredTable:
    """The small table with deviations of `factor` times its values."""
    write(folder, "deviations: {time: sd_seconds, accuracy: sd_accuracy}")
    rows = ["lr,batch,vm,nodes,images,seconds,accuracy,sd_seconds,sd_accuracy"]
    for line in lines():
        seconds, accuracy = (float(cell) for cell in line.split(",")[-2:])
        rows.append(f"{line},{factor * seconds},{factor * abs(accuracy)}")
    (folder / "measured.csv").write_text("\n".join([*rows, ""]), encoding="utf-8")
    return load_table(str(folder / "measured.yaml"))


def untimed(rows: list[Row]) -> list[Row]:
    return [replace(row, ask_seconds=0.0) for row in rows]


def test_means_and_deviations_are_right_in_the_large() -> None:
    noise = Noise(1.0, 0, RANGES)
    drawn = [noise.drawn(MEAN, trial) for trial in range(MANY)]
    found = {
        "time": np.array([one.seconds for one in drawn]),
        **{name: np.array([one.metrics[name] for one in drawn]) for name in RANGES},
    }
    means = {"time": MEAN.seconds, **MEAN.metrics}
    for name, values in found.items():
        deviation = MEAN.deviations[name]
        assert values.mean() == pytest.approx(means[name], abs=4 * deviation / np.sqrt(MANY))
        assert values.std() == pytest.approx(deviation, rel=0.05)
    assert found["time"].min() > 0
    assert found["latency"].min() > 0
    independent = np.corrcoef(np.stack(list(found.values())))
    assert np.abs(independent - np.eye(4)).max() < 0.05


def test_dollars_follow_the_seconds_and_a_factor_scales_the_deviations() -> None:
    once, twice = (Noise(factor, 3, RANGES).drawn(MEAN, 5) for factor in (1.0, 2.0))
    assert once.cost is not None
    assert once.cost / once.seconds == pytest.approx(2.0 / 100.0)
    assert twice.metrics["gain"] + 3.0 == pytest.approx(2 * (once.metrics["gain"] + 3.0))


def test_a_draw_depends_on_seed_and_trial_and_on_nothing_else() -> None:
    def seconds(seed: int, trial: int) -> float:
        return Noise(1.0, seed, RANGES).drawn(MEAN, trial).seconds

    base = seconds(0, 0)
    assert seconds(0, 0) == base
    assert len({base, seconds(1, 0), seconds(0, 1)}) == 3


def test_shares_stay_shares() -> None:
    wild = replace(MEAN, deviations={"accuracy": 2.0})
    drawn = [Noise(1.0, 0, RANGES).drawn(wild, trial) for trial in range(100)]
    values = [one.metrics["accuracy"] for one in drawn]
    assert min(values) == 0.0
    assert max(values) == 1.0
    assert {one.seconds for one in drawn} == {100.0}, "what has no deviation does not scatter"


def test_runs_that_were_cut_end_at_the_cap_and_failed_ones_fail() -> None:
    cut = Noise(1.0, 0, RANGES).drawn(replace(MEAN, cut=True), 0)
    assert (cut.seconds, cut.cost, cut.cut) == (100.0, 2.0, True)
    assert cut.metrics["accuracy"] != MEAN.metrics["accuracy"]
    failed = replace(MEAN, metrics={}, failure="out of memory")
    assert Noise(1.0, 0, RANGES).drawn(failed, 0) is failed


def test_ranges_are_those_of_the_table(tmp_path: Path) -> None:
    table = noisy(tmp_path)
    assert has_deviations(table)
    assert Noise.of(table, 1.0, 0).ranges == {"accuracy": Range.ANY}, "one of its accuracies is below 0"
    assert not has_deviations(small(tmp_path))


def test_a_replay_without_noise_is_what_it_was(tmp_path: Path) -> None:
    settings = Settings("eic", iterations=4)
    without = untimed(replay(small(tmp_path), settings, 1))
    assert untimed(replay(noisy(tmp_path), settings, 1)) == without


def test_a_noisy_replay_scatters_the_same_way_twice_and_is_judged_on_the_means(tmp_path: Path) -> None:
    table, settings = noisy(tmp_path), Settings("random", iterations=4, noise=1.0)
    rows = replay(table, settings, 1)
    assert untimed(replay(table, settings, 1)) == untimed(rows)
    quiet = replay(table, replace(settings, noise=0.0), 1)
    assert [row.configuration for row in rows] == [row.configuration for row in quiet], "random does not look"
    ratios = [one.test_seconds / other.test_seconds for one, other in zip(rows, quiet, strict=True)]
    assert all(0.5 < ratio < 2.0 and ratio != 1.0 for ratio in ratios)
    assert len(set(ratios)) == len(ratios)
    truth = {frozenset((name, str(value)) for name, value in truth.items()) for truth in _means(table)}
    for row in rows:
        for advice in row.advice.values():
            assert frozenset((name, str(value)) for name, value in advice.verdict.metrics.items()) in truth


def _means(table: MeasuredTable) -> list[dict[str, float]]:
    found = [Truth.of(table).values(pair) for pair in table.measurements]
    return [one for one in found if one is not None]


def test_a_noisy_replay_of_lean_repeats_and_a_plain_one_never_does(tmp_path: Path) -> None:
    table = noisy(tmp_path, factor=0.02)

    def repeats(settings: Settings) -> int:
        on_all = [str(row.configuration) for row in replay(table, settings, 0) if row.fraction == "1"]
        return len(on_all) - len(set(on_all))

    budget = Settings("lean", iterations=None, trials=8)
    assert repeats(replace(budget, noise=1.0)) >= 1
    assert repeats(replace(budget, noise=1.0, repeats=1)) == 0
    assert repeats(budget) == 0
    assert repeats(replace(budget, strategy="eic", noise=1.0)) == 0


@pytest.mark.parametrize("noise", [-0.1, float("nan"), float("inf")])
def test_a_factor_that_is_none_is_refused(noise: float) -> None:
    with pytest.raises(StrategyError, match="noise is"):
        Settings("eic", noise=noise)


def test_noise_needs_deviations(tmp_path: Path) -> None:
    with pytest.raises(StrategyError, match="no standard deviations"):
        replay(small(tmp_path), Settings("eic", iterations=1, noise=1.0), 0)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("deviations: {latency: sd}", "no metric 'latency'"),
        ("deviations: {cost: seconds}", "cost has no deviation"),
        ("deviations: {time: nowhere}", "nowhere"),
        ("deviations: [time]", "deviations"),
    ],
)
def test_deviations_of_what_is_not_there_are_refused(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        load_table(str(write(tmp_path, line)))


@pytest.mark.parametrize(("cell", "message"), [("", "is missing"), ("-1", "is -1")])
def test_cells_that_are_no_deviation_are_refused_with_their_line(tmp_path: Path, cell: str, message: str) -> None:
    noisy(tmp_path)
    path = tmp_path / "measured.csv"
    rows = path.read_text(encoding="utf-8").splitlines()
    rows[3] = f"{rows[3].rpartition(',')[0]},{cell}"
    path.write_text("\n".join(rows), encoding="utf-8")
    with pytest.raises(TableError, match=f"(?s)standard deviation of accuracy {message}.*line 4"):
        load_table(str(tmp_path / "measured.yaml"))


def test_deviations_are_in_the_units_of_what_they_are_about(tmp_path: Path) -> None:
    yaml = """\
file: measured.csv
parameters: {lr: log}
time: {column: minutes, unit: min}
metrics: {accuracy: {column: acc, unit: percent}}
deviations: {time: sd_minutes, accuracy: sd}
maximize: accuracy
"""
    (tmp_path / "measured.csv").write_text(
        "lr,minutes,acc,sd_minutes,sd\n0.1,2,80,0.5,3\n0.1,2,80,0.5,4\n1,3,70,0,0\n", encoding="utf-8"
    )
    (tmp_path / "measured.yaml").write_text(yaml, encoding="utf-8")
    first, second = load_table(str(tmp_path / "measured.yaml")).measurements.values()
    assert first.deviations == pytest.approx({"time": 30.0, "accuracy": 0.01 * np.sqrt((9 + 16) / 2)})
    assert second.deviations == {"time": 0.0, "accuracy": 0.0}


@pytest.mark.parametrize("name", ["rnn", "cnn"])
def test_the_published_tables_say_how_runs_scatter(name: str) -> None:
    path = default_data() / "trimtuner" / f"{name}.csv"
    needs(path)
    with path.open(encoding="utf-8-sig", newline="") as file:
        written = [(float(r["standard deviation time"]), float(r["training_time"])) for r in csv.DictReader(file)]
    measured = load_table(f"trimtuner-{name}").measurements.values()
    assert sorted((one.deviations["time"], one.seconds) for one in measured) == sorted(written)
    assert all(0 <= one.deviations["accuracy"] < 0.5 for one in measured), "of shares"
