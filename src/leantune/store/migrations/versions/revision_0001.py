"""The first schema, of LeanTune 0.1.0. New databases are made from `schema`; this is where revision 0002 begins."""

revision = "0001"
down_revision = None


def upgrade() -> None:
    """No database is made this way any more."""
    raise NotImplementedError
