"""What a run of a job needs of this machine, looked at before anything is made or started.

The job file itself is checked where it is read (`jobfile`), placeholders included. Here: the program and its script are
there, and may be read and started; checkpoints, logs and the store can be written. What a place to run needs besides,
libraries among it, its module checks (`check_settings`). Whatever is wrong is said in one error.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

from leantune.errors import JobError, LeanTuneError, StoreError
from leantune.jobfile import Job
from leantune.store.connections import parse_url

# Programs that run a file, and their options that take the next argument; what follows -c or -m is no file.
_INTERPRETERS = {
    "python": ("-W", "-X"),
    "pypy": ("-W", "-X"),
    "sh": ("-o",),
    "bash": ("-o", "-O"),
    "dash": ("-o",),
    "zsh": ("-o",),
}
_NO_FILE = ("-c", "-m", "-s", "-")


def preflight(job: Job) -> None:
    """Refuse a job that would fail on this machine at once, with everything that is wrong."""
    faults = list(_faults(job))
    if len(faults) == 1:
        raise faults[0]
    if faults:
        what = "; ".join(f"{fault.where}: {fault.what}" for fault in faults)
        hint = "; ".join(dict.fromkeys(fault.hint for fault in faults))
        raise JobError(what, where=f"job {job.name}", hint=hint)


def _faults(job: Job) -> Iterator[LeanTuneError]:
    yield from _program_faults(job)
    hint = "Name a folder that you may write to: checkpoints: {at: ./checkpoints}"
    yield from _folder_faults(job.checkpoints.at, "checkpoints.at", hint)
    yield from _folder_faults(job.logs, "run.logs", "Name a folder that you may write to: run: {logs: ./runs}")
    yield from _store_faults(job.store)


# -- the program


def _program_faults(job: Job) -> Iterator[JobError]:
    """Of the parts of the command that are the same for all trials."""
    words = _without_env(job.command.literals)
    program = words[0] if words else None
    if program is None:
        return
    there = found_program(program, job.folder)
    if isinstance(there, JobError):
        yield there
        return
    script = script_of(words)
    if script is None:
        return
    path = job.folder / script
    if not path.is_file():
        what = f"{script!r} is a folder" if path.is_dir() else f"there is no file {script!r} in {str(job.folder)!r}"
        yield JobError(what, where="train", hint=f"Correct the name, or put the program there{_near(path)}")
    elif not os.access(path, os.R_OK):
        yield JobError(f"{script!r} cannot be read", where="train", hint=f"chmod +r {script}")


def found_program(program: str, folder: Path) -> Path | JobError:
    """The program as a trial will find it, or what is wrong: with a slash seen from the folder, else on the PATH, to
    which the folder of LeanTune's own interpreter is added.
    """
    if "/" not in program:
        path = os.pathsep.join([os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)])
        there = shutil.which(program, path=path)
        if there is not None:
            return Path(there)
        hint = "Install it, or write its whole path" + (" (is it called python3 here?)" if program == "python" else "")
        return JobError(f"there is no program {program!r} on the PATH", where="train", hint=hint)
    file = folder / program
    if not file.is_file():
        what = f"there is no program {program!r} (seen from {str(folder)!r})"
        return JobError(what, where="train", hint=f"Correct the name{_near(file)}")
    if not os.access(file, os.X_OK):
        hint = f"chmod +x {program}, or name its interpreter first: train: python {program}"
        return JobError(f"{program!r} is not executable", where="train", hint=hint)
    return file


def script_of(words: Sequence[str | None]) -> str | None:
    """The file that an interpreter is to run; None where there is none, or where it is not plain which."""
    program = Path(words[0] or "").name
    kind = next((name for name in _INTERPRETERS if program.rstrip("0123456789.") == name), None)
    if kind is None:
        return None
    rest = iter(words[1:])
    for word in rest:
        if word is None or word in _NO_FILE:
            return None
        if word in _INTERPRETERS[kind]:
            next(rest, None)
        elif not word.startswith("-"):
            return word
        elif not word.startswith("--") and {"c", "m"} & set(word):
            return None  # several options in one, such as -uc
    return None


def _without_env(words: Sequence[str | None]) -> Sequence[str | None]:
    """Without `env NAME=value` before the program; nothing where env has options of its own."""
    if not words or words[0] != "env":
        return words
    rest = list(words[1:])
    while rest and (rest[0] is None or "=" in rest[0]):
        rest.pop(0)
    return [] if rest and rest[0] is not None and rest[0].startswith("-") else rest


def _near(path: Path) -> str:
    """The end of a hint: what lies there instead."""
    try:
        names = [file.name for file in path.parent.iterdir() if file.is_file()]
    except OSError:
        return ""
    close = get_close_matches(path.name, names, n=1)
    return f". Did you mean {close[0]}?" if close else ""


# -- places to write


def _folder_faults(folder: Path, where: str, hint: str) -> Iterator[JobError]:
    """That a folder is not there yet is no fault where it can be made."""
    place = folder
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        yield JobError(f"{str(place)!r} is a file, and a folder is needed", where=where, hint=hint)
    elif not os.access(place, os.W_OK | os.X_OK):
        yield JobError(f"the folder {str(place)!r} cannot be written to", where=where, hint=hint)


def _store_faults(url: str) -> Iterator[LeanTuneError]:
    """Of an SQLite file; a server says for itself what is wrong when it is asked."""
    place = parse_url(url)
    if place.get_backend_name() != "sqlite" or place.database is None:
        return
    file = Path(place.database)
    hint = "Name a file that you may write to: store: sqlite:///leantune.db"
    if file.is_file() and not os.access(file, os.W_OK):
        yield StoreError("the store cannot be written to", where=str(file), hint=hint)
    for fault in _folder_faults(file.parent, "store", hint):  # SQLite keeps its journal beside the file
        yield StoreError(fault.what, where="store", hint=fault.hint)
