"""What `lean` was to reach (issue "a strategy of our own"), and whether it does."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchmarks.lean.experiments import LEAN, PARALLEL, RIVAL, SEEDS, SEQUENTIAL, TABLES
from benchmarks.lean.measures import CNO, EARLY, Figures, compared, goods, units
from benchmarks.papers.results import Results
from benchmarks.papers.targets import Target
from benchmarks.papers.words import arrived, listed, number, percent
from leantune.lab.replay.arrivals import Median

MOST_DOLLARS = {"rnn": 0.022, "cnn": 0.14}
MOST_OF_RIVAL = {"rnn": 1 / 2, "cnn": 1 / 4}
MOST_LATE = 0.02  # of the recommendations after the first tests
MOST_OF_NEPHELE = 1 / 2
MOST_OF_SEQUENTIAL = 1.5
MOST_SECONDS, MOST_MINUTES = 0.5, 60.0
NO_RUNS = "not run"


@dataclass(frozen=True)
class Loss:
    """Where another strategy is better than `lean`, in a sentence."""

    group: str
    table: str
    text: str


def standings(results: Results, group: str, table: str, setup: str = "") -> dict[str, Figures]:
    """Every strategy of a group on a table, each by the rule that is compared."""
    targets = goods(group)
    return {
        method: compared(method, runs, targets, units(results.groups[group], table, method))
        for method, runs in results.of(group, table, setup).items()
    }


def winners(everybody: Mapping[str, Figures]) -> list[str]:
    """Who arrives for the fewest dollars; nobody where most seeds of everybody never arrive."""
    best = min(one.order for one in everybody.values())
    return [name for name, one in everybody.items() if one.order == best and math.isfinite(best[0])]


def targets(results: Results) -> list[Target]:
    """All of them, in the order of the issue."""
    made: list[Target] = []
    for table in TABLES:
        made += _main(results, table)
    for table in TABLES:
        made += _nephele(results, table)
    for group, others in (("two", (RIVAL, "eic")), ("noise", (RIVAL,))):
        for table in TABLES:
            made += _plain(results, group, table, others)
    made += [_batches(results, table) for table in TABLES]
    made += [_families(results), *_time(results)]
    return made


def losses(results: Results) -> list[Loss]:
    """Every comparison that `lean` loses: dollars to the hardest target, or seeds that end outside the limits."""
    found: list[Loss] = []
    for group, setup, table in dict.fromkeys(place[:3] for place in results.runs if place[0] != "ablations"):
        everybody = standings(results, group, table, setup)
        lean = everybody.get(LEAN)
        if lean is None:
            continue
        where = f"{group}, {setup}" if setup else group
        for method, other in everybody.items():
            if other.order < lean.order:
                text = f"dollars: `{method}` {_short(other.last)}, `{LEAN}` {_short(lean.last)}"
                found.append(Loss(where, table, text))
            if other.infeasible_ends * lean.seeds < lean.infeasible_ends * other.seeds:
                ours, theirs = (f"{one.infeasible_ends} of {one.seeds}" for one in (lean, other))
                found.append(Loss(where, table, f"seeds that end infeasible: `{method}` {theirs}, `{LEAN}` {ours}"))
    return found


def _short(found: Median) -> str:
    return f"{number(found.value)} ({found.finite}/{found.count})"


def _main(results: Results, table: str) -> Iterator[Target]:
    everybody = standings(results, "main", table)
    lean, rival = everybody.get(LEAN), everybody.get(RIVAL)
    limit, share = MOST_DOLLARS[table], MOST_OF_RIVAL[table]
    dollars = None if lean is None else lean.last.value <= limit
    told = NO_RUNS if lean is None else arrived(lean.last)
    yield Target(f"{table}: dollars to 99 %", f"at most ${limit:g}", told, dollars)
    yield _ratio(f"{table}: dollars to 99 %, over `{RIVAL}`'s", lean, rival, share)
    yield _cheapest(f"{table}: dollars to 99 %", everybody)
    yield _ends(table, lean)
    late = None if lean is None else lean.infeasible_late < MOST_LATE
    text = f"{table}: recommendations after test {EARLY} that are infeasible"
    told = NO_RUNS if lean is None else percent(lean.infeasible_late)
    yield Target(text, f"under {percent(MOST_LATE)}", told, late)


def _ends(where: str, lean: Figures | None) -> Target:
    text = f"{where}: seeds whose last recommendation is infeasible"
    if lean is None:
        return Target(text, "0", NO_RUNS, None)
    return Target(text, "0", f"{lean.infeasible_ends} of {lean.seeds}", lean.infeasible_ends == 0)


def _ratio(text: str, ours: Figures | None, other: Figures | None, most: float) -> Target:
    """Ours over the other's; one that never arrives is beaten by whoever does."""
    wanted = f"at most {number(most)}"
    if ours is None or other is None:
        return Target(text, wanted, NO_RUNS, None)
    if not math.isfinite(ours.last.value):
        return Target(text, wanted, "never arrives in most seeds", False)
    if not math.isfinite(other.last.value):
        return Target(text, wanted, "the other never arrives in most seeds", True)
    found = ours.last.value / other.last.value
    told = f"{number(found)} ({_short(ours.last)} over {_short(other.last)})"
    return Target(text, wanted, told, found <= most)


