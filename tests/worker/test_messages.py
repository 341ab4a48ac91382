"""Lines to a worker that may not read."""

import fcntl
import json
import os

import pytest

from leantune.worker.messages import Outbox


def pipe_of(size: int) -> tuple[int, int]:
    readable, writable = os.pipe()
    fcntl.fcntl(writable, fcntl.F_SETPIPE_SZ, size)
    os.set_blocking(readable, False)
    return readable, writable


def read_all(file: int) -> bytes:
    data = b""
    while True:
        try:
            more = os.read(file, 1 << 20)
        except BlockingIOError:
            return data
        if not more:
            return data
        data += more


def test_everything_arrives_in_order_when_the_reader_is_slow() -> None:
    readable, writable = pipe_of(4096)
    outbox = Outbox(writable)
    for number in range(1000):
        outbox.put({"number": number, "text": "x" * 50})
    assert outbox.waiting
    data = b""
    while outbox.waiting:
        data += read_all(readable)
        outbox.flush()
    data += read_all(readable)
    assert [json.loads(line)["number"] for line in data.splitlines()] == list(range(1000))
    assert outbox.dropped == 0


def test_a_reader_that_never_reads_loses_the_oldest_whole_lines() -> None:
    readable, writable = pipe_of(4096)
    outbox = Outbox(writable, most_unread=1000)
    for number in range(500):
        outbox.put({"number": number, "text": "x" * 50})
    data = b""
    while outbox.waiting:
        data += read_all(readable)
        outbox.flush()
    numbers = [json.loads(line)["number"] for line in (data + read_all(readable)).splitlines()]
    assert numbers == sorted(numbers)
    assert numbers[-1] == 499
    assert len(numbers) == 500 - outbox.dropped < 100


@pytest.mark.parametrize("size", [10, 100_000])
def test_a_reader_that_is_gone_takes_everything(size: int) -> None:
    readable, writable = pipe_of(4096)
    outbox = Outbox(writable)
    os.close(readable)
    outbox.put({"text": "x" * size})
    assert not outbox.waiting
    outbox.flush_to_the_end()
