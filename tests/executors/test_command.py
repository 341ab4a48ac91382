"""Commands: split without a shell, filled without surprises."""

import re
import shlex
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.cloud.catalog import clusters
from leantune.errors import JobError
from leantune.executors.command import Command, split, values_of
from leantune.history import History
from leantune.space import Space, boolean, choice, integer, linear, log, machine, when

EXTRA = {"checkpoint_dir": "/runs/trial-0000/checkpoint", "trial": "0", "attempt": "1", "log": "/x"}
SPACE = Space(
    lr=log(1e-5, 1e-1),
    layers=integer(1, 9),
    nesterov=boolean(),
    optimizer=choice("sgd", "adam"),
    momentum=when(linear(0, 1), optimizer="sgd"),
    damping=when(linear(0, 1), optimizer="sgd"),
    cluster=clusters([machine("small", vcpus=0.5, memory="2 GiB", usd_per_hour=0.02)], nodes=[1, 2]),
)
SGD = {"lr": 1e-5, "layers": 3, "nesterov": True, "optimizer": "sgd", "momentum": 0.5, "damping": 0.25}
ADAM = {"lr": 0.1, "layers": 3, "nesterov": False, "optimizer": "adam"}
UNPRICED = Space(lr=log(1e-5, 1e-1), machine=clusters([machine("own", vcpus=1, memory=1)]))


def arguments(
    text: str | list[str], values: dict[str, object] = SGD, fraction: Fraction = Fraction(1, 10)
) -> list[str]:
    command = Command.parse(text, SPACE, constants={"study": "s", "seed": "7"})
    configuration = SPACE.configuration({**values, "cluster": {"type": "small", "nodes": 2}})
    _, trial = History().propose(configuration, fraction)
    return command.arguments(trial, EXTRA)


def test_every_placeholder_has_its_value() -> None:
    text = (
        "prog {lr} {layers} {nesterov} {optimizer} {momentum} {fraction} {fraction.exact} {cluster.type} "
        "{cluster.nodes} {cluster.vcpus} {cluster.memory} {cluster.accelerators} {cluster.usd_per_hour} "
        "{checkpoint_dir} {trial} {attempt} {study} {seed}"
    )
    assert arguments(text) == [
        *("prog", "1e-05", "3", "true", "sgd", "0.5", "0.1", "1/10", "small"),
        *("2", "1", "4", "0", "0.04", "/runs/trial-0000/checkpoint", "0", "1", "s", "7"),
    ]


def test_shares_are_written_as_decimals_and_exactly() -> None:
    assert arguments("p {fraction} {fraction.exact}", fraction=Fraction(1, 60)) == ["p", "0.016666666666666666", "1/60"]
    assert arguments("p {fraction} {fraction.exact}", fraction=Fraction(1)) == ["p", "1.0", "1"]


def test_a_size_that_is_not_whole_stays_so() -> None:
    configuration = SPACE.configuration({**ADAM, "cluster": {"type": "small", "nodes": 1}})
    assert values_of(configuration)["cluster.vcpus"] == "0.5"


def test_placeholders_inside_arguments_and_literal_braces() -> None:
    assert arguments("p --x={lr}:{layers}/z '{{\"a\": {layers}}}' }}{{") == ["p", "--x=1e-05:3/z", '{"a": 3}', "}{"]


def test_a_list_of_arguments_is_taken_as_it_is() -> None:
    assert arguments(["p", "a b", "", "$HOME", "|", "{lr}"]) == ["p", "a b", "", "$HOME", "|", "1e-05"]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("p --momentum {momentum} --lr {lr}", ["p", "--lr", "0.1"]),
        ("p --momentum={momentum} --lr {lr}", ["p", "--lr", "0.1"]),
        ("p -m {momentum} data.csv", ["p", "data.csv"]),
        ("p --pair {momentum} {damping} --lr {lr}", ["p", "--lr", "0.1"]),
        ("p --pair {momentum} {lr}", ["p", "--pair", "0.1"]),
        ("p {momentum} {lr}", ["p", "0.1"]),
        ("p -5 {momentum}", ["p", "-5"]),
        ("p -- {momentum}", ["p", "--"]),
        ("p --dir {checkpoint_dir} {momentum}", ["p", "--dir", "/runs/trial-0000/checkpoint"]),
        ("p --verbose --m a{momentum}b", ["p", "--verbose"]),
    ],
)
def test_what_a_configuration_lacks_is_left_out_with_its_option(text: str, left: list[str]) -> None:
    assert arguments(text, ADAM) == left


