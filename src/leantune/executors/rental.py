"""One run of a trial on rented machines: its phase, its progress, its bill. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from leantune.cloud.billing import Bill
from leantune.executors.base import EndMode, Finished, Terms
from leantune.history import Observation, Trial, TrialState
from leantune.rent.provisioner import Held
from leantune.store.rows import StayRow
from leantune.units import SECONDS_PER_HOUR, Seconds, Usd


class Phase(StrEnum):
    """Where the run of a trial is."""

    WAITING = "waiting"
    BOOTING = "booting"
    TRAINING = "training"
    SAVING = "saving"  # a periodic checkpoint
    ENDING = "ending"  # asked to save and end


class Purpose(StrEnum):
    """Why a program was asked to save and end."""

    ASKED = "asked"
    NOTICE = "notice"
    MOVE = "move"


@dataclass
class Stay:
    """A trial on one machine; gone_at: when the provider will take it, once it said so."""

    row: StayRow
    offer: int
    gone_at: float | None = None
    booting: bool = True


@dataclass
class CheckpointFacts:
    """Facts about a trial's checkpoints from its runs: seconds to save one, its step, whether there are any."""

    save: float
    restore: float
    step: float = 0.0
    keeps: bool = True


@dataclass
class Rental:
    """One run of a trial and its machines. Times are the market's, but for `renewed`.

    facts: of the trial's checkpoints, also those of other runs. renewed: when its lease was (this world, monotonic).
    waiting_since: without machines. began: when its machines were launched; started: its program; ready: its training.
    asked_at: when it was asked to save, and is_saved: whether a checkpoint is complete since then. mark: seconds and
    step of its last report, or of its beginning; None while unknown. saving: seconds of all its checkpoints.
    usd: of the bills so far. rows: machines that it has left.
    """

    trial: Trial
    terms: Terms
    facts: CheckpointFacts
    renewed: float
    waiting_since: float
    phase: Phase = Phase.WAITING
    version: int = 0  # timers set for an earlier phase of its life are void
    began: float = 0.0
    started: float = 0.0
    ready: float | None = None
    stays: dict[str, Stay] = field(default_factory=dict)
    first_stay: Stay | None = None
    purpose: Purpose | None = None
    mode: EndMode = EndMode.SAVE
    asked_at: float = 0.0
    is_saved: bool = False
    revoked: str = ""
    mark: tuple[float, float] | None = None
    step_from: float = 0.0
    reached: float = 0.0
    kept: float = 0.0
    saving: float = 0.0
    usd: float = 0.0
    rows: list[StayRow] = field(default_factory=list)

    @property
    def number(self) -> int:
        """The trial's."""
        return self.trial.number

    @property
    def first(self) -> Stay:
        """The machine that was launched first."""
        assert self.first_stay is not None
        return self.first_stay

    def held(self, now: float) -> Held:
        """Its machine, for the placement."""
        row = self.first.row
        return Held(self.first.offer, row.max_price, now - row.launched)

    def add_stay(self, stay: Stay) -> None:
        """A machine was launched for it."""
        self.stays[stay.row.machine] = stay
        self.first_stay = self.first_stay or stay
        self.step_from = self.kept = self.reached = self.facts.step

    def begin(self, ready: float, step: float | None) -> None:
        """Its program trains, after `step`; None: unknown."""
        self.ready, self.phase = ready, Phase.TRAINING
        self.step_from = self.kept = self.reached = self.facts.step if step is None else step
        self.mark = None if step is None else (0.0, step)

    def report(self, seconds: float, step: float) -> tuple[float, float] | None:
        """It has reached a step; seconds and steps since it last said so, where that is known."""
        before, self.reached, self.mark = self.mark, step, (seconds, step)
        if before is None or seconds <= before[0] or step <= before[1]:
            return None
        return seconds - before[0], step - before[1]

    def take_checkpoint(self, step: float, seconds: float) -> None:
        """A checkpoint is complete that took so long."""
        self.facts.keeps = not (step <= self.step_from and step < self.reached)
        self.facts.step = self.kept = step
        self.facts.save = seconds
        self.reached = max(self.reached, step)
        self.saving += seconds

    def end_stay(self, machine: str, ended: float, why: str, bill: Bill | None, *, revoked: bool) -> StayRow:
        """It has left a machine. bill: None where the provider has still to take it."""
        row = changed_row(
            self.stays.pop(machine).row,
            step_from=self.step_from,
            ready=self.ready,
            left=ended,
            ended=None if bill is None else ended,
            kept=self.kept,
            reached=self.reached,
            saving_seconds=self.saving,
            gross_usd=None if bill is None else bill.gross_usd,
            refund_usd=None if bill is None else bill.refund_usd,
            revoked=revoked,
            why=why,
        )
        self.rows.append(row)
        self.usd += 0.0 if bill is None else bill.net_usd
        return row

    def program_terms(self, now: float, speed: float) -> Terms | None:
        """On what terms its program starts, in seconds of this world; None where its lease is over. now: monotonic.

        speed: seconds of the market in one of this world.
        """
        terms, renewed_ago = self.terms, Seconds(max(0.0, now - self.renewed))
        if terms.lease is not None and renewed_ago >= terms.lease:
            return None
        if speed == 1.0:
            return replace(terms, renewed_ago=renewed_ago) if terms.lease is not None else terms
        continues = terms.continues
        if continues is not None and continues[1].seconds is not None:
            continues = continues[0], replace(continues[1], seconds=Seconds(continues[1].seconds / speed))
        return replace(
            terms,
            time_limit=None if terms.time_limit is None else Seconds(terms.time_limit / speed),
            market_limit=terms.time_limit,
            renewed_ago=renewed_ago,
            earlier_seconds=Seconds(terms.earlier_seconds / speed),
            continues=continues,
        )

    def end_of_program(self, finished: Finished, speed: float) -> Finished:
        """In seconds of the market; an end that the provider asked for is a revocation."""
        if finished.state is TrialState.QUEUED and self.purpose is not Purpose.ASKED:
            if self.revoked:
                return Finished(self.number, (), TrialState.REVOKED, f"{self.revoked}; {finished.cause}")
            if self.purpose is Purpose.MOVE:
                return Finished(self.number, (), TrialState.QUEUED, "moved to another machine")
        if speed == 1.0:
            return finished
        shown = (
            replace(seen, seconds=None if seen.seconds is None else Seconds(seen.seconds * speed))
            for seen in finished.observations
        )
        return finished._replace(observations=tuple(shown))

    def billed_end(self, finished: Finished, now: float, *, bills_add_up: bool) -> Finished:
        """The end of the run as it is told, with the dollars of its bills; now: the market's."""
        seconds = max(now - self.began, 0.0) if self.rows else 0.0
        terms, cluster, usd = self.terms, self.trial.configuration.cluster, self.usd
        if cluster is not None:
            usd += cluster.overhead_usd_per_hour * seconds / SECONDS_PER_HOUR
        shown = finished.observations
        if shown:
            total = usd + (terms.earlier_usd if finished.resumed or bills_add_up else 0.0)
            whole = terms.earlier_seconds + seconds
            if finished.continued and terms.continues is not None:
                smaller = terms.continues[1]
                total, whole = total + (smaller.cost or 0.0), whole + (smaller.seconds or 0.0)
            shown = tuple(_billed(seen, shown[-1], total, whole if bills_add_up else None) for seen in shown)
        return finished._replace(
            observations=shown,
            seconds=Seconds(seconds),
            usd=Usd(usd),
            kept_step=self.kept,
            stays=tuple(self.rows),
        )


def changed_row(row: StayRow, **changes: object) -> StayRow:
    """dataclasses.replace without its checks: a simulation changes 200,000 rows."""
    made = object.__new__(StayRow)
    made.__dict__.update(row.__dict__)
    made.__dict__.update(changes)
    return made


def _billed(seen: Observation, last: Observation, total: float, whole: float | None) -> Observation:
    """The bill of the whole run, shared out by the seconds until each snapshot; whole: its seconds, where other ones
    count than those of the program.
    """
    share = min(seen.seconds / last.seconds, 1.0) if seen.seconds is not None and last.seconds else 1.0
    return replace(seen, cost=Usd(total * share), seconds=seen.seconds if whole is None else Seconds(whole * share))
