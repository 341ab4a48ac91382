"""`leantune spot ...` and `leantune catalog ...`: they only parse; what each command does is imported when it runs."""

import os
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from leantune.cli.command import Answer, AsJson, ExitCode, command, typed_names
from leantune.cli.terminal import job_files, mode_of

WELL, WRONG_INPUT, INTERRUPTED = ExitCode.WELL, ExitCode.WRONG_INPUT, ExitCode.INTERRUPTED

spot = typer.Typer(rich_markup_mode=None)
catalog = typer.Typer(rich_markup_mode=None)

JsonInstead = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]


# -- spot prices


@command(spot, WELL, WRONG_INPUT)
def prices(
    files: list[Path] | None = Argument(
        None, help="Price files to import: CSV, or JSON of aws ec2 describe-spot-price-history.", metavar="FILES"
    ),
    *,
    store: Path | None = Option(None, "--store", help="The folder of kept prices; yours by default."),
    provider: str = Option("", help="Fetch what is new from this provider: aws."),
    region: str = Option("", help="The region to fetch from, such as us-east-1."),
    types: str = Option("", help="Only these machine types, such as m5.large,r4.xlarge."),
    products: str = Option("", help="Only these products, such as Linux/UNIX,Windows."),
    as_json: JsonInstead = False,
) -> Answer:
    """Import, fetch and show spot prices.

    Files are added to the kept prices; with --provider aws, what is new since then is fetched (extra aws; the last 90
    days at most). Then each market is summed up. Only new prices are added, so the command may be repeated.

    \b
    Examples:
      $ leantune spot prices history.csv
      $ leantune spot prices --provider aws --region us-east-1 --types m5.large,r5.large
      $ leantune spot prices --types m5.large --json
    """  # noqa: D301 (typer reads the backspace: what follows keeps its lines)
    from leantune.cli import spot_prices

    wanted = typed_names(types), typed_names(products)
    return spot_prices.prices(files or (), store, provider, region, *wanted)


# -- spot train

DEFAULT_PREDICTORS = "hazard,logistic,boosted,tributary,revpred"


