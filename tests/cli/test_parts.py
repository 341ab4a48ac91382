"""The doctor's table of parts says what pyproject.toml says."""

import re
import tomllib
from pathlib import Path

import pytest

from leantune.cli.parts import BASE, PARTS, Part

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TOOLS_OF_CONTRIBUTORS = "dev"


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
        for extra in part.extras:
            told.setdefault(extra, set()).add(part.distribution.lower())
    assert told == declared()


def test_no_part_is_listed_twice() -> None:
    assert len({part.distribution for part in PARTS}) == len(PARTS)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.distribution)
def test_each_part_says_what_it_is_for(part: Part) -> None:
    assert part.purpose
    assert part.is_base == (part.extras == (BASE,))


def test_the_command_for_an_extra_names_the_extra_and_is_quoted_for_a_shell() -> None:
    assert Part("ray", "ray", "clusters", ("ray",)).install_command == "pip install 'leantune[ray]'"
    assert Part("numpy", "numpy", "arrays").install_command == "pip install --force-reinstall numpy"
