"""Verdicts and numbers of one run as a small JSON file, and what has moved since.

    python -m benchmarks.spottune --freeze FILE       write the file
    python -m benchmarks.spottune --against FILE      compare with it; exit code 1 where a verdict differs

claims and targets: the verdict, ours as the page prints it, and the number that was judged. figures: the numbers of the
README's table, which have no verdict.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.papers.targets import Target
from benchmarks.papers.verdicts import Claim, Measure
from benchmarks.papers.words import spread
from benchmarks.spottune.claims import EARLY
from benchmarks.spottune.measures import gap, over_families
from benchmarks.spottune.results import Results
from leantune.errors import InvalidInput

GROUPS = ("volatile", "smooth", "capacity")  # of the README's table
CLAIMS, TARGETS, FIGURES = "claims", "targets", "figures"
ABSENT = "absent"


@dataclass(frozen=True)
class Entry:
    """One line of the file. verdict: empty in figures, ABSENT where the file has no such line."""

    section: str
    text: str
    verdict: str
    ours: str
    measure: Measure | None = None

    @property
    def words(self) -> str:
        """The verdict and the number."""
        return ", ".join(part for part in (self.verdict, self.ours) if part)


@dataclass(frozen=True)
class Change:
    """An entry as it was frozen, and as it is now."""

    before: Entry
    now: Entry

    @property
    def same_verdict(self) -> bool:
        """Whether the verdicts are equal."""
        return self.before.verdict == self.now.verdict

    @property
    def same(self) -> bool:
        """Whether the page prints the same digits."""
        return self.before.words == self.now.words

    @property
    def inside(self) -> bool | None:
        """Whether the number lies in the frozen interval; None where there is no interval or no number."""
        old, new = self.before.measure, self.now.measure
        if old is None or new is None or old.low is None or old.high is None:
            return None
        return old.low <= new.value <= old.high

    @property
    def line(self) -> str:
        """For people."""
        what = f"{self.before.section}: {self.before.text}: "
        if self.same:
            return f"same     {what}{self.now.words}"
        where = {None: "", True: "; inside the frozen interval", False: "; OUTSIDE the frozen interval"}[self.inside]
        moved = "moved   " if self.same_verdict else "DIFFERS "
        return f"{moved} {what}before {self.before.words}; now {self.now.words}{where}"


def entries(results: Results, claims: Iterable[Claim], targets: Iterable[Target]) -> list[Entry]:
    """All that is frozen of a run."""
    return [
        *(Entry(CLAIMS, one.text, str(one.verdict), one.ours, one.judged_by) for one in claims),
        *(Entry(TARGETS, one.text, one.verdict.strip("*"), one.ours, one.judged_by) for one in targets),
        *(entry for group in GROUPS for setup in results.setups(group) for entry in _figures(results, group, setup)),
    ]


def _figures(results: Results, group: str, setup: str) -> Iterator[Entry]:
    found = results.of(group, setup)
    shares = gap(found)
    named = {
        "no skill": shares.random,
        "ours": shares.ours,
        "oracle": shares.oracle,
        "gap closed": shares.closed,
        "finished, on demand = 1": shares.time,
        "free steps": over_families(found, EARLY, lambda one: one.free_share),
    }
    for name, one in named.items():
        if one.count:
            yield Entry(FIGURES, f"{setup}, {name}", "", spread(one), Measure.of(one))


def write(path: Path, found: Iterable[Entry]) -> None:
    """The file."""
    sections: dict[str, dict[str, object]] = {CLAIMS: {}, TARGETS: {}, FIGURES: {}}
    for one in found:
        measure = None if one.measure is None else asdict(one.measure)
        sections[one.section][one.text] = {"verdict": one.verdict, "ours": one.ours, "measure": measure}
    path.write_text(json.dumps(sections, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read(path: Path) -> list[Entry]:
    """What `write` wrote; InvalidInput where it is something else."""
    try:
        sections: Mapping[str, Mapping[str, Mapping[str, Any]]] = json.loads(path.read_text(encoding="utf-8"))
        return [
            Entry(section, text, one["verdict"], one["ours"], one["measure"] and Measure(**one["measure"]))
            for section, lines in sections.items()
            for text, one in lines.items()
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        hint = "Name a file that --freeze wrote"
        raise InvalidInput(f"these are no frozen verdicts ({error})", where=str(path), hint=hint) from None


def changes(before: Iterable[Entry], now: Iterable[Entry]) -> list[Change]:
    """Entry by entry, in the order of before; new ones at the end."""
    old, new = ({(one.section, one.text): one for one in found} for found in (before, now))
    keys = dict.fromkeys([*old, *new])
    return [Change(*(found.get(key, Entry(*key, ABSENT, "")) for found in (old, new))) for key in keys]


def summary(found: Sequence[Change]) -> str:
    """How many moved."""
    same, bits = sum(one.same for one in found), sum(one.before == one.now for one in found)
    outside, differ = (sum(one.inside is False for one in found), sum(not one.same_verdict for one in found))
    return (
        f"{len(found)} frozen: {same} print the same digits ({bits} equal to the last bit), {len(found) - same} moved, "
        f"{outside} out of their interval; {differ} verdicts differ"
    )
