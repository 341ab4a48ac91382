"""The job file as a whole."""

import json
import os
import random
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.cloud import catalog
from leantune.errors import JobError
from leantune.history import History
from leantune.jobfile import RunSettings, load_job, parse_job
from leantune.problem import At, Budget, Direction
from leantune.study.definition import changes, document_of
from tests.jobfile.texts import FOLDER, PRODUCT, check_refused, parsed, refused, text

MACHINES = "{machines: {small: {vcpus: 1, memory: 2 GiB, usd_per_hour: 0.02}}, nodes: [1, 2]}"


def test_the_example_of_the_product() -> None:
    job = parse_job(PRODUCT, folder=FOLDER)
    problem = job.problem
    assert (job.name, job.seed, job.strategy, job.strategy_options) == ("fashion-cnn", 1, "trimtuner-gp", {})
    assert problem.space.size is None
    assert list(problem.space.parameters) == ["lr", "batch", "cluster"]
    assert problem.space.parameters["cluster"].count == 24
    assert (problem.goal.metric, problem.goal.direction) == ("accuracy", Direction.MAXIMIZE)
    assert [str(limit) for limit in problem.constraints] == ["cost <= 0.1 USD", "time <= 600.0 s"]
    assert problem.fractions == (Fraction(1, 60), Fraction(1, 10), Fraction(1, 4), Fraction(1, 2), Fraction(1))
    assert problem.budget == Budget(5.0, 44, 8.0)
    assert problem.snapshots is False
    assert job.run == RunSettings("aws", True, "own", 4, 1200.0, 30.0, logs="/project/leantune-runs")
    assert (job.store, job.checkpoints.at) == ("sqlite:////project/leantune.db", FOLDER / "checkpoints")
    assert (job.text, job.folder, job.warnings) == (PRODUCT, FOLDER, ())
    values = {"lr": 1e-5, "batch": 64, "cluster": {"type": "t2.small", "nodes": 8}}
    _, trial = History().propose(problem.space.configuration(values), Fraction(1, 10))
    assert job.command.arguments(trial, {}) == [
        *("python", "train.py", "--lr", "1e-05", "--batch", "64", "--fraction", "0.1", "--workers", "8"),
    ]


def test_the_smallest_job() -> None:
    job = parsed()
    assert (job.problem.fractions, job.strategy, job.seed) == ((Fraction(1),), "eic", 0)
    assert job.problem.constraints == ()


def test_study_and_seed_reach_the_command() -> None:
    job = parsed(train="train: p {study} {seed}", seed="seed: 5")
    _, trial = History().propose(job.problem.space.configuration({"lr": 0.1}), Fraction(1))
    assert job.command.arguments(trial, {"seed": "5"}) == ["p", "study", "5"]


def test_the_default_strategy_serves_the_problem() -> None:
    shares = "fractions: [0.1, 1]"
    assert parsed(fractions=shares).strategy == "lean"
    assert parsed(fractions="fractions: [1]").strategy == "eic"
    cheapest = parsed(
        maximize="minimize: {metric: cost, at: anywhere}",
        fractions=shares,
        space=f"space:\n  lr: [1]\n  c: {MACHINES}",
    )
    assert cheapest.strategy == "lean"
    assert cheapest.problem.goal.at is At.ANYWHERE


def test_a_command_as_a_list_keeps_what_is_written() -> None:
    job = parsed(train="train: [python, 'my train.py', --epochs, 010, --x, 0.10, --flag, true, '{lr}']")
    expected = ["python", "my train.py", "--epochs", "010", "--x", "0.10", "--flag", "true", "{lr}"]
    assert document_of(job)["train"] == expected


@pytest.mark.parametrize(
    "train", ["train: >\n  python train.py\n  --lr {lr}", "train: |\n  python train.py \\\n    --lr {lr}"]
)
def test_a_command_over_several_lines(train: str) -> None:
    assert document_of(parsed(train=train))["train"] == ["python", "train.py", "--lr", "{lr}"]


