"""One replay: the same as a live study, the same every time, ended by tests or dollars, judged after every test."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from leantune.errors import ProblemError, StrategyError, StudyOver
from leantune.lab.replay.contenders import Contender
from leantune.lab.replay.kept import Kept, Key
from leantune.lab.replay.runs import COMMON, PAPER, Row, Settings, check, replay
from leantune.lab.replay.tables import MeasuredTable, load_table
from leantune.lab.replay.truth import Truth
from leantune.problem import Budget, Problem
from leantune.strategies.proposals import Proposal
from leantune.strategies.tuner import Judgement, View
from leantune.study import AskedTrial, Snapshot, Study
from tests.lab.replay.small import YAML, small, write

STARTS = {"eic": 4, "random": 4, "trimtuner": 1, "trimtuner-gp": 1, "ei": 4}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> MeasuredTable:
    return small(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def cheapest(tmp_path_factory: pytest.TempPathFactory) -> MeasuredTable:
    return small(tmp_path_factory.mktemp("small"), "cheapest")


def untimed(rows: list[Row]) -> list[Row]:
    return [replace(row, ask_seconds=0.0) for row in rows]


def tell(study: Study, table: MeasuredTable, trial: AskedTrial) -> None:
    """What the table knows of a trial."""
    found = {share: table.measurements[trial.configuration.id, share] for share in trial.snapshots}
    last = found[trial.fraction]
    if last.failure:
        study.tell(trial, failed=last.failure, seconds=last.seconds, cost=last.cost)
    elif len(found) == 1:
        study.tell(trial, last.metrics, seconds=last.seconds, cost=last.cost)
    else:
        shots = [Snapshot(share, one.metrics, one.seconds, one.cost) for share, one in found.items()]
        study.tell(trial, snapshots=shots)


def live(table: MeasuredTable, strategy: str, seed: int, tests: int) -> Iterator[tuple[AskedTrial, Study]]:
    """The trials of a study by ask and tell with the table's measurements."""
    problem = table.problem
    study = Study(
        problem.space,
        problem.goal,
        subject_to=problem.constraints,
        fractions=problem.fractions,
        snapshots=problem.snapshots,
        strategy=strategy,
        seed=seed,
    )
    for _ in range(tests):
        trial = study.ask()
        tell(study, table, trial)
        yield trial, study
    study.close()


@pytest.mark.parametrize(("strategy", "seed"), [("eic", 0), ("random", 3), ("trimtuner", 1), ("trimtuner-gp", 2)])
def test_a_replay_is_the_live_study(table: MeasuredTable, strategy: str, seed: int) -> None:
    rows = replay(table, Settings(strategy, iterations=3), seed)
    assert len(rows) == STARTS[strategy] + 3
    for row, (trial, study) in zip(rows, live(table, strategy, seed, len(rows)), strict=True):
        assert row.configuration["lr"] == trial["lr"]
        assert row.configuration["cluster"] == trial["cluster"].as_json()
        assert (row.fraction, row.notes) == (str(trial.fraction), tuple(map(str, trial.notes)))
        assert row.dollars == study.history.cost
        assert row.seconds == study.history.seconds
        recommended = study.recommendation()
        advice = row.advice[PAPER]
        assert advice.configuration["lr"] == recommended.configuration["lr"]
        assert (advice.fraction, advice.sure) == (str(recommended.fraction), recommended.feasible)
        assert advice.verdict == Truth.of(table).judge((recommended.configuration.id, recommended.fraction))


@pytest.mark.parametrize("strategy", ["random", "eic", "trimtuner"])
def test_the_same_seed_gives_the_same_rows(table: MeasuredTable, strategy: str) -> None:
    settings = Settings(strategy, iterations=3)
    first = untimed(replay(table, settings, 1))
    assert untimed(replay(table, settings, 1)) == first
    assert untimed(replay(table, settings, 2)) != first


def test_rows_add_up(table: MeasuredTable) -> None:
    rows = replay(table, Settings("random", iterations=5), 0)
    assert [row.test for row in rows] == list(range(1, 10))
    assert [row.start for row in rows] == [True] * 4 + [False] * 5, "the start does not count as an iteration"
    for number, row in enumerate(rows, start=1):
        assert row.dollars == pytest.approx(math.fsum(one.test_dollars for one in rows[:number]))
        assert row.seconds == pytest.approx(math.fsum(one.test_seconds for one in rows[:number]))
        assert row.ask_seconds > 0
        assert set(row.advice) == {PAPER, COMMON}


def test_snapshots_are_charged_once(table: MeasuredTable) -> None:
    start, *later = replay(table, Settings("trimtuner", iterations=1), 0)
    assert start.start
    assert [row.start for row in later] == [False]
    assert start.fraction == "1/2", "it reports at 1/10 too"
    identity = next(
        one.id
        for one in table.problem.space.grid()
        if (one["lr"], one["batch"]) == _lr_and_batch(start)
        and one.cluster is not None
        and one.cluster.as_json() == start.configuration["cluster"]
    )
    measured = table.measurements[identity, Fraction(1, 2)]
    assert (start.test_dollars, start.test_seconds) == (measured.cost, measured.seconds)


