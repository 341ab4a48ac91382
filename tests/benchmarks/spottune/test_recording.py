"""The recorder: quick, resumable, and read back by the product."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.spottune import images, recording
from benchmarks.spottune.families import FAMILIES, Family, Setting
from leantune.clock import SimulatedClock
from leantune.lab.simulate.workloads import parsed, recorded_jobs


class Toy:
    """Halves its value at each report; the rate 3 diverges, the rate 4 is interrupted the first time."""

    interruptions = 1

    def __init__(self, setting: Setting) -> None:
        self._rate, self._value, self.steps = setting["lr"], 8.0, 0

    def advance(self) -> None:
        if self._rate == 4 and self.steps == 20 and Toy.interruptions:
            Toy.interruptions -= 1
            raise KeyboardInterrupt
        sum(range(2000))  # some CPU time
        self._value = self._value / 2 if self._rate != 3 else math.inf
        self.steps += 10

    def validate(self) -> float:
        return self._value

    def state(self) -> dict[str, NDArray[np.generic]]:
        return {"value": np.array(self._value), "steps": np.array(self.steps)}

    def load(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        self._value, self.steps = float(state["value"]), int(state["steps"])


TOY = Family(
    name="Toy",
    metric="loss",
    grid={"lr": (1, 2, 3, 4)},
    build=Toy,
    reports=lambda _: 3,
    source=lambda: "made",
    weight=1,
    drops=lambda _: (10.0, 99.0),
)


def test_what_is_recorded() -> None:
    clock = SimulatedClock(86400.0)
    result = recording.record(TOY, {"lr": 1}, clock, 3)
    assert (result["name"], result["steps"], result["values"]) == ("toy-lr1", [10, 20, 30], [4.0, 2.0, 1.0])
    assert len(result["seconds"]) == 3 and min(result["seconds"]) > 0
    assert result["drops"] == [10.0]  # a drop after the end is none
    assert result["recorded"] == "1970-01-02T00:00:00+00:00"
    assert result["model_bytes"] > 0 and result["save_seconds"] > 0 and result["restore_seconds"] > 0
    assert {"python", "numpy", "torch"} == set(result["versions"])


def test_an_interrupted_recording_goes_on_and_is_packed_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Toy, "interruptions", 1)
    out, shipped, clock = tmp_path / "out", tmp_path / "shipped", SimulatedClock()
    with pytest.raises(KeyboardInterrupt):
        recording.record_all([TOY], out, clock)
    assert recording.pack([TOY], out, shipped) == []
    kept = {file.name: file.stat().st_mtime_ns for file in out.glob("*.json")}
    assert sorted(kept) == ["toy-lr1.json", "toy-lr2.json", "toy-lr3.json"]
    (out / ".toy-lr4.json.123").write_text('{"half', encoding="utf-8")  # as a killed process leaves it
    assert recording.record_all([TOY], out, clock) == 1
    assert all((out / name).stat().st_mtime_ns == kept[name] for name in kept)
    assert recording.record_all([TOY], out, clock) == 0
    (file,) = recording.pack([TOY], out, shipped)
    jobs = parsed(file.read_text(encoding="utf-8"), file.name)
    assert [job.setting["lr"] for job in jobs] == [1, 2, 3, 4]
    assert jobs[3].values.tolist() == [4.0, 2.0, 1.0]
    assert np.isnan(jobs[2].values).all()  # diverged, and stays so
    assert (out / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_a_setting_recorded_for_another_length_is_recorded_again(tmp_path: Path) -> None:
    file = tmp_path / "toy-lr1.json"
    file.write_text(json.dumps(recording.record(TOY, {"lr": 1}, SimulatedClock(), 2)), encoding="utf-8")
    assert recording.recorded(TOY, {"lr": 1}, tmp_path) is None


def test_a_checkpoint_that_loses_something_would_be_seen() -> None:
    trainer, fresh = TOY.build({"lr": 1}), TOY.build({"lr": 1})
    trainer.advance()
    size, save, restore = recording.checkpoint_seconds(trainer, fresh)
    assert (fresh.steps, fresh.validate()) == (10, 4.0)
    assert size > 16 and save > 0 and restore > 0


@pytest.mark.parametrize(("value", "written"), [(0.123456789, 0.123457), (math.nan, None), (math.inf, None)])
def test_numbers_are_short_and_never_nan(value: float, written: Any) -> None:
    assert recording._rounded(value, recording.DIGITS) == written


@pytest.mark.parametrize("name", FAMILIES)
def test_todays_code_trains_what_was_recorded(name: str) -> None:
    """Whoever changes how a family is trained must record it again; sums in another order are allowed for."""
    if name in ("CNN", "ResNet"):
        pytest.importorskip("torch")
    family, job = FAMILIES[name], recorded_jobs(name)[0]
    if name in ("LoR", "LiR", "CNN", "ResNet") and "Fashion" not in images.load().source:
        pytest.skip(f"recorded on Fashion-MNIST, whose folder {images.FASHION_VARIABLE} does not name")
    trainer = family.build(job.setting)
    trainer.advance()
    assert trainer.steps == job.steps[0]
    assert trainer.validate() == pytest.approx(job.values[0], rel=0.01)
    assert [each.setting for each in recorded_jobs(name)] == family.settings()
    assert {len(each.steps) - family.reports(each.setting) for each in recorded_jobs(name)} == {0}
    assert all(each.drops == family.drops(each.setting) for each in recorded_jobs(name))


@pytest.mark.parametrize(
    ("arguments", "guessing"),
    [
        pytest.param(["--only", "GBTR"], 1.0, id="GBTR"),  # its targets are standardised
        pytest.param([], math.log(10), id="ResNet"),  # ten classes
    ],
)
def test_quick_records_one_setting_for_two_epochs(arguments: list[str], guessing: float, tmp_path: Path) -> None:
    """What CI runs. A loss need not fall from the first epoch to the second; it must be less than that of guessing."""
    if not arguments:
        pytest.importorskip("torch")
    recording.main(["--quick", "--out", str(tmp_path), "--shipped", str(tmp_path / "shipped"), *arguments])
    (file,) = (tmp_path / "quick").glob("*.json")
    result = json.loads(file.read_text(encoding="utf-8"))
    assert len(result["values"]) == 2 and max(result["values"]) < guessing
    assert not (tmp_path / "shipped").exists()
