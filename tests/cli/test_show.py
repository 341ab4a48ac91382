"""Results as lines and as JSON: both tell the same."""

import json
from collections.abc import Iterable
from dataclasses import replace

from leantune.cli import show
from leantune.cli.command import encoded
from leantune.cli.terminal import printable
from leantune.history import Estimate, History, Note, NoteKind, TrialState, observe
from leantune.problem import Budget, Problem, minimize
from leantune.run.ledger import TimeRules
from leantune.run.loop import End, Outcome
from leantune.space import Space, choice
from leantune.store.rows import Money, WorkerRow
from leantune.strategies.baseline import compared
from leantune.strategies.proposals import Proposal, Recommendation
from leantune.study.forecast import DryRun, Forecast
from leantune.study.verification import LimitCheck, Verification
from leantune.text import estimated
from tests.cli.samples import CHARGED, DRAWN, FULL, PROBLEM, QUARTER, STARTED, mixed, status

CONFIGURATION = mixed().trial(3).configuration
RECOMMENDED = Recommendation(
    CONFIGURATION,
    FULL,
    {"accuracy": Estimate(0.91, 0.01), "cost": Estimate(0.001, 0.0001)},
    {"cost <= 0.10 USD": 0.97, "time <= 1 min": 0.999},
    feasible=True,
    tested=True,
    why="Largest predicted accuracy at full data.",
)
WORKER = WorkerRow("host-1-ab", "host", 1, 5.0, 2, 100.0, 205.0)
DRY = DryRun(
    80,
    160,
    (
        Forecast(Proposal(CONFIGURATION, QUARTER, (QUARTER,), {}, (STARTED, CHARGED)), 30.0, 0.0061),
        Forecast(Proposal(CONFIGURATION, FULL, (FULL,), {"accuracy": Estimate(0.9, 0.02)}, (DRAWN,)), 60.0, 0.0091),
    ),
    5,
    Budget(usd=5, trials=10),
    TimeRules(None, 30.0, 2),
)
MEASURED = mixed().trial(3).observations[-1]
HELD = Verification(
    RECOMMENDED,
    mixed().trial(3),
    MEASURED,
    (LimitCheck("cost <= 0.10 USD", 0.001, True), LimitCheck("time <= 1 min", 10.0, True)),
)


def text(lines: Iterable[str]) -> str:
    return printable("\n".join(lines))


def json_of(told: object) -> str:
    return json.dumps(encoded(told), allow_nan=False)  # raises where a number is none


def test_a_recommendation_says_what_to_use_what_to_expect_and_how_sure_it_is() -> None:
    assert text(show.recommendation_lines(RECOMMENDED, None, "data")).splitlines() == [
        "Recommended configuration:",
        "  lr       0.01",
        "  batch    16",
        "  cluster  1 × small",
        "Predicted on all data:",
        "  accuracy  0.910 ± 0.010",
        printable(f"  cost      {estimated('cost', RECOMMENDED.metrics['cost'])}"),
        "Limits, met as surely as asked:",
        "  cost <= 0.10 USD  holds with 97 %",
        "  time <= 1 min     holds with over 99 %",
        "Verified: it was measured like this, and kept the limits.",
        "Why: Largest predicted accuracy at full data.",
    ]


def test_a_recommendation_that_meets_no_limits_says_so_and_a_measured_one_predicts_nothing() -> None:
    measured = {"accuracy": Estimate(0.91, 0.0)}
    poor = replace(
        RECOMMENDED,
        metrics=measured,
        probabilities={"time <= 1 min": 0.0},
        feasible=False,
        notes=(Note(NoteKind.FALLBACK, "x"),),
    )
    lines = text(show.recommendation_lines(poor, None, "data")).splitlines()
    assert "Measured on all data:" in lines
    assert "Limits, NOT met as surely as asked:" in lines
    assert "  time <= 1 min  broken" in lines
    assert lines[-1] == "Note: fallback: x"


