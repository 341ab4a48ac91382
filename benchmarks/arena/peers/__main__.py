"""The environments of other people's tuners.

    python -m benchmarks.arena.peers install [NAME ...]

Each is made once, below .venv-peers; one that cannot be made is said, and the arena plays without it.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.arena.peers.environments import ENVIRONMENTS
from leantune.errors import LeanTuneError


def main(arguments: list[str] | None = None) -> None:
    """Install what is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["install"])
    own = [environment.name for environment in ENVIRONMENTS.values() if environment.requirements]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(own)}; all by default")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in own]
    if unknown:
        parser.error(f"there is no environment {unknown[0]!r}: choose among {', '.join(own)}")
    for name in given.names or own:
        try:
            ENVIRONMENTS[name].install()
        except LeanTuneError as error:
            print(f"without {error.where}: {error}", file=sys.stderr)
        else:
            print(f"{name}: {', '.join(ENVIRONMENTS[name].requirements)}")


if __name__ == "__main__":
    main()
