"""The public names of `leantune`, and what importing it costs."""

import subprocess
import sys
from importlib import metadata

import pytest

import leantune

PUBLIC = {
    "Budget",
    "Space",
    "Study",
    "boolean",
    "choice",
    "clusters",
    "current_trial",
    "errors",
    "integer",
    "linear",
    "log",
    "machine",
    "maximize",
    "minimize",
    "ordinal",
    "when",
}
HEAVY = ("numpy", "scipy", "numba", "sqlalchemy", "pydantic", "torch")


def in_a_fresh_process(program: str) -> str:
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    return run.stdout.strip()


def test_public_names_are_these_and_no_others() -> None:
    assert set(leantune.__all__) == PUBLIC
    assert leantune.__all__ == sorted(leantune.__all__)
    assert set(dir(leantune)) == PUBLIC | {"__version__"}


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_each_public_name_is_there_and_documented(name: str) -> None:
    thing = getattr(leantune, name)
    assert thing is getattr(leantune, name)
    assert thing.__doc__


def test_star_import_brings_the_public_names() -> None:
    names: dict[str, object] = {}
    exec("from leantune import *", names)
    assert names.keys() - {"__builtins__"} == PUBLIC


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Studdy'"):
        _ = leantune.Studdy  # type: ignore[attr-defined]


def test_import_loads_no_heavy_library() -> None:
    loaded = in_a_fresh_process(f"import sys, leantune; print([name for name in {HEAVY} if name in sys.modules])")
    assert loaded == "[]"


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_each_public_name_can_be_the_first_one_asked_for(name: str) -> None:
    assert in_a_fresh_process(f"import leantune; print(leantune.{name} is leantune.{name})") == "True"


def test_the_version_is_told_in_one_place() -> None:
    assert metadata.version("leantune") == leantune.__version__