def test_options_of_a_strategy_have_their_types() -> None:
    job = parsed(strategy="strategy: {name: trimtuner-gp, beta: 1, points: 2}")
    assert job.strategy_options == {"beta": 1.0, "points": 2}
    assert type(job.strategy_options["beta"]) is float
    assert parsed(strategy="strategy: {name: lynceus, initial_usd: }").strategy_options == {"initial_usd": None}


def test_warnings() -> None:
    space = "space: {lr: [1, 2], batch: [1, 2]}"
    assert parsed(space=space).warnings == ("the command never uses {batch}: the program will not know its value",)
    assert parsed(space=space, train="train: python train.py").warnings == ()
    shares = "fractions: [0.1, 1]"
    (warning,) = parsed(fractions=shares).warnings
    assert warning == "the command never uses {fraction}: the program will train on all the data every time"
    assert parsed(fractions=shares, train="train: p {lr} {fraction.exact}").warnings == ()
    assert parsed(fractions=shares, train="train: p").warnings == ()


@pytest.mark.parametrize(
    ("lines", "what", "where", "hint"),
    [
        (
            {"x": "stratgy: eic"},
            "unknown key 'stratgy'",
            "line 7, stratgy",
            "Did you mean 'strategy'? Known keys: name",
        ),
        ({"x": "budgt: 1", "budget": ""}, "unknown key 'budgt'", "line 6, budgt", "Did you mean 'budget'?"),
        ({"x": "1: 2"}, "unknown key '1'", "line 7, 1", "Known keys"),
        ({"x": "name: other"}, "the key 'name' comes twice", "line 7, name", "on line 1 as well"),
        ({"name": ""}, "'name' is missing", "line 1", "Add name: my-study"),
        ({"train": ""}, "'train' is missing", "line 1", "Add train: python train.py --lr {lr}"),
        ({"space": ""}, "'space' is missing", "line 1", "Add space:"),
        ({"name": "name: a b"}, "'a b' cannot name a study", "line 1, name", "such as a-b"),
        ({"name": "name: ../x"}, "'../x' cannot name a study", "line 1, name", "such as x"),
        ({"name": "name: -x"}, "'-x' cannot name a study", "line 1, name", "such as x"),
        ({"name": "name: ü"}, "'ü' cannot name a study", "line 1, name", "letters, digits"),
        ({"name": "name: ''"}, "'' cannot name a study", "line 1, name", "letters, digits"),
        (
            {"name": "name: 2024"},
            "2024 where a text is expected",
            "line 1, name",
            "in quotes if it is meant as text: '2024'",
        ),
        ({"name": "name:"}, "nothing where a text is expected", "line 1, name", "Write name: my-study"),
        ({"name": "name: [a]"}, "a list where a text is expected", "line 1, name", "Write name: my-study"),
        ({"train": "train: p {lrr}"}, "unknown placeholder {lrr}", "line 2, train", "Did you mean {lr}?"),
        ({"train": "train: p {lr} | tee log"}, "'|' is for a shell", "line 2, train", "put this into a script"),
        ({"train": "train: p 'x {lr}"}, "a quote or a backslash at the end is left open", "line 2, train", "Close it"),
        ({"train": "train: {lr}"}, "a mapping where a text is expected", "line 2, train", "train: python train.py"),
        ({"train": "train: 5"}, "5 where a text is expected", "line 2, train", "train: python train.py"),
        ({"train": "train: []"}, "there is no command", "line 2, train", "python train.py"),
        ({"train": "train: [p, {a: b}]"}, "a mapping where an argument is expected", "line 2, train item 2", "train:"),
        ({"train": "train:\n  - p\n  -"}, "nothing where an argument is expected", "line 4, train item 2", "train:"),
        ({"maximize": ""}, "there is no goal", "line 1", "Add maximize: accuracy"),
        ({"x": "minimize: loss"}, "there are two goals, maximize and minimize", "line 7, minimize", "subject_to"),
        ({"maximize": "maximize: cost"}, "cost cannot be maximised", "line 3, maximize", "Write minimize: cost"),
        ({"maximize": "maximize: a b"}, "'a b' is not the name of a metric", "line 3, maximize", "maximize: accuracy"),
        ({"maximize": "maximize: 5"}, "5 where a text is expected", "line 3, maximize", "maximize: accuracy"),
        ({"maximize": "maximize: [a, b]"}, "a list where a text is expected", "line 3, maximize", "maximize: accuracy"),
        ({"maximize": "maximize: {scale: share}"}, "the metric is missing", "line 3, maximize", "metric: accuracy"),
        ({"maximize": "maximize: {metric: a, scal: share}"}, "unknown key 'scal'", "line 3, maximize.scal", "'scale'?"),
        (
            {"maximize": "maximize: {metric: a, scale: lin}"},
            "unknown scale 'lin'",
            "line 3, maximize.scale",
            "'linear'",
        ),
        ({"maximize": "maximize: {metric: a, at: full}"}, "unknown key 'at'", "line 3, maximize.at", "metric, scale"),
        ({"maximize": "minimize:\n  metric: a\n  at: here"}, "unknown at 'here'", "line 5, minimize.at", "'anywhere'"),
        (
            {"maximize": "minimize: {metric: a, scale: share}"},
            "a goal to minimise cannot have the scale 'share'",
            "line 3, minimize.scale",
            "scale: 'linear' or 'log'",
        ),
        (
            {"maximize": "minimize: {metric: a b, scale: log}"},
            "'a b' is not the name of a metric",
            "line 3, minimize.metric",
            "",
        ),
        ({"x": "fractions: [0.1, 0.5]"}, "shares do not end in 1: 1/10, 1/2", "line 7, fractions", "end in 1, such as"),
        ({"x": "fractions: [0.5, 0.1, 1]"}, "shares do not increase: 1/2, 1/10, 1", "line 7, fractions", "increasing"),
        ({"x": "fractions: []"}, "shares do not end in 1: there are none", "line 7, fractions", "end in 1"),
        ({"x": "fractions:"}, "nothing where a share of the data is expected", "line 7, fractions", "end in 1"),
        (
            {"x": "fractions: {a: 1}"},
            "a mapping where a share of the data is expected",
            "line 7, fractions",
            "end in 1",
        ),
        ({"x": "fractions:\n  - 0.1\n  - abc\n  - 1"}, "'abc' is not a number", "line 9, fractions item 2", "'1/60'"),
        ({"x": "fractions: [1/0, 1]"}, "'1/0' is not a number", "line 7, fractions item 1", "'1/60'"),
        ({"x": "fractions: [true]"}, "True is not a number", "line 7, fractions item 1", "'1/60'"),
        ({"x": "fractions: [-1, 1]"}, "-1 is not a share of the data", "line 7, fractions item 1", "above 0"),
        (
            {"x": "subject_to: [cost < 1 USD]"},
            "'cost < 1 USD': '<' cannot be checked on a measurement",
            "line 7, subject_to item 1",
            "cost <=",
        ),
        ({"x": "subject_to: [time <= 10]"}, "'time <= 10': '10' has no unit", "line 7, subject_to item 1", "'10 min'"),
        (
            {"x": "subject_to: [a >= 0.8 @ 2]"},
            "'a >= 0.8 @ 2': probability 2 cannot be kept",
            "line 7, subject_to item 1",
            "@ 0.95",
        ),
        ({"x": "subject_to: good"}, "'good': it does not read as a limit", "line 7, subject_to", "cost <= 0.10 USD"),
        (
            {"x": "subject_to: {cost: 1}"},
            "a mapping where a text is expected",
            "line 7, subject_to",
            "cost <= 0.10 USD",
        ),
        (
            {"x": "subject_to:\n  - time <= 5 s\n  - cost: 1"},
            "a mapping where a text is expected",
            "line 9, subject_to item 2",
            "cost",
        ),
        ({"x": "subject_to: [5]"}, "5 where a text is expected", "line 7, subject_to item 1", "cost <= 0.10 USD"),
        (
            {"x": "subject_to: [time <= 1 s, time <= 2 s]"},
            "two limits of one kind on time: constraints 'time <= 1 s' and 'time <= 2 s'",
            "line 7, subject_to",
            "Keep the tighter one",
        ),
        (
            {"x": "subject_to: [accuracy >= 0.5, cost <= 1 USD]"},
            "this needs dollars, and not every configuration has a price",
            "line 7, subject_to item 2",
            "usd_per_hour",
        ),
        (
            {"budget": "budget: {usd: 5}"},
            "this needs dollars, and not every configuration has a price",
            "line 6, budget.usd",
            "usd_per_hour",
        ),
        (
            {"maximize": "minimize: cost"},
            "this needs dollars, and not every configuration has a price",
            "line 3, minimize",
            "usd_per_hour",
        ),
        (
            {"x": "strategy: trimtuner-pg"},
            "there is no strategy 'trimtuner-pg'",
            "line 7, strategy",
            "Did you mean 'trimtuner-gp'?",
        ),
        (
            {"x": "strategy: {name: nephel}"},
            "there is no strategy 'nephel'",
            "line 7, strategy.name",
            "Did you mean 'nephele'?",
        ),
        (
            {"x": "strategy: {horizon: 1}"},
            "the name of the strategy is missing",
            "line 7, strategy",
            "strategy: {name:",
        ),
        ({"x": "strategy: [eic]"}, "a list where a text is expected", "line 7, strategy", "strategy: lean"),
        (
            {"x": "strategy: {name: nephele, horizn: 1}"},
            "nephele has no option 'horizn'",
            "line 7, strategy.horizn",
            "Did you mean 'horizon'?",
        ),
        (
            {"x": "strategy: {name: nephele, horizon: x}"},
            "horizon of nephele: input should be a valid integer",
            "line 7, strategy.horizon",
            "",
        ),
        (
            {"x": "strategy: {name: nephele, horizon: -1}"},
            "horizon of nephele cannot be -1",
            "line 7, strategy.horizon",
            "at least 0",
        ),
        (
            {"x": "strategy: {name: nephele, horizon: [1]}"},
            "a list where a value is expected",
            "line 7, strategy.horizon",
            "",
        ),
        (
            {"x": "strategy:\n  name: trimtuner\n  beta: 3"},
            "beta of trimtuner cannot be 3",
            "line 9, strategy.beta",
            "share above 0",
        ),
        (
            {"x": "strategy: {name: trimtuner, trees: 0}"},
            "trees of trimtuner cannot be 0",
            "line 7, strategy.trees",
            "1 or more",
        ),
        (
            {"x": "strategy: {name: trimtuner, trees: 1.5}"},
            "trees of trimtuner: input should be a valid integer",
            "line 7, strategy.trees",
            "",
        ),
        (
            {"x": "strategy: {name: ei, candidates: x}"},
            "ei has no option 'candidates'",
            "line 7, strategy.candidates",
            "Its options: points",
        ),
        (
            {"x": "strategy: fabulinus"},
            "fabulinus tests only on parts of the data, and fractions is [1]",
            "line 7, strategy",
            "fractions: [1/20",
        ),
        ({"x": "seed: -1"}, "-1 is less than 0", "line 7, seed", "seed: 1"),
        ({"x": "seed: 1.5"}, "1.5 where a whole number is expected", "line 7, seed", "seed: 1"),
        ({"x": "seed: 1e999"}, "1e999 is too large a number", "line 7, seed", "1e308"),
        ({"x": "snapshots: yes"}, "'yes' where true or false is expected", "line 7, snapshots", "true or false"),
    ],
)
def test_a_bad_job_is_refused_where_it_is_bad(lines: dict[str, str], what: str, where: str, hint: str) -> None:
    check_refused(text(**lines), what, where, hint)


