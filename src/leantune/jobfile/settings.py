"""Parts of a job file that do not define the problem: where and how to run, the budget, the store, the checkpoints."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated
from urllib.parse import parse_qsl, unquote, urlsplit

from leantune.checkpoints import Keep
from leantune.cloud.market_settings import GENERATED, MarketSettings, Regime
from leantune.executors.base import GRACE, belongs_to_store
from leantune.executors.registry import DEFAULT, DEFAULT_PREDICTOR, DEFAULT_RENTED, PLACES
from leantune.jobfile import json_schema as js
from leantune.jobfile.tree import Entry, Reader, readers_of
from leantune.problem import Budget, Stop

OWN, FREE = "own", "free"
_MACHINE_HINT = "Write machine: free, or leave it out: the machine is then part of the configuration"
_PREDICTOR_HINT = "Name a predictor of revocations, such as predictor: online-hazard, or a file of leantune spot train"
DEFAULT_STORE = "sqlite:///leantune.db"
_SECRETS = ("password", "sslpassword")
_PASSWORD = re.compile(r"[^:/]*:(?:[^@]+@|@[^@]*@)")  # user:password@, with whatever is in it
DEFAULT_CHECKPOINTS = "./checkpoints"
BUDGET_HINT = "Give at least one limit: budget: {usd: 5, trials: 44, hours: 8}"
_STOP_HINT = "Write stop: {regret: 0.01}, a share of the goal, or stop: never"
_REPEATS_HINT = "Write how often one configuration may be run on all data, such as repeats: 3, or repeats: never"
_RUN_HINT = "Write run: {on: local, parallel: 2, time_limit: 20 min}"
_MARKET_HINT = "Write market: {prices: generated, regime: volatile, seed: 0, speed: 60}"
_SPEED_HINT = "Write the seconds of the market in one real second, such as speed: 60"
_KEEP_HINT = "Write checkpoints: {at: ./checkpoints, keep: best}, or keep: all, or keep: none"
_ENVIRONMENT_HINT = (
    "Programs get all variables but the store's, PG*; write environment: {keep: [PGHOST]} for those they need"
)
_FOLDER_HINT = "Name a folder, such as ./checkpoints"
_STORE_HINT = "Write sqlite:///leantune.db, or postgresql://user@host/database"


@js.reads(js.TEXT)
def _seconds(entry: Entry, example: str, *, positive: bool = True) -> float:
    hint = f"Write a number and a unit, such as {example}"
    seconds = entry.quantity("time", hint)
    if seconds < 0 or (positive and seconds == 0):
        raise entry.error(f"{entry.written} is not a valid time", hint)
    return seconds


@js.reads(js.TEXT)
def _folder_name(entry: Entry) -> str:
    text = entry.text("Name a folder")
    if not text.strip():
        raise entry.error("the name is empty", "Name a folder")
    return text


_MARKET: dict[str, Reader] = {
    "prices": _folder_name,
    "regime": partial(Entry.word, words=Regime, what="there is no regime {}", hint=_MARKET_HINT),
    "seed": partial(Entry.whole, hint=_MARKET_HINT, least=0),
    "speed": partial(Entry.real, hint=_SPEED_HINT, above_0="is not a speed"),
}


@js.reads(js.table(_MARKET))
def _market(entry: Entry) -> MarketSettings:
    given = entry.read(_MARKET, _MARKET_HINT)
    for name in ("regime", "seed"):
        if name in given and given.get("prices", GENERATED) != GENERATED:
            raise entry.at(name).error(f"{name} is about generated prices", "Leave it out, or write prices: generated")
    return MarketSettings(**given)


@dataclass(frozen=True)
class Environment:
    """What programs get of the environment. keep: variables of our store that they are to have all the same."""

    keep: tuple[str, ...] = ()


@js.reads(js.items(js.TEXT), _ENVIRONMENT_HINT)
def _kept_variables(entry: Entry) -> tuple[str, ...]:
    names = [(item, item.text(_ENVIRONMENT_HINT)) for item in entry.items(_ENVIRONMENT_HINT)]
    for item, name in names:
        if not belongs_to_store(name):
            raise item.error(f"{name!r} is not taken from programs", f"Leave it out. {_ENVIRONMENT_HINT}")
    return tuple(dict.fromkeys(name for _, name in names))


_ENVIRONMENT: dict[str, Reader] = {"keep": _kept_variables}


@js.reads(js.table(_ENVIRONMENT))
def _environment(entry: Entry) -> Environment:
    return Environment(**entry.read(_ENVIRONMENT, _ENVIRONMENT_HINT))


_place = partial(Entry.word, words=PLACES, what="there is no place {} to run", hint=f"Write on: {DEFAULT}")
_machine = partial(Entry.word, words=(OWN, FREE), what="a machine is not {}", hint=_MACHINE_HINT)
_count = partial(Entry.whole, hint="Write a whole number of at least 1", least=1)


@dataclass(frozen=True)
class RunSettings:
    """How trials are run.

    on: a name in `executors.registry.PLACES`. machine: own: part of the configuration, from the space; free: chosen
    for each trial while it runs, among the types of the space; rented, as spot machines unless said otherwise.
    parallel: trials at once on one worker. time_limit, grace, lease: in seconds. deterministic: wait for whole batches,
    so that the same trials come out with any number of workers. logs: folder of the trials' logs. max_failures:
    failures in a row after which the study stops. market: of simulated machines, and only of those. predictor: of
    revocations, by name or file. environment: what programs get of it.
    """

    on: Annotated[str, _place] = DEFAULT
    spot: Annotated[bool, Entry.truth] = False
    machine: Annotated[str, _machine] = OWN
    parallel: Annotated[int, _count] = 1
    time_limit: Annotated[float | None, partial(_seconds, example="20 min")] = None
    grace: Annotated[float, partial(_seconds, example="30 s", positive=False)] = float(GRACE)
    deterministic: Annotated[bool, Entry.truth] = False
    lease: Annotated[float, partial(_seconds, example="60 s")] = 60.0
    logs: Annotated[str, _folder_name] = "./leantune-runs"
    max_failures: Annotated[int, _count] = 5
    market: Annotated[MarketSettings | None, _market] = None
    predictor: Annotated[str, partial(Entry.text, hint=_PREDICTOR_HINT)] = DEFAULT_PREDICTOR
    environment: Annotated[Environment, _environment] = Environment()


@js.reads(js.table(readers_of(RunSettings)), _RUN_HINT)
def read_run(entry: Entry | None, folder: Path) -> RunSettings:
    """`run:`, with defaults; paths are relative to the job file's folder."""
    given = {} if entry is None else entry.read(readers_of(RunSettings), _RUN_HINT)
    free = given.get("machine") == FREE
    spot = given.setdefault("spot", free and "on" not in given)
    place = given.setdefault("on", DEFAULT_RENTED if spot or free else DEFAULT)
    for name, about, fits in (
        ("spot", "spot is about rented machines", PLACES[place].rents or not spot),
        ("machine", "a free machine is rented", PLACES[place].rents or not free),
        ("market", "market is about simulated machines", PLACES[place].simulated or "market" not in given),
    ):
        if entry is not None and not fits:
            raise entry.at(name).error(f"{about}, and on is {place}", f"Leave it out, or write on: {DEFAULT_RENTED}")
    if PLACES[place].simulated:
        market = given.get("market", MarketSettings())
        prices = GENERATED if market.prices == GENERATED else str(_resolved(market.prices, folder))
        given["market"] = replace(market, prices=prices)
    run = RunSettings(**given)
    return replace(run, logs=str(_resolved(run.logs, folder)))


