"""Runs merged into one measurement for each pair (configuration, share), and the space of configurations with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean

from leantune.errors import TableError
from leantune.executors.replay import Measurement
from leantune.lab.replay.tables.description import Description, Duplicates, Lacking, Missing, Remark
from leantune.lab.replay.tables.rows import Key, Rows, TableRun, key_of
from leantune.problem import At
from leantune.space import Parameter, Space, Value
from leantune.text import counted

_ByPair = dict[tuple[Key, Fraction], Measurement]


@dataclass(frozen=True)
class TablePairs:
    """A space of the measured configurations and the measurement of each pair; gaps: pairs that the table lacks."""

    space: Space
    fractions: tuple[Fraction, ...]
    measurements: Mapping[tuple[str, Fraction], Measurement]
    remarks: tuple[Remark, ...]
    has_dollars: bool
    gaps: frozenset[tuple[str, Fraction]]

    @property
    def at_full_data(self) -> list[Measurement]:
        """Measurements of runs on all the data, without failed runs."""
        return [run for (_, share), run in self.measurements.items() if share == 1 and not run.failure]


def gather(rows: Rows, description: Description, at: At) -> TablePairs:
    """Handle rows that lack a value, duplicates and missing fractions as declared, and count them.

    at: which pairs count as an answer; a configuration without one is dropped.
    """
    remarks = [*rows.remarks]
    runs = _complete(rows.runs, description.nan, remarks)
    merged = _merged(runs, description, remarks)
    answering = _answering(merged, description.missing, at, remarks)
    fractions = _fractions(answering, rows.runs)
    kept = _filled(answering, fractions, description.missing, remarks, rows)
    configurations = dict.fromkeys(key for key, _ in kept)
    space = _space(rows.parameters, configurations, remarks)
    ids = {key_of(values, rows.parameters): values.id for values in space.grid()}
    measurements = {(ids[key], share): measurement for (key, share), measurement in kept.items()}
    gaps = {(identity, share) for identity in ids.values() for share in fractions} - measurements.keys()
    remarks += _cut_remarks(measurements, description.time_limit)
    return TablePairs(space, fractions, measurements, tuple(remarks), rows.has_dollars, frozenset(gaps))


def _complete(runs: Sequence[TableRun], rule: Lacking, remarks: list[Remark]) -> list[TableRun]:
    """The runs that count: all, or those that lack nothing."""
    lacking = [run for run in runs if run.lacking]
    if not lacking:
        return list(runs)
    of = f"{len(lacking)} of {len(runs)} rows"
    what = " or ".join(dict.fromkeys(name for run in lacking for name in run.lacking))
    if rule == "refuse":
        hint = "Fill them in, or write nan: fail or nan: drop"
        raise TableError(f"{of} lack {what}", where=lacking[0].place, hint=hint)
    handled = "count as failed runs" if rule == "fail" else "were dropped"
    remarks.append(Remark("nan", len(lacking), f"{of} lack {what} and {handled}"))
    if rule == "fail":
        return list(runs)
    if len(lacking) == len(runs):
        raise TableError(f"every row lacks {what}", where=lacking[0].place, hint="Is it the right column?")
    return [run for run in runs if not run.lacking]


def _merged(runs: Iterable[TableRun], description: Description, remarks: list[Remark]) -> _ByPair:
    by_pair: dict[tuple[Key, Fraction], list[TableRun]] = {}
    for run in runs:
        by_pair.setdefault((run.key, run.share), []).append(run)
    several = [group for group in by_pair.values() if len(group) > 1]
    rule = description.duplicates
    if several and rule == "refuse":
        hint = "Keep one of them, or write duplicates: mean, first or last"
        what = f"the same configuration and fraction as {several[0][0].place}"
        raise TableError(what, where=several[0][1].place, hint=hint)
    if several:
        extra = sum(len(group) - 1 for group in several)
        taken = "averaged" if rule == "mean" else f"the {rule} of each was taken"
        text = f"{extra} rows repeat {len(several)} pairs of configuration and fraction: {taken}"
        remarks.append(Remark("duplicates", extra, text))
    return {pair: _measurement(_chosen(group, rule), description.time_limit) for pair, group in by_pair.items()}


def _chosen(group: Sequence[TableRun], rule: Duplicates) -> Sequence[TableRun]:
    """The rows to average: all that measured something, the first or the last."""
    if rule == "mean":
        return [run for run in group if not run.lacking] or group[:1]
    return group[:1] if rule == "first" else group[-1:]


def _measurement(group: Sequence[TableRun], time_limit: float | None) -> Measurement:
    first = group[0]
    if first.lacking:
        seconds = first.seconds or 0.0
        cost = first.cost if first.cost is not None else (0.0 if first.seconds is None else None)
        return Measurement({}, seconds, f"the table has no {' or '.join(first.lacking)}", cost)
    times = [run.seconds for run in group if run.seconds is not None]
    costs = [run.cost for run in group if run.cost is not None]
    metrics = _over_runs([run.metrics for run in group], fmean)
    cut = time_limit is not None and max(times) >= time_limit
    # Of one run: rows of the same pair are runs of equal weight, so their variances are averaged.
    deviations = _over_runs([run.deviations for run in group], _root_mean_square)
    return Measurement(metrics, fmean(times), cost=fmean(costs) if costs else None, cut=cut, deviations=deviations)


def _over_runs(runs: Sequence[Mapping[str, float]], mean: Callable[[list[float]], float]) -> dict[str, float]:
    """Each quantity, over the runs that have it."""
    names = dict.fromkeys(name for run in runs for name in run)
    return {name: mean([run[name] for run in runs if name in run]) for name in names}


def _root_mean_square(values: list[float]) -> float:
    return math.sqrt(fmean([value**2 for value in values]))


def _fractions(merged: _ByPair, runs: Sequence[TableRun]) -> tuple[Fraction, ...]:
    shares = tuple(sorted({share for _, share in merged}))
    if shares[-1] != 1:
        largest = max(runs, key=lambda run: run.share)
        hint = "Correct full: of fraction:, or add the runs on all the data"
        what = f"no row is on all the data: the largest fraction is {shares[-1]}"
        raise TableError(what, where=largest.place, hint=hint)
    return shares


def _answering(merged: _ByPair, rule: Missing, at: At, remarks: list[Remark]) -> _ByPair:
    """The configurations that can be an answer: where pairs may be missing, those with a run on all the data."""
    if rule != "skip" or at is At.ANYWHERE:
        return merged
    answers, everything = {key for key, share in merged if share == 1}, {key for key, _ in merged}
    if len(answers) in (0, len(everything)):  # without any there is nothing to load, which is said elsewhere
        return merged
    lacking = len(everything) - len(answers)
    text = f"{lacking} of {len(everything)} configurations have no run on all the data and were dropped"
    remarks.append(Remark("missing", lacking, text))
    return {(key, share): run for (key, share), run in merged.items() if key in answers}


def _filled(
    merged: _ByPair, fractions: tuple[Fraction, ...], rule: Missing, remarks: list[Remark], rows: Rows
) -> _ByPair:
    """Every configuration at every fraction, but for those that are never tested (skip)."""
    keys = dict.fromkeys(key for key, _ in merged)
    absent = {key: [share for share in fractions if (key, share) not in merged] for key in keys}
    short = {key: shares for key, shares in absent.items() if shares}
    if not short:
        return merged
    count = f"{len(short)} of {len(absent)} configurations lack a fraction"
    if rule == "refuse":
        key, shares = next(iter(short.items()))
        what = f"{count}, such as {', '.join(map(str, shares))} of this one"
        place = next(run.place for run in rows.runs if run.key == key)
        raise TableError(what, where=place, hint="Add the rows, or write missing: drop or fail")
    handled = {
        "skip": f"; never tested: {counted(sum(map(len, short.values())), 'pair')}",
        "drop": " and were dropped",
        "fail": "; a test of such a pair fails",
    }
    remarks.append(Remark("missing", len(short), count + handled[rule]))
    if rule == "skip":
        return merged
    if rule == "fail":
        failed = Measurement({}, 0.0, "the table has no row of this configuration at this fraction", cost=0.0)
        return merged | {(key, share): failed for key, shares in short.items() for share in shares}
    if len(short) == len(absent):
        what = f"no configuration has all the fractions {', '.join(map(str, fractions))}"
        hint = "Write missing: fail, or leave out the rows of a fraction"
        raise TableError(what, where=rows.runs[0].place.rsplit(", line", 1)[0], hint=hint)
    return {(key, share): run for (key, share), run in merged.items() if key not in short}


def _space(parameters: dict[str, Parameter], configurations: Mapping[Key, None], remarks: list[Remark]) -> Space:
    """The grid of the parameters' values, or, where most of it was not measured, the list of measured ones.

    A list has no combinations to enumerate: random configurations of seven parameters would make 1e19.
    """
    space, count = Space(**parameters), len(configurations)
    conditional = space.schema.conditional and space.enumerable  # then combinations are fewer than the product
    others = (len(space.grid()) if conditional else space.size or 0) - count
    if others == 0:
        return space
    if others > count:
        text = f"{counted(count, 'configuration')} on no grid: strategies choose among these"
        remarks.append(Remark("listed", count, text))
        return space.only(_values(parameters, key) for key in configurations)
    text = (
        f"{others:,} of {others + count:,} combinations of the parameters are not in the table and are never proposed"
    )
    remarks.append(Remark("absent", others, text))

    def measured(values: Mapping[str, Value]) -> bool:
        return key_of(values, parameters) in configurations

    return Space(valid=measured, **parameters)


def _values(parameters: Iterable[str], key: Key) -> dict[str, object]:
    """A configuration in the form that `Space.configuration` reads."""
    plain = ({"type": value[0], "nodes": value[1]} if isinstance(value, tuple) else value for value in key)
    return {name: value for name, value in zip(parameters, plain, strict=True) if value is not None}


def _cut_remarks(measurements: Mapping[tuple[str, Fraction], Measurement], limit: float | None) -> list[Remark]:
    cut = [share for (_, share), run in measurements.items() if run.cut]
    if not cut:
        return []
    full = sum(share == 1 for _, share in measurements)
    fuller = sum(share == 1 for share in cut)
    total = f" ({len(cut):,} of {len(measurements):,} at all fractions)" if full < len(measurements) else ""
    text = f"{fuller} of {full} full-data runs{total} reached the time limit of {limit:g} s and are censored"
    return [Remark("cut", len(cut), text)]
