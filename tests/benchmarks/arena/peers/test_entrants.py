"""Every peer plays, under a text that a replay understands."""

from benchmarks.arena.budgets import MOST_TESTS
from benchmarks.arena.contests import OWN_ENTRANTS, Contest
from benchmarks.arena.peers.entrants import PEER_ENTRANTS, SHARES_TESTS
from benchmarks.arena.peers.tuners import METHODS
from tests.benchmarks.arena.made import PROBLEM


def test_every_method_is_an_entrant_once() -> None:
    names = [entrant.name for entrant in (*OWN_ENTRANTS, *PEER_ENTRANTS)]
    assert len(set(names)) == len(names)
    assert set(METHODS) == {entrant.name for entrant in PEER_ENTRANTS}


def test_a_peer_has_its_own_number_of_tests_but_in_a_quick_contest() -> None:
    asha = next(entrant for entrant in PEER_ENTRANTS if entrant.name == "asha")
    for tests, wanted in ((MOST_TESTS, SHARES_TESTS), (12, 12)):
        contest = Contest((PROBLEM,), (asha,), 1, 1, tests=tests)
        assert [task.settings.iterations for _, task in contest.tasks()] == [wanted]
