"""States of a trial, the one table of legal moves between them, and the log of the moves that were made."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple, NotRequired, Required, TypedDict, overload

from leantune.errors import HistoryError, IllegalMove
from leantune.units import NO_SECONDS, NO_USD, NOTHING, Partials, Seconds, Usd, added, total


class TrialState(StrEnum):
    """The state of a trial."""

    PROPOSED = "proposed"
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    REVOKED = "revoked"
    LOST = "lost"
    FAILED = "failed"
    PAUSED = "paused"
    STOPPED = "stopped"


_S = TrialState
LEGAL_MOVES: Mapping[TrialState, frozenset[TrialState]] = MappingProxyType(
    {
        _S.PROPOSED: frozenset({_S.QUEUED}),
        _S.QUEUED: frozenset({_S.RUNNING, _S.PAUSED, _S.STOPPED}),
        _S.RUNNING: frozenset({_S.DONE, _S.REVOKED, _S.LOST, _S.FAILED, _S.STOPPED, _S.QUEUED, _S.PAUSED}),
        _S.REVOKED: frozenset({_S.QUEUED}),
        _S.LOST: frozenset({_S.QUEUED}),
        _S.PAUSED: frozenset({_S.QUEUED, _S.STOPPED}),
        _S.DONE: frozenset(),
        _S.FAILED: frozenset({_S.QUEUED}),  # only when the user has it run again: its result is there otherwise
        _S.STOPPED: frozenset(),
    }
)
FINAL_STATES = frozenset({_S.DONE, _S.FAILED, _S.STOPPED})  # with a result, as far as there will be one
# How a result that is told without further ado gets to `running`, from each state that may still end.
WAY_TO_RUNNING: Mapping[TrialState, tuple[TrialState, ...]] = MappingProxyType(
    {
        _S.PROPOSED: (_S.QUEUED, _S.RUNNING),
        _S.QUEUED: (_S.RUNNING,),
        _S.RUNNING: (),
        _S.REVOKED: (_S.QUEUED, _S.RUNNING),
        _S.LOST: (_S.QUEUED, _S.RUNNING),
        _S.PAUSED: (_S.QUEUED, _S.RUNNING),
    }
)


class Move(NamedTuple):
    """One change of state.

    dollars: spent since the last move and not in any observation. seconds: how long the machine was ours in
    the run that this move ends; None where it was not measured.
    """

    state: TrialState
    time: float
    cause: str = ""
    dollars: Usd = NO_USD
    seconds: Seconds | None = None


class MoveDetails(TypedDict, total=False):
    """The fields of a move besides its state: keywords of functions that make a move."""

    time: Required[float]
    cause: str
    dollars: Usd
    seconds: Seconds | None


class RunEndDetails(TypedDict):
    """The fields of a move that ends a run: cause and dollars are required, as the ledger settles by them."""

    time: float
    cause: str
    dollars: Usd
    seconds: NotRequired[Seconds | None]


class _Sums(NamedTuple):
    """Sums over the first moves of a log, and their number."""

    summed: int = 0
    dollars: Partials = NOTHING
    seconds: Seconds = NO_SECONDS
    unmeasured: bool = False
    paused: bool = False

    def with_moves(self, moves: Sequence[Move]) -> "_Sums":
        """With all of the log's moves that follow."""
        seconds, unmeasured, paused = float(self.seconds), self.unmeasured, self.paused
        new = moves[self.summed :]
        before = moves[self.summed - 1].state if self.summed else None
        for move in new:
            if before is TrialState.RUNNING:
                seconds += move.seconds or 0.0
                unmeasured |= move.seconds is None
            before = move.state
            paused |= before is TrialState.PAUSED
        dollars = added(self.dollars, *(move.dollars for move in new if move.dollars))
        return _Sums(len(moves), dollars, Seconds(seconds), unmeasured, paused)


class _Log:
    """Moves that versions of a trial share, and their sums as far as they have been computed."""

    __slots__ = ("moves", "sums")

    def __init__(self, moves: list[Move]) -> None:
        self.moves = moves
        self.sums = _Sums()


class Moves(Sequence[Move]):
    """The moves of a trial, immutable; equal to a tuple of the same moves.

    Later versions of a trial share one log, of which each sees the beginning: `with_move` appends and copies nothing.
    Only a second continuation of the same version gets a log of its own. Sums go on from those of earlier versions.
    """

    __slots__ = ("_count", "_log")

    def __init__(self, moves: Iterable[Move] = ()) -> None:
        self._log = _Log(list(moves))
        self._count = len(self._log.moves)

    @property
    def dollars(self) -> Usd:
        """Dollars of all moves, summed exactly and rounded once."""
        return Usd(total(self._sums.dollars))

    @property
    def seconds(self) -> Seconds:
        """Seconds of all runs that have ended, as far as they were measured."""
        return self._sums.seconds

    @property
    def unmeasured(self) -> bool:
        """Whether the seconds of a run are missing."""
        return self._sums.unmeasured

    @property
    def paused(self) -> bool:
        """Whether the trial has ever been paused."""
        return self._sums.paused

    @property
    def _sums(self) -> _Sums:
        log, count = self._log, self._count
        sums = log.sums
        if sums.summed == count:
            return sums
        if sums.summed > count:  # a later version has been summed already
            return _Sums().with_moves(log.moves[:count])
        moves = log.moves
        log.sums = sums = sums.with_moves(moves if len(moves) == count else moves[:count])
        return sums

    def with_move(self, move: Move) -> "Moves":
        """These moves and one more."""
        moves, count = self._log.moves, self._count
        if len(moves) == count:
            moves.append(move)
        if moves[count] is not move:  # another thread has added a different move meanwhile
            return Moves([*moves[:count], move])
        longer = object.__new__(Moves)
        longer._log, longer._count = self._log, count + 1
        return longer

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Move: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Move, ...]: ...

    def __getitem__(self, index: int | slice) -> Move | tuple[Move, ...]:
        if isinstance(index, slice):
            return tuple(self._log.moves[at] for at in range(*index.indices(self._count)))
        at = index + self._count if index < 0 else index
        if not 0 <= at < self._count:
            raise IndexError(f"there are {self._count} moves, and {index} is asked for")
        return self._log.moves[at]

    def __iter__(self) -> Iterator[Move]:
        return islice(self._log.moves, self._count)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Moves | tuple):
            return NotImplemented
        return len(other) == self._count and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


def checked_step(number: int, state: TrialState, move: Move) -> Move:
    """The move, if a trial in `state` may make it."""
    if move.state not in LEGAL_MOVES[state]:
        legal = " or ".join(sorted(LEGAL_MOVES[state])) or "nothing: that is final"
        raise IllegalMove(
            f"a {state} trial cannot become {move.state}", where=f"trial {number}", hint=f"It can become {legal}"
        )
    return checked_move(number, move)


def checked_move(number: int, move: Move) -> Move:
    """The move, if its numbers make sense."""
    if not math.isfinite(move.time):
        raise HistoryError(f"the time is {move.time}", where=f"trial {number}", hint="Give finite seconds")
    if not 0.0 <= move.dollars < math.inf:
        raise HistoryError(
            f"dollars are {move.dollars}", where=f"trial {number}", hint="Give a finite number of at least 0"
        )
    if move.seconds is not None and not 0.0 <= move.seconds < math.inf:
        raise HistoryError(
            f"seconds are {move.seconds}",
            where=f"trial {number}",
            hint="Give a finite number of at least 0, or None where they were not measured",
        )
    return move
