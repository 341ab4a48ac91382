"""The tables of the page, as HTML. Everything that comes from outside passes through `escaped`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from leantune.history import Observation, ObservationKind, Trial, TrialState
from leantune.problem import COST, TIME, Constraint
from leantune.report.data import BROKEN_OFF, SPENDING, ResultOutcome, StudyView, outcome_of, spending
from leantune.report.html import NO_NUMBER, NOTHING, amount, cell, heading, table
from leantune.space import Cluster, Float, Integer, Parameter, Value
from leantune.space.options import Listed
from leantune.strategies.proposals import Recommendation
from leantune.text import (
    certain,
    clipped,
    duration,
    escaped,
    estimated,
    exact_text,
    limit_text,
    percent,
    quantity,
    share_of_data,
    usd,
    value_text,
)

_LONGEST_CAUSE = 300
_TONE = {"kept": "good", "broken": "bad"}
MOST_ROWS = 300  # shown at once: a browser takes seconds to lay out thousands


def settings(view: StudyView, best: Recommendation) -> str:
    """The recommended values, to be copied."""
    rows = [
        [cell(name), f"<td><code>{escaped(exact_text(value))}</code>{_machine_words(value)}</td>"]
        for name, value in best.configuration.items()
    ]
    if best.fraction != 1:
        rows.append([cell(f"share of the {view.problem.fidelity}"), cell(best.fraction)])
    return table(["setting", "value"], rows)


def _machine_words(value: Value) -> str:
    if not isinstance(value, Cluster):
        return ""
    rate = "" if value.usd_per_hour is None else f", {usd(value.usd_per_hour)} per hour"
    words = f"{value.vcpus:g} vCPUs, {value.memory_gib:g} GiB{rate}"
    return f'<br><small class="soft">{escaped(words)}</small>'


def certainty(view: StudyView, best: Recommendation) -> str:
    """Predicted and measured values of the recommendation, limit by limit."""
    limits = view.problem.constraints
    rows = []
    for metric in dict.fromkeys([*view.metrics, *best.metrics]):
        predicted, measured = view.predicted(metric), view.measured(metric)
        if predicted is None and not math.isfinite(measured):
            continue
        expected = "–" if predicted is None or (predicted.sd == 0 and view.proof) else estimated(metric, predicted)
        first = [cell(metric), amount(expected), amount(quantity(metric, measured))]
        own: Sequence[Constraint | None] = [c for c in limits if c.metric == metric]
        rows += [[*first, *_limit_cells(view, best, limit)] for limit in own or (None,)]
    headings = ["", ">predicted (± 1 sd)", ">measured", "limit", ">probability", "verdict"]
    used = [0, *(index for index in range(1, 6) if any(row[index] not in (NOTHING, NO_NUMBER) for row in rows))]
    return table([headings[index] for index in used], [[row[index] for index in used] for row in rows])


def _limit_cells(view: StudyView, best: Recommendation, limit: Constraint | None) -> list[str]:
    if limit is None:
        return [NOTHING, NO_NUMBER, NOTHING]
    predicted, measured = view.predicted(limit.metric), view.measured(limit.metric)
    sure = best.probabilities.get(limit.text)
    if predicted is None or predicted.sd == 0:  # it is a measurement: there is nothing to be sure of
        sure = None
    asked = "" if limit.probability is None else f" (asked: {percent(limit.probability)})"
    held = "not measured" if not math.isfinite(measured) else "kept" if limit.holds(measured) else "broken"
    if view.cut_short(limit.metric):
        held = "cut short: unknown"
    return [
        f'<td class="w">{escaped(limit_text(limit))}</td>',
        amount("–" if sure is None else certain(sure) + asked),
        f'<td class="w {_TONE.get(held, "soft")}">{held}</td>',
    ]


def shares(view: StudyView) -> str:
    """Trials, failures, dollars and time for each share of the data; nothing where there is one share."""
    if not view.history.trials or len(view.problem.fractions) == 1:
        return ""
    rows = []
    for fraction in view.problem.fractions:
        trials = [trial for trial in view.history.trials if trial.fraction == fraction]
        ended = [trial for trial in trials if not trial.pending]
        if not trials:
            continue
        failed = sum(trial.state is TrialState.FAILED for trial in trials)
        cost = math.fsum(trial.cost for trial in trials)
        times = [trial.seconds for trial in ended if trial.state is TrialState.DONE]
        rows.append(
            [
                f'<td class="w">{share_of_data(fraction, view.problem.fidelity)}</td>',
                amount(f"{len(trials):,}"),
                amount(f"{failed:,}" if failed else "–"),
                *([amount(usd(cost)), amount(usd(cost / len(ended)) if ended else "–")] if view.has_dollars else []),
                amount(duration(median(times)) if times else "–"),
            ]
        )
    money = [">dollars", ">per run"] if view.has_dollars else []
    return table(["tested on", ">trials", ">failed", *money, ">median time"], rows)


def spent_on(view: StudyView) -> str:
    """Where the money went, as bars; then dollars set aside and left."""
    parts = spending(view)
    total = view.history.cost
    rows = [
        [
            cell(SPENDING[name].format(view.problem.fidelity)),
            amount(usd(dollars)),
            amount(percent(dollars / total)),
            _bar(dollars / total, name),
        ]
        for name, dollars in parts.items()
        if dollars > 0
    ]
    money = view.money
    sums = {
        "Together": total,
        "Set aside for what runs now": money.reserved if money.reserved > 0 else None,
        "Left of the budget": None if money.budget_usd is None else money.left,
    }
    rows += [
        [cell(name), amount(usd(dollars)), "<td></td>", "<td></td>"]
        for name, dollars in sums.items()
        if dollars is not None
    ]
    return table(["", ">dollars", ">share", ""], rows, "bars")


def _bar(share: float, name: str) -> str:
    color = "broke" if name in ("failed", "lost") else "kept"
    return f'<td class="bar"><i style="width:{100 * share:.1f}%;background:var(--{color})"></i></td>'


def trials(view: StudyView) -> str:
    """Every trial; sorted and filtered by the page. Rows have no end tags: HTML needs none, and thousands add up."""
    named = view.problem.space.parameters
    metrics = dict.fromkeys([view.problem.goal.metric, *view.problem.required_metrics])
    measures = [*(name for name in metrics if name not in (COST, TIME)), *([COST] if view.has_dollars else []), TIME]
    headings = [">#", "state", f">{view.problem.fidelity}", *(f">{name}" for name in measures)]
    headings += ["limits"] if view.problem.constraints else []
    headings += [f">{name}" if _is_number(parameter) else name for name, parameter in named.items()]
    headings += ["what happened", "why it was proposed"]
    rows = [_trial(view, trial, measures) for trial in view.history.trials]
    head = "".join(heading(clipped(text), button=True) for text in headings)
    rows = [f"<tr>{row}" if index < MOST_ROWS else f"<tr hidden>{row}" for index, row in enumerate(rows)]
    return (
        f'<div class="scroll tall"><table class="trials" id="trial-table" data-most="{MOST_ROWS}">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        '<p class="soft" id="shown" hidden><span></span> <button type="button">Show all of them</button></p>'
    )


def _is_number(parameter: Parameter) -> bool:
    """Whether every value it takes is a number."""
    if isinstance(parameter, Listed):
        return all(isinstance(option, int | float) and not isinstance(option, bool) for option in parameter.options)
    return isinstance(parameter, Float | Integer)


def _trial(view: StudyView, trial: Trial, measures: Sequence[str]) -> str:
    seen = trial.results[-1] if trial.results else None
    star = '<b class="star" title="recommended configuration">★</b>' if view.recommends(trial) else ""
    cells = [f"<td class=n>{star}{trial.number}</td>", f"<td class={trial.state}>{trial.state}</td>"]
    cells.append(amount("all" if trial.fraction == 1 else str(trial.fraction), float(trial.fraction)))
    cells += [_metric_cell(trial, seen, metric) for metric in measures]
    if view.problem.constraints:
        cells.append(_limits_cell(view, seen))
    cells += [_setting_cell(trial.configuration.get(name)) for name in view.problem.space.parameters]
    cells += [cell(_causes(trial)), cell(clipped("; ".join(map(str, trial.notes)), _LONGEST_CAUSE))]
    return "".join(cells).replace("</td>", "")


def _metric_cell(trial: Trial, seen: Observation | None, metric: str) -> str:
    value = trial.cost if metric == COST else math.nan if seen is None else seen.value(metric)
    if metric == COST and (seen is None or seen.cost is None) and not trial.cost:
        return NOTHING
    bound = "≥ " if seen is not None and seen.kind is ObservationKind.CENSORED and metric in (COST, TIME) else ""
    text = f"{bound}{quantity(metric, value)}" if math.isfinite(value) else "–"
    return amount(text, value if metric == TIME else None)


def _limits_cell(view: StudyView, seen: Observation | None) -> str:
    outcome = None if seen is None else outcome_of(view.problem, seen)
    if outcome is ResultOutcome.KEPT:
        return "<td class=good>kept</td>"
    return "<td class=bad>broken</td>" if outcome is ResultOutcome.BROKE else NOTHING


def _setting_cell(value: Value | None) -> str:
    if value is None:
        return NOTHING
    if isinstance(value, int | float) and not isinstance(value, bool):
        return amount(value_text(value))
    return cell(clipped(value_text(value), 60))


def _causes(trial: Trial) -> str:
    """Attempts that came to nothing, then how it ended; nothing for a trial that just ran."""
    failures = [f"{move.state}: {move.cause}" for move in trial.moves[:-1] if move.state in BROKEN_OFF and move.cause]
    last = trial.moves[-1].cause if trial.moves else ""
    return clipped("; ".join([*failures, last] if last else failures), _LONGEST_CAUSE)
