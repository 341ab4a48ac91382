"""What one trial is: its kind, its results, what it costs and tested; partial observations belong to stopped ones."""

from dataclasses import fields, replace
from fractions import Fraction

import pytest

from leantune.errors import HistoryError, IllegalMove, ObservationError
from leantune.history import (
    History,
    Move,
    Observation,
    ObservationKind,
    Trial,
    TrialKind,
    TrialState,
    moved,
    proposed,
    recorded,
)
from leantune.space import Space, integer
from leantune.units import Seconds, Usd

S = TrialState
TENTH, FULL = Fraction(1, 10), Fraction(1)
ONE = Space(n=integer(1, 9)).configuration({"n": 1})


def seen(kind: ObservationKind, fraction: Fraction = FULL, cost: float | None = 1.0) -> Observation:
    return Observation(fraction, kind, {"a": 0.5}, Seconds(10.0), None if cost is None else Usd(cost))


def running(snapshots: tuple[Fraction, ...] = (FULL,)) -> Trial:
    return moved(proposed(0, ONE, FULL, snapshots), Move(S.QUEUED, 0.0), Move(S.RUNNING, 0.0))


def paused(dollars: float = 0.25) -> Trial:
    return moved(running(), Move(S.PAUSED, 5.0, "predicted", Usd(dollars), Seconds(5.0)))


def test_a_changed_trial_is_a_whole_trial() -> None:
    """It is made without its constructor: no field may be forgotten, and nothing that was computed is taken along."""
    trial = replace(running(), time_limit=Seconds(3.0), kind=TrialKind.ENQUEUED, expected={})
    assert (trial.cost, trial.seconds, trial.tested, trial.results) == (0.0, 0.0, (FULL,), ())
    after = moved(trial, Move(S.PAUSED, 5.0, "", Usd(0.25)))
    assert after == replace(trial, state=S.PAUSED, moves=(*trial.moves, Move(S.PAUSED, 5.0, "", Usd(0.25))))
    assert set(vars(after)) == {field.name for field in fields(Trial)}
    assert after.cost == 0.25


@pytest.mark.parametrize("kind", TrialKind)
def test_kinds(kind: TrialKind) -> None:
    trial = proposed(0, ONE, FULL, kind=kind)
    assert (trial.kind, trial.verifies) == (kind, kind is TrialKind.VERIFICATION)


def test_a_paused_trial_is_pending_and_goes_on_or_is_stopped() -> None:
    trial = paused()
    assert trial.pending and trial.tested == (FULL,) and trial.cost == 0.25
    assert moved(trial, Move(S.QUEUED, 6.0), Move(S.RUNNING, 7.0)).state is S.RUNNING
    assert moved(trial, Move(S.STOPPED, 6.0, "not selected")).tested == (FULL,), "without any observation"
    with pytest.raises(IllegalMove, match="paused trial cannot become running"):
        moved(trial, Move(S.RUNNING, 6.0))
    with pytest.raises(HistoryError, match="seconds are"):
        moved(running(), Move(S.PAUSED, 5.0, seconds=Seconds(-1.0)))


def test_what_was_shown_midway_is_no_result() -> None:
    midway = seen(ObservationKind.PARTIAL)
    measured = seen(ObservationKind.MEASURED, TENTH, cost=0.1)
    trial = recorded(running((TENTH, FULL)), [midway, measured], Move(S.STOPPED, 9.0))
    assert (trial.observations, trial.results) == ((measured, midway), (measured,))
    assert (trial.cost, trial.seconds, trial.tested) == (1.0, 10.0, (TENTH, FULL))
    assert [seen for _, seen in History((trial,)).observations] == [measured]


@pytest.mark.parametrize(
    ("observations", "state", "says"),
    [
        ([seen(ObservationKind.PARTIAL)], S.DONE, "a done trial has no partial observation"),
        ([seen(ObservationKind.PARTIAL)], S.FAILED, "a failed trial has no partial observation"),
        (
            [seen(ObservationKind.PARTIAL, TENTH), seen(ObservationKind.MEASURED)],
            S.STOPPED,
            "partial observations at 1/10",
        ),
        (
            [seen(ObservationKind.PARTIAL, TENTH), seen(ObservationKind.PARTIAL)],
            S.STOPPED,
            "partial observations at 1/10, 1",
        ),
    ],
)
def test_partial_observations_out_of_place(observations: list[Observation], state: TrialState, says: str) -> None:
    with pytest.raises(ObservationError, match=says):
        recorded(running((TENTH, FULL)), observations, Move(state, 9.0))


def test_a_waiting_trial_is_stopped_where_it_stands() -> None:
    stopped = recorded(paused(), [seen(ObservationKind.PARTIAL, cost=0.25)], Move(S.STOPPED, 9.0), Usd(0.25), ran=False)
    assert [move.state for move in stopped.moves] == ["proposed", "queued", "running", "paused", "stopped"]
    assert stopped.cost == 0.25
    told = recorded(paused(), [seen(ObservationKind.MEASURED)], Move(S.DONE, 9.0))
    assert [move.state for move in told.moves[4:]] == ["queued", "running", "done"]
    with pytest.raises(IllegalMove, match="proposed trial cannot become stopped"):
        recorded(proposed(0, ONE, FULL), [], Move(S.STOPPED, 9.0), ran=False)


def test_moves_given_as_a_tuple_are_as_good() -> None:
    trial = replace(paused(), moves=tuple(paused().moves))
    assert (trial.moved_dollars, trial.runs.seconds, trial.runs.paused) == (0.25, 5.0, True)
    assert moved(trial, Move(S.QUEUED, 6.0)).moves == (*trial.moves, Move(S.QUEUED, 6.0))


def test_the_seconds_of_a_run_count_before_there_is_a_result() -> None:
    """Or a budget of hours would not see trials that are paused or were taken away."""
    again = moved(paused(), Move(S.QUEUED, 6.0), Move(S.RUNNING, 6.0), Move(S.REVOKED, 9.0, seconds=Seconds(2.0)))
    assert (paused().seconds, again.seconds) == (5.0, 7.0)
    assert recorded(paused(), [seen(ObservationKind.MEASURED)], Move(S.DONE, 9.0)).seconds == 10.0


def test_a_run_that_went_on_from_a_smaller_share_took_less_than_its_result_says() -> None:
    """A result is what a run from nothing would take; what was paid is the difference."""
    end = Move(S.DONE, 9.0, seconds=Seconds(4.0))
    trial = recorded(running(), [seen(ObservationKind.MEASURED)], end, resumed_dollars=Usd(0.75))
    assert (trial.observations[0].seconds, trial.seconds, trial.cost) == (10.0, 4.0, 0.25)
    unmeasured = recorded(running(), [seen(ObservationKind.MEASURED)], Move(S.DONE, 9.0))
    assert (unmeasured.seconds, unmeasured.cost) == (10.0, 1.0)
    with pytest.raises(HistoryError, match="at most the 1 dollars of its earlier runs and its observations"):
        recorded(running(), [seen(ObservationKind.MEASURED)], end, resumed_dollars=Usd(1.01))
