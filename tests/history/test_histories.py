"""Trials, moves, observations: random legal walks, and every illegal move."""

import itertools
import math
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.cloud.catalog import clusters
from leantune.errors import HistoryError, IllegalMove, ObservationError, UnknownTrial
from leantune.history import (
    FINAL_STATES,
    LEGAL_MOVES,
    History,
    Note,
    NoteKind,
    Observation,
    ObservationKind,
    Trial,
    TrialState,
)
from leantune.space import Space, integer, machine
from leantune.units import Seconds, Usd

S = TrialState
HALF, TENTH, FULL = Fraction(1, 2), Fraction(1, 10), Fraction(1)
PRICED = Space(n=integer(1, 9), cluster=clusters([machine("m", vcpus=1, memory=1, usd_per_hour=3.6)], nodes=[1, 2]))
PLAIN = Space(n=integer(1, 9))
ONE = PLAIN.configuration({"n": 1})
WHY = (Note(NoteKind.PLAIN, "why"),)


def measured(fraction: Fraction = FULL, cost: float | None = 1.0, seconds: float | None = 10.0) -> Observation:
    return Observation(
        fraction,
        ObservationKind.MEASURED,
        {"a": 0.5},
        None if seconds is None else Seconds(seconds),
        None if cost is None else Usd(cost),
    )


def failed(fraction: Fraction = FULL, cost: float | None = 0.5) -> Observation:
    return Observation(
        fraction, ObservationKind.FAILED, {}, Seconds(5.0), None if cost is None else Usd(cost), "out of memory"
    )


def one_trial(snapshots: tuple[Fraction, ...] = (FULL,)) -> History:
    return History().propose(ONE, snapshots[-1], snapshots)[0]


def in_state(state: TrialState) -> History:
    """A history whose trial 0 is in `state`."""
    history = one_trial()
    ways = {S.PROPOSED: [], S.QUEUED: [S.QUEUED], S.RUNNING: [S.QUEUED, S.RUNNING]}
    for step in ways.get(state, [S.QUEUED, S.RUNNING]):
        history = history.move(0, step, time=0.0)
    if state is S.DONE:
        return history.record(0, [measured()], time=1.0)
    if state is S.FAILED:
        return history.record(0, [failed()], time=1.0, state=S.FAILED)
    return history if state in ways else history.move(0, state, time=1.0)


# Proposals


def test_trials_are_numbered_in_order() -> None:
    history = History()
    for number in range(3):
        history, trial = history.propose(ONE, FULL, notes=WHY, time=float(number))
        assert trial.number == number
        assert history.trial(number) is trial
        assert (trial.state, trial.snapshots, trial.notes) == (S.PROPOSED, (FULL,), WHY)
        assert trial.moves[0].time == number
    assert len(history) == 3


def test_a_history_never_changes() -> None:
    before = one_trial()
    after = before.move(0, S.QUEUED, time=1.0)
    assert before.trial(0).state is S.PROPOSED
    assert after.trial(0).state is S.QUEUED
    with pytest.raises(FrozenInstanceError):
        before.trials = ()  # type: ignore[misc]
    with pytest.raises(TypeError):
        measured().metrics["a"] = 1.0  # type: ignore[index]


def test_trials_out_of_order_are_no_history() -> None:
    trial = one_trial().trial(0)
    with pytest.raises(HistoryError, match="numbered"):
        History((replace(trial, number=1),))


@pytest.mark.parametrize(
    ("fraction", "snapshots"),
    [(FULL, (HALF,)), (HALF, (HALF, FULL)), (FULL, (HALF, TENTH, FULL)), (FULL, (HALF, HALF, FULL)), (Fraction(0), ())],
)
def test_snapshots_rise_to_the_trials_share(fraction: Fraction, snapshots: tuple[Fraction, ...]) -> None:
    with pytest.raises(HistoryError, match="do not rise") as caught:
        History().propose(ONE, fraction, snapshots)
    assert caught.value.where == "trial 0"


def test_shares_above_one() -> None:
    with pytest.raises(HistoryError, match="do not rise"):
        History().propose(ONE, Fraction(3, 2))


# Moves


def test_the_table_of_moves() -> None:
    assert set(LEGAL_MOVES) == set(TrialState)
    assert {S.DONE, S.FAILED, S.STOPPED} == FINAL_STATES
    assert all(S.PROPOSED not in following for following in LEGAL_MOVES.values())


