"""What is said between LeanTune and a driver: one JSON object a line, one answer to each.

    {"do": "open", ...Task}                                     -> {}
    {"do": "ask"}                                               -> {...Suggestion}, or {"over": why}
    {"do": "tell", ...Result}                                   -> {}
    whatever went wrong                                         -> {"error": what}

`open` may come again: the driver forgets everything and begins anew, so that a process that took seconds to load serves
many replays. It ends when its input does. Only the standard library is used: drivers run where LeanTune is not.
"""

from __future__ import annotations

import json
import os
import random
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol

AxisKind = Literal["unit", "rank", "choice"]
Point = Mapping[str, float]
OPEN, ASK, TELL = "open", "ask", "tell"
ETA = 3  # what successive halving keeps one of; a rung below is a third of the data


@dataclass(frozen=True)
class Axis:
    """One dimension. unit: a number in [0, 1]; rank: a whole number from 0 to count - 1, whose order means something;
    choice: the same without an order.
    """

    name: str
    kind: AxisKind
    count: int = 0


@dataclass(frozen=True)
class Task:
    """What is to be tuned; losses are made small.

    levels: shares of the data, ascending, the last is 1. rungs: indices of levels, ascending, about a factor of ETA
    apart, the last is that of all data. limits: how many.
    """

    method: str
    axes: tuple[Axis, ...]
    levels: tuple[float, ...]
    rungs: tuple[int, ...]
    limits: int
    seed: int

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> Task:
        """From its JSON."""
        axes = tuple(Axis(**axis) for axis in message["axes"])
        levels, rungs = tuple(message["levels"]), tuple(message["rungs"])
        return cls(message["method"], axes, levels, rungs, message["limits"], message["seed"])


@dataclass(frozen=True)
class Suggestion:
    """A test that the library wants. key: names its configuration; the same key again is the same configuration at
    another level. level: an index of Task.levels.
    """

    key: str
    point: Point
    level: int


@dataclass(frozen=True)
class Result:
    """What a suggested test showed. point: what was tested, the nearest to what was suggested that was on offer.

    loss: the goal, smaller is better; worse than the worst so far where a limit is broken. plain: without that, None
    where the run failed. excess: how far each limit is exceeded, at most 0 where it holds.
    """

    key: str
    level: int
    point: Point
    loss: float
    plain: float | None
    excess: tuple[float, ...]

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> Result:
        """From its JSON."""
        told = {name: message[name] for name in ("key", "level", "point", "loss", "plain")}
        return cls(**told, excess=tuple(message["excess"]))


class Peer(Protocol):
    """A library at work on one task."""

    def ask(self) -> Suggestion | None:
        """What to test next; None: nothing any more."""

    def tell(self, result: Result) -> None:
        """What the last suggestion showed."""


def as_message(do: str, what: Task | Result | None = None) -> dict[str, Any]:
    """A request as JSON."""
    return {"do": do, **({} if what is None else asdict(what))}


def serve(begin: Callable[[Task], Peer]) -> None:
    """Answer until the input ends. What libraries print goes to the error output: the pipe is ours alone."""
    pipe = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    peer: Peer | None = None
    for line in sys.stdin:
        message = json.loads(line)
        answer: dict[str, Any] = {}
        try:
            if message["do"] == OPEN:
                task = Task.of(message)
                random.seed(task.seed)
                peer = begin(task)
            else:
                answer = _answer(peer, message)
        except Exception as error:  # noqa: BLE001 - whatever a library raises is told to whoever asked it
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        pipe.write(json.dumps(answer) + "\n")
        pipe.flush()


def _answer(peer: Peer | None, message: Mapping[str, Any]) -> dict[str, Any]:
    if peer is None:
        raise RuntimeError("asked before a task was opened")
    if message["do"] == TELL:
        peer.tell(Result.of(message))
        return {}
    suggestion = peer.ask()
    return {"over": "it suggests nothing more"} if suggestion is None else asdict(suggestion)
