"""What a job file wants: goal, limits, listed settings, the present setting, shares of the data."""

import pytest

from leantune.problem import Direction, Scale
from leantune.study.definition import document_of
from tests.jobfile.texts import check_refused, parsed, refused, text

MACHINES = "{machines: {small: {vcpus: 1, memory: 2 GiB, usd_per_hour: 0.02}}, nodes: [1, 2]}"


def test_goals() -> None:
    assert parsed(maximize="maximize: {metric: f1, scale: share}").problem.goal.scale is Scale.SHARE
    goal = parsed(maximize="minimize: {metric: time, scale: log}").problem.goal
    assert (goal.metric, goal.direction, goal.scale) == ("time", Direction.MINIMIZE, Scale.LOG)


def test_one_limit_needs_no_brackets() -> None:
    assert len(parsed(subject_to="subject_to: time <= 10 min @ 0.95").problem.constraints) == 1


def test_a_list_of_settings_and_the_last_step() -> None:
    space = "space:\n  lr: [0.1, 0.2]\n  batch: {int: [1, 64]}\n  cluster: {machines: {a: {vcpus: 1, memory: 1}}}"
    train = "train: p {lr} {batch}"
    job = parsed(
        space=space, train=train, steps="steps: 40", settings="settings: [{lr: 0.2, batch: 8}, {batch: 9, lr: 0.1}]"
    )
    assert job.problem.steps == 40.0
    assert (parsed().problem.steps, parsed().problem.settings) == (None, ())
    cluster = {"type": "a", "nodes": 1}
    settings = ({"lr": 0.2, "batch": 8}, {"lr": 0.1, "batch": 9})
    assert document_of(job)["settings"] == [{**setting, "cluster": cluster} for setting in settings]
    assert "settings" not in document_of(parsed()) and "steps" not in document_of(parsed())


def test_settings_are_tested_on_every_cluster() -> None:
    space = "space: {lr: [0.1, 0.2, 0.3], cluster: {machines: {a: {vcpus: 1, memory: 1 GiB}}, nodes: [1, 2]}}"
    job = parsed(space=space, train="train: python train.py", settings="settings: [{lr: 0.3}, {lr: 0.1}]")
    found = [(setting["lr"], getattr(setting.cluster, "nodes", None)) for setting in job.problem.settings]
    assert found == [(0.3, 1), (0.3, 2), (0.1, 1), (0.1, 2)]


@pytest.mark.parametrize(
    ("line", "what", "hint"),
    [
        ("steps: 0", "0 is no number of steps", "steps: 100"),
        ("steps: many", "'many' where a number is expected", "steps: 100"),
        ("settings: []", "there are no settings", "- {lr: 0.1"),
        ("settings: {lr: 0.1}", "a mapping where a list is expected", "- {lr: 0.1"),
        ("settings: [0.1]", "0.1 where a mapping is expected", "- {lr: 0.1"),
        ("settings: [{lr: 0.01}, {lr: 0.01}]", "the setting comes twice", "once"),
        ("settings: [{lr: 0.01, a: {type: b}}]", "a mapping where a value is expected", "- {lr: 0.1"),
    ],
)
def test_bad_settings_and_steps_are_refused(line: str, what: str, hint: str) -> None:
    error = refused(text(extra=line))
    assert error.what == what
    assert hint in error.hint


def test_a_setting_outside_of_the_space_or_with_a_machine_is_refused() -> None:
    assert "settings" in refused(text(extra="settings: [{lr: 7}]")).where
    space = "space:\n  lr: [0.1]\n  cluster: {machines: {a: {vcpus: 1, memory: 1}}}"
    error = refused(text(space=space, extra="settings: [{lr: 0.1, cluster: a}]"))
    assert error.what == "cluster is not part of a setting"


TWO_SIZES = "{machines: {small: {vcpus: 1, memory: 2 GiB}, large: {vcpus: 2, memory: 4 GiB}}, nodes: [1, 2]}"


