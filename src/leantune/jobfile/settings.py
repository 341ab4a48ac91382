"""Parts of a job file that do not define the problem: where and how to run, the budget, the store, the checkpoints."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args
from urllib.parse import parse_qsl, unquote, urlsplit

from leantune.executors.base import GRACE
from leantune.jobfile.tree import Entry
from leantune.problem import Budget

if TYPE_CHECKING:
    from leantune.cloud.marketplace import MarketSettings

Place = Literal["local", "simcloud", "aws", "ray"]
DEFAULT_STORE = "sqlite:///leantune.db"
DEFAULT_CHECKPOINTS = "./checkpoints"
BUDGET_HINT = "Give at least one limit: budget: {usd: 5, trials: 44, hours: 8}"
_RUN_HINT = "Write run: {on: local, parallel: 2, time_limit: 20 min}"
_MARKET_HINT = "Write market: {prices: generated, regime: volatile, seed: 0, speed: 60}"
_STORE_HINT = "Write sqlite:///leantune.db, or postgresql://user@host/database"


@dataclass(frozen=True)
class RunSettings:
    """How trials are run.

    parallel: trials at once on one worker. time_limit, grace, lease: seconds. deterministic: wait for whole batches, so
    that the same trials come out with any number of workers. logs: folder of the trials' logs. max_failures: failures
    in a row after which the study stops. market: of simulated machines, and only of those.
    """

    on: Place = "local"
    spot: bool = False
    parallel: int = 1
    time_limit: float | None = None
    grace: float = float(GRACE)
    deterministic: bool = False
    lease: float = 60.0
    logs: str = "./leantune-runs"
    max_failures: int = 5
    market: MarketSettings | None = None


def read_run(entry: Entry | None, folder: Path) -> RunSettings:
    """`run:`, with defaults for what it leaves out."""
    default = RunSettings()
    given = {} if entry is None else entry.fields([field.name for field in fields(RunSettings)], _RUN_HINT)

    def whole(key: str, otherwise: int) -> int:
        return given[key].whole("Write a whole number of at least 1", least=1) if key in given else otherwise

    spot = "spot" in given and given["spot"].truth()
    unsaid: Place = "simcloud" if spot else default.on
    place = _place(given["on"]) if "on" in given else unsaid
    if spot and place == "local":
        hint = "Leave it out, or write on: simcloud"
        raise given["spot"].error("spot is about rented machines, and on is local", hint)
    if "market" in given and place != "simcloud":
        hint = "Leave it out, or write on: simcloud"
        raise given["market"].error(f"market is about simulated machines, and on is {place}", hint)
    return RunSettings(
        on=place,
        spot=spot,
        parallel=whole("parallel", default.parallel),
        time_limit=_seconds(given["time_limit"], "20 min") if "time_limit" in given else None,
        grace=_seconds(given["grace"], "30 s", positive=False) if "grace" in given else default.grace,
        deterministic="deterministic" in given and given["deterministic"].truth(),
        lease=_seconds(given["lease"], "60 s") if "lease" in given else default.lease,
        logs=str(_resolved(given.get("logs", default.logs), folder)),
        max_failures=whole("max_failures", default.max_failures),
        market=_market(given.get("market"), folder) if place == "simcloud" else None,
    )


def _market(entry: Entry | None, folder: Path) -> MarketSettings:
    """`market:`; a price file is relative to the job file's folder."""
    from leantune.cloud.generated import Regime
    from leantune.cloud.marketplace import GENERATED, MarketSettings

    given = {} if entry is None else entry.fields([field.name for field in fields(MarketSettings)], _MARKET_HINT)
    default = MarketSettings()
    prices, regime, speed = given.get("prices"), given.get("regime"), default.speed
    generated = prices is None or prices.value == GENERATED
    if regime is not None and regime.text(_MARKET_HINT) not in set(Regime):
        raise regime.error(f"there is no regime {regime.written!r}", f"There are {', '.join(Regime)}")
    for one in ("regime", "seed"):
        if one in given and not generated:
            raise given[one].error(f"{one} is about generated prices", "Leave it out, or write prices: generated")
    if "speed" in given:
        hint = "Write how many seconds of the market pass in one of yours, such as speed: 60"
        speed = float(given["speed"].number(hint))
        if not (math.isfinite(speed) and speed > 0):
            raise given["speed"].error(f"{given['speed'].written} is not a speed", hint)
    return MarketSettings(
        GENERATED if generated or prices is None else str(_resolved(prices, folder)),
        default.regime if regime is None else regime.text(_MARKET_HINT),
        given["seed"].whole(_MARKET_HINT, least=0) if "seed" in given else default.seed,
        speed,
    )


