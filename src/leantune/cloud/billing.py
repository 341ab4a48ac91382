"""The bill of a machine that was held from `begin` until `end`: one policy object per provider.

    used    = end - begin                                        seconds, from launch
    billed  = max(minimum, used rounded up to the granularity)   seconds
    gross   = integral of price over [begin, end) + (billed - used) * price just before end,   USD
    refund  = gross if the provider revoked the machine and used < refund window, else 0

What is billed beyond the use costs the last price that the machine was held at: a bill never depends on prices that
were set after its end. Sources of the rules: docs/spot-billing.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from enum import StrEnum

from leantune.cloud.markets import PriceSeries
from leantune.errors import InvalidInput
from leantune.units import NO_USD, SECONDS_PER_HOUR, Seconds, Usd

# Seconds since 1970 as float64 are exact to 2.4e-7 s: a smaller excess starts no further second.
_CLOCK_GRAIN = 1e-6


class BillReason(StrEnum):
    """The reason for a bill's amount."""

    USED = "the seconds used"
    MINIMUM = "the minimum, more than was used"
    REFUNDED = "free: revoked by the provider within the refund window"


@dataclass(frozen=True, slots=True)
class Bill:
    """The bill of one machine: `seconds` billed, their price, the refund, and the reason."""

    seconds: Seconds
    gross_usd: Usd
    refund_usd: Usd
    why: BillReason

    @property
    def net_usd(self) -> Usd:
        """Dollars to pay: gross less refund."""
        return Usd(self.gross_usd - self.refund_usd)


@dataclass(frozen=True)
class BillingPolicy:
    """A provider's rules for revocable machines and for those on demand.

    refund_window_seconds: revoked by the provider in less than this after launch costs nothing; 0 for no refund.
    notice_seconds: how long before it takes a machine away the provider says so, at best.
    A machine that its renter terminates is always charged.
    """

    provider: str
    notice_seconds: float
    refund_window_seconds: float
    minimum_seconds: float = 60.0
    granularity_seconds: float = 1.0

    def __post_init__(self) -> None:
        for field in fields(self)[1:]:
            value = getattr(self, field.name)
            least = "above 0" if field.name == "granularity_seconds" else "of at least 0"
            if not (math.isfinite(value) and value >= 0) or (value == 0 and least == "above 0"):
                where = f"billing policy {self.provider}"
                raise InvalidInput(f"{field.name} is {value!r}", where=where, hint=f"Give seconds {least}")

    def bill(
        self, price: PriceSeries | float, begin: float, end: float, *, revoked: bool, max_price: float = math.inf
    ) -> Bill:
        """The bill of a machine launched at `begin` and gone at `end`, seconds since 1970.

        price: the market's series, or one flat price in USD per hour (on demand).
        revoked: whether the provider took it away; False for own termination.
        max_price: the renter's limit; no more is paid, also not while a notice runs because the price went above it.
        """
        used = end - begin
        if not 0 <= used < math.inf:
            hint = "Give a begin that is not after the end"
            raise InvalidInput(f"[{begin}, {end}) is no period", where=f"bill of {self.provider}", hint=hint)
        rounded = self._rounded(used)
        billed = Seconds(max(self.minimum_seconds, rounded))
        gross = Usd(_gross(price, begin, end, billed - used, max_price))
        if revoked and used < self.refund_window_seconds:
            return Bill(billed, gross, gross, BillReason.REFUNDED)
        return Bill(billed, gross, NO_USD, BillReason.MINIMUM if rounded < billed else BillReason.USED)

    def _rounded(self, used: float) -> float:
        return max(0, math.ceil((used - _CLOCK_GRAIN) / self.granularity_seconds)) * self.granularity_seconds


def _gross(price: PriceSeries | float, begin: float, end: float, extra: float, ceiling: float) -> float:
    if not isinstance(price, PriceSeries):
        return price * (end - begin + extra) / SECONDS_PER_HOUR
    last = min(price.at(math.nextafter(end, -math.inf) if end > begin else begin), ceiling)
    return price.cost(begin, end, ceiling=ceiling) + last * extra / SECONDS_PER_HOUR


AWS = BillingPolicy("aws", notice_seconds=120.0, refund_window_seconds=SECONDS_PER_HOUR)
GCP = BillingPolicy("gcp", notice_seconds=30.0, refund_window_seconds=60.0)
AZURE = BillingPolicy("azure", notice_seconds=30.0, refund_window_seconds=0.0)
POLICIES = {policy.provider: policy for policy in (AWS, GCP, AZURE)}
