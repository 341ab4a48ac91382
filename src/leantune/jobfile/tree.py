"""YAML as a tree of entries that know their file, line and key, so that every error can name them.

Plain scalars are read by YAML 1.2's core schema, here and not by the library: `1e-5` is a number, `on` and `yes` are
texts, whatever a %YAML directive says. Anchors, aliases, merges and tags are refused: a job file says everything once.

What a mapping may hold is a table, key -> reader (`Entry.read`), often the fields of the dataclass that it becomes
(`readers_of`). The JSON schema is made of the same tables (`json_schema.py`).

Pydantic was tried on `settings.py` and passed the tests of its messages, but is longer: `settings.py` 247 -> 239 lines,
`json_schema.py` 158 -> 144 (75 since readers say what they read), and 162 new ones that bring its errors and schemas
into our form (places, hints, limits, no null). To import `leantune.jobfile` took 34 ms more (284 -> 318 ms), `leantune
run --dry-run` the same. It lost what is written (0x10 became 16) and the advice to quote a number. Only `_option` in
`job.py` uses it.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, TypeAlias, TypeVar, cast, get_origin, get_type_hints

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, ReusedAnchorWarning, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from leantune.errors import InvalidInput, JobError, did_you_mean
from leantune.jobfile.json_schema import AMOUNT, NUMBER, TEXT, TRUTH, WHOLE, reads
from leantune.units import Kind, parse_quantity

Scalar = str | int | float | bool | None
LARGEST_INTEGER = 10**18
ROOT_HINT = "Write one key and its value a line: name: my-study"
_TAGS = ("str", "int", "float", "bool", "null", "map", "seq", "timestamp", "merge", "value")  # that plain text may get
_CORE_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in _TAGS)
_NULL = re.compile(r"(?:null|Null|NULL|~|)")
_BOOL = re.compile(r"(?:true|True|TRUE|false|False|FALSE)")
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?(?:\.inf|\.Inf|\.INF)|\.nan|\.NaN|\.NAN")
_WRITE_OUT = "Write it out where it is needed"


_Value = TypeVar("_Value")
Reader: TypeAlias = Callable[["Entry"], Any]  # the value of an entry; JobError for another type


@dataclass(frozen=True)
class Where:
    """A place in a job file; it reads as "job.yaml, line 7, space.lr".

    lines: by key, where the text was made from the user's own file and that one's lines are to be named.
    """

    source: str
    line: int = 0
    key: str = ""
    lines: Mapping[str, int] | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        line = f"line {self.line}" if self.line else ""
        return ", ".join(part for part in (self.source, line, self.key) if part)

    def at(self, node: Node, key: str) -> Where:
        """The place of a node further inside."""
        line = node.start_mark.line + 1 if self.lines is None else self.lines.get(key, 0)
        return Where(self.source, line, key, self.lines)

    def error(self, what: str, hint: str) -> JobError:
        """An error at this place, with its hint."""
        return JobError(what, where=str(self), hint=hint)


@dataclass(frozen=True)
class Entry:
    """A value with its place: a scalar, a list of entries, or entries by key. `span` is where its text stands."""

    value: Scalar | list[Entry] | dict[str, Entry]
    where: Where
    span: tuple[int, int] = (0, 0)
    flow: bool = False  # [a, b] and {a: b} rather than one a line
    written: str = field(default="", compare=False)

    def plain(self) -> Any:
        """The value without places."""
        match self.value:
            case dict():
                return {key: entry.plain() for key, entry in self.value.items()}
            case list():
                return [entry.plain() for entry in self.value]
        return self.value

    def lines(self) -> dict[str, int]:
        """The line of every key in it."""
        lines = {self.where.key: self.where.line}
        if isinstance(self.value, dict | list):
            for part in self.value.values() if isinstance(self.value, dict) else self.value:
                lines |= part.lines()
        return lines

    def error(self, what: str, hint: str = "") -> JobError:
        """An error about this entry."""
        return self.where.error(what, hint)

    def unknown(self, what: str, name: str, names: Iterable[str], listed: str = "There are") -> JobError:
        """The error for a name that does not exist: a similar name, and all names."""
        texts = [str(text) for text in names]  # a member of a StrEnum would be shown as such
        return self.error(what, f"{did_you_mean(name, texts)}{listed} {', '.join(texts)}")

    def is_not(self, wanted: str, hint: str) -> JobError:
        """The entry has another type than `wanted`."""
        return self.error(f"{self._shown()} where {wanted} is expected", hint)

    @reads(TEXT)
    def text(self, hint: str) -> str:
        """A text."""
        if not isinstance(self.value, str):
            number = isinstance(self.value, int | float)
            quote = f"Put it in quotes if it is meant as text: '{self.written}'. " if number else ""
            raise self.is_not("a text", quote + hint)
        return self.value

    @reads({})
    def word(self, words: Iterable[str], what: str, hint: str) -> str:
        """One of these words. what: the error for another word, which is `{}` in it."""
        word = self.text(hint)
        if word not in list(words):
            raise self.unknown(what.format(repr(word)), word, words)
        return word

    @reads(NUMBER)
    def number(self, hint: str) -> float:
        """A finite number; whole ones stay whole."""
        return self._typed((float, int), "a number", hint)

    @reads(NUMBER)
    def real(self, hint: str, above_0: str = "") -> float:
        """A finite number as a float. above_0: what is said of one that is not above 0, where it must be."""
        number = float(self.number(hint))
        if above_0 and number <= 0:
            raise self.error(f"{self.written} {above_0}", hint)
        return number

    @reads(NUMBER | {"exclusiveMinimum": 0, "exclusiveMaximum": 1})
    def share(self, what: str, hint: str) -> float:
        """A number above 0 and below 1. what: the error for another number, which is `{}` in it."""
        share = float(self.number(hint))
        if not 0.0 < share < 1.0:
            raise self.error(what.format(self.written), hint)
        return share

    @reads(WHOLE)
    def whole(self, hint: str, least: int | None = None) -> int:
        """A whole number."""
        number = self._typed((int,), "a whole number", hint)
        if least is not None and number < least:
            raise self.error(f"{number} is less than {least}", hint)
        return number

    @reads(TRUTH)
    def truth(self, hint: str = "Write true or false") -> bool:
        """True or false."""
        return self._typed((bool,), "true or false", hint)

    @reads(AMOUNT)
    def quantity(self, kind: Kind, hint: str, above_0: str = "") -> float:
        """An amount with its unit, such as 10 min; a bare number where the kind of amount allows it."""
        value = self._typed((str, int, float), f"an amount of {kind}", hint)
        with self.blamed():
            amount = parse_quantity(value if isinstance(value, str) else self.written, kind)
        if above_0 and amount <= 0:
            raise self.error(f"{self.written} {above_0}", hint)
        return amount

    def items(self, hint: str) -> list[Entry]:
        """The entries of a list."""
        return self._typed((list,), "a list", hint)

    def one_or_more(self) -> list[Entry]:
        """The entries of a list; anything else is a list of one."""
        return self.value if isinstance(self.value, list) else [self]

    def fields(
        self, keys: Iterable[str], hint: str, *, synonyms: Mapping[str, str] = MappingProxyType({})
    ) -> dict[str, Entry]:
        """The entries of a mapping, none but those of `keys`; an empty value is no mapping."""
        names, given = list(keys), self.any_fields(hint)
        for key, entry in given.items():
            if key not in names:
                raise entry.unknown(f"unknown key {key!r}", synonyms.get(key, key), names, "Known keys:")
        return given

    def read(
        self, readers: Mapping[str, Reader], hint: str, needs: Mapping[str, str] = MappingProxyType({})
    ) -> dict[str, Any]:
        """The values of a mapping, each by the reader of its key; keys that are not given are left out.

        needs: the keys that must be given, and what they are called.
        """
        given = self.fields(readers, hint)
        for key, called in needs.items():
            if key not in given:
                raise self.error(f"{called} is missing", hint)
        return {key: read(given[key]) for key, read in readers.items() if key in given}

    def check_given(self, examples: Mapping[str, str]) -> None:
        """Refuse a mapping that lacks one of these keys."""
        for key, example in examples.items():
            if key not in self.any_fields(""):
                raise self.error(f"{key!r} is missing", f"Add {example}")

    def at(self, key: str) -> Entry:
        """The entry of a key that is given."""
        return self.any_fields("")[key]

    def inside(self, path: Iterable[str]) -> Entry:
        """The entry at a path of keys; as far as those are given."""
        entry = self
        for key in path:
            if isinstance(entry.value, dict) and key in entry.value:
                entry = entry.value[key]
        return entry

    def any_fields(self, hint: str) -> dict[str, Entry]:
        """The entries of a mapping whose keys are names the user gives."""
        return self._typed((dict,), "a mapping", hint)

    def scalar(self, wanted: str, hint: str) -> str | int | float | bool:
        """A text, a number, or true or false."""
        return cast("str | int | float | bool", self._typed((str, int, float, bool), wanted, hint))

    @contextmanager
    def blamed(self, subject: str = "") -> Iterator[None]:
        """Errors of the domain inside the block name this entry."""
        try:
            yield
        except JobError:
            raise
        except InvalidInput as error:
            raise self.inside(error.path).error(f"{subject}{error.what}", error.job_hint) from None

    def _typed(self, kinds: tuple[type[_Value], ...], wanted: str, hint: str) -> _Value:
        """The value, if it is one of these; true and false are no numbers."""
        if type(self.value) not in kinds:
            raise self.is_not(wanted, hint)
        return cast(_Value, self.value)

    def _shown(self) -> str:
        match self.value:
            case None:
                return "nothing"
            case list():
                return "a list"
            case dict():
                return "a mapping"
            case bool():
                return str(self.value).lower()
            case str() if len(self.value) > 60:
                return repr(self.value[:60] + "...")
        return repr(self.value)


@cache
def readers_of(kind: type[Any]) -> Mapping[str, Reader]:
    """The readers that a dataclass names in its annotations, by field: `seed: Annotated[int, read_seed] = 0`."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: hint.__metadata__[0] for name, hint in hints.items() if get_origin(hint) is Annotated}