@pytest.mark.parametrize(("origin", "target"), list(itertools.product(TrialState, TrialState)))
def test_every_move_is_as_the_table_says(origin: TrialState, target: TrialState) -> None:
    history = in_state(origin)
    assert history.trial(0).state is origin
    if target in LEGAL_MOVES[origin] and target not in (S.DONE, S.FAILED):
        assert history.move(0, target, time=2.0, cause="so").trial(0).moves[-1].cause == "so"
        return
    with pytest.raises(IllegalMove) as caught:
        history.move(0, target, time=2.0)
    assert caught.value.where == "trial 0"
    assert caught.value.hint


@pytest.mark.parametrize("state", TrialState)
def test_a_result_ends_any_pending_trial_once(state: TrialState) -> None:
    history = in_state(state)
    if state in FINAL_STATES:
        with pytest.raises(IllegalMove, match=f"it is {state} already"):
            history.record(0, [measured()], time=3.0)
        return
    trial = history.record(0, [measured()], time=3.0).trial(0)
    assert trial.state is S.DONE
    walked = [move.state for move in trial.moves]
    assert all(later in LEGAL_MOVES[earlier] for earlier, later in itertools.pairwise(walked))


def test_unknown_trials() -> None:
    with pytest.raises(UnknownTrial, match="no trial 0") as caught:
        History().trial(0)
    assert "no trial yet" in caught.value.hint
    for number in (-1, 1, "0", True):
        with pytest.raises(UnknownTrial) as caught:
            one_trial().trial(number)  # type: ignore[arg-type]
        assert "0 to 0" in caught.value.hint
    with pytest.raises(UnknownTrial):
        one_trial().record(7, [measured()], time=0.0)
    with pytest.raises(UnknownTrial):
        one_trial().move(7, S.QUEUED, time=0.0)


@pytest.mark.parametrize(("time", "dollars"), [(math.nan, 0.0), (math.inf, 0.0), (0.0, -1.0), (0.0, math.nan)])
def test_moves_have_a_time_and_dollars(time: float, dollars: float) -> None:
    with pytest.raises(HistoryError, match="time is|dollars are"):  # noqa: RUF043
        one_trial().move(0, S.QUEUED, time=time, dollars=Usd(dollars))


# Results


def test_snapshots_are_charged_once() -> None:
    observations = [measured(HALF, 4.0, 40.0), measured(TENTH, 1.0, 10.0)]
    trial = one_trial((TENTH, HALF)).record(0, observations, time=1.0).trial(0)
    assert [observation.fraction for observation in trial.observations] == [TENTH, HALF]
    assert (trial.cost, trial.seconds) == (4.0, 40.0)


def test_a_revoked_attempt_is_paid_for_too() -> None:
    history = in_state(S.RUNNING).move(0, S.REVOKED, time=1.0, dollars=Usd(0.25))
    history = history.record(0, [measured(cost=1.0)], time=2.0)
    assert history.cost == history.trial(0).cost == 1.25


def test_a_failure_may_follow_snapshots() -> None:
    observations = [measured(TENTH, 1.0), failed(HALF, None)]
    trial = one_trial((TENTH, HALF, FULL)).record(0, observations, time=1.0, state=S.FAILED, cause="oom").trial(0)
    assert trial.state is S.FAILED
    assert trial.moves[-1].cause == "oom"
    assert trial.tested == (TENTH, HALF, FULL), "a run that failed is not worth making again"
    assert trial.cost == 1.0, "what is known to have been spent"


@pytest.mark.parametrize(
    ("observations", "state", "says"),
    [
        ([], S.DONE, "nothing is told at the share 1/2"),
        ([measured(TENTH)], S.DONE, "nothing is told at the share 1/2"),
        ([measured(FULL)], S.DONE, "observations at 1$|observations at 1 "),
        ([measured(HALF), measured(HALF)], S.DONE, "observations at 1/2, 1/2"),
        ([failed(HALF)], S.DONE, "no failed observation"),
        ([], S.FAILED, "one failed observation, got 0"),
        ([measured(HALF)], S.FAILED, "one failed observation, got 0"),
    ],
)
def test_results_that_do_not_fit(observations: list[Observation], state: TrialState, says: str) -> None:
    with pytest.raises(ObservationError, match=says) as caught:
        one_trial((TENTH, HALF)).record(0, observations, time=1.0, state=state)
    assert caught.value.where == "trial 0"


def test_results_end_a_trial() -> None:
    with pytest.raises(IllegalMove, match="cannot leave a trial running"):
        one_trial().record(0, [measured()], time=1.0, state=S.RUNNING)
    stopped = one_trial((TENTH, FULL)).record(0, [measured(TENTH)], time=1.0, state=S.STOPPED, cause="no hope")
    assert stopped.trial(0).state is S.STOPPED


