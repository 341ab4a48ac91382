"""A job file as a whole: read, checked in one place, and ready to run. Nothing is started or written here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args, get_type_hints

from leantune.checkpoints import Keep
from leantune.errors import InvalidInput, JobError, StrategyError
from leantune.executors.command import Command
from leantune.jobfile import json_schema as js
from leantune.jobfile.parameters import read_space
from leantune.jobfile.problem import (
    read_baseline,
    read_fractions,
    read_limits,
    read_maximize,
    read_minimize,
    read_problem,
    read_settings,
    without_machines,
)
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
from leantune.jobfile.tree import ROOT_HINT, Entry, read_tree
from leantune.problem import DEFAULT_REPEATS, Fidelity, Problem
from leantune.space import Space
from leantune.strategies.registry import (
    STRATEGIES,
    check_free_machine,
    check_repeats,
    default_strategy,
    named_tuner,
    repeats_runs,
)
from leantune.strategies.tuner import Tuner

LARGEST_FILE = 2**18  # bytes; a job file is a page of text
EXAMPLES = {  # of the keys that every job file has
    "name": "name: my-study",
    "train": "train: python train.py --lr {lr}",
    "space": "space: {lr: {log: [1e-5, 1e-1]}}",
}
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_STEPS_HINT = "Write the last step that your program reports, such as steps: 100"
_TRAIN_HINT = "Write the command that starts your program: train: python train.py --lr {lr}"
_FIDELITY_HINT = "Write fidelity: data, or fidelity: epochs, where a larger share goes on from a smaller one"
_STRATEGY_HINT = "Name one: strategy: lean, or with options: strategy: {name: nephele, horizon: 1}"


@dataclass(frozen=True)
class Job:
    """A checked job file.

    full_space: the parameters of a trial when it starts: the searched space, and the machine where that is free.
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


@js.reads(js.TEXT | {"pattern": f"^{_NAME.pattern}$"}, EXAMPLES["name"])
def _name(entry: Entry) -> str:
    name = entry.text("Write name: my-study")
    if _NAME.fullmatch(name) is None:
        proposal = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.")[:100]
        hint = "Use up to 100 letters, digits, '-', '_' and '.'" + (f", such as {proposal}" if proposal else "")
        raise entry.error(f"{name!r} cannot name a study", hint)
    return name


@js.reads(js.either(js.TEXT, js.items(js.SCALAR)), _TRAIN_HINT)
def _command(entry: Entry, space: Space, constants: Mapping[str, str]) -> Command:
    if isinstance(entry.value, list):
        for argument in entry.value:
            argument.scalar("an argument", _TRAIN_HINT)
        words: str | list[str] = [argument.written for argument in entry.value]
    else:
        words = entry.text(_TRAIN_HINT)
    try:
        return Command.parse(words, space, constants=constants)
    except JobError as error:
        raise entry.error(error.what, error.hint) from None


@js.reads(js.TRUTH, "Write true where one run reports at every fraction that it passes")
def _snapshots(entry: Entry) -> bool:
    return entry.truth()


_STRATEGY: js.Schema = {
    "type": "object",
    "properties": {"name": js.words(STRATEGIES)},
    "required": ["name"],
    "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
}


@js.reads(js.either(js.words(STRATEGIES), _STRATEGY), _STRATEGY_HINT)
def _strategy(entry: Entry | None, problem: Problem, root: Entry, *, free: bool) -> tuple[str, dict[str, object]]:
    if entry is None:
        name, options = default_strategy(problem, free_machine=free), {}
    else:
        given = dict(entry.value) if isinstance(entry.value, dict) else {"name": entry}
        if "name" not in given:
            raise entry.error("the name of the strategy is missing", _STRATEGY_HINT)
        chosen = given.pop("name")
        name = chosen.text(_STRATEGY_HINT)
        with chosen.blamed():
            named_tuner(name)
        options = {option: _option(name, option, value) for option, value in given.items()}
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
    given = None if entry.value is None else entry.scalar("a value", _STRATEGY_HINT)
    try:
        value: object = TypeAdapter(types[option]).validate_python(given, strict=True)
        named_tuner(strategy, **{option: value})
    except ValidationError as error:
        raise entry.error(f"{option} of {strategy}: {error.errors()[0]['msg'].lower()}", _STRATEGY_HINT) from None
    except InvalidInput as error:
        raise entry.error(f"{option} of {strategy} cannot be {entry.written}", error.job_hint) from None
    if isinstance(value, int | float) and value < 0:
        raise entry.error(f"{option} of {strategy} cannot be {entry.written}", "Give a number of at least 0")
    return value


