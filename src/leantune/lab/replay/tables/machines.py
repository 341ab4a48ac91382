"""Clusters of a table: sizes from the catalogue or from columns, and prices that give the table's dollars per hour.

A rate r(type, nodes) that no other column changes becomes part of the space: each cluster costs
(nodes + extra nodes) x price of the machine + an overhead of its own, so that strategies know it beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from leantune.cloud.catalog import catalogue
from leantune.lab.replay.tables.columns import TableColumns
from leantune.lab.replay.tables.description import ClusterColumns, Formula
from leantune.space import Cluster, Clusters, Machine

MOST_NODES = 1_000_000
ONLY_MACHINE = "machine"  # of a table that names none
SAME_RATE = 1e-9  # relative difference that is rounding
_Pair = tuple[str, int]  # (type, nodes)
_Key = TypeVar("_Key", str, _Pair)
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class RowClusters:
    """The clusters of a table, which of them each row ran on, and the catalogue's or declared rate of each."""

    clusters: Clusters
    pairs: list[_Pair]

    def priced(self, rates: Sequence[float | None]) -> RowClusters:
        """With the rates of the rows as the clusters' own where each cluster has one rate, else without prices."""
        by_pair = _one_rate_each(self.pairs, rates)
        if by_pair is None:
            bare = [replace(option, machine=replace(option.machine, usd_per_hour=None)) for option in self.options]
            return replace(self, clusters=Clusters(tuple(bare)))
        prices = {kind: self._price(kind, by_pair) for kind in dict.fromkeys(option.type for option in self.options)}
        options = [_at_rate(option, prices[option.type], by_pair[option.type, option.nodes]) for option in self.options]
        return replace(self, clusters=Clusters(tuple(options)))

    @property
    def options(self) -> tuple[Cluster, ...]:
        """The clusters, the smallest machines first."""
        return self.clusters.options

    def usd_per_hour(self) -> list[float | None]:
        """Rate of each row by the prices of the machines."""
        rates = {(option.type, option.nodes): option.usd_per_hour for option in self.options}
        return [rates[pair] for pair in self.pairs]

    def _price(self, kind: str, rates: Mapping[_Pair, float]) -> float:
        """That of a type: its own, or the largest that leaves no cluster with a negative overhead."""
        own = [option for option in self.options if option.type == kind]
        largest = min(rates[kind, option.nodes] / (option.nodes + option.extra_nodes) for option in own)
        price = own[0].machine.usd_per_hour
        return price if price is not None and price <= largest * (1 + SAME_RATE) else largest


def one_machine(rates: Sequence[float | None]) -> RowClusters | None:
    """A machine for a table that names none, where all runs cost the same per hour: dollars then follow the seconds,
    and strategies know it. None where rates differ or are unknown. Its size does not matter, as it is the only one.
    """
    pair = (ONLY_MACHINE, 1)
    rate = _one_rate_each([pair] * len(rates), rates)
    if rate is None:
        return None
    return RowClusters(Clusters((Cluster(Machine(ONLY_MACHINE, 1, 1, rate[pair]), 1, 0),)), [pair] * len(rates))


def rent(described: ClusterColumns, columns: TableColumns) -> RowClusters:
    """The different clusters of the rows."""
    types = columns.texts(described.type)
    nodes = _counts(described.nodes, columns, default=1, least=1)
    extra = _counts(described.extra_nodes, columns, default=0, least=0)
    if "" in types:
        raise columns.error(described.type, types.index(""), "the type of machine is missing", "Fill it in")
    machines = _machines(described, types, columns)
    pairs = list(zip(types, nodes, strict=True))
    extras = _same(pairs, extra, columns, described.extra_nodes)
    ordered = sorted(extras, key=lambda pair: (machines[pair[0]].vcpus, machines[pair[0]].memory_gib, *pair))
    options = tuple(Cluster(machines[kind], count, extras[kind, count]) for kind, count in ordered)
    return RowClusters(Clusters(options), pairs)


