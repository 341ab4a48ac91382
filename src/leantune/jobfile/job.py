"""A job file as a whole: read, checked in one place, and ready to run. Nothing is started or written here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import get_args, get_type_hints

from leantune.checkpoints import Keep
from leantune.errors import InvalidInput, JobError, ProblemError, StrategyError
from leantune.executors.command import Command
from leantune.jobfile.parameters import read_space
from leantune.jobfile.settings import (
    BUDGET_HINT,
    FREE,
    CheckpointSettings,
    RunSettings,
    read_budget,
    read_checkpoints,
    read_repeats,
    read_run,
    read_stop,
    read_store,
)
from leantune.jobfile.tree import ROOT_HINT, Entry, Reader, read_tree
from leantune.problem import (
    COST,
    DEFAULT_REPEATS,
    Constraint,
    Fidelity,
    Goal,
    Problem,
    maximize,
    minimize,
    parse_fractions,
)
from leantune.space import Cluster, Clusters, Space
from leantune.strategies.registry import (
    STRATEGIES,
    check_free_machine,
    check_repeats,
    default_strategy,
    named_tuner,
    repeats_runs,
)
from leantune.units import parse_share

KEYS = (
    "name",
    "train",
    "maximize",
    "minimize",
    "subject_to",
    "space",
    "fractions",
    "fidelity",
    "budget",
    "stop",
    "strategy",
    "seed",
    "repeats",
    "snapshots",
    "run",
    "store",
    "checkpoints",
    "steps",
    "settings",
    "baseline",
)
LARGEST_FILE = 2**18  # bytes; a job file is a page of text
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
EXAMPLES = {
    "name": "name: my-study",
    "train": "train: python train.py --lr {lr}",
    "space": "space: {lr: {log: [1e-5, 1e-1]}}",
}
SEED_HINT = "Write a whole number of at least 0, such as seed: 1"
STEPS_HINT = "Write the last step that your program reports, such as steps: 100"
LIMIT_HINT = "Write a limit, such as cost <= 0.10 USD or accuracy >= 0.85"
FRACTIONS_HINT = "Give increasing shares that end in 1, such as [1/60, 0.1, 0.25, 0.5, 1]"
SETTINGS_HINT = "Write one setting a line, such as - {lr: 0.1, batch: 64}"
TRAIN_HINT = "Write the command that starts your program: train: python train.py --lr {lr}"
FIDELITY_HINT = "Write fidelity: data, or fidelity: epochs, where a larger share goes on from a smaller one"
BASELINE_HINT = "Write your present setting, such as baseline: {lr: 0.001, batch: 64}"
_CLUSTER_HINT = "Write cluster: 2 x small, or cluster: {type: small, nodes: 2}"
STRATEGY_HINT = "Name one: strategy: lean, or with options: strategy: {name: nephele, horizon: 1}"


@dataclass(frozen=True)
class Job:
    """A checked job file.

    full_space: what a trial has when it is started: the searched space, and the machine where that is free.
    """

    name: str
    text: str
    folder: Path
    command: Command
    problem: Problem
    strategy: str
    strategy_options: Mapping[str, object]
    seed: int
    run: RunSettings
    store: str
    checkpoints: CheckpointSettings
    full_space: Space
    warnings: tuple[str, ...] = ()

    @property
    def logs(self) -> Path:
        """Folder of the trials' logs."""
        return self.folder / self.run.logs


def load_job(path: Path) -> Job:
    """Read and check a job file; JobError names the file, the line and the key of whatever is wrong."""
    return parse_job(read_text(path), folder=path.absolute().parent, source=str(path))