KEYS: Mapping[str, Callable[..., Any]] = {
    "name": _name,
    "train": _command,
    "maximize": read_maximize,
    "minimize": read_minimize,
    "subject_to": read_limits,
    "space": read_space,
    "fractions": read_fractions,
    "fidelity": partial(Entry.word, words=get_args(Fidelity), what="fractions are not of {}", hint=_FIDELITY_HINT),
    "budget": read_budget,
    "stop": read_stop,
    "strategy": _strategy,
    "seed": partial(Entry.whole, hint="Write a whole number of at least 0, such as seed: 1", least=0),
    "repeats": read_repeats,
    "snapshots": _snapshots,
    "run": read_run,
    "store": read_store,
    "checkpoints": read_checkpoints,
    "steps": partial(Entry.real, hint=_STEPS_HINT, above_0="is no number of steps"),
    "settings": read_settings,
    "baseline": read_baseline,
}
# Arguments of Problem as they are.
_STATED = ("fractions", "fidelity", "budget", "stop", "repeats", "snapshots", "steps")


def job_schema() -> js.Schema:
    """The JSON schema of a whole job file (draft 2020-12), for editors."""
    goal = {"oneOf": [{"required": ["maximize"]}, {"required": ["minimize"]}]}
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "title": "LeanTune job file"} | js.table(KEYS, EXAMPLES) | goal


def load_job(path: Path) -> Job:
    """Read and check a job file; JobError names the file, the line and the key of the mistake."""
    return parse_job(read_text(path), folder=path.absolute().parent, source=str(path))


def parse_job(text: str, *, folder: Path, source: str = "job file", lines: Mapping[str, int] | None = None) -> Job:
    """Check the text of a job file whose relative paths start at `folder`. lines: of its keys, where the text was made
    from another file.
    """
    root = read_tree(text, source, lines)
    given = root.fields(KEYS, ROOT_HINT)
    root.check_given(EXAMPLES)
    name, seed = _name(given["name"]), KEYS["seed"](given["seed"]) if "seed" in given else 0
    run, store = read_run(given.get("run"), folder), read_store(given.get("store"), folder)
    full = read_space(given["space"])
    free = run.machine == FREE
    space = without_machines(full, given) if free else full
    command = _command(given["train"], full, {"study": name})
    stated = {key: KEYS[key](given[key]) for key in _STATED if key in given}
    problem = read_problem(given, stated, root, space, full)
    strategy, options = _strategy(given.get("strategy"), problem, root, free=free)
    if free:
        with given.get("strategy", root).blamed():
            check_free_machine(strategy, problem)
    tuner = named_tuner(strategy, **options)
    problem = _with_repeats(problem, tuner, command, given.get("repeats"))
    _check_it_ends(problem, tuner, given, root)
    checkpoints = read_checkpoints(given.get("checkpoints"), folder)
    if problem.fidelity == "epochs" and checkpoints.keep is Keep.NONE:
        what = "with fidelity: epochs a larger share goes on from a smaller share's checkpoint, and nothing is kept"
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


def _with_repeats(problem: Problem, tuner: Tuner, command: Command, repeats: Entry | None) -> Problem:
    """Repeats by default, where the program takes a seed; refused where the strategy would make none."""
    if repeats is not None:
        with repeats.blamed():
            check_repeats(tuner, problem)
    elif command.uses("seed") and repeats_runs(tuner, problem):
        return problem.with_repeats(DEFAULT_REPEATS)
    return problem


def _check_it_ends(problem: Problem, tuner: Tuner, given: Mapping[str, Entry], root: Entry) -> None:
    """Refuse a study that would never end."""
    if problem.budget.limits or tuner.ends_by_itself(problem):
        return
    if problem.stop == "never" and tuner.ends_by_itself(problem.with_stop("auto")):
        raise given["stop"].error("the study would never end, as there is no budget", BUDGET_HINT)
    raise root.error("there is no budget", BUDGET_HINT)


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
