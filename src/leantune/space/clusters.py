"""Machines and clusters, as numbers for a strategy (vCPUs, memory, accelerators, price)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from leantune.errors import InvalidInput, SpaceError
from leantune.units import parse_quantity


@dataclass(frozen=True)
class Machine:
    """One type of machine; `usd_per_hour` is None for a machine that is not paid for."""

    name: str
    vcpus: float
    memory_gib: float
    usd_per_hour: float | None = None
    accelerators: int = 0
    accelerator: str = ""
    provider: str = "private"
    region: str = ""

    def __post_init__(self) -> None:
        where = f"machine {self.name!r}"
        if not isinstance(self.name, str) or not self.name:
            hint = "Write machine('small', vcpus=1, memory='2 GiB')"
            raise SpaceError("a machine needs a name", where=where, hint=hint)
        _require_positive(self.vcpus, "vcpus", where)
        _require_positive(self.memory_gib, "memory", where)
        if self.usd_per_hour is not None:
            _require_positive(self.usd_per_hour, "usd_per_hour", where)
        _require_count(self.accelerators, "accelerators", where, least=0)


@dataclass(frozen=True)
class Cluster:
    """`nodes` machines that do the work, `extra_nodes` more of them and a flat overhead that are only paid for.

    The papers' clusters rent one more machine as parameter server and one helper VM: extra_nodes=1 and the
    helper's price as overhead. Sizes (vcpus, memory_gib, accelerators) count the working nodes only.
    """

    machine: Machine
    nodes: int
    extra_nodes: int = 0
    overhead_usd_per_hour: float = 0.0

    def __post_init__(self) -> None:
        where = f"cluster of {self.machine.name}"
        _require_count(self.nodes, "nodes", where, least=1)
        _require_count(self.extra_nodes, "extra_nodes", where, least=0)
        if not (_is_number(self.overhead_usd_per_hour) and self.overhead_usd_per_hour >= 0):
            hint = "Give dollars of at least 0"
            raise SpaceError(f"overhead_usd_per_hour is {self.overhead_usd_per_hour!r}", where=where, hint=hint)

    @property
    def type(self) -> str:
        """Name of the machine type."""
        return self.machine.name

    @property
    def vcpus(self) -> float:
        """Virtual processors of all working nodes."""
        return self.machine.vcpus * self.nodes

    @property
    def memory_gib(self) -> float:
        """Memory of all working nodes."""
        return self.machine.memory_gib * self.nodes

    @property
    def accelerators(self) -> int:
        """Accelerators of all working nodes."""
        return self.machine.accelerators * self.nodes

    @property
    def usd_per_hour(self) -> float | None:
        """(nodes + extra_nodes) * price + overhead; None when the machine has no price."""
        if self.machine.usd_per_hour is None:
            return None
        return (self.nodes + self.extra_nodes) * self.machine.usd_per_hour + self.overhead_usd_per_hour

    def as_json(self) -> dict[str, str | int]:
        """The cluster's key within a space."""
        return {"type": self.type, "nodes": self.nodes}

    def described(self) -> dict[str, object]:
        """Plain JSON of all that a study depends on: sizes and price as well."""
        rate = self.usd_per_hour
        return {
            **self.as_json(),
            "vcpus": float(self.vcpus),
            "memory_gib": float(self.memory_gib),
            "accelerators": self.accelerators,
            "usd_per_hour": None if rate is None else float(rate),
            "provider": self.machine.provider,
            "region": self.machine.region,
        }

    def __str__(self) -> str:
        """As in "8 x t2.small"."""
        return f"{self.nodes} x {self.type}"


def machine(
    name: str,
    *,
    vcpus: float,
    memory: float | str,
    usd_per_hour: float | None = None,
    accelerators: int = 0,
    accelerator: str = "",
    provider: str = "private",
    region: str = "",
) -> Machine:
    """Declare a machine of your own; memory in GiB (2) or with its unit ("2 GiB", "2 GB")."""
    if isinstance(memory, str):
        try:
            memory = parse_quantity(memory, "memory")
        except InvalidInput as error:
            raise SpaceError(error.what, where=f"memory of machine {name!r}", hint=error.hint) from None
    return Machine(name, vcpus, memory, usd_per_hour, accelerators, accelerator, provider, region)


def identity(cluster: object) -> tuple[str, int] | None:
    """(type, nodes) of a Cluster or of what its `as_json` gave; None for anything else."""
    if isinstance(cluster, Cluster):
        return cluster.type, cluster.nodes
    if isinstance(cluster, Mapping) and set(cluster) == {"type", "nodes"}:
        kind, nodes = cluster["type"], cluster["nodes"]
        if isinstance(kind, str) and isinstance(nodes, int):
            return kind, nodes
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _require_positive(value: float, name: str, where: str) -> None:
    if not (_is_number(value) and value > 0):
        free = ", or leave it out for a free machine" if name == "usd_per_hour" else ""
        raise SpaceError(f"{name} is {value!r}", where=where, hint=f"Give a finite number above 0{free}")


def _require_count(value: int, name: str, where: str, *, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise SpaceError(f"{name} is {value!r}", where=where, hint=f"Give a whole number of at least {least}")
