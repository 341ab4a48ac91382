"""How long `lean` thinks, against how long it trains.

    python -m benchmarks.thinking [--json] [--quick]

Every figure is from a process of its own. "New": nothing was compiled on this machine before (an empty cache of
compiled code); "warm": LeanTune has run here. The first proposal is counted from the start of the process, imports
included; the first that needs models from the end of the third test. "behind": meanwhile compiled in a thread, as
`leantune run` does, while three trainings of a second run. A study: 20 trainings of a second or two each on a
simulated clock, one at a time; thinking is what the loop waits for the strategy, the recommendation at the end
included. "cpu": seconds of processor time of the same, all threads together: what an idle machine would take at most,
where this one is busy.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table

import leantune as lt
from leantune.clock import SimulatedClock
from leantune.problem import Problem
from leantune.space import Configuration
from leantune.strategies.proposals import Proposal, Recommendation
from leantune.strategies.registry import named_tuner
from leantune.strategies.tuner import Judgement, Over, Tuner, View, Wait
from leantune.study import AskedTrial, Study

ROOT = Path(__file__).resolve().parents[1]
STRATEGY, TRIALS, STARTS, REPETITIONS = "lean", 20, 3, 3
BUDGETS = {"trials": lt.Budget(trials=TRIALS), "trials and dollars": lt.Budget(trials=TRIALS, usd=0.02)}
MOST = {  # what the figures should be at most
    "first_warm_s": 2.0,
    "first_new_s": 5.0,
    "share (trials)": 0.1,
    "share (trials and dollars)": 0.1,
}
Json = dict[str, Any]
Answer = TypeVar("Answer")


def space() -> lt.Space:
    """5 x 5 x 4 x 4 = 400 configurations, as many as the demo's."""
    machines = [
        lt.machine("small", vcpus=1, memory="2 GiB", usd_per_hour=1.0),
        lt.machine("large", vcpus=4, memory="8 GiB", usd_per_hour=3.0),
    ]
    return lt.Space(
        lr=lt.ordinal(1e-4, 1e-3, 1e-2, 0.1, 1.0, scale="log"),
        hidden=lt.ordinal(16, 32, 64, 128, 256, scale="log"),
        batch=lt.ordinal(16, 32, 64, 128, scale="log"),
        cluster=lt.clusters(machines, nodes=[1, 2]),
    )


def accuracy(configuration: Configuration, share: Fraction) -> float:
    """Best at lr 0.01 with many units; more data helps."""
    off = math.log10(float(str(configuration["lr"]))) + 2.0
    units = math.log2(float(str(configuration["hidden"])))
    return 0.97 - 0.03 * off * off - 0.2 / units - 0.05 * (math.pow(share, -0.3) - 1.0)


def seconds(configuration: Configuration, share: Fraction) -> float:
    """A second for anything, and up to one more for all of the data."""
    cluster, units = configuration.cluster, float(str(configuration["hidden"]))
    assert cluster is not None
    return 1.0 + float(share) * units / 256.0 / math.sqrt(cluster.vcpus)


def study_of(tuner: Tuner, budget: lt.Budget, clock: SimulatedClock | None = None) -> Study:
    """Two limits, three shares."""
    return Study(
        space(),
        lt.maximize("accuracy"),
        subject_to=["time <= 1.8 s", "cost <= 0.002 USD"],
        fractions=["1/16", "1/4", 1],
        budget=budget,
        strategy=tuner,
        seed=1,
        clock=clock,
    )


@dataclass
class Timed:
    """A tuner whose answers are timed: seconds of each call by name, and seconds of processor time of all."""

    tuner: Tuner
    taken: dict[str, list[float]] = field(default_factory=dict)
    cpu: float = 0.0

    @property
    def judges(self) -> bool:
        """See Tuner, here and below."""
        return self.tuner.judges

    def check(self, problem: Problem) -> None:
        self.tuner.check(problem)

    def prepare(self) -> None:
        self.tuner.prepare()

    def ends_by_itself(self, problem: Problem) -> bool:
        return self.tuner.ends_by_itself(problem)

    def ask(self, view: View) -> Proposal | Wait | Over:
        return self._timed("ask", lambda: self.tuner.ask(view))

    def judge(self, view: View, only: Collection[int] | None = None) -> Mapping[int, Judgement]:
        return self._timed("judge", lambda: self.tuner.judge(view, only))

    def recommend(self, view: View) -> Recommendation | None:
        return self._timed("recommend", lambda: self.tuner.recommend(view))

    def stop_reason(self, view: View) -> str | None:
        return self._timed("stop_reason", lambda: self.tuner.stop_reason(view))

    def _timed(self, name: str, call: Callable[[], Answer]) -> Answer:
        began, cpu = time.perf_counter(), time.process_time()
        answer = call()
        self.taken.setdefault(name, []).append(time.perf_counter() - began)
        self.cpu += time.process_time() - cpu
        return answer


# -- in a process of its own


