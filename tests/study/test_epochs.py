"""fidelity="epochs" of the Python face: a larger share goes on from a smaller one and pays the difference."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

import leantune as lt
from leantune.clock import SimulatedClock
from leantune.errors import InvalidInput, ObservationError, ProblemError, StudyChanged
from leantune.history import TrialState
from leantune.problem import Fidelity
from leantune.space import machine
from leantune.study import AskedTrial, Snapshot, Study

EPOCHS, EPOCH_SECONDS, USD_PER_HOUR = 8, 100.0, 3.6
QUARTER, HALF, ALL = Fraction(1, 4), Fraction(1, 2), Fraction(1)
SHARES = (QUARTER, HALF, ALL)


def space() -> lt.Space:
    """One setting: TrimTuner starts with its smaller shares, one run each, and all that is left then is the largest."""
    one = machine("m", vcpus=1, memory=1, usd_per_hour=USD_PER_HOUR)
    return lt.Space(lr=lt.choice(0.1), cluster=lt.clusters([one], nodes=[1]))


def longer(
    clock: SimulatedClock | None = None,
    *,
    fidelity: Fidelity = "epochs",
    store: str = "sqlite://",
    checkpoints: Path | None = None,
) -> Study:
    return Study(
        space(),
        lt.maximize("accuracy"),
        subject_to=["time <= 1 h"],
        fractions=SHARES,
        budget=lt.Budget(trials=3),
        strategy="trimtuner",
        fidelity=fidelity,
        store=store,
        name="longer/../study",  # not to be taken for a path
        checkpoints=checkpoints,
        clock=clock,
    )


def training(clock: SimulatedClock, trained: list[tuple[int, int]]) -> Callable[[AskedTrial], dict[str, float]]:
    """A function that goes on from the epoch that it finds; trained: (trial, epoch), as they were."""

    def train(trial: AskedTrial) -> dict[str, float]:
        saved, last = trial.checkpoint_dir / "epoch", round(EPOCHS * trial.fraction)
        for epoch in range(int(saved.read_text()) if saved.exists() else 0, last):
            clock.sleep(EPOCH_SECONDS)
            trained.append((trial.number, epoch + 1))
            saved.write_text(str(epoch + 1))
        return {"accuracy": last / 10}

    return train


def check_whole_results(study: Study) -> None:
    """Results are those of whole runs."""
    seen = [trial.observations[-1] for trial in study.history.trials]
    assert [result.fraction for result in seen] == list(SHARES)
    assert [result.seconds for result in seen] == pytest.approx([200.0, 400.0, 800.0])
    assert [result.cost for result in seen] == pytest.approx([0.2, 0.4, 0.8])
    paid = sum(row.settled or 0.0 for row in study.store.ledger())
    assert study.history.cost == pytest.approx(paid) == study.store.money().spent


def test_a_function_goes_on_from_fewer_epochs_and_pays_the_difference() -> None:
    clock, trained = SimulatedClock(), list[tuple[int, int]]()
    study = longer(clock)
    study.optimize(training(clock, trained))
    assert trained == [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6), (2, 7), (2, 8)]
    check_whole_results(study)
    assert [trial.seconds for trial in study.history.trials] == pytest.approx([200.0, 200.0, 400.0])
    assert study.history.cost == pytest.approx(0.8)


def test_with_shares_of_the_data_every_call_starts_from_nothing(tmp_path: Path) -> None:
    clock, trained = SimulatedClock(), list[tuple[int, int]]()
    study = longer(clock, fidelity="data", checkpoints=tmp_path)
    study.optimize(training(clock, trained))
    assert [epoch for _, epoch in trained] == [1, 2, *range(1, 5), *range(1, 9)]
    check_whole_results(study)
    assert study.history.cost == pytest.approx(1.4)


def test_dollars_and_seconds_of_snapshots_are_told_from_the_start_of_the_call() -> None:
    study = longer(SimulatedClock())

    def train(trial: AskedTrial) -> list[Snapshot]:
        (trial.checkpoint_dir / "weights").touch()
        return [trial.snapshot(trial.fraction, {"accuracy": 0.5}, seconds=5.0, cost=0.25)]

    study.optimize(train)
    assert [trial.observations[-1].cost for trial in study.history.trials] == pytest.approx([0.25, 0.5, 0.75])
    assert study.history.cost == pytest.approx(0.75)


def test_a_stored_study_goes_on_in_another_object_from_where_it_broke(tmp_path: Path) -> None:
    clock, trained, url = SimulatedClock(), list[tuple[int, int]](), f"sqlite:///{tmp_path}/study.db"
    train, first = training(clock, trained), longer(clock, store=url, checkpoints=tmp_path / "kept")

    def broken(trial: AskedTrial) -> dict[str, float]:
        result = train(trial)
        if trial.number == 1:
            raise KeyboardInterrupt
        return result

    with pytest.raises(KeyboardInterrupt):
        first.optimize(broken)
    assert first.history.trial(1).state is TrialState.QUEUED
    first.close()
    second = longer(clock, store=url, checkpoints=tmp_path / "kept")
    second.optimize(train)
    assert [epoch for _, epoch in trained] == list(range(1, EPOCHS + 1))
    check_whole_results(second)
    assert second.history.cost == pytest.approx(0.8)
    second.close()
    kept = [path.parent.parent.name for path in (tmp_path / "kept").rglob("epoch")]
    assert kept == ["trial-0002"], "the study is over: only the best result's is left"


def test_a_study_that_outlives_the_program_needs_a_place(tmp_path: Path) -> None:
    study = longer(store=f"sqlite:///{tmp_path}/study.db")
    with pytest.raises(InvalidInput, match="checkpoints="):
        study.optimize(lambda trial: {"accuracy": 0.5})
    assert len(study.history) == 0
    study.close()


def test_temporary_checkpoints_go_with_the_study() -> None:
    study, seen = longer(SimulatedClock()), list[Path]()

    def train(trial: AskedTrial) -> dict[str, float]:
        seen.append(trial.checkpoint_dir)
        (trial.checkpoint_dir / "weights").touch()
        return {"accuracy": 0.5}

    study.optimize(train, trials=2)
    assert seen[1].exists()
    study.close()
    assert not seen[1].exists()


def test_told_results_go_on_where_they_say_so() -> None:
    study = longer()
    first = study.ask()
    assert (first.fraction, first.continues) == (QUARTER, None)
    study.tell(first, {"accuracy": 0.2}, seconds=200.0, continues=first.continues)
    second = study.ask()
    assert (second.fraction, second.continues) == (HALF, 0)
    study.tell(second, {"accuracy": 0.4}, seconds=200.0, continues=second.continues)
    third = study.ask()
    assert (third.fraction, third.continues) == (ALL, 1)
    study.tell(third, snapshots=[Snapshot(ALL, {"accuracy": 0.8}, seconds=400.0)], continues=1)
    check_whole_results(study)
    assert study.history.cost == pytest.approx(0.8)
    assert study.history.seconds == pytest.approx(800.0)


def test_told_results_that_say_nothing_started_from_nothing() -> None:
    study = longer()
    for told in (200.0, 400.0, 800.0):
        study.tell(study.ask(), {"accuracy": 0.5}, seconds=told)
    check_whole_results(study)
    assert study.history.cost == pytest.approx(1.4)
    assert study.history.seconds == pytest.approx(1400.0)


def test_told_dollars_and_failures_of_the_rest() -> None:
    study = longer()
    study.tell(study.ask(), {"accuracy": 0.2}, seconds=200.0, cost=1.0)
    study.tell(study.ask(), failed="out of memory", seconds=50.0, cost=0.5, continues=0)
    failed = study.history.trial(1)
    assert (failed.observations[-1].seconds, failed.observations[-1].cost) == (250.0, 1.5)
    assert (failed.seconds, failed.cost) == (50.0, 0.5)


def test_what_cannot_be_gone_on_from() -> None:
    study = longer()
    first = study.ask()
    with pytest.raises(ObservationError, match="it cannot go on from trial 0"):
        study.tell(first, {"accuracy": 0.2}, seconds=200.0, continues=0)
    study.tell(first, {"accuracy": 0.2}, seconds=200.0, cut=True)
    second = study.ask()
    assert second.continues is None, "a run that was cut did not come to its end"
    with pytest.raises(ObservationError, match="succeeded"):
        study.tell(second, {"accuracy": 0.2}, seconds=200.0, continues=0)
    data = longer(fidelity="data")
    data.tell(data.ask(), {"accuracy": 0.2}, seconds=200.0)
    with pytest.raises(ObservationError, match="fidelity='epochs'"):
        data.tell(data.ask(), {"accuracy": 0.2}, seconds=200.0, continues=0)


def test_fidelity_is_part_of_the_definition(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    longer(store=url).close()
    with pytest.raises(StudyChanged, match="fidelity was epochs and is not given"):
        longer(store=url, fidelity="data")
    with pytest.raises(ProblemError, match="'epoch' is no fidelity"):
        longer(fidelity="epoch")  # type: ignore[arg-type]
