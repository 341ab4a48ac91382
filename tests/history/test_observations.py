"""Notes show as they always did; notes that differ in their numbers are counted as one."""

from fractions import Fraction

import pytest

from leantune.history import History, Note, NoteKind, counted_notes
from leantune.space import Space, integer

ONE = Space(n=integer(1, 9)).configuration({"n": 1})


@pytest.mark.parametrize(
    ("note", "shown"),
    [
        (Note(NoteKind.FALLBACK, "nothing qualifies"), "fallback: nothing qualifies"),
        (Note(NoteKind.CAP, "10 of 80"), "cap: 10 of 80"),
        (Note(NoteKind.START, "start"), "start"),
        (Note(NoteKind.PLAIN, "cap: as a user wrote it"), "cap: as a user wrote it"),
    ],
)
def test_as_text(note: Note, shown: str) -> None:
    assert str(note) == shown


def test_without_numbers() -> None:
    few, many = Note(NoteKind.CAP, "among 10 of 1,234.5 pairs"), Note(NoteKind.CAP, "among 9 of 7 pairs")
    assert few.without_numbers == many.without_numbers != Note(NoteKind.PLAIN, "among 9 of 7 pairs").without_numbers


def test_notes_are_counted_by_their_kind() -> None:
    history = History()
    for number in range(3):
        notes = (
            Note(NoteKind.CAP, f"among {number} of 9 pairs"),
            Note(NoteKind.CAP, f"among {number + 1} of 9 pairs"),
            Note(NoteKind.PLAIN, "cap: not one"),
            *([Note(NoteKind.FALLBACK, "no result yet")] if number == 0 else []),
        )
        history, _ = history.propose(ONE, Fraction(1), notes=notes)
    assert counted_notes(history, (NoteKind.CAP,)) == {Note(NoteKind.CAP, "among 3 of 9 pairs"): 3}
    both = counted_notes(history, (NoteKind.FALLBACK, NoteKind.CAP))
    assert list(both.values()) == [3, 1]
    assert counted_notes(history, (NoteKind.POOL,)) == {}
