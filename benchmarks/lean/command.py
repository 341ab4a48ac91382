"""The command: run the groups that are asked for, then write the page.

    python -m benchmarks.lean [--quick] [--seeds N] [--only main,nephele] [--json]
    python -m benchmarks.lean --only main --strategies "lean,lean(x=1)" --tables rnn --seeds 10

The second form is for exploring: a short table, no page. Replays are kept in ./leantune-lean as they come: what was run
once is not run again, and an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.lean.experiments import LEAN, OUTLINES, TABLES, Effort, groups
from benchmarks.lean.explore import explored
from benchmarks.lean.page import Written, write_page
from benchmarks.papers.experiments import Group
from benchmarks.papers.results import Results, collect, complete
from leantune.errors import InvalidInput, LeanTuneError
from leantune.lab.replay.contenders import contender, split_specs
from leantune.lab.replay.pool import Done

RESULTS = Path("leantune-lean")
DOCS = Path(__file__).resolve().parents[2] / "docs"


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
    strategies = tuple(split_specs(given.strategies)) if given.strategies else ()
    tables = _chosen(given.tables, TABLES, "--tables")
    effort = Effort(given.quick, given.seeds, strategies, tables, given.data, given.lean)
    only = _chosen(given.only, tuple(OUTLINES), "--only")
    chosen = groups(effort, only)
    for spec in {case.settings.strategy for group in chosen.values() for case in group.cases}:
        contender(spec)  # refuses now what it would refuse in an hour
    results = _collect(chosen, given, console)
    if strategies or tables:
        print(explored(results))
        return
    results |= complete({name: one for name, one in groups(effort).items() if name not in chosen}, given.results)
    written = write_page(results, effort, given.docs or (given.results / "quick-docs" if given.quick else DOCS))
    missed = sum(target.reached is False for target in written.targets)
    console.print(f"wrote {written.page}: {len(written.targets)} targets, {missed} missed", highlight=False)
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


def _summary(written: Written, results: Results) -> dict[str, object]:
    return {
        "targets": [target.as_json() for target in written.targets],
        "losses": [asdict(loss) for loss in written.losses],
        "minutes": {
            name: {"minutes": timing.seconds / 60.0, "replays": timing.replays}
            for name, timing in results.timings.items()
        },
        "page": str(written.page),
    }


def _chosen(text: str, known: tuple[str, ...], where: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if name not in known:
            raise InvalidInput(f"there is no {name!r}", where=where, hint=f"Choose among {', '.join(known)}")
    return tuple(name for name in known if name in names)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one seed, 12 iterations: only to see that it runs")
    parser.add_argument("--seeds", type=_positive, help="seeds of every group, problems of every family")
    parser.add_argument("--only", default="", help=f"groups to run: {', '.join(OUTLINES)}")
    parser.add_argument("--strategies", default="", help="explore: these rather than each group's own; no page")
    parser.add_argument("--tables", default="", help=f"explore: of {', '.join(TABLES)}, rather than both; no page")
    parser.add_argument("--lean", default=LEAN, help="the strategy text that goes by the name of lean")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder in which replays are kept")
    parser.add_argument("--docs", type=Path, help="folder of lean-results.md (a quick run: beside its results)")
    parser.add_argument("--data", type=Path, help="folder of the measured tables")
    parser.add_argument("--processes", type=_positive, default=2, help="replays at once (2)")
    parser.add_argument("--json", action="store_true", help="print targets, losses and minutes as JSON")
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("give a whole number of at least 1")
    return value
