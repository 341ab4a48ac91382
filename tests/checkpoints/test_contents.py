"""The scan of a folder and the manifest."""

import json
import os
from pathlib import Path

import pytest

from leantune.checkpoints.contents import Contents, Manifest, SavedFile, scan
from leantune.errors import CheckpointError

MANIFEST = Manifest(3, "00000003-0123abcd", (SavedFile("a/b", "000000", 1, "ff", 5),), ("a",), {"latest": "a/b"})


def test_a_scan_lists_files_folders_and_links(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "model.pt").write_bytes(b"12345")
    (tmp_path / "latest").symlink_to("deep/er/model.pt")
    (tmp_path / "deep" / "newest").symlink_to(tmp_path / "deep" / "er")
    (tmp_path / "gone").symlink_to("nothing-here")
    found = scan(tmp_path)
    assert {name: state.size for name, state in found.files.items()} == {"deep/er/model.pt": 5}
    assert found.folders == ("deep", "deep/er", "empty")
    assert found.links == {"latest": "deep/er/model.pt", "deep/newest": "er", "gone": "nothing-here"}


def test_two_scans_differ_when_a_file_was_written_to(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    path.write_bytes(b"1")
    before = scan(tmp_path)
    assert scan(tmp_path) == before
    path.write_bytes(b"2")
    os.utime(path, ns=(1, 1))
    assert scan(tmp_path) != before


def test_a_folder_that_does_not_exist_is_empty(tmp_path: Path) -> None:
    assert scan(tmp_path / "none") == Contents()


@pytest.mark.parametrize("target", ["../secret", "/etc/passwd", "inside/../../secret"])
def test_a_link_out_of_the_folder_is_refused(tmp_path: Path, target: str) -> None:
    folder = tmp_path / "checkpoint"
    (folder / "inside").mkdir(parents=True)
    (folder / "link").symlink_to(target)
    with pytest.raises(CheckpointError, match=r"'link' is a link to .*, outside"):
        scan(folder)


def test_a_link_that_leaves_by_way_of_another_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "top").symlink_to("../..")
    (folder / "sly").symlink_to("a/b/top/../secret")
    with pytest.raises(CheckpointError, match="'sly' is a link"):
        scan(folder)


def test_a_link_that_leaves_and_comes_back_is_kept_without_the_detour(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    (folder / "model").write_bytes(b"1")
    (folder / "latest").symlink_to("../checkpoint/model")
    assert scan(folder).links == {"latest": "model"}


def test_links_in_a_circle_are_kept(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert scan(tmp_path).links == {"a": "b", "b": "a"}


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CheckpointError, match="'pipe' is neither a file nor a folder"):
        scan(tmp_path)


def test_a_manifest_comes_back(tmp_path: Path) -> None:
    odd = Manifest(1, "00000001-00000000", (SavedFile("\udcff %20 ü\n", "000000", 0, "", 0),), (), {})
    for manifest in (MANIFEST, odd):
        assert Manifest.from_bytes(manifest.to_bytes(), "here") == manifest


def _changed(**changes: object) -> bytes:
    return json.dumps({**json.loads(MANIFEST.to_bytes()), **changes}).encode()


def _file(**changes: object) -> bytes:
    return _changed(files=[{**json.loads(MANIFEST.to_bytes())["files"][0], **changes}])


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b"3",
        MANIFEST.to_bytes()[:-5],
        _changed(files=[{"name": "a"}]),
        _changed(files=3),
        _changed(folders=["../out"]),
        _changed(folders=["/out"]),
        _changed(folders=[3]),
        _changed(links={"..": "x"}),
        _changed(folders=[""]),
        _changed(unknown=1),
        b'{"version": 1, "files": ' + b"[" * 100_000,
        _changed(generation="3"),
        _changed(generation=True),
        _changed(generation=4),
        _changed(data="../00000003-0123abcd"),
        _changed(data="00000003-0123abcd/.."),
        *(_file(name=name) for name in ("../a", "/a", "a/../b", "./a", "a//b", "a\0", "\ud800", 3)),
        *(_file(path=path) for path in ("../000000", "000000/../x", "", 3)),
        *(_file(size=size) for size in (-1, 1.5, "1", 2**70, True)),
        *(_file(modified_ns=moment) for moment in (2**70, -(2**70), 0.5, None)),
        _file(sha256=None),
        _changed(links=[["latest", "a/b"]]),
        _changed(links={"a": "b"}),
        _changed(links={"a/b": "c"}),
        _changed(links={"a/b/c": "d"}),
        *(_changed(links={"latest": end}) for end in ("/etc/passwd", "../a", "a/../..", "", "\0", "\ud800", 3, None)),
    ],
)
def test_a_damaged_manifest_is_refused(raw: bytes) -> None:
    with pytest.raises(CheckpointError, match=r"manifest is damaged \(here\). Delete it"):
        Manifest.from_bytes(raw, "here")


def test_a_manifest_of_a_newer_version_is_refused_with_advice() -> None:
    with pytest.raises(CheckpointError, match=r"unknown version 2.*reads version 1"):
        Manifest.from_bytes(_changed(version=2), "here")