def test_a_recommendation_in_json_keeps_every_digit() -> None:
    told = json.loads(json_of(show.recommendation_json(RECOMMENDED)))
    assert told["configuration"] == {
        "lr": 0.01,
        "batch": 16,
        "cluster": {"type": "small", "nodes": 1, "vcpus": 1, "memory_gib": 2, "usd_per_hour": 0.36},
    }
    assert told["fraction"] == "1"
    assert told["metrics"]["accuracy"] == {"mean": 0.91, "sd": 0.01}
    assert told["limits"][0] == {"limit": "cost <= 0.10 USD", "probability": 0.97}
    assert (told["feasible"], told["tested"], told["why"], told["notes"]) == (True, True, RECOMMENDED.why, [])


def test_money_without_a_limit_has_no_rest() -> None:
    told = encoded(show.study_json(replace(status(mixed()), money=Money(None, 1.0, 0.0))))
    assert isinstance(told, dict)
    assert told["dollars"] == {"budget": None, "spent": 1.0, "reserved": 0.0, "left": None}


def test_status_tells_trials_money_best_workers_what_runs_and_what_failed() -> None:
    told = text(show.status(status(mixed()), None, [WORKER], 210.0).lines)
    assert told.startswith("Study digits: not over yet\n")
    for part in (
        "goal      maximize accuracy, subject to cost ≤ $0.10 and time ≤ 60 s",
        "strategy  eic, seed 1",
        "budget    $5.00 and 10 trials",
        "store     sqlite:///leantune.db",
        "workers   host-1-ab (2 runs at once, seen 5 s ago)",
        "trials    5 of 10 (3 done, 1 failed, 1 running)",
        "dollars   spent $0.0103, reserved $0.00, left $4.99",
        "training  103 s",
        "best      accuracy 0.91, all data, all limits kept, trial 3",
        "running: trial 4, lr = 0.01, batch = 16, cluster = 1 × small; 1/4 of the data, 110 s",
        "failed: trial 2, exit code 3: no such file; see runs/trial-0002/attempt-1.log",
        "note: fallback: none of 8 pairs promises anything; the largest expected accuracy (2 trials)",
    ):
        assert part in told
    assert "over, all 5 trials" in show.status(status(mixed()), "all 5 trials are used", [], 0.0).lines[0]


def test_status_in_json() -> None:
    told = json.loads(json_of(show.status(status(mixed()), "spent", [WORKER], 210.0).document))
    assert (told["study"], told["store"], told["strategy"], told["seed"]) == (
        "digits",
        "sqlite:///leantune.db",
        "eic",
        1,
    )
    assert told["goal"] == {"metric": "accuracy", "direction": "maximize"}
    assert told["limits"] == ["cost <= 0.10 USD", "time <= 1 min"]
    assert told["budget"] == {"usd": 5, "trials": 10, "hours": None}
    trials = dict.fromkeys(("proposed", "queued", "revoked", "lost", "stopped", "paused"), 0)
    assert told["trials"] == trials | {"total": 5, "done": 3, "failed": 1, "running": 1}
    paused = status(mixed().move(4, TrialState.PAUSED, time=201.0))
    assert json.loads(json_of(show.status(paused, "spent", [], 210.0).document))["trials"]["paused"] == 1
    assert told["dollars"]["budget"] == 5
    assert told["best"]["trial"] == 3
    assert (told["best"]["metrics"], told["best"]["seconds"]) == ({"accuracy": 0.91}, 10.0)
    assert (told["best"]["on_answer"], told["best"]["limits_kept"]) == (True, True)
    assert (told["over"], told["stop_reason"]) == (True, "spent")
    assert [run["trial"] for run in told["running"]] == [4]
    assert told["running"][0]["seconds"] == 110.0
    assert [trial["trial"] for trial in told["failed"]] == [2]
    assert told["workers"] == [{"id": "host-1-ab", "host": "host", "pid": 1, "slots": 2, "seen_seconds_ago": 5.0}]