def test_a_value_stays_one_argument_whatever_it_holds() -> None:
    nasty = "a b'; rm -rf / $(x) `y` {lr} | > & \n\t\"*~"
    space = Space(x=choice(nasty, "--other"))
    command = Command.parse("p {x} --x={x}", space)
    _, trial = History().propose(space.configuration({"x": nasty}), Fraction(1))
    assert command.arguments(trial, EXTRA) == ["p", nasty, f"--x={nasty}"]


def test_a_placeholder_that_the_place_does_not_give_is_an_error() -> None:
    command = Command.parse("p {checkpoint_dir}", SPACE)
    _, trial = History().propose(SPACE.configuration({**ADAM, "cluster": {"type": "small", "nodes": 1}}), Fraction(1))
    with pytest.raises(JobError, match=r"{checkpoint_dir} has no value here"):
        command.arguments(trial, {})


SEARCHED = Space(lr=log(1e-5, 1e-1), optimizer=choice("sgd", "adam"), momentum=when(linear(0, 1), optimizer="sgd"))
PLACES = SPACE.parameters["cluster"]
RUN = Space(**SEARCHED.parameters, cluster=PLACES)  # what a trial has when it is started


def test_a_machine_may_be_chosen_after_the_trial_was_proposed() -> None:
    """The searched space has no cluster; the command is read with one, and filled from the started trial's own."""
    command = Command.parse("p --lr {lr} --workers {cluster.vcpus} --m {momentum}", RUN)
    _, trial = History().propose(SEARCHED.configuration({"lr": 0.1, "optimizer": "adam"}), Fraction(1))
    machine_of = {"cluster": {"type": "small", "nodes": 2}}
    placed = replace(trial, configuration=RUN.configuration({**trial.configuration, **machine_of}))
    assert command.arguments(placed, EXTRA) == ["p", "--lr", "0.1", "--workers", "1"]
    assert command.unused(SEARCHED) == ["optimizer"]


def test_an_argument_is_not_left_out_in_silence_where_every_trial_has_a_value() -> None:
    command = Command.parse("p --lr {lr} --workers {cluster.vcpus}", RUN)
    _, trial = History().propose(SEARCHED.configuration({"lr": 0.1, "optimizer": "adam"}), Fraction(1))
    with pytest.raises(JobError, match=r"the command uses {cluster}, and the trial has none") as caught:
        command.arguments(trial, EXTRA)
    assert caught.value.where == "trial 0"


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("p {lrr}", "unknown placeholder {lrr}", "Did you mean {lr}? There are {lr}, {layers}"),
        ("p {cluster.vcpu}", "unknown placeholder {cluster.vcpu}", "Did you mean {cluster.vcpus}?"),
        ("p {zzz}", "unknown placeholder {zzz}", "There are {lr}"),
        ("p {}", "unknown placeholder {}", "There are {lr}"),
        ("p {lr!r:>5}", "'>' is for a shell", "Quote it"),
        ("p '{lr!r:>5}'", "unknown placeholder {lr!r:>5}", "doubled: {{ and }}"),
        ("p {lr.__class__}", "unknown placeholder {lr.__class__}", "There are"),
        ("p {cluster}", "{cluster} is a machine type and a number of nodes", "Write {cluster.type}, {cluster.nodes}"),
        ("p {lr", "a single '{' in '{lr'", "Write {{ for a brace"),
        ("p lr}", "a single '}' in 'lr}'", "Write }} for a brace"),
        ("{momentum} x", "the program is {momentum}, which not every trial has", "Begin with a program"),
        ("", "there is no command", "python train.py"),
        ("  \n ", "there is no command", "python train.py"),
        ("'' x", "there is no command", "python train.py"),
        ("p 'x", "a quote or a backslash at the end is left open", "Close it"),
        ('p "x', "a quote or a backslash at the end is left open", "Close it"),
        ("p x\\", "a quote or a backslash at the end is left open", "Close it"),
        ("p | tee log", "'|' is for a shell", "put this into a script"),
        ("p > log", "'>' is for a shell", "put this into a script"),
        ("p 2>&1", "'>&' is for a shell", "script"),
        ("p < x", "'<' is for a shell", "script"),
        ("cd x && p", "'&&' is for a shell", "script"),
        ("p &", "'&' is for a shell", "script"),
        ("p; q", "';' is for a shell", "script"),
        ("(p)", "'(' is for a shell", "script"),
        ("p $HOME", "'$' is for a shell", "Quote it '...' where it is meant literally"),
        ("p ${HOME}", "'$' is for a shell", "script"),
        ("p $(x)", "'$' is for a shell", "script"),
        ('p "$HOME"', "'$' is for a shell", "script"),
        ("p `x`", "a backtick is for a shell", "script"),
        ('p "`x`"', "a backtick is for a shell", "script"),
        ("p\nq", "there is more than one line", "Give one command"),
        ("A=1 p", "'A=1' is not a program", "env A=1 ..."),
        ("p ~/data", "'~/data' is not expanded", "Write the whole path"),
    ],
)
def test_what_cannot_be_started_is_refused(text: str, what: str, hint: str) -> None:
    with pytest.raises(JobError) as caught:
        Command.parse(text, SPACE)
    assert caught.value.what.startswith(what)
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "p '|' '$HOME' '`x`' \\$x \\| \"a;b\" '(' costs 5$ a$",
            ["p", "|", "$HOME", "`x`", "$x", "|", "a;b", "(", "costs", "5$", "a$"],
        ),
        ("p \\\n  --lr 1 \\\r\n  --x 2\n", ["p", "--lr", "1", "--x", "2"]),
        ("p 'a\nb'", ["p", "a\nb"]),
        ("env A=1 p", ["env", "A=1", "p"]),
        ("p --a=~/x *.csv [ab] #c", ["p", "--a=~/x", "*.csv", "[ab]", "#c"]),
        ('p "it\'s" \'say "x"\'', ["p", "it's", 'say "x"']),
    ],
)
def test_quotes_are_those_of_a_shell(text: str, words: list[str]) -> None:
    assert split(text) == words


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=10), min_size=1, max_size=5))
def test_what_is_quoted_arrives_as_it_was(words: list[str]) -> None:
    assert split(shlex.join(["p", *words])) == ["p", *words]


