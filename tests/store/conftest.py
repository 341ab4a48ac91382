"""What the tests of the store share."""

from tests.postgres import postgres

__all__ = ["postgres"]