_STOP: dict[str, Reader] = {
    "regret": partial(Entry.share, what="the regret is {}", hint=f"{_STOP_HINT}; above 0 and below 1"),
}


@js.reads(js.either(js.NEVER, js.table(_STOP, ["regret"])), _STOP_HINT)
def read_stop(entry: Entry) -> Stop:
    """`stop: never`, or `stop: {regret: 0.01}`."""
    if not isinstance(entry.value, dict):
        if entry.value != "never":
            raise entry.is_not("an end of the study", _STOP_HINT)
        return "never"
    regret: float = entry.read(_STOP, _STOP_HINT, needs={"regret": "the regret"})["regret"]
    return regret


_repeats = partial(Entry.whole, hint=_REPEATS_HINT, least=1)


@js.reads(js.either(js.NEVER, js.schema_of(_repeats, hints=False)), _REPEATS_HINT)
def read_repeats(entry: Entry) -> int:
    """`repeats: never`, or `repeats: 3`: runs of one configuration on all data at most."""
    return 1 if entry.value == "never" else _repeats(entry)


_BUDGET: dict[str, Reader] = {
    "usd": partial(Entry.quantity, kind="money", hint="Write dollars, such as usd: 5"),
    "trials": partial(Entry.whole, hint="Write a whole number of trials, such as trials: 44"),
    "hours": partial(Entry.real, hint="Write a number of hours, such as hours: 8"),
}


