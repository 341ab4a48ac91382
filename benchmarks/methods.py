"""What is compared: the recipes that `recommend` times, and other people's programs on the same history.

A reference is prepared (data in the library's own form) and then called once to make a suggestion; the call is what is
timed. Each runs on one thread, with the settings that the library chooses by itself.

`optuna_tuner` is Optuna as somebody would use it instead of LeanTune: it chooses tests and recommends, in a replay.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from leantune import errors
from leantune.acquisition.base import Pairs
from leantune.arrays import BoolArray, FloatArray
from leantune.history import History, Note, NoteKind, Observation, ObservationKind
from leantune.models.threads import one_blas_thread
from leantune.models.trees import TreesFitter
from leantune.problem import COST, Direction, Problem
from leantune.space import Boolean, Choice, Cluster, Clusters, Configuration, Ordinal, Space
from leantune.strategies.beliefs import build_belief
from leantune.strategies.candidates import Table
from leantune.strategies.designs import LatinHypercube
from leantune.strategies.evidence import Evidence
from leantune.strategies.proposals import Proposal, Recommendation, derived_seed
from leantune.strategies.recipe import Recipe
from leantune.strategies.recommending import cheapest_measured
from leantune.strategies.registry import recipe
from leantune.strategies.tuner import Judgement, Over, View

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial

BOTORCH_BLOCK = 256  # points evaluated at once: bounds memory; from 64 to all at once it takes equally long
INSTALL = "pip install 'leantune[bench]'"
SHARE = "share of the data"
EXCESS = "excess"
OPTUNA_START = 4  # configurations at full data, those that `eic` starts with under the same seed
OPTUNA_TRIES = 8  # suggestions asked for while they repeat a test

SamplerName = Literal["tpe", "gp"]

Reference = Callable[[], object]

RECIPES: dict[str, Callable[[], Recipe]] = {
    "trees_cea10": lambda: recipe("trimtuner"),
    "trees_nofilter": lambda: recipe("trimtuner", candidates="none"),
    "gp_cea10": lambda: recipe("trimtuner-gp"),
    "gp_nofilter": lambda: recipe("trimtuner-gp", candidates="none"),
    "lean": lambda: recipe("lean"),
}


@contextmanager
def needs_extra(
    library: str, hint: str = f"{INSTALL}, or --quick, which leaves out what is not installed"
) -> Iterator[None]:
    """Say which extra brings a library that is not installed."""
    try:
        yield
    except ImportError as error:
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
    belief, conditions = build_belief(method, Evidence.of(problem, history), table.candidates, seed)
    pairs = untested_pairs(table, method)
    rng = np.random.default_rng(seed)
    warm = pairs.take(rng.choice(len(pairs), size=1))
    acquisition.values(belief, warm, conditions)  # what all candidates share (predictions, p_opt now) is not counted

    def suggest() -> FloatArray:
        sample = pairs.take(rng.choice(len(pairs), size=candidates, replace=False))
        with one_blas_thread():
            return acquisition.values(belief, sample, conditions)

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


@dataclass(frozen=True)
class OptunaTuner:
    """Optuna's sampler at full data, told of every limit through `constraints_func`, otherwise as it comes.

    The start is eic's (the same configurations under the same seed) and counts as the sampler's startup trials, so that
    both begin to model after the same tests. Every answer is a function of (problem, history, seed): the study is built
    anew from the history, the sampler's seed comes from the number of trials. Optuna may suggest what was tested
    already, or what the space does not allow: it is asked again with other seeds, and if that does not help, the
    nearest untested configuration is taken; notes say so. Recommended is the best measured configuration that keeps the
    limits.
    """

    sampler: SamplerName

    @property
    def judges(self) -> bool:
        """It lets every test run to its end."""
        return False

    def prepare(self) -> None:
        """Nothing."""

    def ends_by_itself(self, problem: Problem) -> bool:
        """It goes on for ever."""
        return False

    def check(self, problem: Problem) -> None:
        """Only finite spaces are translated."""
        optuna_distributions(problem.space, (Fraction(1),))

    def ask(self, view: View) -> Proposal | Over:
        """The next test, at full data."""
        reason = self.stop_reason(view)
        if reason is not None:
            return Over(reason)
        with one_blas_thread():
            return self._propose(view.problem, view.history, view.seed)

    def judge(self, view: View, only: Collection[int] | None = None) -> Mapping[int, Judgement]:
        """Every trial runs to its end."""
        return {}

    def recommend(self, view: View) -> Recommendation | None:
        """The best measured one that keeps the limits, by the same rule as for all strategies without models: a run
        that was cut proves no limit.
        """
        return cheapest_measured(view.problem, view.history)

    def stop_reason(self, view: View) -> str | None:
        """It ends when the dollars are spent."""
        usd = view.problem.budget.usd
        return "the budget is spent" if usd is not None and view.history.cost >= usd else None

    def _propose(self, problem: Problem, history: History, seed: int) -> Proposal | Over:
        full = (Fraction(1),)
        start = LatinHypercube(OPTUNA_START).next(problem, history, seed)
        if start is not None:
            return Proposal(start.configuration, full[0], full, {}, (Note(NoteKind.START, "start"),))
        grid = problem.choices.grid()
        tested = set(grid.indices_of(trial.configuration for trial in history.trials))
        untested = np.array([row not in tested for row in range(len(grid))])
        if not untested.any():
            return Over("every configuration has been tested")
        rows = {_as_key(optuna_parameters(problem, x, full[0])): row for row, x in enumerate(grid)}
        row, note = self._untested_row(problem, history, seed, rows, untested)
        return Proposal(grid[row], full[0], full, {}, (Note(NoteKind.PLAIN, f"optuna {self.sampler}"), *note))

    def _untested_row(
        self,
        problem: Problem,
        history: History,
        seed: int,
        rows: dict[tuple[object, ...], int],
        untested: BoolArray,
    ) -> tuple[int, tuple[Note, ...]]:
        distributions = optuna_distributions(problem.space, (Fraction(1),))
        found: dict[str, object] = {}
        for attempt in range(OPTUNA_TRIES):
            sampler = _sampler(self.sampler, derived_seed(seed, "optuna", len(history.trials), attempt))
            found = dict(_study(problem, history, sampler, distributions).ask(distributions).params)
            row = rows.get(_as_key(found))
            if row is not None and untested[row]:
                again = Note(NoteKind.PLAIN, f"asked {attempt + 1} times: it repeated itself")
                return row, (again,) if attempt else ()
        words = f"{OPTUNA_TRIES} suggestions were tested already; the nearest untested one"
        return _nearest(found, rows, untested, distributions), (Note(NoteKind.FALLBACK, words),)


def optuna_tuner(sampler: SamplerName = "tpe") -> OptunaTuner:
    """Optuna's TPE or GP sampler in place of a strategy: "benchmarks.methods:optuna_tuner(sampler='gp')"."""
    if sampler not in ("tpe", "gp"):
        raise errors.StrategyError(f"there is no sampler {sampler!r}", where="optuna_tuner", hint="Give 'tpe' or 'gp'")
    with needs_extra("optuna"):
        import optuna
    if sampler == "gp":
        with needs_extra("torch"):
            import torch  # noqa: F401 - Optuna's GP is made of it
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return OptunaTuner(sampler)