def _lr_and_batch(row: Row) -> tuple[object, object]:
    return row.configuration["lr"], row.configuration["batch"]


def test_a_budget_ends_it(table: MeasuredTable) -> None:
    rows = replay(table, Settings("random", iterations=None, usd=0.3, overshoot=True), 0)
    assert rows[-2].dollars < 0.3 <= rows[-1].dollars, "a run that began is finished"
    hard = replay(table, Settings("random", iterations=None, usd=0.3), 0)
    assert untimed(hard) == untimed(rows[:-1]), "the one that would exceed it is not begun"
    both = replay(table, Settings("random", iterations=2, usd=100.0), 0)
    assert len(both) == 6


@pytest.mark.parametrize("parallel", [1, 3])
@pytest.mark.parametrize("strategy", ["random", "eic", "lean"])
@pytest.mark.parametrize("budget", [{"usd": 0.1}, {"hours": 0.05}, {"trials": 5}, {"usd": 0.2, "trials": 6}])
def test_a_budget_is_never_exceeded(table: MeasuredTable, strategy: str, budget: dict[str, Any], parallel: int) -> None:
    rows = replay(table, Settings(strategy, iterations=None, parallel=parallel, **budget), 0)
    assert 0 < len(rows) <= budget.get("trials", math.inf)
    assert max(row.dollars for row in rows) <= budget.get("usd", math.inf)
    assert max(row.seconds for row in rows) <= budget.get("hours", math.inf) * 3600


def test_strategies_are_told_of_the_budget_and_not_of_iterations(table: MeasuredTable) -> None:
    """A tuner of one's own sees what a live study would show it, and needs no stop rule."""
    told = Told()
    chosen = Contender(told, told)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("leantune.lab.replay.runs.contender", lambda *_: chosen)
        replay(table, Settings("told", iterations=3), 0)
        assert told.budgets == [Budget()] * 3
        rows = replay(table, Settings("told", iterations=None, trials=4, usd=9.0, hours=2.0), 0)
    assert told.budgets[3:] == [Budget(9.0, 4, 2.0)] * 4
    assert len(rows) == 4


@dataclass
class Told:
    """Tests one configuration after the other, and notes what it is told of a budget."""

    budgets: list[Budget] = field(default_factory=list)
    judges: bool = False

    def check(self, problem: Problem) -> None: ...

    def prepare(self) -> None: ...

    def ends_by_itself(self, problem: Problem) -> bool:
        return True

    def ask(self, view: View) -> Proposal:
        self.budgets.append(view.problem.budget)
        return Proposal(view.problem.space.grid()[len(view.history)], Fraction(1), (Fraction(1),))

    def judge(self, view: View, only: object = None) -> dict[int, Judgement]:
        return {}

    def recommend(self, view: View) -> None: ...

    def stop_reason(self, view: View) -> None: ...


def test_epochs_pay_the_difference(table: MeasuredTable) -> None:
    """The x-axis counts what is paid; what is judged is the whole run."""
    epochs = replace(table, problem=continuing(table.problem))
    rows, whole = (replay(one, Settings("lean", iterations=12), 0) for one in (epochs, table))
    paid: dict[str, dict[Fraction, float]] = {}
    by_text = {json.dumps(one.as_json()): one.id for one in table.problem.space.grid()}
    for row in rows:
        identity, share = by_text[json.dumps(row.configuration)], Fraction(row.fraction)
        earlier = paid.setdefault(identity, {})
        cost = table.measurements[identity, share].cost or 0.0
        assert row.test_dollars == pytest.approx(cost - earlier.get(max(earlier, default=share), 0.0))
        earlier[share] = cost
    assert any(len(shares) > 1 for shares in paid.values()), "one was tested at two shares"
    assert rows[-1].dollars < whole[-1].dollars


def continuing(problem: Problem) -> Problem:
    parts = problem.space, problem.goal, problem.constraints, problem.fractions
    return Problem(*parts, snapshots=problem.snapshots, fidelity="epochs")


