"""tools/size: what it counts, and how much of the house a command may load."""

import importlib.machinery
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
MOST_MODULES = 122  # of a local run
# As reached, to be lowered and never raised without a reason: what the house must not lose again.
MOST_VAGUE_NAMES = 0
MOST_CLASS_NAMES_TWICE = 0
MOST_CROWDED = 0.005  # of all functions
NOT_OF_A_LOCAL_RUN = (
    "leantune.revocation",
    "leantune.rent",
    "leantune.lab",
    "leantune.report",
    "leantune.cloud.marketplace",
    "leantune.cloud.prices",
    "leantune.cloud.simcloud",
)


@pytest.fixture(scope="module")
def size() -> ModuleType:
    """The tool as a module: it has no .py in its name."""
    loader = importlib.machinery.SourceFileLoader("size", str(ROOT / "tools" / "size"))
    spec = importlib.util.spec_from_loader("size", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_a_local_run_loads_what_it_needs(size: ModuleType) -> None:
    loaded = size.loaded_modules("run")
    assert "leantune.executors.local" in loaded  # it did run
    assert len(loaded) <= MOST_MODULES, loaded
    assert [name for name in loaded if name.startswith(NOT_OF_A_LOCAL_RUN)] == []


def test_lines_of_every_room_are_counted_once(size: ModuleType) -> None:
    lines = size.lines_by_room()
    files = [path for path in (ROOT / "src" / "leantune").rglob("*.py") if "testing" not in path.parts]
    assert sum(lines.values()) == sum(len(path.read_bytes().splitlines()) for path in files)
    assert {"cli", "history"} < lines.keys()
    assert "testing" not in lines


def test_what_was_moved_out_counts_as_if_it_had_stayed(size: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    before = size.lines_by_room()
    monkeypatch.setattr(size, "MOVED_OUT", {"tools/size": "cli"})
    own = len((ROOT / "tools" / "size").read_bytes().splitlines())
    assert size.lines_by_room() == {**before, "cli": before["cli"] + own}


def test_functions_are_short_and_names_are_nouns(size: ModuleType) -> None:
    shape = size.shape()
    assert shape["long_functions"] == []
    assert len(shape["crowded_functions"]) <= MOST_CROWDED * shape["functions"], shape["crowded_functions"]
    assert len(shape["vague_names"]) <= MOST_VAGUE_NAMES, shape["vague_names"]
    assert len(shape["class_names_twice"]) <= MOST_CLASS_NAMES_TWICE, shape["class_names_twice"]


def test_the_shape_of_a_file(size: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_text(
        "class Twin:\n    def act(self, a, b, c, d, e, f, g, *rest, one=1):\n        self.told = found = one\n"
    )
    (tmp_path / "b.py").write_text("class Twin:\n    pass\n\n\ndef known():\n" + "    print()\n" * 50)
    monkeypatch.setattr(size, "SOURCE", tmp_path)
    assert size.shape() == {
        "files": 2,
        "median_lines": 3,
        "p90_lines": 55,
        "functions": 2,
        "long_functions": ["b.py:known"],
        "crowded_functions": ["a.py:act"],
        "vague_names": ["a.py:one", "a.py:told", "a.py:found", "b.py:known"],
        "class_names_twice": {"Twin": ["a.py", "b.py"]},
    }


@pytest.mark.slow
def test_the_command_prints_json() -> None:
    run = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "size"), "--json"], capture_output=True, text=True, check=True
    )
    sizes = json.loads(run.stdout)
    assert sizes["lines_in_all"] == sum(sizes["lines"].values())
    assert sizes["shape"]["long_functions"] == 0
    assert sizes["modules"].keys() == {"run", "spot run"}
