"""`leantune replay` end to end, and how replays read."""

import csv
import io
import json
import math
import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from leantune.cli import replay as show
from leantune.cli.command import encoded
from leantune.cli.replay import ReplayProgress
from leantune.cli.terminal import printable
from leantune.clock import SimulatedClock
from leantune.lab.replay.pool import Done, Source, Task
from leantune.lab.replay.runs import Row, Settings
from leantune.lab.replay.summary import summarise
from leantune.lab.replay.tables import MeasuredTable, preset_names
from leantune.lab.replay.truth import Truth, facts
from tests.cli.tiny import invoke, left_behind, start, told
from tests.lab.replay.small import row, run, small, verdict, write

QUICK = ("--seeds", 2, "--iterations", 3, "--processes", 0)
SLEEPER = """\
import time
from pathlib import Path
from leantune.strategies.registry import recipe
from leantune.strategies.strategy import Strategy

class Sleeper(Strategy):
    def ask(self, view):
        if len(view.history.trials) == 4:
            Path("asleep").touch()
            time.sleep(300)
        return super().ask(view)

def sleeper(): return Sleeper(recipe("random"))
"""


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write(tmp_path)


def compared(*arguments: object) -> Any:
    return told("replay", *arguments, *QUICK)


# -- lists and facts


def test_without_a_table_the_known_ones_are_listed(tmp_path: Path) -> None:
    shown = invoke("replay").stdout
    assert all(f"\n  {name}\n" in shown for name in preset_names())
    assert "maximize accuracy, at full data, subject to cost <= 0.02 USD" in shown
    assert "--problem cheapest  minimize cost, at any share of the data, subject to accuracy >= 0.85" in shown
    absent = invoke("replay", "--list", "--data", tmp_path).stdout
    assert absent.count(f"no file {tmp_path}") == len(preset_names())
    assert "Name the folder that holds the files with --data DIR" in absent


def test_the_list_as_json(tmp_path: Path) -> None:
    presets = {one["name"]: one for one in told("replay", "--data", tmp_path)["presets"]}
    assert set(presets) == set(preset_names())
    rnn = presets["trimtuner-rnn"]
    assert (rnn["there"], rnn["file"]) == (False, str(tmp_path / "trimtuner" / "rnn.csv"))
    main = {"goal": "accuracy", "direction": "maximize", "at": "full", "limits": ["cost <= 0.02 USD"]}
    assert rnn["problems"][""] == main
    assert rnn["problems"]["cheapest"]["at"] == "anywhere"


def test_facts(table: Path) -> None:
    facts = told("replay", table, "--facts")
    assert (facts["rows"], facts["configurations"]) == (48, 16)
    assert {"feasible", "near_optimal", "best", "best_cost"} <= set(facts)
    shown = invoke("replay", table, "--facts").stdout
    assert "Table measured: maximize accuracy, subject to cost ≤ $0.06 (at full data)" in shown
    assert f"accuracy {facts['best']:g} for $" in shown
    assert "on all data" in shown
    cheapest = invoke("replay", table, "--facts", "--problem", "cheapest").stdout
    assert "problem cheapest: minimize cost, subject to accuracy ≥ 0.8 (at any share of the data)" in cheapest
    assert not (table.parent / "leantune-replay").exists()


# -- comparisons


def test_a_comparison_in_words(table: Path) -> None:
    result = invoke("replay", table, "--strategies", "eic,random", *QUICK)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "Table measured: maximize accuracy, subject to cost ≤ $0.06 (at full data)"
    assert sum(line.startswith(("eic: 2 seeds, 7 tests each for $", "random: 2 seeds, 7")) for line in lines) == 2
    assert [sum(line.strip().startswith(f"{level} % of the best") for line in lines) for level in (90, 95, 99)] == [
        2
    ] * 3
    assert sum("of the seeds feasible" in line for line in lines) == 2
    assert sum("on 100 % of the data after the start, chosen in" in line for line in lines) == 2
    assert result.stderr.strip() == "replay: 4 of 4 runs, random done"
    again = invoke("replay", table, "--strategies", "eic,random", *QUICK)
    assert again.stdout == result.stdout
    assert again.stderr.strip() == "replay: 4 of 4 runs, 4 found"
    assert len(list((table.parent / "leantune-replay").glob("*.json"))) == 4