@pytest.mark.parametrize("written", ["2 x small", "2 × small", "{type: small, nodes: 2}"])
def test_the_present_setting(written: str) -> None:
    space = f"space:\n  lr: {{log: [1e-5, 1e-1]}}\n  batch: [16]\n  cluster: {TWO_SIZES}"
    job = parsed(space=space, train="train: python train.py", baseline=f"baseline: {{lr: 1e-3, cluster: {written}}}")
    setting = job.problem.baseline
    assert setting is not None and setting.cluster is not None
    assert (setting["lr"], setting["batch"], str(setting.cluster)) == (1e-3, 16, "2 x small")
    assert document_of(job)["baseline"] == {"lr": 1e-3, "batch": 16, "cluster": {"type": "small", "nodes": 2}}


@pytest.mark.parametrize(
    ("line", "what", "where", "hint"),
    [
        ("baseline: 3", "3 where a mapping is expected", "line 6, baseline", "present setting"),
        (
            "baseline:\n  lr: 7\n  cluster: 1 x small",
            "7.0 is out of bounds",
            "line 7, baseline.lr",
            "from 1e-05 to 0.1",
        ),
        ("baseline:\n  lr: fast", "'fast' is not a number", "line 7, baseline.lr", "from 1e-05 to 0.1"),
        ("baseline: {lr: [1]}", "a list where a value is expected", "line 6, baseline.lr", "lr: 0.001"),
        ("baseline: {lrr: 1}", "there is no parameter 'lrr'", "line 6, baseline.lrr", "lr"),
        ("baseline: {lr: 0.1}", "parameter 'cluster' is missing", "line 6, baseline", "each of"),
        (
            "baseline: {lr: 0.1, cluster: small}",
            "the number of nodes is missing",
            "line 6, baseline.cluster",
            "1 x small, 2 x small",
        ),
        (
            "baseline: {lr: 0.1, cluster: 3 x small}",
            "'3 x small' is none of the space's clusters",
            "line 6, baseline.cluster",
            "1 x small, 2 x small",
        ),
        (
            "baseline: {lr: 0.1, cluster: tiny}",
            "'tiny' is none of the space's clusters",
            "line 6, baseline.cluster",
            "1 x small, 2 x small, 1 x",
        ),
        ("baseline: {lr: 0.1, cluster: {nodes: 1}}", "the type is missing", "line 6, baseline.cluster", "type: small"),
    ],
)
def test_a_present_setting_must_lie_in_the_space(line: str, what: str, where: str, hint: str) -> None:
    space = f"space: {{lr: {{log: [1e-5, 1e-1]}}, cluster: {TWO_SIZES}}}"
    check_refused(text(space=space, train="train: python train.py", extra=line), what, where, hint)


def test_a_free_machine_is_no_part_of_the_present_setting() -> None:
    lines = {"space": f"space: {{lr: [0.1, 0.2], cluster: {MACHINES}}}", "run": "run: {machine: free}"}
    lines |= {"train": "train: p {lr}", "strategy": "strategy: random"}
    assert parsed(**lines, extra="baseline: {lr: 0.1}").problem.baseline == parsed(**lines).problem.space.configuration(
        {"lr": 0.1}
    )
    error = refused(text(**lines, extra="baseline: {lr: 0.1, cluster: 1 x small}"))
    assert "the machine is free" in error.what and error.hint == "Leave it out"


def test_what_fractions_are_of() -> None:
    shares = "fractions: [1/4, 1]"
    assert parsed(fractions=shares).problem.fidelity == "data"
    job = parsed(fractions=shares, fidelity="fidelity: epochs")
    assert (job.problem.fidelity, document_of(job)["fidelity"]) == ("epochs", "epochs")
    assert "train to the end every time" in job.warnings[0]
    check_refused(text(fidelity="fidelity: epoch"), "fractions are not of 'epoch'", "line 7, fidelity", "epochs")
    check_refused(text(fidelity="fidelity: 3"), "3 where a text is expected", "line 7, fidelity", "fidelity: epochs")
