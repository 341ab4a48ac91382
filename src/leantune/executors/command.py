"""The training command: a list of arguments with placeholders, filled for each trial. No shell is involved, ever.

    python train.py --lr {lr} --fraction {fraction} --workers {cluster.vcpus} --style '{{literal braces}}'

Each argument is a template; with any value in it, it stays one argument.
"""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from types import MappingProxyType

from leantune.errors import JobError
from leantune.history import Trial
from leantune.space import Cluster, Clusters, Space, Value

# Placeholders of every trial beside its parameters.
TRIAL_PLACEHOLDERS = ("fraction", "fraction.exact", "checkpoint_dir", "trial", "attempt", "study", "seed")
CLUSTER_PLACEHOLDERS = ("type", "nodes", "vcpus", "memory", "accelerators", "usd_per_hour")
_BRACES = re.compile(r"\{\{|\}\}|\{(?P<name>[^{}]*)\}|[{}]")
_OPTION = re.compile(r"-[^\W\d]\S*|--\S+")  # -x and --name, but neither -5 nor --
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_VARIABLE = re.compile(r"\$[\w{(@*#?!$-]")
_SCRIPT = "No shell reads the command: put this into a script and start that"
_LITERALLY = "Quote it '...' where it is meant literally"


@dataclass(frozen=True)
class Placeholder:
    """{name}, to be filled in for each trial."""

    name: str

    def __str__(self) -> str:
        return f"{{{self.name}}}"


Template = tuple[str | Placeholder, ...]


@dataclass(frozen=True)
class Command:
    """A checked command.

    constants: the placeholders that are the same for all trials of a study. always: the parameters among its
    placeholders that no condition leaves out, so that every trial must have them when it is started.
    """

    templates: tuple[Template, ...]
    constants: Mapping[str, str] = field(default_factory=dict)
    always: frozenset[str] = frozenset()

    @classmethod
    def parse(
        cls, text: str | Sequence[str], space: Space, *, constants: Mapping[str, str] = MappingProxyType({})
    ) -> "Command":
        """Read a line, split as a shell would split it, or a list of arguments; JobError says what is wrong.

        space: the parameters of a trial when it starts. Where machines are chosen late, that is the searched space and
        the cluster.
        """
        words = split(text) if isinstance(text, str) else list(text)
        if not words or not words[0]:
            raise JobError(
                "there is no command", where="train", hint="Write how to start your program: python train.py --lr {lr}"
            )
        if any("\0" in word for word in words):
            raise JobError("the command holds a NUL character", where="train", hint="Leave it out")
        names = placeholders_of(space)
        templates = tuple(_template(word, names, space) for word in words)
        _check_names(templates, space)
        conditional = {name for name, parameter in space.parameters.items() if parameter.conditions}
        always = _names(templates).intersection(space.parameters).difference(conditional)
        return cls(templates, dict(constants), frozenset(always))

    @property
    def template(self) -> list[str]:
        """Its arguments in one normal form, the same for every spelling of the command."""
        return ["".join(_escaped(part) for part in template) for template in self.templates]

    @property
    def literals(self) -> list[str | None]:
        """Its arguments that are the same for every trial; None for the others."""
        return ["".join(map(str, part)) if not _names([part]) else None for part in self.templates]

    def unused(self, space: Space) -> list[str]:
        """Parameters that never reach the program by its arguments; the cluster is where it runs, not what it reads.

        None where no parameter does: such a program asks `current_trial()`.
        """
        used = _names(self.templates)
        names = [name for name, parameter in space.parameters.items() if not isinstance(parameter, Clusters)]
        return [name for name in names if name not in used] if used.intersection(names) else []

    def uses(self, name: str) -> bool:
        """Whether {name} occurs."""
        return any(Placeholder(name) in template for template in self.templates)

    def arguments(self, trial: Trial, extra: Mapping[str, str]) -> list[str]:
        """The arguments of one trial; `extra` are the executor's placeholders (checkpoint_dir, trial, attempt).

        JobError where the trial lacks what every trial should have: without its machine it must not be started.
        """
        lacking = sorted(self.always.difference(trial.configuration))
        if lacking:
            what = f"the command uses {{{lacking[0]}}}, and the trial has none"
            raise JobError(what, where=f"trial {trial.number}", hint="Start it with a value, such as a chosen machine")
        fraction = {"fraction": repr(float(trial.fraction)), "fraction.exact": str(trial.fraction)}
        values = {**self.constants, **fraction, **extra, **values_of(trial.configuration)}
        missing = [name for name in TRIAL_PLACEHOLDERS if self.uses(name) and name not in values]
        if missing:
            hint = "Leave it out, or run the job where it has one"
            raise JobError(f"{{{missing[0]}}} has no value here", where=f"trial {trial.number}", hint=hint)
        return self.fill(values)

    def fill(self, values: Mapping[str, str]) -> list[str]:
        """Put values in the places of placeholders.

        An argument of which a placeholder has no value (a parameter that does not exist in this configuration) is left
        out, and so is an option (--name) before it that is followed by no other parameter.
        """
        filled = [_filled(template, values) for template in self.templates]
        for index in range(len(filled)):
            followers = self._parameters_after(index) if self._is_option(index) else range(0)
            if followers and all(filled[place] is None for place in followers):
                filled[index] = None
        return [argument for argument in filled if argument is not None]

    def _is_option(self, index: int) -> bool:
        template = self.templates[index]
        return len(template) == 1 and isinstance(template[0], str) and _OPTION.fullmatch(template[0]) is not None

    def _parameters_after(self, index: int) -> range:
        """Places right after an option that hold parameters."""
        end = index + 1
        while end < len(self.templates) and _names(self.templates[end : end + 1]).difference(TRIAL_PLACEHOLDERS):
            end += 1
        return range(index + 1, end)


