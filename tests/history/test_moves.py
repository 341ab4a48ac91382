"""The log of moves is like a tuple; versions of a trial share it; its sums do not depend on who asked before."""

import math
import threading
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.history import LEGAL_MOVES, Move, Moves, TrialState

S = TrialState
A, B, C = Move(S.PROPOSED, 0.0), Move(S.QUEUED, 1.0), Move(S.RUNNING, 2.0)
ANY_MOVE = st.builds(
    Move, st.sampled_from(TrialState), st.just(0.0), st.just(""), st.floats(0, 1), st.none() | st.floats(0, 9)
)


def test_like_a_tuple() -> None:
    moves = Moves((A, B, C))
    same: list[object] = [(A, B, C), Moves((A, B, C))]
    others: list[object] = [(A, B), (A, C, B), [A, B, C]]
    assert [moves == one for one in (*same, *others)] == [True, True, False, False, False]
    assert [one == moves for one in (*same, *others)] == [True, True, False, False, False]
    assert (len(moves), moves[0], moves[-1], moves[1:], moves[::-1]) == (3, A, C, (B, C), (C, B, A))
    assert list(reversed(moves)) == [C, B, A] and B in moves and moves.index(C) == 2
    assert hash(moves) == hash((A, B, C)) and repr(moves) == repr((A, B, C))
    for index in (3, -4):
        with pytest.raises(IndexError):
            moves[index]


def test_going_on_copies_nothing() -> None:
    versions = [Moves((A,))]
    for _ in range(1000):
        versions.append(versions[-1].with_move(B))
    assert len({id(version._log) for version in versions}) == 1
    assert [len(version) for version in versions] == list(range(1, 1002))


def test_a_second_way_on_has_its_own_log() -> None:
    start = Moves((A,))
    one, other = start.with_move(B), start.with_move(C)
    further = one.with_move(C)
    assert [tuple(moves) for moves in (start, one, other, further)] == [(A,), (A, B), (A, C), (A, B, C)]


def test_threads_that_go_on_from_the_same_moves() -> None:
    start, ways = Moves((A,)), {}
    ready = threading.Barrier(8)

    def go_on(number: int) -> None:
        ready.wait()
        moves = start
        for step in range(50):
            moves = moves.with_move(Move(S.QUEUED, float(step), str(number)))
        ways[number] = moves

    threads = [threading.Thread(target=go_on, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, moves in ways.items():
        assert moves[0] == A and [move.cause for move in moves[1:]] == [str(number)] * 50
        assert [move.time for move in moves[1:]] == list(range(50))


@given(st.lists(ANY_MOVE, max_size=12), st.lists(st.integers(0, 12), max_size=8))
def test_sums_do_not_depend_on_who_asks_when(moves: list[Move], asked: list[int]) -> None:
    versions = [Moves()]
    for move in moves:
        versions.append(versions[-1].with_move(move))
    for index in [*(number for number in asked if number < len(versions)), len(moves), 0]:
        mine = moves[:index]
        ended = [after for before, after in pairwise(mine) if before.state is S.RUNNING]
        found = versions[index]
        assert found.dollars == math.fsum(move.dollars for move in mine)
        assert found.seconds == pytest.approx(sum(move.seconds or 0.0 for move in ended))
        assert found.unmeasured == any(move.seconds is None for move in ended)
        assert found.paused == any(move.state is S.PAUSED for move in mine)


def test_paused_and_queued_trials_may_be_stopped_and_paused_ones_go_on() -> None:
    assert LEGAL_MOVES[S.PAUSED] == {S.QUEUED, S.STOPPED}
    assert LEGAL_MOVES[S.QUEUED] == {S.RUNNING, S.PAUSED, S.STOPPED}
    assert S.PAUSED in LEGAL_MOVES[S.RUNNING]