def test_a_new_study_without_prices() -> None:
    free = Problem(Space(a=choice(1, 2)), minimize("loss"), budget=Budget(hours=2))
    told = text(show.status(status(History(), free), None, [], 0.0).lines)
    assert "$" not in told
    assert "training  0 s of 2 h" in told
    assert "workers   none" in told
    assert json.loads(json_of(show.study_json(status(History(), free))))["best"] is None


def test_the_end_of_a_run_with_and_without_a_recommendation() -> None:
    over, stopped = End(Outcome.OVER, "all trials are used"), End(Outcome.INTERRUPTED, "stopped by the user")
    told = text(show.ended(status(mixed()), over, RECOMMENDED, "").lines)
    assert told.startswith("Study digits: over, all trials are used\n")
    assert "Recommended configuration:" in told
    assert "trials    5 of 10" in told
    assert "trials    5 of 10" not in text(show.ended(status(mixed()), over, RECOMMENDED, "", shown=True).lines)
    nothing = text(show.ended(status(History()), over, None, "there is nothing to recommend yet").lines)
    assert nothing.endswith("No recommendation: there is nothing to recommend yet")
    assert "ecommend" not in text(show.ended(status(mixed()), stopped, None, "").lines)
    plain = json.loads(json_of(show.ended(status(mixed()), stopped, None, "").document))
    assert (plain["outcome"], plain["reason"], plain["recommendation"]) == ("interrupted", "stopped by the user", None)
    full = json.loads(json_of(show.ended(status(mixed()), over, RECOMMENDED, "").document))
    assert full["recommendation"] == json.loads(json_of(show.recommendation_json(RECOMMENDED)))


def test_a_dry_run_tells_size_proposals_costs_and_limits() -> None:
    told = text(show.dry_run("digits", "eic, seed 1", PROBLEM, DRY).lines)
    for part in (
        "Dry run of digits: nothing was started",
        "space       80 configurations, 160 with each of 2 shares of the data",
        "time limit  set for each run from the dollars that are left and from what is predicted, then 30 s to end",
        "at once     2 runs",
        "so far      5 trials",
        "  trial 5: lr = 0.01, batch = 16, cluster = 1 × small; 1/4 of the data\n    at most 30 s, at most $0.0061\n",
        f"    why: start; {CHARGED}",
        "  trial 6: lr",
        "    at most 60 s, at most $0.0091; expected accuracy 0.900 ± 0.020\n    why: random",
        "Together they cost at most $0.0152.",
    ):
        assert part in told


def test_a_dry_run_of_an_endless_space_without_prices_and_limits() -> None:
    dry = replace(
        DRY, size=None, pairs=None, first=(replace(DRY.first[0], time_limit=None, worst_case_usd=None),), resumes=0
    )
    told = text(show.dry_run("digits", "eic", PROBLEM, dry).lines)
    assert "infinitely many configurations" in told
    assert "no time limit, no price" in told
    assert "nothing: the study is new" in told
    limited = replace(dry, rules=TimeRules(20.0), first=(), over="all is spent")
    told = text(show.dry_run("digits", "eic", PROBLEM, limited).lines)
    assert "20 s a run, then 30 s to end" in told
    assert "Nothing would be started: all is spent" in told
    assert text(show.dry_run("digits", "eic", PROBLEM, replace(DRY, over="x")).lines).endswith(
        "Then the study is over: x"
    )


def test_a_dry_run_in_json() -> None:
    told = json.loads(json_of(show.dry_run("digits", "eic", PROBLEM, DRY).document))
    assert (told["configurations"], told["pairs"], told["trials_so_far"], told["parallel"]) == (80, 160, 5, 2)
    assert (told["time_limit"], told["grace"]) == (None, 30.0)
    assert [p["worst_case_usd"] for p in told["proposals"]] == [0.0061, 0.0091]
    assert told["proposals"][0]["notes"] == ["start", str(CHARGED)]


