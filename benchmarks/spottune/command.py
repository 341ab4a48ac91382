"""The command: train the predictors that are missing, simulate what is missing, write the page.

    python -m benchmarks.spottune [--quick] [--starts N] [--only volatile,theta] [--json]
    python -m benchmarks.spottune --against tests/benchmarks/spottune/frozen_verdicts.json

Predictors and tunings are kept in ./leantune-spottune as they come: what was run once is not run again, and an
interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.spottune import evidence as measuring
from benchmarks.spottune import frozen
from benchmarks.spottune.claims import Evidence
from benchmarks.spottune.experiments import OUTLINES, Effort, Group, groups, kinds_needed
from benchmarks.spottune.page import Content, Written, write_page
from benchmarks.spottune.pools import PoolName, missing, pool
from benchmarks.spottune.results import Place, Results, collect, families_of, jobs_of, prepare
from benchmarks.spottune.risks import Shelf
from leantune.curves.predictors import PREDICTORS
from leantune.errors import InvalidInput, LeanTuneError

RESULTS = Path("leantune-spottune")
DOCS = Path(__file__).resolve().parents[2] / "docs"
QUICK_FAMILIES = 1
NETWORKS = ("resnet", "cnn")  # of Fig. 11
ENDS = (1, 3)  # last reports whose median says how a setting ends


def main(arguments: list[str] | None = None) -> None:
    """Run and write."""
    given = _parser().parse_args(arguments)
    console = Console(stderr=True)
    try:
        same_verdicts = _run(given, console)
    except LeanTuneError as error:
        console.print(f"[red]{error}[/red]", highlight=False)
        sys.exit(2)
    except KeyboardInterrupt:
        console.print("interrupted: what was finished is kept, the same command goes on")
        sys.exit(130)
    if not same_verdicts:
        sys.exit(1)


def _run(given: argparse.Namespace, console: Console) -> bool:
    """Whether the verdicts are those of --against; True where nothing is compared."""
    before = frozen.read(given.against) if given.against else None
    effort, generated, lacking = _effort(given)
    for told in (*(f"{name}: no price files at hand, generated prices are used" for name in generated), *lacking):
        console.print(told, highlight=False, soft_wrap=True)
    place = Place(given.results, Shelf(given.results / "predictors", effort.plan), given.data, given.recording)
    chosen = groups(effort, _only(given.only))
    prepare(given.results)
    with _progress(console) as progress:
        _train(chosen, place, progress)
        results = _simulate(chosen, place, progress, given.processes)
    speeds = {str(name): pool(name, given.data).speeds() for name in (PoolName.VOLATILE, PoolName.SMOOTH)}
    content = Content(results, _evidence(place, effort), speeds, effort, generated, lacking)
    written = write_page(content, given.docs or (given.results / "quick-docs" if given.quick else DOCS))
    console.print(f"wrote {written.page} and {len(written.figures)} figures", highlight=False, soft_wrap=True)
    now = frozen.entries(results, written.claims, written.targets)
    if given.freeze:
        frozen.write(given.freeze, now)
    moved = [] if before is None else frozen.changes(before, now)
    if moved:
        told = "\n".join([*(one.line for one in moved), frozen.summary(moved)])
        print(told, file=sys.stderr if given.json else sys.stdout)
    if given.json:
        print(json.dumps(_summary(written), indent=2))
    return all(one.same_verdict for one in moved)


def _effort(given: argparse.Namespace) -> tuple[Effort, tuple[str, ...], tuple[str, ...]]:
    """How much is run, which pools have generated prices, and what cannot be run."""
    names = families_of(given.recording)
    if not names:
        hint = "Record them: python -m benchmarks.spottune.recording"
        raise InvalidInput("there are no recorded workloads", where="spottune", hint=hint)
    absent = {name: missing(name, given.data) for name in PoolName}
    lacking = tuple(
        f"{name}, for want of {absent[name][0].name}" for name in PoolName if name.by_capacity and absent[name]
    )
    generated = tuple(str(name) for name in PoolName if not name.by_capacity and absent[name])
    pools = tuple(name for name in PoolName if not (name.by_capacity and absent[name]))
    effort = Effort(pools, names, given.quick, given.starts, given.tries)
    if given.quick:
        effort = replace(effort, families=names[:QUICK_FAMILIES], starts=given.starts or 1)
    return effort, generated, lacking


def _train(chosen: Mapping[str, Group], place: Place, progress: Progress) -> None:
    wanted = kinds_needed(list(chosen.values()))
    bar = progress.add_task("predictors", total=len(wanted))
    for name, kind in wanted:
        progress.update(bar, description=f"{kind}, {name}")
        place.shelf.train(kind, pool(name, place.data))
        progress.advance(bar)
    progress.update(bar, description="predictors")


def _simulate(chosen: Mapping[str, Group], place: Place, progress: Progress, processes: int) -> Results:
    total = len({tuning for group in chosen.values() for _, tuning in group.tunings})
    bar = progress.add_task("tunings", total=total)
    return collect(chosen, place, processes=processes, done=lambda count: progress.advance(bar, count))


def _evidence(place: Place, effort: Effort) -> Evidence:
    """Scores of the predictors that are trained, errors of curves, variations of steps."""
    volatile = pool(PoolName.VOLATILE, place.data)
    scores = {kind: place.shelf.scores(kind, volatile) for kind in effort.predictors}
    jobs = {name: jobs_of(name, place.recording) for name in effort.families}
    curves = [one for name, of in jobs.items() if name.lower() in NETWORKS for one in measuring.curve_errors(of)]
    chosen = [measuring.chosen(of, name, reports=n) for n in ENDS for of in jobs.values() for name in PREDICTORS]
    known = {kind: found for kind, found in scores.items() if found}
    return Evidence(known, curves, chosen, measuring.variations(jobs))


@contextmanager
def _progress(console: Console) -> Iterator[Progress]:
    columns = (TextColumn("{task.description:26}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        yield progress


def _only(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if name not in OUTLINES:
            hint = f"Choose among {', '.join(OUTLINES)}"
            raise InvalidInput(f"there is no group {name!r}", where="--only", hint=hint)
    return tuple(name for name in OUTLINES if name in names)


def _summary(written: Written) -> dict[str, object]:
    return {
        "claims": [claim.as_json() for claim in written.claims],
        "targets": [target.as_json() for target in written.targets],
        "page": str(written.page),
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one start, one family, no networks: to see that it runs")
    parser.add_argument("--starts", type=_positive, help="start times of every group, rather than 10 or 5")
    parser.add_argument("--tries", type=_positive, default=2, help="settings tried for each predictor (2)")
    parser.add_argument("--only", default="", help=f"groups to run: {', '.join(OUTLINES)}")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of trained predictors and tunings")
    parser.add_argument("--docs", type=Path, help="folder of spot-results.md (a quick run: beside its results)")
    parser.add_argument("--data", type=Path, help="folder of the prices, traces and speeds")
    parser.add_argument("--recording", type=Path, help="folder of recorded families, rather than the shipped ones")
    parser.add_argument("--processes", type=_positive, default=2, help="simulations at once (2)")
    parser.add_argument("--freeze", type=Path, metavar="FILE", help="write verdicts and numbers to this file")
    parser.add_argument("--against", type=Path, metavar="FILE", help="say what moved since; exit code 1: a verdict")
    parser.add_argument("--json", action="store_true", help="print claims and targets as JSON")
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("give a whole number of at least 1")
    return value
