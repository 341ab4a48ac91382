"""The promises of a study store (store/base.py) as tests: bind them to an implementation by a subclass that says where
to find a new one.
"""

import math
import threading
from fractions import Fraction

import pytest

from leantune.errors import (
    HistoryError,
    IllegalMove,
    LeaseLost,
    Outdated,
    SpaceError,
    StoreError,
    UnknownTrial,
)
from leantune.history import (
    Estimate,
    Move,
    Note,
    NoteKind,
    Observation,
    ObservationKind,
    Trial,
    TrialKind,
    TrialState,
)
from leantune.problem import Budget
from leantune.store.base import Store
from leantune.store.rows import (
    Booking,
    Claim,
    LedgerRow,
    Money,
    ReportRow,
    WorkerRow,
)
from leantune.testing.judging_contract import JudgingContract
from leantune.testing.store_samples import (
    FULL,
    NOTES,
    ODD_TEXTS,
    OTHER,
    RATE,
    SMALL,
    Fitting,
    always,
    contract_space,
    expired,
    failed,
    measured,
)
from leantune.testing.store_walk import StoreWalk
from leantune.units import NO_USD, Seconds, Usd


class StoreContract(JudgingContract):
    """Subclass it as `class TestMine(StoreContract)`."""

    # -- proposals

    def test_a_new_study_is_empty(self, study: Store) -> None:
        assert (study.name, len(study.history())) == ("mine", 0)
        assert study.budget() == Budget(usd=10.0, trials=40)
        assert study.money() == Money(10.0, 0.0, 0.0)
        assert study.ledger() == [] and study.reports() == [] and study.workers() == []

    def test_a_proposal_survives_exactly(self, study: Store, peer: Store) -> None:
        tiny, shares = 5e-324, (Fraction(1, 60), Fraction(1, 3))
        expected = {"accuracy": Estimate(0.1 + 0.2, tiny), "cost": Estimate(1e300, math.inf)}
        trial = study.propose(
            OTHER,
            shares[-1],
            shares,
            time=1700000000.1234567,
            notes=NOTES,
            expected=expected,
            time_limit=1 / 3,
            kind=TrialKind.ENQUEUED,
        )
        assert trial.configuration == contract_space().configuration(OTHER)
        assert (trial.number, trial.state, trial.fraction, trial.snapshots) == (0, "queued", shares[-1], shares)
        assert (trial.notes, trial.expected, trial.time_limit) == (NOTES, expected, 1 / 3)
        assert trial.kind is TrialKind.ENQUEUED
        times = [(move.state, move.time) for move in trial.moves]
        assert times == [("proposed", 1700000000.1234567), ("queued", 1700000000.1234567)]
        assert peer.history().trials == study.history().trials == (trial,)
        assert peer.history().trials[0].configuration.usd_per_hour == 2 * RATE

    def test_what_is_only_proposed_is_not_claimed(self, study: Store, peer: Store) -> None:
        trial = study.propose(SMALL, FULL, time=1.0, queue=False)
        assert trial.state is TrialState.PROPOSED
        assert study.claim("w", time=1.0, lease=1.0, fitting=always()) is None
        assert peer.history().trials == (trial,)

    def test_wrong_proposals_leave_nothing(self, study: Store, peer: Store) -> None:
        with pytest.raises(SpaceError, match="lr"):
            study.propose({**SMALL, "lr": 7.0}, FULL, time=0.0)
        with pytest.raises(HistoryError, match="snapshots"):
            study.propose(SMALL, FULL, (Fraction(1, 2),), time=0.0)
        with pytest.raises(HistoryError, match="time"):
            study.propose(SMALL, FULL, time=math.nan)
        with pytest.raises(HistoryError, match="time limit"):
            study.propose(SMALL, FULL, time=0.0, time_limit=0.0)
        assert len(study.history()) == len(peer.history()) == 0
        assert study.propose(SMALL, FULL, time=0.0).number == 0

    def test_an_outdated_proposal_is_refused(self, study: Store, peer: Store) -> None:
        study.propose(SMALL, FULL, time=0.0, after=0)
        assert peer.may_propose("w", time=0.0, for_seconds=10.0)
        with pytest.raises(Outdated, match="0 trials, and there are 1"):
            peer.propose(OTHER, FULL, time=0.0, after=0)
        assert study.may_propose("v", time=0.0, for_seconds=10.0), "the marker is released"
        assert len(study.history()) == len(peer.history()) == 1
        assert peer.propose(OTHER, FULL, time=0.0, after=1).number == 1

    def test_one_worker_proposes_at_a_time(self, study: Store, peer: Store) -> None:
        assert study.may_propose("v", time=0.0, for_seconds=10.0)
        assert study.may_propose("v", time=1.0, for_seconds=10.0), "its own marker is no obstacle"
        assert not peer.may_propose("w", time=10.9, for_seconds=10.0)
        assert peer.may_propose("w", time=11.0, for_seconds=10.0), "v's time is over"
        study.release_proposing("v")
        assert not study.may_propose("v", time=12.0, for_seconds=10.0), "v cannot release w's marker"
        peer.propose(SMALL, FULL, time=12.0)
        assert study.may_propose("v", time=12.0, for_seconds=10.0)
        study.release_proposing("v")
        assert peer.may_propose("w", time=12.0, for_seconds=10.0)

    # -- claims and leases

    def test_a_claim_runs_the_oldest_trial(self, study: Store, peer: Store) -> None:
        for _ in range(2):
            study.propose(SMALL, FULL, time=1.0)
        fitting = always(2.5)
        claim = study.claim("w", time=3.0, lease=60.0, fitting=fitting)
        assert claim is not None
        assert (claim.attempt, claim.worker, claim.started, claim.lease_until) == (1, "w", 3.0, 63.0)
        assert claim.trial == peer.history().trial(0)
        assert claim.trial.moves[-1] == Move(TrialState.RUNNING, 3.0)
        assert fitting.asked == [(0, Money(10.0, 0.0, 0.0))]
        assert study.ledger() == [LedgerRow(0, 1, "w", RATE, 10.0, 2.5, 3.0, None, None)]
        assert peer.money() == study.money() == Money(10.0, 0.0, 2.5)
        assert study.money().left == 7.5

    def test_trials_that_do_not_fit_are_passed_over(self, study: Store) -> None:
        for _ in range(70):
            study.propose(SMALL, FULL, time=1.0)
        assert study.claim("w", time=3.0, lease=1.0, fitting=Fitting(0.0, frozenset(range(70)))) is None
        fitting = Fitting(0.0, frozenset(range(66)))
        claim = study.claim("w", time=3.0, lease=1.0, fitting=fitting)
        assert claim is not None and claim.trial.number == 66
        assert [number for number, _ in fitting.asked] == list(range(67))

    def test_nothing_is_claimed_twice(self, study: Store, peer: Store) -> None:
        study.propose(SMALL, FULL, time=1.0)
        assert study.claim("v", time=3.0, lease=1.0, fitting=always()) is not None
        assert peer.claim("w", time=99.0, lease=1.0, fitting=always()) is None
        assert peer.claim("v", time=99.0, lease=1.0, fitting=always()) is None

    def test_no_claim_exceeds_the_budget(self, study: Store, peer: Store) -> None:
        study.set_budget(Budget(usd=0.3), time=0.0, cause="test")
        for _ in range(4):
            study.propose(SMALL, FULL, time=1.0)
        for _ in range(3):  # 0.1 + 0.1 + 0.1 > 0.3 by rounding alone
            self.claim(study, usd=0.1)
        with pytest.raises(StoreError, match="exceeds"):
            peer.claim("w", time=1.0, lease=1.0, fitting=always(1e-6))
        assert [trial.state for trial in peer.history().trials] == ["running"] * 3 + ["queued"]
        assert len(peer.ledger()) == 3
        assert peer.claim("w", time=1.0, lease=1.0, fitting=always(0.0)) is not None

    def test_without_a_dollar_limit_everything_fits(self, study: Store) -> None:
        study.set_budget(Budget(trials=3), time=0.0, cause="test")
        study.propose(SMALL, FULL, time=1.0)
        self.claim(study, usd=1e9)
        assert study.money() == Money(None, 0.0, 1e9)
        assert study.money().left == math.inf

    def test_leases_are_renewed_by_their_holder(self, study: Store, peer: Store) -> None:
        for _ in range(3):
            study.propose(SMALL, FULL, time=0.0)
        first, second = self.claim(study, worker="v"), self.claim(study, worker="v")
        self.claim(peer, worker="w")
        assert study.renew("v", [0, 1, 2, 7], time=5.0, lease=60.0) == {0, 1}
        assert study.renew("v", [], time=5.0, lease=60.0) == frozenset()
        assert [claim.trial.number for claim in expired(peer, 64.0)] == [2]
        assert [claim.lease_until for claim in expired(peer, 65.0)][:2] == [65.0, 65.0]
        study.finish(first, observations=[measured(0.5)], state=TrialState.DONE, cause="", time=6.0, dollars=Usd(0.5))
        assert study.renew("v", [0, 1], time=7.0, lease=60.0) == {1}
        assert second.trial.number == 1

    def test_expired_are_those_whose_lease_or_worker_is_over(self, study: Store, peer: Store) -> None:
        for _ in range(2):
            study.propose(SMALL, FULL, time=0.0)
        first = self.claim(study, worker="v", usd=1.5, time=0.0, lease=10.0)
        second = self.claim(study, worker="w", usd=2.5, time=0.0, lease=20.0)
        assert expired(peer, 9.9) == []
        assert expired(peer, 10.0) == [first]
        assert expired(peer, 9.9, frozenset({"w", "x"})) == [second]
        assert expired(peer, 20.0) == [first, second]
        assert peer.history().trial(0).state is TrialState.RUNNING, "nothing is changed by looking"

    def test_a_lost_trial_returns_to_the_queue(self, study: Store, peer: Store) -> None:
        study.propose(SMALL, FULL, time=0.0)
        claim = self.claim(study, worker="v", usd=1.5, time=0.0, lease=10.0)
        (over,) = expired(peer, 11.0)
        assert peer.lose(over, time=11.0, cause="v vanished", dollars=Usd(0.25))
        moves = peer.history().trial(0).moves[-2:]
        assert moves == (Move(TrialState.LOST, 11.0, "v vanished", Usd(0.25)), Move(TrialState.QUEUED, 11.0))
        assert study.money() == Money(10.0, 0.25, 0.0)
        assert study.history() == peer.history()
        assert not study.lose(over, time=12.0, cause="again", dollars=Usd(0.25))
        with pytest.raises(LeaseLost, match="trial 0"):
            study.finish(
                claim, observations=[measured(0.5)], state=TrialState.DONE, cause="", time=12.0, dollars=Usd(0.5)
            )
        assert study.renew("v", [0], time=12.0, lease=10.0) == frozenset()
        again = self.claim(peer, worker="v")
        assert again.attempt == 2
        with pytest.raises(LeaseLost, match="attempt 1"):
            study.finish(
                claim, observations=[measured(0.5)], state=TrialState.DONE, cause="", time=13.0, dollars=Usd(0.5)
            )
        assert study.money().spent == study.history().cost == 0.25

    def test_a_lease_renewed_in_time_is_not_lost(self, study: Store, peer: Store) -> None:
        study.propose(SMALL, FULL, time=0.0)
        claim = self.claim(study, worker="v", time=0.0, lease=10.0)
        (over,) = expired(peer, 11.0)
        assert study.renew("v", [0], time=11.0, lease=10.0) == {0}
        assert not peer.lose(over, time=11.0, cause="v vanished", dollars=NO_USD)
        study.finish(claim, observations=[measured(0.5)], state=TrialState.DONE, cause="", time=12.0, dollars=Usd(0.5))
        assert not peer.lose(over, time=11.0, cause="v vanished", dollars=NO_USD)
        assert peer.history().trial(0).state is TrialState.DONE

    # -- results

    @pytest.mark.parametrize(
        ("state", "seen"), [("done", measured(0.5)), ("failed", failed(0.5)), ("stopped", measured(0.5))]
    )
    def test_a_run_ends_a_trial(self, study: Store, peer: Store, state: str, seen: Observation) -> None:
        study.propose(SMALL, FULL, time=0.0)
        claim = self.claim(study, usd=1.0)
        trial = study.finish(
            claim, observations=[seen], state=TrialState(state), cause="so it is", time=9.0, dollars=Usd(0.5)
        )
        assert (trial.state, trial.observations, trial.cost) == (state, (seen,), 0.5)
        assert trial.moves[-1] == Move(TrialState(state), 9.0, "so it is")
        assert peer.history().trials == (trial,)
        assert peer.ledger() == [LedgerRow(0, 1, "w", RATE, 10.0, 1.0, 1.0, 0.5, 9.0)]
        assert peer.money() == Money(10.0, 0.5, 0.0)
        with pytest.raises(LeaseLost, match="trial 0"):
            study.finish(claim, observations=[seen], state=TrialState(state), cause="", time=9.0, dollars=Usd(0.5))
        assert study.claim("w", time=9.0, lease=1.0, fitting=always()) is None

    @pytest.mark.parametrize(("state", "by_way_of"), [("queued", ()), ("revoked", ("revoked",)), ("lost", ("lost",))])
    def test_a_run_is_interrupted(self, study: Store, peer: Store, state: str, by_way_of: tuple[str, ...]) -> None:
        study.propose(SMALL, FULL, time=0.0)
        claim = self.claim(study, usd=1.0)
        trial = study.finish(claim, observations=(), state=TrialState(state), cause="why", time=9.0, dollars=Usd(0.5))
        assert tuple(move.state for move in trial.moves[3:]) == (*by_way_of, "queued")
        assert trial.moves[3] == Move(TrialState(state), 9.0, "why", Usd(0.5))
        assert (trial.cost, peer.money()) == (0.5, Money(10.0, 0.5, 0.0))
        again = self.claim(peer, usd=1.0)
        assert again.attempt == 2
        assert [row.settled for row in study.ledger()] == [0.5, None]

    def test_a_resumed_run_is_paid_once(self, study: Store, peer: Store) -> None:
        """Its observations count all seconds, its second attempt only those since the checkpoint."""
        study.propose(SMALL, FULL, time=0.0)
        study.finish(self.claim(study), observations=(), state=TrialState.QUEUED, cause="", time=2.0, dollars=Usd(0.75))
        trial = study.finish(
            self.claim(study),
            observations=[measured(1.0)],
            state=TrialState.DONE,
            cause="",
            time=3.0,
            dollars=Usd(0.25),
            resumed_dollars=Usd(0.75),
        )
        assert trial.cost == peer.history().cost == peer.money().spent == 1.0
        assert peer.history().trial(0).resumed_dollars == 0.75

    def test_wrong_results_leave_the_trial_running(self, study: Store, peer: Store) -> None:
        study.propose(SMALL, FULL, time=0.0)
        claim = self.claim(study, usd=1.0)
        done, seen = TrialState.DONE, [measured(0.5)]
        with pytest.raises(ValueError, match="nothing is told"):
            study.finish(claim, observations=(), state=done, cause="", time=1.0, dollars=Usd(0.5))
        with pytest.raises(IllegalMove, match="running trial cannot become running"):
            study.finish(claim, observations=(), state=TrialState.RUNNING, cause="", time=1.0, dollars=Usd(0.5))
        with pytest.raises(StoreError, match="no result"):
            study.finish(claim, observations=seen, state=TrialState.QUEUED, cause="", time=1.0, dollars=Usd(0.5))
        for wrong in (-0.1, math.nan, math.inf):
            with pytest.raises(StoreError, match="dollars"):
                study.finish(claim, observations=seen, state=done, cause="", time=1.0, dollars=Usd(wrong))
            with pytest.raises(StoreError, match="dollars"):
                study.lose(claim, time=1.0, cause="", dollars=Usd(wrong))
        for broken in (measured(math.nan), measured(0.1, seconds=math.inf)):
            with pytest.raises(StoreError, match="finite"):
                study.finish(claim, observations=[broken], state=done, cause="", time=1.0, dollars=Usd(0.5))
        assert peer.history().trial(0) == study.history().trial(0) == claim.trial
        assert peer.money() == study.money() == Money(10.0, 0.0, 1.0)
        study.finish(claim, observations=seen, state=done, cause="", time=1.0, dollars=Usd(0.5))

    def test_results_that_are_told_go_through_the_ledger(self, study: Store, peer: Store) -> None:
        shares = (Fraction(1, 10), FULL)
        study.propose(SMALL, FULL, shares, time=1.0, queue=False)
        study.propose(SMALL, FULL, time=1.0)
        study.propose(SMALL, FULL, time=1.0)
        seen = [measured(0.5), measured(0.05, seconds=None, fraction=shares[0])]
        trial = study.record(0, seen, time=4.0)
        assert [move.state for move in trial.moves] == ["proposed", "queued", "running", "done"]
        assert trial.observations == (seen[1], seen[0])
        study.record(1, [failed(0.25)], time=5.0, state=TrialState.FAILED, cause="exit code 3")
        unpriced = Observation(FULL, ObservationKind.MEASURED, {"accuracy": 1.0}, Seconds(1.0), None)
        study.record(2, [unpriced], time=6.0)
        assert peer.history() == study.history()
        assert peer.money() == Money(10.0, 0.75, 0.0)
        assert peer.history().cost == 0.75
        assert peer.ledger() == [
            LedgerRow(0, 1, "", RATE, None, 0.0, 4.0, 0.5, 4.0),
            LedgerRow(1, 1, "", RATE, None, 0.0, 5.0, 0.25, 5.0),
            LedgerRow(2, 1, "", RATE, None, 0.0, 6.0, 0.0, 6.0),
        ]
        with pytest.raises(IllegalMove, match="done already"):
            peer.record(0, seen, time=7.0)

    def test_a_result_that_went_on_from_another_trial_is_paid_for_the_rest(self, study: Store, peer: Store) -> None:
        study.propose(SMALL, FULL, time=1.0, queue=False)
        study.record(0, [measured(0.5, seconds=50.0)], time=4.0, seconds=Seconds(20.0), resumed_dollars=Usd(0.375))
        trial = peer.history().trial(0)
        assert (trial.cost, trial.seconds) == (0.125, 20.0)
        assert (trial.observations[0].cost, trial.observations[0].seconds) == (0.5, 50.0)
        assert peer.money() == Money(10.0, 0.125, 0.0)
        assert [row.settled for row in peer.ledger()] == [0.125]

    def test_telling_a_running_trial_takes_it_from_its_worker(self, study: Store, peer: Store) -> None:
        study.propose(SMALL, FULL, time=1.0)
        claim = self.claim(study, usd=2.0)
        peer.record(0, [measured(0.5)], time=4.0)
        assert study.money() == Money(10.0, 0.5, 0.0)
        assert len(study.ledger()) == 1
        with pytest.raises(LeaseLost, match="trial 0"):
            study.finish(
                claim, observations=[measured(0.5)], state=TrialState.DONE, cause="", time=5.0, dollars=Usd(0.5)
            )
        assert study.renew("w", [0], time=5.0, lease=1.0) == frozenset()
        assert expired(study, 1e9) == []

    # -- money, reports, workers

    def test_a_budget_that_was_raised(self, study: Store, peer: Store) -> None:
        study.set_budget(Budget(usd=20.5, hours=0.1), time=8.0, cause="extended ☃")
        assert peer.budget() == Budget(usd=20.5, hours=0.1)
        assert peer.money().budget_usd == 20.5

    def test_a_budget_below_what_is_spent(self, study: Store) -> None:
        study.propose(SMALL, FULL, time=1.0)
        study.propose(SMALL, FULL, time=1.0)
        study.record(0, [measured(5.0)], time=4.0)
        study.set_budget(Budget(usd=4.0), time=8.0, cause="less")
        assert study.money().left == -1.0
        with pytest.raises(StoreError, match="exceeds"):
            study.claim("w", time=9.0, lease=1.0, fitting=always(0.1))

    def test_reports_are_kept_in_order(self, study: Store, peer: Store) -> None:
        for _ in range(2):
            study.propose(SMALL, FULL, time=1.0)
        rows = [
            ReportRow(1, 1, 0.1 + 0.2, {"loss": math.inf, "a/b": 1e-310}, step=3.0),
            ReportRow(0, 2, 0.0, {"accuracy": 1 / 3}, fraction=Fraction(1, 60)),
            ReportRow(1, 1, 7.0, {"loss": 3.0}, step=4.5, fraction=FULL),
        ]
        study.add_reports(rows[:2])
        study.add_reports([])
        study.add_reports(rows[2:])
        assert peer.reports() == rows
        assert peer.reports(1) == [rows[0], rows[2]]
        assert peer.reports(99) == []
        study.add_reports([ReportRow(0, 1, 1.0, {"loss": math.nan})])
        assert math.isnan(peer.reports(0)[-1].metrics["loss"])
        with pytest.raises(UnknownTrial, match="2"):
            study.add_reports([rows[0], ReportRow(2, 1, 0.0, {"loss": 1.0})])
        assert len(peer.reports()) == 4

    def test_workers_join_and_leave(self, study: Store, peer: Store) -> None:
        first = WorkerRow("v", "host ☃", 12, 0.5, 2, 7.0, 7.0)
        second = WorkerRow("w", "other", 4_000_000, 1.5, 1, 6.0, 6.0)
        study.join(first)
        peer.join(second)
        assert study.workers() == peer.workers() == [second, first]
        study.seen("v", 9.0)
        assert [worker.seen for worker in peer.workers()] == [6.0, 9.0]
        study.join(WorkerRow("v", "host", 13, 0.5, 2, 10.0, 10.0))
        assert [worker.pid for worker in peer.workers()] == [4_000_000, 13]
        peer.leave("v")
        peer.leave("v")
        study.seen("v", 11.0)
        assert study.workers() == [second]

    # -- what may go wrong

    @pytest.mark.parametrize("text", ODD_TEXTS)
    def test_any_text_is_kept_or_made_harmless(self, study: Store, peer: Store, text: str) -> None:
        study.propose(SMALL, FULL, time=0.0, notes=(Note(NoteKind.CAP, text),), expected={text: Estimate(1.0, 2.0)})
        claim = self.claim(study)
        study.add_reports([ReportRow(0, 1, 0.0, {text: 1.0})])
        failure = Observation(FULL, ObservationKind.FAILED, {}, Seconds(1.0), Usd(0.5), text)
        study.finish(claim, observations=[failure], state=TrialState.FAILED, cause=text, time=1.0, dollars=Usd(0.5))
        assert peer.history() == study.history()
        trial = peer.history().trial(0)
        kept = text.replace("\x00", "\ufffd").replace("\ud83d", "?")
        assert [trial.notes[0].text, trial.moves[-1].cause, trial.observations[0].cause] == [kept] * 3
        assert list(trial.expected) == list(peer.reports()[0].metrics) == [text]

    def test_wrong_numbers_are_refused(self, study: Store) -> None:
        study.propose(SMALL, FULL, time=0.0)
        for wrong in (math.nan, math.inf):
            with pytest.raises(StoreError, match="time is"):
                study.claim("w", time=wrong, lease=1.0, fitting=always())
            with pytest.raises(StoreError, match="time is"):
                study.renew("w", [0], time=wrong, lease=1.0)
            with pytest.raises(StoreError, match="time is"):
                study.set_budget(Budget(), time=wrong, cause="")
            with pytest.raises(StoreError, match="seconds is"):
                study.add_reports([ReportRow(0, 1, wrong, {"a": 1.0})])
        for wrong in (0.0, -1.0, math.nan, math.inf):
            with pytest.raises(StoreError, match="lease is"):
                study.claim("w", time=0.0, lease=wrong, fitting=always())
            with pytest.raises(StoreError, match="for_seconds is"):
                study.may_propose("w", time=0.0, for_seconds=wrong)
        for wrong in (-1.0, math.nan, math.inf):
            with pytest.raises(StoreError, match="usd is"):
                study.claim("w", time=0.0, lease=1.0, fitting=always(wrong))
        with pytest.raises(StoreError, match="name of a worker"):
            study.claim("", time=0.0, lease=1.0, fitting=always())
        assert study.ledger() == [] and study.history().trial(0).state is TrialState.QUEUED

    def test_unknown_trials(self, study: Store) -> None:
        study.propose(SMALL, FULL, time=0.0)
        ghost = Claim(study.history().trial(0), 1, "w", 0.0, 1.0, Booking(NO_USD, None, None))
        with pytest.raises(LeaseLost):
            study.finish(ghost, observations=(), state=TrialState.QUEUED, cause="", time=0.0, dollars=NO_USD)
        assert not study.lose(ghost, time=0.0, cause="", dollars=NO_USD)
        for number in (1, -1):
            with pytest.raises(UnknownTrial):
                study.record(number, [measured(0.1)], time=0.0)

    def test_an_error_while_claiming_leaves_no_trace(self, study: Store, peer: Store) -> None:
        study.propose(SMALL, FULL, time=0.0)

        def breaks(trial: Trial, money: Money) -> Booking | None:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            study.claim("w", time=0.0, lease=1.0, fitting=breaks)
        assert self.claim(peer).attempt == 1

    def test_one_may_look_but_not_change_while_claiming(self, study: Store, peer: Store) -> None:
        study.propose(SMALL, FULL, time=0.0)

        def looks(trial: Trial, money: Money) -> Booking | None:
            assert study.history().trial(trial.number) == trial
            assert study.money() == money
            return Booking(NO_USD, None, None)

        def changes(trial: Trial, money: Money) -> Booking | None:
            study.propose(SMALL, FULL, time=0.0)
            return None

        with pytest.raises(StoreError, match="within another"):
            study.claim("w", time=0.0, lease=1.0, fitting=changes)
        assert study.claim("w", time=0.0, lease=1.0, fitting=looks) is not None
        assert len(peer.history()) == 1

    def test_threads_may_share_a_study(self, study: Store) -> None:
        for _ in range(24):
            study.propose(SMALL, FULL, time=0.0)
        done: list[int] = []

        def work(worker: str) -> None:
            while (claim := study.claim(worker, time=1.0, lease=9.0, fitting=always(0.1))) is not None:
                assert study.renew(worker, [claim.trial.number], time=2.0, lease=9.0) == {claim.trial.number}
                study.finish(
                    claim, observations=[measured(0.1)], state=TrialState.DONE, cause="", time=3.0, dollars=Usd(0.1)
                )
                done.append(claim.trial.number)

        threads = [threading.Thread(target=work, args=(f"w{index}",)) for index in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(done) == list(range(24))
        assert study.money().reserved == 0.0
        assert study.money().spent == pytest.approx(study.history().cost) == pytest.approx(2.4)

    def test_whatever_happens_the_books_balance(self, study: Store, peer: Store) -> None:
        """A random walk of two workers through all moves; after each, everybody agrees and the money adds up."""
        walk = StoreWalk(seed=2)
        for _ in range(100):
            walk.step(study if walk.random.random() < 0.5 else peer)
            assert study.history() == peer.history()
            history, money, ledger = study.history(), study.money(), peer.ledger()
            assert peer.money() == money
            assert money.spent == pytest.approx(history.cost, abs=1e-9)
            assert money.spent == pytest.approx(sum(row.settled or 0.0 for row in ledger), abs=1e-9)
            running = {trial.number for trial in history.trials if trial.state is TrialState.RUNNING}
            assert {row.number for row in ledger if row.settled is None} == running
            assert money.spent + money.reserved <= 10.0 * (1 + 1e-9)
            assert study.stays() == peer.stays() and study.running() == peer.running()
        assert len({trial.state for trial in study.history().trials}) >= 3, "the walk has been somewhere"
