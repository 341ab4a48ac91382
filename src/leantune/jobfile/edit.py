"""Raising the budget in a job file: only the numbers change, every other byte stays as the user wrote it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from leantune.errors import JobError
from leantune.files import write_whole
from leantune.jobfile.job import parse_job, read_text
from leantune.jobfile.tree import Entry, read_tree
from leantune.problem import Budget

_BOM = "\ufeff"


def with_budget(path: Path, usd: float | None = None, trials: int | None = None, hours: float | None = None) -> None:
    """Raise limits of the budget in the file at once or not at all; those that are not given stay as they are."""
    text, source = read_text(path), str(path)
    job = parse_job(text, folder=path.absolute().parent, source=source)
    wanted = {name: value for name, value in (("usd", usd), ("trials", trials), ("hours", hours)) if value is not None}
    raised = _raised(job.problem.budget, wanted, source)
    edited = _edited(text, wanted, source)
    if parse_job(edited, folder=job.folder, source=source).problem.budget != raised:
        hint = f"Write it by hand: budget: {_as_flow(raised)}"
        raise JobError("the budget is written in a way that cannot be changed here", where=source, hint=hint)
    try:
        write_whole(Path(os.path.realpath(path)), edited, durable=True)
    except OSError as error:
        reason = error.strerror or str(error)
        hint = "Make its folder writable, or change the budget by hand"
        raise JobError(f"the job file cannot be written: {reason}", where=source, hint=hint) from None


def _raised(old: Budget, wanted: Mapping[str, float], source: str) -> Budget:
    for name, value in wanted.items():
        before = getattr(old, name)
        if before is not None and value < before:
            hint = f"Give at least {before:g}"
            raise JobError(f"{name} is {before:g} and would be lowered to {value:g}", where=source, hint=hint)
    return Budget(**{**asdict(old), **wanted})


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
    """Where and what to insert so that the mapping has the new keys as well."""
    last = max(entry.span[1] for entry in budget.any_fields("").values())
    if budget.flow:
        return last, last, "".join(f", {one}" for one in new)
    first = budget.span[0]
    indentation = " " * (first - (text.rfind("\n", 0, first) + 1))
    line_end = re.compile(r"\r?\n|\Z").search(text, last)
    assert line_end is not None
    newline = "\r\n" if "\r\n" in text else "\n"
    return line_end.start(), line_end.start(), "".join(f"{newline}{indentation}{one}" for one in new)


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(value)


def _as_flow(budget: Budget) -> str:
    limits = ", ".join(f"{name}: {_number(value)}" for name, value in asdict(budget).items() if value is not None)
    return f"{{{limits}}}"
