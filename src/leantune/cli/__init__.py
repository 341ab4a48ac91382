"""The `leantune` command."""
