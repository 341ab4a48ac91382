"""What a run of a job would do first, and what that may cost. Nothing is created and nothing is started."""

from __future__ import annotations

from dataclasses import dataclass

from leantune.executors.registry import is_available
from leantune.history import History
from leantune.jobfile import Job
from leantune.problem import Budget
from leantune.run.ledger import TimeRules
from leantune.store.database import Database
from leantune.store.rows import Money
from leantune.strategies.baseline import next_test
from leantune.strategies.proposals import Proposal
from leantune.strategies.tuner import View
from leantune.study.program import JobProgram

FIRST_PROPOSALS = 3  # shown by a dry run


@dataclass(frozen=True)
class Forecast:
    """A proposal before it is made: its time limit and the dollars that would be reserved for it (None: no prices)."""

    proposal: Proposal
    time_limit: float | None
    worst_case_usd: float | None


@dataclass(frozen=True)
class DryRun:
    """What a run would do. size: combinations in the space, None when infinite. pairs: with each share of the data.

    over: why nothing would follow the first proposals, empty where something would.
    """

    size: int | None
    pairs: int | None
    first: tuple[Forecast, ...]
    resumes: int  # trials that the store already holds
    budget: Budget
    rules: TimeRules
    over: str = ""


def dry_run(job: Job) -> DryRun:
    """The first proposals of a job's study as it stands, and their worst cases."""
    program = JobProgram(job)
    if is_available(job.run.on):  # one may look at a job for another place
        program.check_place()
    history, problem = _stored_history(job), job.problem
    strategy, rules = program.tuner, program.rules
    money, foreseen = Money(problem.budget.usd, history.cost, 0.0), history
    forecasts: list[Forecast] = []

    def affordable(test: Proposal) -> bool:
        return rules.affords(test.configuration, money)

    while len(forecasts) < FIRST_PROPOSALS:
        proposal = next_test(strategy, View(problem, foreseen, job.seed), affordable)
        if not isinstance(proposal, Proposal):
            over = proposal.why
            break
        rate = rules.rate(proposal.configuration)
        limit = rules.first_limit(rate, dict(proposal.expected), money, proposal.useful_seconds)
        worst = None if rate is None or limit is None else rules.worst_case(rate, limit)
        forecasts.append(Forecast(proposal, limit, worst))
        foreseen, _ = foreseen.propose(proposal.configuration, proposal.fraction, proposal.snapshots)
    else:
        over = strategy.stop_reason(View(problem, foreseen, job.seed)) or ""
    size = len(problem.choices.grid()) if problem.choices.enumerable else problem.choices.size
    pairs = None if size is None else size * len(problem.fractions)
    return DryRun(size, pairs, tuple(forecasts), len(history), problem.budget, rules, over)


def _stored_history(job: Job) -> History:
    """What the store already holds, without creating one."""
    if not Database.exists(job.store):
        return History()
    with Database(job.store) as database:
        stored = database.find(job.name) is not None
        return database.open(job.name, job.problem.space).history() if stored else History()
