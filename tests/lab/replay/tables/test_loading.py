"""Tables as a whole: where they are found, what they hold; their goals, limits and medians."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from benchmarks.datasets import trimtuner_space
from leantune.errors import JobError, TableError
from leantune.lab.replay.tables import DATA_VARIABLE, Remark, default_data, load_table, preset_names
from leantune.problem import Constraint, minimize
from tests.lab.replay.made import CSV, table, text

TRIMTUNER = "n_workers,learning_rate,batch_size,synchronism,training_time,n_ps,acc,vm_flavor,training_set_size\n"


def trimtuner(folder: Path) -> Path:
    """A file of the published shape with made-up measurements, in another order."""
    rows = [
        f"{one.cluster.nodes},{one['learning_rate']:.5f},{one['batch_size']},{one['synchronism']},{number},1,0.5,"
        f"{one.cluster.type},{size}\n"
        for number, one in enumerate(reversed(list(trimtuner_space().grid())), 1)
        if one.cluster is not None
        for size in (1000, 6000, 15000, 30000, 60000)
    ]
    (folder / "trimtuner").mkdir()
    (folder / "trimtuner" / "multilayer.csv").write_text(TRIMTUNER + "".join(rows), encoding="utf-8")
    return folder


def test_a_table_of_ones_own(tmp_path: Path) -> None:
    found = table(tmp_path, b"\xef\xbb\xbf" + CSV.encode())
    assert (found.name, found.source, found.problem_name, found.rows) == ("runs", str(tmp_path / "runs.csv"), "", 4)
    assert found.remarks[0] == Remark("byte-order mark", 1, "the file starts with a byte-order mark")
    assert found.problem.budget.usd is None
    assert {key for key, _ in found.measurements} == {one.id for one in found.problem.space.grid()}


def test_the_digest_follows_file_description_and_problem(tmp_path: Path) -> None:
    first = table(tmp_path).digest
    assert len(bytes.fromhex(first)) == hashlib.sha256().digest_size
    assert table(tmp_path).digest == first
    assert table(tmp_path, CSV + "\n").digest != first
    assert table(tmp_path, nan="nan: drop").digest != first


def test_the_space_of_trimtuner(tmp_path: Path) -> None:
    found = load_table("trimtuner-multilayer", data=trimtuner(tmp_path))
    space, expected = found.problem.space, trimtuner_space()
    assert space.feature_names == expected.feature_names
    np.testing.assert_array_equal(space.grid().features, expected.grid().features)
    assert space.grid().rates is not None
    np.testing.assert_array_equal(space.grid().rates, expected.grid().rates)
    assert [one.id for one in space.grid()] == [one.id for one in expected.grid()]
    assert space.parameters["cluster"] == expected.parameters["cluster"]
    assert [str(share) for share in found.problem.fractions] == ["1/60", "1/10", "1/4", "1/2", "1"]
    assert found.problem.snapshots
    for (key, _), measured in list(found.measurements.items())[:5]:
        (rate,) = (one.usd_per_hour for one in space.grid() if one.id == key)
        assert measured.cost == measured.seconds / 3600 * (rate or 0.0)


def test_an_absent_file_is_said_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="the file of measurements is absent") as caught:
        load_table("trimtuner-multilayer", data=tmp_path)
    assert caught.value.where == str(tmp_path / "trimtuner" / "multilayer.csv")
    assert "--data" in caught.value.hint
    (tmp_path / "runs.yaml").write_text(text(), encoding="utf-8")
    with pytest.raises(TableError, match="absent") as caught:
        load_table(str(tmp_path / "runs.yaml"))
    assert caught.value.where == str(tmp_path / "runs.csv")


def test_another_folder_of_data(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "runs.csv").write_text(CSV, encoding="utf-8")
    (tmp_path / "runs.yaml").write_text(text(), encoding="utf-8")
    assert load_table(str(tmp_path / "runs.yaml"), data=tmp_path / "data").rows == 4


def test_names_that_are_no_tables(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="there is no such table") as caught:
        load_table("trimtuner-cn")
    assert caught.value.hint.startswith("Did you mean trimtuner-cnn?")
    with pytest.raises(TableError, match="this is a CSV") as caught:
        load_table(str(tmp_path / "runs.csv"))
    assert "docs/replay-tables.md" in caught.value.hint
    (tmp_path / "runs.yaml").write_bytes(b"file: \xff\n")
    with pytest.raises(TableError, match="this is a CSV") as caught:
        load_table(str(tmp_path / "runs.csv"))
    assert f"Did you mean {tmp_path / 'runs.yaml'}?" in caught.value.hint
    with pytest.raises(TableError, match="not UTF-8"):
        load_table(str(tmp_path / "runs.yaml"))
    for unreadable in (str(tmp_path), "a\0b"):
        with pytest.raises(TableError, match="cannot be read"):
            load_table(unreadable)


def test_problems_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="there is no problem 'cheap'") as caught:
        table(tmp_path, problem="cheap")
    assert caught.value.hint == "It has the main one only"
    with pytest.raises(TableError, match="there is no problem 'cheap'") as caught:
        table(tmp_path, problem="cheap", problems="problems: {cheapest: {minimize: cost}}")
    assert caught.value.hint.startswith("Did you mean 'cheapest'? There are cheapest")


def test_where_data_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    assert default_data() == tmp_path
    monkeypatch.delenv(DATA_VARIABLE)
    repository = Path(__file__).resolve().parents[4]
    assert default_data() == repository.parent / "shared" / "data"
    monkeypatch.setattr("leantune.lab.replay.tables.loading._REPOSITORY", tmp_path)
    assert default_data() == Path("shared/data")


def test_presets_are_listed() -> None:
    assert preset_names() == (
        "cherrypick-kmeans",
        "cherrypick-terasort",
        "cherrypick-tpch",
        "demo-mnist",
        *(f"lcbench-{task}" for task in (167104, 168908, 189906, 34539, 3945)),
        "lynceus-cnn",
        "lynceus-rnn",
        "trimtuner-cnn",
        "trimtuner-multilayer",
        "trimtuner-rnn",
        *(f"xgboost-{task}" for task in (1461, 1486, 1489, 40984)),
    )


def test_the_median_stands_for_a_number(tmp_path: Path) -> None:
    found = table(tmp_path, subject_to="subject_to: [time <= median @ 0.9, accuracy >= median, cost <= 1 USD]")
    assert found.problem.constraints == (
        Constraint("time", True, 30.0, 0.9),
        Constraint("accuracy", False, (0.6 + 0.8) / 2),
        Constraint("cost", True, 1.0),
    )
    assert [one.text for one in found.remarks if one.kind == "median"] == [
        "the median time of 2 full-data runs is 30 s",
        "the median accuracy of 2 full-data runs is 0.7",
    ]


def test_failed_runs_have_no_median(tmp_path: Path) -> None:
    csv = CSV.replace("20,0.6", "20,")
    found = table(tmp_path, csv, subject_to="subject_to: time <= median")
    assert found.problem.constraints[0].limit == 40.0
    with pytest.raises(JobError, match="there is no median time"):
        table(tmp_path, csv.replace("40,0.8", "40,"), subject_to="subject_to: time <= median")


def test_problems_by_name(tmp_path: Path) -> None:
    lines = {"problems": "problems: {cheap: {minimize: cost, at: anywhere, subject_to: [accuracy >= 0.6]}}"}
    main, cheap = table(tmp_path, **lines), table(tmp_path, problem="cheap", **lines)
    assert (main.problem_name, cheap.problem_name) == ("", "cheap")
    assert cheap.problem.goal == minimize("cost", at="anywhere")
    assert main.digest != cheap.digest
    assert main.problem.constraints == ()


@pytest.mark.parametrize(
    ("lines", "says", "where"),
    [
        ({"subject_to": "subject_to: [time < median]"}, "'<' cannot be checked", "line 8, subject_to item 1"),
        ({"subject_to": "subject_to: [loss <= median]"}, "there is no metric 'loss'", "line 8, subject_to item 1"),
        ({"subject_to": "subject_to: [loss <= 3]"}, "there is no metric 'loss'", "line 8, subject_to item 1"),
        ({"subject_to": "subject_to: [time <= 5]"}, "has no unit", "line 8, subject_to item 1"),
        ({"subject_to": "subject_to: [accuracy >= 0.9, accuracy >= 0.8]"}, "two limits", "line 8, subject_to item 2"),
        ({"cluster": "", "subject_to": "subject_to: [cost <= $1]"}, "needs dollars", "line 7, subject_to item 1"),
        ({"cluster": "", "maximize": "minimize: cost"}, "needs dollars", "line 6, minimize"),
    ],
)
def test_wrong_limits(tmp_path: Path, lines: dict[str, str], says: str, where: str) -> None:
    with pytest.raises(JobError) as caught:
        table(tmp_path, **lines)
    assert says in caught.value.what
    assert caught.value.where == f"{tmp_path / 'runs.yaml'}, {where}"
    assert caught.value.hint
