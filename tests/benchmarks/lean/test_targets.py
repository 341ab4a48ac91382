"""Targets reached and missed, and losses said plainly."""

import math

import pytest

from benchmarks.lean.experiments import GENERATED, LEAN, PARALLEL, Effort, groups
from benchmarks.lean.targets import losses, targets
from benchmarks.papers.results import Results, Timing
from benchmarks.papers.targets import Target
from tests.benchmarks.lean.made import POOR, arriving, broken_at_the_end, lean_is_cheap, results
from tests.benchmarks.papers.made import run


def one(found: list[Target], *words: str) -> Target:
    (target,) = (target for target in found if all(word in target.text + target.wanted for word in words))
    return target


def test_a_cheap_lean_reaches_everything_and_loses_nothing() -> None:
    found = results()
    *others, minutes = targets(found)
    assert all(target.reached for target in others), [one.text for one in others if not one.reached]
    assert minutes.reached is None, "two seeds say nothing of fifty"
    assert losses(found) == []


def test_without_runs_nothing_is_said_to_hold() -> None:
    assert {target.reached for target in targets(Results())} == {None}
    assert losses(Results()) == []


def test_dollars_above_the_limit_are_missed() -> None:
    dear = targets(results(lambda group, table, method: 0.01 if method == LEAN else 0.1, only=("main",)))
    assert one(dear, "rnn: dollars", "at most $0.022").reached is False, "three tests of a cent"
    assert one(dear, "cnn: dollars", "at most $0.14").reached is True
    half = targets(results(lambda group, table, method: 0.002 if method == LEAN else 0.005, only=("main",)))
    assert one(half, "rnn: dollars", "over `trimtuner-gp`").reached is True
    assert one(half, "cnn: dollars", "over `trimtuner-gp`").reached is False, "0.4 is above 1/4"


def test_one_infeasible_end_is_missed_and_told() -> None:
    found = broken_at_the_end(results(only=("main",)), ("main", "", "cnn", LEAN))
    missed = one(targets(found), "cnn: seeds whose last recommendation is infeasible")
    assert (missed.reached, missed.ours) == (False, "1 of 2")
    assert one(targets(found), "rnn: seeds whose last").reached is True
    late = one(targets(found), "cnn: recommendations after test 10")
    assert (late.reached, late.ours) == (False, "12.5 %")
    assert any("end infeasible" in loss.text and loss.table == "cnn" for loss in losses(found))


def test_nephele_must_be_beaten_by_half_with_as_many_seeds() -> None:
    def cost(group: str, table: str, method: str) -> float:
        return 0.6 if method == LEAN else 1.0

    found = targets(results(cost, only=("nephele",)))
    assert one(found, "rnn, cheapest anywhere", "CNO 1.5").reached is False
    place = ("nephele", "", "rnn", LEAN)
    fewer = results(only=("nephele",), changed={place: [arriving(0.01), run([POOR] * 14)]})
    assert one(targets(fewer), "rnn, cheapest anywhere: seeds that arrive").reached is False


def test_batches_may_cost_half_as_much_again() -> None:
    for factor, reached in ((1.4, True), (1.6, False)):
        place = ("batches", PARALLEL, "rnn", LEAN)
        dearer = [arriving(factor * lean_is_cheap("batches", "rnn", LEAN))] * 2
        found = targets(results(only=("batches",), changed={place: dearer}))
        assert one(found, "rnn, four tests at once").reached is reached


def test_a_rival_that_never_arrives_is_beaten_and_lean_that_never_does_is_not() -> None:
    never = [run([POOR] * 14)] * 2
    rival = results(only=("main",), changed={("main", "", "rnn", "trimtuner-gp"): never})
    assert one(targets(rival), "rnn: dollars", "over `trimtuner-gp`").reached is True
    lean = results(only=("main",), changed={("main", "", "rnn", LEAN): never})
    assert one(targets(lean), "rnn: dollars", "over `trimtuner-gp`").reached is False
    lost = [loss for loss in losses(lean) if loss.table == "rnn"]
    assert len(lost) == 7, "to everybody"
    assert all("∞" in loss.text for loss in lost)


def test_families_that_are_lost_are_named() -> None:
    def cost(group: str, table: str, method: str) -> float:
        cheap = method == "eic-usd" if table in ("tight", "large") else method == LEAN
        return 0.001 if cheap else 0.1

    found = results(cost, only=("generated",))
    told = one(targets(found), "Generated problems")
    assert told.reached is False
    assert told.ours == "11 of 13; loses tight and large; nobody arrives: none"
    assert {loss.table for loss in losses(found)} == {"tight", "large"}


@pytest.mark.parametrize(("seconds", "reached"), [(0.25, True), (math.inf, False)])
def test_time(seconds: float, reached: bool) -> None:
    slow = [run([0.98] * 14, cost=0.004, asked=seconds)]
    found = targets(results(only=("main",), changed={("main", "", "cnn", LEAN): slow}))
    assert one(found, "Seconds to choose").reached is reached
    assert one(found, "Minutes").ours == "30 for 10 of 32 replays"


@pytest.mark.parametrize(("minutes", "reached"), [(59.0, True), (61.0, False)])
def test_minutes_of_the_whole_table(minutes: float, reached: bool) -> None:
    whole = groups(Effort(), ("main",))
    count = sum(1 for _ in whole["main"].tasks())
    found = Results({}, whole, {"main": Timing(60.0 * minutes, count)})
    assert one(targets(found), "Minutes").reached is reached


def test_where_nobody_arrives_nobody_wins() -> None:
    never = {("generated", "", "loss", method): [run([POOR] * 14)] * 2 for method in GENERATED}
    told = one(targets(results(only=("generated",), changed=never)), "Generated problems")
    assert (told.reached, told.ours) == (True, "12 of 13; loses none; nobody arrives: loss")