_Nodes: TypeAlias = list[tuple[Node, Node]]


def read_tree(
    text: str,
    source: str,
    lines: Mapping[str, int] | None = None,
    *,
    called: str = "job file",
    begin: str = "name:, train:, maximize: and space:",
) -> Entry:
    """The whole file as one entry; JobError for a text that is not one YAML document.

    lines: see Where. called, begin: for an empty file: its name, and its expected begin.
    """
    where = Where(source, lines=lines)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReusedAnchorWarning)  # refused below, as all anchors are
            root = YAML(typ="safe", pure=True).compose(text.removeprefix("\ufeff"))
    except MarkedYAMLError as error:
        raise _not_yaml(error, where) from None
    except YAMLError as error:
        what = str(error).split("\n", 1)[0]
        position = getattr(error, "position", None)
        place = where if position is None else Where(source, text.count("\n", 0, position) + 1)
        raise place.error(f"the file is not YAML: {what}", "Is it the right file? Save it as UTF-8 text") from None
    except RecursionError:
        place = Where(source, _deepest_line(text))
        raise place.error("the file is nested too deeply", "A job file has few levels") from None
    except (ValueError, OverflowError) as error:  # an escape such as "\UFFFFFFFF" that stands for no character
        raise where.error(f"the file is not YAML: {error}", "Look at its escapes (\\)") from None
    if root is None:
        raise JobError(f"the {called} is empty", where=source, hint=f"Begin with {begin}")
    return _entry(root, where.at(root, ""))