def first_proposals(started: float, rest: float) -> Json:
    """Seconds from `started` (Unix time) to the first proposal, and of the first one that needs models.

    rest: seconds that each of the first tests takes, while code is compiled in a thread; 0: nobody compiles ahead.
    """
    tuner = named_tuner(STRATEGY)
    study = study_of(tuner, BUDGETS["trials and dollars"])
    trial = study.ask()
    first, first_cpu = time.time() - started, time.process_time()
    if rest > 0.0:
        Thread(target=tuner.prepare, daemon=True).start()
    for _ in range(STARTS):
        time.sleep(rest)
        shown = {"accuracy": accuracy(trial.configuration, trial.fraction)}
        study.tell(trial, shown, seconds=seconds(trial.configuration, trial.fraction))
        began, cpu = time.perf_counter(), time.process_time()
        trial = study.ask()
    assert trial.expected, "models were to choose this one"
    model, model_cpu = time.perf_counter() - began, time.process_time() - cpu
    return {"first_s": first, "first_cpu_s": first_cpu, "model_s": model, "model_cpu_s": model_cpu}


def thinking(budget: str, trials: int = TRIALS) -> Json:
    """Of one study."""
    clock, timed = SimulatedClock(), Timed(named_tuner(STRATEGY))
    study = study_of(timed, BUDGETS[budget], clock)

    def train(trial: AskedTrial) -> dict[str, float]:
        clock.sleep(seconds(trial.configuration, trial.fraction))
        return {"accuracy": accuracy(trial.configuration, trial.fraction)}

    study.optimize(train, trials=trials)
    taken = {name: sum(each) for name, each in timed.taken.items()}
    return {
        "budget": budget,
        "trials": len(study.history),
        "training_s": study.history.seconds,
        "thinking_s": sum(taken.values()),
        "share": sum(taken.values()) / study.history.seconds,
        "share_cpu": timed.cpu / study.history.seconds,
        "seconds": taken,
        "calls": {name: len(each) for name, each in timed.taken.items()},
        "longest_ask_s": max(timed.taken["ask"]),
    }


# -- from outside


def apart(cache: Path, *arguments: str) -> Json:
    """What a new process measures whose compiled code is kept in `cache`."""
    command = [sys.executable, "-m", "benchmarks.thinking", "--probe", *arguments]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    found: Json = json.loads(done.stdout)
    return found


def measure(*, quick: bool) -> Json:
    """Everything, under the names of `MOST`."""
    with TemporaryDirectory(prefix="leantune-thinking-") as place:
        new, behind = Path(place) / "new", Path(place) / "behind"
        cold = apart(new, "first", str(time.time()), "0")
        warm = [apart(new, "first", str(time.time()), "0") for _ in range(1 if quick else REPETITIONS)]
        ahead = apart(behind, "first", str(time.time()), "1")
        studies = [apart(new, "study", budget) for budget in BUDGETS]
    return {
        "strategy": STRATEGY,
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[0],
        "first_new_s": cold["first_s"],
        "first_new_cpu_s": cold["first_cpu_s"],
        "first_warm_s": median(one["first_s"] for one in warm),
        "first_warm_cpu_s": median(one["first_cpu_s"] for one in warm),
        "model_new_s": cold["model_s"],
        "model_new_cpu_s": cold["model_cpu_s"],
        "model_new_behind_s": ahead["model_s"],
        "model_warm_s": median(one["model_s"] for one in warm),
        "model_warm_cpu_s": median(one["model_cpu_s"] for one in warm),
        **{f"share ({one['budget']})": one["share"] for one in studies},
        **{f"share, cpu ({one['budget']})": one["share_cpu"] for one in studies},
        "studies": studies,
    }


def print_report(result: Mapping[str, Any], console: Console) -> None:
    """Figures beside what they should be at most, then the studies."""
    console.print(f"{result['strategy']}; cores: {result['cores']}, load average: {result['load_average']:.2f}")
    table = Table("figure", "measured", "at most", "")
    for name in (name for name in result if name.endswith("_s") or name.startswith("share")):
        most = MOST.get(name)
        verdict = "" if most is None else "reached" if result[name] <= most else "missed"
        table.add_row(name, f"{result[name]:.3g}", "" if most is None else f"{most:g}", verdict)
    console.print(table)
    for one in result["studies"]:
        calls = ", ".join(f"{name} {count} x, {one['seconds'][name]:.2f} s" for name, count in one["calls"].items())
        trained = f"{one['thinking_s']:.2f} s for {one['training_s']:.1f} s of training"
        console.print(f"{one['trials']} trials, budget of {one['budget']}: {trained} ({calls})", highlight=False)


def main(arguments: list[str] | None = None) -> None:
    """Measure, then print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON rather than a table")
    parser.add_argument("--quick", action="store_true", help="every first proposal once")
    parser.add_argument("--probe", nargs="+", metavar="WHAT", help="used by the benchmark itself: measure here")
    given = parser.parse_args(arguments)
    if given.probe:
        what, *rest = given.probe
        print(json.dumps(thinking(*rest) if what == "study" else first_proposals(*map(float, rest))))
        return
    result = measure(quick=given.quick)
    if given.json:
        print(json.dumps({**result, "most": MOST}, indent=2))
    else:
        print_report(result, Console())


if __name__ == "__main__":
    main()
