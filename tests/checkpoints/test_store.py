"""Checkpoints: what was saved comes back, whatever happens on the way."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.checkpoints import store as module
from leantune.checkpoints.contents import Contents, scan
from leantune.checkpoints.store import CheckpointStore
from leantune.errors import CheckpointError

KEY = "trial-0003"


@pytest.fixture
def store(tmp_path: Path) -> CheckpointStore:
    return CheckpointStore(tmp_path / "store", "study")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "run" / "checkpoint"
    path.mkdir(parents=True)
    return path


def fill(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


def texts(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def objects(tmp_path: Path) -> list[str]:
    """Everything in the store that is a file, staged parts of uploads included."""
    root = tmp_path / "store"
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def test_a_checkpoint_comes_back_elsewhere(store: CheckpointStore, folder: Path, tmp_path: Path) -> None:
    fill(folder, model="weights", optimiser="momentum")
    fill(folder / "nested" / "deeper", epoch="7")
    fill(folder, empty="")
    (folder / "hollow").mkdir()
    (folder / "latest").symlink_to("nested/deeper")
    os.utime(folder / "model", ns=(10**18, 10**18))
    assert store.save(KEY, folder) == 1
    there = tmp_path / "elsewhere"
    assert store.restore(KEY, there) == 1
    assert texts(there) == texts(folder)
    assert (there / "latest").readlink() == Path("nested/deeper")
    assert (there / "hollow").is_dir()
    assert (there / "model").stat().st_mtime_ns == 10**18


def test_generations_count_up_and_only_the_newest_is_kept(store: CheckpointStore, folder: Path, tmp_path: Path) -> None:
    fill(folder, model="1", stale="x")
    assert store.save(KEY, folder) == 1
    (folder / "stale").unlink()
    fill(folder, model="2")
    assert store.save(KEY, folder) == 2
    assert store.generation(KEY) == 2
    there = tmp_path / "elsewhere"
    assert store.restore(KEY, there) == 2
    assert texts(there) == {"model": "2"}
    assert len(objects(tmp_path)) == 2  # one file, one manifest


def test_nothing_to_save_keeps_what_there_is(store: CheckpointStore, folder: Path, tmp_path: Path) -> None:
    assert store.save(KEY, folder) == 0
    assert store.save(KEY, tmp_path / "no-such-folder") == 0
    assert objects(tmp_path) == []
    fill(folder, model="1")
    store.save(KEY, folder)
    (folder / "model").unlink()
    (folder / "only-folders").mkdir()
    assert store.save(KEY, folder) == 0
    assert store.generation(KEY) == 1


def test_restoring_without_a_checkpoint_makes_the_folder_and_keeps_what_is_in_it(
    store: CheckpointStore, tmp_path: Path
) -> None:
    there = tmp_path / "deep" / "checkpoint"
    assert store.restore(KEY, there) == 0
    assert there.is_dir()
    fill(there, model="mine")
    assert store.restore(KEY, there) == 0
    assert texts(there) == {"model": "mine"}


def test_a_local_folder_as_new_or_newer_is_kept(store: CheckpointStore, folder: Path) -> None:
    fill(folder, model="saved")
    store.save(KEY, folder)
    fill(folder, model="newer than the save")
    assert store.restore(KEY, folder) == 1
    assert texts(folder) == {"model": "newer than the save"}


def test_a_local_folder_behind_the_store_is_replaced(store: CheckpointStore, folder: Path, tmp_path: Path) -> None:
    fill(folder, model="1", stale="x")
    store.save(KEY, folder)
    there = tmp_path / "other-host"
    store.restore(KEY, there)
    fill(there, model="2")
    store.save(KEY, there)
    assert store.restore(KEY, folder) == 2
    assert texts(folder) == {"model": "2", "stale": "x"}
    fill(folder, model="3")
    assert store.restore(KEY, folder) == 2
    assert texts(folder)["model"] == "3"


def test_a_marker_of_another_store_counts_for_nothing(store: CheckpointStore, folder: Path, tmp_path: Path) -> None:
    fill(folder, model="of this study")
    store.save(KEY, folder)
    other = CheckpointStore(tmp_path / "store", "other")
    there = tmp_path / "there"
    fill(there, model="of the other study")
    other.save(KEY, there)
    assert other.restore(KEY, folder) == 1
    assert texts(folder) == {"model": "of the other study"}


@pytest.mark.parametrize("marker", [b"", b"\xff", b"3", b"99999999"])
def test_an_unreadable_marker_counts_for_nothing(store: CheckpointStore, folder: Path, marker: bytes) -> None:
    fill(folder, model="1")
    store.save(KEY, folder)
    (folder.parent / ".checkpoint.generation").write_bytes(marker)
    fill(folder, model="changed")
    store.restore(KEY, folder)
    assert texts(folder) == {"model": "1"}


def test_leftovers_of_killed_restores_are_removed(store: CheckpointStore, folder: Path) -> None:
    fill(folder, model="1")
    store.save(KEY, folder)
    for kind in ("restoring-12345678", "replaced-12345678"):
        fill(folder.parent / f".checkpoint.{kind}", big="x")
    store.restore(KEY, folder)
    assert sorted(path.name for path in folder.parent.iterdir()) == [".checkpoint.generation", "checkpoint"]


def test_deleting_leaves_nothing(store: CheckpointStore, folder: Path, tmp_path: Path) -> None:
    fill(folder, model="1")
    store.save(KEY, folder)
    store.save("trial-0004", folder)
    assert store.keys() == [KEY, "trial-0004"]
    store.delete(KEY)
    assert store.keys() == ["trial-0004"]
    assert store.generation(KEY) == 0
    store.delete(KEY)
    store.delete("trial-0004")
    assert list((tmp_path / "store").iterdir()) == []


def test_studies_do_not_see_each_other(tmp_path: Path, folder: Path) -> None:
    names = [
        "a",
        "A",
        "a b",
        "a-b",
        "a/b",
        "ä",
        "ö",
        "..",
        ".",
        "",
        "x" * 300,
        "x" * 299,
        "a%20b",
        "\udcff",
        "\ud800",
        "CON",
    ]
    for index, name in enumerate(names):
        fill(folder, model=str(index))
        assert CheckpointStore(tmp_path / "store", name).save(KEY, folder) == 1
    for index, name in enumerate(names):
        there = tmp_path / f"there-{index}"
        assert CheckpointStore(tmp_path / "store", name).restore(KEY, there) == 1
        assert texts(there) == {"model": str(index)}
    folders = [path.name for path in (tmp_path / "store").iterdir()]
    assert len({name.lower() for name in folders}) == len(names)  # also where files ignore case
    assert max(len(name) for name in folders) <= 64


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=20).filter(
            lambda name: name not in (".", "..") and len(os.fsencode(name)) < 200
        ),
        st.binary(max_size=50),
        max_size=5,
    ),
)
def test_any_file_name_comes_back(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    tmp_path = tmp_path_factory.mktemp("names")
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    store = CheckpointStore(tmp_path / "store", "study")
    assert store.save(KEY, folder) == bool(files)
    store.restore(KEY, tmp_path / "there")
    assert {path.name: path.read_bytes() for path in (tmp_path / "there").iterdir()} == files


def test_a_file_name_that_is_no_unicode_comes_back(store: CheckpointStore, folder: Path, tmp_path: Path) -> None:
    name = os.fsdecode(b"model-\xff\xfe")
    (folder / name).write_text("1")
    store.save(KEY, folder)
    store.restore(KEY, tmp_path / "there")
    assert [os.fsencode(path.name) for path in (tmp_path / "there").iterdir()] == [b"model-\xff\xfe"]


@pytest.mark.parametrize("key", ["", ".", "..", "a/b", "A", "a b", "../x", "trial\n", "x" * 101, "ü"])
def test_odd_keys_are_refused(store: CheckpointStore, folder: Path, key: str) -> None:
    for call in (store.save, store.restore):
        with pytest.raises(CheckpointError, match="cannot name a checkpoint"):
            call(key, folder)
    with pytest.raises(CheckpointError, match="cannot name a checkpoint"):
        store.delete(key)
    with pytest.raises(CheckpointError, match="cannot name a checkpoint"):
        store.generation(key)


def test_a_borrowed_checkpoint_belongs_to_the_borrower(store: CheckpointStore, folder: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    assert store.borrow("trial-0000", mine) == 0
    assert list(mine.iterdir()) == []
    (folder / "w").write_text("theirs")
    assert store.save("trial-0000", folder) == 1
    assert store.borrow("trial-0000", mine) == 1
    assert (mine / "w").read_text() == "theirs"
    (mine / "w").write_text("mine")
    assert store.save("trial-0001", mine) == 1
    assert (store.keys(), store.places()) == (["trial-0000", "trial-0001"], ["trial-0000", "trial-0001"])
    assert (folder / "w").read_text() == "theirs"


def _scanning(monkeypatch: pytest.MonkeyPatch, before_scan: Callable[[int], None]) -> None:
    """Let something happen before each look at the folder: the first is before the copy, the second after it."""
    calls = 0

    def scanning(folder: Path) -> Contents:
        nonlocal calls
        calls += 1
        before_scan(calls)
        return scan(folder)

    monkeypatch.setattr(module, "scan", scanning)


def test_a_file_that_changes_while_it_is_copied_is_copied_again(
    store: CheckpointStore, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder, model="half")
    _scanning(monkeypatch, lambda call: fill(folder, model="whole") if call == 2 else None)
    assert store.save(KEY, folder) == 1
    store.restore(KEY, tmp_path / "there")
    assert texts(tmp_path / "there") == {"model": "whole"}
    assert len(objects(tmp_path)) == 2


def test_a_file_that_vanishes_while_it_is_copied_is_no_error(
    store: CheckpointStore, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder, model="1", temporary="x")
    chunks = module._Chunks

    def reading(path: Path) -> module._Chunks:
        if path.name == "temporary" and path.exists():
            path.unlink()
        return chunks(path)

    monkeypatch.setattr(module, "_Chunks", reading)
    assert store.save(KEY, folder) == 1
    store.restore(KEY, tmp_path / "there")
    assert texts(tmp_path / "there") == {"model": "1"}


def test_a_folder_that_never_holds_still_is_given_up_and_the_old_checkpoint_stays(
    store: CheckpointStore, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder, model="good")
    store.save(KEY, folder)
    _scanning(monkeypatch, lambda call: fill(folder, model="x" * call))
    with pytest.raises(CheckpointError, match=r"changed while they were copied, 3 times.*rename them"):
        store.save(KEY, folder)
    assert len(objects(tmp_path)) == 2
    store.restore(KEY, tmp_path / "there")
    assert texts(tmp_path / "there") == {"model": "good"}


KILLED = """
import os, sys
from contextlib import suppress
from pathlib import Path
import obstore
from leantune.checkpoints import store as module

