"""`space:` of a job file."""

import pytest

from leantune.cloud.catalog import clusters
from leantune.space import Parameter, boolean, choice, integer, linear, log, machine, ordinal, when
from tests.jobfile.texts import check_refused, parsed, refused, text

SMALL = machine("small", vcpus=1, memory="2 GiB", usd_per_hour=0.02)
LARGE = machine("large", vcpus=4, memory=16, accelerators=2, accelerator="k80")


def read(form: str) -> Parameter:
    space = f"space:\n  lr: [1, 2]\n  optimizer: [sgd, adam]\n  x: {form}"
    return parsed(space=space).problem.space.parameters["x"]


@pytest.mark.parametrize(
    ("form", "parameter"),
    [
        ("[16, 64, 256]", choice(16, 64, 256)),
        ("[a, 1.5, true, '1']", choice("a", 1.5, True, "1")),
        ("\n    - a\n    - b", choice("a", "b")),
        ("{choice: [a, b]}", choice("a", "b")),
        ("{ordinal: [s, m, l]}", ordinal("s", "m", "l")),
        ("{linear: [0, 1]}", linear(0, 1)),
        ("{log: [1e-5, 1e-1]}", log(1e-5, 1e-1)),
        ("{int: [1, 8]}", integer(1, 8)),
        ("{int: [1, 8], log: true}", integer(1, 8, log=True)),
        ("{int: [1, 8], log: false}", integer(1, 8)),
        ("{bool: true}", boolean()),
        ("{linear: [0, 1], when: {optimizer: sgd}}", when(linear(0, 1), optimizer="sgd")),
        ("{choice: [a], when: {optimizer: [sgd, adam], lr: 1}}", when(choice("a"), optimizer=("sgd", "adam"), lr=1)),
        ("{provider: aws, types: [t2.small], nodes: [1, 2]}", clusters("aws", types=["t2.small"], nodes=[1, 2])),
        ("{provider: aws, region: us-east-1, vcpus: [96]}", clusters("aws", vcpus=[96])),
        ("{provider: aws, types: t2.small}", clusters("aws", types=["t2.small"])),
        (
            "{provider: aws, types: [t2.small, t2.large], nodes: {t2.small: 4, t2.large: [1, 2]}}",
            clusters("aws", types=["t2.small", "t2.large"], nodes={"t2.small": [4], "t2.large": [1, 2]}),
        ),
        (
            "{machines: {small: {vcpus: 1, memory: 2 GiB, usd_per_hour: 0.02}}, nodes: [1, 2]}",
            clusters([SMALL], nodes=[1, 2]),
        ),
        (
            "{machines: {small: {vcpus: 1, memory: 2048 MiB, usd_per_hour: $0.02}}, extra_nodes: 1, "
            "overhead_usd_per_hour: 0.1 USD}",
            clusters([SMALL], extra_nodes=1, overhead_usd_per_hour=0.1),
        ),
        (
            "{machines: {small: {vcpus: 1, memory: 2}, large: {vcpus: 4, memory: 16, accelerators: 2, "
            "accelerator: k80}}, types: [large], vcpus: 8}",
            clusters([LARGE], vcpus=[8]),
        ),
    ],
)
def test_every_form_of_parameter(form: str, parameter: Parameter) -> None:
    assert read(form) == parameter


def test_parameters_keep_their_order_and_a_cluster_may_have_any_name() -> None:
    job = parsed(
        space="space: {lr: [1], hosts: {machines: {a: {vcpus: 1, memory: 1}}}, b: [2]}", train="train: p {hosts.type}"
    )
    assert list(job.problem.space.parameters) == ["lr", "hosts", "b"]


FORMS = "Write [a, b, c], {log: [low, high]}"
MACHINES = "{machines: {a: {vcpus: 1, memory: 2}}, "


