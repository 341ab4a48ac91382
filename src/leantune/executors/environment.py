"""What training programs inherit of the environment that LeanTune itself was started in."""

from __future__ import annotations

from collections.abc import Collection, Mapping

STORE_PREFIX = "PG"  # how the names begin of all variables that PostgreSQL's client library reads


def belongs_to_store(name: str) -> bool:
    """Whether a variable is one of those that our store uses: a password of the store is no program's business."""
    return name.startswith(STORE_PREFIX)


def inherited(variables: Mapping[str, str], keep: Collection[str] = ()) -> dict[str, str]:
    """All of them but the store's own; keep: names of those that the programs need themselves."""
    return {name: value for name, value in variables.items() if name in keep or not belongs_to_store(name)}
