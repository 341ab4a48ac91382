"""Published measurements and prices are not shipped: LEANTUNE_DATA names their folder, or it lies beside the clone."""

from pathlib import Path

import pytest


def needs(*paths: Path) -> None:
    """Skip a test where one of these is absent, with the reason that tests/skips.toml lists as `data`."""
    __tracebackhide__ = True
    for path in paths:
        if not path.exists():
            pytest.skip(f"needs published data: {'/'.join(path.parts[-2:])}")
