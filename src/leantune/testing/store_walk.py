"""A random walk of two workers through everything that may legally happen to a study."""

import random
from contextlib import suppress

from leantune.errors import LeaseLost, StoreError
from leantune.history import Observation, ObservationKind, TrialState
from leantune.store.base import Store
from leantune.store.rows import Booking, Claim, JudgedMove, ReportRow, StayRow
from leantune.testing.store_samples import FULL, OTHER, RATE, SMALL, expired, failed, measured
from leantune.units import Seconds, Usd

_ENDS = ("done", "failed", "stopped", "paused", "queued", "revoked")


class StoreWalk:
    """Random steps, equal for equal seeds and stores that keep their promises."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._time = 0.0
        self._claims: list[Claim] = []

    def step(self, study: Store) -> None:
        """Do one thing, and let some time pass."""
        self._time += self.random.expovariate(1.0)
        starts = (self._propose, self._start, self._start, self._rent, self._retry)
        steps = (*starts, self._end, self._renew, self._lose, self._judge)
        self.random.choice(steps)(study)

    def _propose(self, study: Store) -> None:
        study.propose(self.random.choice((SMALL, OTHER)), FULL, time=self._time, queue=self.random.random() < 0.9)

    def _start(self, study: Store) -> None:
        usd = self.random.uniform(0.0, 1.0)
        claim = study.claim(
            self.random.choice("vw"),
            time=self._time,
            lease=3.0,
            fitting=lambda _, money: Booking(Usd(usd), RATE, Seconds(10.0)) if usd <= money.left else None,
        )
        if claim is not None:
            self._claims.append(claim)

    def _rent(self, study: Store) -> None:
        """A run gets another machine, and says how it goes."""
        if not self._claims:
            return
        claim = self.random.choice(self._claims)
        with suppress(LeaseLost):
            study.open_stay(claim.worker, self._stay(claim, self.random.choice("ab")))
        metrics = {"accuracy": self.random.random()}
        study.add_reports([ReportRow(claim.trial.number, claim.attempt, 1.0, metrics, step=self._time)])

    def _stay(self, claim: Claim, machine: str) -> StayRow:
        return StayRow(
            claim.trial.number, claim.attempt, machine, "m/z", False, None, RATE, "table", round(self._time, 3)
        )

    def _end(self, study: Store) -> None:
        if not self._claims:
            return
        claim = self._claims.pop(self.random.randrange(len(self._claims)))
        state = self.random.choice(_ENDS)
        dollars = claim.booking.usd * self.random.random()
        stays = [self._stay(claim, "a")] if self.random.random() < 0.5 else []
        try:
            study.finish(
                claim,
                observations=self._shown(state, dollars),
                state=TrialState(state),
                cause="",
                time=self._time,
                dollars=Usd(dollars),
                seconds=self.random.choice((None, Seconds(1.5))),
                stays=stays,
            )
        except LeaseLost:
            assert study.history().trial(claim.trial.number).moves[len(claim.trial.moves)].state is TrialState.LOST

    def _shown(self, state: str, dollars: float) -> list[Observation]:
        if state in ("done", "failed"):
            return [measured(dollars) if state == "done" else failed(dollars)]
        if state != "stopped" or self.random.random() < 0.3:
            return []
        kind = self.random.choice((ObservationKind.MEASURED, ObservationKind.PARTIAL))
        return [Observation(FULL, kind, {"accuracy": 0.5}, Seconds(1.0), self.random.choice((None, Usd(dollars))))]

    def _renew(self, study: Store) -> None:
        study.renew("v", [claim.trial.number for claim in self._claims], time=self._time, lease=3.0)

    def _lose(self, study: Store) -> None:
        for claim in expired(study, self._time):
            assert study.lose(claim, time=self._time, cause="vanished", dollars=Usd(claim.booking.usd / 2))

    def _retry(self, study: Store) -> None:
        """One that failed is run again, and dollars stay as they were."""
        numbers = [trial.number for trial in study.history().trials if trial.state is TrialState.FAILED]
        before = study.money().spent
        study.retry(self.random.sample(numbers, k=min(1, len(numbers))), time=self._time, cause="again")
        assert study.money().spent == before

    def _judge(self, study: Store) -> None:
        """Some of the trials that wait go on, some never will; a judgement of a running one is refused."""
        waiting = [trial for trial in study.history().trials if trial.state in ("paused", "queued")]
        judged = []
        for trial in self.random.sample(waiting, k=min(2, len(waiting))):
            after = self.random.choice(("stopped", "queued" if trial.state is TrialState.PAUSED else "paused"))
            judged.append(JudgedMove(trial.number, trial.state, TrialState(after), "judged"))
        study.judge(judged, time=self._time)
        for claim in study.running()[:1]:
            with suppress(StoreError):
                stop = JudgedMove(claim.trial.number, TrialState.RUNNING, TrialState.STOPPED, "")
                study.judge([stop], time=self._time)
                raise AssertionError("a running trial was judged")
