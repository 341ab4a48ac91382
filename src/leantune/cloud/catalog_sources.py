"""Where a refreshed catalogue comes from: a CSV of a row per type and zone, or AWS itself (extra `aws`).

The CSV has the columns instance_type, vcpus, memory_gib, accelerator, accelerators, usd_per_hour, spot_usd_per_hour and
availability_zone. A type without an on-demand price, or with a share of an accelerator, cannot be declared as a
machine: it is left out and counted. Of two spot prices for one zone the higher counts.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from leantune.clock import Clock
from leantune.cloud.aws import Access, explained_errors, spot_pages
from leantune.cloud.catalog_tables import Catalogue
from leantune.cloud.markets import LINUX
from leantune.errors import InvalidInput
from leantune.files import csv_records, read_bytes
from leantune.space import Machine

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_pricing import PricingClient

CSV_COLUMNS = (
    "instance_type",
    "vcpus",
    "memory_gib",
    "accelerator",
    "accelerators",
    "usd_per_hour",
    "spot_usd_per_hour",
    "availability_zone",
)
PRICING_REGION = "us-east-1"  # the price list of all regions is served there
Progress = Callable[[str], None]  # called with each request's name
_HINT = f"Give CSV with the columns {', '.join(CSV_COLUMNS)}"
_ON_DEMAND = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
    "operation": "RunInstances",
}


@dataclass(frozen=True)
class Refreshed:
    """A table that was read, and the types that were left out."""

    table: Catalogue
    left_out: tuple[str, ...]


class _Size(NamedTuple):
    vcpus: float
    memory_gib: float
    accelerator: str
    accelerators: float


class _Draft:
    """Data of a region: sizes and on-demand prices by type, spot prices by type and zone."""

    def __init__(self, provider: str, region: str) -> None:
        self.provider, self.region = provider, region
        self.sizes: dict[str, _Size] = {}
        self.on_demand: dict[str, float] = {}
        self.spot: defaultdict[str, dict[str, float]] = defaultdict(dict)

    def add_spot_price(self, name: str, zone: str, usd: float) -> None:
        """Of two prices for one zone the higher counts."""
        self.spot[name][zone] = max(usd, self.spot[name].get(zone, 0.0))

    def finished(self, clock: Clock, source: str) -> Refreshed:
        """The table of today."""
        usable = {
            name: Machine(
                name,
                size.vcpus,
                size.memory_gib,
                self.on_demand[name],
                int(size.accelerators),
                size.accelerator,
                self.provider,
                self.region,
            )
            for name, size in self.sizes.items()
            if name in self.on_demand and size.accelerators % 1 == 0
        }
        if not usable:
            hint = "Check region and types; each type needs an on-demand price"
            where = f"{self.provider} {self.region}, {source}"
            raise InvalidInput("no type has an on-demand price", where=where, hint=hint)
        prices = {name: MappingProxyType(self.spot[name]) for name in usable if name in self.spot}
        today = datetime.fromtimestamp(clock.now(), UTC).date().isoformat()
        table = Catalogue(self.provider, self.region, today, source, MappingProxyType(usable), MappingProxyType(prices))
        return Refreshed(table, tuple(sorted(set(self.sizes) - set(usable))))


# -- CSV


def read_catalogue_csv(path: Path, provider: str, region: str, clock: Clock) -> Refreshed:
    """A table of a file; its date is the day it is read, its source the file's name."""
    draft = _Draft(provider, region)
    for where, row in _rows(path):
        name = row["instance_type"]
        size, usd = _size_of(row, where), _optional(row, "usd_per_hour", where)
        same_size = draft.sizes.setdefault(name, size) == size
        if not same_size or (usd is not None and draft.on_demand.setdefault(name, usd) != usd):
            hint = "Give the same vcpus, memory, accelerators and usd_per_hour in all rows of a type"
            raise InvalidInput(f"two different rows of {name!r}", where=where, hint=hint)
        price = _optional(row, "spot_usd_per_hour", where)
        if price is not None:
            draft.add_spot_price(name, _zone(row, where), price)
    if not draft.sizes:
        raise InvalidInput("there is no machine in it", where=f"{path}, line 1", hint=_HINT)
    return draft.finished(clock, f"file {path.name}")


