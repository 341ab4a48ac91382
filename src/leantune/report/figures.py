"""The figures about results: progress, limits, shares, predictions, parameters, learning curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from leantune.history import Estimate, Trial
from leantune.problem import COST, TIME, At, Constraint, Direction, Fidelity
from leantune.report.data import INTERVAL, ResultOutcome, StudyResult, StudyView, best_so_far
from leantune.report.marks import (
    MARKS,
    STAR,
    Axis,
    Figure,
    Json,
    line,
    marks,
    metric_axis,
    rounded,
    scattered,
    thinned,
    trial_axis,
)
from leantune.text import clipped, counted, estimated, limit_text, percent, plain, share_of_data, time_unit

MOST_CURVES = 60
MOST_STEPS = 200
_OFF_THE_SCALE = 4.0  # spreads of the middle 80 % beyond which a bad value would hide all others
_FEWEST, _ENOUGH = 5, 30  # values before any, and before those far from the best, may lie beyond the axis
_FAR_FROM_BEST = 3.0  # distances of the median from the best beyond which a value does not matter to progress


def progress(view: StudyView) -> list[Figure]:
    """The best answer so far against dollars and against hours of training (against trials where neither is known)."""
    shown = clipped(view.problem.goal.metric)
    results = view.results
    if not any(result.outcome is not ResultOutcome.FAILED for result in results):
        return []
    size, unit = time_unit(view.history.seconds)
    drawn = []
    if view.history.cost > 0:
        axis = Axis("dollars spent (USD)", dollars=True).framed([0.0, view.history.cost], 0.04)
        drawn.append(_progress(view, "dollars", f"Best {shown} against dollars", axis, lambda r: r.spent))
    if view.history.seconds > 0:
        axis = Axis(f"training time, all runs added up ({unit})", 1.0 / size).framed([0.0, view.history.seconds], 0.04)
        drawn.append(_progress(view, "time", f"Best {shown} against training time", axis, lambda r: r.trained))
    by_trial = f"Best {shown} trial by trial"
    return drawn or [_progress(view, "trials", by_trial, Axis("trial"), lambda r: r.trial.number)]


def _progress(view: StudyView, name: str, title: str, axis: Axis, place: Callable[[StudyResult], float]) -> Figure:
    goal = view.problem.goal.metric
    star = view.predicted(goal)
    y, hidden = goal_axis(view, view.results, [] if star is None else [star.mean], near_best=True)
    steps = best_so_far(view)
    traces, fewer = scattered(view.results, lambda r: axis.of(place(r)), lambda r: y.of(r.value(goal)))
    end = axis.of(max(place(result) for result in view.results))
    if steps:
        ends = [axis.of(place(result)) for result, _ in steps]
        values = [y.of(value) for _, value in steps]
        traces.insert(0, line([*ends, end], [*values, values[-1]], "@kept", shape="hv", width=2.5))
    kept = "that kept every limit" if view.problem.constraints else f"on all {view.problem.fidelity}"
    caption = f"The line is the best result so far {kept}." if steps else f"No result {kept} yet."
    if star is not None and star.sd > 0:
        traces.append(_star(goal, Estimate(end or 0.0, 0.0), star, Axis(""), y))
        caption += " The star is the prediction for the recommendation, with its 95 % range."
    layout = {"xaxis": axis.layout(), "yaxis": y.layout()}
    return Figure(f"progress-{name}", title, caption + hidden + fewer, traces, layout)


def goal_axis(
    view: StudyView, results: Sequence[StudyResult], more: Sequence[float] = (), *, near_best: bool = False
) -> tuple[Axis, str]:
    """The goal's axis, and a sentence where bad values lie outside of it because they would hide the others.

    near_best: only values count that are near enough to the best to matter.
    """
    goal = view.problem.goal
    sign = -1.0 if goal.direction is Direction.MINIMIZE else 1.0
    observed = [*(result.value(goal.metric) for result in results), *more]
    values = sorted(sign * value for value in observed if math.isfinite(value))
    axis = metric_axis(goal.metric, [sign * v for v in values])
    if axis.log or len(values) < _FEWEST:
        return axis, ""
    low, middle, high = values[len(values) // 10], values[len(values) // 2], values[-1 - len(values) // 10]
    worst = low - _OFF_THE_SCALE * (high - low)
    if near_best and len(values) >= _ENOUGH:
        worst = middle - _FAR_FROM_BEST * (values[-1] - middle)
    inside = [sign * v for v in values if v >= worst]
    outside = len(values) - len(inside)
    if not outside or worst in (low, middle):
        return axis, ""
    are = "is" if outside == 1 else "are"
    return axis.framed(inside), f" {counted(outside, 'result')} far from the best {are} beyond the axis."


def limits(view: StudyView) -> list[Figure]:
    """For each limit, measured values of the answers against it, and the goal beside."""
    answers = [result for result in view.results if result.outcome in (ResultOutcome.KEPT, ResultOutcome.BROKE)]
    return [_limit(view, index, c, answers) for index, c in enumerate(view.problem.constraints)] if answers else []


def _limit(view: StudyView, index: int, limit: Constraint, answers: Sequence[StudyResult]) -> Figure:
    goal = view.problem.goal.metric
    values = [result.value(limit.metric) for result in answers]
    star, goal_star = view.predicted(limit.metric), view.predicted(goal)
    x = metric_axis(limit.metric, [*values, limit.limit, *([star.mean] if star else [])])
    if goal == limit.metric:
        y, hidden = Axis("trial").framed([result.trial.number for result in answers]), ""
    else:
        y, hidden = goal_axis(view, answers, [] if goal_star is None else [goal_star.mean])

    def height(result: StudyResult) -> float | None:
        return y.of(result.trial.number if goal == limit.metric else result.value(goal))

    outcomes = (ResultOutcome.BROKE, ResultOutcome.KEPT)
    placed, fewer = scattered(answers, lambda r: x.of(r.value(limit.metric)), height, outcomes)
    traces = [*_forbidden(x, y, limit), *placed]
    if goal != limit.metric and star is not None and goal_star is not None:
        traces.append(_star(goal, star, goal_star, x, y))
    kept = sum(limit.holds(value) for value in values)
    where = "" if view.problem.goal.at is At.ANYWHERE else f" on all {view.problem.fidelity}"
    caption = f"{kept:,} of {counted(len(values), 'run')}{where} kept this limit. The shaded side breaks it."
    layout = {"xaxis": x.layout(), "yaxis": y.layout()}
    return Figure(f"limit-{index}", limit_text(limit), caption + hidden + fewer, traces, layout)


def _forbidden(x: Axis, y: Axis, limit: Constraint) -> list[Json]:
    """The side of a limit where answers do not count."""
    at = x.of(limit.limit)
    if at is None or x.ends is None or y.ends is None:
        return []
    end = x.ends[1] if limit.upper else x.ends[0]
    low, high = y.ends
    area = line([at, end, end, at], [low, low, high, high], "@clear", fill="toself", fillcolor="@shade", width=0)
    return [area, line([at, at], y.ends, "@broke", dash="dash", width=1.5)]


def _star(metric: str, across: Estimate, up: Estimate, x: Axis, y: Axis) -> Json:
    """Where the recommendation is predicted, with the 95 % range of both values."""
    words = "recommended" if up.sd == 0 else "recommended, as predicted"
    texts = [plain(f"{words}: {metric} {estimated(metric, up)}")]
    trace = marks("recommended", [x.of(across.mean)], [y.of(up.mean)], STAR, hovertext=texts)
    for key, axis, estimate in (("error_x", x, across), ("error_y", y, up)):
        if estimate.sd > 0:
            trace[key] = _bars([estimate.mean], [estimate.sd], axis, "@best")
    return trace


def _bars(means: Sequence[float], sds: Sequence[float], axis: Axis, color: str) -> Json:
    """95 % ranges; on a log axis the lower end stops short of 0."""
    above = [INTERVAL * sd * axis.factor for sd in sds]
    below = [
        min(length, 0.9 * mean * axis.factor) if axis.log else length for mean, length in zip(means, above, strict=True)
    ]
    return {
        "type": "data",
        "symmetric": False,
        "array": [rounded(length) for length in above],
        "arrayminus": [rounded(length) for length in below],
        "color": color,
        "thickness": 1.2,
        "width": 0,
    }


def shares(view: StudyView) -> list[Figure]:
    """Which share of the data, or of the epochs, each trial used, and how it ended."""
    fractions, noun = view.problem.fractions, view.problem.fidelity
    if not view.history.trials or len(fractions) == 1:
        return []
    traces, fewer = scattered(
        view.results, lambda r: float(r.trial.number), lambda r: float(fractions.index(r.seen.fraction)), MARKS
    )
    pending = view.history.pending
    places = [float(fractions.index(trial.fraction)) for trial in pending]
    square = {"symbol": "square-open", "color": "@soft", "size": 9}
    texts = [f"trial {trial.number}: {trial.state}" for trial in pending]
    traces.append(marks("pending", [trial.number for trial in pending], places, square, hovertext=texts))
    ticks = list(range(len(fractions)))
    yaxis = {
        "title": {"text": f"share of the {noun}"},
        "tickvals": ticks,
        "ticktext": ["all" if share == 1 else str(share) for share in fractions],
        "range": [-0.5, len(fractions) - 0.5],
    }
    layout = {"xaxis": trial_axis(len(view.history)), "yaxis": yaxis}
    caption = "One mark for each result, in the order in which the trials were proposed." + fewer
    title = f"Which share of the {noun} each trial used"
    return [Figure("shares", title, caption, traces, layout, 150 + 34 * len(fractions))]


def predictions(view: StudyView) -> list[Figure]:
    """The models' prediction for each trial when they proposed it, against the result."""
    metrics = dict.fromkeys([view.problem.goal.metric, *view.problem.required_metrics, COST, TIME])
    return [figure for index, metric in enumerate(metrics) if (figure := _prediction(view, index, metric)) is not None]


