"""Reports in a training program's output: JSON objects, one on a line, or a last line such as `accuracy=0.93`.

Pure, and safe with any output: lines that are not reports are just output. A program may report at any rate: the
first FREELY_KEPT reports are kept however soon they come; after them one in SPACING seconds, and each time as many
again have been kept the spacing doubles. So a learning curve goes on to its end, and a month of reports is some
16,000.
"""

import json
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from leantune.errors import InvalidInput
from leantune.units import is_value, parse_share

STEP, FRACTION = "step", "fraction"
RESERVED = frozenset({STEP, FRACTION})  # keys of a report besides metrics
LONGEST_NAME = 100
FREELY_KEPT = 1000
SPACING = 0.1  # seconds
MOST_METRICS = 100  # of one report, those that the problem requires first
_LOOKED_AT = 4096  # characters of a last line
_NUMBER = r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|nan|inf(?:inity)?)"
_NAME = rf"[^\s=,;(\[{{][^\s=,;]{{0,{LONGEST_NAME - 1}}}?"
_PAIR = re.compile(
    rf"(?:^|(?<=[\s,;(\[{{]))(?P<name>{_NAME})\s*[=:]\s*(?P<value>{_NUMBER})(?=[\s,;)\]}}]|$)", re.IGNORECASE
)


@dataclass(frozen=True)
class ProgramReport:
    """One report. fraction: the share it was made at, None where it names none; odd_fraction: an invalid one."""

    metrics: Mapping[str, float] = field(default_factory=dict)
    step: float | None = None
    fraction: Fraction | None = None
    odd_fraction: str = ""


@dataclass
class ReportLimits:
    """What has been kept of one run's reports. left_out: how many were not; largest: metrics of the largest one."""

    kept: int = 0
    left_out: int = 0
    largest: int = 0
    _last: float = -math.inf

    def keeps(self, seconds: float) -> bool:
        """Whether one more is kept, that came after these seconds."""
        spacing = SPACING * 2.0 ** (self.kept // FREELY_KEPT - 1) if self.kept >= FREELY_KEPT else 0.0
        if seconds - self._last < spacing:
            self.left_out += 1
            return False
        self.kept += 1
        self._last = seconds
        return True

    def shortened(self, metrics: Mapping[str, float], required: Collection[str]) -> dict[str, float]:
        """The metrics of a report that are kept: numbers that say something, not too many."""
        self.largest = max(self.largest, len(metrics))
        numbers = {name: value for name, value in metrics.items() if is_value(value)}
        if len(numbers) <= MOST_METRICS:
            return numbers
        names = sorted(numbers, key=lambda name: name not in required)[:MOST_METRICS]
        return {name: numbers[name] for name in names}

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for each limit that bit."""
        often = (
            f"{self.left_out:,} reports were not kept: after the first {FREELY_KEPT:,} one in {SPACING:g} s is,"
            " and later fewer (the last values count all the same)"
        )
        large = f"a report of {self.largest:,} metrics: {MOST_METRICS} of one are kept"
        return (*([often] if self.left_out else []), *([large] if self.largest > MOST_METRICS else []))


def read_json(line: str) -> ProgramReport | None:
    """The report in a line that is a JSON object; None for any other. NaN and Infinity count as numbers."""
    text = line.strip()
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # no JSON, or nested too deeply
        return None
    return read_mapping(value) if isinstance(value, dict) else None


def read_mapping(message: Mapping[str, object]) -> ProgramReport:
    """The report in a mapping; values that are not numbers are no metrics."""
    numbers = {name: number for name, value in message.items() if (number := _number(value)) is not None}
    metrics = {name: number for name, number in numbers.items() if name not in RESERVED and _is_name(name)}
    step = numbers.get(STEP)
    fraction, odd = _share(message.get(FRACTION))
    return ProgramReport(metrics, step if step is not None and is_value(step) else None, fraction, odd)


def read_pairs(line: str) -> dict[str, float]:
    """The metrics in a line such as `accuracy=0.93, loss: 0.2`; the last of two of one name counts."""
    matches = _PAIR.finditer(line[-_LOOKED_AT:])
    return {match["name"]: float(match["value"]) for match in matches if any(map(str.isalpha, match["name"]))}


def plain(text: str, longest: int = 200) -> str:
    """A line of output as it may be shown: no control characters (colours, bells), and not too long."""
    without = re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]", "", text)
    shown = "".join(character if character.isprintable() else " " for character in without).strip()
    return shown if len(shown) <= longest else f"{shown[: longest - 3]}..."


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _is_name(name: str) -> bool:
    return 0 < len(name) <= LONGEST_NAME and name.isprintable()


def _share(value: object) -> tuple[Fraction | None, str]:
    """A share as a rational; decimals in text stand for what the same float does (0.0166...6 is 1/60)."""
    if value is None:
        return None, ""
    try:
        if isinstance(value, str) and "/" not in value:
            value = float(value)
        if isinstance(value, int | float | str) and len(str(value)) <= LONGEST_NAME:
            return parse_share(value), ""
    except (InvalidInput, ValueError, OverflowError):
        pass
    return None, plain(repr(value), 50)
