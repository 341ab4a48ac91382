"""A small problem with a known answer, for tests of whatever needs a history."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from leantune.cloud.catalog import clusters
from leantune.executors.replay import Measurement
from leantune.history import History, Observation, ObservationKind, Trial, TrialState, observe
from leantune.models.gp import GpFitter
from leantune.models.saturation import SaturatingFitter
from leantune.models.trees import TreesFitter
from leantune.problem import Budget, Fidelity, Goal, Problem, Stop, maximize, minimize
from leantune.space import Configuration, Space, choice, machine, ordinal
from leantune.strategies.proposals import Proposal, Recommendation
from leantune.strategies.recipe import Recipe
from leantune.strategies.registry import recipe
from leantune.strategies.tuner import Tuner, View

MACHINES = (
    machine("small", vcpus=1, memory=2, usd_per_hour=0.5),
    machine("large", vcpus=4, memory=16, usd_per_hour=2.4),
)
FRACTIONS = (Fraction(1, 10), Fraction(1, 2), Fraction(1))
LIMIT = 0.05


def toy_space() -> Space:
    """3 x 2 x 4 = 24 configurations."""
    return Space(lr=ordinal(1e-4, 1e-3, 1e-2), batch=choice("few", "many"), cluster=clusters(MACHINES, nodes=[1, 2]))


def toy_problem(
    *,
    anywhere: bool = False,
    budget: Budget | None = None,
    snapshots: bool = False,
    fidelity: Fidelity = "data",
    stop: Stop = "never",
) -> Problem:
    """Best accuracy under a dollar limit, or the cheapest run anywhere that is accurate enough."""
    goal: Goal = minimize("cost", at="anywhere") if anywhere else maximize("accuracy")
    limits = ["accuracy >= 0.75", "time <= 300 s"] if anywhere else [f"cost <= {LIMIT} USD"]
    return Problem(
        toy_space(), goal, limits, FRACTIONS, budget or Budget(), snapshots=snapshots, fidelity=fidelity, stop=stop
    )


def accuracy(configuration: Configuration, fraction: Fraction) -> float:
    """Best at lr 1e-3 with few; grows with the data."""
    error = {1e-4: 0.20, 1e-3: 0.05, 1e-2: 0.35}[float(str(configuration["lr"]))]
    error += 0.0 if configuration["batch"] == "few" else 0.04
    return 1.0 - error * (1.0 + 0.8 * (1.0 - float(fraction)) ** 2)


def seconds(configuration: Configuration, fraction: Fraction) -> float:
    """More machines are faster, not in proportion; few is slower."""
    cluster = configuration.cluster
    assert cluster is not None
    work = 240.0 if configuration["batch"] == "few" else 160.0
    return 5.0 + work * float(fraction) / math.pow(cluster.vcpus, 0.7)


def best_feasible(problem: Problem) -> float:
    """The largest accuracy at full data within the limit, by looking at everything."""
    values = []
    for configuration in problem.space.grid():
        dollars = seconds(configuration, Fraction(1)) / 3600 * (configuration.usd_per_hour or math.nan)
        if dollars <= LIMIT:
            values.append(accuracy(configuration, Fraction(1)))
    return max(values)


def measure(problem: Problem, trial: Trial, kind: ObservationKind = ObservationKind.MEASURED) -> list[Observation]:
    """What the program would report for a trial."""
    return [
        observe(
            problem,
            trial,
            {} if kind is ObservationKind.FAILED else {"accuracy": accuracy(trial.configuration, share)},
            seconds=seconds(trial.configuration, share),
            fraction=share,
            kind=kind,
        )
        for share in trial.snapshots
    ]


def told(
    problem: Problem, pairs: Sequence[tuple[int, int]], kind: ObservationKind = ObservationKind.MEASURED
) -> History:
    """A history of finished trials at (row of the grid, level)."""
    history = History()
    state = TrialState.FAILED if kind is ObservationKind.FAILED else TrialState.DONE
    for row, level in pairs:
        history, trial = history.propose(problem.space.grid()[row], problem.fractions[level])
        history = history.record(trial.number, measure(problem, trial, kind), time=0.0, state=state)
    return history


def quick(name: str) -> Recipe:
    """A named recipe with fewer hyper-parameter samples or trees: the same steps, sooner done."""
    full = recipe(name)
    if isinstance(full.models, GpFitter | SaturatingFitter):
        return replace(full, models=replace(full.models, samples=3, burn_in=4, thinning=1))
    if isinstance(full.models, TreesFitter):
        return replace(full, models=TreesFitter(trees=8))
    return full


class NoStart:
    """A start that is over before it begins."""

    def next(self, problem: Problem, history: History, seed: int) -> None:
        return None


def modelled(name: str) -> Recipe:
    """A quick recipe that uses its models from the first proposal on."""
    return replace(quick(name), start=NoStart())


def measurements(problem: Problem) -> dict[tuple[str, Fraction], Measurement]:
    """Every pair of the toy problem as a table for replay."""
    return {
        (configuration.id, share): Measurement(
            {"accuracy": accuracy(configuration, share)}, seconds(configuration, share)
        )
        for configuration in problem.space.grid()
        for share in problem.fractions
    }


def asked(tuner: Tuner, problem: Problem, history: History, *, seed: int) -> Proposal:
    """The next test, where there is one."""
    answer = tuner.ask(View(problem, history, seed))
    assert isinstance(answer, Proposal), answer
    return answer


def batch(tuner: Tuner, problem: Problem, history: History, *, seed: int, count: int) -> list[Proposal]:
    """So many tests to run at once."""
    proposals = []
    for _ in range(count):
        proposals.append(proposal := asked(tuner, problem, history, seed=seed))
        history, _trial = history.propose(proposal.configuration, proposal.fraction, proposal.snapshots)
    return proposals


def recommended(tuner: Tuner, problem: Problem, history: History, *, seed: int) -> Recommendation:
    """What to use, where something is known."""
    found = tuner.recommend(View(problem, history, seed))
    assert found is not None
    return found
