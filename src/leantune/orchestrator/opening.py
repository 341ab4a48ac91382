"""Opening a study in a database: a new one is created, an old one goes on if it is still the same."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version

from leantune.clock import Clock
from leantune.errors import StudyChanged
from leantune.orchestrator.definition import changes
from leantune.problem import Problem
from leantune.store.database import Database
from leantune.store.study import StudyRow, StudyStore


def open_or_create(
    database: Database, name: str, problem: Problem, document: Mapping[str, object], job: str, clock: Clock
) -> StudyStore:
    """The study of that name, created if need be; StudyChanged when it was defined differently.

    A different budget is taken over: raising it is how a study is extended.
    """
    found = database.find(name)
    if found is None:
        return database.create(
            name,
            problem.space,
            document,
            job,
            problem.budget,
            time=clock.now(),
            leantune_version=version("leantune"),
        )
    study = open_unchanged(database, found, problem, document)
    if study.budget() != problem.budget:
        study.set_budget(problem.budget, time=clock.now(), cause="the definition of the study gives another budget")
    return study


def open_unchanged(database: Database, found: StudyRow, problem: Problem, document: Mapping[str, object]) -> StudyStore:
    """The study as it is, with its own budget; StudyChanged when it was defined differently."""
    breaking = changes(dict(found.definition), document).breaking
    if breaking:
        raise StudyChanged(
            f"study {found.name!r} was defined differently: {'; '.join(breaking)}",
            where=database.url,
            hint="Put it back to go on, or give the study another name to start afresh",
        )
    return database.open(found.name, problem.space)
