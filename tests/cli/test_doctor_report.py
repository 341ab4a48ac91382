"""How a diagnosis is shown."""

import json

import pytest

from leantune.cli.doctor import Diagnosis, Finding, PartFinding, Status
from leantune.cli.doctor_report import as_document, print_tables
from leantune.cli.parts import Part

RAY = PartFinding(Part("ray", "ray", "several machines", ("ray",)), Status.MISSING, hint="pip install 'leantune[ray]'")
STARLETTE = PartFinding(Part("starlette", "starlette", "page", ("ui",)), Status.MISSING, hint="pip install ui")
UVICORN = PartFinding(Part("uvicorn", "uvicorn", "page", ("ui",)), Status.MISSING, hint="pip install ui")
NUMPY = PartFinding(Part("numpy", "numpy", "arrays"), Status.OK, "2.4.6")
BROKEN = PartFinding(Part("scipy", "scipy", "designs"), Status.BROKEN, "1.0", "OSError: [x]; try: pip install scipy")
CORES = Finding("cores", Status.OK, "2 of 4 may be used")
WELL = Diagnosis("1.2.3", (CORES,), (NUMPY, RAY, STARLETTE, UVICORN))
ILL = Diagnosis("1.2.3", (CORES,), (NUMPY, BROKEN))


def test_json_tells_versions_extras_and_hints() -> None:
    told = as_document(WELL)
    assert (told["leantune"], told["healthy"]) == ("1.2.3", True)
    assert told["system"] == [{"name": "cores", "status": "ok", "detail": "2 of 4 may be used", "hint": ""}]
    assert isinstance(told["parts"], list)
    numpy, ray, *_ = told["parts"]
    assert (numpy["version"], numpy["extras"]) == ("2.4.6", [])
    assert (ray["version"], ray["extras"], ray["hint"]) == (None, ["ray"], "pip install 'leantune[ray]'")


def test_an_ill_diagnosis_is_json() -> None:
    told = as_document(ILL)
    assert told["healthy"] is False
    assert json.loads(json.dumps(told)) == told


def test_tables_show_each_command_once_on_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    print_tables(WELL)
    shown = capsys.readouterr().out
    assert "for ray: pip install 'leantune[ray]'\n" in shown
    assert "for starlette, uvicorn: pip install ui\n" in shown
    assert "always needs works" in shown


def test_tables_keep_brackets_of_an_error_and_say_that_something_is_broken(capsys: pytest.CaptureFixture[str]) -> None:
    print_tables(ILL)
    shown = capsys.readouterr().out
    assert "scipy: OSError: [x]; try: pip install scipy\n" in shown
    assert "is broken" in shown
