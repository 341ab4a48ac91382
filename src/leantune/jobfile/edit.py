"""Changes of a job file: a raised budget, where every other byte stays as the user wrote it, and the short form of
`leantune spot run`, which is a job file of its own.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from leantune.errors import JobError
from leantune.executors.registry import DEFAULT
from leantune.files import write_whole
from leantune.jobfile.job import Job, parse_job, read_text
from leantune.jobfile.settings import FREE
from leantune.jobfile.tree import ROOT_HINT, Entry, read_tree
from leantune.problem import Budget

_BOM = "\ufeff"
SPOTTUNE = "spottune"


def with_budget(path: Path, wanted: Budget) -> None:
    """Raise limits of the budget in the file at once or not at all; those that are not given stay as they are."""
    text, source = read_text(path), str(path)
    job = parse_job(text, folder=path.absolute().parent, source=source)
    raised = _raised(job.problem.budget, wanted, source)
    edited = _edited(text, wanted.limits, source)
    if parse_job(edited, folder=job.folder, source=source).problem.budget != raised:
        hint = f"Write it by hand: budget: {_as_flow(raised)}"
        raise JobError("the budget is written in a way that cannot be changed here", where=source, hint=hint)
    try:
        write_whole(Path(os.path.realpath(path)), edited, durable=True)
    except OSError as error:
        reason = error.strerror or str(error)
        hint = "Make its folder writable, or change the budget by hand"
        raise JobError(f"the job file cannot be written: {reason}", where=source, hint=hint) from None


@dataclass(frozen=True)
class SpotTuneOptions:
    """The options of `leantune spot run` for a job file; None: as in the file."""

    theta: float | None = None
    mcnt: int | None = None
    steps: float | None = None
    predictor: str | None = None


def spottune_name(name: str) -> str:
    """The name of the short form's study, which differs from the name of the job file's own study."""
    return f"{name}-{SPOTTUNE}"


def load_spottune(path: Path, options: SpotTuneOptions) -> Job:
    """The job that `leantune spot run` makes of a job file; its errors name the lines of that file."""
    own, source = read_text(path), str(path)
    lines = read_tree(own, source).lines()
    return parse_job(as_spottune(own, options, source), folder=path.absolute().parent, source=source, lines=lines)


def as_spottune(text: str, options: SpotTuneOptions, source: str) -> str:
    """The job file of `leantune spot run`: SpotTune over all settings, with free machines.

    One whose strategy is SpotTune already keeps its name and its options.
    """
    root = read_tree(text, source)
    document = {key: entry.plain() for key, entry in root.any_fields(ROOT_HINT).items()}
    given, run = document.get("strategy"), dict(document.get("run") or {})
    strategy = dict(given) if isinstance(given, dict) else {"name": given}
    if strategy.get("name") != SPOTTUNE:
        strategy = {"name": SPOTTUNE}
        document["name"] = spottune_name(str(document.get("name", "")))
    strategy |= {key: value for key, value in (("theta", options.theta), ("mcnt", options.mcnt)) if value is not None}
    if run.get("on", DEFAULT) == DEFAULT:
        run.pop("on", None)
    run |= {"machine": FREE} | ({} if options.predictor is None else {"predictor": options.predictor})
    document |= {"strategy": strategy, "run": run}
    if options.steps is not None:
        document["steps"] = options.steps
    document.pop("fractions", None)
    _forget_machine(document)
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"  # JSON, which is YAML too


def _forget_machine(document: dict[str, Any]) -> None:
    """The user's present setting without its machine, which is free."""
    space, baseline = document.get("space"), document.get("baseline")
    if isinstance(space, dict) and isinstance(baseline, dict):
        kinds = {name: set(form) if isinstance(form, dict) else set() for name, form in space.items()}
        machines = [name for name, keys in kinds.items() if keys & {"machines", "provider"}]
        document["baseline"] = {name: value for name, value in baseline.items() if name not in machines}


def _raised(old: Budget, wanted: Budget, source: str) -> Budget:
    for name, before in old.limits.items():
        value = wanted.limits.get(name, before)
        if value < before:
            hint = f"Give at least {before:g}"
            raise JobError(f"{name} is {before:g} and would be lowered to {value:g}", where=source, hint=hint)
    return replace(old, **wanted.limits)


def _edited(text: str, wanted: Mapping[str, float], source: str) -> str:
    bom = _BOM if text.startswith(_BOM) else ""
    body = text.removeprefix(_BOM)
    root = read_tree(body, source).any_fields("")
    budget = root["budget"]
    limits = budget.any_fields("")
    edits = [(*limits[name].span, _number(value)) for name, value in wanted.items() if name in limits]
    new = [f"{name}: {_number(value)}" for name, value in wanted.items() if name not in limits]
    if new:
        edits.append(_addition(body, budget, new))
    for start, end, replacement in sorted(edits, reverse=True):
        body = body[:start] + replacement + body[end:]
    return bom + body


def _addition(text: str, budget: Entry, new: list[str]) -> tuple[int, int, str]:
    """The text and its place that add the new keys to the mapping."""
    last = max(entry.span[1] for entry in budget.any_fields("").values())
    if budget.flow:
        return last, last, "".join(f", {limit}" for limit in new)
    first = budget.span[0]
    indentation = " " * (first - (text.rfind("\n", 0, first) + 1))
    line_end = re.compile(r"\r?\n|\Z").search(text, last)
    assert line_end is not None
    newline = "\r\n" if "\r\n" in text else "\n"
    return line_end.start(), line_end.start(), "".join(f"{newline}{indentation}{limit}" for limit in new)


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(value)


def _as_flow(budget: Budget) -> str:
    limits = ", ".join(f"{name}: {_number(value)}" for name, value in budget.limits.items())
    return f"{{{limits}}}"
