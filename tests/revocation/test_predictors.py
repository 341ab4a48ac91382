"""Which predictors there are, tables for simulations, and files: the same answers after loading, clear refusals."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leantune.errors import InvalidInput
from leantune.revocation.kinds import KINDS
from leantune.revocation.predictors import load, named_or_saved, over_deltas, predictor, save
from leantune.revocation.trained import ALL_MARKETS, PlattLine, Trained
from tests.revocation.made import markets, small_slices, walk


def test_the_default_needs_no_training() -> None:
    assert predictor().name == "online-hazard"
    assert named_or_saved("online-hazard").name == "online-hazard"


def test_others_have_to_be_trained_or_do_not_exist() -> None:
    with pytest.raises(InvalidInput, match=r"trained first.*--predictors boosted"):
        predictor("boosted")
    with pytest.raises(InvalidInput, match="no predictor 'oracle'"):
        predictor("oracle")
    with pytest.raises(InvalidInput, match="no such file"):
        named_or_saved(str(Path("no") / "such.safetensors"))


def test_tables_hold_what_single_questions_give() -> None:
    series, online = walk(), predictor()
    times, deltas = np.linspace(series.end - 9e4, series.end, 7), np.array([0.01, 0.1, 1.0])
    table = over_deltas(online, series, times, deltas)
    assert table.shape == (7, 3)
    for row, column in ((0, 0), (3, 1), (6, 2)):
        limit = series.at(times[row]) * (1 + deltas[column])
        alone = online.predict([series.until(times[row])], times[row : row + 1], np.array([limit]))[0]
        assert table[row, column] == pytest.approx(alone)


# -- files


@pytest.fixture(scope="module")
def numpy_files() -> Any:
    return pytest.importorskip("safetensors.numpy")


@pytest.fixture(scope="module")
def kept(numpy_files: Any) -> Trained:
    pytest.importorskip("sklearn.linear_model")
    slices = small_slices()
    models = {}
    for number, one in enumerate(slices.train.series):
        train = slices.train.of_market(number)
        models[str(one.market)] = KINDS["logistic"].fit(train, train, KINDS["logistic"].default, 0)
    lines = {name: PlattLine(1.5, -0.25) for name in models}
    return Trained("logistic", models, lines, {"markets": list(models), "scores": {"brier": 0.1}})


@pytest.fixture
def path(kept: Trained, tmp_path: Path) -> Path:
    save(kept, tmp_path / "logistic.safetensors")
    return tmp_path / "logistic.safetensors"


def test_a_loaded_predictor_answers_the_same(kept: Trained, path: Path) -> None:
    again = load(path)
    asked = markets()
    times, limits = np.array([one.end for one in asked]), np.array([9.0, 0.3])
    assert np.array_equal(again.predict(asked, times, limits), kept.predict(asked, times, limits))
    assert again.name == "logistic"
    assert again.provenance == kept.provenance
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def rewritten(path: Path, **changes: Any) -> Path:
    """The file with another header."""
    from safetensors import numpy, safe_open

    with safe_open(str(path), framework="np") as file:
        about = json.loads(file.metadata()["leantune"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
    numpy.save_file(tensors, path, metadata={"leantune": json.dumps({**about, **changes})})
    return path


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": 99}, "its version is 99, this LeanTune reads 1"),
        ({"features_version": 0}, "its features version is 0"),
        ({"format": "x"}, "its format is 'x'"),
        ({"kind": "oracle"}, "unknown kind of predictor, 'oracle'"),
        ({"digest": "0"}, "damaged: its numbers are not those"),
        ({"models": [{}]}, "damaged: its header lacks 'market'"),
        ({"kind": "boosted"}, "damaged: a boosted model cannot be made of it"),
    ],
)
def test_what_does_not_fit_is_refused(path: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as refused:
        load(rewritten(path, **changes))
    assert refused.value.where == str(path)
    assert "spot train" in refused.value.hint


def test_other_features_are_refused_by_name(path: Path) -> None:
    from safetensors import safe_open

    with safe_open(str(path), framework="np") as file:
        models = json.loads(file.metadata()["leantune"])["models"]
    models[1]["settings"]["features"][0] = "phase_of_the_moon"
    with pytest.raises(InvalidInput, match=r"other features: log_price_to_week, phase_of_the_moon"):
        load(rewritten(path, models=models))


@pytest.mark.parametrize("keep", [0, 5, 200, -1])
def test_cut_off_files_are_refused(path: Path, keep: int) -> None:
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InvalidInput, match="damaged"):
        load(path)


def test_a_changed_number_is_noticed(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match="damaged: its numbers"):
        load(path)


def test_other_files_and_places_are_refused(numpy_files: Any, kept: Trained, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no such file"):
        load(tmp_path / "none.safetensors")
    numpy_files.save_file({"x": np.zeros(2)}, tmp_path / "other.safetensors")
    with pytest.raises(InvalidInput, match="holds no predictor"):
        load(tmp_path / "other.safetensors")
    with pytest.raises(InvalidInput, match="cannot be written"):
        save(kept, tmp_path / "no folder" / "x.safetensors")


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("name", ["hazard", "logistic-wide", "boosted"])
def test_other_kinds_come_back_too(name: str, tmp_path: Path) -> None:
    slices, kind = small_slices(), KINDS[name]
    model = kind.fit(slices.train, slices.validation, kind.options(2, 0)[1], 0)
    trained = Trained(name, {ALL_MARKETS: model})
    save(trained, tmp_path / "one.safetensors")
    test = slices.test
    again = load(tmp_path / "one.safetensors").predict(test.queried, test.times, test.max_prices)
    assert np.array_equal(again, trained.predict(test.queried, test.times, test.max_prices))
