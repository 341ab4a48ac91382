"""How values are written into columns: shares as "1/60", mappings as JSON, text that every database can hold.

Floats survive exactly: JSON writes the shortest text that reads back as the same number.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from leantune.errors import StoreError
from leantune.history import Estimate, Note, NoteKind, Observation
from leantune.space import Cluster, Configuration

_JSON = json.JSONDecoder()
_SHARES_APART = " "


def clean(text: str) -> str:
    """The text without characters that no column can hold: NUL (PostgreSQL), halves of surrogate pairs (UTF-8)."""
    if text.isascii() and "\x00" not in text:  # nearly always
        return text
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def clean_observation(observation: Observation, where: str) -> Observation:
    """The observation as it can be stored, its numbers checked (SQLite would turn NaN into NULL)."""
    for name, value in (("seconds", observation.seconds), ("cost", observation.cost)):
        if value is not None and not math.isfinite(value):
            raise StoreError(
                f"{name} is {value}", where=where, hint="Give a finite number, or None where it is unknown"
            )
    cause = clean(observation.cause)
    return observation if cause == observation.cause else replace(observation, cause=cause)


def configuration_text(configuration: Configuration) -> str:
    """Canonical JSON; its sha256 is the configuration's id."""
    return json.dumps(
        dict(configuration), sort_keys=True, separators=(",", ":"), allow_nan=False, default=Cluster.as_json
    )


def read_json(text: str) -> Any:
    """The value behind JSON that this module wrote: no space around it, so half of `json.loads` is not needed."""
    return _JSON.raw_decode(text)[0]


def shares_text(shares: Iterable[Fraction]) -> str:
    """Shares as in "1/60 1/10 1"."""
    return _SHARES_APART.join(map(str, shares))


def share_text(share: Fraction | None) -> str | None:
    """A share as in "1/60"."""
    return None if share is None else str(share)


@lru_cache(maxsize=4096)
def read_share(text: str | None) -> Fraction | None:
    """What `share_text` wrote; a study has few different ones, so that each is parsed once."""
    return None if text is None else Fraction(text)


@lru_cache(maxsize=4096)
def read_shares(text: str) -> tuple[Fraction, ...]:
    """What `shares_text` wrote."""
    return tuple(map(Fraction, text.split(_SHARES_APART)))


def metrics_text(metrics: Mapping[str, float]) -> str:
    """Metrics as JSON, NaN and infinities included: a learning curve may have them."""
    return json.dumps({name: float(value) for name, value in metrics.items()}, separators=(",", ":"))


def read_metrics(text: str) -> dict[str, float]:
    """What `metrics_text` wrote."""
    metrics: dict[str, float] = read_json(text)
    return metrics


def expected_text(expected: Mapping[str, Estimate]) -> str:
    """Predictions as JSON: {"accuracy": [mean, sd]}."""
    pairs = {name: (float(estimate.mean), float(estimate.sd)) for name, estimate in expected.items()}
    return json.dumps(pairs, separators=(",", ":"))


def read_expected(text: str) -> dict[str, Estimate]:
    """What `expected_text` wrote."""
    return {} if text == "{}" else {name: Estimate(mean, sd) for name, (mean, sd) in read_json(text).items()}


def clean_notes(notes: Iterable[Note]) -> tuple[Note, ...]:
    """The notes as they can be stored."""
    return tuple(Note(NoteKind(note.kind), clean(note.text)) for note in notes)


def notes_text(notes: Iterable[Note]) -> str:
    """Notes as JSON: [["cap", "the optimum is sought among 10 of 80 configurations"]]."""
    return json.dumps([(note.kind.value, note.text) for note in notes], separators=(",", ":"), ensure_ascii=False)


@lru_cache(maxsize=4096)
def read_notes(text: str) -> tuple[Note, ...]:
    """What `notes_text` wrote; many trials have the same notes."""
    return tuple(Note(NoteKind(kind), words) for kind, words in read_json(text))


def definition_text(definition: Mapping[str, object]) -> str:
    """A study's definition as JSON; StoreError when it is no JSON."""
    try:
        return json.dumps(dict(definition), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise StoreError(
            f"the definition cannot be written as JSON: {error}", where="definition", hint="Use text, numbers and lists"
        ) from None


def read_definition(text: str) -> Mapping[str, object]:
    """What `definition_text` wrote, read-only."""
    return MappingProxyType(read_json(text))
