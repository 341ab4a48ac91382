"""Expected dollars, seconds and kept work of renting one machine for at most an hour.

Notation (seconds from the launch, or from now on for a machine that is held already):

    p       probability of a revocation notice within the hour; hazard  l = -log(1 - p) / 3600, constant
    X       moment of the notice, exponential with hazard l; the machine is gone at X + N
    N       notice: what is left of it when we have seen it
    A       lead: boot and restore, when nothing is learned;   C  seconds to save a checkpoint
    T       planned end, min(horizon, A + remaining work + C); all seconds until T are paid for
    W       refund window: a machine gone by W costs nothing (0: no refund)

    work    = X - A             if X < T  (saved at the notice; 0 if X < A)
            = T - A - C         otherwise
    dollars = 0                 if X < T and X + N <= W
            = price (X + N)     if X < T and X + N > W
            = price T           otherwise

SpotTune's Eq. 1-2 take (1 - p) price M: p -> 1 makes steps free however few are kept. Here expected dollars are divided
by expected work, boot and restore included. A model too large to save within the notice (C > N) is saved every
sqrt(2 C / l) seconds (Young, 1974): half an interval is lost, and the share C / (interval + C) of the time is saving.
"""

import math

import numpy as np
from numba import njit

from leantune.arrays import BoolArray, FloatArray

HOUR = 3600.0
_LARGEST_P = 1.0 - 1e-9
_TINY = 1e-12


@njit(cache=True, nogil=True)
def save_interval(hazard: float, save: float) -> float:
    """Seconds between periodic checkpoints that lose least; infinite where nothing is ever revoked."""
    return math.inf if hazard <= _TINY else max(math.sqrt(2.0 * save / hazard), save)


@njit(cache=True, nogil=True)
def hazard_of(p: float) -> float:
    """Revocations per second of a machine that is revoked within the hour with probability p."""
    return -math.log1p(-min(max(p, 0.0), _LARGEST_P)) / HOUR


@njit(cache=True, nogil=True)
def expectation(
    p: float, price: float, lead: float, save: float, notice: float, window: float, remaining: float, horizon: float
) -> tuple[float, float, float]:
    """E[dollars], E[seconds held by the job], E[kept seconds of work]; see the notation above. price: USD per hour."""
    hazard = hazard_of(p)
    end = min(horizon, lead + remaining + save)
    share = 1.0  # of the time after the lead that is work
    lost = 0.0
    if save > notice and hazard > _TINY:
        interval = save_interval(hazard, save)
        share = interval / (interval + save)
        lost = interval / 2.0
    if hazard <= _TINY:
        return price * end / HOUR, end, max(end - lead - save, 0.0)
    survives = math.exp(-hazard * end)
    span = max(end - lead, 0.0)
    # E[(X - A); A < X < T] of an exponential X
    revoked_work = math.exp(-hazard * min(lead, end)) * _partial_mean(hazard, span)
    caught = max(math.exp(-hazard * min(lead, end)) - survives, 0.0)
    work = share * (revoked_work + survives * max(span - save, 0.0)) - caught * lost
    # E[seconds]: until the notice and a save, or until the planned end
    seconds = _partial_mean(hazard, end) + (1.0 - survives) * min(save, notice) + survives * end
    # dollars: gone after the window, or never
    charged_from = min(max(window - notice, 0.0), end)
    late = _partial_mean(hazard, end) - _partial_mean(hazard, charged_from)
    chance = math.exp(-hazard * charged_from) - survives
    dollars = price * (late + chance * notice + survives * end) / HOUR
    return dollars, seconds, max(work, 0.0)


@njit(cache=True, nogil=True)
def _partial_mean(hazard: float, until: float) -> float:
    """E[X; X < until] of an exponential X: (1 - e^-z (1 + z)) / hazard with z = hazard until."""
    z = hazard * until
    if z < 1e-4:  # the difference of nearly equal numbers
        return hazard * until * until * (0.5 - z / 3.0)
    return (1.0 - math.exp(-z) * (1.0 + z)) / hazard


@njit(cache=True, nogil=True)
def weighed_offers(
    p: FloatArray,
    price: FloatArray,
    step_seconds: FloatArray,
    is_open: BoolArray,
    times: tuple[float, float, float],
    terms: tuple[float, float, float, float],
) -> tuple[FloatArray, FloatArray]:
    """Expected dollars per step, and seconds until all steps are done, of every offer at every max price (offers, k).

    p, is_open: (offers, k); infinite where it is not open or nothing is kept. price, step_seconds: (offers,). times:
    lead, save, steps that are left. terms: notice, refund window, horizon, and the value of an hour of waiting in USD,
    which is added to the dollars.
    """
    notice, window, horizon, hour_value = terms
    lead, save, steps = times
    dollars_per_step, whole = np.full(p.shape, math.inf), np.full(p.shape, math.inf)
    for row in range(p.shape[0]):
        step = step_seconds[row]
        for column in range(p.shape[1]):
            if not is_open[row, column]:
                continue
            dollars, seconds, work = expectation(
                p[row, column], price[row], lead, save, notice, window, steps * step, horizon
            )
            if work > 0.0:
                dollars_per_step[row, column] = (dollars + hour_value * seconds / HOUR) / work * step
                whole[row, column] = seconds / work * step * steps
    return dollars_per_step, whole
