"""The published tables, where they are on this machine: the facts that the papers tell."""

import pytest

from leantune.jobfile import load_job
from leantune.lab.replay.tables import MeasuredTable, default_data, load_table, preset_names, preset_text
from leantune.lab.replay.tables.description import parse_description
from leantune.lab.replay.truth import facts
from leantune.problem import Problem
from tests.data import needs
from tests.test_examples import EXAMPLES


def loaded(name: str, problem: str = "") -> MeasuredTable:
    needs(default_data() / parse_description(preset_text(name), name).file)
    return load_table(name, problem=problem)


@pytest.mark.parametrize(
    ("name", "feasible", "near", "best"),
    [("trimtuner-cnn", 111, 39, 0.98747), ("trimtuner-rnn", 178, 28, 0.98047)],
)
def test_the_best_of_trimtuner(name: str, feasible: int, near: int, best: float) -> None:
    found = facts(loaded(name))
    assert (found["rows"], found["configurations"], found["feasible"], found["near_optimal"]) == (
        1440,
        288,
        feasible,
        near,
    )
    assert isinstance(found["best"], float)
    assert round(found["best"], 5) == best


@pytest.mark.parametrize(
    ("name", "feasible", "at_full", "best", "share", "best_at_full"),
    [
        ("trimtuner-cnn", 208, 61, 0.003546, "1/10", 0.014498),
        ("trimtuner-rnn", 264, 104, 0.001653, "1/4", 0.003464),
    ],
)
def test_the_cheapest_of_trimtuner(
    name: str, feasible: int, at_full: int, best: float, share: str, best_at_full: float
) -> None:
    found = facts(table := loaded(name, "cheapest"))
    shares = found["feasible_by_fraction"]
    assert isinstance(shares, dict)
    assert (found["feasible"], shares["1"]) == (feasible, at_full)
    assert isinstance(found["best"], float)
    assert (round(found["best"], 6), found["best_fraction"]) == (best, share)
    assert round(cheapest_at_full(table.problem, table), 6) == best_at_full


def cheapest_at_full(problem: Problem, table: MeasuredTable) -> float:
    accuracy, time = problem.constraints
    return min(
        one.cost or 0.0
        for (_, share), one in table.measurements.items()
        if share == 1 and accuracy.holds(one.metrics["accuracy"]) and time.holds(one.seconds)
    )


def test_remarks_on_trimtuner() -> None:
    remarks = [one.text for one in loaded("trimtuner-cnn").remarks]
    (cut,) = remarks
    assert cut.startswith("146 of 288 full-data runs (371 of 1,440 at all fractions) reached the time limit of 600 s")
    assert [one.text for one in loaded("trimtuner-rnn").remarks] == ["the file starts with a byte-order mark"]


@pytest.mark.parametrize(
    ("name", "reached", "late", "cut"), [("lynceus-cnn", 272, 10, 122), ("lynceus-rnn", 341, 2, 45)]
)
def test_lynceus(name: str, reached: int, late: int, cut: int) -> None:
    """Some runs reached the accuracy when the ten minutes were over."""
    table = loaded(name)
    found = facts(table)
    assert (found["configurations"], found["feasible"]) == (384, reached - late)
    assert sum(one.metrics["accuracy"] >= 0.85 for one in table.measurements.values()) == reached
    assert sum(one.cut for one in table.measurements.values()) == cut
    assert table.problem.space.has_prices


@pytest.mark.parametrize(
    ("name", "rows", "feasible", "limit"),
    [
        ("cherrypick-kmeans", 47, 24, 904.27),
        ("cherrypick-terasort", 72, 36, 894.38),
        ("cherrypick-tpch", 52, 26, 485.1068345305),
    ],
)
def test_cherrypick(name: str, rows: int, feasible: int, limit: float) -> None:
    table = loaded(name)
    found = facts(table)
    assert (found["rows"], found["configurations"], found["feasible"]) == (rows, rows, feasible)
    assert table.problem.constraints[0].limit == pytest.approx(limit)
    for one in table.problem.space.grid():
        assert one.cluster is not None
        assert one.usd_per_hour == pytest.approx(one.cluster.nodes * (one.cluster.machine.usd_per_hour or 0.0))


YAHPO = [name for name in preset_names() if name.startswith(("lcbench-", "xgboost-"))]


@pytest.mark.parametrize("name", YAHPO)
def test_yahpo(name: str) -> None:
    """1,000 random configurations; half of them within the median time, all of them without a limit."""
    table = loaded(name)
    epochs = name.startswith("lcbench-")
    problem, levels = table.problem, 11 if epochs else 5
    assert (table.rows, len(problem.space.grid()), len(problem.fractions)) == (1000 * levels, 1000, levels)
    assert (problem.fidelity, problem.snapshots) == (("epochs", True) if epochs else ("data", False))
    assert all(one.cost == pytest.approx(one.seconds / 3600) for one in table.measurements.values())
    assert problem.space.has_prices
    assert facts(table)["feasible"] == 500
    other = "cross-entropy" if epochs else "auc"
    assert facts(loaded(name, other))["feasible"] == 500
    assert facts(loaded(name, "unlimited"))["feasible"] == facts(loaded(name, f"{other}-unlimited"))["feasible"] == 1000


@pytest.mark.parametrize("name", [name for name in YAHPO if name.startswith("lcbench-")])
def test_more_epochs_take_more_seconds(name: str) -> None:
    """What fidelity: epochs says: one run passes all levels."""
    table = loaded(name)
    for configuration in table.problem.space.grid():
        seconds = [table.measurements[configuration.id, share].seconds for share in table.problem.fractions]
        assert seconds == sorted(seconds)


def test_the_demo() -> None:
    found = facts(loaded("demo-mnist"))
    assert (found["configurations"], found["feasible"], found["best"]) == (486, 336, 0.955)
    job = load_job(EXAMPLES / "02_job_file" / "job.yaml").problem
    table = loaded("demo-mnist").problem
    assert (table.goal, table.constraints, table.fractions, table.fidelity) == (
        job.goal,
        job.constraints,
        job.fractions,
        job.fidelity,
    )