def test_what_is_tested() -> None:
    history, first = one_trial((TENTH, HALF)), ONE.id
    assert history.tested(first) == {TENTH, HALF}, "pending counts"
    history = history.record(0, [measured(HALF)], time=1.0)
    assert history.tested(first) == {HALF}
    history, _ = history.propose(ONE, FULL)
    assert history.tested(first) == {HALF, FULL}
    assert history.tested("nobody") == frozenset()


# Random walks

configurations = st.integers(1, 9).map(lambda n: PLAIN.configuration({"n": n}))


@st.composite
def walks(draw: st.DrawFn) -> list[History]:
    """Histories after each of some random legal steps."""
    seen = [History()]
    for _ in range(draw(st.integers(0, 25))):
        history = seen[-1]
        pending = [trial.number for trial in history.trials if trial.pending or trial.state is S.FAILED]
        number = draw(st.sampled_from([-1, *pending]))
        seen.append(draw(_proposed(history)) if number < 0 else draw(_stepped(history, number)))
    return seen


@st.composite
def _proposed(draw: st.DrawFn, history: History) -> History:
    snapshots = sorted(draw(st.sets(st.sampled_from((TENTH, HALF, FULL)), min_size=1)))
    return history.propose(draw(configurations), snapshots[-1], snapshots, time=draw(st.floats(0, 9)))[0]


@st.composite
def _stepped(draw: st.DrawFn, history: History, number: int) -> History:
    trial = history.trial(number)
    cost = draw(st.none() | st.floats(0, 10))
    if not trial.pending:
        return history.move(number, S.QUEUED, time=0.0, cause="again")
    if draw(st.booleans()):
        shown = [measured(share, cost) for share in trial.snapshots]
        return history.record(number, shown, time=0.0)
    if draw(st.booleans()):
        return history.record(number, [failed(trial.fraction, cost)], time=0.0, state=S.FAILED)
    moves = sorted(LEGAL_MOVES[trial.state] - {S.DONE, S.FAILED})
    return history.move(number, draw(st.sampled_from(moves)), time=0.0, dollars=Usd(draw(st.floats(0, 1))))


@given(walks())
def test_invariants_hold_on_every_walk(walk: list[History]) -> None:
    for earlier, later in itertools.pairwise(walk):
        assert len(later) - len(earlier) in (0, 1)
        assert later.cost >= earlier.cost * (1 - 1e-12), "money is never unspent"
        for before, after in zip(earlier.trials, later.trials, strict=False):
            assert after.moves[: len(before.moves)] == before.moves
            again = before.state is S.FAILED and after.state is S.QUEUED
            assert before.pending or again or after == before, "what is final stays, unless it is run again"
            if again:
                assert after.cost == pytest.approx(before.cost)
    check_invariants(walk[-1])


def check_invariants(history: History) -> None:
    assert [trial.number for trial in history.trials] == list(range(len(history)))
    assert len(history.pending) + len(history.finished) == len(history)
    seen = list(history.observations)
    assert [trial.number for trial, _ in seen] == sorted(trial.number for trial, _ in seen)
    assert history.cost == pytest.approx(sum(charged(trial) for trial in history.trials))
    assert history.seconds == pytest.approx(sum(trial.seconds for trial in history.trials))
    for trial in history.trials:
        assert trial.moves[0].state is S.PROPOSED
        assert trial.moves[-1].state is trial.state
        assert all(b.state in LEGAL_MOVES[a.state] for a, b in itertools.pairwise(trial.moves))
        shares = [observation.fraction for observation in trial.observations]
        assert shares == sorted(set(shares))
        assert set(trial.tested) <= history.tested(trial.configuration.id)
        assert bool(trial.observations) == (trial.state in (S.DONE, S.FAILED))


def charged(trial: Trial) -> float:
    last = max(trial.observations, key=lambda observation: observation.fraction, default=None)
    return sum(move.dollars for move in trial.moves) + ((last.cost or 0.0) if last is not None else 0.0)


def test_what_a_larger_share_may_go_on_from() -> None:
    history = one_trial((TENTH, HALF))
    assert history.continued(ONE.id, FULL) is None, "it is not done"
    history = history.record(0, [measured(TENTH), measured(HALF)], time=1.0)
    for kind in (ObservationKind.CENSORED, ObservationKind.MEASURED):
        history, trial = history.propose(ONE, TENTH)
        history = history.record(trial.number, [replace(measured(TENTH), kind=kind)], time=2.0)

    def continued(identity: str, share: Fraction) -> tuple[int, Fraction] | None:
        found = history.continued(identity, share)
        return None if found is None else (found[0].number, found[1].fraction)

    assert continued(ONE.id, FULL) == (0, HALF)
    assert continued(ONE.id, HALF) == (2, TENTH), "the last of equals, and not the one that was cut"
    assert continued(ONE.id, TENTH) is None
    assert continued("another", FULL) is None