@pytest.mark.parametrize(
    ("whole", "shown"), [("- name: x\n", "a list"), ("hello\n", "'hello'"), ("5", "5"), ("~", "nothing")]
)
def test_what_is_no_mapping_is_refused(whole: str, shown: str) -> None:
    check_refused(whole, f"{shown} where a mapping is expected", "line 1", "name: my-study")


def test_a_goal_that_the_strategy_does_not_serve_is_refused() -> None:
    whole = text(
        maximize="minimize: {metric: time, at: anywhere}",
        fractions="fractions: [0.1, 1]",
        strategy="strategy: trimtuner",
    )
    error = refused(whole)
    assert error.what == "trimtuner does not serve a goal at='anywhere'"
    assert error.where == "job.yaml, line 8, strategy"


@given(st.one_of(st.text(), st.text("abnametrain:-[]{}&*!|>'\"%@`#,? \n\t\\0.e~<", max_size=80)))
def test_any_text_is_a_job_or_a_job_error(whole: str) -> None:
    with pytest.raises(JobError) as caught:  # no text that chance makes up is a whole job
        parse_job(whole, folder=FOLDER)
    assert caught.value.hint
    assert caught.value.where.startswith("job file")


EVERYTHING = f"""\
name: x
train: [python, x, '{{a}}', 3]
minimize: {{metric: cost, at: anywhere}}
subject_to: accuracy >= 0.5 @ 0.9
space:
  a: {{int: [1, 8], log: true}}
  b: {{ordinal: [s, m, l], when: {{c: true}}}}
  c: {{bool: true}}
  d: {{linear: [0, 1], when: {{a: [1, 2]}}}}
  cluster: {MACHINES}
fractions: [0.1, 1]
strategy: {{name: nephele, horizon: 1, initial_usd: 0.5}}
budget: {{usd: 5}}
run: {{on: local, parallel: 2, time_limit: 5 s, logs: x, max_failures: 2, lease: 5 s, deterministic: true}}
"""
PIECES = (
    *(
        "1e999",
        "-1",
        "0",
        "{",
        "}",
        "[",
        "]",
        "'",
        '"',
        ":",
        " ",
        "\n",
        "\t",
        "&a",
        "*a",
        "!x",
        "~",
        "null",
        "true",
        "[]",
    ),
    *("{}", "9" * 30, ".nan", "1/0", "\\", "%", "@", "|", ">", "#", "-", "?", "<<", "\0", "\ud800", "é", "{lr}", "$x"),
    *("0x1F", "1_000", "[1]", "{a: 1}", "sqlite://", "''", "1e-320", "-0.0", "5e-324", "1e308"),
)