place, folder, moment = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
write_new, write_whole, delete = module.write_new, module.write_whole, obstore.delete

def dying_file(path, chunks):
    write_new(path, chunks)
    if path.name == "000001" and moment == "after file":
        os._exit(9)

def dying_manifest(path, *args, **kwargs):
    if moment == "before manifest":
        os._exit(9)
    if moment == "within manifest":
        os.link = lambda *_: os._exit(9)
    write_whole(path, *args, **kwargs)
    if moment == "after manifest":
        os._exit(9)

class Chunks(module._Chunks):
    def __iter__(self):
        for number, chunk in enumerate(super().__iter__()):
            yield chunk
            if number == 3:
                os._exit(9)

def dying_delete(*args):
    delete(*args)
    os._exit(9)

module.write_new, module.write_whole = dying_file, dying_manifest
if moment == "while deleting":
    module.obstore.delete = dying_delete
if moment == "within a file":
    module.CHUNK = 1 << 20
    module._Chunks = Chunks
module.CheckpointStore(place, "study").save("trial-0003", folder)
"""


@pytest.mark.parametrize(
    ("moment", "found"),
    [
        ("within a file", "old"),
        ("after file", "old"),
        ("before manifest", "old"),
        ("within manifest", "old"),
        ("after manifest", "new"),
        ("while deleting", "new"),
    ],
)
def test_a_save_that_is_killed_leaves_a_whole_checkpoint(
    store: CheckpointStore, folder: Path, tmp_path: Path, moment: str, found: str
) -> None:
    fill(folder, a="old", b="old", c="old")
    store.save(KEY, folder)
    size = 6 * 2**20 if moment == "within a file" else 1
    fill(folder, a="new" * size, b="new" * size, c="new" * size)
    command = [sys.executable, "-c", KILLED, str(tmp_path / "store"), str(folder), moment]
    assert subprocess.run(command, check=False).returncode == 9
    assert store.restore(KEY, tmp_path / "there") == (1 if found == "old" else 2)
    assert texts(tmp_path / "there") == dict.fromkeys("abc", found)
    fill(folder, a="last", b="last", c="last")
    number = store.save(KEY, folder)
    store.restore(KEY, tmp_path / "there")
    assert texts(tmp_path / "there") == dict.fromkeys("abc", "last")
    data = [path.split("/")[2] for path in objects(tmp_path)]
    assert {name[:8] for name in data} == {f"{number:08d}"}  # nothing of the killed one is left
    assert len(data) == 4


def _one_object(tmp_path: Path) -> Path:
    return next(path for path in (tmp_path / "store").rglob("000000"))


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda path: path.write_bytes(b"weighTs"), r"'model.pt' is not what was saved \(its SHA-256 differs\)"),
        (lambda path: path.write_bytes(b"weigh"), "'model.pt' has 5 bytes where 7 were saved"),
        (lambda path: path.unlink(), "'model.pt' is missing"),
    ],
)
def test_a_damaged_checkpoint_is_refused_and_the_folder_stays(
    store: CheckpointStore, folder: Path, tmp_path: Path, harm: Callable[[Path], None], said: str
) -> None:
    (folder / "model.pt").write_text("weights")
    store.save(KEY, folder)
    harm(_one_object(tmp_path))
    there = tmp_path / "there"
    fill(there, model="mine")
    with pytest.raises(CheckpointError, match=said) as caught:
        store.restore(KEY, there)
    assert KEY in caught.value.where
    assert "Delete that folder" in caught.value.hint
    assert texts(there) == {"model": "mine"}
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_generation_replaced_while_it_is_restored_is_followed_by_the_next(
    store: CheckpointStore, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder, a="1", b="1")
    store.save(KEY, folder)
    newest = store._newest
    asked = 0

    def then_saved(prefix: str) -> object:
        nonlocal asked
        asked += 1
        manifest = newest(prefix)
        if asked == 1:
            fill(folder, a="2", b="2")
            store.save(KEY, folder)
        return manifest

    monkeypatch.setattr(store, "_newest", then_saved)
    assert store.restore(KEY, tmp_path / "there") == 2
    assert texts(tmp_path / "there") == {"a": "2", "b": "2"}


def test_two_savers_at_once_damage_nothing(
    store: CheckpointStore, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder, model="first")
    other = tmp_path / "other"
    fill(other, model="second")

    def meanwhile(call: int) -> None:
        if call == 2:
            monkeypatch.setattr(module, "scan", scan)
            assert CheckpointStore(tmp_path / "store", "study").save(KEY, other) == 2

    _scanning(monkeypatch, meanwhile)
    store.save(KEY, folder)
    store.restore(KEY, tmp_path / "there")
    assert texts(tmp_path / "there") == {"model": "second"}


def test_the_same_number_is_given_once(store: CheckpointStore, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(folder, model="1")
    store.save(KEY, folder)
    monkeypatch.setattr(store, "_manifests", lambda prefix: [])
    monkeypatch.setattr(store, "_data_folders", lambda prefix: {})
    with pytest.raises(CheckpointError, match="another process saved the same checkpoint"):
        store.save(KEY, folder)


def test_places_other_than_folders_are_refused(tmp_path: Path) -> None:
    for place in ("s3://bucket/x", "gs://bucket", "https://x.example"):
        with pytest.raises(CheckpointError, match=r"yet .checkpoints.*later version"):
            CheckpointStore(place, "study")
    with pytest.raises(CheckpointError, match="on another machine"):
        CheckpointStore("file://host/folder", "study")
    for nothing in ("", "file://", "a\0b"):
        with pytest.raises(CheckpointError, match="is not a folder"):
            CheckpointStore(nothing, "study")
    (tmp_path / "file").write_text("")
    for place in (str(tmp_path / "file"), str(tmp_path / "file" / "below")):
        with pytest.raises(CheckpointError, match="cannot be kept in"):
            CheckpointStore(place, "study")


def test_a_url_of_a_folder_is_that_folder(folder: Path, tmp_path: Path) -> None:
    fill(folder, model="1")
    place = tmp_path / "a b%20ü"
    CheckpointStore(place.as_uri(), "study").save(KEY, folder)
    assert CheckpointStore(place, "study").generation(KEY) == 1


def test_a_full_disk_is_said_and_leaves_the_old_checkpoint(
    store: CheckpointStore, folder: Path, tmp_path: Path
) -> None:
    """A limit on the size of files stands for a disk without room."""
    fill(folder, model="good")
    store.save(KEY, folder)
    fill(folder, model="x" * 50_000)
    program = (
        "import resource, signal, sys; from pathlib import Path\n"
        "from leantune.checkpoints.store import CheckpointStore; from leantune.errors import CheckpointError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))\n"
        "try: CheckpointStore(sys.argv[1], 'study').save('trial-0003', Path(sys.argv[2]))\n"
        "except CheckpointError as error: sys.exit(str(error))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "store"), str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "'trial-0003' cannot be saved" in done.stderr
    assert "too large" in done.stderr
    assert len(objects(tmp_path)) == 2
    store.restore(KEY, tmp_path / "there")
    assert texts(tmp_path / "there") == {"model": "good"}


def test_big_files_do_not_go_through_memory(folder: Path, tmp_path: Path) -> None:
    size = 160 * 2**20
    with (folder / "big").open("wb") as file:
        file.truncate(size)
    program = (
        "import resource, sys; from pathlib import Path\n"
        "from leantune.checkpoints.store import CheckpointStore\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024\n"
        "store, before = CheckpointStore(sys.argv[1], 'study'), peak()\n"
        "store.save('trial-0003', Path(sys.argv[2])), store.restore('trial-0003', Path(sys.argv[3]))\n"
        "print(peak() - before)\n"
    )
    places = [str(place) for place in (tmp_path / "store", folder, tmp_path / "there")]
    grown = int(subprocess.run([sys.executable, "-c", program, *places], capture_output=True, check=True).stdout)
    assert (tmp_path / "there" / "big").stat().st_size == size
    assert grown < size / 2
    for path in (tmp_path / "there" / "big", _one_object(tmp_path)):
        path.unlink()


def test_a_folder_from_before_the_last_boot_is_not_trusted(
    store: CheckpointStore, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its program had written more since, and nobody knows what of it reached the disk before the power went."""
    fill(folder, model="saved")
    store.save(KEY, folder)
    fill(folder, model="newer")
    assert store.restore(KEY, folder) == 1
    assert texts(folder) == {"model": "newer"}
    boot = tmp_path / "boot"
    monkeypatch.setattr(module, "_BOOT", boot)
    for another in ("another boot", None):  # None: nobody tells
        boot.unlink(missing_ok=True) if another is None else boot.write_text(another)
        fill(folder, model="")
        store.restore(KEY, folder)
        assert texts(folder) == {"model": "saved"}
