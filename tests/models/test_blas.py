"""BLAS is pinned inside the block and released after it."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from leantune.models.threads import one_blas_thread


def blas_threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_every_blas_runs_on_one_thread_inside_and_as_before_outside() -> None:
    np.linalg.inv(np.eye(3))
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with one_blas_thread():
            inside = blas_threads()
        after = blas_threads()
    assert before  # numpy's own at least
    assert set(before) == {2}
    assert set(inside) == {1}
    assert after == before


def test_blas_is_released_when_the_block_fails() -> None:
    def fail() -> None:
        with one_blas_thread():
            raise RuntimeError("inside")

    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(RuntimeError, match="inside"):
            fail()
        assert set(blas_threads()) == {2}
