"""The predictors by name, the default, and their files.

predictor("online-hazard")  needs no training and no extra: the default of a bare install
load(path)                  one that `leantune spot train` wrote
DEFAULT_KIND                the kind that won on the real prices of 2016 (docs/spot-predictors.md)

A file is of safetensors, whose header says what the numbers are and which features they were trained on:

    header["leantune"] = JSON: format, version, features_version, kind, models [{market, settings, calibration}],
    provenance, digest (SHA-256 of the tensors, so that damage is seen)

It is refused when its format, version or features are not this LeanTune's, or when it is damaged.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from leantune.arrays import FloatArray
from leantune.cloud.markets import PriceSeries
from leantune.cloud.predictor import Predictor
from leantune.errors import InvalidInput, needed
from leantune.files import write_whole
from leantune.revocation.features import FEATURES_VERSION
from leantune.revocation.hazard import OnlineHazard
from leantune.revocation.trained import ALL_MARKETS, SUFFIX, Model, PlattLine, Settings, Tensors, Trained

if TYPE_CHECKING:
    from leantune.revocation.kinds import Kind

DEFAULT_KIND = "boosted"
UNTRAINED = "online-hazard"
FORMAT = "leantune-spot-predictor"
VERSION = 1
_KEY = "leantune"
_AGAIN = "Train it again with `leantune spot train`"


def predictor(name: str = UNTRAINED) -> Predictor:
    """A predictor that needs no training, by its name."""
    if name == UNTRAINED:
        return Trained(UNTRAINED, {ALL_MARKETS: OnlineHazard()})
    from leantune.revocation.kinds import KINDS

    if name in KINDS:
        hint = f"Train it: leantune spot train --predictors {name}; then give the file it writes"
        raise InvalidInput(f"the predictor {name} has to be trained first", where="predictor", hint=hint)
    hint = f"Without training there is {UNTRAINED}; these can be trained: {', '.join(KINDS)}"
    raise InvalidInput(f"there is no predictor {name!r}", where="predictor", hint=hint)


def named_or_saved(text: str) -> Predictor:
    """The predictor of a user's text: a name, or the path of a file."""
    return load(Path(text)) if text.endswith(SUFFIX) else predictor(text)


def over_deltas(asked: Predictor, series: PriceSeries, times: FloatArray, deltas: FloatArray) -> FloatArray:
    """P (m, k) of one market at times (m,) for max prices p(t) * (1 + deltas (k,)): for a simulation's tables."""
    prices = series.at_times(np.asarray(times, dtype=np.float64))
    limits = prices[:, None] * (1.0 + np.asarray(deltas, dtype=np.float64))
    repeated: Sequence[PriceSeries] = [series] * limits.size
    probabilities = asked.predict(
        repeated, np.repeat(np.asarray(times, dtype=np.float64), limits.shape[1]), limits.ravel()
    )
    return probabilities.reshape(limits.shape)


# -- files


def save(trained: Trained, path: Path) -> None:
    """Write all of it or nothing."""
    writer = _library("safetensors.numpy").save
    tensors: Tensors = {}
    models = []
    for number, (market, model) in enumerate(trained.models.items()):
        tensors |= {f"{number}.{name}": np.ascontiguousarray(value) for name, value in model.tensors().items()}
        line = trained.calibrations.get(market, PlattLine())
        models.append({"market": market, "settings": model.settings(), "calibration": [line.slope, line.intercept]})
    about = {
        "format": FORMAT,
        "version": VERSION,
        "features_version": FEATURES_VERSION,
        "kind": trained.name,
        "models": models,
        "provenance": dict(trained.provenance),
        "digest": _digest(tensors),
    }
    content = writer(tensors, metadata={_KEY: json.dumps(about)})
    try:
        write_whole(path, content)
    except OSError as error:
        what = f"the predictor cannot be written: {error.strerror}"
        raise InvalidInput(what, where=str(path), hint="Name a folder that can be written to") from None


def load(path: Path) -> Trained:
    """Read a predictor; refuse a file that is damaged or made for other features."""
    from leantune.revocation.kinds import KINDS

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
    models, lines = {}, {}
    for number, (market, settings, line) in enumerate(entries):
        head = f"{number}."
        mine = {name.removeprefix(head): value for name, value in tensors.items() if name.startswith(head)}
        models[market], lines[market] = _restored(KINDS[kind], mine, settings, path), line
    return Trained(kind, models, lines, about.get("provenance", {}))


def _restored(kind: Kind, tensors: Tensors, settings: Settings, path: Path) -> Model:
    try:
        model = kind.model.restored(tensors, settings)
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(path, f"a {kind.name} model cannot be made of it: {error}") from None
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
