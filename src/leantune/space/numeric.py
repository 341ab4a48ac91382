"""Numbers: real and whole, on a linear or a log scale. The code of a number is the number."""

import math
import numbers
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from leantune.arrays import FloatArray
from leantune.errors import SpaceError
from leantune.space.base import Parameter, Value, is_real

STEP = 0.1  # standard deviation of a neighbour's step, as a share of the encoded range
STEP_DRAWS = 2
_LARGEST_INTEGER = 2**53  # above it float64 codes would merge neighbouring integers


@dataclass(frozen=True)
class _Number(Parameter):
    low: float
    high: float
    log: bool = False

    @property
    def first(self) -> float:
        return float(self.low)

    @property
    def columns(self) -> tuple[str, ...]:
        return ("",)

    def encode(self, codes: FloatArray) -> FloatArray:
        scaled = np.log(codes) if self.log else codes
        scaled = (scaled - self._bottom) / (self._top - self._bottom)
        return np.clip(scaled, 0.0, 1.0)[:, None]

    def near(self, code: float, rng: np.random.Generator) -> FloatArray:
        here = float(self.encode(np.array([code]))[0, 0])
        steps = here + STEP * rng.standard_normal(STEP_DRAWS)
        # A step over the edge is reflected, so that the edges do not collect all of them.
        reflected = 1.0 - np.abs(1.0 - np.abs(steps))
        codes = self._decoded(np.clip(reflected, 0.0, 1.0))
        different: FloatArray = codes[codes != code]
        return different

    def _decoded(self, features: FloatArray) -> FloatArray:
        scaled = self._bottom + features * (self._top - self._bottom)
        return self._snap(np.exp(scaled) if self.log else scaled)

    @property
    def _bottom(self) -> float:
        return math.log(self.low) if self.log else self.low

    @property
    def _top(self) -> float:
        return math.log(self.high) if self.log else self.high

    @abstractmethod
    def _snap(self, values: FloatArray) -> FloatArray:
        """Nearest codes."""

    def _check_bounds(self, where: str) -> None:
        for bound in (self.low, self.high):
            if not is_real(bound) or not math.isfinite(bound):
                hint = "Give two numbers, low < high"
                raise SpaceError(f"bound {bound!r} is not a finite number", where=where, hint=hint)
        if self.low >= self.high:
            swap = f"Write the smaller first: {self.high!r}, {self.low!r}" if self.low > self.high else ""
            what = f"lower bound {self.low!r} is not below upper bound {self.high!r}"
            hint = swap or f"Write choice({self.low!r}) for a value that does not change"
            job_hint = swap or f"Write [{self.low!r}] for a value that does not change"
            raise SpaceError(what, where=where, hint=hint, job_hint=job_hint)
        if self.log and self.low <= 0:
            hint = f"Write a lower bound above 0, such as 1e-6, or a linear scale from {self.low!r} to {self.high!r}"
            raise SpaceError(f"log scale needs a lower bound above 0, got {self.low!r}", where=where, hint=hint)
        if not math.isfinite(float(self.high) - float(self.low)):
            raise SpaceError("bounds are too far apart", where=where, hint="Give bounds below 1e308, or a log scale")

    def _check_inside(self, number: float, where: str) -> None:
        if not self.low <= number <= self.high:
            hint = f"Give a value from {self.low!r} to {self.high!r}"
            raise SpaceError(f"{number!r} is out of bounds", where=where, hint=hint)


@dataclass(frozen=True)
class Float(_Number):
    """A real number in [low, high]; with `log`, equal ratios are equal distances."""

    def __post_init__(self) -> None:
        self._check_bounds(f"{'log' if self.log else 'linear'}({self.low!r}, {self.high!r})")
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))

    def _kind_as_json(self) -> dict[str, object]:
        return {"kind": "log" if self.log else "linear", "low": self.low, "high": self.high}

    @property
    def count(self) -> int | None:
        return None

    def code(self, value: object, where: str) -> float:
        if not is_real(value):
            hint = f"Give one from {self.low!r} to {self.high!r}"
            raise SpaceError(f"{value!r} is not a number", where=where, hint=hint)
        number = float(value) + 0.0  # -0.0 becomes 0.0: one value, one id
        self._check_inside(number, where)
        return number

    def value(self, code: float) -> Value:
        return float(code)

    def from_unit(self, unit: FloatArray) -> FloatArray:
        return self._decoded(unit)

    def _snap(self, values: FloatArray) -> FloatArray:
        return np.clip(values, self.low, self.high) + 0.0


@dataclass(frozen=True)
class Integer(_Number):
    """A whole number in [low, high]; with `log`, equal ratios are equal distances."""

    low: int
    high: int

    def __post_init__(self) -> None:
        where = f"integer({self.low!r}, {self.high!r}{', log=True' if self.log else ''})"
        for bound in (self.low, self.high):
            if not isinstance(bound, numbers.Integral) or isinstance(bound, bool):
                hint = "Use linear() or log() for reals"
                raise SpaceError(f"bound {bound!r} is not a whole number", where=where, hint=hint)
            if abs(bound) > _LARGEST_INTEGER:
                what = f"bound {bound!r} is too large"
                hint = "Stay within 2**53, or use log() for reals"
                raise SpaceError(what, where=where, hint=hint, job_hint="Stay within 2**53, or use log for reals")
        self._check_bounds(where)
        object.__setattr__(self, "low", int(self.low))
        object.__setattr__(self, "high", int(self.high))

    def _kind_as_json(self) -> dict[str, object]:
        return {"kind": "integer", "low": self.low, "high": self.high, "log": self.log}

    @property
    def count(self) -> int | None:
        return self.high - self.low + 1

    def code(self, value: object, where: str) -> float:
        if not is_real(value) or not math.isfinite(value) or value != math.floor(value):
            hint = f"Give a whole number from {self.low} to {self.high}"
            raise SpaceError(f"{value!r} is not a whole number", where=where, hint=hint)
        self._check_inside(int(value), where)
        return float(value)

    def value(self, code: float) -> Value:
        return int(code)

    def from_unit(self, unit: FloatArray) -> FloatArray:
        # Every integer owns [i, i + 1): the last one gets as much as the others.
        if self.log:
            return self._snap(np.floor(self.low * ((self.high + 1) / self.low) ** unit))
        return self._snap(np.floor(self.low + unit * (self.high + 1 - self.low)))

    def near(self, code: float, rng: np.random.Generator) -> FloatArray:
        steps = super().near(code, rng)
        if len(steps):
            return steps
        beside = np.array([code - 1.0, code + 1.0])  # on a short range a Gaussian step often rounds to nothing
        return beside[(beside >= self.low) & (beside <= self.high)]

    def _snap(self, values: FloatArray) -> FloatArray:
        return np.clip(np.rint(values), self.low, self.high) + 0.0


def linear(low: float, high: float) -> Float:
    """A real number between two bounds."""
    return Float(low, high)


def log(low: float, high: float) -> Float:
    """A real number between two bounds above 0, on a log scale: learning rates, regularisation."""
    return Float(low, high, log=True)


def integer(low: int, high: int, log: bool = False) -> Integer:
    """A whole number between two bounds, both included."""
    return Integer(low, high, log=log)
