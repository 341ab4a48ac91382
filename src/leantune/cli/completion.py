"""What the Tab key offers: job files, tables, and names of studies once the store is known."""

from importlib.resources import files
from pathlib import Path

import typer

SUFFIXES = (".yaml", ".yml")


def job_files(incomplete: str) -> list[str]:
    """Job files that begin like what was typed; where there are none, the shell goes on with folders."""
    folder, _, beginning = incomplete.rpartition("/")
    place = Path(f"{folder}/" if incomplete.startswith("/") else folder or ".").expanduser()
    if not place.is_dir():
        return []
    names = (entry.name for entry in place.iterdir() if entry.suffix in SUFFIXES and entry.is_file())
    return sorted(f"{folder}/{name}" if "/" in incomplete else name for name in names if name.startswith(beginning))


def table_names(incomplete: str) -> list[str]:
    """Tables that are known by name, and descriptions in files."""
    # Not by the reader of tables: its import takes a second.
    shipped = files("leantune.lab.replay").joinpath("tables", "presets").iterdir()
    names = (entry.name.removesuffix(".yaml") for entry in shipped if entry.name.endswith(".yaml"))
    return sorted(name for name in names if name.startswith(incomplete)) + job_files(incomplete)


def study_names(context: typer.Context, incomplete: str) -> list[str]:
    """Names in the store of --store; nothing is created. Not in bash, which splits a URL at its colons."""
    url = str(context.params.get("store") or "")
    if not url:
        return []
    from leantune.errors import LeanTuneError
    from leantune.store.database import Database

    try:
        if not Database.exists(url):
            return []
        with Database(url) as database:
            return sorted(study.name for study in database.studies() if study.name.startswith(incomplete))
    except LeanTuneError:
        return []  # there is no place for an error while a line is typed
