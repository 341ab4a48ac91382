"""Seeds of programs: the study's own, and others for runs that repeat one."""

from fractions import Fraction

from leantune.history import History, Trial
from leantune.run.seeds import SEEDS, seed_of
from tests.toy import toy_problem

KEPT = 1_337_810_283
GRID = toy_problem().space.grid()


def proposed(*tests: tuple[int, Fraction]) -> tuple[History, list[Trial]]:
    history, trials = History(), []
    for row, share in tests:
        history, trial = history.propose(GRID[row], share)
        trials.append(trial)
    return history, trials


def test_first_tests_have_the_seed_of_the_study_and_repeats_others() -> None:
    full, half = Fraction(1), Fraction(1, 2)
    history, trials = proposed((0, full), (1, full), (0, half), (0, full), (0, full), (1, full), (0, half))
    seeds = [seed_of(trial, history, 5) for trial in trials]
    assert seeds[:3] == [5, 5, 5]
    assert len({5, *seeds[3:]}) == 5
    assert all(0 <= seed < SEEDS for seed in seeds)


def test_a_seed_depends_on_nothing_that_comes_later() -> None:
    history, (_, second) = proposed((0, Fraction(1)), (0, Fraction(1)))
    before = seed_of(second, history, 5)
    history, _ = history.propose(GRID[0], Fraction(1))
    assert seed_of(second, history, 5) == before
    # kept: a study that is resumed by a later version must give its programs the same seeds
    assert before == KEPT
    assert seed_of(second, history, 6) != before