def placeholders_of(space: Space) -> tuple[str, ...]:
    """Every name that a command may use."""
    names: list[str] = []
    for name, parameter in space.parameters.items():
        if isinstance(parameter, Clusters):
            priced = all(cluster.usd_per_hour is not None for cluster in parameter.options)
            names += [f"{name}.{part}" for part in CLUSTER_PLACEHOLDERS if priced or part != "usd_per_hour"]
        else:
            names.append(name)
    return (*names, *TRIAL_PLACEHOLDERS)


def values_of(configuration: Mapping[str, Value]) -> dict[str, str]:
    """Placeholders of a configuration as text: numbers as Python writes them (1e-05), true and false, texts as is."""
    values: dict[str, str] = {}
    for name, value in configuration.items():
        if isinstance(value, Cluster):
            values |= {f"{name}.{part}": text for part, text in _cluster_values(value).items()}
        else:
            values[name] = _written(value)
    return values


def split(text: str) -> list[str]:
    """Split a line into arguments by a shell's rules for quotes, and refuse syntax that needs a shell."""
    line = re.sub(r"\\\r?\n", " ", text).strip()
    _refuse_shell_syntax(line)
    try:
        words = shlex.split(line)
    except ValueError:
        hint = "Close it, or write \\' and \\\" for quotes that are meant literally"
        raise JobError("a quote or a backslash at the end is left open", where="train", hint=hint) from None
    if words and _ASSIGNMENT.match(words[0]):
        raise JobError(
            f"{words[0]!r} is not a program", where="train", hint=f"Set variables with env: env {words[0]} ..."
        )
    home = next((word for word in words if word == "~" or word.startswith("~/")), None)
    if home is not None:
        hint = "Write the whole path, or one relative to the job file"
        raise JobError(f"{home!r} is not expanded, as no shell reads the command", where="train", hint=hint)
    return words


def _refuse_shell_syntax(line: str) -> None:
    """Look at what is outside of quotes; inside double ones a shell still replaces $ and backticks."""
    quote = ""
    index = 0
    while index < len(line):
        character = line[index]
        if character == "\\" and quote != "'":
            index += 2
            continue
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "\r\n":
            raise JobError("there is more than one line", where="train", hint=f"Give one command. {_SCRIPT}")
        elif character in "|&;<>()":
            sign = re.match(r"[|&;<>()]+", line[index:])
            shown = sign[0] if sign else character
            raise JobError(f"{shown!r} is for a shell", where="train", hint=f"{_SCRIPT}. {_LITERALLY}")
        if quote != "'" and (character == "`" or _VARIABLE.match(line, index)):
            what = "a backtick" if character == "`" else "'$'"
            raise JobError(f"{what} is for a shell", where="train", hint=f"{_SCRIPT}. {_LITERALLY}")
        index += 1


