"""A multiple-choice knapsack: one option per item, total cost at most 1, maximum total gain.

It attacks an additive function: each variable is an item, its options are displacements, the cost is the squared
displacement and the gain the increase of the function. Costs are floats and are not rounded, so that the cost of a step
over a cliff is exact.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
from numba import float64, int64

from robustforge.core.compiler import compiled

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

BINS = 4096
"""Intervals of the total cost, each of which keeps one partial choice."""

_SLACK = 1e-12


def choose(costs: list[Floats], gains: list[Floats]) -> Integers:
    """Choose one option of every item.

    Args:
        costs: For every item the costs of its options, at least one of which must be 0.
        gains: The gains of the same options.

    Returns:
        The index of the option chosen for each item.
    """
    options = [_frontier(cost, gain) for cost, gain in zip(costs, gains, strict=True)]
    first = np.cumsum([0] + [numbers.size for numbers in options])
    flat_costs = np.concatenate([cost[k] for cost, k in zip(costs, options, strict=True)])
    flat_gains = np.concatenate([gain[k] for gain, k in zip(gains, options, strict=True)])
    _prepare()
    price = _price(first, flat_costs, flat_gains)
    chosen = _solve(first, flat_costs, flat_gains, price, BINS)
    return np.array([numbers[index] for numbers, index in zip(options, chosen, strict=True)])


def _frontier(cost: Floats, gain: Floats) -> Integers:
    """Return the non-dominated options, the cheapest first."""
    order = np.lexsort((-gain, cost))
    tops = np.maximum.accumulate(gain[order])
    return order[np.concatenate([[True], tops[1:] > tops[:-1]])]


@compiled
def _price(first: Integers, costs: Floats, gains: Floats) -> float:
    """Return the Lagrange multiplier of the cost: the price at which independent choices have total cost 1."""
    low, high = 0.0, 1.0
    while _cost_at(first, costs, gains, high) > 1.0 and high < 1e300:
        low, high = high, high * 4.0
    for _ in range(60):
        centre = (low + high) / 2.0
        if _cost_at(first, costs, gains, centre) > 1.0:
            low = centre
        else:
            high = centre
    return high


@compiled
def _cost_at(first: Integers, costs: Floats, gains: Floats, price: float) -> float:
    """Return the total cost if every item takes the option with the largest gain minus price times cost."""
    total = 0.0
    for i in range(first.size - 1):
        best, cost = -np.inf, 0.0
        for o in range(first[i], first[i + 1]):
            net = gains[o] - price * costs[o]
            if net > best:
                best, cost = net, costs[o]
        total += cost
    return total


@compiled
def _solve(first: Integers, costs: Floats, gains: Floats, price: float, bins: int) -> Integers:
    """Return the option of each item, by dynamic programming over the total cost.

    Every interval of the total cost keeps the partial choice with the largest gain minus price times cost.
    """
    items = first.size - 1
    gain, cost = np.full(bins + 1, -np.inf), np.zeros(bins + 1)
    option, origin = np.zeros((items, bins + 1), np.int32), np.zeros((items, bins + 1), np.int32)
    gain[0] = 0.0
    for i in range(items):
        new_gain, new_cost = np.full(bins + 1, -np.inf), np.zeros(bins + 1)
        new_net = np.full(bins + 1, -np.inf)
        for b in range(bins + 1):
            if gain[b] == -np.inf:
                continue
            for o in range(first[i], first[i + 1]):
                total = cost[b] + costs[o]
                if total > 1.0 + _SLACK:
                    break
                bin = min(int(total * bins), bins)
                value = gain[b] + gains[o]
                net = value - price * total
                if net > new_net[bin]:
                    new_net[bin], new_gain[bin], new_cost[bin] = net, value, total
                    option[i, bin], origin[i, bin] = o - first[i], b
        gain, cost = new_gain, new_cost
    chosen = np.zeros(items, np.int64)
    b = int(np.argmax(gain))
    for i in range(items - 1, -1, -1):
        chosen[i] = option[i, b]
        b = origin[i, b]
    return chosen


@cache
def _prepare() -> None:
    """Compile the kernels for the types they get, or read them from the cache, once per process."""
    flat = (int64[::1], float64[::1], float64[::1])
    _price.compile(flat)  # type: ignore[attr-defined]
    _solve.compile((*flat, float64, int64))  # type: ignore[attr-defined]
