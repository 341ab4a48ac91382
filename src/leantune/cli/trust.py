"""Which commands this user lets a store start here: whoever may write to a shared database may change the job in it.

What was accepted is a file for each text, named after its SHA-256, in `accepted` in the user's folder (LEANTUNE_HOME,
else ~/.local/share/leantune); deleting it takes the word back. A job file of the user's own is accepted by being run.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from contextlib import suppress
from pathlib import Path

from leantune.cli.terminal import say, warn
from leantune.cloud.catalog_tables import user_folder
from leantune.errors import InvalidInput
from leantune.files import write_whole
from leantune.jobfile import Job
from leantune.space import Clusters, Space

OPTION = "--trust"


def accepted_folder() -> Path:
    """Where the texts lie that this user has accepted."""
    return user_folder() / "accepted"


def started_text(job: Job) -> str:
    """All of a job that says what is started and which files are written: its command, what may stand in the command's
    places besides numbers, the store's variables that it is given, the folders of logs and checkpoints.

    The same for every spelling of a job, whatever its budget, limits and ranges of numbers are.
    """
    document = {
        "train": job.command.template,
        "words": {name: words for name, words in _words(job.full_space).items() if words},
        "keep": sorted(job.run.environment.keep),
        "folders": [_relative(job.logs, job.folder), _relative(job.checkpoints.at, job.folder)],
    }
    return json.dumps(document, sort_keys=True)


def sha_of(job: Job) -> str:
    """The SHA-256 by which a job's text is accepted."""
    return hashlib.sha256(started_text(job).encode()).hexdigest()


def accept_own(job: Job) -> None:
    """The user runs a job file of their own. Where that cannot be kept, a worker with --store will ask."""
    with suppress(OSError):
        _keep(job)


def check_stored(job: Job, trusted: str) -> None:
    """Say what a store has this machine start; InvalidInput unless the user has accepted that text, or does so now.

    trusted: the SHA-256 given with --trust, or nothing.
    """
    sha, command = sha_of(job), shlex.join(job.command.template)
    say(f"command: {command}\nSHA-256: {sha}", err=True)
    if trusted and trusted.lower() != sha:
        what, hint = f"the store's text is not the one of {OPTION}", "Read the command again: somebody has changed it"
        raise InvalidInput(what, where=f"study {job.name!r}", hint=f"{hint}. To accept it: {OPTION} {sha}")
    if not trusted and not (accepted_folder() / sha).is_file():
        what = f"you have not accepted this command before: {command}"
        hint = f"It comes from the store and would run as you. Where it is what you want: {OPTION} {sha}"
        raise InvalidInput(what, where=f"study {job.name!r}", hint=hint)
    if trusted:
        try:
            _keep(job)
        except OSError as error:
            warn(f"that you accept it cannot be kept in {accepted_folder()}: {error.strerror}")


def _keep(job: Job) -> None:
    folder, sha = accepted_folder(), sha_of(job)
    if not (folder / sha).is_file():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(folder / sha, started_text(job) + "\n")


def _words(space: Space) -> dict[str, list[str]]:
    """What parameters that are no numbers may put into a command, whatever its order in the job file."""
    words = {}
    for name, parameter in space.parameters.items():
        options = parameter.as_json().get("options", [])
        assert isinstance(options, list)
        given = (
            {option.type for option in parameter.options} if isinstance(parameter, Clusters) else set(map(str, options))
        )
        words[name] = sorted(given)
    return words


def _relative(path: Path, folder: Path) -> str:
    """The same on every machine for a folder inside of the job's own."""
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)
