"""Threads for kernels that release the interpreter lock, and one BLAS thread while a proposal is computed.

Why not numba's `parallel=True`: its OpenMP layer dies in a forked child once the parent has used it, parallel kernels
take several times longer to compile, and their schedules need care to give equal bits on one and two threads. Plain
threads over blocks of independent items have none of these problems. Threads are started per call (some 50
microseconds each), because a pool that outlives the call would be dead in a forked child as well.

Why one BLAS thread: a product summed by two threads differs in the last bit from one summed by one, and proposals must
not depend on the number of cores; and two BLAS threads on a shared machine are many times slower than one for matrices
of this size.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

import scipy.linalg  # noqa: F401 - scipy brings its own BLAS: it must be loaded before the controller looks for libraries
from threadpoolctl import ThreadpoolController

THREADS_VARIABLE = "LEANTUNE_THREADS"
MOST_THREADS = 8
Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count() -> int:
    """LEANTUNE_THREADS where it is set, else the cores this process may use, at most 8."""
    asked = os.environ.get(THREADS_VARIABLE, "").strip()
    if asked:
        if not asked.isdecimal() or int(asked) < 1:
            raise ValueError(f"{THREADS_VARIABLE} is {asked!r}; it takes a whole number of threads, 1 or more")
        return int(asked)
    return min(_available_cores(), MOST_THREADS)


def parallel_blocks(function: Callable[[int, int], None], total: int, block: int) -> None:
    """Call function(start, stop) on consecutive ranges of at most `block` items that cover range(total), on all
    threads.

    The function writes its results where they belong; they must not depend on how items are cut into blocks.
    """
    parallel_map(lambda start: function(start, min(start + block, total)), range(0, total, block))


def parallel_map(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """[function(item) for item in items], on all threads."""
    threads = min(thread_count(), len(items))
    if threads <= 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(threads, thread_name_prefix="leantune") as pool:
        return list(pool.map(function, items))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Pin every loaded BLAS to one thread inside the block."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def _available_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
