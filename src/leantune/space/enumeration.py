"""All configurations of a finite space, columnwise."""

import numpy as np

from leantune.arrays import FloatArray
from leantune.errors import SpaceError
from leantune.space.schema import Schema

LARGEST_GRID = 2_000_000


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
    if schema.size is None:
        endless = next(name for name, parameter in schema.parameters.items() if parameter.count is None)
        raise SpaceError(
            f"parameter {endless!r} has infinitely many values",
            where="grid()",
            hint="Use pool(size, seed=...) for candidates",
        )
    if schema.size > LARGEST_GRID:
        raise SpaceError(
            f"the space has {schema.size:,} configurations, more than {LARGEST_GRID:,}",
            where="grid()",
            hint="Use pool(size, seed=...) for candidates",
        )
    return schema.size
