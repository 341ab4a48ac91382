"""One BLAS thread while a proposal is computed.

Two reasons: a product summed by two threads differs in the last bit from one summed by one, and proposals must not
depend on the number of cores; and two BLAS threads on a shared machine are many times slower than one for matrices of
this size.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import scipy.linalg  # noqa: F401 - scipy brings its own BLAS: it must be loaded before the controller looks for libraries
from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Pin every loaded BLAS to one thread inside the block."""
    with _controller().limit(limits=1, user_api="blas"):
        yield
