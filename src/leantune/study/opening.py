"""Opening a study in a database: a new one is created, an old one goes on if it is still the same."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version

from leantune.clock import Clock
from leantune.errors import StoreError, StudyChanged
from leantune.history import TrialState
from leantune.problem import Problem
from leantune.store.database import Database
from leantune.store.study import StudyRow, StudyStore
from leantune.study.definition import changes


def open_or_create(
    database: Database, name: str, problem: Problem, document: Mapping[str, object], job: str, clock: Clock
) -> StudyStore:
    """The study of that name, created if need be; StudyChanged when it was defined differently.

    A different budget is taken over: raising it is how a study is extended.
    """
    found = database.find(name)
    if found is None:
        try:
            return database.create(
                name,
                problem.space,
                document,
                job,
                problem.budget,
                time=clock.now(),
                leantune_version=version("leantune"),
            )
        except StoreError:
            found = database.find(name)
            if found is None:  # not for the name's sake: another process was not faster
                raise
    study = open_unchanged(database, found, problem, document)
    if changes(dict(found.definition), document).breaking:
        study.redefine(document, job)
    if study.budget() != problem.budget:
        study.set_budget(problem.budget, time=clock.now(), cause="the definition of the study gives another budget")
    return study


def open_unchanged(database: Database, found: StudyRow, problem: Problem, document: Mapping[str, object]) -> StudyStore:
    """The study as it is, with its own budget; StudyChanged when it was defined differently.

    A training command may be repaired as long as no trial came through: there is nothing yet to compare with.
    """
    breaking = changes(dict(found.definition), document).breaking
    repaired = all(line.startswith("train ") for line in breaking) and not found.counts.get(TrialState.DONE)
    if breaking and not repaired:
        raise StudyChanged(
            f"study {found.name!r} was defined differently: {'; '.join(breaking)}",
            where=database.url,
            hint="Put it back to go on, or give the study another name to start afresh",
        )
    return database.open(found.name, problem.space)
