"""Small recordings, measured tunings and results for the tests of the page's parts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.spottune.experiments import Group
from benchmarks.spottune.policies import Policy, Rule
from benchmarks.spottune.results import Results
from benchmarks.spottune.tunings import Measured, Tuning
from leantune.lab.simulate.workloads import FORMAT, RecordedJob, parsed

MEASURED = Measured(
    usd=1.0,
    refund_usd=0.25,
    selected_seconds=3600.0,
    finished_seconds=7200.0,
    kept_steps=100.0,
    lost_steps=0.0,
    free_share=0.2,
    revocations=3,
    stays=10,
    machine_seconds=1000.0,
    saving_seconds=10.0,
    restoring_seconds=20.0,
    booting_seconds=70.0,
    hit_1=True,
    hit_3=True,
    went_on=3,
    demand_share=0.0,
    notes=(),
)


def recording(folder: Path, family: str = "ResNet", count: int = 5) -> Path:
    """A packed family of curves 1 / k + level; the first two settings are twins, and the best."""
    folder.mkdir(parents=True, exist_ok=True)
    k = np.arange(1.0, 21.0)
    jobs = []
    for number in range(count):
        level = 0.1 * max(number, 1)
        jobs.append(
            {
                "name": f"{family}-{number}",
                "setting": {"level": level},
                "steps": (50 * k).tolist(),
                "values": (1.0 / k + level).tolist(),
                "seconds": (0.1 + 0.01 * (k % 2)).tolist(),
                "drops": [],
                "model_bytes": 1_000_000,
                "save_seconds": 0.01,
                "restore_seconds": 0.02,
            }
        )
    content = {"format": FORMAT, "family": family, "metric": "loss", "maximize": False, "jobs": jobs}
    (folder / f"{family.lower()}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def jobs_in(folder: Path) -> tuple[RecordedJob, ...]:
    """The jobs of the first family of a folder."""
    path = sorted(folder.glob("*.json"))[0]
    return parsed(path.read_text(encoding="utf-8"), path.name)


def found(
    costs: Mapping[Policy, list[list[float]]],
    pool: str = "volatile",
    selected_seconds: float = MEASURED.selected_seconds,
) -> dict[Tuning, Measured]:
    """Tunings whose dollars are costs[policy][start][family]."""
    return {
        Tuning(pool, f"f{family}", policy, "boosted", start): replace(
            MEASURED, usd=usd, selected_seconds=selected_seconds
        )
        for policy, rows in costs.items()
        for start, row in enumerate(rows)
        for family, usd in enumerate(row)
    }


def results(costs: Mapping[Policy, list[list[float]]], group: str = "volatile", setup: str = "volatile") -> Results:
    """One group with one setup."""
    made = found(costs)
    return Results(made, {group: Group(group, group, tuple((setup, tuning) for tuning in made))})


GAP = {
    Policy(Rule.RANDOM): [[5.0, 5.0], [5.0, 5.0]],
    Policy(Rule.OURS): [[2.0, 2.0], [2.0, 2.0]],
    Policy(Rule.ORACLE): [[1.0, 1.0], [1.0, 1.0]],
    Policy(Rule.DEMAND_STEP): [[10.0, 10.0], [10.0, 10.0]],
}