@pytest.mark.parametrize(
    ("form", "what", "key", "hint"),
    [
        ("0.10", "0.1 where a parameter is expected", "", "Write [0.10] for a value that does not change"),
        ("", "nothing where a parameter is expected", "", FORMS),
        ("{}", "no kind of parameter is given", "", FORMS),
        ("{when: {lr: 1}}", "no kind of parameter is given", "", FORMS),
        ("[]", "there are no options", "", "List at least one value"),
        ("[1, 1]", "option 1 comes twice", "", "List each option once"),
        ("[a, [b]]", "a list where an option is expected", " item 2", "List texts"),
        ("[a, ~]", "nothing where an option is expected", " item 2", "List texts"),
        ("[.nan]", ".nan is not a finite number", " item 1", "Write a number"),
        ("{log: [0, 1]}", "log scale needs a lower bound above 0, got 0", ".log", "above 0, such as 1e-6"),
        ("{log: [1, 0.1]}", "lower bound 1 is not below upper bound 0.1", ".log", "Write the smaller first: 0.1, 1"),
        ("{linear: [5, 5]}", "lower bound 5 is not below upper bound 5", ".linear", "Write [5] for a value"),
        ("{linear: [-1.7e308, 1.7e308]}", "bounds are too far apart", ".linear", "below 1e308"),
        ("{log: [1]}", "two bounds are expected, not 1", ".log", "Write [low, high]"),
        ("{log: 1}", "1 where a list is expected", ".log", "in brackets: [low, high]"),
        ("{log: [1, b]}", "'b' where a number is expected", ".log item 2", "as in {log: [1e-5, 1e-1]}"),
        ("{linear: [true, 2]}", "true where a number is expected", ".linear item 1", "as in {linear: [0, 1]}"),
        ("{int: [1, 2.5]}", "2.5 where a whole number is expected", ".int item 2", "as in {int: [1, 8]}"),
        ("{int: [1, 99999999999999999]}", "bound 99999999999999999 is too large", ".int", "Stay within 2**53"),
        ("{int: [1, 2], log: 5}", "5 where true or false is expected", ".log", "log: true"),
        ("{int: [0, 2], log: true}", "log scale needs a lower bound above 0, got 0", ".int", "above 0"),
        ("{log: [1, 2], linear: [1, 2]}", "log and linear at once", "", FORMS),
        ("{bool: false}", "bool is false", ".bool", "Write {bool: true}"),
        ("{bool: 1}", "1 where true or false is expected", ".bool", "Write {bool: true}"),
        ("{ordinal: s}", "'s' where a list is expected", ".ordinal", "List them in order"),
        ("{uniform: [1, 2]}", "unknown key 'uniform'", ".uniform", "Did you mean 'linear'?"),
        ("{loguniform: [1, 2]}", "unknown key 'loguniform'", ".loguniform", "Did you mean 'log'?"),
        ("{categorical: [1, 2]}", "unknown key 'categorical'", ".categorical", "Did you mean 'choice'?"),
        ("{linaer: [1, 2]}", "unknown key 'linaer'", ".linaer", "Did you mean 'linear'?"),
        ("{nodes: [1]}", "'nodes' without provider or machines", ".nodes", "{provider: aws"),
        ("{linear: [0, 1], when: }", "nothing where a mapping is expected", ".when", "when: {optimizer: sgd}"),
        ("{linear: [0, 1], when: {}}", "there is no condition", ".when", "when: {optimizer: sgd}"),
        ("{linear: [0, 1], when: {lr: []}}", "no value is given", ".when", "Write lr="),
        (
            "{linear: [0, 1], when: {optimzer: sgd}}",
            "condition on unknown parameter 'optimzer'",
            ".when.optimzer",
            "Did you mean 'optimizer'?",
        ),
        (
            "{linear: [0, 1], when: {optimizer: [sgdd]}}",
            "'sgdd' is not an option",
            ".when",
            "Give one of 'sgd', 'adam'",
        ),
        (
            "{linear: [0, 1], when: {optimizer: {a: b}}}",
            "a mapping where a value is expected",
            ".when.optimizer",
            "when: {",
        ),
        ("{provider: aw}", "unknown provider 'aw'", ".provider", "Known: aws. Or declare your own: {machines"),
        ("{provider: [aws]}", "a list where a text is expected", ".provider", "provider: aws"),
        ("{provider: aws, region: mars}", "unknown region 'mars'", ".region", "Prices of us-east-1 are shipped"),
        (
            "{provider: aws, types: [t2.small, t2.smal]}",
            "unknown machine type 't2.smal'",
            ".types item 2",
            "Did you mean t2.small",
        ),
        ("{provider: aws, types: [t2.small, t2.small]}", "type 't2.small' comes twice", ".types item 2", "once"),
        ("{provider: aws, types: []}", "types is empty", ".types", "Name at least one"),
        ("{provider: aws, types: [5]}", "5 where a text is expected", ".types item 1", "such as t2.small"),
        ("{provider: aws, typs: [x]}", "unknown key 'typs'", ".typs", "Did you mean 'types'?"),
        ("{provider: aws, nodes: [0]}", "0 is less than 1", ".nodes item 1", "such as [1, 2]"),
        ("{provider: aws, nodes: [1.5]}", "1.5 where a whole number is expected", ".nodes item 1", "such as [1, 2]"),
        ("{provider: aws, nodes: []}", "there are no options", ".nodes", "List at least one value"),
        (
            "{provider: aws, nodes: {t2.smal: 1}}",
            "unknown machine type 't2.smal'",
            ".nodes.t2.smal",
            "Did you mean t2.small",
        ),
        ("{provider: aws, types: [t2.xlarge], vcpus: [3]}", "no number of nodes gives 3 vCPUs", ".vcpus", "multiples"),
        ("{provider: aws, vcpus: [a]}", "'a' where a whole number is expected", ".vcpus item 1", "such as [8, 16]"),
        ("{provider: aws, nodes: [1], vcpus: [8]}", "both nodes and vcpus are given", ".vcpus", "Keep one"),
        ("{provider: aws, machines: {}}", "both a provider and machines of your own", ".machines", "Keep one"),
        ("{machines: {}}", "there are no machines", ".machines", "small: {vcpus: 1"),
        ("{machines: [a]}", "a list where a mapping is expected", ".machines", "small: {vcpus: 1"),
        ("{machines: {a: 1}}", "1 where a mapping is expected", ".machines.a", "small: {vcpus: 1"),
        ("{machines: {a: {vcpus: 1}}}", "memory of 'a' is missing", ".machines.a", "memory: 2 GiB"),
        (
            "{machines: {a: {vcpus: 0, memory: 2}}}",
            "0 is not the size or price of a machine",
            ".machines.a.vcpus",
            "vcpus: 1",
        ),
        (
            "{machines: {a: {vcpus: 1e300, memory: 2}}}",
            "1e300 is not the size or price of a machine",
            ".machines.a.vcpus",
            "vcpus: 1",
        ),
        (
            "{machines: {a: {vcpus: 1, memory: 2 parsec}}}",
            "unknown unit 'parsec'",
            ".machines.a.memory",
            "such as '2 GiB'",
        ),
        (
            "{machines: {a: {vcpus: 1, memory: 2, usd_per_hour: x}}}",
            "'x' is not an amount of money",
            ".machines.a.usd_per_hour",
            "$0.10",
        ),
        (
            "{machines: {a: {vcpus: 1, memory: 2, price: 1}}}",
            "unknown key 'price'",
            ".machines.a.price",
            "usd_per_hour",
        ),
        ("{machines: {'': {vcpus: 1, memory: 2}}}", "a machine needs a name", ".machines.", "machine"),
        (MACHINES + "region: x}", "region is for machines of a provider", ".region", "Leave it out"),
        (MACHINES + "types: [b]}", "unknown machine type 'b'", ".types item 1", "There are a"),
        (MACHINES + "extra_nodes: -1}", "-1 is less than 0", ".extra_nodes", "at least 0"),
    ],
)
def test_a_bad_parameter_is_refused_where_it_stands(form: str, what: str, key: str, hint: str) -> None:
    whole = text(space=f"space:\n  lr: [1, 2]\n  optimizer: [sgd, adam]\n  x: {form}")
    check_refused(whole, what, f"line 7, space.x{key}", hint)


