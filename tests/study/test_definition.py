"""What defines a study, and what changed of it."""

import json
from fractions import Fraction

import pytest
from hypothesis import given

from leantune.cloud.catalog import clusters
from leantune.problem import Constraint, Problem, maximize, minimize
from leantune.space import Parameter, Space, boolean, choice, integer, linear, log, machine, ordinal, when
from leantune.study.definition import Changes, changes, describe
from leantune.testing.generators import spaces

SMALL = machine("small", vcpus=1, memory=2, usd_per_hour=0.5)
SPACE = Space(
    lr=log(1e-5, 1),
    width=linear(0, 2),
    layers=integer(1, 8, log=True),
    optimizer=choice("sgd", "adam", 3, True),
    size=ordinal("s", "m"),
    nesterov=when(boolean(), optimizer=("sgd", "adam"), layers=2),
    cluster=clusters([SMALL], nodes=[1, 2], extra_nodes=1, overhead_usd_per_hour=0.25),
)
PROBLEM = Problem(SPACE, maximize("accuracy"), ["time <= 10 min", "cost <= $1 @ 90%"], ["1/60", 0.1, 1], snapshots=True)


def described(**parameters: Parameter) -> dict[str, object]:
    return describe(Problem(Space(**parameters), maximize("a")), "eic", {}, 0)


def changed(before: Parameter, after: Parameter) -> Changes:
    other = choice("a", "b")
    return changes(described(x=before, other=other), described(x=after, other=other))


def test_a_definition_in_full() -> None:
    sizes = {"accelerators": 0, "provider": "private", "region": ""}
    assert describe(PROBLEM, "nephele", {"trees": 20, "horizon": 1}, 7) == {
        "space": [
            {"name": "lr", "kind": "log", "low": 1e-5, "high": 1.0},
            {"name": "width", "kind": "linear", "low": 0.0, "high": 2.0},
            {"name": "layers", "kind": "integer", "low": 1, "high": 8, "log": True},
            {"name": "optimizer", "kind": "choice", "options": ["sgd", "adam", 3, True]},
            {"name": "size", "kind": "ordinal", "options": ["s", "m"]},
            {"name": "nesterov", "kind": "boolean", "when": {"layers": [2], "optimizer": ["adam", "sgd"]}},
            {
                "name": "cluster",
                "kind": "clusters",
                "options": [
                    {"type": "small", "nodes": 1, "vcpus": 1.0, "memory_gib": 2.0, "usd_per_hour": 1.25, **sizes},
                    {"type": "small", "nodes": 2, "vcpus": 2.0, "memory_gib": 4.0, "usd_per_hour": 1.75, **sizes},
                ],
            },
        ],
        "goal": {"metric": "accuracy", "direction": "maximize", "scale": "auto", "at": "full"},
        "subject_to": ["time <= 600.0 s", "cost <= 1.0 USD @ 0.9"],
        "fractions": ["1/60", "1/10", "1"],
        "snapshots": True,
        "strategy": {"name": "nephele", "horizon": 1},
        "seed": 7,
    }


@given(spaces())
def test_any_space_is_plain_json_and_equal_to_itself(space: Space) -> None:
    document = describe(Problem(space, maximize("a")), "eic", {}, 0)
    stored = json.loads(json.dumps(document, allow_nan=False))
    assert stored == document
    assert changes(stored, document) == Changes([], [])


def test_equivalent_spellings_are_one_definition() -> None:
    first = Problem(SPACE, maximize("a"), [Constraint("b", True, 1)], [Fraction(1, 10), 1])
    second = Problem(SPACE, maximize("a"), ["b <= 1.0"], ["0.1", "1"])
    options = {"points": 4}
    assert json.dumps(describe(first, "eic", {}, 0)) == json.dumps(describe(second, "eic", options, 0))
    assert changed(when(boolean(), other=("a", "b")), when(boolean(), other=["b", "a"])) == Changes([], [])


def test_a_recipe_of_ones_own_keeps_its_options() -> None:
    assert describe(PROBLEM, "my-own", {"x": 1}, 0)["strategy"] == {"name": "my-own", "x": 1}


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (log(1e-5, 1), log(1e-4, 1), "space.x was log [1e-05, 1.0] and is log [0.0001, 1.0]"),
        (log(1, 2), linear(1, 2), "space.x was log [1.0, 2.0] and is linear [1.0, 2.0]"),
        (integer(1, 2), integer(1, 2, log=True), "space.x was integer [1, 2] and is integer [1, 2] log"),
        (ordinal(1, 2), ordinal(2, 1), "space.x was ordinal [1, 2] and is ordinal [2, 1]"),
        (ordinal(1, 2), ordinal(1, 2, scale="log"), "space.x was ordinal [1, 2] and is ordinal [1, 2] scale log"),
        (ordinal("s", "m"), choice("s", "m"), "space.x was ordinal s, m and is choice s, m"),
        (choice(16), choice(16.0), ""),
        (boolean(), when(boolean(), other="a"), 'space.x was boolean and is boolean when {"other": ["a"]}'),
        (when(choice(1), other="a"), when(choice(1), other="b"), ""),
    ],
)
def test_a_changed_parameter_breaks(before: Parameter, after: Parameter, line: str) -> None:
    found = changed(before, after)
    assert found.harmless == []
    assert found.breaking
    if line:
        assert found.breaking == [line]


