"""Predictors in files: safetensors, whose header says what the numbers are and which features they were trained on.

    header["leantune"] = JSON: format, version, features_version, kind, models [{market, settings, calibration}],
    provenance, digest (SHA-256 of the tensors, so that damage is seen)

A file is refused when its format, version or features are not this LeanTune's, or when it is damaged.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from leantune.errors import InvalidInput, needed
from leantune.files import write_whole
from leantune.revocation.features import FEATURES_VERSION
from leantune.revocation.kinds import KINDS
from leantune.revocation.trained import PlattLine, Settings, Tensors, Trained

FORMAT = "leantune-spot-predictor"
VERSION = 1
_KEY = "leantune"
_AGAIN = "Train it again with `leantune spot train`"


@dataclass(frozen=True)
class SavedPredictor:
    """A predictor and where it comes from: training period, markets, options, scores, as plain JSON values."""

    predictor: Trained
    provenance: Mapping[str, Any] = field(default_factory=dict)


def save(saved: SavedPredictor, path: Path) -> None:
    """Write all of it or nothing."""
    writer = _library("safetensors.numpy").save
    tensors: Tensors = {}
    models = []
    for number, (market, model) in enumerate(saved.predictor.models.items()):
        tensors |= {f"{number}.{name}": np.ascontiguousarray(value) for name, value in model.tensors().items()}
        line = saved.predictor.calibrations.get(market, PlattLine())
        models.append({"market": market, "settings": model.settings(), "calibration": [line.slope, line.intercept]})
    about = {
        "format": FORMAT,
        "version": VERSION,
        "features_version": FEATURES_VERSION,
        "kind": saved.predictor.kind,
        "models": models,
        "provenance": dict(saved.provenance),
        "digest": _digest(tensors),
    }
    content = writer(tensors, metadata={_KEY: json.dumps(about)})
    try:
        write_whole(path, content)
    except OSError as error:
        what = f"the predictor cannot be written: {error.strerror}"
        raise InvalidInput(what, where=str(path), hint="Name a folder that can be written to") from None


def load(path: Path) -> SavedPredictor:
    """Read a predictor; refuse what is damaged or made for other features."""
    about, tensors = _read(path)
    _check_made_for_us(about, path)
    try:
        digest, kind = about["digest"], about["kind"]
        entries = [(m["market"], m["settings"], PlattLine(*map(float, m["calibration"]))) for m in about["models"]]
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(path, f"its header lacks {error}") from None
    if digest != _digest(tensors):
        raise _damaged(path, "its numbers are not those that were saved")
    if kind not in KINDS:
        raise InvalidInput(f"it holds an unknown kind of predictor, {kind!r}", where=str(path), hint=_AGAIN)
    models = {}
    for number, (market, settings, _) in enumerate(entries):
        head = f"{number}."
        mine = {n.removeprefix(head): value for n, value in tensors.items() if n.startswith(head)}
        models[market] = _restored(kind, mine, settings, path)
    return SavedPredictor(
        Trained(kind, models, {market: line for market, _, line in entries}), about.get("provenance", {})
    )


def _restored(kind: str, tensors: Tensors, settings: Settings, path: Path) -> Any:
    try:
        model = KINDS[kind].model.restored(tensors, settings)
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(path, f"a {kind} model cannot be made of it: {error}") from None
    ours, theirs = model.settings()["features"], settings.get("features")
    if ours != theirs:
        different = sorted(set(ours) ^ set(theirs or ())) or ["their order"]
        what = f"it was trained on other features: {', '.join(different)}"
        raise InvalidInput(what, where=str(path), hint=_AGAIN)
    return model


def _read(path: Path) -> tuple[dict[str, Any], Tensors]:
    library = _library("safetensors")
    if not path.is_file():
        raise InvalidInput(
            "there is no such file", where=str(path), hint="Name a file that `leantune spot train` wrote"
        )
    try:
        with library.safe_open(str(path), framework="np") as file:
            about = json.loads((file.metadata() or {}).get(_KEY, "null"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no mapping
    except (library.SafetensorError, OSError, ValueError) as error:
        raise _damaged(path, str(error)) from None
    if not isinstance(about, dict):
        raise InvalidInput("this file holds no predictor of LeanTune's", where=str(path), hint=_AGAIN)
    return about, tensors


def _check_made_for_us(about: Mapping[str, Any], path: Path) -> None:
    wanted = {"format": FORMAT, "version": VERSION, "features_version": FEATURES_VERSION}
    for name, value in wanted.items():
        if about.get(name) != value:
            what = f"its {name.replace('_', ' ')} is {about.get(name)!r}, this LeanTune reads {value!r}"
            raise InvalidInput(what, where=str(path), hint=_AGAIN)


def _digest(tensors: Tensors) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        value = np.ascontiguousarray(tensors[name])
        digest.update(f"{name} {value.dtype.str} {value.shape}".encode())
        digest.update(value.tobytes())
    return digest.hexdigest()


def _damaged(path: Path, why: str) -> InvalidInput:
    return InvalidInput(f"the predictor's file is damaged: {why}", where=str(path), hint=_AGAIN)


def _library(module: str) -> Any:
    return needed(module, "files of predictors need the library safetensors", where="spot", extra="revpred")
