"""Seeds of programs: the study's own, and others for runs that repeat one. What earlier attempts reported last."""

import sys
from fractions import Fraction
from pathlib import Path

from leantune.history import History, Trial
from leantune.jobfile import load_job
from leantune.problem import Problem, maximize
from leantune.run.attempts import SEEDS, reported_last, seed_of
from leantune.space import Space, integer
from leantune.store.rows import ReportRow
from leantune.study import Study
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


PROGRAM = """
import sys
lr, seed = float(sys.argv[1]), int(sys.argv[2])
with open("seeds", "a") as log:
    log.write(f"{lr} {seed}\\n")
print(f"accuracy={0.9 - abs(lr - 0.2) + (seed % 97) / 1000}")
"""
JOB = """
name: scattering
train: [{python}, train.py, "{{lr}}", "{{seed}}"]
maximize: accuracy
space: {{lr: {{ordinal: [0.1, 0.2, 0.3]}}}}
budget: {{trials: 5}}
strategy: lean
seed: 3
run: {{grace: 1 s}}
"""


def test_a_program_is_given_another_seed_where_lean_repeats_its_run(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "job.yaml").write_text(JOB.format(python=sys.executable))
    opened = Study.from_job(load_job(tmp_path / "job.yaml"))
    opened.run()
    history, advice = opened.history, opened.recommendation()
    opened.close()
    lines = [line.split() for line in (tmp_path / "seeds").read_text().splitlines()]
    given = [(float(lr), int(seed)) for lr, seed in lines]
    assert given == [(trial.configuration["lr"], seed_of(trial, history, 3)) for trial in history.trials]
    assert [seed for _, seed in given[:3]] == [3, 3, 3]
    assert 3 not in [seed for _, seed in given[3:]]
    assert "mean of" in advice.why


def test_what_was_reported_last_counts_with_or_without_steps_and_in_any_number_of_reports() -> None:
    problem = Problem(Space(n=integer(0, 9)), maximize("accuracy"), ["latency <= 9"], [Fraction(1, 2), Fraction(1)])
    _, trial = History().propose(problem.space.configuration({"n": 1}), Fraction(1))

    def row(metrics: dict[str, float], step: float | None = None, share: Fraction | None = None) -> ReportRow:
        return ReportRow(0, 1, 1.0, metrics, step, share)

    half = row({"accuracy": 0.5, "latency": 1.0}, share=Fraction(1, 2))
    rows = [row({"accuracy": 0.7}, 1), row({"latency": 2.0, "loss": 1.0}), row({"accuracy": 0.8}), half]
    assert reported_last(rows, trial, problem) == {"accuracy": 0.8, "latency": 2.0, "loss": 1.0}
    assert reported_last([*rows, row({}, 2)], trial, problem) == {}, "it diverged at its last step"
    assert reported_last([half], trial, problem) == {}