def test_lines_are_those_of_the_item() -> None:
    space = "space:\n  lr: [1]\n  cluster:\n    provider: aws\n    types:\n      - t2.small\n      - t2.smal"
    assert refused(text(space=space)).where == "job.yaml, line 10, space.cluster.types item 2"
    space = "space:\n  lr: [1]\n  m:\n    linear: [0, 1]\n    when:\n      lr: 2"
    assert refused(text(space=space)).where == "job.yaml, line 8, space.m.when"


@pytest.mark.parametrize(
    ("space", "what", "where", "hint"),
    [
        ("space:", "nothing where a mapping is expected", "line 4, space", "lr: {log"),
        ("space: {}", "the space has no parameter", "line 4, space", "lr: {log"),
        ("space: [lr]", "a list where a mapping is expected", "line 4, space", "lr: {log"),
        ("space: {l-r: [1]}", "'l-r' is not a name", "line 4, space.l-r", "letters, digits"),
        ("space: {self: [1]}", "'self' is reserved", "line 4, space.self", "self_"),
        ("space: {valid: [1]}", "'valid' is reserved", "line 4, space.valid", "valid_"),
        (
            "space:\n  lr: [1]\n  a: {bool: true, when: {b: true}}\n  b: {bool: true, when: {a: true}}",
            "conditions go round in a circle: a -> b -> a",
            "line 4, space",
            "Let one of them exist always",
        ),
        (
            "space:\n  lr: {linear: [0, 1]}\n  a: {bool: true, when: {lr: 1}}",
            "condition on 'lr', which is no choice, ordinal, boolean or integer",
            "line 6, space.a.when",
            "on a choice",
        ),
        (
            "space:\n  a: {machines: {a: {vcpus: 1, memory: 1}}}\n  b: {machines: {a: {vcpus: 1, memory: 1}}}",
            "two cluster parameters, 'a' and 'b'",
            "line 4, space",
            "in one of them",
        ),
    ],
)
def test_a_bad_space_is_refused(space: str, what: str, where: str, hint: str) -> None:
    check_refused(text(space=space), what, where, hint)


def test_a_reserved_name_is_refused() -> None:
    error = refused(text(space="space: {lr: [1], fraction: [1]}"))
    assert error.what.startswith("'fraction' is reserved: the share of the training data")
    assert error.where == "job.yaml, line 4, space.fraction"
