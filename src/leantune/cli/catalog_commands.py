"""What `leantune catalog show` and `leantune catalog refresh` do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leantune.cli.exit_codes import ExitCode
from leantune.cli.failures import print_json, print_result, say, told_errors, warn

if TYPE_CHECKING:
    from leantune.cloud.catalog_sources import Refreshed
    from leantune.cloud.catalog_tables import Catalogue

Region = Annotated[str, typer.Option(help="The region, such as us-east-1, which is the default.")]
Types = Annotated[str, typer.Option(help="Only these types, such as m5.large or 'm5.*,g5.xlarge'.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]
CsvFile = Annotated[
    Path | None, typer.Option("--csv", help="Take prices from this file (docs/spot-prices.md has its columns).")
]
Provider = Annotated[str, typer.Option(help="Ask this provider: aws.")]
OnlyTypes = Annotated[str, typer.Option(help="Ask for these types only, such as m5.large,g5.xlarge.")]
Undo = Annotated[bool, typer.Option("--undo", help="Go back to the shipped table.")]
PROVIDER = "aws"


def show(*, region: Region = "", types: Types = "", as_json: AsJson = False) -> None:
    """Show the machine types that are known, and their prices.

    On demand, and as spot machines by zone; says which table is in use, of what date and from where.

    \b
    Examples:
      $ leantune catalog show --types 'm5.*'
      $ leantune catalog show --region us-east-1 --json
    """  # noqa: D301 (typer reads the backspace: what follows keeps its lines)
    with told_errors(as_json=as_json):
        from leantune.cloud.catalog import catalogue

        table = catalogue(PROVIDER, region or None)
        names = _chosen(table, types)
        print_result(_json(table, names), _lines(table, names), as_json=as_json)
    raise typer.Exit(ExitCode.WELL)


def refresh(
    *,
    csv_file: CsvFile = None,
    provider: Provider = "",
    region: Region = "",
    types: OnlyTypes = "",
    undo: Undo = False,
    as_json: AsJson = False,
) -> None:
    """Replace the table of a region by a newer one, from a CSV or from AWS.

    The new table is kept in your folder (variable LEANTUNE_HOME) and preferred to the shipped one. A study that exists
    keeps the prices it was defined with: with other ones it is refused, and --undo goes back to the shipped table.

    \b
    Examples:
      $ leantune catalog refresh --provider aws --region us-east-1
      $ leantune catalog refresh --csv prices.csv
      $ leantune catalog refresh --undo
    """  # noqa: D301 (as above)
    with told_errors(as_json=as_json):
        from leantune.cloud.catalog import DEFAULT_REGION
        from leantune.errors import InvalidInput

        place = region or DEFAULT_REGION[PROVIDER]
        if sum((csv_file is not None, bool(provider), undo)) != 1 or provider not in ("", PROVIDER):
            hint = "Give one of --csv FILE, --provider aws and --undo"
            raise InvalidInput("it is not clear where prices come from", where="catalog refresh", hint=hint)
        result = _undo(place) if undo else _replace(place, _read(csv_file, place, types))
        if as_json:
            print_json(result)
    raise typer.Exit(ExitCode.WELL)


def _read(csv_file: Path | None, region: str, types: str) -> Refreshed:
    from leantune.cli.activity import activity
    from leantune.clock import RealClock
    from leantune.cloud.aws import Access
    from leantune.cloud.catalog_sources import fetch_catalogue, read_catalogue_csv
    from leantune.errors import InvalidInput

    names = [name.strip() for name in types.split(",") if name.strip()]
    if csv_file is None:
        with activity(f"asking AWS {region}") as tell:
            return fetch_catalogue(Access(region), RealClock(), names, tell)
    if names:
        raise InvalidInput(
            "--types is for --provider aws", where="catalog refresh", hint="A CSV is taken as it is: leave --types out"
        )
    return read_catalogue_csv(csv_file, PROVIDER, region, RealClock())


def _replace(region: str, new: Refreshed) -> dict[str, object]:
    """Install a table and say what is different."""
    from leantune.cloud.catalog_tables import install, regions, table_of

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
    return {"table": str(path), "date": table.date, "source": table.source, **counts, "left_out": list(new.left_out)}


def _undo(region: str) -> dict[str, object]:
    from leantune.cloud.catalog_tables import regions, uninstall

    path = uninstall(PROVIDER, region)
    rest = "the shipped table is in use" if region in regions(PROVIDER) else "no table of it is left"
    say(f"{path} is removed; {rest}", err=True)
    return {"removed": str(path), "shipped": region in regions(PROVIDER)}


# -- showing


def _chosen(table: Catalogue, types: str) -> list[str]:
    """Types by name or pattern, in the order of the table."""
    from fnmatch import fnmatchcase

    patterns = [part.strip() for part in types.split(",") if part.strip()]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in table.machines):
            table[pattern]  # says what is meant, perhaps
    return [name for name in table.machines if not patterns or any(fnmatchcase(name, one) for one in patterns)]


def _lines(table: Catalogue, names: Sequence[str]) -> list[str]:
    from leantune.cli.columns import columned

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


def _json(table: Catalogue, names: Sequence[str]) -> dict[str, object]:
    machines = [
        {
            "type": name,
            "vcpus": table[name].vcpus,
            "memory_gib": table[name].memory_gib,
            "accelerators": table[name].accelerators,
            "accelerator": table[name].accelerator,
            "usd_per_hour": table[name].usd_per_hour,
            "spot_usd_per_hour": dict(table.zones(name)),
        }
        for name in names
    ]
    about = {"provider": table.provider, "region": table.region, "date": table.date, "source": table.source}
    return {**about, "origin": table.origin, "machines": machines}
