"""`leantune spot run`: a real job on simulated spot machines, its lines and its JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from leantune.cli.app import app
from leantune.jobfile import parse_job
from leantune.store.database import Database
from tests.cli import tiny

# Counts to ten, losing less and less, down to its floor; goes on from its checkpoint, leaves one when asked to end.
TRAINS = """
import json, pathlib, signal, sys, time
floor, file = float(sys.argv[1]), pathlib.Path(sys.argv[2]) / "step"
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
step = int(file.read_text()) if file.exists() else 0
while step < 10 and not stop:
    time.sleep(0.02)
    step += 1
    file.write_text(str(step))
    print(json.dumps({"step": step, "loss": floor + 1 / step}), flush=True)
    patience = 6000 if step == REST else 0
    while patience and not stop:
        time.sleep(0.01)
        patience -= 1
sys.exit(1 if stop else 0)
"""


def resting(step: int) -> str:
    """Programs that wait at a step until they are asked to end: however busy the machine, they are judged there."""
    return TRAINS.replace("REST", str(step))


JOB = {
    "name": "floors",
    "train": [sys.executable, "-I", "-S", "-u", "train.py", "{floor}", "{checkpoint_dir}"],
    "minimize": "loss",
    "space": {
        "floor": [0.1, 0.2, 0.3],
        "cluster": {"machines": {"tiny": {"vcpus": 0.5, "memory": "200 MB", "usd_per_hour": 3.6}}},
    },
    "budget": {"trials": 3},
    "steps": 10,
    "run": {"spot": True, "grace": "5 s", "market": {"regime": "smooth", "speed": 120}},
}


def make_job(folder: Path, code: str = resting(7), **changes: object) -> Path:
    (folder / "train.py").write_text(code, encoding="utf-8")
    path = folder / "job.yaml"
    whole = {key: value for key, value in {**JOB, **changes}.items() if value is not None}
    path.write_text("\n".join(f"{key}: {json.dumps(value)}" for key, value in whole.items()), encoding="utf-8")
    return path


def invoke(*arguments: object) -> Result:
    return tiny.invoke("spot", "run", *arguments)


@pytest.mark.slow
def test_the_best_is_told_with_its_dollars(tmp_path: Path) -> None:
    result = invoke(make_job(tmp_path), "--mcnt", "1", "--plain")
    assert result.exit_code == 0, result.output
    assert "trial 0 goes on sim-000001, tiny/" in result.stdout
    assert "trial 0: resume, selected: predicted" in result.stdout
    last = result.stdout.partition("3 settings, the best 1 trained to step 10\n")[2].splitlines()
    assert last[1].split() == ["1", "floor=0.1", "0.2", "10", "finished"]
    assert "not selected" in last[2] and "±" in last[2]
    assert last[4].startswith("dollars   $0.")
    assert last[5].startswith("taken     ")
    assert "simulated" in last[-1]


def test_status_recommend_and_report_know_it_and_it_goes_on(tmp_path: Path) -> None:
    path = make_job(tmp_path)
    assert invoke(path, "--mcnt", "1", "--json").exit_code == 0
    status = json.loads(CliRunner().invoke(app, ["status", str(path), "--json"]).stdout)
    assert (status["study"], status["trials"]["done"]) == ("floors-spottune", 1)
    best = json.loads(CliRunner().invoke(app, ["recommend", str(path), "--json"]).stdout)
    assert best["configuration"] == {"floor": 0.1}
    page = tmp_path / "page.html"
    assert CliRunner().invoke(app, ["report", str(path), "--output", str(page)]).exit_code == 0
    assert "floors-spottune" in page.read_text(encoding="utf-8")
    again = json.loads(invoke(path, "--mcnt", "1", "--json").stdout)
    assert (again["outcome"], len(again["machines"])) == ("over", status_machines(path))


def status_machines(path: Path) -> int:
    """Machines that the study's ledger knows of."""
    with Database(f"sqlite:///{path.parent / 'leantune.db'}") as database:
        (row,) = database.studies()
        space = parse_job(row.job, folder=path.parent).problem.space
        return len(database.open(row.name, space).stays())


