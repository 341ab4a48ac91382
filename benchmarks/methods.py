"""What is compared: the recipes that `recommend` times, and other people's programs on the same history.

A reference is prepared (data in the library's own form) and then called once to make a suggestion; the call is what is
timed. Each runs on one thread, with the settings that the library chooses by itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from leantune import errors
from leantune.acquisition.base import Pairs
from leantune.history import History, Observation
from leantune.models.base import FloatArray
from leantune.models.blas import one_blas_thread
from leantune.models.trees import TreesFitter
from leantune.problem import COST, Direction, Problem
from leantune.space import Boolean, Choice, Cluster, Clusters, Configuration, Ordinal, Space
from leantune.strategies.beliefs import build_belief
from leantune.strategies.candidates import Table
from leantune.strategies.evidence import Evidence
from leantune.strategies.recipe import Recipe
from leantune.strategies.registry import recipe

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

BOTORCH_BLOCK = 256  # points evaluated at once: bounds memory; from 64 to all at once it takes equally long
SHARE = "share of the data"
EXCESS = "excess"

Reference = Callable[[], object]

RECIPES: dict[str, Callable[[], Recipe]] = {
    "trees_cea10": lambda: recipe("trimtuner"),
    "trees_nofilter": lambda: recipe("trimtuner", candidates="none"),
    "gp_cea10": lambda: recipe("trimtuner-gp"),
    "gp_nofilter": lambda: recipe("trimtuner-gp", candidates="none"),
}


@contextmanager
def needs_extra(library: str) -> Iterator[None]:
    """Say which extra brings a library that is not installed."""
    try:
        yield
    except ImportError as error:
        hint = "pip install 'leantune[bench]', or --quick, which leaves out what is not installed"
        raise errors.MissingExtra(f"{library} is not installed", where="benchmarks", hint=hint) from error


def untested_pairs(table: Table, method: Recipe) -> Pairs:
    """All pairs that the recipe may propose."""
    untested = table.untested(method)
    return Pairs(*np.divmod(np.flatnonzero(untested), untested.shape[1]))


def sklearn_trees(problem: Problem, history: History, *, seed: int, candidates: int) -> Reference:
    """The acquisition of `trimtuner` at `candidates` random untested pairs, as many trees grown by scikit-learn."""
    with needs_extra("scikit-learn"):
        from benchmarks.sklearn_trees import SklearnTrees
    ours = RECIPES["trees_nofilter"]()
    assert isinstance(ours.models, TreesFitter)
    method = replace(ours, models=SklearnTrees(ours.models.trees, ours.models.gain_trees))
    acquisition = method.acquisition
    assert acquisition is not None
    table = Table.of(problem, history, method, seed)
    belief = build_belief(method, Evidence.of(problem, history), table.candidates, seed)
    pairs = untested_pairs(table, method)
    rng = np.random.default_rng(seed)
    warm = pairs.take(rng.choice(len(pairs), size=1))
    acquisition.values(belief, warm)  # what all candidates share (predictions, p_opt now) is not counted

    def suggest() -> FloatArray:
        sample = pairs.take(rng.choice(len(pairs), size=candidates, replace=False))
        with one_blas_thread():
            return acquisition.values(belief, sample)

    return suggest


def botorch_entropy(problem: Problem, history: History, *, seed: int) -> Reference:
    """Fit SingleTaskMultiFidelityGP, then qMultiFidelityMaxValueEntropy at every untested pair; the best of them."""
    with needs_extra("botorch"):
        import torch
        from botorch import fit_gpytorch_mll
        from botorch.acquisition.max_value_entropy_search import qMultiFidelityMaxValueEntropy
        from botorch.acquisition.utils import project_to_target_fidelity
        from botorch.exceptions.warnings import BotorchWarning
        from botorch.models.gp_regression_fidelity import SingleTaskMultiFidelityGP
        from gpytorch.mlls import ExactMarginalLogLikelihood
    evidence = Evidence.of(problem, history)
    metric = problem.goal.metric
    data = evidence.data(metric, evidence.transform(metric))
    method = RECIPES["gp_nofilter"]()
    table = Table.of(problem, history, method, seed)
    asked = table.candidates.points(untested_pairs(table, method))
    seen_x = torch.from_numpy(np.column_stack([data.points.x, data.points.s]))
    seen_y = torch.from_numpy(data.y[:, None].copy())
    asked_x = torch.from_numpy(np.column_stack([asked.x, asked.s])[:, None, :])
    places = torch.from_numpy(table.candidates.x)
    width = seen_x.shape[1]
    at_full = partial(project_to_target_fidelity, target_fidelities={width - 1: 1.0}, d=width)
    blocks = [asked_x[start : start + BOTORCH_BLOCK] for start in range(0, len(asked_x), BOTORCH_BLOCK)]

    def suggest() -> int:
        torch.set_num_threads(1)
        torch.manual_seed(seed % 2**32)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BotorchWarning)
            model = SingleTaskMultiFidelityGP(seen_x, seen_y, data_fidelities=[width - 1])
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            entropy = qMultiFidelityMaxValueEntropy(model, candidate_set=places, project=at_full)
            with torch.no_grad():
                values = torch.cat([entropy(block) for block in blocks])
        return int(values.argmax())

    return suggest


def optuna_gp(problem: Problem, history: History, *, seed: int, limits: bool = False) -> Reference:
    """One suggestion of GPSampler; every observation is a completed trial, the share of the data one more parameter.

    As in a running study, the sampler has made a suggestion before the last trial was completed, and starts its fit
    from that one's. limits: it is told of those on dollars, as it would have to be to solve the same problem, and fits
    one more model for each; else it only has the objective.
    """
    with needs_extra("optuna"):
        import optuna
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    distributions = optuna_distributions(problem.space, problem.fractions)
    directions = optuna.study.StudyDirection
    study = optuna.create_study(
        direction=directions.MAXIMIZE if problem.goal.direction is Direction.MAXIMIZE else directions.MINIMIZE,
        sampler=optuna.samplers.GPSampler(
            seed=seed % 2**32, constraints_func=(lambda trial: trial.user_attrs[EXCESS]) if limits else None
        ),
    )
    *earlier, last = (
        optuna.create_trial(
            params=optuna_parameters(problem, trial.configuration, seen.fraction),
            distributions=distributions,
            value=seen.metrics[problem.goal.metric],
            user_attrs={EXCESS: _excesses(problem, seen)},
            system_attrs={"constraints": _excesses(problem, seen)} if limits else {},
        )
        for trial, seen in history.observations
    )
    study.add_trials(earlier)
    before = study.ask(distributions)
    study.tell(before, state=optuna.trial.TrialState.FAIL)  # else the next suggestion takes it for a running trial
    study.add_trial(last)

    def suggest() -> dict[str, object]:
        with one_blas_thread():
            return dict(study.ask(distributions).params)

    return suggest


def _excesses(problem: Problem, seen: Observation) -> list[float]:
    """Dollars above each limit on dollars; at most 0 where it holds."""
    return [(seen.cost or 0.0) - limit.limit for limit in problem.constraints if limit.metric == COST]


def optuna_distributions(space: Space, fractions: tuple[Fraction, ...]) -> dict[str, BaseDistribution]:
    """A finite space in Optuna's words: options by rank, a cluster as its type and the rank of its node count."""
    from optuna.distributions import CategoricalDistribution, IntDistribution

    found: dict[str, BaseDistribution] = {SHARE: IntDistribution(0, len(fractions) - 1)}
    for name, parameter in space.parameters.items():
        if isinstance(parameter, Ordinal):
            found[name] = IntDistribution(0, len(parameter.options) - 1)
        elif isinstance(parameter, Choice | Boolean):
            found[name] = CategoricalDistribution(range(len(parameter.values)))
        elif isinstance(parameter, Clusters):
            types = list(dict.fromkeys(option.type for option in parameter.options))
            ranks = [_node_rank(parameter, option.type, option.nodes) for option in parameter.options]
            found[f"{name}.type"] = CategoricalDistribution(types)
            found[f"{name}.nodes"] = IntDistribution(0, max(ranks))
        else:
            raise errors.InvalidInput(
                f"{name!r} is {parameter}", where="optuna_distributions", hint="Only finite spaces are translated"
            )
    return found


def optuna_parameters(problem: Problem, configuration: Configuration, share: Fraction) -> dict[str, object]:
    """A pair as the parameters of `optuna_distributions`."""
    found: dict[str, object] = {SHARE: problem.level_of(share)}
    for name, parameter in problem.space.parameters.items():
        value = configuration[name]
        if isinstance(value, Cluster) and isinstance(parameter, Clusters):
            found[f"{name}.type"] = value.type
            found[f"{name}.nodes"] = _node_rank(parameter, value.type, value.nodes)
        else:
            found[name] = int(parameter.code(value, name))
    return found


def _node_rank(parameter: Clusters, machine_type: str, nodes: int) -> int:
    return sorted({option.nodes for option in parameter.options if option.type == machine_type}).index(nodes)