def _counts(formula: Formula | None, columns: TableColumns, *, default: int, least: int) -> list[int]:
    def fault(value: float | None) -> str:
        right = value is not None and value.is_integer() and least <= value <= MOST_NODES
        return "" if right else f"{_shown(value)} where a number of nodes is expected"

    if formula is None:
        return [default] * len(columns.sheet)
    hint = f"Give whole numbers of at least {least} and at most {MOST_NODES:,}"
    return [int(count or 0) for count in columns.checked(formula, fault, hint)]


def _machines(described: ClusterColumns, types: Sequence[str], columns: TableColumns) -> dict[str, Machine]:
    if described.vcpus is not None and described.memory is not None:
        vcpus = _sizes(described.vcpus, types, columns)
        memory = _sizes(described.memory, types, columns)
        machines = {kind: Machine(kind, vcpus[kind], memory[kind]) for kind in vcpus}
    else:
        machines = _listed_machines(described, types, columns)
    if described.price is None:
        return machines
    prices = _sizes(described.price, types, columns)
    return {name: replace(machine, usd_per_hour=prices[name]) for name, machine in machines.items()}


def _sizes(formula: Formula, types: Sequence[str], columns: TableColumns) -> dict[str, float]:
    """One number above 0 of each type."""

    def fault(value: float | None) -> str:
        return "" if value is not None and value > 0 else f"{_shown(value)} is not the size or price of a machine"

    values = columns.checked(formula, fault, "Give numbers above 0")
    return _same(types, [value or 0.0 for value in values], columns, formula)


def _listed_machines(described: ClusterColumns, types: Sequence[str], columns: TableColumns) -> dict[str, Machine]:
    if described.machines is not None:
        machines, listing = described.machines, "machines"
    else:
        with described.entry.blamed():
            machines, listing = catalogue(described.provider or "", described.region).machines, "the catalogue"
    for row, kind in enumerate(types):
        if kind not in machines:
            hint = f"At {described.entry.where}: declare machines:, or columns vcpus:, memory: and price:"
            raise columns.error(described.type, row, f"{listing} has no type {kind!r}", hint)
    return {kind: machines[kind] for kind in dict.fromkeys(types)}


def _shown(value: float | None) -> str:
    return "nothing" if value is None else f"{value:g}"


def _same(
    keys: Sequence[_Key], values: Sequence[_Value], columns: TableColumns, formula: Formula | None
) -> dict[_Key, _Value]:
    """The one value of each key; two of them are refused."""
    first: dict[_Key, int] = {}
    for row, key in enumerate(keys):
        earlier = first.setdefault(key, row)
        if values[row] != values[earlier]:
            assert formula is not None  # a default is the same everywhere
            shown = " x ".join(map(str, reversed(key))) if isinstance(key, tuple) else str(key)
            what = f"{shown} has {values[row]} here and {values[earlier]} on line {columns.sheet.lines[earlier]}"
            raise columns.error(formula, row, what, "A cluster has one size and price; what varies is a parameter")
    return {key: values[row] for key, row in first.items()}


def _one_rate_each(pairs: Sequence[_Pair], rates: Sequence[float | None]) -> dict[_Pair, float] | None:
    """The rate of each pair; None where one has several, or none that is known."""
    by_pair: dict[_Pair, float] = {}
    for pair, rate in zip(pairs, rates, strict=True):
        if rate is not None and not math.isclose(by_pair.setdefault(pair, rate), rate, rel_tol=SAME_RATE):
            return None
    return by_pair if len(by_pair) == len(set(pairs)) else None


def _at_rate(cluster: Cluster, price: float, rate: float) -> Cluster:
    """The cluster with the overhead that makes its rate exact; a round number where one does."""
    paid = (cluster.nodes + cluster.extra_nodes) * price
    exact = max(0.0, rate - paid)
    near = [round(exact, 9), round(exact, 12), exact, math.nextafter(exact, math.inf), math.nextafter(exact, 0.0)]
    overhead = next((amount for amount in near if paid + amount == rate), exact)
    return replace(
        cluster, machine=replace(cluster.machine, usd_per_hour=price), overhead_usd_per_hour=max(0.0, overhead)
    )