@pytest.mark.parametrize("whole", [PRODUCT, EVERYTHING], ids=["product", "everything"])
def test_a_job_with_something_wrong_in_it_is_a_job_or_a_job_error(whole: str) -> None:
    draw = random.Random(7)
    accepted = 0
    for _ in range(150):
        words = list(re.finditer(r"[\w./<=-]+", whole))
        changed = whole
        for _ in range(draw.randint(1, 2)):
            word = draw.choice(words)
            changed = changed[: word.start()] + draw.choice(PIECES) + changed[word.end() :]
        try:
            parse_job(changed, folder=FOLDER)
            accepted += 1
        except JobError as error:
            assert error.hint, error
    assert 0 < accepted < 150


SAME = [
    lambda whole: whole + "\n# a comment\n",
    lambda whole: whole.replace("\n", "\r\n"),
    lambda whole: "\ufeff" + whole,
    lambda whole: whole.replace("1/10", "0.1").replace("1/4", "25e-2"),
    lambda whole: whole.replace("time <= 10 min", "time<=600 s"),
    lambda whole: whole.replace("time <= 10 min", "time ≤ 0.1666666666666666666 h"),
    lambda whole: whole.replace("cost <= 0.10 USD", "cost <= $0.1"),
    lambda whole: whole.replace("20 min", "1200 s").replace("grace: 30 s", "grace: 0.5 min"),
    lambda whole: whole.replace("1e-5, 1e-1", "0.00001, 0.1"),
    lambda whole: whole.replace("strategy: trimtuner-gp", "strategy: {name: trimtuner-gp, beta: 0.1, points: 1}"),
    lambda whole: whole.replace("maximize: accuracy", "maximize: {metric: accuracy, scale: auto}"),
    lambda whole: whole.replace("checkpoints: ./checkpoints", "checkpoints: checkpoints/"),
    lambda whole: whole.replace("store: sqlite:///leantune.db\n", ""),
    lambda whole: whole.replace("region: us-east-1, ", ""),
    lambda whole: whole.replace("[16, 64, 256]", "{choice: [16, 64, 256]}"),
    lambda whole: whole.replace("train: python", "train: >-\n  python "),
    lambda whole: (
        "\n".join(sorted(part for part in whole.split("\n") if not part.startswith((" ", "space"))))
        + "\n"
        + "\n".join(part for part in whole.split("\n") if part.startswith((" ", "space")))
    ),
]


