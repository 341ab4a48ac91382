"""What `make demo` would recommend: its problem with every result known, its budget, many seeds.

    python -m benchmarks.demo [--json] [--seeds 10] [--strategies lean,eic,random]
    python -m benchmarks.demo --strategies "lean,lean(members=8)" --seeds 5

Table demo-mnist, 20 trials and $1.20, of which the strategies know. Accuracy: of what is recommended at the end, where
it is not feasible 0. Verified: tested on all the data, and its limits kept. Regret: |best - value| / |best - median| of
the feasible ones. Thinking: seconds of choosing the tests of one study. Replays are kept in ./leantune-replay as they
come: what was run once is not run again, and an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from leantune.cli.command import encoded
from leantune.errors import LeanTuneError
from leantune.lab.replay.contenders import split_specs
from leantune.lab.replay.kept import Kept
from leantune.lab.replay.pool import Done, Source, Task, run_all
from leantune.lab.replay.runs import PAPER, Row, Settings, check
from leantune.lab.replay.truth import Truth

TABLE, TRIALS, USD = "demo-mnist", 20, 1.20
GOOD, WANTED = 0.95, 0.9  # accuracy to recommend, and the share of the seeds that shall
STRATEGIES = "lean,eic,random"
RESULTS = Path("leantune-replay")
WIDE = 140
Run = Sequence[Row]


@dataclass(frozen=True)
class Figures:
    """One strategy over its seeds; means but for least_accuracy. good: share of the seeds that recommend at least GOOD,
    feasible. target: share that is good and verified. over_random: ratios of means to those of random search.
    """

    strategy: str
    seeds: int
    accuracy: float
    least_accuracy: float
    regret: float
    good: float
    verified: float
    target: float
    tests: float
    dollars: float
    thinking_seconds: float
    over_random: Mapping[str, float | None] | None = None


def figures(truth: Truth, strategy: str, runs: Sequence[Run]) -> Figures:
    """What the runs of one strategy, one a seed, came to."""
    metric = truth.problem.goal.metric
    advice = [run[-1].advice.get(PAPER) if run else None for run in runs]
    feasible = [one is not None and one.verdict.feasible for one in advice]
    accuracies = [
        one.verdict.metrics[metric] if one and keeps else 0.0 for one, keeps in zip(advice, feasible, strict=True)
    ]
    verified = [one is not None and keeps and one.tested for one, keeps in zip(advice, feasible, strict=True)]
    return Figures(
        strategy=strategy,
        seeds=len(runs),
        accuracy=fmean(accuracies),
        least_accuracy=min(accuracies),
        regret=fmean(truth.regret(one.verdict if one else None) for one in advice),
        good=fmean(accuracy >= GOOD for accuracy in accuracies),
        verified=fmean(verified),
        target=fmean(accuracy >= GOOD and sure for accuracy, sure in zip(accuracies, verified, strict=True)),
        tests=fmean(len(run) for run in runs),
        dollars=fmean(run[-1].dollars if run else 0.0 for run in runs),
        thinking_seconds=fmean(sum(row.ask_seconds for row in run) for run in runs),
    )


def compared(found: Sequence[Figures]) -> list[Figures]:
    """The same with ratios to random search, where that is among them."""
    base = next((one for one in found if one.strategy == "random"), None)
    if base is None:
        return list(found)
    names = ("accuracy", "regret", "dollars")
    return [
        replace(one, over_random={name: _ratio(getattr(one, name), getattr(base, name)) for name in names})
        for one in found
    ]


def _ratio(above: float, below: float) -> float | None:
    return above / below if below > 0 else None


def measure(given: argparse.Namespace, console: Console) -> list[Figures]:
    """Replay what is not kept yet; nothing is started before every strategy is known to be able to run."""
    source = Source(TABLE, given.data)
    table = source.load()
    settings = [
        Settings(spec, iterations=None, trials=TRIALS, usd=USD) for spec in dict.fromkeys(split_specs(given.strategies))
    ]
    for one in settings:
        check(table, one)
    tasks = [Task(source, one, seed) for one in settings for seed in range(given.seeds)]
    columns = (TextColumn("{task.description:12}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("demo", total=len(tasks))

        def done(_done: Done) -> None:
            progress.advance(bar)

        found = run_all(tasks, Kept(given.results), processes=given.processes, done=done)
    truth = Truth.of(table)
    return compared(
        [figures(truth, one.strategy, [found[task] for task in tasks if task.settings == one]) for one in settings]
    )


def target_words(one: Figures) -> str:
    """Whether the target is reached, in a sentence."""
    reached = "reached" if one.target >= WANTED else "missed"
    count = round(one.target * one.seeds)
    return (
        f"{one.strategy}: {count} of {one.seeds} seeds recommend at least {GOOD:g}, verified; the target, "
        f"{WANTED:.0%} of them, is {reached}"
    )


def print_report(found: Sequence[Figures], console: Console) -> None:
    """A line a strategy, then the target."""
    heads = ("strategy", "accuracy", "least", f"≥ {GOOD:g}", "verified", "regret", "dollars", "tests", "thinking s")
    table = Table(*heads, "accuracy, regret, dollars over random's")
    for one in found:
        ratios = one.over_random or {}
        table.add_row(
            one.strategy,
            *(f"{value:.4f}" for value in (one.accuracy, one.least_accuracy)),
            *(f"{value:.0%}" for value in (one.good, one.verified)),
            *(f"{value:.3g}" for value in (one.regret, one.dollars, one.tests, one.thinking_seconds)),
            ", ".join("-" if ratio is None else f"{ratio:.4g}" for ratio in ratios.values()),
        )
    console.print(table)
    for one in found:
        console.print(target_words(one), highlight=False)


def as_json(found: Sequence[Figures]) -> dict[str, object]:
    """Strict JSON."""
    return {
        "table": TABLE,
        "budget": {"trials": TRIALS, "usd": USD},
        "target": {"accuracy": GOOD, "share_of_seeds": WANTED},
        "strategies": [encoded({**asdict(one), "target_reached": one.target >= WANTED}) for one in found],
    }


def main(arguments: list[str] | None = None) -> None:
    """Measure, then print a table or JSON."""
    given, console = _parser().parse_args(arguments), Console(stderr=True)
    try:
        found = measure(given, console)
    except LeanTuneError as error:
        console.print(f"[red]{error}[/red]", highlight=False, soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        console.print("interrupted: what was finished is kept, the same command goes on")
        sys.exit(130)
    if given.json:
        print(json.dumps(as_json(found), indent=2))
    else:
        print_report(found, Console(width=None if sys.stdout.isatty() else WIDE))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON rather than a table")
    parser.add_argument("--seeds", type=_positive, default=10, help="studies of every strategy (10)")
    parser.add_argument("--strategies", default=STRATEGIES, help=f"whom to compare ({STRATEGIES})")
    parser.add_argument("--results", type=Path, default=RESULTS, help=f"folder in which replays are kept ({RESULTS})")
    parser.add_argument("--data", type=Path, help="folder of the measured tables, of demo/mnist_mlp.csv")
    parser.add_argument("--processes", type=_positive, default=2, help="replays at once (2)")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is none: give a whole number of at least 1")
    return int(text)


if __name__ == "__main__":
    main()
