"""Rules of the house that no other tool checks."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "leantune"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINS = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
EXTRAS_OF_THE_MAKEFILE = ("bench", "demo", "dev")
LONGEST_FUNCTION = 50
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.name not in {"__init__.py", "__main__.py"})


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_constraints_are_exact_pins_and_nothing_else() -> None:
    assert [line for line in PINS if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []
    names = [canonical(line.split("==")[0]) for line in PINS]
    assert len(names) == len(set(names))
    assert "torch==2.13.0" in PINS  # plain: the tag +cpu exists on one index only


def test_everything_the_makefile_installs_is_pinned() -> None:
    pinned = {canonical(line.split("==")[0]) for line in PINS}
    wanted = [*PROJECT["dependencies"], "hatchling"]
    for extra in EXTRAS_OF_THE_MAKEFILE:
        wanted += PROJECT["optional-dependencies"][extra]
    names = {canonical(re.split(r"[\[<>=~! ]", requirement)[0]) for requirement in wanted}
    assert names - pinned == set()


def test_every_pip_call_of_the_makefile_is_constrained() -> None:
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
    installs = [line for line in lines if re.search(r"\$\(PIP\)|pip install", line) and not line.startswith("PIP ")]
    assert installs
    assert all("-c constraints.txt" in line for line in installs)


@pytest.mark.parametrize("name", ["Makefile", ".ci/run", "pyproject.toml", "README.md", "CONTRIBUTING.md"])
def test_no_path_or_index_of_one_machine_is_written_down(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert re.findall(r"/(?:root|home|work|opt|tmp)/\S*|--(?:extra-)?index-url|--find-links", text) == []


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_functions_fit_on_a_screen(module: Path) -> None:
    tree = ast.parse(module.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = {f.name: length for f in functions if (length := (f.end_lineno or f.lineno) - f.lineno) >= LONGEST_FUNCTION}
    assert long == {}


def test_tests_mirror_the_source() -> None:
    """Nine modules in ten have a test of their own name; the rest (protocols, kernels) is tested through its users."""
    mirrored = {module: module.relative_to(SOURCE).with_name(f"test_{module.name}") for module in MODULES}
    own = [module for module in MODULES if module.parent.name != "testing"]
    without = [str(module.relative_to(SOURCE)) for module in own if not (ROOT / "tests" / mirrored[module]).is_file()]
    assert len(without) <= len(own) / 10, without
