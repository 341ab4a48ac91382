"""Money: how long a run may take, and what is set aside before it starts.

    worst case = rate x (time limit + grace + KILL_SECONDS)                             machines of this world
    worst case = rate x (time limit + setup + speed x (grace + 2 KILL_SECONDS))         rented on a simulated market

is reserved in the transaction that starts a run and settled in the one that ends it, so that dollars spent plus dollars
reserved never exceed the budget, with any number of runs and crashes. Without a time limit in the job file a
run gets a quarter of what each of the parallel runs could still pay for, and, once the models know something, an upper
bound of what they predict. Pure functions: the store calls them inside its transaction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from leantune.history import Estimate, History, Observation, Trial, TrialKind, told_dollars
from leantune.history.trials import proposed
from leantune.problem import COST, TIME, Problem
from leantune.space import Configuration
from leantune.store.rows import Booking, Money
from leantune.units import NO_USD, SECONDS_PER_HOUR, Seconds, Usd

KILL_SECONDS = 1.0  # between SIGKILL and the end of the last process
FIRST_SHARE = 4  # of what a run could pay for, while nothing is known
UPPER_SDS = 3.0  # standard deviations (of log seconds) in the models' upper bound
LEAST_REST = 1e-3  # seconds of a run that goes on where an earlier run used its whole limit
LEAST_LIMIT = 5.0  # seconds: a busy machine may keep the quickest program waiting
AGAIN = 2.0  # times the seconds of all steps, where every step may have to be done again
LEAST_HEADROOM = 10.0  # times the predicted mean: trees that have seen little were seen to be wrong by a factor of 7


@dataclass(frozen=True)
class TimeRules:
    """What the user said about time: the limit of one run (None: derived from money and models), and the grace.

    billed: dollars come from bills of rented machines, at most those of the price on demand; the models' dollars then
    say nothing about seconds. speed: seconds of the machines, in which limits and runs are counted, in one second of
    this world, in which programs save and die (grace). setup: seconds that are paid for beside the run. worst_rate: USD
    per hour that a run may cost at most where its configuration names no machine (the placement chooses one). adds_up:
    what all attempts were billed is the cost of a result, including lost work. steps: the last one of a
    training, where that is known. ends_useless: runs that break a limit are ended although nothing else is enforced (a
    table of measurements).
    """

    time_limit: float | None = None
    grace: float = 30.0
    parallel: int = 1
    enforced: bool = True
    billed: bool = False
    speed: float = 1.0
    setup: float = 0.0
    worst_rate: float | None = None
    adds_up: bool = False
    steps: float | None = None
    ends_useless: bool = False

    def rate(self, configuration: Configuration) -> float | None:
        """USD per hour that a run of it is booked at; None where runs are free."""
        own = configuration.usd_per_hour
        return self.worst_rate if own is None else own

    def resumed(self, trial: Trial, step: float) -> Trial:
        """A trial that was paused at a step and goes on, with the time that its remaining steps may take.

        limit = seconds per step so far x max(HEADROOM x steps that are left, AGAIN x all steps)

        as the next machine may be slower, and as steps that were reported may have to be done again: those after the
        last checkpoint of a machine that was taken, or all of them where a program left none.
        """
        if self.steps is None or not 0 < step < self.steps or not self.enforced or not trial.runs.paused:
            return trial
        steps = max(LEAST_HEADROOM * (self.steps - step), AGAIN * self.steps)
        limit = max(trial.runs.seconds / step * steps, self.speed * LEAST_LIMIT)
        return replace(trial, time_limit=limit if self.time_limit is None else min(limit, self.time_limit))

    def difference(self, trial: Trial, smaller: Observation) -> Trial:
        """A trial that goes on from the end of one at a smaller share, with the time that the rest may take.

        expected rest = max(predicted seconds - those of the smaller one, predicted seconds x the share that is left)

        A limit that the user gave stands, and so does one that nothing was predicted for. Else what the whole may take
        is not exceeded by both together.
        """
        predicted = self._predicted(dict(trial.expected), self.rate(trial.configuration))
        if self.time_limit is not None:
            return trial
        whole = math.inf if trial.time_limit is None else max(trial.time_limit - (smaller.seconds or 0.0), LEAST_REST)
        if not self.enforced or predicted is None:
            return trial if trial.time_limit is None or self.enforced else replace(trial, time_limit=whole)
        left = predicted.mean * float(1 - smaller.fraction / trial.fraction)
        rest = Estimate(max(predicted.mean - (smaller.seconds or 0.0), left), predicted.sd)
        limit = min(max(upper_bound(rest), self.speed * LEAST_LIMIT), whole)
        return replace(trial, time_limit=limit, expected={TIME: rest})

    @property
    def overhead(self) -> float:
        """Seconds that a run may be paid for beyond its limit; a rented machine is given back a moment later."""
        moments = 2 if self.billed else 1
        return self.setup + self.speed * (self.grace + moments * KILL_SECONDS)

    def first_limit(
        self, rate: float | None, expected: dict[str, Estimate], money: Money, useful: float | None = None
    ) -> float | None:
        """Seconds that a newly proposed run may take; None: no limit is known. useful: see Proposal.

        enforced=False: a run that cannot be ended (a function in this process) has no limit.
        """
        limit = self._affordable_limit(rate, expected, money)
        if useful is None or not (self.enforced or self.ends_useless):
            return limit
        if self.enforced:
            useful = max(useful, self.speed * LEAST_LIMIT)
        return useful if limit is None else min(limit, useful)

    def _affordable_limit(self, rate: float | None, expected: dict[str, Estimate], money: Money) -> float | None:
        """The user's limit, or one from the models and the money that is left."""
        if self.time_limit is not None or not self.enforced:
            return self.time_limit
        predicted = self._predicted(expected, rate)
        if predicted is not None:
            return max(upper_bound(predicted), self.speed * LEAST_LIMIT)
        if rate is None or money.budget_usd is None:
            return None
        remaining = max(money.left, 0.0) / rate * SECONDS_PER_HOUR / self.parallel / FIRST_SHARE
        return remaining if remaining > 0 else None

    def booking(self, trial: Trial, money: Money) -> Booking | None:
        """What to set aside for a run of the trial now; None when the dollars that are left do not cover it.

        A limit that the user gave stands; one of ours shrinks to what can be paid, as long as the run is expected to
        end in it.
        """
        rate = self.rate(trial.configuration)
        if rate is None or not self.enforced:
            return Booking(NO_USD, rate, trial.time_limit)
        if money.budget_usd is None:
            return Booking(self.worst_case(rate, trial.time_limit), rate, trial.time_limit)
        if trial.time_limit is not None and self.worst_case(rate, trial.time_limit) <= money.left:
            return Booking(self.worst_case(rate, trial.time_limit), rate, trial.time_limit)
        affordable = money.left / rate * SECONDS_PER_HOUR - self.overhead
        affordable *= 1 - 1e-9  # rounding must not bring the worst case above what is left
        predicted = self._predicted(dict(trial.expected), rate)
        least = predicted.mean if predicted is not None else (trial.time_limit or 0.0)
        if self.time_limit is not None or affordable <= max(least, 0.0):
            return None
        return Booking(self.worst_case(rate, affordable), rate, affordable)

    def affords(self, configuration: Configuration, money: Money) -> bool:
        """Whether a run of which nothing is known beforehand could be started with what is left."""
        limit = self.first_limit(self.rate(configuration), {}, money)
        return self.booking(proposed(0, configuration, Fraction(1), time_limit=limit), money) is not None

    def worst_case(self, rate: float, time_limit: float | None) -> Usd:
        """Dollars that a run may cost at most; without a limit nothing can be promised, and nothing is reserved."""
        return NO_USD if time_limit is None else Usd(rate * (time_limit + self.overhead) / SECONDS_PER_HOUR)

    def _predicted(self, expected: dict[str, Estimate], rate: float | None) -> Estimate | None:
        return predicted_seconds(expected, None if self.billed else rate)

    def shortfall(self, trial: Trial, money: Money) -> str:
        """Why a trial is not started, for the user."""
        rate = self.rate(trial.configuration) or 0.0
        needed = self.worst_case(rate, trial.time_limit)
        beyond = f"{self.overhead:.3g} s setup and grace" if self.billed else f"{self.grace:g} s grace"
        seconds = f"{trial.time_limit or 0.0:.3g} s limit + {beyond}"
        return (
            f"the {max(money.left, 0.0):.4g} USD that are left do not cover the worst case of the next trial, "
            f"{needed:.4g} USD ({seconds} at {rate:g} USD per hour); raise the budget or shorten time_limit or grace"
        )


