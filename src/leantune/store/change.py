"""A change of a study within one transaction: a trial's new rows, and their money."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import sqlalchemy as sa

from leantune.history import Move, Trial
from leantune.problem import Budget
from leantune.store import statements as sql
from leantune.store.base import LatestRun
from leantune.store.encoding import configuration_text
from leantune.store.rows import Money, ReportRow, StayRow
from leantune.store.study_state import StudyState


class Change:
    """Holds the study's lock until the transaction ends. `state` is what will be true once it is committed."""

    def __init__(
        self, connection: sa.Connection, study_id: int, budget: Budget, state: StudyState, *, proposing: bool
    ) -> None:
        self.connection = connection
        self.study_id = study_id
        self.budget = budget
        self.state = state
        self._before = state
        self._proposing = proposing

    def count(self) -> int:
        """See Transaction."""
        return len(self.state.history)

    def trial(self, number: int) -> Trial:
        """See Transaction."""
        return self.state.history.trial(number)

    def run(self, number: int) -> LatestRun:
        """See Transaction; as stored, without its booking."""
        self.trial(number)
        row = self.connection.execute(sql.RUN, {"study": self.study_id, "trial": number}).one()
        return LatestRun(row.attempt, row.worker, lease_until=row.lease_until or 0.0, stays=row.stays)

    def queued(self) -> Iterator[tuple[Trial, int]]:
        """See Transaction."""
        beyond = -1
        while True:
            rows = self.connection.execute(sql.QUEUED, {"study": self.study_id, "beyond": beyond}).all()
            if not rows:
                return
            for number, attempt in rows:
                yield self.trial(number), attempt
            beyond = rows[-1][0]

    def money(self) -> Money:
        """See Transaction."""
        return self.state.money(self.budget)

    def add(self, trial: Trial) -> None:
        """See Transaction."""
        self.connection.execute(
            sql.INSERT_TRIAL,
            {
                "study_id": self.study_id,
                "number": trial.number,
                "configuration": configuration_text(trial.configuration),
                "fraction": trial.fraction,
                "snapshots": trial.snapshots,
                "note": trial.notes,
                "kind": trial.kind,
                "expected": trial.expected,
                "time_limit": trial.time_limit,
                "state": trial.state,
                "resumed_dollars": trial.resumed_dollars,
                "attempt": 0,
                "changed": self._changes,
            },
        )
        self._append(trial, moves=0, observations=0)
        self.state = self.state.with_added(trial)

    def put(self, trial: Trial, run: LatestRun) -> None:
        """See Transaction; its state, new moves and new observations are written."""
        old, is_running = self.trial(trial.number), run.worker is not None
        self.connection.execute(
            sql.UPDATE_TRIAL,
            {
                "study": self.study_id,
                "trial": trial.number,
                "state": trial.state,
                "resumed_dollars": trial.resumed_dollars,
                "attempt": run.attempt,
                "worker": run.worker,
                "started": run.started if is_running else None,
                "lease_until": run.lease_until if is_running else None,
                "changed": self._changes,
            },
        )
        if len(trial.observations) < len(old.observations):  # its failure is no result any more
            self.connection.execute(sql.DELETE_OBSERVATIONS, {"study": self.study_id, "trial": trial.number})
        self._append(trial, moves=len(old.moves), observations=len(old.observations) if trial.observations else 0)
        self.state = replace(self.state, history=self.state.history.with_trial(trial))

    def reserve(self, number: int, run: LatestRun) -> None:
        """See Transaction."""
        row = {"study_id": self.study_id, **run.ledger_row(number)._asdict(), "changed": self._changes}
        self.connection.execute(sql.INSERT_LEDGER, row)
        self.state = self.state.with_reserved(number, run.attempt, run.booking.usd)

    def settle(self, number: int, run: LatestRun, dollars: float, time: float) -> None:
        """See Transaction."""
        keys = {"study": self.study_id, "trial": number, "run": run.attempt}
        values = {"settled": dollars, "settled_at": time, "changed": self._changes}
        self.connection.execute(sql.UPDATE_LEDGER, {**keys, **values})
        self.state = self.state.with_settled(number, run.attempt, dollars)

    def add_reports(self, reports: Sequence[ReportRow]) -> None:
        """See Transaction; the database gives each its id."""
        rows = [{"study_id": self.study_id, **vars(report)} for report in reports]
        for row in rows:
            del row["id"]
        if rows:
            self.connection.execute(sql.INSERT_REPORTS, rows)

    def put_stays(self, stays: Sequence[StayRow]) -> None:
        """See Transaction."""
        for stay in stays:
            keys = {"trial": stay.number, "run": stay.attempt, "which": stay.machine}
            self.connection.execute(sql.DELETE_STAY, {"study": self.study_id, **keys})
        if stays:
            self.connection.execute(sql.INSERT_STAYS, [{"study_id": self.study_id, **vars(stay)} for stay in stays])

    def close_stays(
        self, number: int, run: LatestRun, end: Move, dollars: float | None = None, stays: Sequence[StayRow] = ()
    ) -> None:
        """See Transaction."""
        if run.stays:
            keys = {"study": self.study_id, "trial": number, "run": run.attempt}
            alone = dollars is not None and self.connection.execute(sql.COUNT_OPEN_STAYS, keys).scalar_one() == 1
            values = {"ended": end.time, "why": end.cause, "gross_usd": dollars if alone else None, "revoked": False}
            self.connection.execute(sql.CLOSE_STAYS, {**keys, **values})
        self.put_stays(stays)

    def stop_proposing(self) -> None:
        """See Transaction."""
        if self._proposing:
            self.connection.execute(sql.NO_PROPOSER, {"study": self.study_id})

    def tell(self) -> None:
        """Raise the study's count of changes, if it has changed."""
        if self.state is not self._before:
            changes = self._changes
            self.connection.execute(sql.UPDATE_STUDY, {"study": self.study_id, "changes": changes, "version": changes})
            self.state = replace(self.state, changes=changes)

    @property
    def _changes(self) -> int:
        return self._before.changes + 1

    def _append(self, trial: Trial, *, moves: int, observations: int) -> None:
        """The trial's moves and observations from these positions on."""
        keys = {"study_id": self.study_id, "number": trial.number}
        made = enumerate(trial.moves[moves:], moves)
        seen = enumerate(trial.observations[observations:], observations)
        self.connection.execute(
            sql.INSERT_MOVES, [{**keys, "position": position, **move._asdict()} for position, move in made]
        )
        if len(trial.observations) > observations:
            self.connection.execute(
                sql.INSERT_OBSERVATIONS, [{**keys, "position": position, **vars(shown)} for position, shown in seen]
            )
