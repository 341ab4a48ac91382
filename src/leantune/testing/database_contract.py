"""The promises of studies in a database as tests: those of every store, and what is kept beside the trials."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator

import pytest

from leantune.errors import StoreError, StudyChanged, UnknownStudy
from leantune.problem import Budget
from leantune.space import Space, log
from leantune.store.database import Database
from leantune.store.rows import BudgetChange, ReportRow
from leantune.store.study import StudyStore
from leantune.testing.store_contract import StoreContract
from leantune.testing.store_samples import FULL, OTHER, SMALL, contract_space


class DatabaseContract(StoreContract, ABC):
    """Subclass it as `class TestMine(DatabaseContract)`.

    shared: whether opening it again finds the same data.
    """

    shared = True

    @abstractmethod
    def opened(self) -> Database:
        """The test's own database, without studies; opened once more where it is shared."""

    @pytest.fixture
    def database(self) -> Iterator[Database]:
        """The test's database."""
        with self.opened() as database:
            yield database

    @pytest.fixture
    def study(self, database: Database) -> StudyStore:
        """An empty study of 10 dollars."""
        return database.create(
            "mine",
            contract_space(),
            {"seed": 1, "lr": [0.1, None, {"a": True}]},
            "name: mine\n",
            Budget(usd=10.0, trials=40),
            time=5.0,
            leantune_version="1.2.3",
        )

    @pytest.fixture
    def peer(self, study: StudyStore, database: Database) -> Iterator[StudyStore]:
        """The same study as another process sees it."""
        if not self.shared:
            yield database.open("mine", contract_space())
            return
        with self.opened() as other:
            yield other.open("mine", contract_space())

    def create(self, database: Database, name: str) -> StudyStore:
        """Another study of 10 dollars."""
        return database.create(name, contract_space(), {}, "", Budget(usd=10.0), time=6.0, leantune_version="1.2.3")

    def test_a_new_study_is_found(self, database: Database, study: StudyStore) -> None:
        assert (study.name, study.job) == ("mine", "name: mine\n")
        assert study.definition == {"seed": 1, "lr": [0.1, None, {"a": True}]}
        row = database.find("mine")
        assert row is not None and row == database.studies()[0]
        assert (row.name, row.created, row.budget, row.counts) == ("mine", 5.0, Budget(usd=10.0, trials=40), {})

    def test_names(self, database: Database, study: StudyStore) -> None:
        with pytest.raises(StoreError, match="'mine' already"):
            self.create(database, "mine")
        with pytest.raises(UnknownStudy, match="Did you mean 'mine'"):
            database.open("mime", contract_space())
        assert database.find("mime") is None
        assert database.find("mine\x00") is None
        for wrong in ("", " mine", "a\nb", "a\x00b", "x" * 201):
            with pytest.raises(StoreError, match="cannot be the name"):
                self.create(database, wrong)
        assert [row.name for row in database.studies()] == ["mine"]

    def test_everybody_names_the_study_alike_and_no_other_so(
        self, database: Database, study: StudyStore, peer: StudyStore
    ) -> None:
        assert study.key == peer.key == database.open("mine", contract_space()).key
        assert self.create(database, "second").key != study.key

    def test_studies_do_not_mix(self, database: Database, study: StudyStore) -> None:
        second = self.create(database, "second")
        study.propose(SMALL, FULL, time=1.0)
        study.propose(SMALL, FULL, time=1.0)
        second.propose(OTHER, FULL, time=1.0)
        claim = self.claim(second, usd=2.0)
        second.add_reports([ReportRow(0, 1, 0.5, {"loss": 1.0})])
        assert claim.trial.number == 0
        assert study.money().reserved == 0.0 and second.money().reserved == 2.0
        assert study.reports() == [] and study.ledger() == []
        assert {row.name: dict(row.counts) for row in database.studies()} == {
            "mine": {"queued": 2},
            "second": {"running": 1},
        }

    def test_a_definition_that_is_no_json_is_refused(self, database: Database) -> None:
        for wrong in ({"a": object()}, {"a": math.nan}):
            with pytest.raises(StoreError, match="JSON"):
                database.create("x", contract_space(), wrong, "", Budget(), time=0.0, leantune_version="1")
        assert database.studies() == []

    def test_another_space_is_refused(self, study: StudyStore, database: Database) -> None:
        study.propose(OTHER, FULL, time=0.0)
        other = database.open("mine", Space(lr=log(1e-5, 1e-1)))
        with pytest.raises(StudyChanged, match="trial 0"):
            other.history()

    def test_every_budget_is_kept(self, study: StudyStore, peer: StudyStore) -> None:
        raised = Budget(usd=20.5, hours=0.1)
        study.set_budget(raised, time=8.0, cause="extended ☃")
        assert peer.budgets() == [
            BudgetChange(5.0, Budget(usd=10.0, trials=40), "created"),
            BudgetChange(8.0, raised, "extended ☃"),
        ]

    def test_a_closed_store_says_so(self, database: Database, study: StudyStore) -> None:
        database.close()
        database.close()
        with pytest.raises(StoreError, match="closed"):
            study.history()