def _template(word: str, names: Iterable[str], space: Space) -> Template:
    parts: list[str | Placeholder] = []
    literal, end = "", 0
    for match in _BRACES.finditer(word):
        literal += word[end : match.start()]
        end = match.end()
        if match["name"] is not None:
            if literal:
                parts.append(literal)
            parts.append(Placeholder(_checked(match["name"], tuple(names), space)))
            literal = ""
        elif match[0] in ("{{", "}}"):
            literal += match[0][0]
        else:
            hint = f"Write {match[0] * 2} for a brace that is meant literally, {{lr}} for a placeholder"
            raise JobError(f"a single {match[0]!r} in {word!r}", where="train", hint=hint)
    literal += word[end:]
    return (*parts, literal) if literal else tuple(parts)


def _check_names(templates: tuple[Template, ...], space: Space) -> None:
    ambiguous = [name for name in TRIAL_PLACEHOLDERS if name in space.parameters and name in _names(templates)]
    if ambiguous:
        hint = f"Give the parameter another name, such as {ambiguous[0]}_"
        raise JobError(f"{{{ambiguous[0]}}} is a parameter and a name of LeanTune's", where="train", hint=hint)
    conditional = {name for name, parameter in space.parameters.items() if parameter.conditions}
    absent = conditional & _names(templates[:1])
    if absent:
        hint = "Begin with a program that every trial has"
        raise JobError(f"the program is {{{min(absent)}}}, which not every trial has", where="train", hint=hint)


def _checked(name: str, names: tuple[str, ...], space: Space) -> str:
    if name in names:
        return name
    listed = ", ".join(f"{{{listed_name}}}" for listed_name in names)
    if isinstance(space.parameters.get(name), Clusters):
        raise JobError(
            f"{{{name}}} is a machine type and a number of nodes",
            where="train",
            hint=f"Write {{{name}.type}}, {{{name}.nodes}} or {{{name}.vcpus}}",
        )
    head, _, part = name.partition(".")
    if part == "usd_per_hour" and isinstance(space.parameters.get(head), Clusters):
        raise JobError(
            f"{{{name}}}: not every machine has a price", where="train", hint="Give each machine usd_per_hour"
        )
    close = get_close_matches(name, names, n=1)
    meant = f"Did you mean {{{close[0]}}}? " if close else ""
    hint = f"{meant}There are {listed}; braces that are meant literally are doubled: {{{{ and }}}}"
    raise JobError(f"unknown placeholder {{{name}}}", where="train", hint=hint)


def _names(templates: Iterable[Template]) -> set[str]:
    """Names without what comes after the dot."""
    parts = (part for template in templates for part in template if isinstance(part, Placeholder))
    return {part.name.partition(".")[0] for part in parts}


def _filled(template: Template, values: Mapping[str, str]) -> str | None:
    texts = [values.get(part.name) if isinstance(part, Placeholder) else part for part in template]
    return None if any(text is None for text in texts) else "".join(text for text in texts if text is not None)


def _escaped(part: str | Placeholder) -> str:
    return str(part) if isinstance(part, Placeholder) else part.replace("{", "{{").replace("}", "}}")


def _cluster_values(cluster: Cluster) -> dict[str, str]:
    rate = cluster.usd_per_hour
    sizes = {
        "type": cluster.type,
        "nodes": str(cluster.nodes),
        "vcpus": _size(cluster.vcpus),
        "memory": _size(cluster.memory_gib),
        "accelerators": str(cluster.accelerators),
    }
    return sizes if rate is None else {**sizes, "usd_per_hour": repr(float(rate))}


def _size(number: float) -> str:
    """8 rather than 8.0: programs read a number of processors as a whole one."""
    return str(int(number)) if float(number).is_integer() else repr(float(number))


def _written(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)