def _foreseen(view: StudyView, metric: str) -> list[tuple[StudyResult, Estimate]]:
    """Results with what was predicted for them; lower bounds of dollars and seconds are no results of those."""
    rows = []
    for result in view.results:
        expected = view.estimate(result.trial.expected, metric, result.trial.configuration)
        bound = result.is_bound and metric in (COST, TIME)
        if expected is None or bound or result.seen.fraction != result.trial.fraction:
            continue
        if math.isfinite(result.value(metric) + expected.mean + expected.sd):
            rows.append((result, expected))
    return rows


def _prediction(view: StudyView, index: int, metric: str) -> Figure | None:
    rows = _foreseen(view, metric)
    if not rows:
        return None
    axis = metric_axis(metric, [value for result, e in rows for value in (result.value(metric), e.mean)])
    expected = {result.index: e for result, e in rows}
    traces, fewer = scattered(
        [result for result, _ in rows], lambda r: axis.of(r.value(metric)), lambda r: axis.of(expected[r.index].mean)
    )
    for trace in traces:
        estimates = [expected[number] for number in trace["customdata"]]
        trace["error_y"] = _bars([e.mean for e in estimates], [e.sd for e in estimates], axis, "@bar")
    ends = axis.ends or (None, None)
    traces.insert(0, line(ends, ends, "@soft", dash="dot", width=1.5))
    within = sum(abs(result.value(metric) - e.mean) <= INTERVAL * e.sd for result, e in rows)
    caption = (
        f"{within:,} of {counted(len(rows), 'measurement')} ({percent(within / len(rows))}) lie within the predicted"
        f" 95 % range; on the dotted line, predicted equals measured.{fewer}"
    )
    layout = {
        "xaxis": {**axis.layout(), "title": {"text": plain(f"measured {axis.title}")}},
        "yaxis": {**axis.layout(), "title": {"text": plain(f"predicted {axis.title}")}},
    }
    return Figure(f"prediction-{index}", f"Predicted {clipped(metric)}", caption, traces, layout)


