"""The JSON schema of a job file's readers, for editors.

A reader has it by `reads`, in the line above it; a reader made by `partial` adds its limits and its hint, which are
keywords of it. So a table of readers, key -> reader, is its own JSON schema: `table(readers)`, up to `job.job_schema`.
The schema knows forms, no meanings: a job file that it allows may still be refused (an unknown machine type, a
condition on an unknown parameter).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

Schema = dict[str, Any]
_Reader = TypeVar("_Reader", bound=Callable[..., Any])
TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
TRUTH: Schema = {"type": "boolean"}
AMOUNT: Schema = {"type": ["string", "number"]}  # 10 min, 2 GiB, 0.02
SCALAR: Schema = {"type": ["string", "number", "boolean"]}
NEVER: Schema = {"const": "never"}
_READS: dict[Callable[..., Any], Schema] = {}


def reads(schema: Schema, hint: str = "") -> Callable[[_Reader], _Reader]:
    """Decorator: the JSON that the reader below it reads, and its description."""

    def noted(reader: _Reader) -> _Reader:
        _READS[reader] = schema | ({"description": hint} if hint else {})
        return reader

    return noted


def schema_of(reader: Callable[..., Any], *, hints: bool = True) -> Schema:
    """The schema of a reader, with its limits and (hints) its description."""
    if not isinstance(reader, partial):
        return _READS[reader]
    given = reader.keywords
    limits: Schema = words(given["words"]) if "words" in given else {}
    limits |= {"minimum": given["least"]} if "least" in given else {}
    limits |= {"exclusiveMinimum": 0} if "above_0" in given else {}
    limits |= {"description": given["hint"]} if hints and "hint" in given else {}
    return _READS[reader.func] | limits


def table(readers: Mapping[str, Callable[..., Any]], needs: Iterable[str] = (), *, hints: bool = True) -> Schema:
    """A mapping with these keys; `needs` are those that must be given."""
    return mapping({key: schema_of(reader, hints=hints) for key, reader in readers.items()}, needs)


def mapping(keys: Mapping[str, Schema], needs: Iterable[str] = ()) -> Schema:
    return {"type": "object", "properties": dict(keys), "required": list(needs), "additionalProperties": False}


def by_name(schema: Schema) -> Schema:
    return {"type": "object", "additionalProperties": schema, "minProperties": 1}


def items(schema: Schema) -> Schema:
    return {"type": "array", "items": schema, "minItems": 1}


def one_or_more(schema: Schema) -> Schema:
    return either(schema, items(schema))


def either(*schemas: Schema) -> Schema:
    return {"anyOf": list(schemas)}


def words(texts: Iterable[str]) -> Schema:
    return {"enum": [str(text) for text in texts]}
