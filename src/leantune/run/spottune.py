r"""SpotTune's loop: every setting of a list is a job, trained on machines that may be taken away.

One state machine per job, moved by events of the fleet and by timers; nothing else moves it:

    waiting --placed--> starting --Ready--> training --save asked--> saving --Saved--> waiting     notice, move
       ^                    |                  |  ^                    |   \--------> paused      theta reached
       |                    |                  |  +--- periodic -------+    \-------> ended       finished, converged
       +----- Revoked ------+------------------+-----------------------+
    paused --selected--> waiting, --not selected--> ended
    training --diverged, or nothing more to learn--> ended

At theta * max_steps the final metric is predicted (`curves`); when every job has ended or paused, the best mcnt go on
to the end. A job whose schedule drops the learning rate later cannot be predicted and goes on at once. The same code
runs under a simulated clock and a real one: it only sees a Fleet.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from leantune.curves.base import Curve, CurvePredictor, Outlook, Prediction
from leantune.curves.rules import PLATEAU_POINTS, plateaued
from leantune.curves.selection import choose
from leantune.errors import InvalidInput, LaunchRefused, ProviderError
from leantune.rent.expectation import hazard_of, save_interval
from leantune.rent.provisioner import Chooser, Demand, Held, cheapest_on_demand, fastest_on_demand
from leantune.rent.quotes import Forecaster, Quotes
from leantune.rent.step_times import StepTimes
from leantune.run.fleet import Fleet, FleetEvent, Ready, Reported, Revoked, Saved, Warned
from leantune.run.tuning import (
    Ending,
    JobState,
    Phase,
    Purpose,
    Stay,
    TuningJob,
    TuningOutcome,
    TuningRules,
)

# How much longer than estimated a step may take when a deadline is to be kept, on a type that was tried or not.
_TRIED, _UNTRIED = 1.03, 1.25
_LONGEST_WAIT = 30 * 86400.0  # for a machine; then something is wrong that no patience helps against


class SpotTune:
    """Runs a list of jobs to their end on a fleet; see the module."""

    def __init__(
        self,
        jobs: Sequence[TuningJob],
        fleet: Fleet,
        chooser: Chooser,
        forecaster: Forecaster,
        predictor: CurvePredictor,
        rules: TuningRules = TuningRules(),  # noqa: B008 - frozen
        times: StepTimes | None = None,
    ) -> None:
        if not jobs:
            raise InvalidInput("there are no jobs", where="SpotTune", hint="Give at least one setting")
        self._jobs, self._fleet, self._chooser = tuple(jobs), fleet, chooser
        self._forecaster, self._predictor, self._rules = forecaster, predictor, rules
        names = {offer.machine.name: offer.machine.vcpus for offer in fleet.offers}
        self._rows = np.array([list(names).index(offer.machine.name) for offer in fleet.offers])
        self._times = times or StepTimes(names, len(jobs))
        self.states = [JobState(goal=job.max_steps * rules.theta, save_seconds=job.save_seconds) for job in jobs]
        self.stays: list[Stay] = []
        self._timers: list[tuple[float, int, int, str]] = []
        self._refused: dict[int, float] = {}  # offer -> until when it is not asked again
        self._notes: dict[str, int] = {}
        self._began = fleet.now()
        self._longest, self._targets_of = math.inf, -1
        self._quoted: tuple[float, Quotes] | None = None
        self._selected_at: float | None = None
        self._ranking: tuple[int, ...] = ()

    def run(self) -> TuningOutcome:
        """Train until every job has ended."""
        self._began = self._fleet.now()
        self._place_waiting()
        while any(state.phase is not Phase.ENDED for state in self.states):
            until = min(self._timers[0][0] if self._timers else math.inf, self._selection_due())
            events = self._fleet.wait(max(until, self._fleet.now()) if until < math.inf else None)
            if not events and until == math.inf:
                phases = ", ".join(sorted({state.phase.value for state in self.states}))
                raise RuntimeError(f"nothing can happen any more, and jobs are {phases}")  # a bug: better than a hang
            for event in events:
                self._handle(event)
            self._fire_timers()
            ready = all(s.phase in (Phase.PAUSED, Phase.ENDED) for s in self.states)
            if self._selected_at is None and (ready or self._selection_due() <= self._fleet.now()):
                self._select()
            self._place_waiting()
        chosen = tuple(index for index, state in enumerate(self.states) if state.selected)
        notes = tuple(text if count == 1 else f"{text} ({count} times)" for text, count in self._notes.items())
        selected_at = self._fleet.now() if self._selected_at is None else self._selected_at
        return TuningOutcome(
            self._began,
            selected_at,
            self._fleet.now(),
            self._ranking,
            chosen,
            tuple(self.states),
            tuple(self.stays),
            notes,
        )

    # Events

    def _handle(self, event: FleetEvent) -> None:
        state = self.states[event.job]
        if state.stay is None or state.stay.machine != event.machine:
            return  # of a machine that the job has left
        match event:
            case Ready():
                self._on_ready(event, state)
            case Reported():
                self._on_report(event, state)
            case Warned():
                self._on_warning(event, state)
            case Saved():
                self._on_saved(event, state)
            case Revoked():
                self._end_stay(state, event.time, "revoked")
                state.phase = Phase.WAITING

    def _on_ready(self, event: Ready, state: JobState) -> None:
        assert state.stay is not None
        state.stay.ready = event.time
        state.stay.reached = event.step
        state.phase = Phase.TRAINING
        # Whoever needs most of the hour to get going has half an hour to get on.
        hour_over = max(state.stay.launched + self._rules.hour, event.time + self._rules.hour / 2)
        self._set_timer(hour_over, event.job, "hour")
        self._set_periodic(event.job, event.time)
        if state.warned_until is not None:  # nothing was learned here that could be saved
            self._leave(event.job)

    def _on_report(self, event: Reported, state: JobState) -> None:
        assert state.stay is not None
        state.stay.reached = event.step
        if event.seconds > 0 and event.steps > 0:
            self._times.measured(self._offer_type(state.stay.offer), event.job, event.seconds, event.steps)
        if not state.reports or event.step > state.reports[-1][0]:  # steps done again tell nothing new
            state.reports.append((event.step, event.value))
        if state.phase is Phase.TRAINING:
            self._look_at_curve(event.job, state, event.step)

    def _look_at_curve(self, job: int, state: JobState, step: float) -> None:
        """End, pause or go on, by what the curve has become."""
        if not math.isfinite(state.reports[-1][1]):
            state.prediction = Prediction(math.nan, math.inf, Outlook.DIVERGED, "the metric is not a number")
            self._end(job, Ending.DIVERGED)
        elif (reached := self._reached(job, step)) is not None:
            self._save(job, reached)
        elif self._rules.stop_on_plateau and self._may_be_flat(job, step) and plateaued(self._curve(job)):
            self._save(job, Purpose.CONVERGED)

    def _reached(self, job: int, step: float) -> Purpose | None:
        """What a job that has told of a step is to be saved for: its end, or theta once it can be predicted."""
        state, spec = self.states[job], self._jobs[job]
        if step >= spec.max_steps:
            return Purpose.FINISH
        if step < state.goal:
            return None
        prediction = self._predictor.predict(self._curve(job), spec.max_steps)
        if prediction.outlook is Outlook.NOT_PREDICTABLE:
            state.goal = spec.max_steps
            return None
        state.prediction = prediction
        return Purpose.PAUSE

    def _may_be_flat(self, job: int, step: float) -> bool:
        """What `plateaued` needs at least: told cheaply, since it is asked after every report."""
        drops = self._jobs[job].drops
        return len(self.states[job].reports) > PLATEAU_POINTS and not (drops and drops[-1] > step)

    def _on_warning(self, event: Warned, state: JobState) -> None:
        state.warned_until = event.gone_at
        if state.phase is Phase.TRAINING:
            if state.save_seconds <= event.gone_at - self._fleet.now():
                self._save(event.job, Purpose.NOTICE)
            else:
                self._note("a model is too large to be saved within the notice: its last periodic checkpoint counts")

    def _on_saved(self, event: Saved, state: JobState) -> None:
        assert state.stay is not None
        state.keeps_nothing = event.step <= state.stay.step_from and event.step < state.stay.reached
        state.step = state.stay.kept = event.step
        state.stay.reached = max(state.stay.reached, event.step)
        state.stay.saving_seconds += event.seconds
        state.save_seconds = event.seconds
        purpose, state.purpose = state.purpose, None
        state.phase = Phase.TRAINING
        if state.reports and math.isfinite(state.reports[-1][1]) and state.reports[-1][0] <= event.step:
            # A report that came while the job was being saved for a notice or a move was not looked at.
            purpose = self._reached(event.job, state.reports[-1][0]) or purpose
        if purpose is Purpose.PAUSE and self._selected_at is not None:
            purpose = Purpose.PERIODIC  # a deadline made the selection come before its prediction: it goes on
        if purpose is Purpose.PERIODIC and state.warned_until is None:
            self._set_periodic(event.job, event.time)
            return
        if purpose in (Purpose.FINISH, Purpose.CONVERGED):
            value = state.reports[-1][1]
            state.prediction = Prediction(value, 0.0, why=f"{purpose.value} at step {state.reports[-1][0]:g}")
            self._end(event.job, Ending.FINISHED if purpose is Purpose.FINISH else Ending.CONVERGED)
            return
        self._give_back(event.job, purpose.value if purpose else "")
        state.phase = Phase.PAUSED if purpose is Purpose.PAUSE else Phase.WAITING

    # Timers

    def _fire_timers(self) -> None:
        now = self._fleet.now()
        while self._timers and self._timers[0][0] <= now:
            _, job, version, kind = heapq.heappop(self._timers)
            state = self.states[job]
            if version != state.version or state.warned_until is not None:
                continue
            if state.phase in (Phase.STARTING, Phase.SAVING):  # look again when it trains
                self._set_timer(now + self._rules.retry_seconds, job, kind)
                continue
            if kind == "hour":
                self._consider_moving(job)
            elif kind == "save":
                self._save(job, Purpose.PERIODIC)
            elif kind == "deadline":
                self._keep_deadline(job)

    def _set_timer(self, time: float, job: int, kind: str) -> None:
        heapq.heappush(self._timers, (time, job, self.states[job].version, kind))

    def _set_periodic(self, job: int, now: float) -> None:
        """Models that cannot be saved within the notice are saved every sqrt(2 C / hazard) seconds."""
        state = self.states[job]
        assert state.stay is not None
        if state.save_seconds <= self._rules.notice or state.stay.max_price is None:
            return
        p = self._quotes().risk(state.stay.offer, state.stay.max_price)
        interval = save_interval(hazard_of(p), max(state.save_seconds, 1.0))
        if math.isfinite(interval):
            self._set_timer(now + interval, job, "save")

    def _consider_moving(self, job: int) -> None:
        state = self.states[job]
        assert state.stay is not None
        now = self._fleet.now()
        held = Held(state.stay.offer, state.stay.max_price, now - state.stay.launched)
        hurried_there = self._hurried(job) and state.stay.max_price is None
        if state.keeps_nothing:
            self._note("a job is not moved: its program saves no checkpoint")
        if state.keeps_nothing or hurried_there or self._chooser.stays(self._demand(job), self._quotes(), held, job):
            self._set_timer(now + self._rules.hour, job, "hour")
        else:
            self._save(job, Purpose.MOVE)

    # Deadline

    def _last_moment(self, job: int) -> float:
        """When a job must be on the fastest machine on demand to be over in time; infinite without a deadline."""
        if self._rules.finish_by is None:
            return math.inf
        state, seconds = self.states[job], self._step_seconds(job)
        row = fastest_on_demand(self._fleet.offers, seconds)
        if row is None:
            self._note("a deadline without machines on demand cannot be kept for sure")
            return math.inf
        done = state.step if state.stay is None else max(state.step, state.stay.reached)
        lead = self._rules.boot + self._jobs[job].restore_seconds + 2 * state.save_seconds + self._rules.retry_seconds
        tried = self._times.is_measured(self._offer_type(row), job)
        work = (self._jobs[job].max_steps - done) * float(seconds[row]) * (_TRIED if tried else _UNTRIED)
        return self._rules.finish_by - work - lead

    def _hurried(self, job: int) -> bool:
        """Whether only the fastest machine on demand will do, or is about to."""
        return self._last_moment(job) - self._rules.hour / 6 <= self._fleet.now()

    def _selection_due(self) -> float:
        """When to select with whatever is known, so that who has paused can still be trained to the end in time."""
        if self._rules.finish_by is None or self._selected_at is not None:
            return math.inf
        paused = (job for job, state in enumerate(self.states) if state.phase is Phase.PAUSED)
        return min((self._last_moment(job) for job in paused), default=math.inf)

    def _keep_deadline(self, job: int) -> None:
        if self._last_moment(job) > self._fleet.now() + 1.0:
            self._set_deadline(job)
        else:
            self._save(job, Purpose.MOVE)

    def _set_deadline(self, job: int) -> None:
        """Look at the last moment, and before: how long steps take is learned only while they are done."""
        now = self._fleet.now()
        self._set_timer(min(max(self._last_moment(job), now), now + self._rules.hour / 6), job, "deadline")

    # Placing

    def _place_waiting(self) -> None:
        for job, state in enumerate(self.states):
            if state.phase is Phase.WAITING:
                self._place(job)

    def _place(self, job: int) -> None:
        state, now = self.states[job], self._fleet.now()
        if now < state.retry_at:
            return
        state.waiting_since = now if state.waiting_since is None else state.waiting_since
        for offer, max_price in self._wanted(job, hurried=self._hurried(job)):
            try:
                machine = self._fleet.place(job, offer, max_price)
            except LaunchRefused:
                self._refused[offer] = now + self._rules.refused_seconds
                self._note("a launch was refused")
                continue
            state.version += 1
            state.stay = Stay(job, machine, offer, max_price, now, state.step, state.step, reached=state.step)
            state.warned_until = state.waiting_since = None
            self.stays.append(state.stay)
            state.phase = Phase.STARTING
            if self._rules.finish_by is not None and offer != self._fastest(job):
                self._set_deadline(job)
            return
        self._wait_for_machines(job, now - state.waiting_since)

    def _wait_for_machines(self, job: int, waited: float) -> None:
        """Try again in a while; not for ever."""
        if waited > _LONGEST_WAIT:
            raise ProviderError(
                f"no machine was to be had for {waited / 86400:.0f} days",
                where=self._jobs[job].name,
                hint="Add markets, or machines on demand",
            )
        self._note("no machine was to be had for a while")
        self.states[job].retry_at = self._fleet.now() + self._rules.retry_seconds
        heapq.heappush(self._timers, (self.states[job].retry_at, job, -1, "retry"))

    def _fastest(self, job: int) -> int | None:
        return fastest_on_demand(self._fleet.offers, self._step_seconds(job))

    def _wanted(self, job: int, *, hurried: bool) -> Iterable[tuple[int, float | None]]:
        """Offers to try in turn: by the chooser, or on demand by speed when time is running out.

        With a deadline and no idea yet how long a step takes, a job must not wait for a cheap machine: on demand last.
        Neither does it wait for ever where the chooser wants nothing that is to be had.
        """
        now, since = self._fleet.now(), self.states[job].waiting_since
        blocked = [offer for offer, until in self._refused.items() if until > now]
        impatient = since is not None and now - since > self._rules.patience
        sure = self._sure(job, blocked) if self._rules.finish_by is not None or impatient else []
        if hurried and sure:
            return sure
        ranked = self._chooser.ranked(self._demand(job), self._quotes().closed(blocked), job)
        wanted = ((choice.offer, choice.max_price) for choice in ranked)
        return chain(wanted, sure) if impatient or not self._times.known else wanted

    def _sure(self, job: int, blocked: Sequence[int]) -> list[tuple[int, float | None]]:
        """Machines on demand, fastest first."""
        seconds = self._step_seconds(job)
        rows = [row for row, offer in enumerate(self._fleet.offers) if offer.on_demand and row not in blocked]
        return [(row, None) for row in sorted(rows, key=lambda row: float(seconds[row]))]

    def _demand(self, job: int) -> Demand:
        state, spec = self.states[job], self._jobs[job]
        done = state.step if state.stay is None else max(state.step, state.stay.reached)
        left = max(state.goal - done, 1.0)
        within = max(self._target(job) - self._fleet.now(), 0.0)
        return Demand(self._step_seconds(job), left, self._rules.boot, state.save_seconds, spec.restore_seconds, within)

    def _target(self, job: int) -> float:
        """When the job should reach its goal, to be no slower than on demand; infinite where nothing is wished.

        A tuning is over with its last job, so that the time of the longest counts for all: up to the selection, and
        once more, for the steps after it.
        """
        if self._rules.pace is None or not self._times.known:
            return math.inf
        if self._targets_of != self._times.version:
            self._targets_of = self._times.version
            self._longest = max((self._on_demand_seconds(other) for other in range(len(self._jobs))), default=math.inf)
        going_on = self.states[job].goal > self._rules.theta * self._jobs[job].max_steps
        return self._began + self._rules.pace * self._longest * (1.0 if going_on else self._rules.theta)

    def _on_demand_seconds(self, job: int) -> float:
        """Seconds of the whole job on the machine on demand whose steps are cheapest; infinite without such."""
        seconds = self._step_seconds(job)
        row = cheapest_on_demand(self._fleet.offers, seconds)
        return math.inf if row is None else self._rules.boot + self._jobs[job].max_steps * float(seconds[row])

    def _step_seconds(self, job: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        found: np.ndarray[tuple[int], np.dtype[np.float64]] = self._times.of_job(job)[self._rows]
        return found

    def _quotes(self) -> Quotes:
        """What is known now; asked once while the time stands still, for all jobs that move together."""
        now = self._fleet.now()
        if self._quoted is None or self._quoted[0] != now:
            self._quoted = (now, self._forecaster.quotes(now))
        return self._quoted[1]

    def _offer_type(self, offer: int) -> str:
        return self._fleet.offers[offer].machine.name

    # Stays

    def _save(self, job: int, purpose: Purpose) -> None:
        state = self.states[job]
        assert state.stay is not None
        state.phase, state.purpose = Phase.SAVING, purpose
        self._fleet.save(state.stay.machine)

    def _give_back(self, job: int, why: str) -> None:
        """After a warning the provider takes the machine, where that costs nothing; else we end it."""
        state = self.states[job]
        assert state.stay is not None
        if state.warned_until is not None and state.warned_until - state.stay.launched < self._rules.refund_window:
            self._fleet.leave(state.stay.machine)
        else:
            self._fleet.terminate(state.stay.machine)
        self._end_stay(state, self._fleet.now(), why)

    def _leave(self, job: int) -> None:
        self._give_back(job, Purpose.NOTICE.value)
        self.states[job].phase = Phase.WAITING

    def _end_stay(self, state: JobState, time: float, why: str) -> None:
        assert state.stay is not None
        state.stay.left, state.stay.why = time, why
        state.stay, state.purpose, state.warned_until = None, None, None
        state.version += 1

    def _end(self, job: int, ending: Ending) -> None:
        state = self.states[job]
        if state.stay is not None:
            self._give_back(job, ending.value)
        state.ending, state.phase = ending, Phase.ENDED

    # Selection

    def _select(self) -> None:
        """The best mcnt go on, the others are over.

        Whoever is not judged yet, because a deadline would not wait, goes on as well.
        """
        self._selected_at = self._fleet.now()
        chosen = choose(
            [self._judged(job) for job in range(len(self._jobs))], self._rules.mcnt, maximize=self._maximize
        )
        self._ranking = tuple(ranked.index for ranked in chosen.ranking)
        going_on = set(chosen.chosen)
        if all(self.states[job].ending is Ending.DIVERGED for job in going_on):  # nothing was promising: what is left
            going_on |= {job for job in self._ranking if self.states[job].phase is Phase.PAUSED}
        for job, state in enumerate(self.states):
            state.selected = job in going_on
            if state.phase is Phase.PAUSED and state.selected:
                state.goal, state.phase = self._jobs[job].max_steps, Phase.WAITING
            elif state.phase is Phase.PAUSED:
                state.phase, state.ending = Phase.ENDED, Ending.NOT_SELECTED
            elif state.phase is not Phase.ENDED:
                state.goal = self._jobs[job].max_steps
                self._note("a job was not judged at theta: the deadline would not wait")

    def _judged(self, job: int) -> Prediction:
        """What is thought of a job when the best are selected."""
        state = self.states[job]
        if state.phase in (Phase.PAUSED, Phase.ENDED) and state.prediction is not None:
            return state.prediction
        last = state.reports[-1][1] if state.reports else 0.0
        return Prediction(last, math.inf, Outlook.NOT_PREDICTABLE, "not at theta yet")

    @property
    def _maximize(self) -> bool:
        return self._jobs[0].maximize

    def _curve(self, job: int) -> Curve:
        steps, values = np.array(self.states[job].reports, dtype=np.float64).T
        return Curve(steps, values, self._jobs[job].drops, self._jobs[job].maximize)

    def _note(self, text: str) -> None:
        self._notes[text] = self._notes.get(text, 0) + 1