@pytest.mark.parametrize("respelled", SAME)
def test_other_spellings_of_a_job_have_the_same_document(respelled: object) -> None:
    assert callable(respelled)
    changed = respelled(PRODUCT)
    assert changed != PRODUCT
    document = document_of(parse_job(PRODUCT, folder=FOLDER))
    other = document_of(parse_job(changed, folder=FOLDER))
    assert json.dumps(other) == json.dumps(document)
    assert json.loads(json.dumps(document, allow_nan=False)) == document


@pytest.mark.parametrize(
    ("old", "new", "harmless", "breaking"),
    [
        ("usd: 5", "usd: 8", ["budget.usd was 5.0 and is 8.0"], []),
        (", hours: 8", "", ["budget.hours was 8.0 and is not given"], []),
        ("parallel: 4", "parallel: 1", ["run.parallel was 4 and is 1"], []),
        (
            "leantune.db",
            "other.db",
            ["store was sqlite:////project/leantune.db and is sqlite:////project/other.db"],
            [],
        ),
        ("./checkpoints", "/c", ["checkpoints.at was /project/checkpoints and is /c"], []),
        ("seed: 1", "seed: 2", [], ["seed was 1 and is 2"]),
        ("train.py", "train2.py", [], None),
        (
            "maximize: accuracy",
            "minimize: loss",
            [],
            ["goal.metric was accuracy and is loss", "goal.direction was maximize and is minimize"],
        ),
        ("snapshots: false", "snapshots: true", [], ["snapshots was false and is true"]),
        ("1/60, ", "", [], ["fractions was 1/60, 1/10, 1/4, 1/2, 1 and is 1/10, 1/4, 1/2, 1"]),
        (
            "time <= 10 min",
            "time <= 9 min",
            [],
            ["subject_to: time <= 600.0 s is gone", "subject_to: time <= 540.0 s is new"],
        ),
        ("strategy: trimtuner-gp", "strategy: eic", [], ["strategy was trimtuner-gp and is eic"]),
        ("1e-5, 1e-1", "1e-5, 1", [], ["space.lr was log [1e-05, 0.1] and is log [1e-05, 1.0]"]),
        ("[16, 64, 256]", "[16, 64]", [], ["space.batch: 256 is gone"]),
        ("[16, 64, 256]", "[64, 16, 256]", ["space.batch is in another order"], []),
        ("t2.small, ", "", [], None),
    ],
)
def test_what_changed(old: str, new: str, harmless: list[str], breaking: list[str] | None) -> None:
    before = document_of(parse_job(PRODUCT, folder=FOLDER))
    assert old in PRODUCT
    found = changes(before, document_of(parse_job(PRODUCT.replace(old, new), folder=FOLDER)))
    assert found.harmless == harmless
    assert found.breaking == breaking if breaking is not None else found.breaking


