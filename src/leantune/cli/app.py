"""The `leantune` command: one typer app that only parses; what each command does is imported when it runs.

Exit codes are those of `leantune.cli.command`, for every command.
"""

import io
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option
from typer.core import TyperGroup
from typer.main import get_group

import leantune
from leantune.cli.command import MEANINGS, Answer, AsJson, ExitCode, command, explained
from leantune.cli.terminal import job_files, mode_of, study_names, table_names

WELL, BAD_NEWS, WRONG_INPUT = ExitCode.WELL, ExitCode.BAD_NEWS, ExitCode.WRONG_INPUT
NOTHING_YET, STORE_TROUBLE, INTERRUPTED = ExitCode.NOTHING_YET, ExitCode.STORE_TROUBLE, ExitCode.INTERRUPTED

app = typer.Typer(
    name="leantune",
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: the examples keep their lines, and `--help` needs no rich
    pretty_exceptions_enable=False,  # other errors are bugs: a plain traceback helps most
    context_settings={"help_option_names": ["-h", "--help"]},
)

OptionalJobFile = Annotated[
    Path | None, typer.Argument(metavar="JOB", help="The study's job file.", autocompletion=job_files)
]
Store = Annotated[
    str | None, typer.Option(metavar="URL", help="The study's store, where no job file is given; with --study.")
]
Study = Annotated[
    str | None, typer.Option(metavar="NAME", help="The study's name in that store.", autocompletion=study_names)
]
Trust = Annotated[
    str, typer.Option(metavar="SHA", help="With --store: accept the command with this SHA-256, now and later.")
]
LogFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Append to this file what this worker decides, and when.")
]
Plain = Annotated[bool, typer.Option("--plain", help="Print plain lines, also on a terminal.")]


def _logging_to(path: Path | None) -> AbstractContextManager[None]:
    if path is None:
        return nullcontext()
    from leantune.cli.logs import logging_to

    return logging_to(path)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"leantune {leantune.__version__}")
        raise typer.Exit


