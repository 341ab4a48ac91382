"""Goals, constraints, fractions, budgets, problems."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.errors import ProblemError
from leantune.problem import (
    At,
    Budget,
    Constraint,
    Direction,
    Goal,
    Problem,
    Scale,
    maximize,
    minimize,
    parse_fractions,
)
from leantune.space import Space, boolean, choice, integer, linear, when

SPACE = Space(x=boolean())
NUMBERS = Space(n=integer(1, 5))


# Goals


def test_goals() -> None:
    assert maximize("accuracy") == Goal("accuracy", Direction.MAXIMIZE, Scale.AUTO, At.FULL)
    assert maximize("f1", scale="linear").scale is Scale.LINEAR
    assert minimize("cost", at="anywhere") == Goal("cost", Direction.MINIMIZE, Scale.AUTO, At.ANYWHERE)
    assert minimize("val/loss", scale="log").scale is Scale.LOG


@pytest.mark.parametrize(
    ("goal", "says"),
    [
        (lambda: maximize(""), "not the name of a metric"),
        (lambda: maximize("a b"), "not the name of a metric"),
        (lambda: maximize("accuracy", scale="logit"), "unknown scale 'logit'"),
        (lambda: minimize("loss", at="half"), "unknown at 'half'"),
        (lambda: minimize("error", scale="share"), "cannot have the scale 'share'"),
        (lambda: maximize("cost"), "cost cannot be maximised"),
    ],
)
def test_wrong_goals(goal: Callable[[], Goal], says: str) -> None:
    with pytest.raises(ProblemError, match=says) as caught:
        goal()
    assert "goal" in caught.value.where
    assert caught.value.hint


# Constraints


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cost <= 0.10 USD", Constraint("cost", True, 0.1)),
        ("cost<=$0.10", Constraint("cost", True, 0.1)),
        ("cost <= 0.1", Constraint("cost", True, 0.1)),
        ("time <= 10 min @ 0.95", Constraint("time", True, 600.0, 0.95)),
        ("time <= 10min@95%", Constraint("time", True, 600.0, 0.95)),
        ("latency_ms <= 20", Constraint("latency_ms", True, 20.0)),
        ("accuracy >= 0.85", Constraint("accuracy", False, 0.85)),
        ("val/f1.macro >= -1e-3", Constraint("val/f1.macro", False, -1e-3)),
        ("  accuracy ≥ .5  ", Constraint("accuracy", False, 0.5)),
    ],
)
def test_constraints_are_read(text: str, expected: Constraint) -> None:
    constraint = Constraint.parse(text)
    assert constraint == expected
    assert constraint.text == text
    assert Constraint.parse(constraint) is constraint


@pytest.mark.parametrize(
    ("text", "says", "right"),
    [
        ("cost <= 0.10 EUR", "unknown unit 'EUR'", "0.10 USD"),
        ("time <= 10", "no unit", "10 min"),
        ("time <= 10 parsecs", "unknown unit 'parsecs'", "10 min"),
        ("latency <= 20 ms", "'20 ms' is not a number", "bare number"),
        ("accuracy > 0.9", "'>' cannot be checked", "accuracy >="),
        ("accuracy < 0.9", "'<' cannot be checked", "accuracy <="),
        ("accuracy == 0.9", "'==' cannot be checked", "accuracy >="),
        ("accuracy = 0.9", "'=' cannot be checked", "accuracy >="),
        ("accuracy != 0.9", "'!=' cannot be checked", "accuracy >="),
        ("accuracy =< 0.9", "'=<' cannot be checked", "accuracy <="),
        ("accuracy >=", "number is missing", "'accuracy >= 0.85'"),
        ("accuracy >= high", "'high' is not a number", "bare number"),
        ("accuracy >= nan", "limit is nan", "finite"),
        ("accuracy >= inf", "limit is inf", "finite"),
        ("accuracy >= 0.9 @ 1", "probability 1 cannot be kept", "below 1"),
        ("accuracy >= 0.9 @ 0", "probability 0 cannot be kept", "above 0"),
        ("accuracy >= 0.9 @ 95", "probability 95 cannot be kept", "below 1"),
        ("accuracy >= 0.9 @ nan", "probability nan cannot be kept", "below 1"),
        ("accuracy >= 0.9 @ sure", "'sure' is not a probability", "@ 0.95"),
        ("accuracy >= 0.9 @", "'' is not a probability", "@ 0.95"),
        ("accuracy", "does not read as a limit", "'accuracy >= 0.85'"),
        ("", "does not read as a limit", "'cost <= 0.10 USD'"),
        ("0.1 <= accuracy <= 0.9", "does not read as a limit", "'accuracy >= 0.85'"),
        ("cost >= 1 USD", "cost cannot have this limit", "cost <= 0.10 USD"),
        ("time <= -5 s", "time cannot have this limit", "time <= 10 min"),
        ("cost <= 0 USD", "cost cannot have this limit", "above 0"),
    ],
)
def test_wrong_constraints(text: str, says: str, right: str) -> None:
    with pytest.raises(ProblemError, match=says) as caught:
        Constraint.parse(text)
    assert text in caught.value.where
    assert right in caught.value.hint


def test_a_constraint_is_a_text() -> None:
    with pytest.raises(ProblemError, match="0.9 is not a constraint"):  # noqa: RUF043
        Constraint.parse(0.9)  # type: ignore[arg-type]


metric_names = st.from_regex(r"[a-z][a-z_/.0-9]{0,8}", fullmatch=True)
probabilities = st.none() | st.floats(0, 1, exclude_min=True, exclude_max=True)


@st.composite
def constraints(draw: st.DrawFn) -> Constraint:
    metric = draw(st.sampled_from(("cost", "time")) | metric_names)
    if metric in ("cost", "time"):
        return Constraint(metric, True, draw(st.floats(1e-9, 1e9)), draw(probabilities))
    return Constraint(metric, draw(st.booleans()), draw(st.floats(-1e9, 1e9)), draw(probabilities))


@given(constraints())
def test_constraints_are_read_back_from_their_text(constraint: Constraint) -> None:
    assert Constraint.parse(str(constraint)) == constraint
    assert Constraint.parse(constraint.text) == constraint


@given(constraints(), st.floats(-1e9, 1e9))
def test_a_value_keeps_a_limit_or_breaks_it(constraint: Constraint, value: float) -> None:
    assert constraint.holds(constraint.limit)
    opposite = Constraint("m", not constraint.upper, constraint.limit)
    assert constraint.holds(value) != opposite.holds(value) or value == constraint.limit


# Fractions


def test_fractions_are_exact() -> None:
    expected = (Fraction(1, 60), Fraction(1, 10), Fraction(1, 4), Fraction(1, 2), Fraction(1))
    assert parse_fractions([1 / 60, 0.1, 0.25, 0.5, 1]) == expected
    assert parse_fractions(["1/60", "1/10", "0.25", "1/2", "1"]) == expected
    assert parse_fractions(np.array([0.25, 1.0])) == (Fraction(1, 4), Fraction(1))


@pytest.mark.parametrize(
    ("given_", "says"),
    [
        ([], "end in 1: there are none"),
        ([0.5], "end in 1: 1/2"),
        ([0.5, 0.25, 1], "do not increase: 1/2, 1/4, 1"),
        ([0.5, "1/2", 1], "do not increase"),
        ([0, 1], "0 is not a share"),
        ([0.5, 1.5], "1.5 is not a share"),
        ([-1, 1], "-1 is not a share"),
        (["half", 1], "'half' is not a number"),
        ([math.nan, 1], "nan is not a share"),
    ],
)
def test_wrong_fractions(given_: list[float], says: str) -> None:
    with pytest.raises(ProblemError, match=says) as caught:
        parse_fractions(given_)
    assert caught.value.where == "fractions"
    assert "increasing shares that end in 1" in caught.value.hint


# Budget


def test_budgets() -> None:
    assert Budget() == Budget(None, None, None)
    assert Budget(usd=5, trials=44, hours=0.5).trials == 44


@pytest.mark.parametrize(
    "amounts",
    [{"usd": 0}, {"usd": -1}, {"trials": 0}, {"trials": 1.5}, {"hours": math.inf}, {"usd": "5"}, {"trials": True}],
)
def test_wrong_budgets(amounts: dict[str, float]) -> None:
    with pytest.raises(ProblemError, match=f"{next(iter(amounts))} is ") as caught:
        Budget(**amounts)  # type: ignore[arg-type]
    assert caught.value.where == "budget"


# Problem


def test_a_problem_reads_what_a_user_writes() -> None:
    problem = Problem(SPACE, maximize("accuracy"), ["cost <= 0.10 USD", "latency <= 3"], [1 / 60, 1], Budget(usd=5))
    assert [constraint.metric for constraint in problem.constraints] == ["cost", "latency"]
    assert problem.fractions == (Fraction(1, 60), Fraction(1))
    assert problem.required_metrics == ("accuracy", "latency")
    assert Problem(SPACE, maximize("a"), "a >= 0.5").constraints == (Constraint("a", False, 0.5),)


def test_a_problem_of_one_level() -> None:
    problem = Problem(SPACE, minimize("cost", at="anywhere"), ["accuracy >= 0.85"])
    assert problem.fractions == (Fraction(1),)
    assert problem.levels.tolist() == [1.0]
    assert problem.required_metrics == ("accuracy",)
    assert problem.snapshots is False


def test_levels_are_logs() -> None:
    levels = Problem(SPACE, maximize("a"), fractions=[1 / 100, 0.1, 1]).levels
    np.testing.assert_allclose(levels, [0.0, 0.5, 1.0], atol=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        levels[0] = 0.5


@given(st.lists(st.fractions(Fraction(1, 1000), Fraction(999, 1000)), min_size=1, max_size=6, unique=True))
def test_levels_rise_from_0_to_1(shares: list[Fraction]) -> None:
    problem = Problem(SPACE, maximize("a"), fractions=[*sorted(shares), 1])
    assert problem.levels[0] == 0.0
    assert problem.levels[-1] == 1.0
    assert np.all(np.diff(problem.levels) > 0)
    assert [problem.level_of(share) for share in problem.fractions] == list(range(len(problem.levels)))


def test_an_unknown_level() -> None:
    with pytest.raises(ProblemError, match="1/3 is not one of the shares") as caught:
        Problem(SPACE, maximize("a"), fractions=[0.5, 1]).level_of(Fraction(1, 3))
    assert "1/2, 1" in caught.value.hint


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        (["a >= 0.9", "a <= 0.8"], "no a can keep both limits"),
        (["a <= 0.8", "a >= 0.8"], "no a can keep both limits"),
        (["cost <= 1 USD", "cost <= 2 USD"], "two limits of one kind on cost"),
        (["a >= 0.9", "a >= 0.9"], "two limits of one kind on a"),
    ],
)
def test_limits_that_fight(limits: list[str], says: str) -> None:
    with pytest.raises(ProblemError, match=says) as caught:
        Problem(SPACE, maximize("a"), limits)
    assert all(limit in caught.value.where for limit in limits)


def test_a_corridor_is_fine() -> None:
    assert len(Problem(SPACE, maximize("a"), ["b >= 0.1", "b <= 0.2"]).constraints) == 2


def test_what_a_problem_is_about() -> None:
    about_cost = [
        Problem(SPACE, minimize("cost")),
        Problem(SPACE, maximize("a"), ["cost <= 1 USD"]),
        Problem(SPACE, maximize("a"), budget=Budget(usd=1)),
    ]
    assert all(problem.needs_cost and not problem.needs_time for problem in about_cost)
    about_time = [Problem(SPACE, minimize("time")), Problem(SPACE, maximize("a"), ["time <= 1 h"])]
    assert all(problem.needs_time and not problem.needs_cost for problem in about_time)


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        (({"x": 1}, maximize("a")), "is not a space"),
        ((SPACE, "accuracy"), "'accuracy' is not a goal"),
        ((SPACE, maximize("a"), (), (1,), 5), "5 is not a budget"),
    ],
)
def test_parts_of_the_wrong_kind(parts: tuple[Space, Goal], says: str) -> None:
    with pytest.raises(ProblemError, match=says) as caught:
        Problem(*parts)
    assert caught.value.where == "problem"
    assert caught.value.hint.startswith("Write ")


def test_the_last_step_and_a_list_of_settings() -> None:
    problem = Problem(NUMBERS, maximize("a"), steps=20, settings=[{"n": 3}, {"n": 1}], budget=Budget(usd=1))
    assert (problem.steps, [one["n"] for one in problem.settings]) == (20.0, [3, 1])
    raised = problem.with_budget(Budget(usd=2))
    assert (raised.budget.usd, raised.steps, raised.settings) == (2, 20.0, problem.settings)
    assert [one["n"] for one in raised.choices.grid()] == [3, 1]
    plain = Problem(NUMBERS, maximize("a"))
    assert (plain.steps, plain.settings, plain.choices) == (None, (), plain.space)


def test_the_present_setting_is_a_whole_configuration() -> None:
    space = Space(n=integer(1, 5), kind=choice("a"), rate=when(linear(0, 1), kind="a"))
    problem = Problem(space, maximize("a"), baseline={"n": 2, "rate": 0.5}, budget=Budget(usd=1))
    assert problem.baseline == space.configuration({"n": 2, "kind": "a", "rate": 0.5})
    assert problem.with_budget(Budget(usd=2)).baseline == problem.baseline
    assert problem.with_baseline(None).baseline is None is Problem(space, maximize("a")).baseline


def test_what_a_share_is_a_share_of() -> None:
    assert Problem(NUMBERS, maximize("a")).fidelity == "data"
    problem = Problem(NUMBERS, maximize("a"), fidelity="epochs")
    assert problem.with_budget(Budget(usd=1)).fidelity == problem.fidelity == "epochs"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"steps": 0}, r"steps is 0 \(steps\). Give the last step"),
        ({"steps": math.inf}, "steps is inf"),
        ({"steps": True}, "steps is True"),
        ({"steps": "20"}, "steps is '20'"),
        ({"fidelity": "epoch"}, r"'epoch' is no fidelity \(fidelity\). Write data, or epochs"),
        ({"settings": [{"n": 1}, {"n": 99}]}, "99.*settings, number 2"),
        ({"settings": [{"m": 1}]}, "settings, number 1"),
        ({"settings": [{"n": 1}, {"n": 2}, {"n": 1}]}, "comes twice.*number 3.*It is number 1 already"),
        ({"baseline": {}}, r"'n' is missing \(baseline\). Give a value to each of n$"),
        ({"baseline": {"n": 99}}, r"99 is out of bounds \(baseline, parameter 'n'\). Give a value from"),
        ({"baseline": {"m": 1}}, "unknown parameter 'm'"),
        ({"baseline": 3}, "3 is no setting"),
        ({"settings": [{"n": 1}], "baseline": {"n": 2}}, "is not listed"),
        ({"settings": [3]}, "3 is no setting.*settings, number 1"),
    ],
)
def test_wrong_steps_and_settings(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ProblemError, match=says):
        Problem(NUMBERS, maximize("a"), **wrong)


def test_a_budget_is_checked_when_it_is_replaced() -> None:
    with pytest.raises(ProblemError, match="is not a budget"):
        Problem(NUMBERS, maximize("a")).with_budget(5)  # type: ignore[arg-type]
