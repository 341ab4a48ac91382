"""Targets are reached or missed by numbers."""

from benchmarks.papers.experiments import OURS
from benchmarks.papers.results import Results, Run
from benchmarks.papers.targets import targets
from tests.benchmarks.papers.made import BEST, advice, row, run


def cheap(dollars: float, ratio: float) -> Run:
    return [row(1, dollars, advice(0.9, ratio=1.0, full=ratio))]


def test_without_runs_there_is_no_verdict() -> None:
    found = targets(Results())
    assert len(found) == 12
    assert {target.verdict for target in found} == {"no data"}


def test_reached_and_missed() -> None:
    good, dear, poor = [run([BEST] * 5, cost=0.01)] * 4, [run([BEST] * 5, cost=0.2)] * 4, [run([0.5] * 5)] * 4
    runs = {
        ("trimtuner", "", "rnn", "trimtuner-gp"): good,
        ("trimtuner", "", "rnn", "eic"): dear,
        ("trimtuner", "", "rnn", "trimtuner"): poor,
        ("nephele", OURS, "rnn", "nephele"): [cheap(0.1, 1.05)],
        ("nephele", OURS, "rnn", "lynceus"): [cheap(0.2, 1.05)],
        ("nephele", OURS, "rnn", "cherrypick"): [cheap(0.1, 1.2)],
        ("nephele", OURS, "rnn", "cherrypick-trees"): [cheap(0.3, 1.05)],
    }
    found = {target.text: target.reached for target in targets(Results(runs)) if "rnn" in target.text}
    assert list(found.values()) == [True, True, True, True, False, True]
    worse = Results({**runs, ("nephele", OURS, "rnn", "lynceus"): [cheap(0.05, 1.0)]})
    assert [target.reached for target in targets(worse) if "Cheapest anywhere" in target.text] == [False, None]


def test_an_arrival_that_never_comes_is_no_share_of_eic() -> None:
    poor, good = [run([0.5] * 5)] * 4, [run([BEST] * 5)] * 4
    runs = {("trimtuner", "", "rnn", "trimtuner-gp"): poor, ("trimtuner", "", "rnn", "eic"): good}
    (target,) = (one for one in targets(Results(runs)) if "over `eic`" in one.text and "rnn" in one.text)
    assert (target.ours, target.reached) == ("never arrives", False)
    swapped = {("trimtuner", "", "rnn", "trimtuner-gp"): good, ("trimtuner", "", "rnn", "eic"): poor}
    (target,) = (one for one in targets(Results(swapped)) if "over `eic`" in one.text and "rnn" in one.text)
    assert (target.ours, target.reached) == ("eic never arrives", True)
