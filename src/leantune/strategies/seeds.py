"""Seeds that depend only on what they are for, never on what was drawn before."""

from __future__ import annotations

import hashlib


def derived_seed(*parts: int | str) -> int:
    """A 63-bit number from the parts; the seed of proposal n comes from (study seed, n)."""
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
