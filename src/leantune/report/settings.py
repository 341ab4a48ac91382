"""One figure for each setting: the goal against its values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from leantune.report.data import ResultOutcome, StudyResult, StudyView
from leantune.report.figures import goal_axis
from leantune.report.marks import Axis, Figure, Json, Place, scattered
from leantune.space import Cluster, Clusters, Float, Integer, Parameter, Value
from leantune.text import clipped, plain, value_text

MOST_PARAMETERS = 24
MOST_LABELS = 24
MOST_LETTERS = 30  # of all names of options together, to stand side by side
_HEIGHT = 260
_GOLDEN = 0.618034  # multiples of it, without their whole part, fill [0, 1) evenly


def parameters(view: StudyView) -> list[Figure]:
    """The goal against each parameter; failed runs, which have no value, stand on the bottom line."""
    if not view.results:
        return []
    named = list(view.problem.space.parameters.items())[:MOST_PARAMETERS]
    return [_parameter(view, index, name, parameter) for index, (name, parameter) in enumerate(named)]


@dataclass(frozen=True)
class _Scale:
    """Where the values of a parameter go: along the bottom, or (long names) down the side.

    strewn: over which part of the room of one option its results are spread.
    """

    place: Callable[[Value], float]
    axis: Json
    down: bool = False
    height: int = _HEIGHT
    strewn: float = 0.0

    def place_of_result(self, value: Value, index: int) -> float:
        """Where result number `index` goes: results of one option lie side by side, so that they can be counted."""
        return self.place(value) + self.strewn * (index * _GOLDEN % 1.0 - 0.5)


def _parameter(view: StudyView, index: int, name: str, parameter: Parameter) -> Figure:
    goal = view.problem.goal.metric
    scale = _scale(name, parameter)
    value_axis, hidden = goal_axis(view, view.results)

    def along(result: StudyResult) -> float | None:
        value = result.trial.configuration.get(name)
        return None if value is None else scale.place_of_result(value, result.index)

    def turned(height: Place) -> tuple[Place, Place]:
        return (height, along) if scale.down else (along, height)

    traces, fewer = scattered(view.results, *turned(lambda r: value_axis.of(r.value(goal))))
    failed, _ = scattered(view.results, *turned(lambda r: 0.03), [ResultOutcome.FAILED])
    first, second = ("y", "x") if scale.down else ("x", "y")
    traces.append({**failed[0], f"{second}axis": f"{second}2"})
    layout: Json = {
        f"{first}axis": scale.axis,
        f"{second}axis": value_axis.layout() if value_axis.ends else {"visible": False, "range": [0, 1]},
        f"{second}axis2": {"overlaying": second, "range": [0, 1], "visible": False, "fixedrange": True},
        "shapes": _recommended_line(view, name, scale, first, second),
    }
    return Figure(f"parameter-{index}", clipped(name), (hidden + fewer).strip(), traces, layout, scale.height)


def _recommended_line(view: StudyView, name: str, scale: _Scale, first: str, second: str) -> list[Json]:
    best = view.recommendation
    value = None if best is None else best.configuration.get(name)
    if value is None:
        return []
    ends = {f"{first}0": scale.place(value), f"{first}1": scale.place(value), f"{second}0": 0, f"{second}1": 1}
    line_style = {"color": "@best", "width": 2}
    return [
        {"type": "line", f"{first}ref": first, f"{second}ref": "paper", "layer": "below", "line": line_style, **ends}
    ]


def _scale(name: str, parameter: Parameter) -> _Scale:
    """Numbers by their own scale, options by their place in the list."""
    if isinstance(parameter, Float | Integer):
        axis = Axis(clipped(name), log=parameter.log).framed([float(parameter.low), float(parameter.high)], 0.03)
        return _Scale(lambda value: float(value) if isinstance(value, int | float) else math.nan, axis.layout())
    count = parameter.count or 0
    if isinstance(parameter, Clusters) and count > MOST_LABELS:
        return _cluster_scale(parameter)
    ticks = list(range(0, count, math.ceil(count / MOST_LABELS)))
    texts = [clipped(value_text(parameter.value(float(tick))), 22) for tick in ticks]
    down = sum(map(len, texts)) > MOST_LETTERS
    title = {} if down else {"title": {"text": plain(clipped(name))}}
    axis_layout = {**title, "tickvals": ticks, "ticktext": [*map(plain, texts)], "range": [-0.5, count - 0.5]}
    height = max(_HEIGHT, 70 + 20 * len(ticks)) if down else _HEIGHT
    return _Scale(lambda value: parameter.code(value, name), axis_layout, down, height, strewn=0.4)


def _cluster_scale(parameter: Clusters) -> _Scale:
    """Too many clusters to name: by dollars per hour, or by vCPUs where the study costs no dollars."""
    priced = parameter.rates is not None

    def place(value: Value) -> float:
        assert isinstance(value, Cluster)
        return float(value.usd_per_hour or math.nan) if priced else value.vcpus

    places = [place(option) for option in parameter.options]
    title = "cluster, by price (USD per hour)" if priced else "cluster, by its number of vCPUs"
    axis = Axis(title, log=max(places) > min(places), dollars=priced).framed(places)
    return _Scale(place, axis.layout())
