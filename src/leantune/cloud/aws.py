"""AWS: clients, errors, and spot prices into a store (extra `aws`).

Prices come from EC2's DescribeSpotPriceHistory, which knows the last 90 days and answers page by page, newest first.
Only missing prices are fetched. All pages are fetched before any price is kept, so that an interrupted fetch
leaves no hole before the newest price.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from leantune.clock import Clock
from leantune.cloud.markets import LINUX
from leantune.cloud.price_files import columns_of
from leantune.cloud.price_store import PriceStore, Updated
from leantune.cloud.prices import LoadedPrices, tidied
from leantune.errors import InvalidInput, LeanTuneError, needed
from leantune.units import SECONDS_PER_HOUR

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

HISTORY_SECONDS = 90 * 24 * SECONDS_PER_HOUR  # the history that AWS keeps
PAGE_ROWS = 1000  # the most that AWS gives at once
Progress = Callable[[int], None]  # is told how many rows have come so far
_CREDENTIALS = "Run aws configure, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
_REFUSED = frozenset(
    (
        "AuthFailure",
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    )
)
_FORBIDDEN = frozenset(("UnauthorizedOperation", "AccessDenied", "AccessDeniedException", "OptInRequired"))
_TOO_FAST = frozenset(("RequestLimitExceeded", "Throttling", "ThrottlingException", "RequestThrottled"))


@dataclass(frozen=True)
class Access:
    """Which AWS to ask: a region, another address than Amazon's, and how often a throttled question is repeated."""

    region: str
    endpoint_url: str | None = None
    attempts: int = 8

    def client(self, service: str, region: str = "") -> Any:
        """A client of boto3, in another region where the service lives only there."""
        boto3 = needed("boto3", "asking AWS needs the library boto3", where="aws", extra="aws")
        from botocore.config import Config

        config = Config(retries={"mode": "standard", "total_max_attempts": self.attempts}, connect_timeout=10)
        with explained_errors(self.region):
            return boto3.Session().client(
                service, region_name=region or self.region, endpoint_url=self.endpoint_url, config=config
            )


@dataclass(frozen=True)
class Fetched:
    """The result: the begin of the prices (seconds since 1970, the earliest request), and the changes of the store."""

    since: float
    loaded: LoadedPrices
    updated: Updated


def fetch_into(
    store: PriceStore,
    access: Access,
    clock: Clock,
    types: tuple[str, ...] = (),
    products: tuple[str, ...] = (),
    progress: Progress | None = None,
) -> Fetched:
    """Fetch missing prices of these types (all by default) and products (Linux by default), and keep them."""
    products = products or (LINUX,)
    now = clock.now()
    client: EC2Client = access.client("ec2")
    entries: list[dict[str, object]] = []
    since = now
    for product in products:
        for begin, asked_types in _questions(store, access.region, product, types, now):
            since = min(since, begin)
            for page in spot_pages(client, access.region, begin, asked_types, product):
                entries += page
                if progress:
                    progress(len(entries))
    if not entries:
        asked = f"{', '.join(types) or 'any type'}, {', '.join(products)}"
        hint = "Check the names: types such as m5.large, products such as 'Linux/UNIX'"
        raise InvalidInput(f"AWS has no spot prices of {asked}", where=f"region {access.region}", hint=hint)
    loaded = tidied(columns_of(entries), f"AWS {access.region}")
    return Fetched(since, loaded, store.update(loaded.series))


def spot_pages(
    client: EC2Client, region: str, begin: float, types: Sequence[str], product: str
) -> Iterator[list[dict[str, object]]]:
    """The price history since `begin`, with the price that held then, as entries of text."""
    asked: dict[str, Any] = {"InstanceTypes": list(types)} if types else {}
    with explained_errors(region):
        pages = client.get_paginator("describe_spot_price_history").paginate(
            StartTime=datetime.fromtimestamp(begin, UTC),
            ProductDescriptions=[product],
            PaginationConfig={"PageSize": PAGE_ROWS},
            **asked,
        )
        for page in pages:
            entries: list[dict[str, Any]] = [dict(entry) for entry in page["SpotPriceHistory"]]
            yield [{**entry, "Timestamp": entry["Timestamp"].isoformat()} for entry in entries]


def _questions(
    store: PriceStore, region: str, product: str, types: tuple[str, ...], now: float
) -> Iterator[tuple[float, tuple[str, ...]]]:
    """The begin of each request: of new types the whole history, of kept types the prices since then.

    A kept type is asked for since the market of it that is furthest behind.
    """
    oldest = now - HISTORY_SECONDS
    newest: dict[str, float] = {}
    for market in store.markets():
        if market.product == product and market.zone.startswith(region):
            kept = store.newest(market) or oldest
            newest[market.instance_type] = min(kept, newest.get(market.instance_type, kept))
    kept_types = tuple(name for name in types if name in newest) if types else tuple(newest)
    fresh = tuple(name for name in types if name not in newest)
    if fresh or not kept_types:
        yield oldest, fresh
    if kept_types:
        yield max(oldest, min(newest[name] for name in kept_types)), kept_types if types else ()


@contextmanager
def explained_errors(region: str) -> Iterator[None]:
    """Errors of boto3 as errors of ours: what is wrong, and what would be right."""
    from botocore import exceptions as boto

    where = f"AWS, region {region}"
    try:
        yield
    except (boto.NoCredentialsError, boto.PartialCredentialsError, boto.ProfileNotFound) as error:
        raise InvalidInput(f"no credentials for AWS: {error}", where=where, hint=_CREDENTIALS) from None
    except (boto.EndpointConnectionError, boto.InvalidRegionError) as error:
        raise InvalidInput(f"AWS cannot be reached: {error}", where=where, hint=_region_hint(region)) from None
    except boto.ClientError as error:
        raise _refusal(error.response.get("Error", {}), where) from None
    except boto.BotoCoreError as error:
        hint = "Check the network and try again; nothing was changed"
        raise LeanTuneError(f"asking AWS failed: {error}", where=where, hint=hint) from None


def _refusal(answer: Any, where: str) -> LeanTuneError:
    """The error that an answer of AWS stands for."""
    code, message = answer.get("Code", "unknown"), answer.get("Message", "")
    if code in _REFUSED:
        return InvalidInput(f"AWS refuses the credentials ({code}): {message}", where=where, hint=_CREDENTIALS)
    if code in _FORBIDDEN:
        hint = "Allow ec2:DescribeSpotPriceHistory, ec2:DescribeInstanceTypes and pricing:GetProducts to this user"
        return InvalidInput(f"these credentials may not ask this ({code}): {message}", where=where, hint=hint)
    if code in _TOO_FAST:
        hint = "Wait a minute and try again, or ask for fewer types; nothing was changed"
        return LeanTuneError(f"AWS says that it is asked too often ({code})", where=where, hint=hint)
    return InvalidInput(f"AWS refuses the question ({code}): {message}", where=where, hint="Correct the named part")


def _region_hint(region: str) -> str:
    import boto3

    regions = boto3.Session().get_available_regions("ec2")
    if region in regions:
        return "Check the network and try again; nothing was changed"
    return f"There may be no region {region!r}. Known: {', '.join(regions)}"
