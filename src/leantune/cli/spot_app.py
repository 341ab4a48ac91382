"""`leantune spot ...` and `leantune catalog ...`: which function serves which command."""

import typer

from leantune.cli import catalog_commands, spot_prices
from leantune.cli.exit_codes import ExitCode, explained
