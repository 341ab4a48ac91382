"""`leantune spot ...` and `leantune catalog ...`: which function serves which command."""

import typer

from leantune.cli import catalog_commands, spot_prices, spot_run, spot_simulate, spot_train
from leantune.cli.exit_codes import ExitCode, explained

WELL, WRONG_INPUT, INTERRUPTED = ExitCode.WELL, ExitCode.WRONG_INPUT, ExitCode.INTERRUPTED

spot = typer.Typer(rich_markup_mode=None)
spot.command(epilog=explained(WELL, WRONG_INPUT))(spot_prices.prices)
spot.command(epilog=explained(WELL, WRONG_INPUT))(spot_train.train)
spot.command(epilog=explained(WELL, WRONG_INPUT))(spot_simulate.simulate)
spot.command(epilog=explained(WELL, WRONG_INPUT, INTERRUPTED))(spot_run.run)

catalog = typer.Typer(rich_markup_mode=None)
catalog.command(epilog=explained(WELL, WRONG_INPUT))(catalog_commands.show)
catalog.command(epilog=explained(WELL, WRONG_INPUT))(catalog_commands.refresh)
