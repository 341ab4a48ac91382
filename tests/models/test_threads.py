import os
import threading

import pytest

from leantune.models import threads
from leantune.models.threads import THREADS_VARIABLE, parallel_blocks, thread_count


@pytest.mark.parametrize("wanted", ["1", "2", "3"])
@pytest.mark.parametrize(("total", "block"), [(0, 4), (1, 4), (8, 4), (9, 4), (3, 100)])
def test_blocks_cover_everything_once(monkeypatch: pytest.MonkeyPatch, wanted: str, total: int, block: int) -> None:
    monkeypatch.setenv(THREADS_VARIABLE, wanted)
    seen, sizes, lock = [0] * total, [], threading.Lock()

    def count(start: int, stop: int) -> None:
        with lock:
            sizes.append(stop - start)
            for i in range(start, stop):
                seen[i] += 1

    parallel_blocks(count, total, block)
    assert seen == [1] * total
    assert all(0 < size <= block for size in sizes)


def test_two_threads_work_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS_VARIABLE, "2")
    meeting = threading.Barrier(2)

    def meet(_start: int, _stop: int) -> None:
        meeting.wait(timeout=10.0)

    parallel_blocks(meet, 2, 1)


def test_one_thread_is_the_caller_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS_VARIABLE, "1")
    names: set[str] = set()
    parallel_blocks(lambda _start, _stop: names.add(threading.current_thread().name), 5, 1)
    assert names == {threading.current_thread().name}


@pytest.mark.parametrize("wanted", ["1", "2"])
def test_an_error_in_a_block_reaches_the_caller(monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
    monkeypatch.setenv(THREADS_VARIABLE, wanted)

    def fail(start: int, _stop: int) -> None:
        if start == 3:
            raise RuntimeError("block 3")

    with pytest.raises(RuntimeError, match="block 3"):
        parallel_blocks(fail, 5, 1)


def test_the_environment_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS_VARIABLE, "5")
    assert thread_count() == 5
    monkeypatch.delenv(THREADS_VARIABLE)
    assert 1 <= thread_count() <= min(os.cpu_count() or 1, threads.MOST_THREADS)


@pytest.mark.parametrize("nonsense", ["0", "-1", "two", "1.5"])
def test_nonsense_is_refused(monkeypatch: pytest.MonkeyPatch, nonsense: str) -> None:
    monkeypatch.setenv(THREADS_VARIABLE, nonsense)
    with pytest.raises(ValueError, match="whole number of threads"):
        thread_count()
