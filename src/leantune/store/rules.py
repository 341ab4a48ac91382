"""Checks of every store of studies, in memory or in a database. Pure functions."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from leantune.errors import IllegalMove, LeaseLost, Outdated, StoreError, UnknownStudy, did_you_mean
from leantune.history import FINAL_STATES, Move, Observation, Trial, TrialState, moved, recorded
from leantune.store.encoding import clean, clean_observation
from leantune.store.rows import Booking, Claim, JudgedMove, Money, StayRow
from leantune.units import NO_USD, Seconds, Usd

_LONGEST_NAME = 200
_ROUNDING = 1e-12  # relative, of sums of dollars
_BACK_TO_QUEUE = (TrialState.REVOKED, TrialState.LOST)  # where a trial stays for no moment
_JUDGED = (TrialState.PAUSED, TrialState.QUEUED, TrialState.STOPPED)


def ended(trial: Trial, observations: Sequence[Observation], end: Move, resumed_dollars: Usd) -> Trial:
    """The trial after the run that the move ends: over with its observations, or waiting without any.

    Dollars are those of the observations where they tell any, else those of the move.
    """
    if end.state in FINAL_STATES:
        with_cost = any(seen.cost is not None for seen in observations)
        return recorded(trial, observations, end._replace(dollars=NO_USD) if with_cost else end, resumed_dollars)
    _check_no_result(trial, observations, resumed_dollars)
    if end.state in _BACK_TO_QUEUE:
        return moved(trial, end, Move(TrialState.QUEUED, end.time))
    return moved(trial, end)


def judged_trial(trial: Trial, judged: JudgedMove, observations: Sequence[Observation], time: float) -> Trial:
    """The trial as it was judged; Outdated when it has moved on since."""
    where = f"trial {trial.number}"
    if judged.state not in _JUDGED or judged.expected in (TrialState.RUNNING, TrialState.FAILED):
        raise StoreError(
            f"a {judged.expected} trial is not judged {judged.state}",
            where=where,
            hint="Pause, queue or stop trials that do not run; `finish` ends a run",
        )
    if trial.state is not judged.expected:
        raise Outdated(
            f"it was judged while it was {judged.expected}, and it is {trial.state}",
            where=where,
            hint="Look at the history again, and judge again",
        )
    move = Move(TrialState(judged.state), time, clean(judged.cause))
    if judged.state is not TrialState.STOPPED:
        _check_no_result(trial, observations, judged.resumed_dollars)
        return moved(trial, move)
    stopped = recorded(trial, observations, move, judged.resumed_dollars, ran=False)
    if not math.isclose(stopped.cost, trial.cost, rel_tol=1e-9, abs_tol=1e-9):
        raise StoreError(
            f"its dollars would change from {trial.cost:g} to {stopped.cost:g}, and nothing was paid",
            where=where,
            hint="Observations count dollars of earlier runs again: give those as resumed_dollars",
        )
    return stopped


def retried(trial: Trial, time: float, cause: str) -> Trial:
    """A failed trial, queued to be run again; IllegalMove for any other."""
    if trial.state is not TrialState.FAILED:
        hint = "Only failed trials are run again" + (
            "; enqueue its configuration for another run" if trial.state in FINAL_STATES else ""
        )
        raise IllegalMove(f"it is {trial.state}, not failed", where=f"trial {trial.number}", hint=hint)
    return moved(trial, storable_move(TrialState.QUEUED, time, cause))


def _check_no_result(trial: Trial, observations: Sequence[Observation], resumed_dollars: Usd) -> None:
    if observations or resumed_dollars:
        raise StoreError("a trial that goes on later has no result", where=f"trial {trial.number}", hint="Leave it out")


def check_booking(trial: Trial, booking: Booking, money: Money) -> None:
    """Refuse a booking beyond the budget, from any worker."""
    usd = not_negative(booking.usd, "usd")
    if money.budget_usd is None:
        return
    if money.spent + money.reserved + usd > money.budget_usd * (1.0 + _ROUNDING):
        raise StoreError(
            f"the booking of {usd:g} USD exceeds the {money.left:g} USD that are left of {money.budget_usd:g}",
            where=f"trial {trial.number}",
            hint="Book less, or nothing",
        )


def checked_stays(claim: Claim, stays: Iterable[StayRow]) -> list[StayRow]:
    """The machines of this run, and of no other."""
    checked = [checked_stay(stay) for stay in stays]
    for stay in checked:
        if (stay.number, stay.attempt) != (claim.trial.number, claim.attempt):
            raise StoreError(
                f"the machine {stay.machine} is of trial {stay.number}, attempt {stay.attempt}",
                where=f"trial {claim.trial.number}, attempt {claim.attempt}",
                hint="Give the run's own machines",
            )
    return checked


def checked_stay(stay: StayRow) -> StayRow:
    """A stay as any store can keep it; refused where its numbers make no sense (SQLite would turn NaN into NULL)."""
    if not stay.machine:
        hint = "Name it as the provider does"
        raise StoreError("a machine without a name", where=f"trial {stay.number}", hint=hint)
    not_negative(stay.usd_per_hour, "usd_per_hour")
    # One sum instead of eleven checks: a sum with a number that is not finite is not finite.
    numbers = stay.launched + stay.step_from + stay.kept + stay.reached + stay.saving_seconds
    times = (stay.ready or 0.0) + (stay.left or 0.0) + (stay.ended or 0.0)
    dollars = (stay.max_price or 0.0) + (stay.gross_usd or 0.0) + (stay.refund_usd or 0.0)
    if not math.isfinite(numbers + times + dollars):
        hint = "Give finite numbers, or None"
        raise StoreError(f"a number of it is not finite: {stay}", where=f"trial {stay.number}", hint=hint)
    texts = (stay.machine, stay.market, stay.source, stay.quotes, stay.why)
    together = "".join(texts)
    if clean(together) == together:
        return stay
    machine, market, source, quotes, why = map(clean, texts)
    return replace(stay, machine=machine, market=market, source=source, quotes=quotes, why=why)


def outdated_proposal(study: str, after: int | None, count: int) -> Outdated:
    """The error of a worker whose proposal came after another worker's."""
    return Outdated(
        f"the proposal was computed from {after} trials, and there are {count}",
        where=f"study {study!r}",
        hint="Look at the history again, and propose again",
    )


