"""Every peer plays, under a text that a replay understands."""

from benchmarks.arena.budgets import MOST_TESTS
from benchmarks.arena.contests import OWN_ENTRANTS, Contest, Entrant
from benchmarks.arena.peers.entrants import PEER_ENTRANTS, SLOW_TESTS
from benchmarks.arena.peers.tuners import METHODS
from benchmarks.arena.problems import FAMILIES
from tests.benchmarks.arena.made import PROBLEM


def test_every_method_is_an_entrant_once() -> None:
    names = [entrant.name for entrant in (*OWN_ENTRANTS, *PEER_ENTRANTS)]
    assert len(set(names)) == len(names)
    assert set(METHODS) == {entrant.name for entrant in PEER_ENTRANTS}


def test_a_slow_peer_makes_fewer_tests_in_a_quick_contest_fewer_still() -> None:
    assert {entrant.tests for entrant in PEER_ENTRANTS if entrant.name in ("mfkg", "openbox")} == {SLOW_TESTS}
    slow = Entrant("slow", "random", tests=SLOW_TESTS)  # no environment is needed to count tests
    for tests, wanted in ((MOST_TESTS, SLOW_TESTS), (12, 12)):
        contest = Contest((PROBLEM,), (slow,), 1, 1, tests=tests)
        assert [task.settings.iterations for _, task in contest.tasks()] == [wanted]


def test_slow_peers_play_on_measured_tables_and_nobody_for_the_cheapest() -> None:
    def entered(family: str) -> set[str]:
        problem = next(iter(FAMILIES[family](None)))
        return {entrant.name for entrant in PEER_ENTRANTS if entrant.meant(problem)}

    assert entered("papers") == set(METHODS)
    assert entered("papers") - entered("lcbench") == {"openbox", "mfkg", "asha-cqr"}
    assert entered("lcbench") - entered("generated") == {"optuna-gp", "bohb", "neps-priorband"}
    assert not entered("cheapest")
