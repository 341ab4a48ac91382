"""How a diagnosis is shown: tables for people, one JSON object for programs."""

from typing import TYPE_CHECKING

from leantune.cli.doctor import Diagnosis, Status

if TYPE_CHECKING:
    from rich.table import Table

COLOUR = {Status.OK: "green", Status.WARNING: "yellow", Status.MISSING: "yellow", Status.BROKEN: "bold red"}


def as_document(diagnosis: Diagnosis) -> dict[str, object]:
    """The diagnosis as plain values.

    `healthy` decides the exit code; every status is one of ok, warning, missing, broken; `version` is null where a part
    is not installed; `extras` is empty for a part that is always needed.
    """
    return {
        "leantune": diagnosis.version,
        "healthy": diagnosis.healthy,
        "system": [
            {"name": found.name, "status": found.status.value, "detail": found.detail, "hint": found.hint}
            for found in diagnosis.system
        ],
        "parts": [
            {
                "name": found.part.distribution,
                "status": found.status.value,
                "version": found.version or None,
                "extras": [extra for extra in found.part.extras if extra],
                "purpose": found.part.purpose,
                "hint": found.hint,
            }
            for found in diagnosis.parts
        ],
    }


def print_tables(diagnosis: Diagnosis) -> None:
    """Two tables, what to do about what is not well, and a verdict, on standard output."""
    from rich.console import Console

    console = Console(highlight=False)
    console.print(f"LeanTune {diagnosis.version}")
    console.print(_system_table(diagnosis))
    console.print(_parts_table(diagnosis))
    for line in _remedies(diagnosis):
        console.print(line, markup=False, soft_wrap=True)  # soft: a command to copy must stay on one line
    console.print(_verdict(diagnosis))


def _system_table(diagnosis: Diagnosis) -> "Table":
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table("machine", "status", "seen", box=box.SIMPLE)
    for found in diagnosis.system:
        table.add_row(found.name, _coloured(found.status), escape(found.detail))
    return table


def _parts_table(diagnosis: Diagnosis) -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE)
    for heading in ("part", "status", "version", "extra"):
        table.add_column(heading, no_wrap=True)
    table.add_column("what for")
    for found in diagnosis.parts:
        extras = "always" if found.part.is_base else ", ".join(found.part.extras)
        table.add_row(found.part.distribution, _coloured(found.status), found.version, extras, found.part.purpose)
    return table


def _remedies(diagnosis: Diagnosis) -> list[str]:
    """One line for each thing that can be done, each command once."""
    machine = [f"{found.name}: {found.hint}" for found in diagnosis.system if found.hint]
    broken = [f"{found.part.distribution}: {found.hint}" for found in diagnosis.parts if found.status is Status.BROKEN]
    missing: dict[str, list[str]] = {}
    for found in diagnosis.parts:
        if found.status is Status.MISSING:
            missing.setdefault(found.hint, []).append(found.part.distribution)
    return [*machine, *broken, *(f"for {', '.join(names)}: {command}" for command, names in missing.items())]


def _coloured(status: Status) -> str:
    return f"[{COLOUR[status]}]{status.value}[/]"


def _verdict(diagnosis: Diagnosis) -> str:
    if diagnosis.healthy:
        return "Everything that LeanTune always needs works; extras matter only if you use them."
    return "[bold red]Something that LeanTune always needs is broken:[/] see the hints above."