def parse_job(text: str, *, folder: Path, source: str = "job file", lines: Mapping[str, int] | None = None) -> Job:
    """Check the text of a job file whose relative paths start at `folder`. lines: of its keys, where the text was made
    from another file.
    """
    root = read_tree(text, source, lines)
    given = root.fields(KEYS, ROOT_HINT)
    root.check_given(EXAMPLES)
    name = _name(given["name"])
    seed = given["seed"].whole(SEED_HINT, least=0) if "seed" in given else 0
    run, store = read_run(given.get("run"), folder), read_store(given.get("store"), folder)
    full = read_space(given["space"])
    space = _without_machines(full, given) if run.machine == FREE else full
    command = _command(given["train"], full, {"study": name})
    problem = _problem(given, root, space, full)
    strategy, options = _strategy(given, problem, root, free=run.machine == FREE)
    if run.machine == FREE:
        with given.get("strategy", root).blamed():
            check_free_machine(strategy, problem)
    tuner = named_tuner(strategy, **options)
    if "repeats" in given:
        with given["repeats"].blamed():
            check_repeats(tuner, problem)
    elif command.uses("seed") and repeats_runs(tuner, problem):
        problem = problem.with_repeats(DEFAULT_REPEATS)
    if not problem.budget.limits and not tuner.ends_by_itself(problem):
        if problem.stop == "never" and tuner.ends_by_itself(problem.with_stop("auto")):
            raise given["stop"].error("the study would never end, as there is no budget", BUDGET_HINT)
        raise root.error("there is no budget", BUDGET_HINT)  # such a study would never end
    checkpoints = read_checkpoints(given.get("checkpoints"), folder)
    if problem.fidelity == "epochs" and checkpoints.keep is Keep.NONE:
        what = "with fidelity: epochs a larger share goes on from what a smaller one left, and nothing is kept"
        raise given["checkpoints"].at("keep").error(what, "Write keep: best, or fidelity: data")
    return Job(
        name=name,
        text=text,
        folder=folder.absolute(),
        command=command,
        problem=problem,
        strategy=strategy,
        strategy_options=options,
        seed=seed,
        run=run,
        store=store,
        checkpoints=checkpoints,
        full_space=full,
        warnings=_warnings(command, problem),
    )