def _entry(node: Node, where: Where) -> Entry:
    if node.anchor:
        raise where.error(f"anchors and aliases (&{node.anchor}) are not used here", _WRITE_OUT)
    if str(node.tag) not in _CORE_TAGS:
        raise where.error(f"the tag {node.tag} is not used here", "Leave it out")
    span = (node.start_mark.index, node.end_mark.index)
    if isinstance(node, ScalarNode):
        return Entry(_scalar(node, where), where, span, written=node.value)
    assert isinstance(node, SequenceNode | MappingNode)
    flow = bool(node.flow_style)
    if isinstance(node, SequenceNode):
        items = [_entry(item, where.at(item, _item_key(where.key, n))) for n, item in enumerate(node.value, 1)]
        return Entry(items, where, span, flow)
    return Entry(_mapping(node.value, where), where, span, flow)


def _item_key(key: str, number: int) -> str:
    return f"{key} item {number}".strip()


def _mapping(pairs: _Nodes, where: Where) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for key_node, value_node in pairs:
        name = key_node.value
        if not isinstance(key_node, ScalarNode) or key_node.anchor:
            raise where.at(key_node, where.key).error("a key is not a text", "Write key: value")
        if name == "<<":
            raise where.at(key_node, where.key).error("merge keys (<<) are not used here", _WRITE_OUT)
        place = where.at(key_node, f"{where.key}.{name}" if where.key else name)
        if name in entries:
            first = entries[name].where.line
            raise place.error(f"the key {name!r} comes twice", f"It is on line {first} as well")
        entries[name] = _entry(value_node, place)
    return entries