def storable_move(
    state: TrialState, time: float, cause: str = "", dollars: Usd = NO_USD, seconds: Seconds | None = None
) -> Move:
    """A move as any store can keep it."""
    return Move(TrialState(state), float(time), clean(cause), Usd(not_negative(dollars, "dollars")), seconds)


def storable(study: str, number: int, observations: Iterable[Observation]) -> list[Observation]:
    """Observations as any store can keep them."""
    return [clean_observation(observation, f"trial {number} of study {study!r}") for observation in observations]


def lease_lost(study: str, worker: str, number: int, attempt: int) -> LeaseLost:
    """The error of a worker that comes too late."""
    return LeaseLost(
        f"it was taken from worker {worker!r} in its attempt {attempt}",
        where=f"trial {number} of study {study!r}",
        hint="Its lease was not renewed in time; another worker has it, or had it",
    )


def finite(value: float, name: str) -> float:
    """A finite number, or a StoreError."""
    if not math.isfinite(value):
        raise StoreError(f"{name} is {value}", where="store", hint="Give a finite number")
    return float(value)


def positive(value: float, name: str) -> float:
    """Seconds above 0, or a StoreError."""
    if not 0.0 < value < math.inf:
        raise StoreError(f"{name} is {value}", where="store", hint="Give a finite number of seconds above 0")
    return float(value)


def not_negative(value: float, name: str) -> float:
    """A finite number of at least 0, or a StoreError."""
    if not 0.0 <= value < math.inf:
        raise StoreError(f"{name} is {value}", where="store", hint="Give a finite number of at least 0")
    return float(value)


def checked_name(name: str) -> str:
    """The name of a study, or a StoreError."""
    if not name or not name.isprintable() or name != name.strip() or len(name) > _LONGEST_NAME:
        hint = f"Use at most {_LONGEST_NAME} letters, digits, '-', '_', '.'"
        raise StoreError(f"{name!r} cannot be the name of a study", where="store", hint=hint)
    return name


def unknown_study(name: str, names: Sequence[str], where: str) -> UnknownStudy:
    """The error when there is no study of that name."""
    names_there = f"There are {', '.join(names[:10])}" if names else "There is none yet"
    return UnknownStudy(f"there is no study {name!r}", where=where, hint=did_you_mean(name, names) + names_there)


def named(worker: str) -> str:
    """The name of a worker, or a StoreError."""
    if not worker or clean(worker) != worker:
        raise StoreError(f"{worker!r} is not the name of a worker", where="store", hint="Use plain text")
    return worker