def test_a_changed_price_is_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    before = document_of(parse_job(PRODUCT, folder=FOLDER))
    shipped = catalog.catalogue("aws")
    dearer = replace(shipped.machines["t2.small"], usd_per_hour=0.025)
    table = replace(shipped, machines={**shipped.machines, "t2.small": dearer})
    monkeypatch.setattr(catalog, "table_of", lambda provider, region: table)
    found = changes(before, document_of(parse_job(PRODUCT, folder=FOLDER)))
    assert found.breaking == ["space.cluster: usd_per_hour of 8 x t2.small was 0.184 and is 0.2 (and 5 more)"]


def test_a_file_is_read_with_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "job.yaml").write_text(text())
    job = load_job(tmp_path / "job.yaml")
    assert (job.folder, job.store) == (tmp_path, f"sqlite:///{tmp_path}/leantune.db")
    monkeypatch.chdir(tmp_path)
    assert load_job(Path("job.yaml")).folder == tmp_path
    (tmp_path / "job.yaml").write_text(text(seed="seed: x"))
    with pytest.raises(JobError) as caught:
        load_job(Path("job.yaml"))
    assert caught.value.where == "job.yaml, line 7, seed"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_bytes(b"name: x\ntrain: caf\xe9\n")
    (tmp_path / "huge.yaml").write_bytes(b"#" * 300_000)
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    cases = {
        "job.yaml": ("the file is not UTF-8", "job.yaml, line 2", "Save it as UTF-8"),
        "huge.yaml": ("the file is larger than 256 KiB", "huge.yaml", "the right one"),
        "folder": ("this is a folder, not a job file", "folder", "Name the file itself"),
        "jb.yaml": ("there is no such job file", "jb.yaml", "The folder has huge.yaml, job.yaml"),
        "folder/x.yaml": ("there is no such job file", "folder/x.yaml", "The folder has no .yaml file"),
        "none/x.yaml": ("there is no such job file", "none/x.yaml", "Its folder does not exist either"),
        "loop": ("the job file cannot be read: Too many levels of symbolic links", "loop", "readable"),
        "a\0b": ("the job file cannot be read: embedded null byte", "a\0b", "readable"),
        "job.yaml/x": ("the job file cannot be read: Not a directory", "job.yaml/x", "readable"),
    }
    for name, (what, where, hint) in cases.items():
        with pytest.raises(JobError) as caught:
            load_job(tmp_path / name)
        assert caught.value.what == what
        assert caught.value.where == f"{tmp_path}{os.sep}{where}"
        assert hint in caught.value.hint
    with pytest.raises(JobError, match=r"this is a folder.*Did you mean .*huge.yaml\?"):
        load_job(tmp_path)