def test_a_verification_that_held() -> None:
    told = text(show.verification("digits", PROBLEM, HELD).lines)
    assert told.startswith("Verified: every limit held\n")
    assert "Measured on all data, trial 3:" in told
    assert "accuracy  0.91 (predicted 0.910 ± 0.010)" in told
    assert "time      10 s" in told
    assert "cost <= 0.10 USD  held" in told
    plain = json.loads(json_of(show.verification("digits", PROBLEM, HELD).document))
    assert (plain["held"], plain["failed"], plain["trial"], plain["seconds"]) == (True, "", 3, 10.0)
    assert plain["limits"][1] == {"limit": "time <= 1 min", "value": 10.0, "held": True}


def test_a_verification_whose_limit_broke_or_whose_run_failed() -> None:
    broke = replace(HELD, limits=(LimitCheck("time <= 1 min", 90.0, False),))
    told = text(show.verification("digits", PROBLEM, broke).lines)
    assert told.startswith("Not verified: time <= 1 min did not hold\n")
    assert "time <= 1 min  BROKEN" in told
    failed = Verification(RECOMMENDED, mixed().trial(2), None, (), "exit code 3")
    told = text(show.verification("digits", PROBLEM, failed).lines)
    assert told.startswith("Not verified: the run failed, exit code 3\n")
    assert json.loads(json_of(show.verification("digits", PROBLEM, failed).document))["held"] is False
    free = replace(HELD, limits=())
    assert show.verification("digits", PROBLEM, free).lines[0] == "Verified: the run succeeded; there is no limit"


def test_the_present_setting_is_told_beside_what_was_found() -> None:
    history = mixed()
    problem = PROBLEM.with_baseline({"lr": 0.05, "batch": 64, "cluster": {"type": "large", "nodes": 1}})
    told = status(history, problem)
    assert problem.baseline is not None
    lines, document = show.status(told, None, [WORKER], 210.0).lines, show.status(told, None, [WORKER], 210.0).document
    assert "  compared: Your present setting was not tested: nothing to compare with." in text(lines)
    assert json.loads(json_of(document))["baseline"]["basis"] == "untested"
    history, trial = history.propose(problem.baseline, FULL)
    history = history.record(trial.number, [observe(problem, trial, {"accuracy": 0.9}, seconds=20.0)], time=300.0)
    comparison = compared(problem, history, CONFIGURATION, FULL, RECOMMENDED.metrics)
    shown = text(show.recommendation_lines(RECOMMENDED, comparison, "data"))
    # Of the two results of the configuration on all data, 0.99 and 0.91, the mean counts.
    assert "Compared: Better than your setting by 0.05, for $0.015 less a run (yours: accuracy 0.9" in shown
    keys = json.loads(json_of(show.recommendation_json(RECOMMENDED, comparison)))["baseline"]
    assert (keys["trial"], keys["fraction"], keys["metrics"]["accuracy"]) == (5, "1", 0.9)
    assert "baseline" not in show.recommendation_json(RECOMMENDED)


def test_shares_of_epochs_are_called_so() -> None:
    problem = Problem(
        PROBLEM.space, PROBLEM.goal, PROBLEM.constraints, PROBLEM.fractions, PROBLEM.budget, fidelity="epochs"
    )
    told = status(mixed(), problem)
    assert "on all epochs:" in text(show.recommendation_lines(RECOMMENDED, None, "epochs"))
    shown = text(show.status(told, None, [WORKER], 210.0).lines)
    assert "accuracy 0.91, all epochs, all limits kept" in shown
    assert "1/4 of the epochs" in shown
    assert "data" not in shown
    dry = text(show.dry_run("digits", "eic", problem, DRY).lines)
    assert "2 shares of the epochs" in dry and "; 1/4 of the epochs" in dry
