"""Notes: why a trial was proposed, or what should be known about a recommendation."""

import re
from dataclasses import dataclass
from enum import StrEnum

_NUMBER = re.compile(r"\d[\d.,]*")


class NoteKind(StrEnum):
    """What a note is about."""

    PLAIN = "plain"
    START = "start"  # the proposal is part of the strategy's start
    MODELS = "models"  # the models' choice
    RANDOM = "random"  # drawn, as the strategy does
    FALLBACK = "fallback"  # something did not work out, and this was done instead
    CAP = "cap"  # a cap on the work bit
    POOL = "pool"  # the space cannot be enumerated
    EXTRA_RUNS = "extra runs"  # more runs are charged than a program with snapshots would need


_SHOWN_BEFORE = {NoteKind.FALLBACK: "fallback: ", NoteKind.CAP: "cap: "}


@dataclass(frozen=True)
class Note:
    """One note. As text it begins with "fallback: " or "cap: " where it is one."""

    kind: NoteKind
    text: str

    def __str__(self) -> str:
        return _SHOWN_BEFORE.get(self.kind, "") + self.text

    @property
    def without_numbers(self) -> "Note":
        """Equal for notes that say the same of different sizes."""
        return Note(self.kind, _NUMBER.sub("#", self.text))
