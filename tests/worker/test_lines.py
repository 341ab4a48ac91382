"""What programs say: reports, last lines, and anything else."""

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.worker.lines import LONGEST_NAME, ProgramReport, plain, read_json, read_mapping, read_pairs

NAMES = st.text("abcxyz_/.:-", min_size=1, max_size=12).filter(lambda name: name.strip(":-") == name)
NUMBERS = st.floats(allow_nan=False) | st.integers(-(10**20), 10**20)


@given(st.dictionaries(NAMES, NUMBERS, max_size=5), st.none() | st.integers(0, 10**6), st.none() | st.fractions(0, 1))
def test_a_report_comes_back_as_it_was(metrics: dict[str, float], step: int | None, fraction: Fraction | None) -> None:
    told: dict[str, object] = dict(metrics)
    if step is not None:
        told["step"] = step
    if fraction is not None:
        told["fraction"] = str(fraction)
    said = read_json(f"  {json.dumps(told)}\r")
    assert said is not None
    assert said.metrics == {name: float(value) for name, value in metrics.items()}
    assert said.step == step
    assert said.fraction == (fraction or None), "0 is no share"
    assert bool(said.odd_fraction) == (fraction == 0)


@given(st.text() | st.text('{}[]":,0123456789.eE+-nulltruefasNI').map(lambda text: "{" + text + "}"))
def test_any_text_may_be_read(text: str) -> None:
    said = read_json(text)
    assert said is None or all(isinstance(value, float) for value in said.metrics.values())
    assert all(isinstance(value, float) for value in read_pairs(text).values())
    assert len(plain(text)) <= 200
    assert plain(text).isprintable()


@given(st.binary())
def test_any_bytes_may_be_read(data: bytes) -> None:
    assert plain(data.decode("utf-8", errors="replace")).isprintable()


@pytest.mark.parametrize(
    "line",
    [
        "",
        "accuracy=1",
        "[1, 2]",
        '{"accuracy": }',
        '{"a": 1',
        "{" + "[" * 60_000 + "}",
        '{"a": ' + "9" * 5000 + "}",
        '"{}"',
    ],
)
def test_what_is_no_report(line: str) -> None:
    assert read_json(line) is None


def test_what_is_no_metric() -> None:
    told = {
        "a": 1,
        "b": True,
        "c": "1",
        "d": None,
        "e": [1],
        "f": {"a": 2},
        "": 3,
        "x" * (LONGEST_NAME + 1): 4,
        "g\n": 5,
    }
    assert read_mapping(told) == ProgramReport({"a": 1.0})


def test_numbers_that_are_none() -> None:
    said = read_json('{"a": NaN, "b": Infinity, "c": -Infinity, "d": 1e999, "step": NaN}')
    assert said is not None
    assert math.isnan(said.metrics["a"])
    assert [said.metrics[name] for name in "bcd"] == [math.inf, -math.inf, math.inf]
    assert said.step is None
    assert read_mapping({"a": 1, "step": 1e160}).step is None
    assert read_mapping({"a": 10**400, "b": -(10**400)}).metrics == {"a": math.inf, "b": -math.inf}


@pytest.mark.parametrize(
    ("fraction", "share"),
    [
        (0.1, Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        ("1/60", Fraction(1, 60)),
        (1 / 60, Fraction(1, 60)),
        (str(1 / 60), Fraction(1, 60)),
        (1, Fraction(1)),
        (None, None),
    ],
)
def test_shares(fraction: object, share: Fraction | None) -> None:
    assert read_mapping({"a": 1, "fraction": fraction}) == ProgramReport({"a": 1.0}, fraction=share)


@pytest.mark.parametrize("fraction", [2, 0, -0.1, "x", "1/0", True, [1], math.nan, "9" * 5000, 10**400])
def test_shares_that_are_none(fraction: object) -> None:
    said = read_mapping({"a": 1, "fraction": fraction})
    assert said.fraction is None
    assert said.odd_fraction
    assert len(said.odd_fraction) <= 50


@pytest.mark.parametrize(
    ("line", "pairs"),
    [
        ("accuracy=0.93", {"accuracy": 0.93}),
        ("accuracy = 0.93, loss: 2e-1;f1=.5", {"accuracy": 0.93, "loss": 0.2, "f1": 0.5}),
        ("Test accuracy: 0.93 (loss=0.2)", {"accuracy": 0.93, "loss": 0.2}),
        ("[12:30:05] val:acc=-1e3 ", {"val:acc": -1000.0}),
        ("accuracy=93%", {}),
        ("accuracy=0.9x", {}),
        ("version=1.2.3", {}),
        ("accuracy=1 accuracy=2", {"accuracy": 2.0}),
        ("accuracy==1", {}),
        ("no numbers here", {}),
    ],
)
def test_last_lines(line: str, pairs: dict[str, float]) -> None:
    assert read_pairs(line) == pairs


def test_a_last_line_may_say_that_there_is_no_number() -> None:
    assert math.isnan(read_pairs("accuracy=nan")["accuracy"])
    assert read_pairs("accuracy: -Inf") == {"accuracy": -math.inf}


def test_a_hostile_last_line_takes_no_time() -> None:
    assert read_pairs("(" * 100_000) == {}
    assert read_pairs("a " * 50_000 + "= ") == {}


def test_plain_text() -> None:
    assert plain("\x1b[1;31mred\x1b[0m\tand\x07 \x00more ") == "red and   more"
    assert plain("x" * 300) == "x" * 197 + "..."
