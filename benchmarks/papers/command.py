"""The command: run the groups that are asked for, then write the page.

    python -m benchmarks.papers [--quick] [--full] [--seeds N] [--only trimtuner,nephele] [--json]

Results are kept in ./leantune-replay as they come: what was run once is not run again, and an interrupted run goes on
where it was.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.papers.experiments import OUTLINES, RNN, Effort, Group, groups, optuna_missing
from benchmarks.papers.inventory import Inventory
from benchmarks.papers.page import Written, write_page
from benchmarks.papers.results import Results, collect, complete
from leantune.errors import InvalidInput, LeanTuneError
from leantune.lab.replay.contenders import contender
from leantune.lab.replay.pool import Done

RESULTS = Path("leantune-replay")
DOCS = Path(__file__).resolve().parents[2] / "docs"
QUICK_DOCS = Path("leantune-replay") / "quick-docs"


def main(arguments: list[str] | None = None) -> None:
    """Run and write."""
    given = _parser().parse_args(arguments)
    console = Console(stderr=True)
    try:
        _run(given, console)
    except LeanTuneError as error:
        console.print(f"[red]{error}[/red]", highlight=False)
        sys.exit(2)
    except KeyboardInterrupt:
        console.print("interrupted: what was finished is kept, the same command goes on")
        sys.exit(130)


def _run(given: argparse.Namespace, console: Console) -> None:
    inventory = Inventory.take(given.data)
    if given.quick and RNN not in inventory.networks:
        console.print("no table of TrimTuner's at hand: a generated one is used", highlight=False)
        inventory = Inventory.generate(given.results / "generated-data")
    for name, why in inventory.missing.items():
        console.print(f"without {name}: {why}", highlight=False, soft_wrap=True)
    if not inventory.networks:
        raise InvalidInput(
            "none of TrimTuner's tables is at hand", where="papers", hint="Name their folder with --data"
        )
    if optuna_missing():
        console.print(f"without Optuna: {optuna_missing()}", highlight=False, markup=False)
    effort = Effort(given.quick, given.full, given.seeds)
    chosen = groups(inventory, effort, _only(given.only))
    for spec, filtered in {(case.settings.strategy, case.settings.filter) for g in chosen.values() for case in g.cases}:
        contender(spec, filtered)  # refuses now what it would refuse in an hour
    results = _collect(chosen, given, console)
    others = {name: group for name, group in groups(inventory, effort).items() if name not in chosen}
    results |= complete(others, given.results)
    docs = given.docs or (QUICK_DOCS if given.quick else DOCS)
    written = write_page(results, inventory, effort, docs)
    for name in others:
        told = "found, all of it" if name in results.groups else "not run"
        console.print(f"{name}: {told}", highlight=False)
    console.print(f"wrote {written.page} and {len(written.figures) + 1} files in {written.page.parent / 'results'}")
    if given.json:
        print(json.dumps(_summary(written, results), indent=2))


def _collect(chosen: dict[str, Group], given: argparse.Namespace, console: Console) -> Results:
    with _progress(console) as progress:
        bars = {
            name: progress.add_task(name, total=len({task for _, task in group.tasks()}), start=False)
            for name, group in chosen.items()
        }

        def done(group: Group, _done: Done) -> None:
            progress.start_task(bars[group.name])
            progress.advance(bars[group.name])

        return collect(chosen, given.results, processes=given.processes, done=done)


@contextmanager
def _progress(console: Console) -> Iterator[Progress]:
    columns = (TextColumn("{task.description:12}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        yield progress


def _only(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if name not in OUTLINES:
            raise InvalidInput(
                f"there is no group {name!r}", where="--only", hint=f"Choose among {', '.join(OUTLINES)}"
            )
    return tuple(name for name in OUTLINES if name in names)


def _summary(written: Written, results: Results) -> dict[str, object]:
    return {
        "claims": [claim.as_json() for claim in written.claims],
        "targets": [target.as_json() for target in written.targets],
        "minutes": {
            name: {"minutes": timing.seconds / 60.0, "replays": timing.replays}
            for name, timing in results.timings.items()
        },
        "page": str(written.page),
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one seed, 12 iterations, rnn: only to see that it runs")
    parser.add_argument("--full", action="store_true", help="100 rather than 40 iterations of Fabulinus, as the thesis")
    parser.add_argument("--seeds", type=_positive, help="seeds of every group, rather than 20 or 5")
    parser.add_argument("--only", default="", help=f"groups to run: {', '.join(OUTLINES)}")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder in which replays are kept")
    parser.add_argument("--docs", type=Path, help="folder of results.md (a quick run: a scratch folder)")
    parser.add_argument("--data", type=Path, help="folder of the measured tables")
    parser.add_argument("--processes", type=_positive, help="replays at once (one a core)")
    parser.add_argument("--json", action="store_true", help="print claims, targets and minutes as JSON")
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("give a whole number of at least 1")
    return value
