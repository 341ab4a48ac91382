"""The file of `leantune spot simulate --settings`."""

from pathlib import Path

import pytest

from leantune.cloud.billing import AZURE
from leantune.errors import JobError
from leantune.lab.simulate.settings import SimulationSettings, read_settings
from leantune.lab.simulate.setup import Revoking


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("map.yaml", "types.csv", "runtimes.csv"):
        (tmp_path / name).touch()
    return tmp_path


def read(folder: Path, text: str) -> SimulationSettings:
    path = folder / "settings.yaml"
    path.write_text(text, encoding="utf-8")
    return read_settings(path)


def test_all_settings(folder: Path) -> None:
    text = (
        "hours: 2\ndays: 3.5\ntheta: 1\nmcnt: 1\ntraces: map.yaml\nrevocations: capacity\nprovider: azure\n"
        "hour_value: 0.5\nexponent: 0\nspeeds: runtimes.csv\ninstances: types.csv\n"
    )
    traces, speeds, instances = (folder / name for name in ("map.yaml", "runtimes.csv", "types.csv"))
    settings = SimulationSettings(2.0, 3.5, 1.0, 1, traces, "capacity", "azure", 0.5, 0.0, speeds, instances)
    assert read(folder, text) == settings
    assert settings.revoking(seed=3) == Revoking("capacity", traces, AZURE, 3)


def test_traces_take_machines_unless_only_prices_are_named(folder: Path) -> None:
    assert read(folder, "hours: 1").revoking(seed=0).mode == "price"
    assert read(folder, "traces: map.yaml").revoking(seed=0).mode == "both"
    assert read(folder, "traces: map.yaml\nrevocations: price").revoking(seed=0).mode == "price"


@pytest.mark.parametrize(
    ("line", "says", "hint"),
    [
        ("hours: 0", "0 is not above 0", "hours: 4"),
        ("hours: long", "'long' where a number is expected", "hours: 4"),
        ("hours: .nan", ".nan is not a finite number", "Write a number"),
        ("days: 401", "401 is more than 400", "days: 30"),
        ("theta: 2", "2 is more than 1", "theta: 0.7"),
        ("mcnt: 0", "0 is less than 1", "mcnt: 3"),
        ("mcnt: 1.5", "1.5 where a whole number is expected", "mcnt: 3"),
        ("traces: absent.yaml", "there is no file", "in the folder of the settings"),
        ("revocations: prices", "'prices' is unknown", "Did you mean 'price'?"),
        ("revocations: both", "revocations by both need traces", "Add traces:"),
        ("provider: ibm", "'ibm' is unknown", "aws, gcp, azure"),
        ("hour_value: -1", "-1 is less than 0", "hour_value: 0.5"),
        ("exponent: -0.1", "-0.1 is less than 0", "exponent: 0.6"),
        ("speeds: 3", "3 where a text is expected", "Name a file"),
        ("teta: 0.7", "unknown key 'teta'", "Did you mean 'theta'?"),
    ],
)
def test_errors_name_line_and_key(folder: Path, line: str, says: str, hint: str) -> None:
    with pytest.raises(JobError) as caught:
        read(folder, f"# mine\n{line}\n")
    assert says in caught.value.what
    assert caught.value.where == f"{folder / 'settings.yaml'}, line 2, {line.partition(':')[0]}"
    assert hint in caught.value.hint


def test_an_empty_file_and_none(folder: Path) -> None:
    with pytest.raises(JobError, match="the settings file is empty"):
        read(folder, "# nothing\n")
    with pytest.raises(JobError, match="there is no such settings file"):
        read_settings(folder / "absent.yaml")
