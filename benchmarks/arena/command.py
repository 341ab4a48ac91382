"""The command: play what is asked for, then write the page.

    python -m benchmarks.arena [--quick] [--seeds N] [--hours H] [--json]
    python -m benchmarks.arena --only papers,demo-mnist --strategies lean,eic

Replays are kept in ./leantune-arena as they come: what was run once is not run again, and an interrupted run goes on
where it was. All seeds take longer than the four hours after which `make arena` ends, with fewer seeds for everybody;
the same command goes on.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from benchmarks.arena.budgets import BUDGETS, MOST_TESTS
from benchmarks.arena.contests import LEAN, LEAN_SEEDS, OWN_ENTRANTS, QUICK_SEEDS, SEEDS, Contest, Entrant, Played, play
from benchmarks.arena.page import Absent, Written, write_page
from benchmarks.arena.peers.entrants import PEER_ENTRANTS
from benchmarks.arena.problems import FAMILIES, QUICK, Problems, find_problems, problem_names
from leantune.errors import InvalidInput, LeanTuneError
from leantune.lab.replay.contenders import contender

RESULTS = Path("leantune-arena")
DOCS = Path(__file__).resolve().parents[2] / "docs"
QUICK_BUDGETS = ("10 tests", "$3 runs")
QUICK_STRATEGIES = (LEAN, "eic", "random")
QUICK_TESTS = 12


def main(arguments: list[str] | None = None) -> None:
    """Play and write."""
    given = arguments_of(arguments)
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
    names = _chosen(given.only, (*FAMILIES, *problem_names()), "--only") or (QUICK if given.quick else tuple(FAMILIES))
    entrants, refused = _entrants(given)
    problems = find_problems(names, given.data)  # loads every table
    if not problems.ready:
        hint = "Name the folder of the tables with --data"
        raise InvalidInput("no table is at hand", where="arena", hint=hint)
    for name, why in (refused | problems.missing).items():
        console.print(f"without {name}: {why}", highlight=False, markup=False, soft_wrap=True)
    played = _play(_contest(given, problems, entrants), given, console)
    docs = given.docs or (given.results / "quick-docs" if given.quick or given.only or given.strategies else DOCS)
    written = write_page(played, Absent(refused, problems.missing), docs, remark=remark_on(given))
    missed = sum(target.reached is False for target in written.targets)
    console.print(f"wrote {written.page}: {len(written.targets)} targets, {missed} missed", highlight=False)
    if given.json:
        print(json.dumps(_summary(written), indent=2))


def remark_on(given: argparse.Namespace) -> str:
    """What of the arena this run is, where it is not all of it."""
    if given.quick:
        return "This is a quick run: few seeds, problems and budgets, only to see that it runs."
    asked = {"--only": given.only, "--strategies": given.strategies, "--seeds": given.seeds, "--hours": given.hours}
    parts = " ".join(f'{name} "{value}"' for name, value in asked.items() if value)
    return f"This is a part of the arena: `python -m benchmarks.arena {parts}`." if parts else ""


def _entrants(given: argparse.Namespace) -> tuple[tuple[Entrant, ...], dict[str, str]]:
    """Those that can play, and why the others cannot."""
    known = {entrant.name: entrant for entrant in (*OWN_ENTRANTS, *PEER_ENTRANTS)}
    names = _chosen(given.strategies, tuple(known), "--strategies")
    names = names or (QUICK_STRATEGIES if given.quick else tuple(known))
    ready: list[Entrant] = []
    refused: dict[str, str] = {}
    for entrant in (known[name] for name in names):
        try:
            contender(entrant.spec)
        except LeanTuneError as error:
            refused[entrant.name] = str(error)
        else:
            ready.append(entrant)
    return tuple(ready), refused


def _contest(given: argparse.Namespace, problems: Problems, entrants: tuple[Entrant, ...]) -> Contest:
    budgets = {name: BUDGETS[name] for name in (QUICK_BUDGETS if given.quick else BUDGETS)}
    lean, others = (QUICK_SEEDS, QUICK_SEEDS) if given.quick else (LEAN_SEEDS, SEEDS)
    tests = QUICK_TESTS if given.quick else MOST_TESTS
    return Contest(problems.ready, entrants, given.seeds or lean, min(given.seeds or others, others), budgets, tests)


def _play(contest: Contest, given: argparse.Namespace, console: Console) -> Played:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        bar = progress.add_task("replays", total=len({task for _, task in contest.tasks()}))
        return play(
            contest,
            given.results,
            processes=given.processes,
            hours=given.hours,
            done=lambda _done: progress.advance(bar),
        )


def _summary(written: Written) -> dict[str, object]:
    return {
        "targets": [target.as_json() for target in written.targets],
        "losses": [asdict(loss) for loss in written.losses],
        "page": str(written.page),
    }


def _chosen(text: str, known: tuple[str, ...], where: str) -> tuple[str, ...]:
    """Names of a list; those with a comma in them are read too."""
    rest, names = text, []
    while rest := rest.strip(" ,"):
        fitting = [name for name in known if rest == name or rest.startswith(f"{name},")]
        if not fitting:
            wrong = rest.partition(",")[0]
            raise InvalidInput(f"there is no {wrong!r}", where=where, hint=f"Choose among {'; '.join(known)}")
        names.append(max(fitting, key=len))
        rest = rest[len(names[-1]) :]
    return tuple(name for name in known if name in names)


def arguments_of(arguments: list[str] | None) -> argparse.Namespace:
    """As they were given on the command line."""
    return _parser().parse_args(arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help="four problems, two budgets, two seeds: to see that it runs"
    )
    parser.add_argument("--seeds", type=_positive, help=f"runs of lean ({LEAN_SEEDS}); of the others at most {SEEDS}")
    parser.add_argument("--hours", type=_hours, help="end after so many hours, and write the page from what there is")
    parser.add_argument(
        "--only", default="", help=f"problems or families of them: {', '.join(FAMILIES)}; no page in docs"
    )
    parser.add_argument("--strategies", default="", help="play these alone; no page in docs")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder in which replays are kept")
    parser.add_argument("--docs", type=Path, help="folder of arena.md (parts and quick runs: beside the results)")
    parser.add_argument("--data", type=Path, help="folder of the measured tables")
    parser.add_argument("--processes", type=_positive, default=2, help="replays at once (2)")
    parser.add_argument("--json", action="store_true", help="print targets and losses as JSON")
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("give a whole number of at least 1")
    return value


def _hours(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError("give hours above 0, such as 0.5")
    return value
