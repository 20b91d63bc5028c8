"""One option per item, total cost at most 1, the greatest total gain: the knapsack of an attack on a sum of functions.

Each variable of an additive function is an item, its options are displacements: the cost is the square of the
displacement, the gain what the function rises. Costs are real numbers and are never rounded, so a step over a cliff
costs exactly what it costs.
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
        The number of the option chosen for each item.
    """
    kept = [_frontier(cost, gain) for cost, gain in zip(costs, gains, strict=True)]
    first = np.cumsum([0] + [numbers.size for numbers in kept])
    flat_costs = np.concatenate([cost[k] for cost, k in zip(costs, kept, strict=True)])
    flat_gains = np.concatenate([gain[k] for gain, k in zip(gains, kept, strict=True)])
    _prepare()
    price = _price(first, flat_costs, flat_gains)
    picked = _solve(first, flat_costs, flat_gains, price, BINS)
    return np.array([numbers[pick] for numbers, pick in zip(kept, picked, strict=True)])


def _frontier(cost: Floats, gain: Floats) -> Integers:
    """Return the options that gain more than all cheaper ones, the cheapest first."""
    order = np.lexsort((-gain, cost))
    tops = np.maximum.accumulate(gain[order])
    return order[np.concatenate([[True], tops[1:] > tops[:-1]])]


@compiled
def _price(first: Integers, costs: Floats, gains: Floats) -> float:
    """Return what a unit of cost is worth: the price at which choices made item by item cost 1 in all."""
    low, high = 0.0, 1.0
    while _cost_at(first, costs, gains, high) > 1.0 and high < 1e300:
        low, high = high, high * 4.0
    for _ in range(60):
        middle = (low + high) / 2.0
        if _cost_at(first, costs, gains, middle) > 1.0:
            low = middle
        else:
            high = middle
    return high


@compiled
def _cost_at(first: Integers, costs: Floats, gains: Floats, price: float) -> float:
    """Return the total cost if every item takes the option of the greatest gain less price."""
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

    Every interval of the total cost keeps the one partial choice with the greatest gain less price.
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
                place = min(int(total * bins), bins)
                value = gain[b] + gains[o]
                net = value - price * total
                if net > new_net[place]:
                    new_net[place], new_gain[place], new_cost[place] = net, value, total
                    option[i, place], origin[i, place] = o - first[i], b
        gain, cost = new_gain, new_cost
    picked = np.zeros(items, np.int64)
    b = int(np.argmax(gain))
    for i in range(items - 1, -1, -1):
        picked[i] = option[i, b]
        b = origin[i, b]
    return picked


@cache
def _prepare() -> None:
    """Compile the kernels for the types they get, or read them from the cache, once per process."""
    flat = (int64[::1], float64[::1], float64[::1])
    _price.compile(flat)  # type: ignore[attr-defined]
    _solve.compile((*flat, float64, int64))  # type: ignore[attr-defined]