@pytest.mark.parametrize("snapshots", [True, False])
@pytest.mark.parametrize("strategy", ["lean", "trimtuner", "fabulinus", "eic", "random"])
def test_missing_pairs_are_never_tested(tmp_path: Path, strategy: str, snapshots: bool) -> None:
    """Every second configuration lacks a fraction, each of them in turn; all the rest can be tested, to the end."""
    path = write(tmp_path)
    lines = (tmp_path / "measured.csv").read_text(encoding="utf-8").splitlines()
    kept = [line for number, line in enumerate(lines[1:]) if number % 6 != number // 6 % 2]
    (tmp_path / "measured.csv").write_text("\n".join([lines[0], *kept]), encoding="utf-8")
    path.write_text(YAML.replace("snapshots: true", f"snapshots: {str(snapshots).lower()}"), encoding="utf-8")
    ragged = load_table(str(path))
    assert len(ragged.problem.gaps) == 8
    rows = replay(ragged, Settings(strategy, iterations=60), 1)
    ids = {json.dumps(one.as_json()): one.id for one in ragged.problem.space.grid()}
    tested = [(ids[json.dumps(row.configuration)], Fraction(row.fraction)) for row in rows]
    assert not set(tested) & ragged.problem.gaps
    assert len(tested) >= 12


def test_a_space_that_is_used_up_ends_it(table: MeasuredTable) -> None:
    rows = replay(table, Settings("random", iterations=44), 0)
    assert len(rows) == 16, "all configurations at full data"
    assert len({json.dumps(row.configuration) for row in rows}) == 16


def test_tests_at_once(table: MeasuredTable) -> None:
    settings = Settings("eic", iterations=5, parallel=2)
    rows = replay(table, settings, 0)
    assert len(rows) == 9
    assert untimed(replay(table, settings, 0)) == untimed(rows)
    assert len({json.dumps(row.configuration) for row in rows}) == 9
    assert all(before.dollars < after.dollars for before, after in pairwise(rows))
    alone = replay(table, replace(settings, parallel=1), 0)
    assert [row.configuration for row in alone] != [row.configuration for row in rows]


def test_a_budget_with_tests_at_once_knows_who_took_how_long(table: MeasuredTable) -> None:
    rows = replay(table, Settings("random", iterations=None, usd=0.2, parallel=3), 1)
    assert all(row.ask_seconds > 0 for row in rows)


def test_runs_that_failed_in_the_table_teach(tmp_path: Path) -> None:
    failing = small(tmp_path, failing=24)  # the better half: lr 0.001 and 0.01
    rows = replay(failing, Settings("eic", iterations=4), 0)
    assert len(rows) == 8
    failed = [row for row in rows if row.configuration["lr"] in (0.001, 0.01)]
    assert failed
    assert all(row.test_dollars > 0 for row in failed), "they are paid for"
    for row, (trial, _) in zip(rows, live(failing, "eic", 0, 8), strict=True):
        assert row.configuration["lr"] == trial["lr"]


def test_nothing_to_recommend_while_all_has_failed(tmp_path: Path) -> None:
    failing = small(tmp_path, failing=48)
    rows = replay(failing, Settings("eic", iterations=1), 0)
    with pytest.raises(StudyOver):
        next(live(failing, "eic", 0, 1))[1].recommendation()
    assert [row.advice for row in rows] == [{}] * 5


def test_the_common_rule_recommends_beside_the_papers(table: MeasuredTable) -> None:
    ei = replay(table, Settings("ei", iterations=4), 0)
    assert any(row.advice[PAPER] != row.advice[COMMON] for row in ei), "EI knows no limits, the common rule does"
    eic = replay(table, Settings("eic", iterations=2), 0)
    assert all(row.advice[PAPER] is row.advice[COMMON] for row in eic)


def test_cheapest_anywhere_has_one_rule(cheapest: MeasuredTable) -> None:
    rows = replay(cheapest, Settings("nephele", iterations=6), 0)
    assert all(row.advice[PAPER] is row.advice[COMMON] for row in rows if row.advice)
    last = rows[-1].advice[PAPER].verdict
    assert last.accuracy_c is None
    assert last.ratio >= 1.0


def test_rows_survive_being_kept(table: MeasuredTable, tmp_path: Path) -> None:
    settings = Settings("trimtuner", iterations=2)
    rows, key = replay(table, settings, 0), Key.of(table, settings, 0)
    Kept(tmp_path).put(key, rows)
    assert Kept(tmp_path).get(key) == rows


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"iterations": None}, "a replay without an end"),
        ({"iterations": 0}, "iterations is 0"),
        ({"parallel": 0}, "parallel is 0"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, int | None], message: str) -> None:
    with pytest.raises(StrategyError, match=message):
        Settings("eic", **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("usd", [0.0, -1.0, math.nan, math.inf])
def test_dollars_are_dollars(usd: float) -> None:
    with pytest.raises(ProblemError, match="usd is"):
        Settings("eic", usd=usd)


def test_a_label_names_strategy_and_filter() -> None:
    assert Settings("eic").label == "eic"
    assert Settings("trimtuner", "cea:0.2").label == "trimtuner, cea:0.2"


def test_what_does_not_go_together_is_refused(table: MeasuredTable, cheapest: MeasuredTable) -> None:
    with pytest.raises(StrategyError, match="nephele does not serve"):
        check(table, Settings("nephele"))
    with pytest.raises(StrategyError, match="trimtuner does not serve"):
        replay(cheapest, Settings("trimtuner"), 0)


def test_a_budget_needs_a_table_with_dollars(table: MeasuredTable) -> None:
    free = replace(table, measurements={pair: replace(one, cost=None) for pair, one in table.measurements.items()})
    with pytest.raises(StrategyError, match="a budget in dollars, and the table has none"):
        check(free, Settings("random", usd=1.0))
