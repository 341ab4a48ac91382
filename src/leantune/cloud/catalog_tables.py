"""Tables of machine types, shipped or refreshed: one file per provider and region.

A table `<provider>_<region>.csv` starts with comment lines (provider, region, date, source), then has one row per type;
its last column lists spot prices by zone, "use1-az2:0.0431 use1-az4:0.0429". Refreshed tables are in the user's folder
and are preferred to the shipped ones of the same name; a refreshed table is written whole or not at all.
"""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

from leantune.errors import InvalidInput, SpaceError, StoreError
from leantune.files import csv_records, write_whole
from leantune.space import Machine

HOME = "LEANTUNE_HOME"
SHIPPED = "shipped"
COLUMNS = ("type", "vcpus", "memory_gib", "accelerators", "accelerator", "usd_per_hour", "spot_usd_per_hour")
PRIVATE_HINT = "Declare machines of your own with machine('small', vcpus=1, memory='2 GiB', usd_per_hour=0.02)"
_PRIVATE_JOB_HINT = "Or declare your own: {machines: {...}}"
_UNDO_HINT = "Refresh it again, or go back to the shipped table with leantune catalog refresh --undo"
_NONE: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True)
class Catalogue:
    """The types of one provider in one region, with the date of the prices and where they come from.

    spot: for each type with spot prices, USD/h by zone, as of the same date.
    origin: "shipped", or the file of a refreshed table.
    """

    provider: str
    region: str
    date: str
    source: str
    machines: Mapping[str, Machine]
    spot: Mapping[str, Mapping[str, float]] = field(default_factory=lambda: MappingProxyType({}))
    origin: str = SHIPPED

    def __getitem__(self, name: str) -> Machine:
        if name not in self.machines:
            where = f"catalogue of {self.provider} {self.region}, {self.date}"
            raise not_in_catalogue(f"unknown machine type {name!r}", where, self.did_you_mean(name))
        return self.machines[name]

    def did_you_mean(self, name: str) -> str:
        """A question that names types like this one, with a blank at its end; "" where there are none."""
        close = get_close_matches(name, self.machines, n=3, cutoff=0.6)
        return f"Did you mean {' or '.join(close)}? " if close else ""

    def zones(self, name: str) -> Mapping[str, float]:
        """The zones in which a type is rented out as a spot machine, with the price in each; may be empty."""
        return self.spot.get(self[name].name, _NONE)


def not_in_catalogue(what: str, where: str, advice: str) -> SpaceError:
    """A name that is not in the catalogue; the advice ends with a blank, then the general hint follows."""
    return SpaceError(what, where=where, hint=advice + PRIVATE_HINT, job_hint=advice + _PRIVATE_JOB_HINT)


def user_folder() -> Path:
    """The folder of this user's tables: LEANTUNE_HOME, or the platform's folder for data of programs."""
    if os.environ.get(HOME):
        return Path(os.environ[HOME])
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "leantune"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "leantune"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "leantune"


def refreshed_path(provider: str, region: str) -> Path:
    """Where a refreshed table is, or would be."""
    return user_folder() / "catalog" / f"{provider}_{region}.csv"


def regions(provider: str) -> tuple[str, ...]:
    """Regions with a table, shipped or refreshed."""
    shipped = [entry.name for entry in files("leantune.cloud").iterdir()]
    refreshed = [path.name for path in (user_folder() / "catalog").glob(f"{provider}_*.csv")]
    tables = {name.removesuffix(".csv") for name in [*shipped, *refreshed] if name.endswith(".csv")}
    return tuple(sorted(table.removeprefix(f"{provider}_") for table in tables if table.startswith(f"{provider}_")))


def table_of(provider: str, region: str) -> Catalogue:
    """The refreshed table where there is one, else the shipped one."""
    path = refreshed_path(provider, region)
    try:
        status = path.stat()
    except FileNotFoundError:
        return _shipped(provider, region)
    except OSError as error:
        raise StoreError(f"the table cannot be read: {error.strerror}", where=str(path), hint=_UNDO_HINT) from None
    return _refreshed(path, provider, region, status.st_mtime_ns, status.st_size)