@js.reads(js.table(_BUDGET) | {"minProperties": 1}, BUDGET_HINT)
def read_budget(entry: Entry) -> Budget:
    """`budget:`, one limit at least."""
    given = entry.read(_BUDGET, BUDGET_HINT)
    if not given:
        raise entry.error("the budget has no limit", BUDGET_HINT)
    for key, limit in given.items():
        if limit <= 0:
            hint = "Give a number above 0, or leave it out for no limit"
            raise entry.at(key).error(f"the budget is {entry.at(key).written}", hint)
    return Budget(**given)


@js.reads(js.TEXT, _STORE_HINT)
def read_store(entry: Entry | None, folder: Path) -> str:
    """URL of the database; the path of an SQLite file is relative to the job file's folder."""
    url = DEFAULT_STORE if entry is None else entry.text(_STORE_HINT)
    scheme, separator, rest = url.partition("://")
    if scheme == "sqlite" and separator:
        path = rest.removeprefix("/")
        if not rest.startswith("/") or not path or path == ":memory:" or path.startswith("file:"):
            assert entry is not None
            raise entry.error(f"{url!r} names no file, so that the study would be lost", _STORE_HINT)
        return f"sqlite:///{_resolved(path, folder)}"
    assert entry is not None
    if scheme.partition("+")[0] in ("postgresql", "postgres") and separator:
        return _without_password(entry, url)
    file = "" if separator or not url else f"Did you mean sqlite:///{url}? "
    raise entry.error(f"{url!r} is not a store", file + _STORE_HINT)


def _without_password(entry: Entry, url: str) -> str:
    """A job file is kept beside the trials and shown in reports: no place for a secret."""
    try:
        parts = urlsplit(url)
        named = any(name.lower() in _SECRETS for name, _ in parse_qsl(parts.query))
    except ValueError:
        raise entry.error("this is not a URL", _STORE_HINT) from None
    # Not `parts.password`: a password with an unescaped / or ? would not be in its part of the URL.
    if named or _PASSWORD.match(url.partition("://")[2]):
        hint = "Leave it out: it is taken from the variable PGPASSWORD or from ~/.pgpass"
        raise entry.error("there is a password in the URL", hint)
    return url


@dataclass(frozen=True)
class CheckpointSettings:
    """at: the folder of the checkpoints. keep: the checkpoints that outlive their trials."""

    at: Path
    keep: Keep = Keep.BEST


_CHECKPOINTS: dict[str, Reader] = {
    "at": partial(Entry.text, hint=_FOLDER_HINT),
    "keep": partial(Entry.word, words=Keep, what="what is kept is not {}", hint=_KEEP_HINT),
}


@js.reads(js.either(js.TEXT, js.table(_CHECKPOINTS)), _KEEP_HINT)
def read_checkpoints(entry: Entry | None, folder: Path) -> CheckpointSettings:
    """`checkpoints:`, a folder, or {at: folder, keep: best}; every part may be left out."""
    if entry is None:
        return CheckpointSettings(_resolved(DEFAULT_CHECKPOINTS, folder))
    if not isinstance(entry.value, dict):
        return CheckpointSettings(_checkpoint_folder(entry, folder))
    given = entry.read(_CHECKPOINTS, _KEEP_HINT)
    at = _checkpoint_folder(entry.at("at"), folder) if "at" in given else _resolved(DEFAULT_CHECKPOINTS, folder)
    return CheckpointSettings(at, Keep(given.get("keep", Keep.BEST)))


def _checkpoint_folder(entry: Entry, folder: Path) -> Path:
    text = entry.text(_FOLDER_HINT)
    scheme, separator, _ = text.partition("://")
    if separator and scheme != "file":
        raise entry.error(
            f"checkpoints cannot be kept at {scheme}:// yet",
            f"{_FOLDER_HINT}; other places come with a later version",
        )
    if separator:
        url = urlsplit(text)
        if url.netloc not in ("", "localhost") or not url.path:
            raise entry.error(f"{text!r} is not a folder of this machine", "Write file:///folder, or ./checkpoints")
        text = unquote(url.path)
    place = _resolved(text or _folder_name(entry), folder)
    if place.exists() and not place.is_dir():
        raise entry.error(f"{text!r} is a file", _FOLDER_HINT)
    return place


def _resolved(path: str, folder: Path) -> Path:
    """An absolute path, the same for every spelling; relative ones start at the job file's folder."""
    expanded = os.path.expanduser(path)  # noqa: PTH111 - unlike Path's, no error for an unknown user
    return Path(os.path.normpath(folder.absolute() / expanded))
