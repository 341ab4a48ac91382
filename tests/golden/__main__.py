"""python -m tests.golden --write: run everything, and keep what it answers now. Read the difference with git diff."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from tests.golden import commands, proposals
from tests.golden.kept import FINGERPRINT, Json, fingerprint, written


def main(arguments: list[str] | None = None) -> None:
    """Rewrite the kept answers, all or those of some scenarios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="rewrite the kept answers")
    parser.add_argument("names", nargs="*", help=f"only of these: proposals, {', '.join(commands.SCENARIOS)}")
    given = parser.parse_args(arguments)
    if not given.write:
        parser.error("give --write; tests/cli/test_golden.py compares")
    for name in given.names or ("proposals", *commands.SCENARIOS):
        found = proposals.answers() if name == "proposals" else _answers(name)
        _keep(found)
        print(f"{name}: {len(found)} files")
    _keep({FINGERPRINT: fingerprint()})


def _answers(name: str) -> dict[Path, Json]:
    shutil.rmtree(commands.OUTPUTS / name, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="leantune-golden-") as folder:
        return commands.answers(name, Path(folder).resolve())


def _keep(found: dict[Path, Json]) -> None:
    for path, answer in found.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(written(answer), encoding="utf-8")


if __name__ == "__main__":
    main()
