"""The commands end to end: real jobs, real training programs, a real store."""

import json
import re
import shutil
from pathlib import Path

import pytest

from leantune.history import TrialState
from leantune.study import Study
from tests.cli.tiny import PRICED, TRAIN, invoke, left_behind, make_job, told

CHANGED = {"space": {"lr": [0.1, 0.2]}}


def store_of(folder: Path) -> str:
    return f"sqlite:///{folder}/leantune.db"


def test_run_tells_each_event_recommends_and_says_what_to_type_next(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    result = invoke("run", job)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "study digits: maximize accuracy; random, seed 0"
    assert sum(" proposed in " in line for line in lines) == 4
    assert sum(" done after " in line for line in lines) == 4
    assert "Study digits: over, all 4 trials of the budget are used" in lines
    assert "Recommended configuration:" in lines
    assert f"Verify:  leantune verify {job}" in lines
    assert f"Report:  leantune report {job}" in lines
    assert f"Extend:  leantune extend {job} --trials 6" in lines
    assert "$" not in result.stdout
    assert left_behind(tmp_path) == []


def test_run_as_json_prints_one_object_and_the_lines_beside_it(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    result = invoke("run", job, "--json")
    end = json.loads(result.stdout)
    assert (result.exit_code, end["outcome"], end["trials"]["done"]) == (0, "over", 4)
    best = end["best"]["configuration"]["lr"]
    assert end["recommendation"]["configuration"] == {"lr": best}
    assert end["recommendation"]["metrics"]["accuracy"]["mean"] == best
    assert "trial 3 done after" in result.stderr


def test_a_study_that_is_over_stays_over(finished: Path) -> None:
    first, second = told("run", finished), told("run", finished)
    assert second["trials"] == first["trials"]
    assert second["recommendation"] == first["recommendation"]


def test_money_is_in_the_lines_and_adds_up(tmp_path: Path) -> None:
    job = make_job(tmp_path, **PRICED)
    result = invoke("run", job)
    assert result.exit_code == 0, result.output
    assert sum("; spent $" in line and "left $" in line for line in result.stdout.splitlines()) >= 4
    dollars = told("status", job)["dollars"]
    assert dollars["reserved"] == 0
    assert 0 < dollars["spent"] == pytest.approx(100 - dollars["left"])


def test_one_run_a_share_of_the_data_is_charged_and_said(tmp_path: Path) -> None:
    job = make_job(tmp_path, fractions=["1/4", "1/2", 1], strategy="fabolas", budget={"trials": 2})
    result = invoke("run", job)
    note = "the program gives no snapshots: the start is one run for each of 2 fractions, each charged"
    assert result.stdout.count(f"why: start; {note}") == 1
    assert f"note: {note} (2 trials)" in result.stdout
    assert note in invoke("status", job).stdout


def test_what_the_job_file_warns_of_is_said(tmp_path: Path) -> None:
    space = {"lr": [0.1, 0.2], "unused": [1, 2]}
    job = make_job(tmp_path, space=space, budget={"trials": 1})
    result = invoke("run", job)
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: ")
    assert "unused" in result.stderr
    assert invoke("status", job).stderr == ""  # once it runs, that is known


def test_a_dry_run_starts_and_creates_nothing(tmp_path: Path) -> None:
    job = make_job(tmp_path, **PRICED)
    before = sorted(tmp_path.iterdir())
    result = invoke("run", job, "--dry-run")
    assert result.exit_code == 0, result.output
    assert "space       8 configurations" in result.stdout
    assert "time limit  60 s a run, then 1 s to end" in result.stdout
    assert "at most 60 s, at most $0.62" in result.stdout  # 36 USD/h x (60 s + 1 s grace + 1 s)
    dry = told("run", job, "--dry-run")
    assert dry["configurations"] == 8
    assert dry["proposals"][0]["worst_case_usd"] == pytest.approx(0.62)
    assert sorted(tmp_path.iterdir()) == before


def test_a_dry_run_tells_what_the_run_then_does(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    foreseen = [proposal["configuration"]["lr"] for proposal in told("run", job, "--dry-run")["proposals"]]
    proposed = re.findall(r"^trial \d proposed in .*: lr = (\S+);", invoke("run", job).stdout, flags=re.MULTILINE)
    assert foreseen == [float(rate) for rate in proposed[:3]]
    again = told("run", job, "--dry-run")
    assert (again["trials_so_far"], again["proposals"]) == (4, [])
    assert again["over"] == "all 4 trials of the budget are used"
    made = make_job(tmp_path, budget={"trials": 6})
    assert len(told("run", made, "--dry-run")["proposals"]) == 2


BROKEN = """\
test -e broken && { echo "no such data $$" >&2; exit 3; }
echo "accuracy=$1 latency=2"
"""  # of which every run fails of another cause: its process has another number


def test_programs_that_fail_again_and_again_end_the_run(tmp_path: Path) -> None:
    rates = [rate / 20 for rate in range(20)]
    job = make_job(tmp_path, BROKEN, budget={"trials": 20}, space={"lr": rates})
    (tmp_path / "broken").touch()
    result = invoke("run", job)
    assert result.exit_code == 1, result.output
    assert "exit code 3" in result.stdout
    assert "no such data" in result.stdout
    assert "Study digits: failing, 5 trials failed and none succeeded" in result.stdout
    assert f"Logs:    {tmp_path / 'leantune-runs' / 'digits'}" in result.stdout
    assert told("run", job, code=1)["outcome"] == "failing"
    assert told("recommend", job, code=3)["error"]["exit_code"] == 3


def test_a_study_that_ends_without_a_result_has_nothing_to_recommend(tmp_path: Path) -> None:
    job = make_job(tmp_path, BROKEN, budget={"trials": 2})
    (tmp_path / "broken").touch()
    result = invoke("run", job)
    assert result.exit_code == 3, result.output
    assert "No recommendation: there is nothing to recommend yet" in result.stdout


@pytest.mark.parametrize("run", [{}, {"parallel": 2}, {"deterministic": True}, {"deterministic": True, "parallel": 2}])
def test_a_typo_eats_neither_trials_nor_models_and_its_dollars_stay(tmp_path: Path, run: dict[str, object]) -> None:
    # Each says its own value, and the exit code is the number of a trial.
    typo = TRAIN.replace("no such data", "lr $1: no such data").replace("exit 3", "exit 1")
    limits = {"budget": {"usd": 100, "trials": 4}, "run": {"time_limit": "60 s", "grace": "1 s", **run}}
    half = {"machines": {"half": {"vcpus": 0.5, "memory": "1 GiB", "usd_per_hour": 36}}}
    job = make_job(tmp_path, typo, space={"lr": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "cluster": half}, **limits)
    (tmp_path / "broken").touch()
    document = told("run", job, code=1)
    assert document["outcome"] == "failing"
    assert re.search(r"trials \d and \d failed alike", document["reason"])
    assert "no such data" in document["reason"]
    assert "both are queued and cost no trial of the budget" in document["reason"]
    with Study.from_job(job, create=False) as study:
        assert {trial.state for trial in study.history.trials} == {TrialState.QUEUED}
        assert not any(trial.observations for trial in study.history.trials)
        lost = study.store.money().spent
        assert lost > 0
        assert lost == sum(row.settled or 0.0 for row in study.store.ledger())
    (tmp_path / "broken").unlink()
    assert told("run", job)["trials"]["done"] == 4
    with Study.from_job(job, create=False) as study:
        assert [trial.state for trial in study.history.trials] == [TrialState.DONE] * 4
        assert study.store.money().spent > lost


def test_what_fails_for_some_configurations_alone_is_learned(tmp_path: Path) -> None:
    """The first run fails at once, the next one comes through: the first was no false start, and runs once more."""
    one_fails = 'test "$1" = 0.4 && { echo "too large" >&2; exit 3; }\necho "accuracy=$1"\n'
    job = make_job(tmp_path, one_fails, budget={"trials": 8})
    assert invoke("run", job).exit_code == 0
    with Study.from_job(job, create=False) as study:
        failed = [trial for trial in study.history.trials if trial.state is TrialState.FAILED]
        assert [trial.configuration["lr"] for trial in failed] == [0.4]
        assert [trial.state for trial in study.history.trials].count(TrialState.DONE) == 7


@pytest.mark.parametrize(
    "program",
    ['echo "MemoryError" >&2; exit 1\n', "echo '{\"accuracy\": 0.5}'; exit 3\n"],
    ids=["out of memory", "it had reported"],
)
def test_what_is_no_false_start_costs_trials(tmp_path: Path, program: str) -> None:
    job = make_job(tmp_path, program, run={"max_failures": 3, "grace": "1 s"}, budget={"trials": 8})
    assert told("run", job, code=1)["reason"] == "3 trials failed and none succeeded"
    with Study.from_job(job, create=False) as study:
        assert [trial.state for trial in study.history.trials] == [TrialState.FAILED] * 3


def test_status_and_recommend_by_job_file_and_by_store(finished: Path) -> None:
    stored = ("--store", store_of(finished.parent), "--study", "digits")
    for name in ("status", "recommend"):
        by_file, by_store = invoke(name, finished), invoke(name, *stored)
        assert by_file.exit_code == by_store.exit_code == 0, by_store.output
        assert by_file.stdout == by_store.stdout
        assert told(name, finished) == told(name, *stored)
    assert told("status", finished)["over"] is True


def test_verify_runs_the_recommendation_once_more(tmp_path: Path) -> None:
    job = make_job(tmp_path, subject_to=["latency <= 3", "time <= 60 s"])
    best = told("run", job)["recommendation"]["configuration"]
    result = invoke("verify", job)
    assert result.exit_code == 0, result.output
    assert "Verified: every limit held" in result.stdout
    checked = told("verify", job)
    assert (checked["held"], checked["configuration"]) == (True, best)
    assert [limit["held"] for limit in checked["limits"]] == [True, True]
    assert told("status", job)["trials"]["done"] == 5  # nothing was tested since: not run and paid for again


def test_verify_fails_when_a_limit_breaks_or_the_run_does(tmp_path: Path) -> None:
    job = make_job(tmp_path, subject_to=["latency <= 1"])
    invoke("run", job)
    result = invoke("verify", job)
    assert result.exit_code == 1, result.output
    assert "Not verified: latency <= 1 did not hold" in result.stdout
    (tmp_path / "broken").touch()
    checked = told("verify", job, code=1)
    assert checked["failed"].startswith("exit code 3")


def test_verify_beyond_the_budget_only_when_allowed(tmp_path: Path) -> None:
    slow = f"sleep 0.1\n{TRAIN}"  # 0.001 USD; the worst case of a run is 0.62
    job = make_job(tmp_path, slow, **{**PRICED, "budget": {"usd": 0.6205}})
    assert told("run", job)["outcome"] == "over"
    refused = invoke("verify", job)
    assert refused.exit_code == 3, refused.output
    assert "--beyond-budget" in refused.stderr
    assert told("verify", job, "--beyond-budget")["held"] is True
    assert told("status", "--store", store_of(tmp_path), "--study", "digits")["budget"]["usd"] > 0.6205


def test_extend_raises_the_budget_in_store_and_job_file_and_the_run_goes_on(finished: Path) -> None:
    result = invoke("extend", finished, "--trials", 5)
    assert result.exit_code == 0, result.output
    assert f"Go on:   leantune run {finished}" in result.stdout
    assert finished.read_text(encoding="utf-8").startswith("# a tiny job")
    assert told("status", finished)["budget"] == {"usd": None, "trials": 5, "hours": None}
    assert told("run", finished)["trials"]["done"] == 5


def test_extend_by_store(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = ("--store", store_of(finished.parent), "--study", "digits")
    assert told("extend", *stored, "--trials", 5) == {
        "study": "digits",
        "budget": {"usd": None, "trials": 5, "hours": None},
    }
    monkeypatch.chdir(finished.parent)
    end = told("worker", *stored)
    assert (end["outcome"], end["trials"]["done"], end["recommendation"]) == ("over", 5, None)


@pytest.mark.parametrize("wrong", [["--trials", "2"], ["--usd", "-1"], [], ["--hours", "3"]])
def test_a_budget_that_is_no_extension_is_refused_and_nothing_changes(finished: Path, wrong: list[str]) -> None:
    before = finished.read_text(encoding="utf-8")
    assert invoke("extend", finished, *wrong).exit_code == 2
    assert finished.read_text(encoding="utf-8") == before
    assert told("status", finished)["budget"]["trials"] == 4


def test_report_writes_one_file(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(finished.parent)
    result = invoke("report", finished)
    assert (result.exit_code, result.stdout) == (0, "Report: digits-report.html\n")
    page = (finished.parent / "digits-report.html").read_text(encoding="utf-8")
    assert page.lstrip().lower().startswith("<!doctype html>")
    written = told("report", finished, "-o", finished.parent / "other.html")
    assert written == {"study": "digits", "report": str(finished.parent / "other.html"), "bytes": written["bytes"]}
    assert (finished.parent / "other.html").stat().st_size == written["bytes"]
    refused = invoke("report", finished, "-o", finished.parent)
    assert refused.exit_code == 2
    assert "the report cannot be written" in refused.stderr


def test_a_worker_joins_only_what_exists(tmp_path: Path) -> None:
    job = make_job(tmp_path, budget={"trials": 6})
    result = invoke("worker", job)
    assert result.exit_code == 4
    assert "error: study 'digits' was never run" in result.stderr
    assert not (tmp_path / "leantune.db").exists()


@pytest.mark.parametrize("name", ["status", "recommend", "verify", "report", "worker", "extend"])
def test_a_study_that_was_never_run_is_unknown_and_no_store_is_made(tmp_path: Path, name: str) -> None:
    job = make_job(tmp_path)
    assert invoke(name, job).exit_code == 4
    assert invoke(name, "--store", store_of(tmp_path), "--study", "digits").exit_code == 4
    assert not (tmp_path / "leantune.db").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--store", "sqlite:///leantune.db"],
        ["--study", "digits"],
        ["job.yaml", "--store", "sqlite:///leantune.db", "--study", "digits"],
    ],
    ids=["nothing", "store", "study", "both"],
)
def test_a_command_line_that_names_no_study_or_two_is_refused(arguments: list[str]) -> None:
    result = invoke("status", *arguments)
    assert result.exit_code == 2
    assert result.stderr == (
        "error: which study is meant is not clear (command line). "
        "Give either a job file, or both --store URL and --study NAME\n"
    )


def test_job_files_that_are_missing_or_wrong_start_nothing(tmp_path: Path) -> None:
    missing = invoke("run", tmp_path / "none.yaml")
    assert (missing.exit_code, missing.stdout) == (2, "")
    assert "none.yaml" in missing.stderr
    job = make_job(tmp_path, maximise="accuracy")
    wrong = invoke("run", job)
    assert wrong.exit_code == 2
    assert "maximise" in wrong.stderr
    assert "line " in wrong.stderr
    assert len(wrong.stderr.splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["job.yaml", "train.sh"]


def test_a_job_that_changed_under_its_study_is_refused(finished: Path) -> None:
    result = invoke("run", make_job(finished.parent, **CHANGED))
    assert result.exit_code == 2
    assert "was defined differently" in result.stderr


def test_looking_at_a_study_changes_nothing(finished: Path) -> None:
    """A budget that was raised in the store is not taken back by looking at the study through its old job file."""
    stored = ("--store", store_of(finished.parent), "--study", "digits")
    invoke("extend", *stored, "--trials", 9)
    for name in ("status", "recommend", "report"):
        invoke(name, finished, *(["-o", finished.parent / "x.html"] if name == "report" else []))
    assert told("status", *stored)["budget"]["trials"] == 9


def test_a_store_that_is_no_database_is_4(tmp_path: Path) -> None:
    (tmp_path / "leantune.db").write_text("hello " * 1000, encoding="utf-8")
    result = invoke("run", make_job(tmp_path))
    assert result.exit_code == 4
    assert result.stderr.startswith("error: ")
    assert (tmp_path / "leantune.db").read_text(encoding="utf-8").startswith("hello")


def test_a_machine_that_this_host_cannot_give_is_refused(tmp_path: Path) -> None:
    huge = {"machines": {"huge": {"vcpus": 4000, "memory": "1 GiB", "usd_per_hour": 36}}}
    result = invoke("run", make_job(tmp_path, space={"lr": [0.1, 0.2], "cluster": huge}))
    assert result.exit_code == 2
    assert "huge" in result.stderr
    assert not (tmp_path / "leantune.db").exists()


def test_a_place_that_is_not_available_yet_is_refused_and_can_be_looked_at(tmp_path: Path) -> None:
    job = make_job(tmp_path, run={"on": "ray", "time_limit": "60 s"})
    result = invoke("run", job)
    assert result.exit_code == 2
    assert "'ray'" in result.stderr
    assert not (tmp_path / "leantune.db").exists()
    assert invoke("run", job, "--dry-run").exit_code == 0


SAVING = """\
# $1: lr, which is the accuracy. $2: the checkpoint folder
echo "model of $1" > "$2/model"
echo "accuracy=$1 latency=2"
"""


def test_where_the_model_is_is_said(tmp_path: Path) -> None:
    job = make_job(tmp_path, SAVING, train="sh train.sh {lr} {checkpoint_dir}")
    lines = invoke("run", job).stdout.splitlines()
    advice = told("recommend", job)
    kept = Path(advice["checkpoint"])
    assert (kept / "model").read_text() == f"model of {advice['configuration']['lr']}\n"
    assert f"Checkpoint: {kept}" in lines
    assert f"Checkpoint: {kept}" in invoke("recommend", job).stdout
    assert told("run", job)["recommendation"]["checkpoint"] == str(kept)
    verified = Path(told("verify", job)["recommendation"]["checkpoint"])
    assert verified == kept.parents[1] / "trial-0004" / "checkpoint"
    assert told("recommend", job)["checkpoint"] == str(verified)
    assert f"Checkpoint: {verified}" in invoke("verify", job).stdout

    shutil.rmtree(tmp_path / "leantune-runs")  # as on another machine with the same place for checkpoints
    copy = Path(told("recommend", job)["checkpoint"])
    assert copy.is_relative_to(tmp_path / "checkpoints" / "digits" / "trial-0004")
    assert (copy / "000000").read_text() == f"model of {advice['configuration']['lr']}\n"
    shutil.rmtree(tmp_path / "checkpoints")
    assert told("recommend", job)["checkpoint"] is None
    assert "Checkpoint" not in invoke("recommend", job).stdout
    assert not (tmp_path / "checkpoints").exists(), "looking changes nothing"


def test_where_no_model_was_kept_that_is_null(finished: Path) -> None:
    assert told("recommend", finished)["checkpoint"] is None
    assert told("run", finished)["recommendation"]["checkpoint"] is None


def test_failed_trials_are_run_again_once_the_fault_is_put_right(tmp_path: Path) -> None:
    """The budget and the ledger go on: no more trials, and the dollars of the failures stay."""
    job = make_job(tmp_path, BROKEN, **{**PRICED, "budget": {"usd": 100, "trials": 3}})
    (tmp_path / "broken").touch()
    assert invoke("run", job).exit_code == 3
    failed = told("status", job)
    assert failed["trials"]["failed"] == failed["trials"]["total"] == 3
    (tmp_path / "broken").unlink()
    assert told("retry", job, 0, 2) == {"study": "digits", "queued": [0, 2]}
    waiting = told("status", job)
    assert (waiting["trials"]["queued"], waiting["dollars"]) == (2, failed["dollars"])
    end = told("run", job)
    assert (end["trials"]["done"], end["trials"]["failed"], end["trials"]["total"]) == (2, 1, 3)
    assert end["dollars"]["spent"] > failed["dollars"]["spent"]
    store = f"sqlite:///{tmp_path}/leantune.db"
    assert told("retry", "--store", store, "--study", "digits", "--failed") == {"study": "digits", "queued": [1]}
    assert told("run", job)["trials"]["done"] == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["0"], "it is done, not failed"),
        (["9"], "there is no trial 9"),
        ([], "which trials are meant is not clear"),
        (["0", "--failed"], "which trials are meant is not clear"),
        (["other.yaml", "0"], "'other.yaml' is no number of a trial"),
    ],
)
def test_what_cannot_be_run_again_is_refused(finished: Path, words: list[str], said: str) -> None:
    before = told("status", finished)["trials"]
    result = invoke("retry", finished, *words)
    assert (result.exit_code, said in result.stderr) == (2, True), result.stderr
    assert told("status", finished)["trials"] == before


def test_clean_frees_the_disk_and_keeps_the_model_and_the_store(tmp_path: Path) -> None:
    job = make_job(tmp_path, SAVING, train="sh train.sh {lr} {checkpoint_dir}", checkpoints={"keep": "all"})
    assert invoke("run", job).exit_code == 0
    runs, copies = tmp_path / "leantune-runs" / "digits", tmp_path / "checkpoints" / "digits"
    (runs / "notes.txt").write_text("mine")
    advice, status = told("recommend", job), told("status", job)
    key = Path(advice["checkpoint"]).parent.name
    before = sorted(tmp_path.rglob("*"))
    plan = told("clean", job, "--dry-run")
    assert sorted(tmp_path.rglob("*")) == before
    assert plan["dry_run"] and plan["bytes"] > 0 and plan["kept"] == advice["checkpoint"]
    done = told("clean", job)
    assert done == {**plan, "dry_run": False}
    assert sorted(path.name for path in runs.iterdir()) == ["notes.txt", key]
    assert [path.name for path in copies.iterdir()] == [key]
    assert {path.name for path in (runs / key).iterdir()} <= {"checkpoint", ".checkpoint.generation"}
    assert (told("recommend", job), told("status", job)["trials"]) == (advice, status["trials"])
    again = invoke("clean", job)
    assert "0.0 MB removed" in again.stdout and f"Kept:    {advice['checkpoint']}" in again.stdout
    assert told("verify", job)["held"]


def test_a_study_that_is_not_over_is_not_cleaned(finished: Path) -> None:
    told("extend", finished, "--trials", 5)
    before = sorted(finished.parent.rglob("trial-*"))
    result = invoke("clean", finished)
    assert (result.exit_code, "the study is not over" in result.stderr) == (2, True)
    assert sorted(finished.parent.rglob("trial-*")) == before != []
