"""Tables as a whole: where they are found, what they hold."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from benchmarks.datasets import trimtuner_space
from leantune.errors import TableError
from leantune.lab.replay.tables import DATA_VARIABLE, Remark, default_data, load_table, preset_names
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
