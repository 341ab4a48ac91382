"""Strategies by their text, as a command line names them.

trimtuner-gp    nephele(horizon=1, trees=10)    my_package.tuners:make_tuner(beta=0.2)

The last form calls a function of a module of yours that returns a Tuner or a Recipe.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from leantune.errors import StrategyError
from leantune.filters.base import Filter
from leantune.models.gp import GpFitter
from leantune.strategies.recipe import Incumbent, Recipe
from leantune.strategies.registry import FILTERS, RECIPES, at_work, named_filter, recipe
from leantune.strategies.tuner import Tuner

DEFAULT_BETA = 0.1
_TUNER = ("check", "ask", "judge", "recommend", "stop_reason")
_SPEC = re.compile(r"\s*(?P<name>[\w.:-]+)\s*(?:\((?P<options>.*)\))?\s*", re.DOTALL)
_HINT = "Write a name, trimtuner-gp, or with options, 'nephele(horizon=1)', or your own, 'package.module:function'"


@dataclass(frozen=True)
class Contender:
    """A strategy in a comparison: the tuner that chooses tests, and the tuner that recommends under the common rule."""

    tuner: Tuner
    common: Tuner


def split_specs(text: str) -> list[str]:
    """The strategies of a comma-separated list; commas inside parentheses belong to one strategy."""
    specs, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            specs.append("")
        else:
            specs[-1] += character
    specs = [spec.strip() for spec in specs]
    if not all(specs):
        raise StrategyError(f"an empty name in {text!r}", where="strategies", hint="Write trimtuner-gp,eic")
    return specs


def contender(spec: str, filter_spec: str = "") -> Contender:
    """The strategy of that text, with another filter if one is named.

    The common rule: the largest E[a(x, 1)] among all configurations that meet the limits with 90 %, by the strategy's
    own models, or by Gaussian processes where it has none. A tuner of your own keeps its own recommendation, unless it
    has an attribute `common`, the Tuner that recommends for it under the common rule.
    """
    name, options = _parsed(spec)
    made = _own(name, options) if ":" in name else _named(name, options, spec)
    other_filter = parse_filter(filter_spec) if filter_spec else None
    if not isinstance(made, Recipe):
        if other_filter:
            raise StrategyError("only recipes of LeanTune have a filter", where=spec, hint="Leave --filter out")
        return Contender(made, getattr(made, "common", made))
    if other_filter and made.acquisition is None:
        raise StrategyError(f"{made.name} has no acquisition to filter for", where=spec, hint="Leave --filter out")
    if other_filter:
        made = replace(made, filter=other_filter)
    shared = replace(made.with_common_incumbent(), models=made.models or GpFitter())
    own_rule = made.incumbent == Incumbent() and made.models is not None and made.decides == "acquisition"
    tuner = at_work(made)
    return Contender(tuner, tuner if own_rule else at_work(shared))


def parse_filter(text: str) -> Filter:
    """A filter by name and share: "cea", "cea:0.2", "none"."""
    name, _, share = text.partition(":")
    try:
        beta = float(share) if share else DEFAULT_BETA
    except ValueError:
        hint = f"Write one of {', '.join(FILTERS)}, with a share such as cea:0.2"
        raise StrategyError(f"{share!r} is not a share", where=f"filter {text!r}", hint=hint) from None
    return named_filter(name, beta)


def source_files(spec: str) -> list[Path]:
    """Files besides LeanTune's own that decide what this strategy does: the module of one's own tuner, and those that
    it lists in DECISIVE_FILES.
    """
    name, _ = _parsed(spec)
    if ":" not in name:
        return []
    module = _module(name)
    own = [] if module.__file__ is None else [Path(module.__file__)]
    return [*own, *getattr(module, "DECISIVE_FILES", ())]


def _parsed(spec: str) -> tuple[str, dict[str, object]]:
    match = _SPEC.fullmatch(spec)
    if match is None:
        raise StrategyError(f"{spec!r} does not read as a strategy", where="strategies", hint=_HINT)
    try:
        call = ast.parse(f"f({match['options'] or ''})", mode="eval").body
        assert isinstance(call, ast.Call)
        if call.args or any(keyword.arg is None for keyword in call.keywords):
            raise ValueError
        options = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
        if len(options) < len(call.keywords):  # one of them twice
            raise ValueError
    except (SyntaxError, ValueError, AssertionError, RecursionError, MemoryError):
        hint = "Write option=value, such as nephele(horizon=1)"
        raise StrategyError(f"{match['options']!r} does not read as options", where=spec, hint=hint) from None
    return match["name"], options


def _named(name: str, options: dict[str, object], spec: str) -> Recipe:
    """A recipe of the registry; an option on a command line may be of any type."""
    kinds = get_type_hints(RECIPES[name]) if name in RECIPES else {}
    for option, value in options.items():
        if option in kinds and not _fits(value, kinds[option]):
            wanted = getattr(kinds[option], "__name__", str(kinds[option]))
            raise StrategyError(f"{option} is {value!r}", where=spec, hint=f"Its type is {wanted}")
    return recipe(name, **options)


def _fits(value: object, kind: Any) -> bool:
    """Whether it is of that type; a whole number is a float too, a truth value is no number."""
    try:
        TypeAdapter(kind).validate_python(value, strict=True)
    except ValidationError:
        return False
    return True


def _module(name: str) -> ModuleType:
    module = name.partition(":")[0]
    if not all(part.isidentifier() for part in module.split(".")):
        raise StrategyError(f"{module!r} is not the name of a module", where=name, hint=_HINT)
    try:
        return import_module(module)
    except ImportError as error:
        hint = "Name an importable module: is it installed, or in the folder you are in (PYTHONPATH=.)?"
        raise StrategyError(f"{error}", where=name, hint=hint) from error
    except Exception as error:
        what = f"the module cannot be loaded: {type(error).__name__}: {error}"
        raise StrategyError(what, where=name, hint="Does `python -c 'import ...'` load it?") from error


def _own(name: str, options: dict[str, object]) -> Tuner | Recipe:
    make: Callable[..., Tuner | Recipe] | None = getattr(_module(name), name.partition(":")[2], None)
    if not callable(make):
        raise StrategyError("there is no such function in that module", where=name, hint=_HINT)
    try:
        made = make(**options)
    except TypeError as error:
        raise StrategyError(f"{error}", where=name, hint="Give the options that the function takes") from error
    if not isinstance(made, Recipe) and not all(hasattr(made, part) for part in _TUNER):
        hint = f"Return a Recipe, or an object with {', '.join(_TUNER)}"
        raise StrategyError(f"it returned {type(made).__name__}, not a tuner", where=name, hint=hint)
    return made
