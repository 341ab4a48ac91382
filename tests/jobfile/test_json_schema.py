"""The JSON schema allows what the readers allow, and knows every key."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from leantune.jobfile.job import KEYS, job_schema
from leantune.jobfile.tree import read_tree
from tests.jobfile.texts import PRODUCT, text

ROOT = Path(__file__).parents[2]
JOBS = sorted(ROOT.glob("examples/*/job*.yaml"))
TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


def allows(schema: dict[str, Any], value: Any) -> bool:
    """Those words of JSON Schema that ours uses; any other is a KeyError."""
    return all(CHECKS[word](value, wanted, schema) for word, wanted in schema.items())


def is_type(value: Any, wanted: str | list[str], _: object) -> bool:
    names = [wanted] if isinstance(wanted, str) else wanted
    return any(isinstance(value, TYPES[name]) and (name == "boolean") >= isinstance(value, bool) for name in names)


CHECKS: dict[str, Any] = {
    **dict.fromkeys(("$schema", "title", "description"), lambda *_: True),
    "type": is_type,
    "enum": lambda value, wanted, _: value in wanted,
    "const": lambda value, wanted, _: value == wanted,
    "pattern": lambda value, wanted, _: re.search(wanted, value) is not None,
    "minimum": lambda value, wanted, _: value >= wanted,
    "exclusiveMinimum": lambda value, wanted, _: value > wanted,
    "exclusiveMaximum": lambda value, wanted, _: value < wanted,
    "minItems": lambda value, wanted, _: not isinstance(value, list) or len(value) >= wanted,
    "maxItems": lambda value, wanted, _: not isinstance(value, list) or len(value) <= wanted,
    "minProperties": lambda value, wanted, _: not isinstance(value, dict) or len(value) >= wanted,
    "required": lambda value, wanted, _: not isinstance(value, dict) or set(wanted) <= set(value),
    "anyOf": lambda value, wanted, _: any(allows(each, value) for each in wanted),
    "oneOf": lambda value, wanted, _: sum(allows(each, value) for each in wanted) == 1,
    "items": lambda value, wanted, _: not isinstance(value, list) or all(allows(wanted, item) for item in value),
    "properties": lambda value, wanted, _: (
        not isinstance(value, dict) or all(allows(wanted[key], value[key]) for key in wanted.keys() & value.keys())
    ),
    "additionalProperties": lambda value, wanted, schema: (
        not isinstance(value, dict)
        or all(wanted and allows(wanted, value[key]) for key in value.keys() - schema.get("properties", {}).keys())
    ),
}


def allowed(job: str) -> bool:
    return allows(job_schema(), read_tree(job, "job.yaml").plain())


def test_it_is_plain_json_and_knows_every_key() -> None:
    schema = job_schema()
    assert json.loads(json.dumps(schema)) == schema
    assert tuple(schema["properties"]) == tuple(KEYS)
    assert all(part.get("description") for part in schema["properties"].values())
    run = schema["properties"]["run"]["properties"]
    assert run["parallel"] == {"type": "integer", "minimum": 1, "description": "Write a whole number of at least 1"}
    assert "volatile" in run["market"]["properties"]["regime"]["enum"]


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.parent.name)
def test_it_allows_the_examples(path: Path) -> None:
    assert allowed(path.read_text(encoding="utf-8"))


def test_it_allows_every_form() -> None:
    assert len(JOBS) >= 4
    assert allowed(PRODUCT)
    assert allowed(text(train="train: [python, train.py, 3]", x="strategy: {name: nephele, horizon: 1}"))
    assert allowed(text(space="space:\n  a: [1, b]\n  b: {int: [1, 8], log: true, when: {a: [1]}}\n  c: {bool: true}"))
    assert allowed(text(checkpoints="checkpoints: {keep: all}", x="stop: never\nrepeats: 3\nbaseline: {lr: 0.1}"))


@pytest.mark.parametrize(
    "line",
    [
        "run: {paralel: 2}",
        "run: {parallel: 0}",
        "run: {on: moon}",
        "seed: -1",
        "stop: soon",
        "stratgy: lean",
        "store: 5",
    ],
)
def test_it_refuses_what_the_readers_refuse(line: str) -> None:
    assert not allowed(text(x=line))


def test_a_job_has_one_goal() -> None:
    assert not allowed(text(maximize=""))
    assert not allowed(text(x="minimize: loss"))
