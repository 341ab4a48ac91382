"""The store bench runs in small, and what it counts is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.store import bare_inserts, damage, filled, in_memory, large_study, loop_overhead, problem, throughput
from leantune.history import TrialState
from leantune.store.database import Database


def test_shared_studies_lose_and_double_nothing(tmp_path: Path) -> None:
    result = throughput(f"sqlite:///{tmp_path / 'shared.db'}", workers=2, trials=10)
    assert (result.lost, result.doubled) == (0, 0)
    assert result.ratio == result.trials_per_s / result.bare_inserts_per_s > 0


def test_lost_and_doubled_trials_are_seen(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'damaged.db'}"
    of = filled(url, 6, "random")
    assert damage(url, of, 6) == (0, 0)
    with Database(url) as database:
        store = database.open("bench", of.space)
        first = store.history().trial(0)
        again = store.propose(first.configuration, first.fraction, time=0.0)
        store.record(again.number, first.observations, time=0.0, state=TrialState.DONE)
        store.propose(of.space.grid()[5], first.fraction, time=0.0)
    assert damage(url, of, 8) == (1, 1)


def test_a_filled_study_has_its_start_and_goes_on(tmp_path: Path) -> None:
    of = filled(f"sqlite:///{tmp_path / 'filled.db'}", 9, "trimtuner-gp")
    with Database(f"sqlite:///{tmp_path / 'filled.db'}") as database:
        history = database.open("bench", of.space).history()
    assert len(history) == 9
    assert [str(trial.fraction) for trial in history.trials[:2]] == ["1/10", "1/2"]
    assert len({trial.configuration.id for trial in history.trials[:2]}) == 1


@pytest.mark.slow
def test_the_other_figures_are_seconds(tmp_path: Path) -> None:
    assert loop_overhead(tmp_path, 4, "random") > 0
    assert bare_inserts(f"sqlite:///{tmp_path / 'bare.db'}", 20) > 0
    memory = in_memory(3, 30)
    assert (memory.trials, memory.moves_of_each > 30) == (3, True)
    assert memory.fresh_us > 0 and memory.late_us > 0
    large = large_study(tmp_path, 30)
    assert large["large_open_s"] > 0
    assert len(problem(3).space.grid()) == 12_000
