"""One face: whatever a study does, it does when a Python program made it, and when a job file did."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

import leantune as lt
from leantune.errors import InvalidInput, StudyChanged, StudyOver, UnknownStudy
from leantune.history import TrialState
from leantune.problem import Budget
from leantune.run.events import Event, RunStarted
from leantune.study import AskedTrial, Study

FULL = Fraction(1)
RATES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
PROGRAM = """
import sys
rate, fraction = float(sys.argv[1]), float(sys.argv[2])
print(f"accuracy={0.9 - (rate - 0.3) ** 2 - 0.1 * (1 - fraction)}")
"""


def accuracy(rate: object, fraction: Fraction) -> float:
    """What the program of the job file prints, and the function of the Python program returns."""
    assert isinstance(rate, float)
    return 0.9 - (rate - 0.3) ** 2 - 0.1 * (1 - float(fraction))


@dataclass(frozen=True)
class Face:
    """A way to make the same study: `open`, and what `optimize` and `verify` are given."""

    open: Callable[..., Study]
    train: tuple[Callable[[AskedTrial], Mapping[str, float]], ...]


def from_python(folder: Path) -> Face:
    def opened(
        *, trials: int = 4, seed: int = 1, limit: str = "accuracy >= 0.5", baseline: float | None = None, **more: object
    ) -> Study:
        return Study(
            lt.Space(rate=lt.choice(*RATES)),
            lt.maximize("accuracy"),
            subject_to=[limit],
            fractions=["1/2", 1],
            budget=Budget(trials=trials),
            seed=seed,
            baseline=None if baseline is None else {"rate": baseline},
            store=f"sqlite:///{folder / 'python.db'}",
            name="both",
            **{"strategy": "random", **more},  # type: ignore[arg-type]
        )

    def train(trial: AskedTrial) -> Mapping[str, float]:
        return {"accuracy": accuracy(trial["rate"], trial.fraction)}

    return Face(opened, (train,))


def from_job_file(folder: Path) -> Face:
    (folder / "train.py").write_text(PROGRAM, encoding="utf-8")

    def opened(
        *, trials: int = 4, seed: int = 1, limit: str = "accuracy >= 0.5", baseline: float | None = None, **more: object
    ) -> Study:
        document = {
            "name": "both",
            "train": [sys.executable, "-I", "-S", "train.py", "{rate}", "{fraction}"],
            "maximize": "accuracy",
            "subject_to": [limit],
            "space": {"rate": list(RATES)},
            "fractions": ["1/2", 1],
            "budget": {"trials": trials},
            "seed": seed,
            "store": f"sqlite:///{folder / 'job.db'}",
            "run": {"grace": "1 s", "time_limit": "20 s"},
            **({} if baseline is None else {"baseline": {"rate": baseline}}),
            **{key: value for key, value in {"strategy": "random", **more}.items() if value is not None},
        }
        (folder / "job.yaml").write_text(json.dumps(document), encoding="utf-8")
        return Study.from_job(folder / "job.yaml")

    return Face(opened, ())


@pytest.fixture(params=[from_python, from_job_file])
def face(request: pytest.FixtureRequest, tmp_path: Path) -> Face:
    made: Face = request.param(tmp_path)
    return made


def test_a_study_runs_to_its_end_and_goes_on_where_it_was(face: Face) -> None:
    with face.open() as study:
        assert study.stop_reason is None
        with pytest.raises(StudyOver, match="nothing to recommend yet"):
            study.recommendation()
        study.optimize(*face.train, trials=2)
        before = study.history
    with face.open() as again:
        assert again.history == before
        advice = again.optimize(*face.train)
        assert [trial.state for trial in again.history.trials] == [TrialState.DONE] * 4
        assert again.stop_reason == "all 4 trials of the budget are used"
        best = max((trial.configuration["rate"] for trial in again.history.trials), key=lambda r: accuracy(r, FULL))
        assert advice.configuration["rate"] == best
        assert again.recommendation() == advice


@pytest.mark.parametrize("strategy", ["random", "eic", "trimtuner-gp", "lean"])
def test_both_faces_propose_the_same(tmp_path: Path, strategy: str) -> None:
    proposed = []
    for made in (from_python(tmp_path), from_job_file(tmp_path)):
        with made.open(strategy=strategy, trials=5) as study:
            for _ in range(5):
                trial = study.ask()
                study.tell(trial, {"accuracy": accuracy(trial["rate"], trial.fraction)}, seconds=1.0 + trial["rate"])
            proposed.append([(t.configuration, t.fraction, t.notes, dict(t.expected)) for t in study.history.trials])
            proposed[-1].append(study.recommendation())  # type: ignore[arg-type]
    assert proposed[0] == proposed[1]


def test_what_is_proposed_and_recommended_without_a_strategy_is_the_same_too(tmp_path: Path) -> None:
    names = []
    for made in (from_python(tmp_path), from_job_file(tmp_path)):
        with made.open(strategy=None) as study:
            names.append(study.strategy_name)
    assert names == ["lean", "lean"]


def test_another_definition_is_refused_and_another_budget_taken_over(face: Face) -> None:
    face.open().close()
    with pytest.raises(StudyChanged, match="seed was 1 and is 2"):
        face.open(seed=2)
    with face.open(trials=6) as study:
        assert study.problem.budget == Budget(trials=6)


def test_a_budget_is_only_raised_and_every_object_sees_it(face: Face) -> None:
    with face.open(trials=2) as study, face.open(trials=2) as other:
        study.optimize(*face.train)
        with pytest.raises(InvalidInput, match="trials is 2 and cannot become 1"):
            study.extend(Budget(trials=1))
        with pytest.raises(InvalidInput, match="hours is unlimited"):
            study.extend(Budget(hours=1))
        with pytest.raises(InvalidInput, match="nothing to extend"):
            study.extend(Budget())
        assert study.extend(Budget(trials=3)) == Budget(trials=3) == other.problem.budget
        assert study.stop_reason is other.stop_reason is None
        study.optimize(*face.train)
        assert len(other.history) == 3


def test_a_recommendation_is_verified_once_and_stands(face: Face) -> None:
    started: list[Event] = []
    with face.open() as study:
        advice = study.optimize(*face.train)
        checked = study.verify(*face.train, observer=started.append)
        assert checked.held and checked.trial.verifies
        assert [(check.text, check.held) for check in checked.limits] == [("accuracy >= 0.5", True)]
        assert checked.trial.configuration == advice.configuration
        assert checked.measured is not None
        assert checked.measured.metrics["accuracy"] == pytest.approx(accuracy(advice.configuration["rate"], FULL))
        assert sum(isinstance(event, RunStarted) for event in started) == 1
        stands = study.recommendation()
        assert stands.why == f"{advice.why} Trial 4 has verified it since."
        assert study.verify(*face.train).trial == checked.trial  # nothing was tested since: not run again
        assert study.stop_reason == "all 4 trials of the budget are used"  # a verification is none of them


def test_a_limit_that_does_not_hold_is_said(face: Face) -> None:
    with face.open(limit="accuracy >= 0.99") as study:
        study.optimize(*face.train)
        checked = study.verify(*face.train)
        assert not checked.held
        assert [check.held for check in checked.limits] == [False]
        assert "has verified it" not in study.recommendation().why


def test_nothing_is_verified_before_there_is_a_recommendation(face: Face) -> None:
    with face.open() as study:
        with pytest.raises(StudyOver, match="nothing to recommend yet"):
            study.verify(*face.train)
        assert len(study.history) == 0


def test_the_present_setting_is_tested_first_and_compared_with(face: Face) -> None:
    with face.open(baseline=0.5) as study:
        study.optimize(*face.train)
        assert study.history.trial(0).configuration["rate"] == 0.5
        beside = study.comparison()
        assert beside is not None and "your setting" in beside.words.lower()
    with face.open(baseline=0.5) as again:  # of any recommendation, not only of the present one
        assert again.comparison(again.recommendation()) == beside


def test_a_report_says_what_the_study_says(face: Face, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with face.open() as study:
        assert "nothing to recommend yet" in study.report("early.html").read_text(encoding="utf-8").lower()
        advice = study.optimize(*face.train)
        study.verify(*face.train)
        written = study.report()
        assert written == Path("both-report.html")
        page = written.read_text(encoding="utf-8")
        assert f"{advice.configuration['rate']}" in page and "verified" in page.lower()


def test_trials_may_be_run_by_the_user(face: Face) -> None:
    with face.open() as study:
        mine = study.enqueue({"rate": 0.6}, "1/2")
        study.tell(mine, {"accuracy": accuracy(0.6, mine.fraction)}, seconds=1.0)
        first, second = study.ask(2)
        study.tell(first, failed="out of memory", seconds=2.0)
        study.tell(second, {"accuracy": accuracy(second["rate"], second.fraction)}, seconds=1.0)
        assert [trial.state.value for trial in study.history.trials] == ["done", "failed", "done"]
        assert study.recommendation().configuration == second.configuration


def test_spottune_ranks_its_settings_and_others_none(face: Face) -> None:
    with face.open() as study:
        study.optimize(*face.train)
        assert study.ranking() == ()


# -- what only one of them has


def test_the_program_of_a_job_file_is_run_and_no_function(tmp_path: Path) -> None:
    with from_job_file(tmp_path).open() as study:
        assert study.job.name == study.name == "both"
        with pytest.raises(InvalidInput, match="the job file names the program"):
            study.optimize(lambda trial: {"accuracy": 1.0})
        with pytest.raises(InvalidInput, match="the job file names the program"):
            study.verify(lambda trial: {"accuracy": 1.0})
        assert len(study.history) == 0


def test_a_study_of_a_python_program_needs_its_function(tmp_path: Path) -> None:
    with from_python(tmp_path).open() as study:
        for act in (study.optimize, study.run):
            with pytest.raises(InvalidInput, match="not a job file") as refused:
                act()
            assert "study.optimize(train)" in refused.value.hint
        with pytest.raises(InvalidInput, match="not a job file"):
            study.job  # noqa: B018 - the property refuses
        study.optimize(*from_python(tmp_path).train)
        with pytest.raises(InvalidInput, match="not a job file"):
            study.verify()
        url = study.url
    with pytest.raises(InvalidInput, match="made by a Python program"):
        Study.open(url, "both")


def test_a_failing_verification_says_why(tmp_path: Path) -> None:
    made = from_python(tmp_path)
    with made.open() as study:
        advice = study.optimize(*made.train)

        def broken(trial: AskedTrial) -> Mapping[str, float]:
            return {"accuracy": float("nan")}

        checked = study.verify(broken)
        assert not checked.held and checked.measured is None
        assert "accuracy is nan" in checked.failed
        assert study.recommendation().configuration["rate"] in RATES
        assert checked.trial.configuration == advice.configuration


def test_a_study_that_was_never_run_is_not_created_to_look_at_it(tmp_path: Path) -> None:
    from_job_file(tmp_path).open().close()
    (tmp_path / "job.db").unlink()
    with pytest.raises(UnknownStudy, match="'both' was never run"):
        Study.from_job(tmp_path / "job.yaml", create=False)
    assert not (tmp_path / "job.db").exists()
    with pytest.raises(UnknownStudy, match="no such store"):
        Study.open(f"sqlite:///{tmp_path / 'job.db'}", "both")


def test_a_failed_trial_is_run_again(face: Face) -> None:
    with face.open(trials=1) as study:
        trial = study.ask()
        study.tell(trial, failed="no such data", seconds=1.0)
        assert study.stop_reason is not None
        assert study.retry(trial.number) == [0]
        assert study.stop_reason is None, "it is still to be run"
        assert study.optimize(*face.train).configuration["rate"] == trial["rate"]
        assert [moved.state for moved in study.history.trial(0).moves[-5:]] == [
            "running",
            "failed",
            "queued",
            "running",
            "done",
        ]
        assert study.retry(failed=True) == []