def test_a_comparison_as_json(table: Path) -> None:
    both = compared(table, "--strategies", "eic,ei", "--results", "here")
    assert (both["table"], both["problem"]["name"], both["incumbent"]) == ("measured", "", "paper")
    assert both["facts"]["rows"] == 48
    assert [one["strategy"] for one in both["summary"]] == ["eic", "ei"]
    assert [(row["strategy"], row["seed"], row["test"]) for row in both["rows"]] == [
        (name, seed, test) for name in ("eic", "ei") for seed in (0, 1) for test in range(1, 8)
    ]
    last = both["rows"][-1]
    assert last["configuration"].keys() == {"lr", "batch", "cluster"}
    assert last["recommendation"]["metrics"].keys() == {"accuracy", "time", "cost"}
    assert last["recommendation"]["cno"] is None
    common = compared(table, "--strategies", "eic,ei", "--results", "here", "--incumbent", "common")
    assert common["incumbent"] == "common"
    assert common["rows"] != both["rows"]
    assert [row["configuration"] for row in common["rows"]] == [row["configuration"] for row in both["rows"]]
    assert len(list(Path("here").iterdir())) == 4, "both rules are judged in one run"


def test_dollars_to_minimise_have_a_cno(table: Path) -> None:
    arguments = (table, "--problem", "cheapest", "--strategies", "nephele,random(fractions='all')")
    found = compared(*arguments)
    assert found["problem"]["goal"] == {"metric": "cost", "direction": "minimize", "at": "anywhere"}
    last = found["rows"][-1]["recommendation"]
    assert last["cno"] >= 1.0
    assert last["cno_full"] < last["cno"]
    assert last["accuracy_c"] is None
    shown = invoke("replay", *arguments, *QUICK).stdout
    assert "  1.5 x the best " in shown
    assert "  1.5 x the best at full data " in shown


def test_who_never_arrives_is_said_to(table: Path) -> None:
    nothing = table.read_text(encoding="utf-8").replace("cost <= 0.06 USD", "cost <= 0.0001 USD")
    table.write_text(nothing, encoding="utf-8")
    shown = invoke("replay", table, "--strategies", "random", *QUICK).stdout
    assert shown.count("0 of 2 seeds; never") == 3
    assert "0 % of the seeds feasible" in shown
    (summary,) = compared(table, "--strategies", "random")["summary"]
    assert summary["arrivals"][0]["dollars"]["value"] is None


def test_all_tests_as_a_csv(table: Path) -> None:
    rows = compared(table, "--strategies", "random", "--rows", "rows.csv")["rows"]
    read = list(csv.DictReader(io.StringIO(Path("rows.csv").read_text(encoding="utf-8"))))
    assert len(read) == len(rows) == 14
    assert [float(one["dollars"]) for one in read] == [row["dollars"] for row in rows]
    assert {one["configuration.cluster.type"] for one in read} <= {"small", "large"}
    assert [float(one["recommendation.accuracy_c"]) for one in read] == [
        row["recommendation"]["accuracy_c"] for row in rows
    ]
    assert [path.name for path in Path().glob(".*")] == []


