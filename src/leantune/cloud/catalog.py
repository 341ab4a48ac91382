"""Machines for rent, one small table per provider and region, and clusters made of them."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from leantune.cloud.catalog_tables import PRIVATE_HINT, Catalogue, not_in_catalogue, regions, table_of
from leantune.errors import SpaceError
from leantune.space import Cluster, Clusters, Machine

__all__ = ["DEFAULT_REGION", "Catalogue", "NodeCounts", "catalogue", "clusters"]
DEFAULT_REGION: Mapping[str, str] = MappingProxyType({"aws": "us-east-1"})
NodeCounts = Iterable[int] | Mapping[str, Iterable[int]]


def catalogue(provider: str, region: str | None = None) -> Catalogue:
    """The table of a provider, by default of its default region: refreshed by the user, else shipped."""
    if provider not in DEFAULT_REGION:
        providers = f"Known: {', '.join(DEFAULT_REGION)}. "
        raise not_in_catalogue(f"unknown provider {provider!r}", "clusters()", providers)
    place = DEFAULT_REGION[provider] if region is None else region
    if place not in regions(provider):
        others = "leantune catalog refresh gets others"
        priced = f"Prices of {', '.join(regions(provider))} are shipped or were refreshed; {others}. "
        raise not_in_catalogue(f"unknown region {place!r}", f"provider {provider!r}", priced)
    return table_of(provider, place)


def clusters(
    machines: str | Iterable[Machine],
    *,
    types: Iterable[str] | None = None,
    nodes: NodeCounts | None = None,
    vcpus: Iterable[int] | None = None,
    region: str | None = None,
    extra_nodes: int = 0,
    overhead_usd_per_hour: float = 0.0,
) -> Clusters:
    """Pairs (machine type, number of nodes) as one parameter.

    machines: a provider of the catalogue ("aws"), or machines of your own.
    types: those of them to use, all by default.
    nodes: numbers of nodes, for all types or by type, {"t2.small": [8, 16], "t2.xlarge": [2, 4]}; one node by default.
    vcpus: instead of nodes, TOTAL numbers of vCPUs; each type takes those that are a multiple of its own vCPUs.
    extra_nodes, overhead_usd_per_hour: paid for beside the nodes that work (parameter servers, a helper machine).
    """
    chosen = _machines_of(machines, types, region)
    if nodes is not None and vcpus is not None:
        raise _wrong("both nodes and vcpus are given", "Give one of them")
    if vcpus is not None:
        counts = _counts_of_totals(chosen, tuple(vcpus), explicit=types is not None or not isinstance(machines, str))
    else:
        counts = _counts_by_type(chosen, (1,) if nodes is None else nodes)
    options = [
        Cluster(machine, count, extra_nodes, overhead_usd_per_hour)
        for machine in chosen
        for count in counts[machine.name]
    ]
    return Clusters(tuple(options))


def _machines_of(
    machines: str | Iterable[Machine], types: Iterable[str] | None, region: str | None
) -> tuple[Machine, ...]:
    if isinstance(machines, str):
        table = catalogue(machines, region)
        return tuple(table.machines.values()) if types is None else tuple(table[name] for name in _type_names(types))
    given = (machines,) if isinstance(machines, Machine) else tuple(machines)
    if not given:
        raise _wrong("there are no machines", PRIVATE_HINT)
    for machine in given:
        if not isinstance(machine, Machine):
            raise _wrong(f"{machine!r} is not a machine", PRIVATE_HINT)
    names = [machine.name for machine in given]
    if len(set(names)) < len(names):
        raise _wrong(f"two machines are called {_repeated(names)!r}", "Give each its own name")
    if region is not None:
        raise _wrong("region is for machines of a provider", "Leave it out for your own machines")
    if types is None:
        return given
    own = Catalogue("private", "", "", "", MappingProxyType(dict(zip(names, given, strict=True))))
    return tuple(own[name] for name in _type_names(types))


def _type_names(types: Iterable[str]) -> tuple[str, ...]:
    names = (types,) if isinstance(types, str) else tuple(types)
    if not names:
        raise _wrong("types is empty", "Name at least one type, or leave it out for all")
    if len(set(names)) < len(names):
        raise _wrong(f"type {_repeated(names)!r} comes twice", "Name each type once")
    return names


def _repeated(names: Sequence[str]) -> str:
    return next(name for name in names if names.count(name) > 1)


def _wrong(what: str, hint: str) -> SpaceError:
    return SpaceError(what, where="clusters()", hint=hint)


def _counts_by_type(machines: tuple[Machine, ...], nodes: NodeCounts) -> dict[str, tuple[int, ...]]:
    names = [machine.name for machine in machines]
    if not isinstance(nodes, Mapping):
        counts = tuple(nodes)
        return dict.fromkeys(names, counts)
    for name in nodes:
        if name not in names:
            raise _wrong(f"nodes of {name!r}, which is not among the types", f"Types: {names}")
    missing = next((name for name in names if not tuple(nodes.get(name, ()))), None)
    if missing is not None:
        raise _wrong(f"no number of nodes for {missing!r}", f"Write nodes={{{missing!r}: [1, 2]}}")
    return {name: tuple(nodes[name]) for name in names}


def _counts_of_totals(
    machines: tuple[Machine, ...], totals: tuple[int, ...], *, explicit: bool
) -> dict[str, tuple[int, ...]]:
    where = f"clusters(vcpus={list(totals)})"
    counts = {
        machine.name: tuple(int(total // machine.vcpus) for total in totals if total > 0 and total % machine.vcpus == 0)
        for machine in machines
    }
    smallest = min(machine.vcpus for machine in machines)
    for total in totals:
        if not any(total > 0 and total % machine.vcpus == 0 for machine in machines):
            hint = f"Give multiples of a type's vCPUs; the smallest has {smallest:g}"
            raise SpaceError(f"no number of nodes gives {total!r} vCPUs", where=where, hint=hint)
    for machine in machines:
        if explicit and not counts[machine.name]:
            hint = f"Add a multiple of its {machine.vcpus:g} vCPUs, or leave the type out"
            raise SpaceError(f"no total suits {machine.name!r}", where=where, hint=hint)
    return counts
