"""The JSON schema of a job file, for editors.

Keys, limits and hints of `run`, `market`, `budget`, `stop`, `checkpoints` and of machines come from the tables of
readers by which job files are read: a reader's keywords become limits and the description (`hint`) of its key. The
forms of the other keys (`space`, `strategy`, ...) are written here a second time; tests compare the keys and try the
examples.
The schema knows forms, no meanings: a job file that it allows may still be refused (an unknown machine type, a
condition on an unknown parameter).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, get_args

from leantune.jobfile import job, parameters, settings
from leantune.jobfile.tree import Entry, Reader, readers_of
from leantune.problem import At, Fidelity, Scale
from leantune.strategies.registry import STRATEGIES

Schema = dict[str, Any]
_TEXT: Schema = {"type": "string"}
_WHOLE: Schema = {"type": "integer"}
_NUMBER: Schema = {"type": "number"}
_TRUTH: Schema = {"type": "boolean"}
_AMOUNT: Schema = {"type": ["string", "number"]}  # 10 min, 2 GiB, 0.02
_SCALAR: Schema = {"type": ["string", "number", "boolean"]}
_PAIR: Schema = {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}
_LIST: Schema = {"type": "array", "items": _SCALAR, "minItems": 1}


def job_schema() -> Schema:
    """The schema of a whole job file (JSON Schema, draft 2020-12)."""
    keys = {key: schema | ({"description": hint} if hint else {}) for key, (schema, hint) in _keys().items()}
    goal = {"oneOf": [{"required": ["maximize"]}, {"required": ["minimize"]}]}
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "title": "LeanTune job file"} | _object(keys, job.EXAMPLES) | goal


def _keys() -> dict[str, tuple[Schema, str]]:
    """The schema and the hint of every key."""
    goal: dict[str, Schema] = {"metric": _TEXT, "scale": _words(Scale)}
    strategy: Schema = {
        "type": "object",
        "properties": {"name": _words(STRATEGIES)},
        "required": ["name"],
        "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
    }
    return {
        "name": ({**_TEXT, "pattern": f"^{job.NAME.pattern}$"}, job.EXAMPLES["name"]),
        "train": (_either(_TEXT, _LIST), job.TRAIN_HINT),
        "maximize": (_either(_TEXT, _object(goal, ["metric"])), "Write maximize: accuracy"),
        "minimize": (_either(_TEXT, _object({**goal, "at": _words(At)}, ["metric"])), "Write minimize: loss"),
        "subject_to": (_one_or_more(_TEXT), job.LIMIT_HINT),
        "space": (_by_name(_either(_LIST, _form(), _clusters())), parameters.SPACE_HINT),
        "fractions": (_one_or_more(_AMOUNT), job.FRACTIONS_HINT),
        "fidelity": (_words(get_args(Fidelity)), job.FIDELITY_HINT),
        "budget": (_table(settings.BUDGET_READERS) | {"minProperties": 1}, settings.BUDGET_HINT),
        "stop": (_either({"const": "never"}, _table(settings.STOP_READERS, ["regret"])), settings.STOP_HINT),
        "strategy": (_either(_words(STRATEGIES), strategy), job.STRATEGY_HINT),
        "seed": ({**_WHOLE, "minimum": 0}, job.SEED_HINT),
        "repeats": (_either({"const": "never"}, {**_WHOLE, "minimum": 1}), settings.REPEATS_HINT),
        "snapshots": (_TRUTH, "Write true where one run reports at every fraction that it passes"),
        "run": (_table(readers_of(settings.RunSettings)), settings.RUN_HINT),
        "store": (_TEXT, settings.STORE_HINT),
        "checkpoints": (_either(_TEXT, _table(settings.CHECKPOINT_READERS)), settings.KEEP_HINT),
        "steps": ({**_NUMBER, "exclusiveMinimum": 0}, job.STEPS_HINT),
        "settings": ({"type": "array", "items": _by_name(_SCALAR), "minItems": 1}, job.SETTINGS_HINT),
        "baseline": (_by_name({"type": ["string", "number", "boolean", "object"]}), job.BASELINE_HINT),
    }


def _form() -> Schema:
    """A parameter that is no list and no cluster: one of the forms, and where it exists."""
    condition = {"when": _by_name(_one_or_more(_SCALAR))}
    forms: dict[str, dict[str, Schema]] = {
        "log": {"log": _PAIR},
        "linear": {"linear": _PAIR},
        "int": {"int": _PAIR, "log": _TRUTH},
        "choice": {"choice": _LIST},
        "ordinal": {"ordinal": _LIST},
        "bool": {"bool": {"const": True}},
    }
    return _either(*(_object({**keys, **condition}, [name]) for name, keys in forms.items()))


def _clusters() -> Schema:
    counts = _one_or_more({**_WHOLE, "minimum": 1})
    machine = _table(parameters.MACHINE_READERS, ["vcpus", "memory"])
    keys: dict[str, Schema] = {
        "provider": _TEXT,
        "region": _TEXT,
        "machines": _by_name(machine),
        "types": _one_or_more(_TEXT),
        "nodes": _either(*counts["anyOf"], _by_name(counts)),
        "vcpus": counts,
        "extra_nodes": {**_WHOLE, "minimum": 0},
        "overhead_usd_per_hour": _AMOUNT,
        "when": _by_name(_one_or_more(_SCALAR)),
    }
    return _object(keys) | {"oneOf": [{"required": ["provider"]}, {"required": ["machines"]}]}


def _table(readers: Mapping[str, Reader], needs: Iterable[str] = ()) -> Schema:
    return _object({key: _of_reader(reader) for key, reader in readers.items()}, needs)


def _of_reader(reader: Reader) -> Schema:
    """What a reader reads, with the limits and the hint that it was made with."""
    if reader is settings.read_market:
        return _table(settings.MARKET_READERS)
    if not isinstance(reader, partial):
        return _READS[reader]
    if reader.func is parameters.read_size:
        return _of_reader(reader.keywords["read"])
    if reader.func is Entry.word:
        return _words(reader.keywords["words"]) | {"description": reader.keywords["hint"]}
    limits: Schema = {"minimum": reader.keywords["least"]} if "least" in reader.keywords else {}
    limits |= {"exclusiveMinimum": 0} if "above_0" in reader.keywords else {}
    limits |= {"description": reader.keywords["hint"]} if "hint" in reader.keywords else {}
    return _READS[reader.func] | limits


def _object(keys: Mapping[str, Schema], needs: Iterable[str] = ()) -> Schema:
    return {"type": "object", "properties": dict(keys), "required": list(needs), "additionalProperties": False}


def _by_name(schema: Schema) -> Schema:
    return {"type": "object", "additionalProperties": schema, "minProperties": 1}


def _one_or_more(schema: Schema) -> Schema:
    return _either(schema, {"type": "array", "items": schema, "minItems": 1})


def _either(*schemas: Schema) -> Schema:
    return {"anyOf": list(schemas)}


def _words(words: Iterable[str]) -> Schema:
    return {"enum": [str(word) for word in words]}


_READS: Mapping[Callable[..., Any], Schema] = {
    Entry.text: _TEXT,
    Entry.whole: _WHOLE,
    Entry.number: _NUMBER,
    Entry.real: _NUMBER,
    Entry.share: {**_NUMBER, "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    Entry.truth: _TRUTH,
    Entry.quantity: _AMOUNT,
    settings.read_path: _TEXT,
    settings.read_seconds: _TEXT,
}