def dollars(rate: float | None, seconds: Seconds) -> Usd:
    """What a machine of that rate costs in that time; 0 where it is free."""
    return NO_USD if rate is None else Usd(rate * seconds / SECONDS_PER_HOUR)


def smaller_result(problem: Problem, history: Callable[[], History], trial: Trial) -> tuple[Trial, Observation] | None:
    """What a run of the trial may go on from; None where shares are of the data: each run reads it from the start. So
    does one that repeats another, to see how much runs scatter.
    """
    if problem.fidelity == "data":
        return None
    past = history()
    if trial.kind is TrialKind.SEARCH and past.repeat_of(trial):
        return None
    return past.continued(trial.configuration.id, trial.fraction)


def continued_dollars(observations: Sequence[Observation], smaller: Observation | None) -> Usd:
    """Of the dollars that a run's observations tell, those that the result it went on from has paid for; a run that
    goes on costs no less than nothing.
    """
    return NO_USD if smaller is None else min(smaller.cost or NO_USD, told_dollars(observations))


def predicted_seconds(expected: dict[str, Estimate], rate: float | None) -> Estimate | None:
    """Predicted seconds of a run, directly or from its dollars; None where the models predict neither."""
    if TIME in expected:
        return expected[TIME]
    if COST in expected and rate:
        scale = SECONDS_PER_HOUR / rate
        return Estimate(expected[COST].mean * scale, expected[COST].sd * scale)
    return None


def upper_bound(seconds: Estimate) -> float:
    """A bound that a run rarely exceeds: log seconds are modelled as Gaussian, so sigma^2 = log(1 + sd^2 / mean^2)
    and the bound is exp(mu + 3 sigma), but at least ten times the mean and LEAST_LIMIT.
    """
    mean = max(seconds.mean, 1e-9)
    variance = math.log1p((seconds.sd / mean) ** 2)
    bound = math.exp(min(math.log(mean) - variance / 2 + UPPER_SDS * math.sqrt(variance), 700.0))
    return max(bound, LEAST_HEADROOM * mean, LEAST_LIMIT)