def _place(entry: Entry) -> Place:
    name = entry.text("Write on: local")
    for place in get_args(Place):
        if place == name:
            known: Place = place
            return known
    close = get_close_matches(name, get_args(Place), n=1)
    meant = f"Did you mean {close[0]!r}? " if close else ""
    raise entry.error(f"there is no place {name!r} to run", f"{meant}There are {', '.join(get_args(Place))}")


def _seconds(entry: Entry, example: str, *, positive: bool = True) -> float:
    hint = f"Write a number and a unit, such as {example}"
    seconds = entry.quantity("time", hint)
    if seconds < 0 or (positive and seconds == 0):
        raise entry.error(f"{entry.written} is not a time that can pass", hint)
    return seconds


def read_budget(entry: Entry | None, root: Entry) -> Budget:
    """`budget:`; a study without any limit would never end, so there must be one."""
    if entry is None:
        raise root.error("there is no budget", BUDGET_HINT)
    given = entry.fields(("usd", "trials", "hours"), BUDGET_HINT)
    if not given:
        raise entry.error("the budget has no limit", BUDGET_HINT)
    usd, trials, hours = given.get("usd"), given.get("trials"), given.get("hours")
    amount = None if usd is None else usd.quantity("money", "Write dollars, such as usd: 5")
    count = None if trials is None else trials.whole("Write a whole number of trials, such as trials: 44")
    span = None if hours is None else hours.number("Write a number of hours, such as hours: 8")
    for one, limit in ((usd, amount), (trials, count), (hours, span)):
        if one is not None and limit is not None and limit <= 0:
            raise one.error(f"the budget is {one.written}", "Give a number above 0, or leave it out for no limit")
    return Budget(amount, count, None if span is None else float(span))


def read_store(entry: Entry | None, folder: Path) -> str:
    """URL of the database; the path of an SQLite file is relative to the job file's folder."""
    url = DEFAULT_STORE if entry is None else entry.text(_STORE_HINT)
    scheme, separator, rest = url.partition("://")
    if scheme == "sqlite" and separator:
        path, _, options = rest.removeprefix("/").partition("?")
        if not rest.startswith("/") or not path or path == ":memory:" or path.startswith("file:"):
            assert entry is not None
            raise entry.error(f"{url!r} names no file, so that the study would be lost", _STORE_HINT)
        return f"sqlite:///{_resolved(path, folder)}" + (f"?{options}" if options else "")
    assert entry is not None
    if scheme.partition("+")[0] in ("postgresql", "postgres") and separator:
        return _without_password(entry, url)
    file = "" if separator or not url else f"Did you mean sqlite:///{url}? "
    raise entry.error(f"{url!r} is not a store", file + _STORE_HINT)


def _without_password(entry: Entry, url: str) -> str:
    """A job file is kept beside the trials and shown in reports: no place for a secret."""
    try:
        parts = urlsplit(url)
        secret = parts.password or any(name == "password" for name, _ in parse_qsl(parts.query))
    except ValueError:
        raise entry.error("this is not a URL", _STORE_HINT) from None
    if secret:
        hint = "Leave it out: it is taken from the variable PGPASSWORD or from ~/.pgpass"
        raise entry.error("there is a password in the URL", hint)
    return url


def read_checkpoints(entry: Entry | None, folder: Path) -> Path:
    """Folder of the checkpoints."""
    if entry is None:
        return _resolved(DEFAULT_CHECKPOINTS, folder)
    text = entry.text("Name a folder, such as ./checkpoints")
    scheme, separator, _ = text.partition("://")
    if separator and scheme != "file":
        raise entry.error(
            f"checkpoints cannot be kept at {scheme}:// yet",
            "Name a folder, such as ./checkpoints; other places come with a later version",
        )
    if separator:
        url = urlsplit(text)
        if url.netloc not in ("", "localhost") or not url.path:
            raise entry.error(f"{text!r} is not a folder of this machine", "Write file:///folder, or ./checkpoints")
        text = unquote(url.path)
    return _resolved(text or entry, folder)


def _resolved(path: str | Entry, folder: Path) -> Path:
    """An absolute path, the same for every spelling; relative ones start at the job file's folder."""
    text = path.text("Name a folder") if isinstance(path, Entry) else path
    if not text.strip() and isinstance(path, Entry):
        raise path.error("the name is empty", "Name a folder")
    expanded = os.path.expanduser(text)  # noqa: PTH111 - unlike Path's, no error for an unknown user
    return Path(os.path.normpath(folder.absolute() / expanded))
