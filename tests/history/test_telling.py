"""Telling results: what is refused, and what the numbers become."""

import math
from fractions import Fraction

import pytest

from leantune.cloud.catalog import clusters
from leantune.errors import ObservationError
from leantune.history import History, Observation, ObservationKind, Trial, observe
from leantune.problem import Budget, Problem, maximize, minimize
from leantune.space import Configuration, Space, integer, machine
from leantune.units import Seconds, Usd

HALF, TENTH, FULL = Fraction(1, 2), Fraction(1, 10), Fraction(1)
PRICED = Space(n=integer(1, 9), cluster=clusters([machine("m", vcpus=1, memory=1, usd_per_hour=3.6)], nodes=[1, 2]))
PLAIN = Space(n=integer(1, 9))
ONE = PLAIN.configuration({"n": 1})
ACCURACY = Problem(PRICED, maximize("accuracy"), ["cost <= 1 USD", "latency <= 5"])
TWO_NODES = PRICED.configuration({"n": 1, "cluster": {"type": "m", "nodes": 2}})


def asked(configuration: Configuration = TWO_NODES, snapshots: tuple[Fraction, ...] = (FULL,)) -> Trial:
    return History().propose(configuration, snapshots[-1], snapshots)[1]


def test_dollars_are_seconds_times_the_rate() -> None:
    observation = observe(ACCURACY, asked(), {"accuracy": 0.9, "latency": 2, "extra": 7}, seconds=500)
    assert observation == Observation(
        FULL, ObservationKind.MEASURED, {"accuracy": 0.9, "latency": 2.0, "extra": 7.0}, Seconds(500.0), Usd(1.0)
    )
    assert observe(ACCURACY, asked(), {"accuracy": 0.9, "latency": 2}, seconds=500, cost=0.2).cost == 0.2


def test_failures_and_cuts_are_kinds_of_their_own() -> None:
    cut = observe(ACCURACY, asked(), {"accuracy": 0.9, "latency": 2}, seconds=600, kind=ObservationKind.CENSORED)
    assert cut.kind is ObservationKind.CENSORED
    crash = observe(ACCURACY, asked(), {}, seconds=50, kind=ObservationKind.FAILED, cause="out of memory")
    assert (crash.metrics, crash.cause) == ({}, "out of memory")
    assert crash.cost == pytest.approx(0.1)
    assert observe(ACCURACY, asked(), {}, kind=ObservationKind.FAILED).cost is None


def test_shares_are_the_trials_own() -> None:
    trial = asked(snapshots=(TENTH, HALF))
    told = {"accuracy": 0.9, "latency": 2.0}
    assert observe(ACCURACY, trial, told, seconds=1).fraction == HALF
    assert observe(ACCURACY, trial, told, seconds=1, fraction=TENTH).fraction == TENTH
    with pytest.raises(ObservationError, match="does not report at the share 1") as caught:
        observe(ACCURACY, trial, told, seconds=1, fraction=FULL)
    assert "1/10, 1/2" in caught.value.hint


@pytest.mark.parametrize(
    ("metrics", "says", "right"),
    [
        ({"acuracy": 0.9, "latency": 1}, "'accuracy' was not reported", "Did you mean 'acuracy'?"),
        ({"accuracy": 0.9}, "'latency' was not reported", "got accuracy"),
        ({}, "'accuracy' was not reported", "got nothing"),
        ({"accuracy": math.nan, "latency": 1}, "'accuracy' is nan", "tell the run as failed"),
        ({"accuracy": 0.9, "latency": -math.inf}, "'latency' is -inf", "finite"),
        ({"accuracy": 0.9, "latency": 1, "extra": math.inf}, "'extra' is inf", "finite"),
        ({"accuracy": 1e160, "latency": 1}, r"'accuracy' is 1e\+160", "between -1e+100 and 1e+100"),
        ({"accuracy": -(10**5000), "latency": 1}, r"'accuracy' is beyond 1e\+100", "tell the run as failed"),
        ({"accuracy": "0.9", "latency": 1}, "'accuracy' is '0.9'", "number"),
        ({"accuracy": None, "latency": 1}, "'accuracy' is None", "number"),
        ({"accuracy": True, "latency": 1}, "'accuracy' is True", "number"),
        ({"accuracy": 0.9, "latency": 1, "cost": 3}, "'cost' is not a metric", "cost="),
        ({"accuracy": 0.9, "latency": 1, "time": 3}, "'time' is not a metric", "seconds="),
    ],
)
def test_wrong_metrics(metrics: dict[str, float], says: str, right: str) -> None:
    with pytest.raises(ObservationError, match=says) as caught:
        observe(ACCURACY, asked(), metrics, seconds=1)
    assert caught.value.where == "trial 0"
    assert right in caught.value.hint


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, 1e160, "10"])
def test_wrong_seconds_and_dollars(bad: float) -> None:
    told = {"accuracy": 0.9, "latency": 1.0}
    with pytest.raises(ObservationError, match="seconds is"):
        observe(ACCURACY, asked(), told, seconds=bad)
    with pytest.raises(ObservationError, match="cost is"):
        observe(ACCURACY, asked(), told, seconds=1.0, cost=bad)


def test_a_failure_brings_no_metrics() -> None:
    with pytest.raises(ObservationError, match="failed run cannot report accuracy"):
        observe(ACCURACY, asked(), {"accuracy": 0.1}, seconds=1, kind=ObservationKind.FAILED)


@pytest.mark.parametrize(
    "problem",
    [
        Problem(PLAIN, maximize("a"), ["cost <= 1 USD"]),
        Problem(PLAIN, minimize("cost"), ["a >= 0.5"]),
        Problem(PLAIN, maximize("a"), budget=Budget(usd=5)),
    ],
)
def test_dollars_without_prices_must_be_told(problem: Problem) -> None:
    with pytest.raises(ObservationError, match="dollars of this run are unknown") as caught:
        observe(problem, asked(ONE), {"a": 0.5}, seconds=10)
    assert "prices" in caught.value.hint
    assert "cost=" in caught.value.hint
    assert observe(problem, asked(ONE), {"a": 0.5}, cost=0.5).cost == 0.5


def test_a_time_limit_needs_seconds() -> None:
    problem = Problem(PLAIN, maximize("a"), ["time <= 1 h"])
    with pytest.raises(ObservationError, match="needs seconds"):
        observe(problem, asked(ONE), {"a": 0.5})
    assert observe(problem, asked(ONE), {"a": 0.5}, seconds=1).cost is None


def test_what_a_run_had_shown_midway_may_be_anything_finite() -> None:
    midway = observe(ACCURACY, asked(), {"accuracy": 0.5}, seconds=250, kind=ObservationKind.PARTIAL)
    assert midway.kind is ObservationKind.PARTIAL
    assert midway.cost == pytest.approx(0.5)
    assert observe(ACCURACY, asked(ONE), {}, kind=ObservationKind.PARTIAL).cost is None
    for wrong in ({"accuracy": math.nan}, {"cost": 1.0}):
        with pytest.raises(ObservationError):
            observe(ACCURACY, asked(), wrong, kind=ObservationKind.PARTIAL)