@app.callback(epilog=explained(*MEANINGS))
def leantune_command(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    """Tune training jobs on rented machines: cluster and hyper-parameters together, within your dollars and minutes.

    With --json a command prints one JSON object on standard output, {"error": {...}} if it cannot do what was asked;
    everything else goes to standard error.

    \b
    Examples:
      $ leantune run job.yaml
      $ leantune status job.yaml
      $ leantune doctor
      $ leantune --version
    """  # noqa: D301 (typer reads the backspace: what follows keeps its lines)


@command(
    app,
    *MEANINGS,
    well="the study is over, and there is a recommendation",
    bad_news="trials kept failing and none succeeded",
    nothing_yet="the study is over, and there is nothing to recommend",
)
def run(
    job: Annotated[Path, typer.Argument(metavar="JOB", help="The job file.", autocompletion=job_files)],
    dry_run: bool = Option(False, "--dry-run", help="Say what would be run first and what it may cost; start nothing."),
    log_file: LogFile = None,
    as_json: AsJson = False,
    plain: Plain = False,
) -> Answer:
    """Run a job's study to its end and recommend a configuration.

    May be stopped at any time and goes on when run again. Ctrl-C once asks the running trials to save a checkpoint;
    twice ends them at once. On a terminal there is a live view; with --json the lines go to standard error.

    \b
    Examples:
      $ leantune run job.yaml --dry-run
      $ leantune run job.yaml
      $ leantune run job.yaml --json
    """  # noqa: D301 (as above)
    from leantune.cli import studies

    if dry_run:
        return studies.dry_run(job)
    with _logging_to(log_file):
        return studies.run(studies.StudyTarget(job), mode_of(plain=plain, as_json=as_json))


@command(app, WELL, WRONG_INPUT, STORE_TROUBLE)
def status(job: OptionalJobFile = None, store: Store = None, study: Study = None, as_json: AsJson = False) -> Answer:
    """Show the state of a study.

    Trials, dollars, the best result so far, who works on it, what runs and what failed.

    \b
    Examples:
      $ leantune status job.yaml
      $ leantune status --store sqlite:///leantune.db --study digits --json
    """  # noqa: D301 (as above)
    from leantune.cli import studies

    return studies.status(studies.StudyTarget(job, store, study))


@command(app, WELL, WRONG_INPUT, NOTHING_YET, STORE_TROUBLE)
def recommend(job: OptionalJobFile = None, store: Store = None, study: Study = None, as_json: AsJson = False) -> Answer:
    """Say which configuration to use, and how sure that is.

    Computed from all results so far, with the expected metrics and the probability of each limit.

    \b
    Examples:
      $ leantune recommend job.yaml
      $ leantune recommend --store sqlite:///leantune.db --study digits --json
    """  # noqa: D301 (as above)
    from leantune.cli import studies

    return studies.recommend(studies.StudyTarget(job, store, study))


@command(
    app,
    *MEANINGS,
    well="the run succeeded, and every limit held",
    bad_news="a limit did not hold, or the run failed",
    nothing_yet="there is nothing to recommend yet, or the budget does not cover the run (see --beyond-budget)",
)
def verify(
    job: OptionalJobFile = None,
    store: Store = None,
    study: Study = None,
    beyond_budget: bool = Option(False, "--beyond-budget", help="Raise the budget where it does not cover this run."),
    trust: Trust = "",
    log_file: LogFile = None,
    as_json: AsJson = False,
    plain: Plain = False,
) -> Answer:
    """Run the recommendation on all the data and check the limits.

    One run, paid from the budget; Ctrl-C as in `leantune run`.

    \b
    Examples:
      $ leantune verify job.yaml
      $ leantune verify job.yaml --beyond-budget --json
    """  # noqa: D301 (as above)
    from leantune.cli import studies

    mode = mode_of(plain=plain, as_json=as_json)
    with _logging_to(log_file):
        return studies.verify(studies.StudyTarget(job, store, study, trust), mode, beyond_budget=beyond_budget)


@command(app, WELL, WRONG_INPUT, STORE_TROUBLE)
def extend(
    job: OptionalJobFile = None,
    store: Store = None,
    study: Study = None,
    usd: float | None = Option(None, help="Dollars in all."),
    trials: int | None = Option(None, help="Trials in all."),
    hours: float | None = Option(None, help="Hours of training in total."),
    as_json: AsJson = False,
) -> Answer:
    """Raise a study's budget; run it again to go on.

    The numbers are new totals. They are written to the store and, where one is given, to the job file.

    \b
    Examples:
      $ leantune extend job.yaml --trials 8
      $ leantune extend --store sqlite:///leantune.db --study digits --trials 9 --json
    """  # noqa: D301 (as above)
    from leantune.cli import studies
    from leantune.problem import Budget

    return studies.extend(studies.StudyTarget(job, store, study), Budget(usd, trials, hours))


Trials = Annotated[
    list[str] | None,
    Argument(metavar="[JOB] [N]...", help="The study's job file, and numbers of trials.", autocompletion=job_files),
]


@command(
    app, WELL, STORE_TROUBLE, wrong_input="the command line is wrong, or a trial has not failed; nothing is changed"
)
def retry(
    what: Trials = None,
    store: Store = None,
    study: Study = None,
    failed: bool = Option(False, "--failed", help="All trials that have failed."),
    as_json: AsJson = False,
) -> Answer:
    """Queue failed trials again, once what made them fail is put right.

    The next run starts them, from nothing. Their failures teach the models nothing any more; their dollars stay
    spent, and they use no other trial of the budget.

    \b
    Examples:
      $ leantune retry job.yaml --failed
      $ leantune retry --store sqlite:///leantune.db --study digits --failed --json
    """  # noqa: D301 (as above)
    from leantune.cli import studies

    named, numbers = studies.named_trials(what or (), store, study)
    return studies.retry(named, numbers, failed=failed)


@command(app, WELL, WRONG_INPUT, STORE_TROUBLE)
def report(
    job: OptionalJobFile = None,
    store: Store = None,
    study: Study = None,
    output: Path | None = Option(None, "--output", "-o", help="The file to write [default: NAME-report.html]."),
    show_it: bool = Option(False, "--open/--no-open", help="Open it in a browser."),
    as_json: AsJson = False,
) -> Answer:
    """Write one HTML file about a study, with its plots.

    It holds everything it needs and opens without a network.

    \b
    Examples:
      $ leantune report job.yaml
      $ leantune report --store sqlite:///leantune.db --study digits -o digits.html --json
    """  # noqa: D301 (as above)
    from leantune.cli import studies

    return studies.report(studies.StudyTarget(job, store, study), output, show_it=show_it)


@command(
    app, WELL, STORE_TROUBLE, wrong_input="the command line is wrong, or the study is not over; nothing is removed"
)
def clean(
    job: OptionalJobFile = None,
    store: Store = None,
    study: Study = None,
    dry_run: bool = Option(False, "--dry-run", help="Say what would be removed; remove nothing."),
    as_json: AsJson = False,
) -> Answer:
    """Free the disk of what a study that is over has left here.

    Folders of its trials, their logs, and copies of their checkpoints. The model of the recommendation stays, and so
    does everything in the store: the study can still be looked at, verified and extended.

    \b
    Examples:
      $ leantune clean job.yaml --dry-run
      $ leantune clean --store sqlite:///leantune.db --study digits --json
    """  # noqa: D301 (as above)
    from leantune.cli import studies

    return studies.clean(studies.StudyTarget(job, store, study), dry_run=dry_run)


@command(
    app,
    *(WRONG_INPUT, STORE_TROUBLE, INTERRUPTED),
    well="the study is over",
    bad_news="trials kept failing and none succeeded",
)
def worker(
    job: OptionalJobFile = None,
    store: Store = None,
    study: Study = None,
    parallel: int | None = Option(None, min=1, help="Runs at once on this worker [default: the job's]."),
    trust: Trust = "",
    log_file: LogFile = None,
    as_json: AsJson = False,
    plain: Plain = False,
) -> Answer:
    """Join a study from another terminal or machine.

    With --store and --study the job file is the one kept in the store; its programs start in the present folder. Its
    command must be one that you have run or accepted before: else it is shown, and --trust accepts it.

    \b
    Examples:
      $ leantune worker job.yaml
      $ leantune worker --store sqlite:///leantune.db --study digits --parallel 2
    """  # noqa: D301 (as above)
    from leantune.cli import studies

    target = studies.StudyTarget(job, store, study, trust)
    with _logging_to(log_file):
        return studies.worker(target, mode_of(plain=plain, as_json=as_json), parallel)


@command(app, WELL, WRONG_INPUT, STORE_TROUBLE)
def logs(
    job: OptionalJobFile = None,
    store: Store = None,
    study: Study = None,
    workers: bool = Option(False, "--worker", help="What workers decided instead, from the store."),
    as_json: AsJson = False,
) -> Answer:
    """Say where the programs' output is kept, or what workers decided.

    With --worker: time, worker, trial, attempt and decision of every move, without what programs said.

    \b
    Examples:
      $ leantune logs job.yaml
      $ leantune logs job.yaml --worker
      $ leantune logs --store sqlite:///leantune.db --study digits --worker --json
    """  # noqa: D301 (as above)
    from leantune.cli import logs as logging
    from leantune.cli import studies

    target = studies.StudyTarget(job, store, study)
    return logging.workers(target) if workers else logging.programs(target)


DEFAULT_ITERATIONS = 44  # tests of a replay without a budget
Table = Annotated[
    str | None, Argument(metavar="TABLE", help="A table by its name, or its YAML file.", autocompletion=table_names)
]
Iterations = Annotated[
    int | None,
    Option(
        min=1, help="Tests after the start, at most; strategies do not see this limit [default: 44 without a budget]."
    ),
]
Filter = Annotated[
    str, Option("--filter", metavar="FILTER", help="none, cea:0.2, random:0.1, direct or cmaes, for all.")
]
Rule = Annotated[Literal["paper", "common"], Option(help="Whose rule recommends: each paper's own, or one for all.")]
Noise = Annotated[
    float, Option(min=0.0, metavar="FACTOR", help="Scatter of every test: 1 for that of the table's deviations.")
]


@command(
    app,
    WELL,
    wrong_input="the command line or the table is wrong; nothing was started",
    store_trouble="results cannot be kept",
    interrupted="interrupted by Ctrl-C; runs that had ended are kept, and the same command goes on",
)
def replay(  # noqa: PLR0913 - its options, all by name
    table: Table = None,
    *,
    strategies: str = Option("", metavar="LIST", help="Strategies, such as trimtuner-gp,eic,'nephele(horizon=1)'."),
    seeds: int = Option(8, min=1, help="Runs of each strategy, with seeds 0, 1, ..."),
    iterations: Iterations = None,
    trials: int | None = Option(None, min=1, help="Tests that a run may make, including the start."),
    usd: float | None = Option(None, "--usd", "--budget-usd", metavar="USD", help="Dollars that a run may spend."),
    hours: float | None = Option(None, metavar="HOURS", help="Hours of training that a run may take in total."),
    filter_spec: Filter = "",
    incumbent: Rule = "paper",
    parallel: int = Option(1, min=1, help="Tests at once in a run."),
    noise: Noise = 0.0,
    problem: str = Option("", metavar="NAME", help="The name of another problem of the table."),
    data: Path | None = Option(None, metavar="DIR", help="The folder of the tables' CSV files."),
    processes: int | None = Option(None, min=0, help="Runs at once [default: one for each core]; 0: in this process."),
    results: Path = Option(Path("leantune-replay"), metavar="DIR", help="The folder where results are kept."),
    rows: Path | None = Option(None, metavar="FILE", help="Write every test to a CSV file."),
    at_usd: str = Option("", metavar="LIST", help="Dollars at which regrets are shown, such as 0.1,0.5."),
    calibration: bool = Option(False, "--calibration", help="Compare what strategies believed with the truth."),
    facts: bool = Option(False, "--facts", help="Only show what is in the table."),
    list_them: bool = Option(False, "--list", help="Only list the tables that have a name."),
    as_json: AsJson = False,
) -> Answer:
    """Compare strategies on measured tables.

    A table has every result already, so a study of it trains nothing: dollars and seconds are the table's. Without a
    TABLE those known by name are listed; any CSV will do (docs/replay-tables.md). Runs are kept: a second comparison
    only adds what is missing.

    \b
    Examples:
      $ leantune replay
      $ leantune replay trimtuner-rnn --facts --json
      $ leantune replay measured.yaml --strategies eic,random --seeds 2 --iterations 4
      $ leantune replay measured.yaml --strategies lean,eic --seeds 2 --trials 8 --usd 0.50 --at-usd 0.1 --calibration
    """  # noqa: D301 (as above)
    from leantune.cli import replay as replaying
    from leantune.lab.replay.pool import Source
    from leantune.lab.replay.runs import Settings

    if table is None or list_them:
        return replaying.presets(data)
    source = Source(table, data, problem)
    if facts:
        return replaying.table_facts(source)
    tests = DEFAULT_ITERATIONS if {iterations, trials, usd, hours} == {None} else iterations
    common = Settings("", filter_spec, tests, trials, usd, hours, parallel=parallel, noise=noise)
    evaluation = replaying.Evaluation(incumbent, rows, at_usd, calibration)
    return replaying.compare(source, strategies, common, range(seeds), evaluation, results, processes)


@command(
    app,
    well="everything that LeanTune always needs works (extras may be missing)",
    bad_news="a part that LeanTune always needs is missing or broken",
    wrong_input="the command line is wrong",
)
def doctor(as_json: AsJson = False) -> Answer:
    """Say what is installed, what is missing and how to get it.

    \b
    Examples:
      $ leantune doctor
      $ leantune doctor --json
    """  # noqa: D301 (as above)
    from leantune.cli.doctor import answer, examine

    return answer(examine())


@command(app, WELL, WRONG_INPUT)
def schema(as_json: AsJson = False) -> Answer:
    """Print the JSON schema of job files, for editors.

    The same with and without --json.

    \b
    Examples:
      $ leantune schema
    """  # noqa: D301 (as above)
    import json

    from leantune.jobfile.job import job_schema

    document = job_schema()
    return Answer(document, [json.dumps(document, indent=2)])


class LaterGroup(TyperGroup):
    """A group of commands that `leantune.cli.spot_app` has under its name; they are imported when one is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        from leantune.cli import spot_app

        self.commands.update(get_group(getattr(spot_app, self.name or "")).commands)
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        self.list_commands(ctx)
        return super().get_command(ctx, cmd_name)


GROUPS = {
    "spot": "Spot machines: prices, risks, simulations (docs/spot.md).",
    "catalog": "Machines for rent: sizes, prices, zones.",
}
for _name, _help in GROUPS.items():
    app.add_typer(typer.Typer(cls=LaterGroup, no_args_is_help=True, rich_markup_mode=None, help=_help), name=_name)


def main() -> None:
    """Entry point of the `leantune` script and of `python -m leantune`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show ≤ shows ?, and the study goes on
    app(prog_name="leantune")