def _cheapest(text: str, everybody: Mapping[str, Figures]) -> Target:
    """Whether nobody arrives for fewer dollars."""
    wanted = "fewer than any other"
    if LEAN not in everybody or len(everybody) == 1:
        return Target(text, wanted, NO_RUNS, None)
    others = {name: one for name, one in everybody.items() if name != LEAN}
    best = min(others, key=lambda name: others[name].order)
    told = f"{_short(everybody[LEAN].last)}; the best other, `{best}`, {_short(others[best].last)}"
    return Target(text, wanted, told, everybody[LEAN].order < others[best].order)


def _nephele(results: Results, table: str) -> Iterator[Target]:
    everybody = standings(results, "nephele", table)
    lean, nephele = everybody.get(LEAN), everybody.get("nephele")
    about = f"{table}, cheapest anywhere"
    yield _ratio(f"{about}: dollars to CNO {CNO:g}, over `nephele`'s", lean, nephele, MOST_OF_NEPHELE)
    text, wanted = f"{about}: seeds that arrive", "no fewer than `nephele`'s"
    if lean is None or nephele is None:
        yield Target(text, wanted, NO_RUNS, None)
        return
    told = f"{percent(lean.last.share)}, `nephele` {percent(nephele.last.share)}"
    yield Target(text, wanted, told, lean.last.share >= nephele.last.share)


def _plain(results: Results, group: str, table: str, others: tuple[str, ...]) -> Iterator[Target]:
    """The issue names no figure here: better than the others, and never infeasible at the end."""
    everybody = standings(results, group, table)
    about = f"{table}, {'two limits' if group == 'two' else 'noise'}"
    known = {name: one for name, one in everybody.items() if name in (LEAN, *others)}
    yield _cheapest(f"{about}: dollars to 99 %", known)
    yield _ends(about, everybody.get(LEAN))


def _batches(results: Results, table: str) -> Target:
    alone, together = (standings(results, "batches", table, setup) for setup in (SEQUENTIAL, PARALLEL))
    text = f"{table}, four tests at once: dollars to 99 %, over those of one at a time"
    return _ratio(text, together.get(LEAN), alone.get(LEAN), MOST_OF_SEQUENTIAL)


def _families(results: Results) -> Target:
    text, wanted = "Generated problems: families in which nobody spends less", "to be reported"
    families = results.tables("generated")
    everybody = {family: standings(results, "generated", family) for family in families}
    if not families or not all(LEAN in one for one in everybody.values()):
        return Target(text, wanted, NO_RUNS, None)
    first = {family: winners(one) for family, one in everybody.items()}
    won = [family for family, names in first.items() if LEAN in names]
    lost = [family for family, names in first.items() if names and LEAN not in names]
    open_ = [family for family, names in first.items() if not names]
    told = f"{len(won)} of {len(families)}; loses {listed(lost)}; nobody arrives: {listed(open_)}"
    return Target(text, wanted, told, not lost)


def _time(results: Results) -> Iterator[Target]:
    """Seconds to choose a test, and minutes of the main group."""
    asks = [one.ask for table in TABLES if (one := standings(results, "main", table).get(LEAN)) is not None]
    text, wanted = "Seconds to choose a test at the papers' size, mean", f"at most {MOST_SECONDS:g}"
    told = listed([f"{number(one)} s" for one in asks]) if asks else NO_RUNS
    yield Target(text, wanted, told, max(asks) <= MOST_SECONDS if asks else None)
    yield _minutes(results)


def _minutes(results: Results) -> Target:
    """Judged only where all replays of the whole group were timed."""
    timing, group = results.timings.get("main"), results.groups.get("main")
    text, wanted = f"Minutes of the {SEEDS}-seed table (group main)", f"at most {MOST_MINUTES:g}"
    if timing is None or group is None:
        return Target(text, wanted, NO_RUNS, None)
    count = len({task for _, task in group.tasks()})
    told = f"{timing.seconds / 60.0:.0f} for {timing.replays} of {count} replays"
    whole = timing.replays >= count and group.seeds >= SEEDS
    return Target(text, wanted, told, timing.seconds / 60.0 <= MOST_MINUTES if whole else None)