def _rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows of the file with their places."""
    for where, row in csv_records(read_bytes(path, _HINT), str(path), CSV_COLUMNS, _HINT):
        if None in row or None in row.values() or not row["instance_type"].strip():
            raise InvalidInput("this is not a row of eight fields with a type", where=where, hint=_HINT)
        yield where, {column: text.strip() for column, text in row.items()}


def _size_of(row: Mapping[str, str], where: str) -> _Size:
    numbers = [_optional(row, column, where) for column in ("vcpus", "memory_gib")]
    if numbers[0] is None or numbers[1] is None:
        raise InvalidInput("vcpus or memory_gib is empty", where=where, hint="Give numbers above 0")
    count = _optional(row, "accelerators", where) or 0.0
    return _Size(numbers[0], numbers[1], row["accelerator"] if count else "", count)


def _optional(row: Mapping[str, str], column: str, where: str) -> float | None:
    """A number above 0, or nothing; 0 accelerators are none."""
    text = row[column]
    if not text or (column == "accelerators" and text in ("0", "0.0")):
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise InvalidInput(f"{column} is {text!r}", where=where, hint="Give a number above 0, or leave it empty")
    return value


def _zone(row: Mapping[str, str], where: str) -> str:
    zone = row["availability_zone"]
    if not zone or " " in zone:
        raise InvalidInput(f"{zone!r} is no zone of a spot price", where=where, hint="Write one such as us-east-1a")
    return zone


# -- AWS


def fetch_catalogue(
    access: Access, clock: Clock, types: Sequence[str] = (), progress: Progress | None = None
) -> Refreshed:
    """A table of a region as AWS tells it now: sizes, on-demand prices and spot prices by zone."""
    tell = progress or (lambda _: None)
    draft, ec2 = _Draft("aws", access.region), access.client("ec2")
    tell("machine types")
    draft.sizes.update(_sizes(ec2, access.region, types))
    tell("on-demand prices")
    draft.on_demand.update(_on_demand(access.client("pricing", PRICING_REGION), access.region, types))
    tell("spot prices")
    for page in spot_pages(ec2, access.region, clock.now(), types, LINUX):
        for entry in page:
            price = float(str(entry["SpotPrice"]))
            draft.add_spot_price(str(entry["InstanceType"]), str(entry["AvailabilityZone"]), price)
    source = "AWS: DescribeInstanceTypes, price list (Linux, shared tenancy), DescribeSpotPriceHistory"
    return draft.finished(clock, source)


def _sizes(client: EC2Client, region: str, types: Sequence[str]) -> Iterator[tuple[str, _Size]]:
    asked: dict[str, Any] = {"InstanceTypes": list(types)} if types else {}
    with explained_errors(region):
        for page in client.get_paginator("describe_instance_types").paginate(**asked):
            for entry in page["InstanceTypes"]:
                described: Mapping[str, Any] = dict(entry)
                name, count = _accelerator(described)
                memory = described["MemoryInfo"]["SizeInMiB"] / 1024
                yield described["InstanceType"], _Size(described["VCpuInfo"]["DefaultVCpus"], memory, name, count)


def _accelerator(described: Mapping[str, Any]) -> tuple[str, float]:
    """Name and number of a type's accelerators: graphics, Neuron, or older inference chips."""
    kinds = (("GpuInfo", "Gpus"), ("NeuronInfo", "NeuronDevices"), ("InferenceAcceleratorInfo", "Accelerators"))
    for info, devices in kinds:
        for device in described.get(info, {}).get(devices, ()):
            return str(device["Name"]), float(device["Count"])
    return "", 0.0


def _on_demand(client: PricingClient, region: str, types: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Linux prices of shared machines; one question for each type where some are named, else all."""
    with explained_errors(region):
        for named in [{"instanceType": name} for name in types] or [{}]:
            fields = {"regionCode": region, **_ON_DEMAND, **named}
            filters: Any = [{"Type": "TERM_MATCH", "Field": key, "Value": value} for key, value in fields.items()]
            pages = client.get_paginator("get_products").paginate(ServiceCode="AmazonEC2", Filters=filters)
            for text in (text for page in pages for text in page["PriceList"]):
                yield from _offers(json.loads(text))


def _offers(offer: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    name = offer["product"]["attributes"]["instanceType"]
    for term in offer["terms"].get("OnDemand", {}).values():
        for dimension in term["priceDimensions"].values():
            usd = float(dimension["pricePerUnit"].get("USD", 0))
            if usd > 0 and dimension["unit"] == "Hrs":
                yield name, usd
