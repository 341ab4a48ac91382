"""`run: {machine: free}`: the machine is chosen while a trial runs; what that makes meaningless is refused."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest

from leantune.errors import JobError
from leantune.history import TrialState
from leantune.jobfile import Job, parse_job
from leantune.run.loop import Outcome
from leantune.study import Study

TRAIN = """
import json, sys
rate = float(sys.argv[1])
for step in (1, 2):
    print(json.dumps({"step": step, "accuracy": rate / 2 + 0.1 * step}), flush=True)
"""
MACHINES = {
    "half": {"vcpus": 0.5, "memory": "200 MB", "usd_per_hour": 3.6},
    "one": {"vcpus": 1, "memory": "200 MB", "usd_per_hour": 7.2},
}


def job_of(folder: Path, **changes: object) -> Job:
    document = {
        "name": "free",
        "train": [sys.executable, "-I", "-S", "-u", "train.py", "{rate}", "{cluster.vcpus}"],
        "maximize": "accuracy",
        "space": {"rate": [0.1, 0.2, 0.4], "cluster": {"machines": MACHINES}},
        "budget": {"usd": 50.0, "trials": 2},
        "run": {"machine": "free", "grace": "1 s", "time_limit": "1 h", "market": {"regime": "smooth", "speed": 600}},
    }
    (folder / "train.py").write_text(TRAIN, encoding="utf-8")
    return parse_job(json.dumps({**document, **changes}), folder=folder)


@pytest.mark.parametrize("strategy", ["random", "lean"])
def test_other_strategies_run_on_free_machines(tmp_path: Path, strategy: str) -> None:
    job = job_of(tmp_path, strategy=strategy)
    assert list(job.problem.space.parameters) == ["rate"]
    assert (job.run.on, job.run.spot) == ("simcloud", True)
    opened = Study.from_job(job)
    try:
        end = opened.run()
        assert end.outcome is Outcome.OVER, end
        trials, stays, money = opened.history.trials, opened.store.stays(), opened.store.money()
        assert [trial.state for trial in trials] == [TrialState.DONE] * 2
        for trial in trials:
            bills = [
                (stay.gross_usd or 0.0) - (stay.refund_usd or 0.0) for stay in stays if stay.number == trial.number
            ]
            assert bills and trial.cost == pytest.approx(math.fsum(bills))
            assert trial.observations[-1].cost == pytest.approx(trial.cost)
        assert money.spent == pytest.approx(sum(trial.cost for trial in trials))
        assert money.reserved == 0.0 and money.spent <= 50.0
        assert all(stay.quotes and stay.source for stay in stays), "each dollar points to the price that made it"
        assert opened.recommendation().configuration["rate"] in (0.1, 0.2, 0.4)
    finally:
        opened.close()


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"strategy": "eic"}, "eic learns dollars and seconds by the machine in the configuration"),
        ({"minimize": "cost", "maximize": None}, "cost depends on which machine was available"),
        ({"strategy": "lean", "subject_to": ["time <= 1 h"]}, "lean cannot foresee seconds"),
        ({"space": {"rate": [0.1, 0.2]}, "train": "python train.py {rate}"}, "the space names none to choose from"),
        ({"run": {"machine": "free", "on": "local"}}, "a free machine is rented, and on is local"),
        ({"run": {"machine": "fre"}}, "a machine is not 'fre'"),
    ],
)
def test_what_a_free_machine_makes_meaningless_is_refused(
    tmp_path: Path, changes: dict[str, object], what: str
) -> None:
    document = {**json.loads(job_of(tmp_path).text), "strategy": "random", **changes}
    with pytest.raises(JobError) as caught:
        parse_job(json.dumps({key: one for key, one in document.items() if one is not None}), folder=tmp_path)
    assert what in caught.value.what


def test_the_default_strategy_need_not_know_the_machine(tmp_path: Path) -> None:
    assert job_of(tmp_path).strategy == "lean"
