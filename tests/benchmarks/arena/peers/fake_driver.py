"""A driver without a library: random search, and misbehaviour by the name of the method."""

from __future__ import annotations

import os
import random
import sys
import time

from benchmarks.arena.peers.drivers.wire import Axis, Result, Suggestion, Task, serve


class Fake:
    """random: another configuration each time, on all data. halving: the same one again, level after level. short: two
    suggestions. repeating: one pair for ever.
    """

    def __init__(self, task: Task) -> None:
        self._task, self._count = task, 0
        self._point: dict[str, float] = {}
        if task.method == "refuses":
            raise ValueError("no such space")

    def ask(self) -> Suggestion | None:
        method, count = self._task.method, self._count
        if method == "short" and count == 2:
            return None
        if method == "dies" and count == 1:
            print("out of memory", file=sys.stderr, flush=True)
            os._exit(3)
        if method == "babbles":
            os.write(PIPE, b"hello\n")
        if method == "hangs":
            time.sleep(60)
        rungs = len(self._task.rungs)
        self._count += 1
        if method == "halving":
            if count % rungs == 0:
                self._point = self._drawn()
            return Suggestion(str(count // rungs), self._point, self._task.rungs[count % rungs])
        if method == "repeating":
            return Suggestion("same", self._drawn(), 0)
        return Suggestion(str(count), self._drawn(), len(self._task.levels) - 1)

    def tell(self, result: Result) -> None:
        print(f"library's own words: {result.loss}")  # must not get into the pipe

    def _drawn(self) -> dict[str, float]:
        return {axis.name: _value(axis) for axis in self._task.axes}


def _value(axis: Axis) -> float:
    return random.random() if axis.kind == "unit" else random.randrange(axis.count)


if __name__ == "__main__":
    PIPE = os.dup(1)  # before `serve` takes it
    serve(Fake)
