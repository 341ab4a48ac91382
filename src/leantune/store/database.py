"""A database of studies: a SQLite file, PostgreSQL, or (for studies that are not kept) memory."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

import sqlalchemy as sa

from leantune.errors import StoreError
from leantune.problem import Budget
from leantune.space import Space
from leantune.store import statements as sql
from leantune.store.connections import Connections, parse_url
from leantune.store.encoding import clean, definition_text, read_definition
from leantune.store.rows import BudgetChange, StudyRow
from leantune.store.rules import checked_name, unknown_study
from leantune.store.study import StudyStore, budget_columns, log_budget
from leantune.store.upgrade import check_revision, upgrade


class Database:
    """Studies by name. One per process is enough; threads may share it. Not for use in a forked child.

    url: sqlite:///path.db, postgresql://user:password@host/database, or sqlite:// for one in memory. A new database
    gets its tables, an older one is upgraded, one of a newer LeanTune or of another program is refused and left alone.
    """

    def __init__(self, url: str) -> None:
        self._connections = Connections(parse_url(url))
        try:
            upgrade(self._connections)
        except BaseException:
            self._connections.close()
            raise

    @staticmethod
    def exists(url: str) -> bool:
        """Whether there is a database to open, found out without creating one; a server's is taken to exist."""
        place = parse_url(url)
        return place.get_backend_name() != "sqlite" or Path(place.database or "").is_file()

    @property
    def url(self) -> str:
        """The address, without the password."""
        return self._connections.shown

    def studies(self) -> list[StudyRow]:
        """Every study, oldest first, without its history."""
        with self._connections.reading() as connection:
            counts: dict[int, dict[str, int]] = defaultdict(dict)
            for study_id, state, count in connection.execute(sql.COUNTS):
                counts[study_id][state] = count
            return [_study_row(row, counts[row.id]) for row in connection.execute(sql.STUDIES)]

    def find(self, name: str) -> StudyRow | None:
        """The study of that name, or None."""
        entry = self._find(name)
        return None if entry is None else entry[1]

    def create(
        self,
        name: str,
        space: Space,
        definition: Mapping[str, object],
        job: str,
        budget: Budget,
        *,
        time: float,
        leantune_version: str,
    ) -> StudyStore:
        """A new study; StoreError when the name is taken."""
        values = {
            "name": checked_name(name),
            "created": float(time),
            "leantune_version": leantune_version,
            "definition": definition_text(definition),
            "job": clean(job),
            "changes": 0,
            "version": 0,
            **budget_columns(budget),
        }
        with self._connections.writing() as connection:
            check_revision(connection.execute(sql.REVISION).scalar_one_or_none(), self.url)
            try:
                connection.execute(sql.INSERT_STUDY, values)
            except sa.exc.IntegrityError:
                hint = "Open it, or choose another name"
                raise StoreError(f"there is a study {name!r} already", where=self.url, hint=hint) from None
            study_id = connection.execute(sql.STUDY_OF_NAME, {"wanted": name}).one().id
            log_budget(connection, study_id, BudgetChange(float(time), budget, "created"))
        return self.open(name, space)

    def open(self, name: str, space: Space) -> StudyStore:
        """The study of that name, whose configurations are those of `space`; UnknownStudy when there is none."""
        entry = self._find(name)
        if entry is None:
            with self._connections.reading() as connection:
                names = list(connection.execute(sql.NAMES).scalars())
            raise unknown_study(name, names, self.url)
        study_id, row = entry
        return StudyStore(self._connections, study_id, row, space)

    def close(self) -> None:
        """Give the connections back; closing twice is fine."""
        self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _find(self, name: str) -> tuple[int, StudyRow] | None:
        with self._connections.reading() as connection:
            row = connection.execute(sql.STUDY_OF_NAME, {"wanted": clean(name)}).first()
            if row is None:
                return None
            counts = connection.execute(sql.COUNTS_OF_STUDY, {"study": row.id})
            return row.id, _study_row(row, {state: count for _, state, count in counts})


def _study_row(row: Any, counts: Mapping[str, int]) -> StudyRow:
    budget = Budget(row.budget_usd, row.budget_trials, row.budget_hours)
    definition = read_definition(row.definition)
    return StudyRow(row.name, row.created, definition, row.job, budget, MappingProxyType(dict(counts)))
