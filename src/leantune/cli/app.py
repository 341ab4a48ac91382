"""The `leantune` command: one typer app; each command's work lives in a module of its own, imported when it runs.

Exit codes: 0 all is well; 1 the command ran and the answer is bad news (a part is broken); 2 the command line is wrong.
"""

import typer

import leantune

app = typer.Typer(
    name="leantune",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: the examples keep their lines, and `--help` needs no rich
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"leantune {leantune.__version__}")
        raise typer.Exit


@app.callback()
def leantune_command(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    """Tune training jobs on rented machines: cluster and hyper-parameters together, within your dollars and minutes.

    \b
    Examples:
      $ leantune --version
      $ leantune doctor
    """  # noqa: D301 (typer reads the backspace: what follows keeps its lines)


@app.command()
def doctor(
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of tables."),
) -> None:
    """Say what is installed, what is missing and how to get it.

    \b
    Examples:
      $ leantune doctor
      $ leantune doctor --json
    \b
    Exit codes:
      0  everything that LeanTune always needs works (extras may be missing)
      1  a part that LeanTune always needs is missing or broken
    """  # noqa: D301 (as above)
    from leantune.cli.doctor import examine
    from leantune.cli.doctor_report import print_json, print_tables

    diagnosis = examine()
    (print_json if as_json else print_tables)(diagnosis)
    if not diagnosis.healthy:
        raise typer.Exit(1)


def main() -> None:
    """Entry point of the `leantune` script and of `python -m leantune`."""
    app(prog_name="leantune")
