"""Promises of a study store about trials that are paused, stopped midway, and run on machines that come and go."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest

from leantune.errors import HistoryError, IllegalMove, LeaseLost, ObservationError, Outdated, StoreError, UnknownTrial
from leantune.history import Move, Observation, ObservationKind, TrialState
from leantune.store.base import Store
from leantune.store.rows import Claim, JudgedMove, Money, ReportRow, StayRow
from leantune.testing.store_samples import FULL, ODD_TEXTS, SMALL, StoreFixtures, always, expired, failed, measured
from leantune.units import NO_USD, Seconds, Usd

PAUSED, QUEUED, STOPPED = TrialState.PAUSED, TrialState.QUEUED, TrialState.STOPPED


def midway(cost: float | None) -> Observation:
    """What a run had shown when it was stopped."""
    return Observation(
        FULL, ObservationKind.PARTIAL, {"accuracy": 0.75}, Seconds(5.0), None if cost is None else Usd(cost)
    )


def stay(number: int = 0, attempt: int = 1, machine: str = "i-1") -> StayRow:
    """A machine that was just launched."""
    return StayRow(number, attempt, machine, "m/zone-a", False, 0.5, 0.1 + 0.2, "prices.csv", 1700000000.1234567, "{}")


class JudgingContract(StoreFixtures):
    """Part of StoreContract."""

    # -- pausing

    def test_a_paused_run_waits_until_it_is_chosen_again(self, study: Store, peer: Store) -> None:
        study.propose(SMALL, FULL, time=0.0)
        claim = self.claim(study, usd=1.0)
        trial = study.finish(
            claim,
            observations=(),
            state=PAUSED,
            cause="predicted 0.8",
            time=9.0,
            dollars=Usd(0.5),
            seconds=Seconds(8.25),
        )
        assert trial.moves[-1] == Move(PAUSED, 9.0, "predicted 0.8", Usd(0.5), Seconds(8.25))
        assert trial.pending and peer.history().trials == (trial,)
        assert (trial.cost, peer.money()) == (0.5, Money(10.0, 0.5, 0.0))
        assert peer.claim("w", time=9.0, lease=1.0, fitting=always()) is None
        assert peer.running() == [] and peer.renew("w", [0], time=9.0, lease=1.0) == frozenset()
        (queued,) = peer.judge([JudgedMove(0, PAUSED, QUEUED, "chosen: place 1 of 3")], time=10.0)
        assert queued.moves[-1] == Move(QUEUED, 10.0, "chosen: place 1 of 3")
        assert self.claim(study, usd=1.0).attempt == 2

    def test_seconds_are_kept_of_the_move_that_ends_a_run(self, study: Store, peer: Store) -> None:
        study.propose(SMALL, FULL, time=0.0)
        study.finish(
            self.claim(study),
            observations=(),
            state=TrialState.REVOKED,
            cause="",
            time=2.0,
            dollars=NO_USD,
            seconds=Seconds(1 / 3),
        )
        assert peer.lose(self.claim(study), time=3.0, cause="", dollars=NO_USD, seconds=Seconds(2.0))
        study.finish(
            self.claim(study), observations=[measured(0.0)], state=TrialState.DONE, cause="", time=4.0, dollars=NO_USD
        )
        seconds = [move.seconds for move in peer.history().trial(0).moves if move.state != "running"]
        assert seconds == [None, None, 1 / 3, None, 2.0, None, None]
        study.propose(SMALL, FULL, time=0.0)
        claim = self.claim(study)
        for wrong in (-1.0, math.nan, math.inf):
            with pytest.raises(HistoryError, match="seconds are"):
                study.finish(
                    claim, observations=(), state=QUEUED, cause="", time=5.0, dollars=NO_USD, seconds=Seconds(wrong)
                )
        assert peer.history().trial(1).state is TrialState.RUNNING

    # -- running failed trials again

    def test_a_failed_trial_is_queued_again(self, study: Store, peer: Store) -> None:
        for _ in range(2):
            study.propose(SMALL, FULL, time=0.0)
        for dollars in (0.25, 0.5):
            claim = self.claim(study, usd=1.0)
            study.finish(
                claim,
                observations=[failed(dollars)],
                state=TrialState.FAILED,
                cause="exit code 3",
                time=2.0,
                dollars=Usd(dollars),
                seconds=Seconds(1.0),
            )
        spent = peer.money()
        (trial,) = study.retry([1], time=3.0, cause="the data are here now")
        assert trial.moves[-1] == Move(QUEUED, 3.0, "the data are here now", Usd(0.5))
        assert (trial.state, trial.observations, trial.cost, trial.pending) == (QUEUED, (), 0.5, True)
        assert peer.history().trials == study.history().trials == (study.history().trial(0), trial)
        assert [number.number for number, _ in peer.history().observations] == [0]
        assert peer.money() == spent == Money(10.0, 0.75, 0.0)
        claim = self.claim(peer, usd=1.0)
        assert (claim.trial.number, claim.attempt) == (1, 2)
        result = [measured(0.125)]
        peer.finish(claim, observations=result, state=TrialState.DONE, cause="", time=9.0, dollars=Usd(0.125))
        again = study.history().trial(1)
        assert (again.observations, again.cost) == ((measured(0.125),), 0.625)
        assert study.money() == Money(10.0, 0.875, 0.0)
        assert [(row.attempt, row.settled) for row in study.ledger() if row.number == 1] == [(1, 0.5), (2, 0.125)]

    def test_dollars_of_earlier_runs_are_counted_once_when_a_failure_is_run_again(self, study: Store) -> None:
        """An earlier attempt's 0.5 were told again by the failure's 1.25."""
        study.propose(SMALL, FULL, time=0.0)
        run = self.claim(study, usd=1.0)
        study.finish(run, observations=(), state=TrialState.REVOKED, cause="", time=2.0, dollars=Usd(0.5))
        run, told = self.claim(study, usd=1.0), [failed(1.25)]
        study.finish(
            run,
            observations=told,
            state=TrialState.FAILED,
            cause="",
            time=3.0,
            dollars=Usd(0.75),
            resumed_dollars=Usd(0.5),
        )
        (trial,) = study.retry([0], time=4.0, cause="")
        assert (trial.cost, trial.resumed_dollars, study.money().spent) == (1.25, 0.0, 1.25)

    def test_only_what_has_failed_is_run_again_and_all_or_none(self, study: Store, peer: Store) -> None:
        for _ in range(3):
            study.propose(SMALL, FULL, time=0.0)
        study.record(0, [failed(0.5)], time=1.0, state=TrialState.FAILED)
        study.record(1, [measured(0.5)], time=1.0)
        before = study.history()
        for number, state in ((1, "done"), (2, "queued")):
            with pytest.raises(IllegalMove, match=f"it is {state}, not failed"):
                study.retry([0, number], time=2.0, cause="")
        with pytest.raises(UnknownTrial):
            study.retry([0, 3], time=2.0, cause="")
        assert peer.history() == study.history() == before
        assert study.retry([], time=2.0, cause="") == []
        assert [trial.number for trial in study.retry([0, 0], time=2.0, cause="\x00")] == [0]
        with pytest.raises(IllegalMove, match="it is queued, not failed"):
            peer.retry([0], time=3.0, cause="")
        with pytest.raises(StoreError, match="a failed trial is not judged"):
            study.record(2, [failed(0.5)], time=4.0, state=TrialState.FAILED)
            study.judge([JudgedMove(2, TrialState.FAILED, QUEUED, "")], time=5.0)

    # -- stopping midway

    def test_a_run_is_stopped_with_what_it_had_shown(self, study: Store, peer: Store) -> None:
        study.propose(SMALL, FULL, time=0.0)
        claim = self.claim(study, usd=1.0)
        trial = study.finish(claim, observations=[midway(0.5)], state=STOPPED, cause="flat", time=9.0, dollars=Usd(0.5))
        assert peer.history().trials == (trial,)
        assert (trial.observations, trial.results) == ((midway(0.5),), ())
        assert list(peer.history().observations) == []
        assert trial.cost == peer.money().spent == 0.5

    def test_a_run_is_stopped_without_any_result(self, study: Store, peer: Store) -> None:
        """What it cost is in its last move, as no observation tells it."""
        for _ in range(2):
            study.propose(SMALL, FULL, time=0.0)
        study.finish(self.claim(study), observations=(), state=STOPPED, cause="", time=9.0, dollars=Usd(0.5))
        study.finish(
            self.claim(study), observations=[midway(None)], state=STOPPED, cause="", time=9.0, dollars=Usd(0.25)
        )
        assert [trial.moves[-1].dollars for trial in peer.history().trials] == [0.5, 0.25]
        assert peer.history().cost == peer.money().spent == 0.75
        assert peer.history().trial(0).tested == (FULL,)

    def test_only_what_is_stopped_shows_something_midway(self, study: Store, peer: Store) -> None:
        study.propose(SMALL, FULL, time=0.0)
        claim = self.claim(study, usd=1.0)
        for state in (TrialState.DONE, TrialState.FAILED):
            with pytest.raises(ObservationError, match="no partial observation"):
                study.finish(claim, observations=[midway(0.5)], state=state, cause="", time=9.0, dollars=Usd(0.5))
        with pytest.raises(StoreError, match="no result"):
            study.finish(claim, observations=[midway(0.5)], state=PAUSED, cause="", time=9.0, dollars=Usd(0.5))
        assert peer.history().trial(0) == claim.trial
        assert peer.money() == Money(10.0, 0.0, 1.0)

    # -- judging

    def test_waiting_trials_are_judged_together(self, study: Store, peer: Store) -> None:
        self._paused(study, 3)
        study.propose(SMALL, FULL, time=0.0)
        changes = [
            JudgedMove(0, PAUSED, QUEUED, "place 1 of 3"),
            JudgedMove(1, PAUSED, STOPPED, "place 2 of 3", (midway(0.25),), resumed_dollars=Usd(0.25)),
            JudgedMove(2, PAUSED, STOPPED, "place 3 of 3"),
            JudgedMove(3, QUEUED, PAUSED, "too many"),
        ]
        trials = study.judge(changes, time=7.0)
        assert [trial.state for trial in trials] == [QUEUED, STOPPED, STOPPED, PAUSED]
        assert list(peer.history().trials) == trials
        assert [trial.moves[-1] for trial in trials] == [Move(one.state, 7.0, one.cause) for one in changes]
        assert [trial.cost for trial in trials] == [0.25, 0.25, 0.25, 0.0]
        assert peer.money() == Money(10.0, 0.75, 0.0)
        assert self.claim(peer).trial.number == 0
        assert peer.claim("w", time=9.0, lease=1.0, fitting=always()) is None
        assert study.judge([], time=8.0) == []
        (stopped,) = peer.judge([JudgedMove(3, PAUSED, STOPPED, "never ran")], time=9.0)
        assert [move.state for move in stopped.moves] == ["proposed", "queued", "paused", "stopped"]

    def test_a_judgement_of_the_past_changes_nothing(self, study: Store, peer: Store) -> None:
        self._paused(study, 2)
        before = study.history()
        peer.judge([JudgedMove(1, PAUSED, QUEUED, "")], time=6.0)
        late = [JudgedMove(0, PAUSED, STOPPED, ""), JudgedMove(1, PAUSED, STOPPED, "")]
        with pytest.raises(Outdated, match="trial 1"):
            study.judge(late, time=7.0)
        assert study.history().trial(0) == peer.history().trial(0) == before.trial(0)
        claim = self.claim(peer)
        assert claim.trial.number == 1
        with pytest.raises(Outdated, match="it is running"):
            study.judge([JudgedMove(1, QUEUED, STOPPED, "")], time=8.0)
        study.judge([JudgedMove(0, PAUSED, QUEUED, ""), JudgedMove(0, QUEUED, PAUSED, "")], time=9.0)
        assert [move.state for move in peer.history().trial(0).moves[-2:]] == [QUEUED, PAUSED]

    def test_wrong_judgements_change_nothing(self, study: Store, peer: Store) -> None:
        self._paused(study, 2)
        study.judge([JudgedMove(1, PAUSED, QUEUED, "")], time=6.0)
        claim = self.claim(study)
        before = study.history()
        with pytest.raises(StoreError, match="is not judged"):
            study.judge([JudgedMove(1, TrialState.RUNNING, STOPPED, "")], time=7.0)
        for state in (TrialState.RUNNING, TrialState.DONE, TrialState.LOST):
            with pytest.raises(StoreError, match="is not judged"):
                study.judge([JudgedMove(0, PAUSED, state, "")], time=7.0)
        with pytest.raises(IllegalMove, match="paused trial cannot become paused"):
            study.judge([JudgedMove(0, PAUSED, PAUSED, "")], time=7.0)
        with pytest.raises(StoreError, match="no result"):
            study.judge([JudgedMove(0, PAUSED, QUEUED, "", (midway(0.25),), Usd(0.25))], time=7.0)
        with pytest.raises(StoreError, match=r"change from 0\.25 to 0\.5"):
            study.judge([JudgedMove(0, PAUSED, STOPPED, "", (midway(0.25),))], time=7.0)
        with pytest.raises(UnknownTrial, match="7"):
            study.judge([JudgedMove(7, PAUSED, STOPPED, "")], time=7.0)
        with pytest.raises(HistoryError, match="time"):
            study.judge([JudgedMove(0, PAUSED, STOPPED, "")], time=math.nan)
        assert study.history() == peer.history() == before
        study.finish(claim, observations=[measured(0.5)], state=TrialState.DONE, cause="", time=8.0, dollars=Usd(0.5))

    # -- machines

    def test_a_run_has_stays_on_machines(self, study: Store, peer: Store) -> None:
        study.propose(SMALL, FULL, time=0.0)
        claim, first, second = self.claim(study), stay(), replace(stay(machine="i-2"), launched=1700000001.0)
        study.open_stay("w", first)
        assert peer.stays() == study.stays(0) == [first]
        taken = replace(first, ready=2.0, left=3.0, ended=4.0, kept=6.0, reached=7.5, gross_usd=1 / 3, revoked=True)
        study.open_stay("w", taken)
        study.open_stay("w", second)
        assert peer.stays(0) == [taken, second]
        over = replace(second, step_from=6.0, ended=9.0, reached=20.0, gross_usd=0.5, refund_usd=0.125, why="done")
        study.finish(
            claim,
            observations=[measured(0.5)],
            state=TrialState.DONE,
            cause="",
            time=9.0,
            dollars=Usd(0.5),
            stays=[over],
        )
        assert peer.stays() == [taken, over]
        assert peer.stays(1) == []

    def test_a_run_that_ends_closes_the_stays_that_are_not_named(self, study: Store, peer: Store) -> None:
        study.propose(SMALL, FULL, time=0.0)
        claim = self.claim(study)
        for machine in ("i-1", "i-2"):
            study.open_stay("w", stay(machine=machine))
        over, left = replace(stay(machine="i-2"), ended=8.0), stay(machine="i-3")
        study.finish(claim, observations=(), state=PAUSED, cause="why", time=9.0, dollars=Usd(0.5), stays=[over, left])
        rows = {row.machine: row for row in peer.stays()}
        assert rows == {"i-1": replace(stay(), ended=9.0, why="why"), "i-2": over, "i-3": left}, "what is said stands"

    def test_more_is_known_of_a_machine_later(self, study: Store, peer: Store) -> None:
        for _ in range(2):
            study.propose(SMALL, FULL, time=0.0)
        claim = self.claim(study)
        study.open_stay("w", stay())
        peer.settle_stay(replace(stay(), kept=3.0))
        peer.settle_stay(stay(machine="i-2"))
        assert [row.kept for row in study.stays(0)] == [3.0, 0.0]
        study.finish(claim, observations=(), state=QUEUED, cause="why", time=9.0, dollars=Usd(0.5))
        assert [(row.kept, row.ended, row.why) for row in study.stays(0)] == [(3.0, 9.0, "why"), (0.0, 9.0, "why")]
        billed = replace(stay(), kept=3.0, ended=8.5, gross_usd=0.25)
        peer.settle_stay(billed)
        assert study.stays(0)[0] == billed
        self.claim(study)
        assert peer.lose(peer.running()[0], time=99.0, cause="", dollars=NO_USD)
        assert study.stays(0)[0] == billed, "an earlier run's is not touched"
        with pytest.raises(UnknownTrial):
            study.settle_stay(stay(number=7))
        with pytest.raises(StoreError, match="finite"):
            study.settle_stay(replace(stay(), kept=math.nan))

    @pytest.mark.parametrize(("machines", "dollars"), [(1, 0.25), (2, None)])
    def test_a_lost_run_is_charged_to_its_only_machine(
        self, study: Store, peer: Store, machines: int, dollars: float | None
    ) -> None:
        study.propose(SMALL, FULL, time=0.0)
        self.claim(study, lease=10.0)
        for number in range(machines):
            study.open_stay("w", stay(machine=f"i-{number}"))
        (claim,) = expired(peer, 11.0)
        assert peer.lose(claim, time=11.0, cause="w vanished", dollars=Usd(0.25))
        for row in study.stays():
            assert (row.ended, row.why, row.gross_usd, row.revoked) == (11.0, "w vanished", dollars, False)
        with pytest.raises(LeaseLost, match="attempt 1"):
            study.open_stay("w", stay(machine="i-9"))
        self.claim(study, worker="w")
        study.open_stay("w", stay(attempt=2, machine="i-9"))
        assert [row.attempt for row in peer.stays()] == [1] * machines + [2]

    def test_a_told_result_ends_the_machines_of_its_run(self, study: Store, peer: Store) -> None:
        study.propose(SMALL, FULL, time=0.0)
        self.claim(study)
        study.open_stay("w", stay())
        peer.record(0, [measured(0.5)], time=4.0)
        (row,) = study.stays()
        assert (row.ended, row.gross_usd) == (4.0, 0.5)

    def test_stays_of_others_are_refused(self, study: Store, peer: Store) -> None:
        for _ in range(2):
            study.propose(SMALL, FULL, time=0.0)
        claim = self.claim(study, worker="v")
        for worker, row in (("w", stay()), ("v", stay(attempt=2)), ("v", stay(number=1))):
            with pytest.raises(LeaseLost):
                study.open_stay(worker, row)
        with pytest.raises(UnknownTrial):
            study.open_stay("v", stay(number=7))
        for row in (stay(number=1), stay(attempt=2)):
            with pytest.raises(StoreError, match="the run's own machines"):
                study.finish(claim, observations=(), state=QUEUED, cause="", time=1.0, dollars=NO_USD, stays=[row])
        new = stay()
        for row in (
            replace(new, usd_per_hour=math.nan),
            replace(new, launched=math.inf),
            replace(new, ended=math.nan),
            replace(new, gross_usd=-math.inf),
        ):
            with pytest.raises(StoreError, match="finite"):
                study.open_stay("v", row)
        with pytest.raises(StoreError, match="without a name"):
            study.open_stay("v", stay(machine=""))
        assert peer.stays() == []
        assert peer.running() == [claim]

    @pytest.mark.parametrize("text", ODD_TEXTS)
    def test_any_text_of_a_stay_is_made_harmless(self, study: Store, peer: Store, text: str) -> None:
        study.propose(SMALL, FULL, time=0.0)
        self.claim(study)
        study.open_stay("w", replace(stay(machine=f"i{text}"), market=text, source=text, quotes=text, why=text))
        kept = text.replace("\x00", "\ufffd").replace("\ud83d", "?")
        (row,) = peer.stays()
        assert (row.machine, row.market, row.source, row.quotes, row.why) == (f"i{kept}", kept, kept, kept, kept)

    # -- reports

    def test_only_new_reports_are_asked_for(self, study: Store, peer: Store) -> None:
        for _ in range(2):
            study.propose(SMALL, FULL, time=0.0)
        study.add_reports([ReportRow(0, 1, float(at), {"loss": 1.0}, step=float(at)) for at in range(3)])
        first = peer.reports()
        assert [row.step for row in first] == [0.0, 1.0, 2.0]
        assert all(earlier.id < later.id for earlier, later in pairwise(first))
        assert peer.reports(after=first[-1].id) == peer.reports(0, after=first[-1].id) == []
        more = [(1, 3.0), (0, 4.0)]
        study.add_reports([ReportRow(number, 1, at, {"loss": 1.0}, step=at) for number, at in more])
        assert [row.step for row in peer.reports(after=first[-1].id)] == [3.0, 4.0]
        assert [row.step for row in peer.reports(0, after=first[1].id)] == [2.0, 4.0]

    def _paused(self, study: Store, count: int) -> list[Claim]:
        """Trials that ran for 25 cents each, and are paused."""
        for _ in range(count):
            study.propose(SMALL, FULL, time=0.0)
        claims = [self.claim(study, usd=1.0) for _ in range(count)]
        for claim in claims:
            study.finish(claim, observations=(), state=PAUSED, cause="", time=5.0, dollars=Usd(0.25))
        return claims