def test_a_budget_takes_the_place_of_iterations(table: Path) -> None:
    arguments = ("--strategies", "random", "--seeds", 1, "--processes", 0, "--budget-usd", 0.4)
    rows = told("replay", table, *arguments)["rows"]
    assert 0.3 < rows[-1]["dollars"] <= 0.4
    again = told("replay", table, *arguments[:-2], "--usd", 0.4)["rows"]
    assert again == rows, "another name for the same, and kept"
    assert len(told("replay", table, *arguments, "--trials", 3)["rows"]) == 3
    assert 0 < told("replay", table, *arguments[:-2], "--hours", 0.1)["rows"][-1]["seconds"] <= 360
    nothing = told("replay", table, *arguments[:-2], "--usd", 0.001)
    assert (nothing["rows"], nothing["summary"][0]["tests"]) == ([], 0), "no test fits"
    short = told("replay", table, *arguments, "--iterations", 1)["rows"]
    assert len(short) == 5


def test_what_was_believed_is_told_beside_the_truth(table: Path) -> None:
    arguments = ("--strategies", "lean,random", "--calibration", "--at-usd", "0.5,0.01", "--rows", "rows.csv")
    answer = compared(table, *arguments)
    lean, random = answer["summary"]
    assert [regret["dollars"] for regret in lean["regrets"]] == [None, 0.01, 0.5]
    assert (random["tested"], random["regrets"][1]["mean"]) == (1.0, 1.5), "no test was paid by then"
    modelled = [row["recommendation"] for row in answer["rows"] if (row["recommendation"] or {}).get("modelled")]
    for one in modelled:
        assert set(one["predicted"]) >= {"accuracy", "time"}
        truth = one["metrics"]["accuracy"]
        scales = {"logit": math.log(truth / (1 - truth)), "linear": truth}  # linear once a run fell below 0
        assert one["modelled"]["truth"] == pytest.approx(scales[one["modelled"]["scale"]])
        assert 0 <= one["probabilities"]["cost <= 0.06 USD"] <= 1
        assert one["regret"] >= 0
    untested = [one for one in modelled if not one["tested"]]
    calibration, none = answer["calibration"]
    assert calibration["cases"] == calibration["limits"] == len(untested) > 0
    assert sum(decile["count"] for decile in calibration["deciles"]) == len(untested)
    assert (none["strategy"], none["cases"], none["square"]) == ("random", 0, None)
    read = list(csv.DictReader(io.StringIO(Path("rows.csv").read_text(encoding="utf-8"))))
    means = [one["recommendation.predicted.accuracy.mean"] for one in read if one["recommendation.modelled.scale"]]
    assert [float(mean) for mean in means] == [one["predicted"]["accuracy"]["mean"] for one in modelled]
    shown = invoke("replay", table, *QUICK, *arguments).stdout
    assert "regret at $0.50" in shown and f"lean, {len(untested)} recommendations before they were tested" in shown
    assert "random predicted nothing of what it recommended" in shown


@pytest.mark.parametrize("dollars", ["0", "-1", "a", "0.1,", "nan", "1;2"])
def test_dollars_for_regrets(table: Path, dollars: str) -> None:
    result = invoke("replay", table, "--strategies", "random", *QUICK, f"--at-usd={dollars}")
    assert (result.exit_code, f"{dollars!r} is no list of dollars (--at-usd)" in result.stderr) == (2, True)
    assert not Path("leantune-replay").exists()


def test_a_filter_and_tests_at_once(table: Path) -> None:
    (summary,) = compared(table, "--strategies", "eic", "--filter", "random:0.5", "--parallel", 2)["summary"]
    assert summary["strategy"] == "eic, random:0.5"
    assert summary["tests"] == 7


def test_noise_is_refused_where_the_table_has_no_deviations(table: Path) -> None:
    result = invoke("replay", table, "--strategies", "random", "--noise", 1, "--processes", 0)
    assert result.exit_code == 2
    assert "noise, and the table has no standard deviations" in result.stderr
    assert invoke("replay", table, "--strategies", "random", "--noise", -1).exit_code == 2


