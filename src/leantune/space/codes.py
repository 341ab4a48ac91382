"""Many configurations as rows of codes: all of a finite space; scrambled Sobol points, Latin hypercubes, neighbours.

Every parameter is one dimension of the unit cube, of any width in features. Equal seeds give equal codes.
"""

from collections.abc import Callable

import numpy as np

from leantune.arrays import FloatArray
from leantune.errors import SpaceError
from leantune.space.configurations import without_repeats
from leantune.space.schema import Schema

LARGEST_GRID = 2_000_000
Filter = Callable[[FloatArray], FloatArray]  # codes -> those that the predicates allow
_ROUNDS = 12  # how often to draw again before a space that predicates make narrow is taken as exhausted
_MOST_AGAIN = 16_384  # how many points a further round draws for the sake of narrow predicates


def enumerate_codes(schema: Schema) -> FloatArray:
    """Codes [n, p] of every configuration in declared order, the last parameter fastest, none twice.

    Where a parameter is inactive, the rows that differ only in it collapse into the first of them.
    """
    size = _finite_size(schema)
    codes = np.empty((size, len(schema.names)))
    run = size  # how many rows in a row share the values of the parameters so far
    for column, parameter in enumerate(schema.parameters.values()):
        count = parameter.count or 1
        run //= count
        values = parameter.first + np.arange(count, dtype=np.float64)
        codes[:, column].reshape(-1, count, run)[:] = values[:, None]
    return _collapsed(schema, codes) if schema.conditional else codes


def _collapsed(schema: Schema, codes: FloatArray) -> FloatArray:
    inactive = ~schema.activity(codes)
    first = np.array([parameter.first for parameter in schema.parameters.values()])
    keep = np.all(~inactive | (codes == first), axis=1)
    return np.where(inactive[keep], np.nan, codes[keep])


def _finite_size(schema: Schema) -> int:
    hint = "Use pool(size, seed=...) for candidates"
    if schema.size is None:
        endless = next(name for name, parameter in schema.parameters.items() if parameter.count is None)
        raise SpaceError(f"parameter {endless!r} has infinitely many values", where="grid()", hint=hint)
    if schema.size > LARGEST_GRID:
        what = f"the space has {schema.size:,} configurations, more than {LARGEST_GRID:,}"
        raise SpaceError(what, where="grid()", hint=hint)
    return schema.size


def sobol_codes(schema: Schema, size: int, seed: int, allowed: Filter) -> FloatArray:
    """Up to `size` different allowed configurations at scrambled Sobol points."""
    from scipy.stats import qmc

    engine = qmc.Sobol(len(schema.names), scramble=True, rng=np.random.default_rng(seed))
    # Sobol points are balanced in blocks of a power of two.
    return _drawn(schema, size, allowed, lambda count: engine.random(1 << (count - 1).bit_length()))


def latin_codes(schema: Schema, n: int, seed: int, allowed: Filter) -> FloatArray:
    """Up to `n` different allowed configurations by Latin hypercube; what repeats or predicates take is drawn again."""
    from scipy.stats import qmc

    engine = qmc.LatinHypercube(len(schema.names), rng=np.random.default_rng(seed))
    return _drawn(schema, n, allowed, engine.random)


def _drawn(schema: Schema, size: int, allowed: Filter, draw: Callable[[int], FloatArray]) -> FloatArray:
    codes = np.empty((0, len(schema.names)))
    for turn in range(_ROUNDS):
        lacking = size - len(codes)
        points = draw(max(lacking, min(lacking << turn, _MOST_AGAIN)))
        drawn = _settled(schema, _all_active(schema, points))
        codes = without_repeats(np.concatenate([codes, allowed(drawn)]))
        if len(codes) >= size:
            break
    return codes[:size]


def neighbour_codes(schema: Schema, around: FloatArray, seed: int) -> FloatArray:
    """Configurations that differ from one of `around` [m, p] by a step in one parameter.

    A child that the step brings to life gets a random value; one that it switches off becomes inactive.
    """
    rng = np.random.default_rng(seed)
    rows: list[FloatArray] = []
    for row in around:
        for column, parameter in enumerate(schema.parameters.values()):
            if np.isnan(row[column]):
                continue
            steps = parameter.near(float(row[column]), rng)
            changed = np.tile(row, (len(steps), 1))
            changed[:, column] = steps
            rows.append(changed)
    codes = np.concatenate(rows) if rows else np.empty((0, len(schema.names)))
    return without_repeats(_repaired(schema, codes, rng))


def _all_active(schema: Schema, unit: FloatArray) -> FloatArray:
    """Codes at points of the unit cube [n, p], as if every parameter existed."""
    return np.column_stack([parameter.from_unit(unit[:, i]) for i, parameter in enumerate(schema.parameters.values())])


def _settled(schema: Schema, codes: FloatArray) -> FloatArray:
    """The same without those of parameters that do not exist."""
    return np.where(schema.activity(codes), codes, np.nan) if schema.conditional else codes


def _repaired(schema: Schema, codes: FloatArray, rng: np.random.Generator) -> FloatArray:
    # Every gap is filled first: which children are active then follows from their parents alone.
    gaps = np.isnan(codes)
    if gaps.any():
        codes = np.where(gaps, _all_active(schema, rng.random(codes.shape)), codes)
    return _settled(schema, codes)
