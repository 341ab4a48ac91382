"""How fast a tuning is simulated: `python -m benchmarks.simulate --json`.

96 jobs of 60 reports on generated volatile prices, six spot markets and their machines on demand, by our policy:

    usual   jobs of 4 hours (on 4 vCPUs), as the workloads of `leantune spot simulate` have; over within half a day
    month   jobs so long that the tuning spans a month: a decision for every job about every hour

The table of risks (30 days, every five minutes) is timed apart: a simulation shares it with all others on the same
prices. Seconds of a simulation are set against a bare loop of `heapq` over as many events in the same run.
"""

from __future__ import annotations

import argparse
import heapq
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TypeVar

import numpy as np

from leantune.lab.simulate.comparison import ComparisonPlan, forecaster_of
from leantune.lab.simulate.forecast import TabledForecaster
from leantune.lab.simulate.policies import chooser
from leantune.lab.simulate.setup import generated_pool
from leantune.lab.simulate.simulation import SimulationResult, simulate
from leantune.lab.simulate.workloads import RecordedJob

JOBS, REPORTS, DAYS = 96, 60, 30.0
USUAL_HOURS, MONTH_HOURS = 4.0, 372.0  # on 4 vCPUs; the cheapest machines have 2
QUICK_SHARE = 0.1
DAY = 86400.0
T = TypeVar("T")


@dataclass(frozen=True)
class Figures:
    """One size of jobs. table_s: of the risks of all 30 days. ratio: simulate_s over reference_s.

    cpu_s: of the simulation, in processor seconds, which a busy machine does not stretch as much.
    """

    name: str
    jobs: int
    span_days: float
    machines: int
    events: int
    table_s: float
    simulate_s: float
    cpu_s: float
    simulated_days_per_s: float
    us_per_machine: float
    reference_s: float
    ratio: float
    usd: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="a tenth of the jobs and of the month")
    arguments = parser.parse_args()
    found = measure(QUICK_SHARE if arguments.quick else 1.0)
    if arguments.json:
        print(json.dumps({figures.name: asdict(figures) for figures in found}, indent=2))
        return
    for figures in found:
        for name, value in asdict(figures).items():
            print(f"{name:20} {value:,.3f}" if isinstance(value, float) else f"{name:20} {value}")
        print()


def measure(share: float = 1.0) -> list[Figures]:
    """Both sizes; share: of the jobs and of the month."""
    count, days = max(round(JOBS * share), 3), DAYS * share
    plan = ComparisonPlan(pool := generated_pool(days=days, zones=1), (synthetic_jobs(3, 1.0),), pool.speeds())
    simulated(plan, forecaster_of(plan), synthetic_jobs(3, 1.0))  # compiles
    forecaster = forecaster_of(plan)
    table, _ = timed(forecaster.prepare)
    sizes = {"usual": USUAL_HOURS, "month": MONTH_HOURS * share}
    return [figures_of(name, plan, forecaster, synthetic_jobs(count, hours), table) for name, hours in sizes.items()]


def figures_of(
    name: str, plan: ComparisonPlan, forecaster: TabledForecaster, jobs: tuple[RecordedJob, ...], table: float
) -> Figures:
    """Simulate jobs of one size; the median of three where it is quick."""
    before = time.process_time()
    seconds, result = timed(lambda: simulated(plan, forecaster, jobs))
    cpu = time.process_time() - before
    if seconds < 5.0:
        again = [timed(lambda: simulated(plan, forecaster, jobs))[0] for _ in range(2)]
        seconds = statistics.median([seconds, *again])
    events = events_of(result)
    reference = statistics.median(timed(lambda: bare_loop(events))[0] for _ in range(3))
    span = result.finished_seconds / DAY
    return Figures(
        name=name,
        jobs=len(jobs),
        span_days=span,
        machines=len(result.stays),
        events=events,
        table_s=table,
        simulate_s=seconds,
        cpu_s=cpu,
        simulated_days_per_s=span / seconds,
        us_per_machine=1e6 * seconds / len(result.stays),
        reference_s=reference,
        ratio=seconds / reference,
        usd=result.usd,
    )


def simulated(plan: ComparisonPlan, forecaster: TabledForecaster, jobs: tuple[RecordedJob, ...]) -> SimulationResult:
    """One tuning by our policy."""
    return simulate(plan.scenario(jobs), chooser("ours"), forecaster, plan.curves)


def events_of(result: SimulationResult) -> int:
    """Launch, readiness, last checkpoint and end of every machine, and every report that counted."""
    machines = sum(2 + (one.ready is not None) + (one.saving_seconds > 0) for one in result.stays)
    return machines + sum(job.reports for job in result.jobs)


def bare_loop(events: int) -> float:
    """As many events through a heap that holds one of each job, and nothing done with them."""
    heap = [(float(job), job) for job in range(JOBS)]
    last = 0.0
    for _ in range(events):
        last, job = heapq.heappop(heap)
        heapq.heappush(heap, (last + 1.0 + job % 7, job))
    return last


def synthetic_jobs(count: int, hours: float) -> tuple[RecordedJob, ...]:
    """Curves that fall like 1 / k to different ends, 0.7 to 1.4 times the hours."""
    jobs = []
    for number in range(count):
        random = np.random.default_rng(number)
        steps = np.linspace(50.0, 50.0 * REPORTS, REPORTS)
        values = 1 / (0.05 * np.arange(1, REPORTS + 1) + 1) + random.uniform(0, 0.5) + random.normal(0, 0.002, REPORTS)
        seconds = np.full(REPORTS, hours * 3600 / REPORTS * random.uniform(0.7, 1.4))
        name = f"job {number}"
        jobs.append(RecordedJob(name, "synthetic", {}, "loss", False, steps, values, seconds, (), 10**6, 8.0, 8.0))
    return tuple(jobs)


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds, and what came of it."""
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


if __name__ == "__main__":
    main()
