"""What the doctor finds and says, on this machine and on machines made up for it; its parts are pyproject.toml's."""

import json
import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from leantune.cli import doctor
from leantune.cli.command import encoded
from leantune.cli.doctor import PARTS, Diagnosis, Finding, Part, PartFinding, Status, answer

GONE = "leantune_no_such_module"


def test_a_sound_installation_is_healthy_and_every_base_part_has_a_version() -> None:
    diagnosis = doctor.examine()
    assert diagnosis.healthy
    base = [found for found in diagnosis.parts if not found.extras]
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
    library = Diagnosis("1", (), (PartFinding("x", status, None, (), "nothing"),))
    assert machine.healthy is library.healthy is (status is not Status.BROKEN)


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


RAY = PartFinding("ray", Status.MISSING, None, ("ray",), "several machines", "pip install 'leantune[ray]'")
STARLETTE = PartFinding("starlette", Status.MISSING, None, ("ui",), "page", "pip install ui")
UVICORN = PartFinding("uvicorn", Status.MISSING, None, ("ui",), "page", "pip install ui")
NUMPY = PartFinding("numpy", Status.OK, "2.4.6", (), "arrays")
BROKEN = PartFinding("scipy", Status.BROKEN, "1.0", (), "designs", "OSError: [x]; try: pip install scipy")
CORES = Finding("cores", Status.OK, "2 of 4 may be used")
WELL = Diagnosis("1.2.3", (CORES,), (NUMPY, RAY, STARLETTE, UVICORN))
ILL = Diagnosis("1.2.3", (CORES,), (NUMPY, BROKEN))


def test_json_tells_versions_extras_and_hints() -> None:
    told: Any = encoded(answer(WELL).document)
    assert (told["leantune"], told["healthy"]) == ("1.2.3", True)
    assert told["system"] == [{"name": "cores", "status": "ok", "detail": "2 of 4 may be used", "hint": ""}]
    numpy, ray, *_ = told["parts"]
    assert (numpy["version"], numpy["extras"]) == ("2.4.6", [])
    assert (ray["version"], ray["extras"], ray["hint"]) == (None, ["ray"], "pip install 'leantune[ray]'")


def test_an_ill_diagnosis_is_json() -> None:
    told: Any = encoded(answer(ILL).document)
    assert told["healthy"] is False
    assert json.loads(json.dumps(told)) == told


def test_tables_show_each_command_once_on_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    answer(WELL).print(as_json=False)
    shown = capsys.readouterr().out
    assert "for ray: pip install 'leantune[ray]'\n" in shown
    assert "for starlette, uvicorn: pip install ui\n" in shown
    assert "always needs works" in shown


def test_tables_keep_brackets_of_an_error_and_say_that_something_is_broken(capsys: pytest.CaptureFixture[str]) -> None:
    answer(ILL).print(as_json=False)
    shown = capsys.readouterr().out
    assert "scipy: OSError: [x]; try: pip install scipy\n" in shown
    assert "is broken" in shown


PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TOOLS_OF_CONTRIBUTORS = "dev"
BASE = ""  # in place of an extra: always needed


def distributions(requirements: list[str]) -> set[str]:
    names = [re.match(r"[\w.-]+", requirement) for requirement in requirements]
    return {name.group().lower() for name in names if name is not None}


def declared() -> dict[str, set[str]]:
    extras = {extra: distributions(listed) for extra, listed in PROJECT["optional-dependencies"].items()}
    del extras[TOOLS_OF_CONTRIBUTORS]
    return {BASE: distributions(PROJECT["dependencies"])} | extras


def test_the_table_and_pyproject_agree() -> None:
    told: dict[str, set[str]] = {}
    for part in PARTS:
        for extra in part.extras or (BASE,):
            told.setdefault(extra, set()).add(part.distribution.lower())
    assert told == declared()


def test_no_part_is_listed_twice() -> None:
    assert len({part.distribution for part in PARTS}) == len(PARTS)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.distribution)
def test_each_part_says_what_it_is_for(part: Part) -> None:
    assert part.purpose


def test_the_command_for_an_extra_names_the_extra_and_is_quoted_for_a_shell() -> None:
    assert Part("ray", "ray", "clusters", ("ray",)).install_command == "pip install 'leantune[ray]'"
    assert Part("numpy", "numpy", "arrays").install_command == "pip install --force-reinstall numpy"