def read_text(path: Path, called: str = "job file") -> str:
    """The text of a job file or of another YAML file, which is UTF-8."""
    source = str(path)
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST_FILE + 1)
    except IsADirectoryError:
        inside = sorted(file.name for file in path.iterdir() if file.suffix in (".yaml", ".yml"))
        meant = f"Did you mean {path / inside[0]}?" if inside else "Name the file itself"
        raise JobError(f"this is a folder, not a {called}", where=source, hint=meant) from None
    except FileNotFoundError:
        raise JobError(f"there is no such {called}", where=source, hint=_other_files(path)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise JobError(f"the {called} cannot be read: {reason}", where=source, hint="Name a readable file") from None
    if len(raw) > LARGEST_FILE:
        raise JobError("the file is larger than 256 KiB", where=source, hint="Is it the right one?")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise JobError("the file is not UTF-8", where=f"{source}, line {line}", hint="Save it as UTF-8 text") from None


def _other_files(path: Path) -> str:
    try:
        names = sorted(file.name for file in path.absolute().parent.iterdir() if file.suffix in (".yaml", ".yml"))
    except OSError:
        return "Its folder does not exist either"
    return f"The folder has {', '.join(names[:5])}" if names else "The folder has no .yaml file"


def _name(entry: Entry) -> str:
    name = entry.text("Write name: my-study")
    if NAME.fullmatch(name) is None:
        proposal = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.")[:100]
        hint = "Use up to 100 letters, digits, '-', '_' and '.'" + (f", such as {proposal}" if proposal else "")
        raise entry.error(f"{name!r} cannot name a study", hint)
    return name


def _settings(entry: Entry, space: Space) -> list[Mapping[str, object]]:
    """A list of settings; each is checked as a configuration, on any machine of the space."""
    machines = {name: clusters.options[0] for name, clusters in space.clusters.items()}
    settings: list[Mapping[str, object]] = []
    for item in entry.items(SETTINGS_HINT):
        values = {
            name: value.scalar("a value", SETTINGS_HINT) for name, value in item.any_fields(SETTINGS_HINT).items()
        }
        for name in machines:
            if name in values:
                raise item.error(f"{name} is not part of a setting", "Leave it out: machines come from the space")
        try:
            chosen = space.configuration({**values, **machines})
        except InvalidInput as error:
            raise item.error(f"{error.what} ({error.where})", error.job_hint) from None
        setting = {name: value for name, value in chosen.items() if name not in machines}
        if setting in settings:
            raise item.error("the setting comes twice", "Write each once")
        settings.append(setting)
    if not settings:
        raise entry.error("there are no settings", SETTINGS_HINT)
    return settings


def _baseline(entry: Entry, space: Space, full: Space) -> dict[str, object]:
    """The user's present setting; an error about a value names its line."""
    values: dict[str, object] = {}
    for name, given in entry.any_fields(BASELINE_HINT).items():
        parameter = space.parameters.get(name)
        if parameter is None and name in full.parameters:
            raise given.error(f"{name} is no part of a setting: the machine is free", "Leave it out")
        if parameter is None:
            raise given.unknown(f"there is no parameter {name!r}", name, space.parameters)
        if isinstance(parameter, Clusters):
            values[name] = _cluster(given, parameter)
        else:
            values[name] = given.scalar("a value", BASELINE_HINT)
        with given.blamed():
            parameter.code(values[name], name)
    return values


def _cluster(entry: Entry, clusters: Clusters) -> Cluster:
    """One of the space's: as it is shown ("2 x small"), by type and nodes, or by type where that has one size only."""
    if isinstance(entry.value, dict):
        given = entry.read(
            {"type": partial(Entry.text, hint=_CLUSTER_HINT), "nodes": partial(Entry.whole, hint=_CLUSTER_HINT)},
            _CLUSTER_HINT,
            needs={"type": "the type"},
        )
        name, nodes = given["type"], given.get("nodes")
    else:
        count, _, rest = entry.text(_CLUSTER_HINT).replace("×", "x").partition(" x ")
        name, nodes = (rest.strip(), int(count)) if rest and count.strip().isdecimal() else (entry.written, None)
    fitting = [option for option in clusters.options if option.type == name and nodes in (None, option.nodes)]
    if len(fitting) == 1:
        return fitting[0]
    options = fitting or [option for option in clusters.options if option.type == name] or list(clusters.options)
    shown = ", ".join(map(str, options[:10])) + (f", ... ({len(options)} in all)" if len(options) > 10 else "")
    what = "how many nodes is not said" if fitting else f"{entry.written or name!r} is none of the space's clusters"
    raise entry.error(what, f"There are {shown}")


def _command(entry: Entry, space: Space, constants: Mapping[str, str]) -> Command:
    if isinstance(entry.value, list):
        for argument in entry.value:
            argument.scalar("an argument", TRAIN_HINT)
        words: str | list[str] = [argument.written for argument in entry.value]
    else:
        words = entry.text(TRAIN_HINT)
    try:
        return Command.parse(words, space, constants=constants)
    except JobError as error:
        raise entry.error(error.what, error.hint) from None


def _problem(given: Mapping[str, Entry], root: Entry, space: Space, full: Space) -> Problem:
    settings = _settings(given["settings"], full) if "settings" in given else []
    clusters = [{name: option} for name, parameter in space.clusters.items() for option in parameter.options] or [{}]
    goal, budget = _goal(given, root), read_budget(given.get("budget"))
    values = {key: read(given[key]) for key, read in _READERS.items() if key in given}
    everywhere = [{**setting, **cluster} for setting in settings for cluster in clusters]
    try:
        problem = Problem(space, goal, values.pop("subject_to", ()), budget=budget, settings=everywhere, **values)
    except ProblemError as error:  # each part was checked: what is left are limits that do not go together
        raise given["subject_to"].error(f"{error.what}: {error.where}", error.hint) from None
    if "baseline" in given:
        with given["baseline"].blamed():
            problem = problem.with_baseline(_baseline(given["baseline"], space, full))
    if problem.needs_cost and not full.has_prices:  # dollars come from the prices of machines: no program tells them
        hint = "Give every machine a price, as in machines: {small: {vcpus: 1, memory: 2 GiB, usd_per_hour: 0.02}}"
        raise _about_dollars(problem, given).error("this needs dollars, and not every configuration has a price", hint)
    return problem


def _goal(given: Mapping[str, Entry], root: Entry) -> Goal:
    both = [key for key in ("maximize", "minimize") if key in given]
    if not both:
        raise root.error("there is no goal", "Add maximize: accuracy, or minimize: loss")
    if len(both) == 2:
        last = max((given[key] for key in both), key=lambda entry: entry.where.line)
        raise last.error("there are two goals, maximize and minimize", "Keep one; write limits under subject_to")
    direction, entry = both[0], given[both[0]]
    hint = f"Write {direction}: accuracy, or {direction}: {{metric: accuracy, scale: linear}}"
    options = {"metric": entry}
    if isinstance(entry.value, dict):
        options = entry.fields(("metric", "scale") + (("at",) if direction == "minimize" else ()), hint)
        if "metric" not in options:
            raise entry.error("the metric is missing", hint)
    words = {name: option.text(hint) for name, option in options.items()}
    with entry.blamed():
        return (maximize if direction == "maximize" else minimize)(**words)


def _limit(entry: Entry) -> Constraint:
    text = entry.text(LIMIT_HINT)
    with entry.blamed(f"{text!r}: "):
        return Constraint.parse(text)


def _fractions(entry: Entry) -> tuple[Fraction, ...]:
    shares = []
    for item in entry.one_or_more():
        share = item.scalar("a share of the data", FRACTIONS_HINT)
        with item.blamed():
            shares.append(parse_share(share))
    with entry.blamed():
        return parse_fractions(shares)


_READERS: Mapping[str, Reader] = {
    "fidelity": partial(Entry.word, words=get_args(Fidelity), what="fractions are not of {}", hint=FIDELITY_HINT),
    "stop": read_stop,
    "repeats": read_repeats,
    "steps": partial(Entry.real, hint=STEPS_HINT, above_0="is no number of steps"),
    "subject_to": lambda entry: [_limit(limit) for limit in entry.one_or_more()],
    "fractions": _fractions,
    "snapshots": Entry.truth,
}


def _without_machines(full: Space, given: Mapping[str, Entry]) -> Space:
    """What is searched where the machine is free: the space without its cluster."""
    machines = full.clusters
    if not machines:
        hint = "Add cluster: {machines: {small: {vcpus: 1, memory: 2 GiB, usd_per_hour: 0.02}}}"
        raise given["space"].error("the machine is free, and the space names none to choose from", hint)
    rest = {name: parameter for name, parameter in full.parameters.items() if name not in machines}
    hanging = [name for name, kept in rest.items() if any(parent in machines for parent, _ in kept.conditions)]
    if hanging or not rest:
        what = f"{hanging[0]} depends on the machine" if hanging else "nothing but the machine is to be chosen"
        raise given["space"].error(f"{what}, which is free", "Leave machine: free out, or change the space")
    return Space(**rest)


def _about_dollars(problem: Problem, given: Mapping[str, Entry]) -> Entry:
    """The first entry that makes the problem one of dollars."""
    limits = given["subject_to"].one_or_more() if "subject_to" in given else []
    for entry, constraint in zip(limits, problem.constraints, strict=True):
        if constraint.metric == COST:
            return entry
    return given["minimize"] if problem.goal.metric == COST else given["budget"].at("usd")


def _strategy(keys: Mapping[str, Entry], problem: Problem, root: Entry, *, free: bool) -> tuple[str, dict[str, object]]:
    entry = keys.get("strategy")
    if entry is None:
        name, options = default_strategy(problem, free_machine=free), {}
    elif isinstance(entry.value, dict):
        given = dict(entry.any_fields(STRATEGY_HINT))
        if "name" not in given:
            raise entry.error("the name of the strategy is missing", STRATEGY_HINT)
        chosen = given.pop("name")
        name = chosen.text(STRATEGY_HINT)
        with chosen.blamed():
            named_tuner(name)
        options = {option: _option(name, option, value) for option, value in given.items()}
    else:
        name, options = entry.text(STRATEGY_HINT), {}
    with (entry or root).blamed():
        tuner = named_tuner(name, **options)
    try:
        tuner.check(problem)
    except StrategyError as error:
        raise root.inside(error.path or ("strategy",)).error(error.what, error.job_hint) from None
    return name, options


def _option(strategy: str, option: str, entry: Entry) -> object:
    """A value of the type that the strategy declares for its option."""
    from pydantic import TypeAdapter, ValidationError

    types = get_type_hints(STRATEGIES[strategy])
    types.pop("return", None)
    if option not in types:
        raise entry.unknown(f"{strategy} has no option {option!r}", option, types, "Its options:")
    given = None if entry.value is None else entry.scalar("a value", STRATEGY_HINT)
    try:
        value: object = TypeAdapter(types[option]).validate_python(given, strict=True)
        named_tuner(strategy, **{option: value})
    except ValidationError as error:
        raise entry.error(f"{option} of {strategy}: {error.errors()[0]['msg'].lower()}", STRATEGY_HINT) from None
    except InvalidInput as error:
        raise entry.error(f"{option} of {strategy} cannot be {entry.written}", error.job_hint) from None
    if isinstance(value, int | float) and value < 0:
        raise entry.error(f"{option} of {strategy} cannot be {entry.written}", "Give a number of at least 0")
    return value


def _warnings(command: Command, problem: Problem) -> tuple[str, ...]:
    warnings = [
        f"the command never uses {{{name}}}: the program will not know its value"
        for name in command.unused(problem.space)
    ]
    tells_parameters = any(command.uses(name) for name in problem.space.parameters)
    tells_share = command.uses("fraction") or command.uses("fraction.exact")
    if len(problem.fractions) > 1 and tells_parameters and not tells_share:
        whole = "on all the data" if problem.fidelity == "data" else "to the end"
        warnings.append(f"the command never uses {{fraction}}: the program will train {whole} every time")
    return tuple(warnings)