@lru_cache
def _shipped(provider: str, region: str) -> Catalogue:
    text = files("leantune.cloud").joinpath(f"{provider}_{region}.csv").read_text(encoding="utf-8")
    return parse_table(text, provider, region, SHIPPED)


@lru_cache(maxsize=8)
def _refreshed(path: Path, provider: str, region: str, changed: int, size: int) -> Catalogue:
    """As it was when it was `changed` last: a table refreshed meanwhile is another one."""
    try:
        return parse_table(path.read_text(encoding="utf-8"), provider, region, str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"the table cannot be read: {error}", where=str(path), hint=_UNDO_HINT) from None


# -- the format


def parse_table(text: str, provider: str, region: str, origin: str) -> Catalogue:
    """Read what `table_text` writes."""
    lines = text.splitlines()
    notes = dict(line.removeprefix("# ").split(": ", 1) for line in lines if line.startswith("# ") and ": " in line)
    machines: dict[str, Machine] = {}
    spot: dict[str, Mapping[str, float]] = {}
    for where, row in csv_records(text, origin, (), _UNDO_HINT, comment="#"):
        with _no_table(where):
            machines[row["type"]] = Machine(
                name=row["type"],
                vcpus=float(row["vcpus"]),
                memory_gib=float(row["memory_gib"]),
                usd_per_hour=float(row["usd_per_hour"]),
                accelerators=int(row["accelerators"]),
                accelerator=row["accelerator"],
                provider=provider,
                region=region,
            )
            if row["spot_usd_per_hour"]:
                zones = (entry.rsplit(":", 1) for entry in row["spot_usd_per_hour"].split(" "))
                spot[row["type"]] = MappingProxyType({zone: float(price) for zone, price in zones})
    with _no_table(f"{origin}, line {len(lines)}"):
        date, source = notes["date"], notes["source"]
    return Catalogue(provider, region, date, source, MappingProxyType(machines), MappingProxyType(spot), origin)


@contextmanager
def _no_table(where: str) -> Iterator[None]:
    try:
        yield
    except (KeyError, ValueError, TypeError) as error:
        raise InvalidInput(f"this is no table of machines: {error!r}", where=where, hint=_UNDO_HINT) from None


def table_text(table: Catalogue) -> str:
    """A table as text."""
    notes = {"provider": table.provider, "region": table.region, "date": table.date, "source": table.source}
    stream = io.StringIO()
    stream.writelines(f"# {key}: {' '.join(value.split())}\n" for key, value in notes.items())
    rows = csv.writer(stream, lineterminator="\n")
    rows.writerow(COLUMNS)
    for name, machine in table.machines.items():
        zones = " ".join(f"{zone}:{price!r}" for zone, price in sorted(table.zones(name).items()))
        sizes = [_number(size) for size in (machine.vcpus, machine.memory_gib, machine.accelerators)]
        rows.writerow([name, *sizes, machine.accelerator, _number(machine.usd_per_hour), zones])
    return stream.getvalue()


def _number(value: float | None) -> str:
    return "" if value is None else repr(value).removesuffix(".0")


# -- refreshing


def install(table: Catalogue) -> Path:
    """Keep a table in the user's folder, from where it is preferred to the shipped one."""
    path = refreshed_path(table.provider, table.region)
    text = table_text(table)
    parse_table(text, table.provider, table.region, str(path))  # write only a table that can be read again
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text, durable=True)
    except OSError as error:
        hint = f"Name a folder that can be written in {HOME}"
        raise StoreError(f"the table cannot be written: {error.strerror}", where=str(path), hint=hint) from None
    return path


def uninstall(provider: str, region: str) -> Path:
    """Remove a refreshed table: the shipped table counts again."""
    path = refreshed_path(provider, region)
    try:
        path.unlink()
    except FileNotFoundError:
        hint = "The shipped table is in use already" if region in regions(provider) else "Correct the region"
        raise InvalidInput(f"{provider} {region} was not refreshed", where=str(path), hint=hint) from None
    except OSError as error:
        hint = "Delete it by hand"
        raise StoreError(f"the table cannot be removed: {error.strerror}", where=str(path), hint=hint) from None
    return path