SETTINGS = "settings: [{lr: 0.01}, {lr: 0.02}]"


def test_spottune_is_a_strategy_with_options() -> None:
    job = parsed(extra=f"strategy: {{name: spottune, theta: 0.5, mcnt: 2}}\nsteps: 20\n{SETTINGS}")
    assert (job.strategy, job.strategy_options) == ("spottune", {"theta": 0.5, "mcnt": 2})
    assert document_of(job)["strategy"] == {"name": "spottune", "theta": 0.5, "mcnt": 2}
    whole = parsed(extra=f"strategy: {{name: spottune, theta: 1}}\nsteps: 20\n{SETTINGS}")
    assert document_of(whole)["strategy"] == {"name": "spottune", "theta": 1.0}


@pytest.mark.parametrize(
    ("extra", "what", "hint"),
    [
        (f"strategy: spottune\n{SETTINGS}", "how many steps a training has is not said", "steps: 100"),
        ("strategy: spottune\nsteps: 20", "no end of them", "settings:"),
        (
            f"strategy: {{name: spottune, theta: 2}}\nsteps: 20\n{SETTINGS}",
            "theta of spottune cannot be 2",
            "at most 1",
        ),
        (f"strategy: {{name: spottune, mcnt: 2.5}}\nsteps: 20\n{SETTINGS}", "mcnt of spottune", "strategy:"),
        (f"strategy: {{name: spottune, thata: 1}}\nsteps: 20\n{SETTINGS}", "no option 'thata'", "'theta'"),
        ("strategy: spotune", "there is no strategy 'spotune'", "'spottune'"),
    ],
)
def test_what_spottune_needs_is_said(extra: str, what: str, hint: str) -> None:
    error = refused(text(extra=extra))
    assert what in error.what
    assert hint in error.hint