def _sampler(name: SamplerName, seed: int) -> BaseSampler:
    from optuna.samplers import GPSampler, TPESampler

    def excess(trial: FrozenTrial) -> list[float]:
        return list(trial.user_attrs[EXCESS])

    made = TPESampler if name == "tpe" else GPSampler
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # Optuna 5 has a newer way to tell of limits, Optuna 4 has not
        return made(seed=seed % 2**32, n_startup_trials=OPTUNA_START, constraints_func=excess)


def _study(
    problem: Problem, history: History, sampler: BaseSampler, distributions: dict[str, BaseDistribution]
) -> Study:
    """What was measured at full data, in Optuna's words."""
    import optuna

    maximise = problem.goal.direction is Direction.MAXIMIZE
    study = optuna.create_study(direction="maximize" if maximise else "minimize", sampler=sampler)
    study.add_trials(
        [
            _completed(problem, optuna_parameters(problem, trial.configuration, Fraction(1)), seen, distributions)
            for trial, seen in history.observations
            if seen.kind is not ObservationKind.FAILED and seen.fraction == 1
        ]
    )
    return study


def _completed(
    problem: Problem, parameters: dict[str, object], seen: Observation, distributions: dict[str, BaseDistribution]
) -> FrozenTrial:
    import optuna

    excess = [
        (seen.value(limit.metric) - limit.limit) * (1.0 if limit.upper else -1.0) for limit in problem.constraints
    ]
    return optuna.create_trial(
        params={**parameters, SHARE: 0},
        distributions=distributions,
        value=seen.value(problem.goal.metric),
        user_attrs={EXCESS: excess},
        system_attrs={"constraints": excess},
    )


def _as_key(parameters: dict[str, object]) -> tuple[object, ...]:
    """The parameters of a configuration, without the share of the data, in one order."""
    return tuple(parameters[name] for name in sorted(parameters) if name != SHARE)


def _nearest(
    wanted: dict[str, object],
    rows: dict[tuple[object, ...], int],
    untested: BoolArray,
    distributions: dict[str, BaseDistribution],
) -> int:
    """The untested row with the smallest sum of differences: ranks over their range, categories equal or not."""
    from optuna.distributions import IntDistribution

    names = [name for name in sorted(wanted) if name != SHARE]

    def distance(key: tuple[object, ...]) -> float:
        total = 0.0
        for name, value in zip(names, key, strict=True):
            kind, target = distributions[name], wanted[name]
            if isinstance(kind, IntDistribution) and isinstance(value, int) and isinstance(target, int):
                total += abs(value - target) / max(kind.high - kind.low, 1)
            else:
                total += float(value != target)
        return total

    return min((row for row in rows.values() if untested[row]), key=_by_row(rows, distance))


def _by_row(
    rows: dict[tuple[object, ...], int], distance: Callable[[tuple[object, ...]], float]
) -> Callable[[int], tuple[float, int]]:
    keys = {row: key for key, row in rows.items()}
    return lambda row: (distance(keys[row]), row)


def optuna_distributions(space: Space, fractions: tuple[Fraction, ...]) -> dict[str, BaseDistribution]:
    """A finite space in Optuna's words: options by rank, a cluster as its type and the rank of its node count."""
    from optuna.distributions import CategoricalDistribution, IntDistribution

    found: dict[str, BaseDistribution] = {SHARE: IntDistribution(0, len(fractions) - 1)}
    for name, parameter in space.parameters.items():
        if isinstance(parameter, Ordinal):
            found[name] = IntDistribution(0, len(parameter.options) - 1)
        elif isinstance(parameter, Choice | Boolean):
            found[name] = CategoricalDistribution(range(len(parameter.options)))
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