@given(st.text(max_size=40))
def test_any_text_is_a_command_or_a_job_error(text: str) -> None:
    try:
        command = Command.parse(text, SPACE)
    except JobError as error:
        assert error.hint
    else:
        assert all(isinstance(word, str) for word in command.template)


@given(st.text("{}lrx \\'\"$|.-=", max_size=30))
def test_the_template_of_a_command_reads_as_the_same_command(text: str) -> None:
    try:
        command = Command.parse(text, SPACE)
    except JobError:
        return
    assert Command.parse(command.template, SPACE) == command


def test_spellings_of_one_command_have_one_template() -> None:
    spellings: list[str | list[str]] = [
        "python  train.py --lr {lr}",
        "python 'train.py' --lr \"{lr}\" \n",
        ["python", "train.py", "--lr", "{lr}"],
    ]
    templates = [Command.parse(spelling, SPACE).template for spelling in spellings]
    assert templates == [["python", "train.py", "--lr", "{lr}"]] * 3


def test_nul_is_refused() -> None:
    with pytest.raises(JobError, match="NUL"):
        Command.parse(["p", "a\0b"], SPACE)


def test_a_price_that_is_not_known_cannot_be_an_argument() -> None:
    with pytest.raises(JobError, match=re.escape("{machine.usd_per_hour}: not every machine has a price")):
        Command.parse("p {machine.usd_per_hour}", UNPRICED)
    assert Command.parse("p {machine.vcpus}", UNPRICED).template == ["p", "{machine.vcpus}"]


def test_a_parameter_with_a_name_of_ours_is_refused_where_it_is_ambiguous() -> None:
    space = Space(seed=integer(1, 5), lr=log(1e-5, 1e-1))
    with pytest.raises(JobError, match=r"{seed} is a parameter and a name of LeanTune's.*seed_"):
        Command.parse("p {seed}", space)
    assert Command.parse("p {lr}", space).unused(space) == ["seed"]


def test_parameters_that_the_command_never_uses() -> None:
    assert Command.parse("p {lr} {layers}", SPACE).unused(SPACE) == ["nesterov", "optimizer", "momentum", "damping"]
    assert Command.parse("p {fraction} {cluster.type}", SPACE).unused(SPACE) == []
    assert Command.parse("p {fraction.exact}", SPACE).uses("fraction.exact")
    assert not Command.parse("p {fraction.exact}", SPACE).uses("fraction")