def test_the_dollars_of_the_budget_hold(tmp_path: Path) -> None:
    result = invoke(make_job(tmp_path, budget={"usd": 1e-6, "trials": 1}), "--json")
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert (told["usd"], told["machines"], told["settings"]) == (0.0, [], [])
    assert "do not cover the worst case of the next trial" in told["reason"]
    some = json.loads(invoke(make_job(tmp_path, name="some", budget={"usd": 2.0}), "--json").stdout)
    assert 0.0 < some["usd"] <= 2.0


def test_as_json(tmp_path: Path) -> None:
    path = make_job(tmp_path, resting(5), settings=[{"floor": 0.3}, {"floor": 0.1}], steps=None)
    result = invoke(path, "--mcnt", "1", "--theta", "0.5", "--steps", "10", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert [one["setting"] for one in told["settings"]] == [{"floor": 0.1}, {"floor": 0.3}]
    assert [one["selected"] for one in told["settings"]] == [True, False]
    assert [(one["rank"], one["trial"]) for one in told["settings"]] == [(1, 1), (2, 0)]
    assert told["settings"][0]["value"] == 0.2
    assert told["usd"] == pytest.approx(sum(machine["usd"] for machine in told["machines"]))
    assert told["usd"] > 0
    assert told["finished_seconds"] >= told["selected_seconds"] > 0
    assert sum(machine["kept_steps"] for machine in told["machines"] if machine["trial"] == 1) == pytest.approx(10)


def test_what_cannot_be_tuned_is_refused(tmp_path: Path) -> None:
    for changes, what in (
        ({"steps": None}, "how many steps a training has is not said"),
        ({"run": {"on": "aws"}}, "running on 'aws' is not available"),
        ({"space": {**JOB["space"], "floor": {"log": [0.1, 1]}}}, "no end of them"),  # type: ignore[dict-item]
        ({"space": {"floor": [0.1, 0.2]}}, "the space names none to choose from"),
        ({"settings": [{"floor": 7}]}, "floor"),
    ):
        result = invoke(make_job(tmp_path, **changes))
        assert result.exit_code == 2, result.output
        assert what in result.stderr
    assert not (tmp_path / "leantune-runs").exists()


def test_where_every_program_fails_that_is_bad_news(tmp_path: Path) -> None:
    path = make_job(tmp_path, "import sys; sys.exit('no data')", settings=[{"floor": 0.1}])
    result = invoke(path)
    assert result.exit_code == 1
    assert "failed    floor=0.1: exit code 1: no data" in result.stdout
    row = result.stdout.partition("trained to step 10\n")[2].splitlines()[1]
    assert row.split() == ["1", "floor=0.1", "?", "0", "failed"]


def test_a_program_that_tells_no_step_is_trained_to_its_end_and_that_is_said(tmp_path: Path) -> None:
    result = invoke(make_job(tmp_path, "print('loss=0.5')", settings=[{"floor": 0.1}]))
    assert result.exit_code == 0, result.output
    assert "note      no program reported a step" in result.stdout


@pytest.mark.parametrize(
    ("changes", "arguments", "where"),
    [
        ({"steps": 0}, (), "job.yaml, line {steps}, steps"),
        ({"run": {"spot": True, "time_limit": "nonsense"}}, (), "job.yaml, line {run}, run.time_limit"),
        ({}, ("--theta", "7"), "job.yaml, strategy.theta"),
    ],
)
def test_a_mistake_is_told_by_the_line_of_the_users_own_file(
    tmp_path: Path, changes: dict[str, object], arguments: tuple[str, ...], where: str
) -> None:
    job = make_job(tmp_path, resting(7), **changes)
    lines = {line.partition(":")[0]: number for number, line in enumerate(job.read_text().splitlines(), 1)}
    result = invoke(job, *arguments)
    assert result.exit_code == 2
    assert where.format(**lines) in result.stderr
