"""Files of predictors: the same answers after loading, and clear refusals."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leantune.errors import InvalidInput
from leantune.revocation import saved
from leantune.revocation.kinds import KINDS
from leantune.revocation.predictors import load
from leantune.revocation.saved import SavedPredictor
from leantune.revocation.trained import ALL_MARKETS, PlattLine, Trained
from tests.revocation.made import markets, small_slices

numpy_files = pytest.importorskip("safetensors.numpy")


@pytest.fixture(scope="module")
def kept() -> SavedPredictor:
    slices = small_slices()
    models = {}
    for number, one in enumerate(slices.train.series):
        train = slices.train.of_market(number)
        models[str(one.market)] = KINDS["logistic"].fit(train, train, KINDS["logistic"].default, 0)
    lines = {name: PlattLine(1.5, -0.25) for name in models}
    return SavedPredictor(Trained("logistic", models, lines), {"markets": list(models), "scores": {"brier": 0.1}})


@pytest.fixture
def path(kept: SavedPredictor, tmp_path: Path) -> Path:
    saved.save(kept, tmp_path / "logistic.safetensors")
    return tmp_path / "logistic.safetensors"


def test_a_loaded_predictor_answers_the_same(kept: SavedPredictor, path: Path) -> None:
    again = saved.load(path)
    asked = markets()
    times, limits = np.array([one.end for one in asked]), np.array([9.0, 0.3])
    assert np.array_equal(load(path).predict(asked, times, limits), kept.predictor.predict(asked, times, limits))
    assert again.predictor.name == "logistic"
    assert again.provenance == kept.provenance
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def rewritten(path: Path, **changes: Any) -> Path:
    """The file with another header."""
    from safetensors import safe_open

    with safe_open(str(path), framework="np") as file:
        about = json.loads(file.metadata()["leantune"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
    numpy_files.save_file(tensors, path, metadata={"leantune": json.dumps({**about, **changes})})
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
        saved.load(rewritten(path, **changes))
    assert refused.value.where == str(path)
    assert "spot train" in refused.value.hint


def test_other_features_are_refused_by_name(path: Path) -> None:
    from safetensors import safe_open

    with safe_open(str(path), framework="np") as file:
        models = json.loads(file.metadata()["leantune"])["models"]
    models[1]["settings"]["features"][0] = "phase_of_the_moon"
    with pytest.raises(InvalidInput, match=r"other features: log_price_to_week, phase_of_the_moon"):
        saved.load(rewritten(path, models=models))


@pytest.mark.parametrize("keep", [0, 5, 200, -1])
def test_cut_off_files_are_refused(path: Path, keep: int) -> None:
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InvalidInput, match="damaged"):
        saved.load(path)


def test_a_changed_number_is_noticed(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match="damaged: its numbers"):
        saved.load(path)


def test_other_files_and_places_are_refused(kept: SavedPredictor, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no such file"):
        saved.load(tmp_path / "none.safetensors")
    numpy_files.save_file({"x": np.zeros(2)}, tmp_path / "other.safetensors")
    with pytest.raises(InvalidInput, match="holds no predictor"):
        saved.load(tmp_path / "other.safetensors")
    with pytest.raises(InvalidInput, match="cannot be written"):
        saved.save(kept, tmp_path / "no folder" / "x.safetensors")


@pytest.mark.parametrize("name", ["hazard", "logistic-wide", "boosted"])
def test_other_kinds_come_back_too(name: str, tmp_path: Path) -> None:
    slices, kind = small_slices(), KINDS[name]
    model = kind.fit(slices.train, slices.validation, kind.options(2, 0)[1], 0)
    trained = Trained(name, {ALL_MARKETS: model})
    saved.save(SavedPredictor(trained), tmp_path / "one.safetensors")
    test = slices.test
    again = load(tmp_path / "one.safetensors").predict(test.queried, test.times, test.max_prices)
    assert np.array_equal(again, trained.predict(test.queried, test.times, test.max_prices))
