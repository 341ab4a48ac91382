"""`leantune spot train` end to end on small histories: files that answer, scores, and what is wrong."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import Result

from leantune.cli.spot_train import Scored, best_of, counted_tries
from leantune.cli.terminal import activity
from leantune.lab.training.training import Attempt, judged, train_kind
from leantune.revocation.predictors import load, predictor
from tests.cli import tiny
from tests.revocation.made import SMALL, markets, small_slices

pytest.importorskip("safetensors")
QUICK = ("--predictors", "hazard,logistic", "--tries", 2, "--processes", 1, "--questions", 800)


def invoke(*arguments: object) -> Result:
    return tiny.invoke("spot", "train", *arguments)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("prices") / "history.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["timestamp", "instance_type", "availability_zone", "product", "price"])
        for one in markets():
            for time, price in zip(one.times, one.prices, strict=True):
                stamp = datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
                rows.writerow([stamp, one.market.instance_type, one.market.zone, one.market.product, price])
    return path


def told(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_predictors_are_scored_and_written_to_files(history: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    said = told(invoke("--prices", history, "--out", out, *QUICK, "--json"))
    assert [row["name"] for row in said["predictors"]] == ["hazard", "logistic"]
    assert said["markets"] == ["m4.large/us-east-1a", "r3.large/us-east-1a"]
    assert {"brier", "accuracy", "f1", "calibration_error", "area"} <= set(said["untrained"]["pooled"])
    assert said["periods"]["train"][1] < said["periods"]["validation"][0] < said["periods"]["test"][0]
    one = markets()[0]
    for row in said["predictors"]:
        asked = load(Path(row["file"]))
        assert 0 <= asked.predict([one], np.array([one.end]), np.array([one.at(one.end) * 1.05]))[0] <= 1
        provenance = load(Path(row["file"])).provenance
        assert provenance["source"] == str(history)
        assert provenance["test"]["pooled"] == row["pooled"]
        assert provenance["plan"]["tries"] == 2
    scores = {row["name"]: row["pooled"]["brier"] for row in [*said["predictors"], said["untrained"]]}
    assert said["best"] == min(scores, key=lambda name: scores[name])


def test_the_same_seed_gives_the_same_scores_and_markets_may_have_their_own_models(
    history: Path, tmp_path: Path
) -> None:
    command = ("--prices", history, "--out", tmp_path, *QUICK, "--per-market", "--json")
    first, second = told(invoke(*command)), told(invoke(*command))
    assert [row["pooled"] for row in first["predictors"]] == [row["pooled"] for row in second["predictors"]]
    loaded = load(tmp_path / "logistic.safetensors")
    assert sorted(loaded.models) == first["markets"]


def test_people_get_a_table_and_the_file_to_use(history: Path, tmp_path: Path) -> None:
    result = invoke("--prices", history, "--out", tmp_path, *QUICK)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == f"2 markets of {history}"
    assert "of them revoked" in lines[1]
    briers = [float(line.split()[1]) for line in lines[3:6]]
    assert briers == sorted(briers)
    assert lines[-1].startswith(f"Least Brier score: {lines[3].split()[0]}. Use ")
    assert "try 4 of 4: logistic" in result.stderr


def test_without_prices_generated_ones_are_used(tmp_path: Path) -> None:
    quick = ("--predictors", "hazard", "--tries", 1, "--processes", 1, "--questions", 600, "--days", 10)
    said = told(invoke("--out", tmp_path, *quick, "--seed", 3, "--json"))
    assert said["source"] == "generated volatile prices, seed 3"
    assert len(said["markets"]) == 6


def test_a_folder_of_kept_prices_serves_too_and_days_cut_it(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from leantune.cloud.price_store import PriceStore

    PriceStore(tmp_path / "kept").update({one.market: one for one in markets()})
    said = told(invoke("--prices", tmp_path / "kept", "--out", tmp_path / "out", *QUICK, "--days", 8, "--json"))
    begin = datetime.fromisoformat(said["periods"]["train"][0])
    end = datetime.fromisoformat(said["periods"]["test"][1])
    assert (end - begin).total_seconds() == pytest.approx(8 * 86400, abs=120)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--predictors", "oracle"), "no predictor 'oracle'"),
        (("--predictors", ","), "no predictors to train"),
        (("--days", 0), "Give more than 0"),
        (("--days", 1), "too few to train"),
    ],
)
def test_wrong_input_is_told(history: Path, tmp_path: Path, arguments: tuple[object, ...], words: str) -> None:
    result = invoke("--prices", history, "--out", tmp_path, *QUICK, *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_out_that_is_a_file_is_refused(history: Path) -> None:
    result = invoke("--prices", history, "--out", history, *QUICK)
    assert result.exit_code == 2
    assert "cannot be made" in result.stderr


def test_every_try_is_told_with_its_number(capsys: pytest.CaptureFixture[str]) -> None:
    slices = small_slices()
    heard: list[Attempt] = []
    train_kind("hazard", slices, SMALL, heard.append)
    with activity("spot train", 2, quiet=0.0) as tell:
        done = counted_tries(tell, 2)
        done(heard[0])
        done(heard[0])
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"spot train: try 1 of 2: hazard, validation Brier score {heard[0].brier:.4f}"
    assert lines[1].startswith("spot train: try 2 of 2")


def test_the_best_may_be_the_untrained_one() -> None:
    untrained = Scored(judged(predictor(), small_slices().test))
    assert best_of([untrained]) is untrained
