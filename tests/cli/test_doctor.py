"""What the doctor finds, on this machine and on machines made up for it."""

import os
import sys
from pathlib import Path

import pytest

from leantune.cli import doctor
from leantune.cli.doctor import Diagnosis, Finding, PartFinding, Status
from leantune.cli.parts import BASE, PARTS, Part

GONE = "leantune_no_such_module"


def test_a_sound_installation_is_healthy_and_every_base_part_has_a_version() -> None:
    diagnosis = doctor.examine()
    assert diagnosis.healthy
    base = [found for found in diagnosis.parts if found.part.is_base]
    assert len(base) == sum(part.is_base for part in PARTS)
    assert all(found.status is Status.OK and found.version for found in base)


def test_a_base_part_that_is_not_there_is_broken_and_the_hint_says_how_to_get_it() -> None:
    found = doctor.examine_part(Part(GONE, GONE, "nothing"))
    assert found.status is Status.BROKEN
    assert "ModuleNotFoundError" in found.hint
    assert f"pip install --force-reinstall {GONE}" in found.hint


def test_a_base_part_that_does_not_load_is_broken_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "half_installed.py").write_text("raise OSError('libexample.so.1: cannot open\\nmore lines')\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = doctor.examine_part(Part("half-installed", "half_installed", "nothing"))
    assert found.status is Status.BROKEN
    assert found.hint.startswith("OSError: libexample.so.1: cannot open; try: ")


def test_an_extra_that_is_not_there_is_missing_which_is_no_illness() -> None:
    found = doctor.examine_part(Part(GONE, GONE, "nothing", ("ray",)))
    assert (found.status, found.hint) == (Status.MISSING, "pip install 'leantune[ray]'")
    assert Diagnosis("1", (), (found,)).healthy


def test_an_extra_inside_a_package_that_is_not_there_is_missing() -> None:
    assert doctor.examine_part(Part(GONE, f"{GONE}.inner", "nothing", ("ray",))).status is Status.MISSING


def test_an_extra_is_not_imported_to_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_extra.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert doctor.examine_part(Part("slow-extra", "slow_extra", "nothing", ("ray",))).status is Status.OK
    assert "slow_extra" not in sys.modules


@pytest.mark.parametrize("status", Status)
def test_only_broken_is_an_illness(status: Status) -> None:
    machine = Diagnosis("1", (Finding("cores", status, "2"),), ())
    library = Diagnosis("1", (), (PartFinding(Part("x", "x", "nothing", (BASE,)), status),))
    assert machine.healthy is library.healthy is (status is not Status.BROKEN)


def test_an_old_python_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor.check_python().status is Status.OK
    monkeypatch.setattr(doctor, "OLDEST_PYTHON", (99, 0))
    assert doctor.check_python().status is Status.BROKEN


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
def test_cores_are_those_of_the_affinity_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert doctor.check_cores().detail == "1 of 64 may be used"


def test_threads_of_a_proposal_are_told_and_a_wrong_number_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEANTUNE_THREADS", "3")
    assert doctor.check_threads().detail.startswith("3 for a proposal")
    monkeypatch.setenv("LEANTUNE_THREADS", "many")
    found = doctor.check_threads()
    assert found.status is Status.BROKEN
    assert "'many'" in found.detail


def test_memory_is_the_containers_where_that_is_less(tmp_path: Path) -> None:
    limit = tmp_path / "memory.max"
    machine = doctor.memory_gib(limit)
    limit.write_text("max\n")
    assert doctor.memory_gib(limit) == machine > 0
    limit.write_text(f"{2**29}\n")
    assert doctor.memory_gib(limit) == 0.5
    limit.write_text(f"{2**62}\n")
    assert doctor.memory_gib(limit) == machine


def test_little_memory_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "memory_gib", lambda: 1.0)
    assert doctor.check_memory() == Finding(
        "memory", Status.WARNING, "1.0 GiB", "spaces of a million pairs want about 2 GiB"
    )


def test_the_kernel_cache_is_the_named_folder_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "not" / "there" / "yet"))
    assert doctor.check_kernel_cache() == Finding("kernel cache", Status.OK, str(tmp_path / "not" / "there" / "yet"))


def test_no_place_for_kernels_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setattr(doctor, "kernel_cache_candidates", lambda: [file, file / "inside"])
    found = doctor.check_kernel_cache()
    assert found.status is Status.BROKEN
    assert "NUMBA_CACHE_DIR" in found.hint


def test_the_cache_folder_is_the_one_numba_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    beside_the_source, users = doctor.kernel_cache_candidates()
    assert beside_the_source.parent.name == "models"
    assert users == tmp_path / "numba"


def test_blas_threads_are_told_by_library() -> None:
    found = doctor.check_blas()
    assert found.status is Status.OK
    assert ": " in found.detail


def test_blas_check_of_a_broken_numpy_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.linalg", None)
    found = doctor.check_blas()
    assert found.status is Status.BROKEN
    assert "scipy.linalg" in found.detail
