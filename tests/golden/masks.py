"""What varies from run to run is masked here and nowhere else; the rest of an answer must be equal.

Always                  the folder of the run, and LeanTune's version
in a line of text       what the step's `words` match: durations and dollars of real programs, dates
in an object            numbers and texts under the step's `keys`; null stays null, so that "unknown" and "known" differ

A mask says what stood there: <seconds>, <folder>, <time>, <usd>.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import leantune
from tests.golden.kept import Json

_NUMBER = r"\d[\d,]*(?:\.\d+)?(?:e-?\d+)?"
TIME = (rf"(?<![\w.])(?:{_NUMBER} ± )?{_NUMBER}[ \u00a0](?:ms|s|min|h|days)\b", "<time>")
USD = (rf"\${_NUMBER}(?: ± \${_NUMBER})?", "<usd>")
DATE = (r"\d{4}-\d\d(?:-\d\d)?(?:[ T]\d\d:\d\d(?::\d\d)?)?", "<date>")
MOMENT = (r"\d{1,2} [A-Z][a-z]+ \d{4}, \d\d:\d\d(?: UTC)?(?: – .*UTC)?", "<date>")
SHARE = (rf"(?:under |over )?{_NUMBER}\u00a0%", "<share>")


@dataclass(frozen=True)
class Varying:
    """What varies in the answers of a step. words: pattern and mask. folder: where it ran. lines: those that may be
    there or not.
    """

    keys: frozenset[str] = frozenset()
    words: tuple[tuple[str, str], ...] = ()
    folder: str = ""
    lines: str = r"(?!)"


def masked(answer: Json, varying: Varying) -> Json:
    """The answer without what varies."""
    if isinstance(answer, Mapping):
        return {
            key: f"<{key}>" if key in varying.keys and one is not None else masked(one, varying)
            for key, one in answer.items()
        }
    if isinstance(answer, list):
        return [masked(one, varying) for one in answer]
    return masked_text(answer, varying) if isinstance(answer, str) else answer


def masked_text(text: str, varying: Varying) -> str:
    """A text without what varies."""
    if varying.folder:
        text = text.replace(varying.folder, "<folder>")
    text = text.replace(leantune.__version__, "<version>")
    for pattern, mask in varying.words:
        text = re.sub(pattern, mask, text)
    return text


def masked_lines(text: str, varying: Varying) -> list[str]:
    """The lines of an output without what varies."""
    kept = (line for line in text.splitlines() if not re.match(varying.lines, line))
    return [masked_text(line, varying).rstrip() for line in kept]