def _deepest_line(text: str) -> int:
    """Number of the line with the most brackets and indentation."""
    depths = [sum(map(line.count, "[{")) + len(line) - len(line.lstrip(" -")) for line in text.split("\n")]
    return depths.index(max(depths)) + 1


def _scalar(node: ScalarNode, where: Where) -> Scalar:
    text: str = node.value
    if node.style is not None:
        return _checked_text(text, where)
    if _NULL.fullmatch(text):
        return None
    if _BOOL.fullmatch(text):
        return text.lower() == "true"
    if _NOT_FINITE.fullmatch(text):
        raise where.error(f"{text} is not a finite number", "Write a number")
    if _INTEGER.fullmatch(text):
        return _integer(text, where)
    if _FLOAT.fullmatch(text):
        number = float(text)
        if not math.isfinite(number):
            raise where.error(f"{text} is too large a number", "Stay below 1e308")
        return number
    return _checked_text(text, where)


def _integer(text: str, where: Where) -> int:
    digits = text.lower()
    base = {"0o": 8, "0x": 16}.get(digits[:2], 10)
    short = len(digits) <= 60  # int() itself refuses thousands of digits
    number = int(digits[2:] if base != 10 else digits, base) if short else LARGEST_INTEGER + 1
    if abs(number) > LARGEST_INTEGER:
        shown = text if short else f"{text[:20]}..."
        raise where.error(f"{shown} is too large a number", "Stay within 1e18")
    return number


def _checked_text(text: str, where: Where) -> str:
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise where.error("the text holds a character that is none", "Look at its escapes (\\)")
    return text


def _not_yaml(error: MarkedYAMLError, where: Where) -> JobError:
    mark = error.problem_mark or error.context_mark
    problem = ", ".join(part for part in (error.context, error.problem) if part)
    place = Where(where.source, mark.line + 1) if mark is not None else where
    if "\\t" in problem:
        return place.error("there is a tab", "Indent with spaces: YAML allows no tabs there")
    hint = "Compare its indentation, brackets and quotes with the lines around it"
    if "mapping values are not allowed" in problem:
        hint = "Put a text that holds ': ' in quotes, or mind the indentation"
    elif "cannot start any token" in problem:
        hint = "Put a text that begins with this character in quotes"
    elif "another document" in problem:
        hint = "A file holds one job: leave out ---"
    return place.error(f"the file is not YAML: {problem}", hint)