def test_noise_makes_other_tests_of_the_same_configurations(table: Path) -> None:
    header, *lines = Path("measured.csv").read_text(encoding="utf-8").splitlines()
    Path("measured.csv").write_text("\n".join([f"{header},sd", *(f"{line},2" for line in lines)]), encoding="utf-8")
    text = Path("measured.yaml").read_text(encoding="utf-8")
    Path("measured.yaml").write_text(f"{text}\ndeviations: {{time: sd}}\n", encoding="utf-8")
    arguments = ("--strategies", "random", "--seeds", 1, "--iterations", 1, "--processes", 0)
    found = [told("replay", table, *arguments, "--noise", noise) for noise in (0, 1)]
    assert [one["summary"][0]["strategy"] for one in found] == ["random", "random, noise 1"]
    quiet, noisy = (one["rows"] for one in found)
    assert [row["configuration"] for row in quiet] == [row["configuration"] for row in noisy]
    assert all(one["seconds"] != other["seconds"] for one, other in zip(quiet, noisy, strict=True))


def test_results_that_cannot_be_read_are_run_again_and_named(table: Path) -> None:
    compared(table, "--strategies", "random")
    for path in Path("leantune-replay").iterdir():
        path.write_text("{", encoding="utf-8")
    result = invoke("replay", table, "--strategies", "random", *QUICK)
    assert result.exit_code == 0
    assert "warning: 2 kept results could not be read and ran again: leantune-replay/" in result.stderr


# -- what is wrong


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["trimtuner-rn", "--facts"], "Did you mean trimtuner-rnn?", 2),
        (["trimtuner-rnn", "--facts", "--data", "nowhere"], "--data", 2),
        (["measured.csv", "--facts"], "Did you mean measured.yaml?", 2),
        (
            ["measured.yaml"],
            "these serve it: lean, trimtuner, trimtuner-gp, fabulinus, fabolas, lynceus, cherrypick, eic",
            2,
        ),
        (["measured.yaml", "--strategies", "eicc"], "Did you mean 'eic'?", 2),
        (["measured.yaml", "--strategies", "eic,"], "an empty name", 2),
        (["measured.yaml", "--strategies", "random,nephele"], "The table has another problem: --problem cheapest", 2),
        (["measured.yaml", "--problem", "cheapest", "--strategies", "trimtuner"], "the main one, without --problem", 2),
        (["measured.yaml", "--problem", "cheap", "--strategies", "eic"], "Did you mean 'cheapest'?", 2),
        (["measured.yaml", "--strategies", "eic", "--filter", "cea:x"], "'x' is not a share", 2),
        (["measured.yaml", "--strategies", "eic", "--budget-usd", "0"], "usd is 0.0", 2),
        (["measured.yaml", "--strategies", "eic", "--budget-usd", "nan"], "usd is nan", 2),
        (["measured.yaml", "--strategies", "eic", "--rows", "no/rows.csv"], "there is no such folder (no)", 2),
        (["measured.yaml", "--strategies", "random", "--rows", "."], "this is a folder (.)", 2),
        (["measured.yaml", "--strategies", "eic", "--results", "measured.csv"], "results cannot be kept", 4),
    ],
)
def test_wrong_input_ends_with_one_clear_error(table: Path, arguments: list[str], message: str, code: int) -> None:
    short = [] if "--facts" in arguments else ["--seeds", "1", "--iterations", "1", "--processes", "0"]
    result = invoke("replay", *arguments, *short)
    assert result.exit_code == code, result.output
    assert message in result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stdout == ""
    if code == 2:
        assert sorted(path.name for path in table.parent.iterdir()) == ["measured.csv", "measured.yaml"]


@pytest.mark.parametrize("option", [("--seeds", 0), ("--iterations", 0), ("--parallel", 0), ("--incumbent", "mine")])
def test_options_out_of_range_are_refused(table: Path, option: tuple[str, object]) -> None:
    assert invoke("replay", table, "--strategies", "eic", *option).exit_code == 2


