"""`lean` against itself, by hand: what batches cost, and what the stop rule saves."""

import pytest

from benchmarks.arena.contests import BATCHES, LEAN, STOPPED, Contest, Played
from benchmarks.arena.sides import batches, saved_share, stops
from benchmarks.arena.targets import cells, targets
from tests.benchmarks.arena.made import ENTRANTS, PROBLEM, beside, made_run, played

GOES_ON = {LEAN: [0.9, 0.0, 0.0, 0.0, 0.0, 0.0], "eic": [0.9] * 6, "random": [0.9] * 6}  # arrives with test 2 of 6


def verdicts(contest: Played) -> dict[str, tuple[str, bool | None]]:
    return {target.text: (target.ours, target.reached) for target in targets(contest, cells(contest))}


@pytest.mark.parametrize(
    ("whole", "stopped", "share"),
    [
        ([0.9, 0.0, 0.0, 0.0, 0.0, 0.0], 3, 0.75),
        ([0.9, 0.0, 0.0, 0.0, 0.0, 0.0], 6, 0.0),
        ([0.9, 0.0, 0.0, 0.0, 0.0, 0.0], 1, 1.0),  # too early: all of it is saved, and it ends short
        ([0.9, 0.0], 2, None),
        ([0.9, 0.8], 1, None),
    ],
)
def test_the_share_saved_of_what_is_spent_after_arrival(whole: list[float], stopped: int, share: float | None) -> None:
    run = made_run(0, whole)
    assert saved_share(run, run[:stopped]) == (None if share is None else pytest.approx(share))


def test_batches_over_one_at_a_time_over_common_seeds() -> None:
    runs = {0: made_run(0, [0.9, 0.9, 0.0, 0.0]), 1: made_run(1, [0.9, 0.9, 0.0, 0.9]), 9: made_run(9, [0.0])}
    contest = beside(played(GOES_ON), BATCHES, runs)
    (found,) = batches(contest)
    assert (found.problem, found.runs) == (PROBLEM.name, 2)
    assert (found.alone, found.batched) == pytest.approx((2.0, (3.0 + 2 * 4.0) / 2))
    told, reached = verdicts(contest)["Batches of four over one at a time: mean dollars to 1 %"]
    assert told == "0 of 1 problems hold; the largest: ranks-well 2.75"
    assert reached is False


def test_batches_that_cost_as_much_are_good_enough() -> None:
    contest = beside(played(GOES_ON), BATCHES, {0: made_run(0, [0.9, 0.0])})
    assert verdicts(contest)["Batches of four over one at a time: mean dollars to 1 %"][1] is True


def test_the_stop_rule_saves_and_ends_short() -> None:
    runs = {0: made_run(0, GOES_ON[LEAN][:4]), 1: made_run(1, GOES_ON[LEAN][:1])}
    contest = beside(played(GOES_ON), STOPPED, runs)
    (found,) = stops(contest)
    assert found.saved == pytest.approx({0: 0.5, 1: 1.0})
    assert (found.short, found.anyway, found.runs) == (1, 0, 2)
    said = verdicts(contest)
    assert said["Stop rule: saved of what is spent after arrival"] == ("75 % on average of 2 seeds that arrive", True)
    assert said["Stop rule: seeds that end short of 1 %"] == ("1 of 2; 0 of them without the rule too", False)


def test_seeds_that_never_arrive_count_as_short_and_not_as_saved() -> None:
    contest = beside(played({**GOES_ON, LEAN: [0.9] * 6}), STOPPED, {0: made_run(0, [0.9] * 2)})
    (found,) = stops(contest)
    assert (dict(found.saved), found.short, found.anyway) == ({}, 1, 1)
    assert verdicts(contest)["Stop rule: saved of what is spent after arrival"] == ("not run", None)


def test_nothing_is_said_of_what_was_not_run() -> None:
    without = Played(Contest((PROBLEM,), ENTRANTS[1:]), {})
    for contest in (played(GOES_ON), without):
        assert batches(contest) == []
        assert stops(contest) == []
