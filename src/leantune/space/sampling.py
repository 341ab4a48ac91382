"""Random configurations: scrambled Sobol points, Latin hypercubes, neighbours. Equal seeds give equal codes.

Every parameter is one dimension of the unit cube, whatever its width in features.
"""

from collections.abc import Callable

import numpy as np

from leantune.arrays import FloatArray
from leantune.space.configurations import without_repeats
from leantune.space.schema import Schema

Filter = Callable[[FloatArray], FloatArray]  # codes -> those that the predicates allow
_ROUNDS = 12  # how often to draw again before a space that predicates make narrow is taken as exhausted
_MOST_AGAIN = 16_384  # how many points a further round draws for the sake of narrow predicates


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
        codes = without_repeats(np.concatenate([codes, allowed(_at(schema, points))]))
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


def _at(schema: Schema, unit: FloatArray) -> FloatArray:
    """Configurations at points of the unit cube [n, p]."""
    return _settled(schema, _all_active(schema, unit))


def _all_active(schema: Schema, unit: FloatArray) -> FloatArray:
    return np.column_stack([parameter.from_unit(unit[:, i]) for i, parameter in enumerate(schema.parameters.values())])


def _settled(schema: Schema, codes: FloatArray) -> FloatArray:
    return np.where(schema.activity(codes), codes, np.nan) if schema.conditional else codes


def _repaired(schema: Schema, codes: FloatArray, rng: np.random.Generator) -> FloatArray:
    # Every gap is filled first: which children are active then follows from their parents alone.
    gaps = np.isnan(codes)
    return (
        _settled(schema, np.where(gaps, _all_active(schema, rng.random(codes.shape)), codes))
        if gaps.any()
        else _settled(schema, codes)
    )
