"""What `leantune catalog show` and `leantune catalog refresh` do."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from leantune.cli.command import Answer, Json, picked
from leantune.cli.terminal import activity, columned, say, warn
from leantune.clock import RealClock
from leantune.cloud.aws import Access
from leantune.cloud.catalog import DEFAULT_REGION, catalogue
from leantune.cloud.catalog_sources import Refreshed, fetch_catalogue, read_catalogue_csv
from leantune.cloud.catalog_tables import Catalogue, install, regions, table_of, uninstall
from leantune.errors import InvalidInput

PROVIDER = "aws"


def show(region: str, types: Sequence[str]) -> Answer:
    """All machine types, or those of these names and patterns."""
    table = catalogue(PROVIDER, region or None)
    names = _chosen(table, types)
    machines = [
        {
            **picked(table[name], "type=name vcpus memory_gib accelerators accelerator usd_per_hour"),
            "spot_usd_per_hour": table.zones(name),
        }
        for name in names
    ]
    document = {**picked(table, "provider region date source origin"), "machines": machines}
    return Answer(document, _lines(table, names))


def refresh(csv_file: Path | None, provider: str, region: str, types: Sequence[str], *, undo: bool) -> Answer:
    """Replace the table of a region, or go back to the shipped one."""
    place = region or DEFAULT_REGION[PROVIDER]
    if sum((csv_file is not None, bool(provider), undo)) != 1 or provider not in ("", PROVIDER):
        hint = "Give one of --csv FILE, --provider aws and --undo"
        raise InvalidInput("it is not clear where prices come from", where="catalog refresh", hint=hint)
    return Answer(_undo(place) if undo else _replace(place, _read(csv_file, place, types)))


def _read(csv_file: Path | None, region: str, types: Sequence[str]) -> Refreshed:
    if csv_file is None:
        with activity(f"asking AWS {region}") as tell:
            return fetch_catalogue(Access(region), RealClock(), types, tell)
    if types:
        raise InvalidInput(
            "--types is for --provider aws", where="catalog refresh", hint="A CSV is taken as it is: leave --types out"
        )
    return read_catalogue_csv(csv_file, PROVIDER, region, RealClock())


def _replace(region: str, new: Refreshed) -> Json:
    """Install a table and say what is different."""
    old = table_of(PROVIDER, region).machines if region in regions(PROVIDER) else {}
    path, table = install(new.table), new.table
    machines = table.machines
    changed = [n for n in machines if n in old and old[n].usd_per_hour != machines[n].usd_per_hour]
    counts = {
        "types": len(machines),
        "with_spot_prices": len(table.spot),
        "new": sum(name not in old for name in machines),
        "gone": sum(name not in machines for name in old),
        "price_changed": len(changed),
    }
    words = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())
    say(f"{PROVIDER} {region} is now of {table.date} ({table.source}): {words}\nkept in {path}", err=True)
    if new.left_out:
        warn(f"{len(new.left_out)} types left out: no on-demand price, or a share of an accelerator")
    if changed or counts["gone"]:
        warn("studies defined with the former prices are refused; leantune catalog refresh --undo goes back")
    return {"table": path, **picked(table, "date source"), **counts, "left_out": new.left_out}


def _undo(region: str) -> Json:
    path = uninstall(PROVIDER, region)
    rest = "the shipped table is in use" if region in regions(PROVIDER) else "no table of it is left"
    say(f"{path} is removed; {rest}", err=True)
    return {"removed": path, "shipped": region in regions(PROVIDER)}


# -- showing


def _chosen(table: Catalogue, patterns: Sequence[str]) -> list[str]:
    """Types by name or pattern, in the order of the table."""
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in table.machines):
            table[pattern]  # suggests a similar name
    return [name for name in table.machines if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)]


def _lines(table: Catalogue, names: Sequence[str]) -> list[str]:
    rows = []
    for name in names:
        machine, zones = table[name], table.zones(name)
        cheapest = min(zones, key=lambda zone: (zones[zone], zone)) if zones else ""
        price = machine.usd_per_hour or 0.0
        rows.append(
            (
                name,
                f"{machine.accelerators} x {machine.accelerator}" if machine.accelerators else "",
                f"{machine.vcpus:g}",
                f"{machine.memory_gib:g}",
                f"{price:.4f}",
                f"{zones[cheapest]:.4f}" if zones else "",
                f"{1 - zones[cheapest] / price:.0%}" if zones else "",
                f"{cheapest} of {len(zones)}" if zones else "",
            )
        )
    headings = ("type", "accelerators", "vCPUs", "GiB", "USD/h", "spot USD/h", "saved", "cheapest zone")
    in_use = "the shipped table" if table.origin == "shipped" else f"refreshed: {table.origin}"
    head = [f"{table.provider} {table.region}, {table.date}: {len(table.machines):,} types ({in_use})"]
    return [*head, f"source: {table.source}", *columned(headings, rows, left=2)]