def test_options_that_come_and_go() -> None:
    assert changed(choice("a", "b"), choice("b", 3)) == Changes([], ["space.x: a is gone", "space.x: 3 is new"])
    assert changed(choice("a", "b"), choice("b", "a")) == Changes(["space.x is in another order"], [])
    assert changed(choice(1), choice(True)).breaking == ["space.x: 1 is gone", "space.x: true is new"]


def test_clusters_and_prices() -> None:
    dearer = machine("small", vcpus=1, memory=2, usd_per_hour=0.75)
    free = machine("small", vcpus=1, memory=2)
    one = clusters([SMALL], nodes=[1, 2])
    assert changed(one, clusters([SMALL], nodes=[2, 1])) == Changes(["space.x is in another order"], [])
    assert changed(one, clusters([SMALL], nodes=[2, 4])).breaking == [
        "space.x: 1 x small is gone",
        "space.x: 4 x small is new",
    ]
    assert changed(one, clusters([dearer], nodes=[1, 2])).breaking == [
        "space.x: usd_per_hour of 1 x small was 0.5 and is 0.75 (and 1 more)"
    ]
    assert changed(clusters([SMALL]), clusters([free])).breaking == [
        "space.x: usd_per_hour of 1 x small was 0.5 and is not given"
    ]


def test_parameters_that_come_go_and_move() -> None:
    a, b = choice(1), choice(2)
    assert changes(described(a=a, b=b), described(b=b, a=a)) == Changes(
        ["the order of parameters was a, b and is b, a"], []
    )
    assert changes(described(a=a), described(b=a)) == Changes([], ["space.a is gone", "space.b is new"])


def test_everything_else() -> None:
    before = describe(PROBLEM, "eic", {}, 1)
    other = Problem(SPACE, minimize("loss", scale="log"), ["cost <= $1 @ 90%", "time <= 10 min"], [1])
    found = changes(before, describe(other, "nephele", {"horizon": 1}, 2))
    assert found.harmless == ["subject_to is in another order"]
    assert found.breaking == [
        "goal.metric was accuracy and is loss",
        "goal.direction was maximize and is minimize",
        "goal.scale was auto and is log",
        "fractions was 1/60, 1/10, 1 and is 1",
        "snapshots was true and is false",
        "strategy was eic and is nephele",
        "strategy.horizon was not given and is 1",
        "seed was 1 and is 2",
    ]


def test_what_a_job_file_adds() -> None:
    base = describe(PROBLEM, "eic", {}, 1)
    job = {**base, "train": ["p", "{lr}"], "budget": {"usd": 5.0, "trials": None}, "run": {"parallel": 1}, "store": "a"}
    now = {**job, "train": ["q", "{lr}"], "budget": {"usd": 8.0, "trials": 9}, "run": {"parallel": 2}, "store": "b"}
    assert changes(job, now) == Changes(
        [
            "budget.usd was 5.0 and is 8.0",
            "budget.trials was not given and is 9",
            "run.parallel was 1 and is 2",
            "store was a and is b",
        ],
        ["train was p {lr} and is q {lr}"],
    )
    assert changes(base, job).breaking == ["train was not given and is p {lr}"]


@pytest.mark.parametrize("stored", [{}, {"space": 3}, {"space": [{"name": "x"}]}, {"space": None, "new": [1]}])
def test_a_definition_that_another_version_wrote_differs(stored: dict[str, object]) -> None:
    assert changes(stored, describe(PROBLEM, "eic", {}, 1)).breaking
    assert changes(describe(PROBLEM, "eic", {}, 1), stored).breaking


def test_another_present_setting_leaves_trials_comparable() -> None:
    space = Space(n=integer(1, 5))
    plain = describe(Problem(space, maximize("a")), "eic", {}, 0)
    given = describe(Problem(space, maximize("a"), baseline={"n": 2}), "eic", {}, 0)
    assert "baseline" not in plain
    assert changes(plain, given) == Changes(['baseline was not given and is {"n": 2}'], [])


def test_the_last_step_and_the_settings_where_they_are_given() -> None:
    space, goal = Space(n=integer(1, 5), cluster=clusters([SMALL], nodes=[1, 2])), maximize("a")
    plain = describe(Problem(space, goal), "eic", {}, 0)
    assert "steps" not in plain and "settings" not in plain and "fidelity" not in plain
    continued = describe(Problem(space, goal, fidelity="epochs"), "eic", {}, 0)
    assert changes(plain, continued).breaking == ["fidelity was not given and is epochs"]
    listed = [space.grid()[3], space.grid()[0]]
    given = describe(Problem(space, goal, steps=20, settings=listed), "eic", {}, 0)
    assert json.loads(json.dumps(given["settings"]))[0] == {"n": 2, "cluster": {"type": "small", "nodes": 2}}
    assert changes(plain, given).breaking[0] == "steps was not given and is 20.0"
    moved = describe(Problem(space, goal, steps=20, settings=listed[::-1]), "eic", {}, 0)
    assert changes(given, moved) == Changes(["settings is in another order"], [])
    fewer = describe(Problem(space, goal, steps=20, settings=listed[:1]), "eic", {}, 0)
    assert "is gone" in changes(given, fewer).breaking[0]
