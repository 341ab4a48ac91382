"""5,000 seeded mutations of job files: accepted, or one JobError that says where. A mutation that was a traceback stays
the same one: its seed is in the name of the test that fails.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest

from leantune.errors import JobError
from leantune.jobfile import parse_job
from tests.jobfile.test_job import EVERYTHING, PIECES
from tests.jobfile.texts import FOLDER, PRODUCT

BLOCKS, IN_A_BLOCK = 20, 250
HUGE = ("1e300 s", "1e300", "-1e300", "x" * 70_000, "9" * 400, "[" * 500, "{a: " * 200, "sqlite:///a?b.db", "1e-300 s")
Mutation = Callable[[random.Random, str], str]


def _word(draw: random.Random, text: str) -> str:
    word = draw.choice(list(re.finditer(r"[\w./<=-]+", text)))
    return text[: word.start()] + draw.choice((*PIECES, *HUGE)) + text[word.end() :]


def _character(draw: random.Random, text: str) -> str:
    at = draw.randrange(len(text))
    return text[:at] + draw.choice(["", "\0", "\t", ":", "-", "\n", " ", "{", "]", '"', "é", "\ud800"]) + text[at + 1 :]


def _line(draw: random.Random, text: str) -> str:
    lines = text.split("\n")
    line, at = lines[draw.randrange(len(lines))], draw.randrange(len(lines))
    if draw.random() < 0.5:
        lines.insert(at, line)
    else:
        lines[at] = " " * draw.randrange(5) + lines[at]
    return "\n".join(lines)


def _cut(draw: random.Random, text: str) -> str:
    first, last = sorted((draw.randrange(len(text)), draw.randrange(len(text))))
    return text[:first] + text[last:]


MUTATIONS: tuple[Mutation, ...] = (_word, _word, _word, _character, _line, _cut)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(BLOCKS))
def test_a_mutated_job_is_a_job_or_one_error_with_its_line(block: int) -> None:
    refused = 0
    for number in range(IN_A_BLOCK):
        draw = random.Random(f"{block}-{number}")
        text = draw.choice((PRODUCT, EVERYTHING))
        for _ in range(draw.randint(1, 3)):
            text = draw.choice(MUTATIONS)(draw, text) or "a: 1"
        try:
            parse_job(text, folder=FOLDER)
        except JobError as error:
            refused += 1
            assert error.hint, (number, error)
            assert re.search(r"line \d+", error.where), (number, error)
            assert len(str(error)) < 10_000
    assert 0 < refused <= IN_A_BLOCK
