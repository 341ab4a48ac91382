"""Results on disk: found again by everything that decides them, never half-written, damage is noticed."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from leantune.errors import StoreError
from leantune.files import digest
from leantune.lab.replay import kept as module
from leantune.lab.replay.kept import Kept, Key, decisive_files, program_digest
from leantune.lab.replay.runs import Settings
from tests.lab.replay.small import row, small, verdict

KEY = Key("table", Settings("eic"), 0, "program")
ROWS = [row(1, None, start=True), row(2, verdict(feasible=False, ratio=math.inf)), row(3, verdict())]


def test_rows_are_found_again(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "deep" / "folder")
    assert kept.get(KEY) is None
    kept.put(KEY, ROWS)
    assert Kept(kept.folder).get(KEY) == ROWS
    assert kept.damaged == []


OTHERS = [
    replace(KEY, table="other"),
    replace(KEY, seed=1),
    replace(KEY, program="other"),
    *(
        replace(KEY, settings=settings)
        for settings in (
            Settings("ei"),
            Settings("eic", "cea:0.2"),
            Settings("eic", iterations=43),
            Settings("eic", usd=1.0),
            Settings("eic", parallel=2),
        )
    ),
]


def test_whatever_decides_a_result_is_in_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [KEY.name, *(key.name for key in OTHERS)]
    assert len(set(names)) == len(names)
    assert replace(KEY).name == KEY.name
    kept = Kept(tmp_path)
    kept.put(KEY, ROWS)
    assert [kept.get(key) for key in OTHERS] == [None] * len(OTHERS)
    monkeypatch.setattr(module, "FORMAT", module.FORMAT + 1)
    assert kept.get(KEY) is None, "rows of another meaning"


def test_the_key_of_a_run_names_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = small(tmp_path)
    key = Key.of(table, Settings("eic"), 5)
    assert (key.table, key.seed) == (table.digest, 5)
    assert Key.of(table, Settings("eic"), 5) == key
    (tmp_path / "own_kept.py").write_text("make = None\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    before = Key.of(table, Settings("own_kept:make"), 5)
    (tmp_path / "own_kept.py").write_text("make = 1\n", encoding="utf-8")
    assert Key.of(table, Settings("own_kept:make"), 5).program != before.program, "a tuner of one's own was changed"


PLACES = (*module.DECISIVE, "report")


def test_the_sources_that_decide_a_result_are_in_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = {name: name if name.endswith(".py") else f"{name}/deep/one.py" for name in PLACES}
    sources = {name: tmp_path / path for name, path in inside.items()}
    for source in sources.values():
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text("a = 1\n", encoding="utf-8")
    monkeypatch.setattr(module, "files", lambda _name: tmp_path)

    def now() -> str:
        program_digest.cache_clear()
        return program_digest()

    seen = [now()]
    sources.pop("report").write_text("a = 2\n", encoding="utf-8")
    assert now() == seen[0]
    for source in sources.values():
        source.write_text("a = 2\n", encoding="utf-8")
        seen.append(now())
    (tmp_path / "cloud" / "prices.csv").touch()
    seen.append(now())
    (tmp_path / "space" / "two.py").touch()
    seen.append(now())
    assert len(set(seen)) == len(seen)
    monkeypatch.undo()
    program_digest.cache_clear()


def test_a_digest_tells_parts_apart() -> None:
    assert digest([b"ab", b"c"]) != digest([b"a", b"bc"]) != digest([b"abc"])
    assert digest([]) != digest([b""])


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"rows": 3}', '{"rows": [{"test": 1}]}', "\x00", '{"rows": [3]}']
)
def test_a_damaged_file_counts_as_missing_and_is_named(tmp_path: Path, text: str) -> None:
    kept = Kept(tmp_path)
    kept.put(KEY, ROWS)
    path = tmp_path / KEY.name
    path.write_text(text, encoding="utf-8")
    assert kept.get(KEY) is None
    assert kept.damaged == [path]
    kept.put(KEY, ROWS)
    assert Kept(tmp_path).get(KEY) == ROWS


def test_a_process_that_dies_while_it_writes_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file of that name appears by one rename: whatever is written before has another name."""
    kept = Kept(tmp_path)

    class PowerCutError(BaseException):
        pass

    def dies(path: Path, target: Path) -> None:
        assert (path.parent, target.name) == (tmp_path, KEY.name)
        assert path.name != KEY.name
        raise PowerCutError

    monkeypatch.setattr(Path, "replace", dies)
    with pytest.raises(PowerCutError):
        kept.put(KEY, ROWS)
    assert kept.get(KEY) is None
    assert kept.damaged == []
    assert list(tmp_path.glob("*.json")) == []
    monkeypatch.undo()
    kept.put(KEY, ROWS)
    assert kept.get(KEY) == ROWS


def test_a_folder_that_cannot_hold_results_is_refused_before_anything_runs(tmp_path: Path) -> None:
    Kept(tmp_path / "new").prepare()
    assert list((tmp_path / "new").iterdir()) == []
    (tmp_path / "file").touch()
    for kept in (Kept(tmp_path / "file"), Kept(tmp_path / "file" / "below")):
        with pytest.raises(StoreError, match="results cannot be kept") as caught:
            kept.prepare()
        assert caught.value.where == str(kept.folder)
        with pytest.raises(StoreError):
            kept.put(KEY, ROWS)


def test_a_kept_file_says_what_it_is_of(tmp_path: Path) -> None:
    Kept(tmp_path).put(KEY, ROWS)
    document = json.loads((tmp_path / KEY.name).read_text(encoding="utf-8"))
    assert document["key"]["settings"]["strategy"] == "eic"
    assert document["format"] == module.FORMAT
    assert len(document["rows"]) == 3


def test_a_room_that_is_gone_does_not_drop_out_of_the_digest(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "b.py").write_text("b")
    (tmp_path / "a.py").write_text("a")
    assert [path.name for path in decisive_files(tmp_path, ["room", "a.py"])] == ["a.py", "b.py"]
    with pytest.raises(StoreError, match="no elsewhere to make the digest of"):
        decisive_files(tmp_path, ["room", "elsewhere"])