def test_an_error_is_json_too(table: Path) -> None:
    error = told("replay", table, "--strategies", "eicc", code=2)["error"]
    assert error["what"] == "there is no strategy 'eicc'"
    assert error["exit_code"] == 2


# -- progress


def test_progress_counts_and_knows_how_long_it_takes() -> None:
    clock = SimulatedClock()
    progress = ReplayProgress(5, clock)
    task = Task(Source("t"), Settings("eic", "cea:0.2"), 0)
    assert progress.words == "0 of 5 runs"
    clock.sleep(100.0)
    progress.after(Done(task, [], fresh=False))
    assert progress.words == "1 of 5 runs, 1 found"
    clock.sleep(60.0)
    progress.after(Done(task, [], fresh=True))
    assert progress.words.replace("\u00a0", " ") == "2 of 5 runs, 1 found, eic, cea:0.2 done, about 3 min left"
    for _ in range(3):
        progress.after(Done(task, [], fresh=True))
    assert progress.words == "5 of 5 runs, 1 found, eic, cea:0.2 done"


# -- real processes


def sleeping(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """A comparison whose first runs end and whose last one sleeps."""
    (folder / "own_sleeper.py").write_text(SLEEPER, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return ["replay", "measured.yaml", "--strategies", "random,own_sleeper:sleeper", "--seeds", 1, "--iterations", 2]


def wait_for(path: Path) -> None:
    """The run that sleeps says so, after the other one with the same single process."""
    subprocess.run(["sh", "-c", 'until test -e "$0"; do sleep 0.05; done', str(path)], check=True, timeout=60)


@pytest.mark.slow
def test_asked_to_end_it_ends_at_once_and_the_same_command_goes_on(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = sleeping(table.parent, monkeypatch)
    with start(*command, "--processes", 1, "--json", cwd=table.parent) as process:
        wait_for(table.parent / "asleep")
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=30)
    assert process.returncode == 130, output
    assert "1 of 2 runs are kept in leantune-replay" in output
    assert "error: interrupted. The same command goes on" in output
    assert '"exit_code": 130' in output
    assert "Traceback" not in output
    assert left_behind(table.parent) == []
    again = invoke("replay", table.name, "--strategies", "random", "--seeds", 1, "--iterations", 2)
    assert "1 of 1 run, 1 found" in again.stderr


@pytest.mark.slow
def test_children_end_when_their_parent_is_killed(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = sleeping(table.parent, monkeypatch)
    with start(*command, "--processes", 1, cwd=table.parent) as process:
        wait_for(table.parent / "asleep")
        process.kill()
        process.communicate(timeout=30)  # the pipe closes when the last of them has ended
    assert len(list((table.parent / "leantune-replay").glob("*.json"))) == 1


@pytest.mark.slow
def test_a_terminal_shows_a_bar_and_ctrl_c_reaches_only_the_parent(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Typed on a real terminal: every process of the group gets the signal."""
    command = [sys.executable, "-m", "leantune", *map(str, sleeping(table.parent, monkeypatch)), "--processes", "2"]
    child, terminal = pty.fork()
    if not child:
        os.environ["TERM"] = "xterm"
        os.execv(command[0], command)
    seen, typed = b"", False
    while select.select([terminal], [], [], 60)[0]:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # the terminal is closed: everybody has left
            break
        seen += part
        if not typed and (table.parent / "asleep").exists() and b"1 of 2 runs" in seen:
            os.write(terminal, b"\x03")
            typed = True
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 130, seen
    assert b"random done" in seen
    assert b"1 of 2 runs are kept" in seen
    assert b"Traceback" not in seen
    os.close(terminal)


# -- how replays read, from rows made by hand


@pytest.fixture
def measured(tmp_path: Path) -> MeasuredTable:
    return small(tmp_path)


def text(lines: list[str]) -> str:
    return printable("\n".join(lines))


def summary_of(measured: MeasuredTable, *runs: list[Row]) -> str:
    return text(show.summary_lines(measured.problem, summarise(Truth.of(measured), {"mine": list(runs)}, "paper")))


def test_a_summary_by_hand(measured: MeasuredTable) -> None:
    assert summary_of(measured, run(False, True), run(True, True), run(True, True)).splitlines() == [
        "mine: 3 seeds, 2 tests each for $4.00",
        "  90 % of the best   3 of 3 seeds; median $2.00 ($2.00 to $4.00), 10 s of training, test 1",
        "  95 % of the best   3 of 3 seeds; median $2.00 ($2.00 to $4.00), 10 s of training, test 1",
        "  99 % of the best   3 of 3 seeds; median $2.00 ($2.00 to $4.00), 10 s of training, test 1",
        "  at the end         100 % of the seeds feasible, 0 % tested, 100 % within 5 % of the best, 100 % within 1 %",
        "  regret at the end  0.211 on average, median 0.211, worst 0.211",
        "  a test             $2.00 on average, on 100 % of the data after the start, chosen in 500 ms",
    ]


def test_who_does_not_arrive(measured: MeasuredTable) -> None:
    some = summary_of(measured, run(True), run(False), run(False))
    assert some.count("1 of 3 seeds; median never") == 3
    assert "33 % of the seeds feasible" in some
    most = summary_of(measured, run(True), run(True), run(True), run(False))
    assert "3 of 4 seeds; median $2.00 ($2.00 to never)" in most
    assert summary_of(measured, run(False)).count("0 of 1 seed; never") == 3


def test_a_table_without_dollars_tells_none(measured: MeasuredTable) -> None:
    free = [Row(1, True, {}, "1", 0.0, 5.0, False, 0.0, 5.0, 0.1, (), row(1, verdict()).advice)]
    shown = summary_of(measured, free)
    assert "$" not in shown
    assert "1 of 1 seed; median 5 s of training, test 1" in shown
    assert "none after the start" in shown


def test_rows_in_json_and_csv_tell_the_same(measured: MeasuredTable) -> None:
    runs = {Settings("eic"): {0: [row(1, None, start=True), row(2, verdict(feasible=False, ratio=math.inf))]}}
    told = list(show.rows_json(Truth.of(measured), runs, "paper"))
    json.dumps(encoded(told), allow_nan=False)
    assert told[0]["recommendation"] is None
    assert told[0]["notes"] == ("note",)
    read = list(csv.DictReader(io.StringIO(show.rows_csv(told))))
    assert [one["test"] for one in read] == ["1", "2"]
    assert [one["recommendation.metrics.accuracy"] for one in read] == ["", "0.9"]
    assert [one["start"] for one in read] == ["True", "False"]
    assert read[0]["notes"] == "note"


def test_dollars_to_minimise_tell_both_ratios(tmp_path: Path) -> None:
    truth = Truth.of(small(tmp_path, "cheapest"))
    (told,) = show.rows_json(truth, {Settings("x"): {3: [row(1, verdict(ratio=1.5, ratio_full=math.inf))]}}, "paper")
    recommendation = encoded(told["recommendation"])
    assert isinstance(recommendation, dict)
    assert (recommendation["cno"], recommendation["cno_full"], told["seed"]) == (1.5, None, 3)


def test_facts_of_a_table_without_an_answer(tmp_path: Path, measured: MeasuredTable) -> None:
    nothing = {**facts(measured), "feasible": 0, "near_optimal": 0, "best": None, "best_cost": None}
    shown = text(show.facts_lines(measured, nothing))
    assert "feasible                0" in shown
    assert "best  " not in shown.replace("within 5 % of the best  ", "")


def test_remarks_are_told(tmp_path: Path) -> None:
    lines = show.table_lines(small(tmp_path, failing=1))
    assert lines[1:] == ["  note: 1 of 48 rows lack accuracy and count as failed runs"]
