"""The Python face."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import leantune as lt
from leantune.clock import SimulatedClock
from leantune.errors import (
    IllegalMove,
    InvalidInput,
    ObservationError,
    SpaceError,
    StrategyError,
    StudyChanged,
    StudyOver,
    UnknownTrial,
)
from leantune.history import ObservationKind, TrialState
from leantune.jobfile import parse_job
from leantune.problem import Budget
from leantune.strategies.spottune import SpotTune
from leantune.study import AskedTrial, Snapshot, Study
from leantune.worker.client import current_trial
from tests.toy import FRACTIONS, LIMIT, accuracy, best_feasible, quick, seconds, toy_problem, toy_space


def toy_study(strategy: str = "eic", *, trials: int = 12, seed: int = 1, snapshots: bool = False) -> Study:
    return Study(
        toy_space(),
        lt.maximize("accuracy"),
        subject_to=[f"cost <= {LIMIT} USD"],
        fractions=FRACTIONS,
        budget=lt.Budget(trials=trials),
        strategy=quick(strategy),
        seed=seed,
        snapshots=snapshots,
    )


def run(study: Study, count: int) -> None:
    for _ in range(count):
        trial = study.ask()
        study.tell(
            trial,
            {"accuracy": accuracy(trial.configuration, trial.fraction)},
            seconds=seconds(trial.configuration, trial.fraction),
        )


def test_ask_tell_recommendation() -> None:
    study = toy_study()
    run(study, 12)
    assert study.stop_reason == "all 12 trials of the budget are used"
    with pytest.raises(StudyOver, match="Raise the budget"):
        study.ask()
    found = study.recommendation()
    assert found.feasible
    assert accuracy(found.configuration, Fraction(1)) >= 0.97 * best_feasible(toy_problem())
    trial = study.history.trials[0]
    rate = trial.configuration.usd_per_hour
    assert rate is not None
    assert trial.cost == pytest.approx(seconds(trial.configuration, trial.fraction) / 3600 * rate)


def test_optimize_measures_seconds_and_stops_at_the_budget() -> None:
    clock = SimulatedClock()
    study = Study(
        toy_space(), lt.maximize("accuracy"), subject_to=[f"cost <= {LIMIT} USD"], budget=lt.Budget(trials=6),
        strategy=quick("eic"), clock=clock,
    )  # fmt: skip

    def train(trial: AskedTrial) -> dict[str, float]:
        clock.sleep(seconds(trial.configuration, trial.fraction))
        return {"accuracy": accuracy(trial.configuration, trial.fraction)}

    found = study.optimize(train)
    assert len(study.history.finished) == 6
    assert found.configuration in list(toy_space().grid())
    assert study.history.trials[2].seconds == pytest.approx(seconds(study.history.trials[2].configuration, Fraction(1)))


def test_optimize_records_failures_it_was_told_to_catch_and_metrics_that_are_not_finite() -> None:
    study = toy_study(trials=6)

    def train(trial: AskedTrial) -> dict[str, float]:
        if trial.number == 1:
            raise MemoryError("out of memory")
        return {"accuracy": float("nan") if trial.number == 2 else 0.5 + 0.01 * trial.number}

    study.optimize(train, catch=(MemoryError,))
    states = [trial.state for trial in study.history.trials]
    assert states[1] is states[2] is TrialState.FAILED
    assert states.count(TrialState.DONE) == 4
    assert "out of memory" in study.history.trials[1].observations[0].cause
    assert "accuracy is nan" in study.history.trials[2].observations[0].cause


def test_optimize_does_not_swallow_other_exceptions() -> None:
    study = toy_study()

    def train(trial: AskedTrial) -> dict[str, float]:
        raise KeyError("a bug")

    with pytest.raises(KeyError, match="a bug"):
        study.optimize(train)
    assert len(study.history.pending) == 1


def test_optimize_needs_an_end() -> None:
    study = Study(toy_space(), lt.maximize("accuracy"), strategy=quick("eic"))
    with pytest.raises(InvalidInput, match="no end"):
        study.optimize(lambda trial: {"accuracy": 0.5})
    study.optimize(lambda trial: {"accuracy": accuracy(trial.configuration, trial.fraction)}, trials=2)
    assert len(study.history) == 2


def test_snapshots_of_one_run_are_charged_once() -> None:
    study = toy_study("trimtuner-gp", snapshots=True)
    trial = study.ask()
    assert trial.snapshots == FRACTIONS[:-1]
    shots = [
        Snapshot(share, {"accuracy": accuracy(trial.configuration, share)}, seconds=seconds(trial.configuration, share))
        for share in trial.snapshots
    ]
    study.tell(trial, snapshots=shots)
    told = study.history.trials[0]
    assert len(told.observations) == 2
    assert told.cost == told.observations[-1].cost


def test_batches_and_enqueued_trials() -> None:
    study = toy_study()
    run(study, 4)
    batch = study.ask(3)
    assert len({trial.configuration.id for trial in batch}) == 3
    mine = study.enqueue(toy_space().grid()[0], "1/2")
    assert (mine.number, mine.fraction) == (7, Fraction(1, 2))
    assert mine["lr"] == 1e-4
    assert len(study.ask(50)) == 12 - 8
    with pytest.raises(InvalidInput, match="whole number"):
        study.ask(0)


def test_cut_and_failed_results() -> None:
    study = toy_study()
    first, second = study.ask(2)
    study.tell(first, {"accuracy": 0.5}, seconds=600.0, cut=True)
    study.tell(second, failed="out of memory", seconds=4.0)
    kinds = [trial.observations[0].kind for trial in study.history.trials]
    assert kinds == [ObservationKind.CENSORED, ObservationKind.FAILED]


def test_the_same_seed_gives_the_same_study_and_another_another() -> None:
    def configurations(seed: int) -> list[str]:
        study = toy_study("trimtuner-gp", seed=seed)
        run(study, 8)
        return [trial.configuration.id for trial in study.history.trials]

    assert configurations(3) == configurations(3)
    assert configurations(3) != configurations(4)


def test_several_constraints_at_once() -> None:
    study = Study(
        toy_space(),
        lt.maximize("accuracy"),
        subject_to=[f"cost <= {LIMIT} USD", "time <= 200 s", "latency_ms <= 20"],
        strategy=quick("eic"),
        budget=lt.Budget(trials=10),
    )
    for _ in range(10):
        trial = study.ask()
        latency = 30.0 if trial["batch"] == "few" else 10.0
        study.tell(
            trial,
            {"accuracy": accuracy(trial.configuration, Fraction(1)), "latency_ms": latency},
            seconds=seconds(trial.configuration, Fraction(1)),
        )
    found = study.recommendation()
    assert found.configuration["batch"] == "many"
    assert set(found.probabilities) == {f"cost <= {LIMIT} USD", "time <= 200 s", "latency_ms <= 20"}


@pytest.mark.parametrize(
    ("tell", "error", "message"),
    [
        ({"metrics": {"acuracy": 0.5}, "seconds": 1.0}, ObservationError, "Did you mean"),
        ({"metrics": {"accuracy": float("nan")}, "seconds": 1.0}, ObservationError, "finite"),
        ({"metrics": {"accuracy": 0.5}}, ObservationError, "dollars"),
        ({"seconds": 1.0}, ObservationError, "nothing was told"),
        ({"metrics": {"accuracy": 0.5}, "failed": "crash"}, ObservationError, "one or the other"),
        ({"metrics": {"accuracy": 0.5}, "seconds": -1.0}, ObservationError, "at least 0"),
    ],
)
def test_wrong_results_lose_nothing(tell: dict[str, object], error: type[Exception], message: str) -> None:
    study = toy_study()
    trial = study.ask()
    before = study.history
    with pytest.raises(error, match=message):
        study.tell(trial, **tell)  # type: ignore[arg-type]
    assert study.history == before
    study.tell(trial, {"accuracy": 0.5}, seconds=1.0)


def test_results_for_trials_that_are_not_there_or_were_told() -> None:
    study = toy_study()
    with pytest.raises(UnknownTrial):
        study.tell(3, {"accuracy": 0.5}, seconds=1.0)
    trial = study.ask()
    study.tell(trial, {"accuracy": 0.5}, seconds=1.0)
    with pytest.raises(IllegalMove, match="told once"):
        study.tell(trial, {"accuracy": 0.5}, seconds=1.0)


def test_wrong_strategy_and_seed() -> None:
    with pytest.raises(StrategyError, match="Did you mean 'fabolas'"):
        Study(toy_space(), lt.maximize("accuracy"), strategy="fabola")
    with pytest.raises(InvalidInput, match="seed"):
        Study(toy_space(), lt.maximize("accuracy"), seed="one")  # type: ignore[arg-type]


def stored(folder: Path, **options: object) -> Study:
    chosen: dict[str, object] = {"budget": Budget(trials=6), "seed": 1, **options}
    problem = toy_problem()
    return Study(
        problem.space,
        problem.goal,
        subject_to=problem.constraints,
        fractions=problem.fractions,
        strategy="eic",
        store=f"sqlite:///{folder / 'study.db'}",
        name="kept",
        **chosen,  # type: ignore[arg-type]
    )


def shown(trial: AskedTrial) -> dict[str, float]:
    return {"accuracy": accuracy(trial.configuration, trial.fraction)}


def test_a_stored_study_goes_on_in_another_object_with_the_same_proposals(tmp_path: Path) -> None:
    def now_and_then(trial: AskedTrial) -> dict[str, float]:
        if trial.number == 3 and not (tmp_path / "broke").exists():
            (tmp_path / "broke").touch()
            raise RuntimeError("a bug in the training function")
        return shown(trial)

    first = stored(tmp_path)
    with pytest.raises(RuntimeError, match="a bug"):
        first.optimize(now_and_then)
    assert first.history.trial(3).state is TrialState.QUEUED
    first.close()
    second = stored(tmp_path)
    assert len(second.history) == 4
    second.optimize(now_and_then)
    assert [trial.state for trial in second.history.trials] == [TrialState.DONE] * 6
    (tmp_path / "unharmed").mkdir()
    unharmed = stored(tmp_path / "unharmed")
    unharmed.optimize(shown)
    proposed = [[(t.configuration.id, t.fraction) for t in s.history.trials[:4]] for s in (second, unharmed)]
    assert proposed[0] == proposed[1]  # later ones depend on measured seconds
    second.close()
    unharmed.close()


def test_a_stored_study_that_is_defined_differently_is_refused_and_a_larger_budget_goes_on(tmp_path: Path) -> None:
    stored(tmp_path).close()
    with pytest.raises(StudyChanged, match="seed was 1 and is 2"):
        stored(tmp_path, seed=2)
    longer = stored(tmp_path, budget=Budget(trials=8))
    longer.optimize(shown)
    assert len(longer.history) == 8
    longer.close()


def test_two_objects_share_a_stored_study(tmp_path: Path) -> None:
    one, other = stored(tmp_path), stored(tmp_path)
    asked = [one.ask(), other.ask(), one.ask()]
    assert [trial.number for trial in asked] == [0, 1, 2]
    other.tell(asked[0], shown(asked[0]), seconds=1.0)
    assert one.history.trial(0).state is TrialState.DONE
    assert one.history == other.history
    one.close()
    other.close()


def test_a_training_function_reports_as_a_program_does(tmp_path: Path) -> None:
    study = stored(tmp_path)

    def train(trial: AskedTrial) -> None:
        (trial.checkpoint_dir / "weights").write_text("1")
        for step in range(3):
            trial.report(step=step, accuracy=0.1 * step)
        current_trial().report(step=3, **shown(trial))

    study.optimize(train, trials=2)
    assert [t.observations[-1].metrics["accuracy"] for t in study.history.trials] == [
        accuracy(t.configuration, t.fraction) for t in study.history.trials
    ]
    assert [row.step for row in study.store.reports(0)] == [0.0, 1.0, 2.0, 3.0]
    study.close()


def test_a_function_that_tells_no_result_has_failed(tmp_path: Path) -> None:
    study = stored(tmp_path)
    study.optimize(lambda trial: {"acuracy": 0.5} if trial.number == 1 else shown(trial), trials=3)
    failed = study.history.trial(1)
    assert failed.state is TrialState.FAILED
    assert "accuracy" in failed.moves[-1].cause
    assert "acuracy" in failed.moves[-1].cause
    study.close()


def spottune(strategy: str | SpotTune = "spottune", store: str = "sqlite://") -> Study:
    space, listed = lt.Space(lr=lt.log(1e-3, 1.0)), [{"lr": 0.1}, {"lr": 0.3}, {"lr": 0.2}]
    return Study(space, lt.minimize("loss"), strategy=strategy, steps=10, settings=listed, store=store)


def test_spottune_asks_for_the_listed_settings() -> None:
    study = spottune()
    batch = study.ask(5)
    assert [trial["lr"] for trial in batch] == [0.1, 0.3, 0.2]
    with pytest.raises(StudyOver, match="all 3 settings are proposed"):
        study.ask()
    with pytest.raises(StudyOver, match="nothing to recommend yet"):
        study.recommendation()
    for trial in batch:
        study.tell(trial, {"loss": abs(trial["lr"] - 0.2)}, seconds=1.0)
    assert study.recommendation().configuration["lr"] == 0.2


def test_spottune_needs_no_budget_to_end_and_reads_its_reports() -> None:
    study = spottune()

    def train(trial: AskedTrial) -> dict[str, float]:
        for step in range(1, 11):
            trial.report(step=step, loss=trial["lr"] + 1.0 / step)
        return {"loss": trial["lr"] + 0.1}

    found = study.optimize(train)
    assert (found.configuration["lr"], found.tested) == (0.1, True)
    assert len(study.history) == 3


def test_a_tuner_of_ones_own_is_part_of_the_definition(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    spottune(SpotTune(theta=0.5), url).close()
    spottune(SpotTune(theta=0.5), url).close()
    with pytest.raises(StudyChanged, match="strategy"):
        spottune(SpotTune(theta=0.6), url)


def test_nothing_but_the_settings_can_be_enqueued() -> None:
    study = spottune()
    assert study.enqueue({"lr": 0.3}).configuration["lr"] == 0.3
    with pytest.raises(SpaceError, match="is not listed"):
        study.enqueue({"lr": 0.4})
    assert [trial["lr"] for trial in study.ask(2)] == [0.1, 0.2]


def test_the_present_setting_is_asked_for_first_and_compared_with() -> None:
    study = Study(lt.Space(lr=lt.choice(1, 2, 3)), lt.maximize("a"), strategy="random", baseline={"lr": 2})
    first, second = study.ask(2)
    assert first["lr"] == 2 != second["lr"] and first.fraction == 1
    study.tell(first, {"a": 0.5}, seconds=3.0)
    beside = study.comparison()
    assert beside is not None and beside.basis == "same"
    study.tell(second, {"a": 0.75}, seconds=2.0)
    beside = study.comparison()
    assert beside is not None
    assert beside.words == "Better than your setting by 0.25, in 1\u00a0s less a run (yours: a 0.5, against 0.75)."
    plain = Study(lt.Space(lr=lt.choice(1, 2)), lt.maximize("a"), strategy="random")
    plain.tell(plain.ask(), {"a": 0.5}, seconds=3.0)
    assert plain.comparison() is None


def test_a_function_is_given_another_seed_when_a_configuration_is_run_again(tmp_path: Path) -> None:
    def opened() -> Study:
        return Study(
            lt.Space(x=lt.ordinal(1, 2)), lt.maximize("accuracy"), budget=lt.Budget(trials=6), strategy="lean", seed=4,
            repeats=3, store=f"sqlite:///{tmp_path}/s.db",
        )  # fmt: skip

    study, seen = opened(), []
    asked = [study.enqueue({"x": 1}), study.enqueue({"x": 2}), study.enqueue({"x": 1})]
    study.close()
    again = opened()
    for trial in asked:
        again.tell(trial, {"accuracy": 0.8 + 0.01 * trial.number})

    def train(trial: AskedTrial) -> dict[str, float]:
        assert current_trial().seed == trial.seed
        seen.append(trial.seed)
        return {"accuracy": 0.9 + 0.01 * len(seen)}

    again.optimize(train, trials=1)
    assert [trial.seed for trial in asked[:2]] == [4, 4]
    assert len({4, asked[2].seed, seen[0]}) == 3
    assert again.enqueue({"x": 1}).seed not in (4, asked[2].seed)
    again.close()


def test_repeats_that_nobody_would_make_are_refused() -> None:
    with pytest.raises(StrategyError, match="only lean runs a configuration again"):
        Study(toy_space(), lt.maximize("accuracy"), strategy="random", repeats=2)
    with pytest.raises(InvalidInput, match="0 is not a number of runs"):
        Study(toy_space(), lt.maximize("accuracy"), repeats=0)


@pytest.mark.parametrize(("fractions", "name"), [((1,), "eic"), (("1/4", 1), "lean")])
def test_the_default_strategy_is_that_of_a_job_file(tmp_path: Path, fractions: tuple[object, ...], name: str) -> None:
    job = parse_job(
        f"name: s\ntrain: echo {{lr}}\nmaximize: a\nspace: {{lr: [1, 2]}}\n"
        f"budget: {{trials: 2}}\nfractions: {[str(share) for share in fractions]}\n",
        folder=tmp_path,
    )
    study = Study(lt.Space(lr=lt.choice(1, 2)), lt.maximize("a"), fractions=fractions)  # type: ignore[arg-type]
    stored = study.store.definition["strategy"]
    assert job.strategy == name
    assert stored == {"name": name}