def curves(view: StudyView) -> list[Figure]:
    """Learning curves, where the training program reported steps."""
    metric = _curve_metric(view)
    if metric is None:
        return []
    rows: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for report in view.reports:
        if report.step is not None and math.isfinite(report.step + report.metrics.get(metric, math.nan)):
            rows.setdefault((report.number, report.attempt), []).append((report.step, report.metrics[metric]))
    trials, noun = view.history.trials, view.problem.fidelity
    best = {number for number, _ in rows if view.recommends(trials[number])}
    chosen = sorted(rows, key=lambda key: (key[0] in best, trials[key[0]].fraction, key))[-MOST_CURVES:]
    axis = metric_axis(metric, [value for key in chosen for _, value in rows[key]])
    traces = [_curve(trials[key[0]], sorted(rows[key]), axis, noun, key[0] in best) for key in chosen]
    caption = f"{counted(len(chosen), 'run')} that reported steps"
    caption += f", of {len(rows):,}: those on the most {noun}." if len(rows) > len(chosen) else "."
    if best:
        caption += " The recommended configuration is drawn bold, in green."
    if any(trials[number].fraction != 1 for number, _ in chosen):
        caption += f" Runs on parts of the {noun} are grey."
    layout = {"xaxis": {"title": {"text": "step"}}, "yaxis": axis.layout()}
    return [Figure("curves", f"{clipped(metric)}, step by step", caption, traces, layout, 360)]


def _curve_metric(view: StudyView) -> str | None:
    """The goal's metric if it was reported by steps, else the first that was."""
    names = dict.fromkeys(name for report in view.reports if report.step is not None for name in report.metrics)
    goal = view.problem.goal.metric
    return goal if goal in names else next(iter(names), None)


def _curve(trial: Trial, steps: list[tuple[float, float]], axis: Axis, noun: Fidelity, best: bool) -> Json:
    kept, _ = thinned(steps, MOST_STEPS)
    color = "@best" if best else "@kept" if trial.fraction == 1 else "@part"
    trace = line([step for step, _ in kept], [axis.of(value) for _, value in kept], color, width=3 if best else 1.2)
    words = f"trial {trial.number}, {share_of_data(trial.fraction, noun)}"
    return trace | {"opacity": 1.0 if best else 0.55, "hoverinfo": "text", "hovertext": plain(words)}