@command(spot, WELL, WRONG_INPUT)
def train(  # noqa: PLR0913 - the options of a command
    *,
    prices: Path | None = Option(
        None, metavar="PATH", help="Prices: a CSV or JSON file, or a folder of kept prices; else generated ones."
    ),
    predictors: str = Option(DEFAULT_PREDICTORS, metavar="LIST", help="Predictors to train, or all."),
    per_market: bool = Option(False, "--per-market/--pooled", help="A model for each market, or one model for all."),
    tries: int = Option(4, min=1, help="Option sets to try for each predictor; validation chooses."),
    out: Path = Option(Path("leantune-predictors"), metavar="FOLDER", help="Where the predictors are written."),
    seed: int = Option(0, min=0, help="The same seed gives the same predictors."),
    days: float = Option(60, help="Use the last so many days of prices."),
    processes: int | None = Option(
        None, min=1, help="Tries at once [default: one for each core, at most one for each try]."
    ),
    questions: int = Option(60_000, min=100, help="Training questions, over all markets."),
    as_json: AsJson = False,
) -> Answer:
    """Learn from price history how likely each market takes a machine away within the hour.

    Trains on the first 60 % of the time, tunes on the next 15 %, and scores every predictor on the last 25 %; a simple
    count of the past week, which needs no training, is scored with them. Each predictor is written to its own file.

    \b
    Examples:
      $ leantune spot train --prices history.csv
      $ leantune spot train --prices history.csv --predictors boosted --out predictors
      $ leantune spot train --prices history.csv --predictors all --per-market --json
    """  # noqa: D301 (as above)
    from leantune.cli import spot_train as training
    from leantune.lab.training.training import TrainingPlan

    kinds, folder = training.kinds_of(predictors), training.made_folder(out)
    series, source = training.read_series(prices, seed, days)
    series = training.last_days(series, source, days)
    at_once = min(processes or os.cpu_count() or 1, tries * (len(series) if per_market else 1))
    part = max(questions // 4, 1)
    plan = TrainingPlan(tries, seed, per_market, questions, part, 2 * part, processes=at_once)
    return training.train(kinds, series, source, plan, folder)


# -- spot simulate

TIMELINE = Path("leantune-spot.html")
Regime = Annotated[Literal["volatile", "smooth"], Option(help="Generated prices as in 2016, or as they are today.")]
Policy = Annotated[
    str,
    Option(
        help="ours, paper, random, oracle, on-demand, single-cheapest, single-fastest; several with commas between."
    ),
]
RiskPredictor = Annotated[str, Option(metavar="NAME", help="The predictor of revocations: a name or a trained file.")]
SettingsFile = Annotated[
    Path | None,
    Option(
        metavar="FILE",
        help="YAML with the rest: hours, days, theta, mcnt, traces, revocations, provider, hour_value, exponent, "
        "speeds, instances.",
    ),
]
Html = Annotated[
    Path | None, Option(metavar="FILE", help=f"Where the timeline is drawn [default: {TIMELINE}; nowhere with --json].")
]


@command(spot, WELL, WRONG_INPUT)
def simulate(  # noqa: PLR0913 - its options, all by name
    *,
    workload: str = Option("all", metavar="FAMILY", help="Recorded jobs of one family, or all."),
    prices: str = Option("generated", metavar="FILE", help="A price history (CSV or JSON), or generated."),
    regime: Regime = "volatile",
    types: str = Option("", help="Only these machine types, such as r4.large,m4.2xlarge."),
    start: str = Option("", metavar="TIME", help="When the tuning begins, such as 2016-04-01T12:00 (UTC)."),
    policy: Policy = "ours,random,oracle,on-demand",
    predictor: RiskPredictor = "online-hazard",
    finish_by: str = Option("", metavar="TIME", help="Every training must end within this time, such as '30 h'."),
    settings: SettingsFile = None,
    seed: int = Option(0, help="Of generated prices, of traces' luck and of random choices."),
    html: Html = None,
    no_html: bool = Option(False, "--no-html", help="Draw no timeline."),
    as_json: JsonInstead = False,
) -> Answer:
    """Simulate what a tuning would cost on spot machines.

    Recorded training jobs are tuned by SpotTune's loop on simulated markets: every second is billed by the provider's
    rules, machines are taken away by prices or by real preemption traces. Where each job ran is drawn to an HTML file.

    \b
    Examples:
      $ leantune spot simulate
      $ leantune spot simulate --workload ResNet --regime smooth --policy ours,on-demand
      $ leantune spot simulate --prices history.csv --settings settings.yaml --finish-by "30 h" --json
    """  # noqa: D301 (as above)
    from leantune.cli import spot_simulate as simulating
    from leantune.lab.simulate.settings import SimulationSettings, read_settings

    rest = read_settings(settings) if settings else SimulationSettings()
    pool = simulating.pool_of(rest, prices, regime, types, start, seed)
    plan = simulating.plan_of(rest, pool, workload, policy, predictor, finish_by, seed)
    target = None if no_html or (as_json and html is None) else simulating.writable(html or TIMELINE)
    smooth_already = prices == simulating.GENERATED and regime == "smooth"
    return simulating.simulate(plan, None if smooth_already else seed, target)


# -- spot run


@command(spot, WELL, WRONG_INPUT, INTERRUPTED)
def run(
    job: Annotated[Path, typer.Argument(metavar="JOB", help="The job file.", autocompletion=job_files)],
    *,
    theta: float | None = Option(
        None, help="Share of the steps after which a setting is judged; 1: train all to the end. [default: 0.7]"
    ),
    mcnt: int | None = Option(None, "--mcnt", min=1, help="How many are trained to the end. [default: 3]"),
    steps: float | None = Option(None, help="The last step of a training [default: the job's steps]."),
    predictor: str | None = Option(
        None, "--predictor", metavar="NAME|FILE", help="The predictor of revocations. [default: online-hazard]"
    ),
    as_json: AsJson = False,
    plain: bool = Option(False, "--plain", help="Print lines instead of a live view."),
) -> Answer:
    """Tune a list of settings on spot machines (SpotTune).

    A short form of `leantune run` with `strategy: spottune` and `run: {machine: free}`. Every setting of the job, its
    `settings:` or all of its space, is trained up to theta of its steps; the end of each is predicted, and the
    best are trained to the end. Machines are simulated ones of the job's `cluster`, with a market that runs faster
    (docs/job-file.md); the programs are real and run here. They report `step` and the metric, and go on from their
    files in {checkpoint_dir}. Budget and limits hold, and it goes on when it is run again.

    \b
    Examples:
      $ leantune spot run job.yaml --steps 100
      $ leantune spot run job.yaml --theta 0.5 --mcnt 2 --json
    """  # noqa: D301 (as above)
    from leantune.cli import spot_run
    from leantune.jobfile.edit import SpotTuneOptions

    options = SpotTuneOptions(theta, mcnt, steps, predictor)
    return spot_run.run(job, options, mode_of(plain=plain, as_json=as_json))


# -- catalog

Region = Annotated[str, typer.Option(help="The region [default: us-east-1].")]


@command(catalog, WELL, WRONG_INPUT)
def show(
    *,
    region: Region = "",
    types: str = Option("", help="Only these types, such as m5.large or 'm5.*,g5.xlarge'."),
    as_json: JsonInstead = False,
) -> Answer:
    """Show machine types and their prices.

    On demand, and as spot machines by zone; with the date and the source of the table in use.

    \b
    Examples:
      $ leantune catalog show --types 'm5.*'
      $ leantune catalog show --region us-east-1 --json
    """  # noqa: D301 (as above)
    from leantune.cli import catalog as catalogues

    return catalogues.show(region, typed_names(types))


@command(catalog, WELL, WRONG_INPUT)
def refresh(
    *,
    csv_file: Path | None = Option(
        None, "--csv", help="Take prices from this file (docs/spot-prices.md has its columns)."
    ),
    provider: str = Option("", help="Ask this provider: aws."),
    region: Region = "",
    types: str = Option("", help="Fetch these types only, such as m5.large,g5.xlarge."),
    undo: bool = Option(False, "--undo", help="Go back to the shipped table."),
    as_json: JsonInstead = False,
) -> Answer:
    """Replace the table of a region by a newer one, from a CSV or from AWS.

    The new table is kept in your folder (variable LEANTUNE_HOME) and preferred to the shipped one. An existing study
    keeps the prices of its definition: with other prices it is refused, and --undo goes back to the shipped table.

    \b
    Examples:
      $ leantune catalog refresh --provider aws --region us-east-1
      $ leantune catalog refresh --csv prices.csv
      $ leantune catalog refresh --undo
    """  # noqa: D301 (as above)
    from leantune.cli import catalog as catalogues

    return catalogues.refresh(csv_file, provider, region, typed_names(types), undo=undo)
