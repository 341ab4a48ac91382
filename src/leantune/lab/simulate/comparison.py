"""Several policies on the same markets with the same jobs: the dollars, hours and result of each.

A tuning is one family of jobs; several families are tuned at the same time, each for itself, and their dollars and
steps are added up. Time is that of the longest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from leantune.cloud.billing import AWS, BillingPolicy
from leantune.cloud.predictor import Predictor
from leantune.cloud.provider import Offer
from leantune.curves.base import CurvePredictor
from leantune.curves.predictors import curve_predictor
from leantune.errors import InvalidInput
from leantune.lab.simulate.forecast import TabledForecaster
from leantune.lab.simulate.policies import DEFAULT_POLICIES, POLICIES, chooser
from leantune.lab.simulate.setup import Pool
from leantune.lab.simulate.simulation import Scenario, SimulationResult, TuningRules, simulate
from leantune.lab.simulate.speeds import Speeds
from leantune.lab.simulate.workloads import RecordedJob
from leantune.rent.provisioner import check_hour_value
from leantune.rent.step_times import EXPONENT
from leantune.revocation.predictors import predictor

POLL = 10.0
Tuning = tuple[RecordedJob, ...]


@dataclass(frozen=True)
class ComparisonPlan:
    """A comparison. tunings: the jobs of each family. hour_value: USD that an hour of one job's time is worth.

    risk: predicts revocations, curves: predict where jobs end.
    """

    pool: Pool
    tunings: tuple[Tuning, ...]
    speeds: Speeds
    policies: Sequence[str] = DEFAULT_POLICIES
    rules: TuningRules = field(default_factory=TuningRules)
    hour_value: float = 0.0
    seed: int = 0
    billing: BillingPolicy = AWS
    exponent: float = EXPONENT
    risk: Predictor = field(default_factory=predictor)
    curves: CurvePredictor = field(default_factory=lambda: curve_predictor("earlycurve"))

    def __post_init__(self) -> None:
        if not self.tunings or not all(self.tunings):
            raise InvalidInput("there are no jobs to tune", where="simulation", hint="Name a workload with jobs")
        if not self.policies:
            hint = f"Name at least one of {', '.join(POLICIES)}"
            raise InvalidInput("there is no policy to simulate", where="simulation", hint=hint)
        check_hour_value(self.hour_value)
        if self.seed < 0:
            hint = "Give a whole number of at least 0"
            raise InvalidInput(f"the seed is {self.seed}", where="simulation", hint=hint)

    def scenario(self, jobs: Tuning) -> Scenario:
        """One tuning as it is simulated."""
        return Scenario(
            self.pool.feeds,
            jobs,
            {name: self.speeds.slowness(name) for name in self.pool.types},
            self.pool.start,
            policy=self.billing,
            rules=self.rules,
            poll=POLL,
            seed=self.seed,
            exponent=self.exponent,
            hour_value=self.hour_value,
        )


@dataclass(frozen=True, eq=False)
class Tally:
    """One policy's tunings together: dollars and steps of all of them, seconds of the one that took longest.

    boot: seconds of a machine's start. usd_per_1000_steps: None where no step was kept. free_share: of the kept steps,
    the free ones. revocations: of the `machines` that were rented. lost_steps: done in vain. overhead: shares of
    the time on machines spent on checkpoints, on booting and on restoring. notes: what could not be done.
    """

    policy: str
    results: tuple[SimulationResult, ...]
    boot: float
    usd: float
    refund_usd: float
    usd_per_1000_steps: float | None
    selected_seconds: float
    finished_seconds: float
    free_share: float
    revocations: int
    machines: int
    kept_steps: float
    lost_steps: float
    overhead: Mapping[str, float]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, policy: str, results: tuple[SimulationResult, ...], boot: float) -> Tally:
        """Add up."""
        usd, kept = sum(result.usd for result in results), sum(result.kept_steps for result in results)
        free = sum(result.free_share * result.kept_steps for result in results)
        return cls(
            policy,
            results,
            boot,
            usd,
            refund_usd=sum(result.refund_usd for result in results),
            usd_per_1000_steps=1000.0 * usd / kept if kept else None,
            selected_seconds=max(result.selected_seconds for result in results),
            finished_seconds=max(result.finished_seconds for result in results),
            free_share=free / kept if kept else 0.0,
            revocations=sum(result.revocations for result in results),
            machines=sum(len(result.stays) for result in results),
            kept_steps=kept,
            lost_steps=sum(result.lost_steps for result in results),
            overhead=_overhead(results, boot),
            notes=tuple(dict.fromkeys(note for result in results for note in result.notes)),
        )

    def hits(self, count: int) -> int:
        """In how many tunings the truly best setting is among the first `count` of the ranking."""
        return sum(result.hit(count) for result in self.results)


def _overhead(results: Sequence[SimulationResult], boot: float) -> dict[str, float]:
    leads = [
        min((stay.ready or stay.left or stay.over) - stay.launched, boot) for result in results for stay in result.stays
    ]
    lead, saving = sum(result.lead_seconds for result in results), sum(result.saving_seconds for result in results)
    whole = sum(result.machine_seconds for result in results)
    parts = {"checkpoint": saving, "boot": sum(leads), "restore": lead - sum(leads)}
    return {name: seconds / whole if whole else 0.0 for name, seconds in parts.items()}


def compare(plan: ComparisonPlan, tell: Callable[[str], None] = lambda text: None) -> list[Tally]:
    """Simulate every policy; `tell` hears which one is at work. Risks are computed once for all."""
    makers = {name: chooser(name) for name in dict.fromkeys(plan.policies)}
    forecaster = forecaster_of(plan)
    tallies = []
    for name, maker in makers.items():
        tell(name)
        results = tuple(simulate(plan.scenario(jobs), maker, forecaster, plan.curves) for jobs in plan.tunings)
        tallies.append(Tally.of(name, results, plan.rules.boot))
    return tallies


def forecaster_of(plan: ComparisonPlan) -> TabledForecaster:
    """Quotes for all simulations of a plan."""
    feeds, start = plan.pool.feeds, plan.pool.start
    offers = [Offer(feed.machine, feed.market, feed.on_demand, feed.price_at(start)) for feed in feeds]
    return TabledForecaster(offers, [feed.prices for feed in feeds], plan.risk, (start, plan.pool.end))


def saved_share(cheaper: Tally, dearer: Tally) -> float:
    """1 - dollars / dollars, where both did the same tunings; below 0 where nothing was saved."""
    return 1.0 - cheaper.usd / dearer.usd if dearer.usd else 0.0
