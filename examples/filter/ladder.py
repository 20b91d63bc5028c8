"""The filter by formula: for the picture, and to breed a heuristic for filters of its kind.

    python ladder.py            breeds heuristic.json, on three other filters (some minutes)

A formula costs nothing, a simulator does; but a heuristic that is good at such filters is good at them in both. The
three filters have other masks and other tolerances than the one in filter.toml.
"""

from __future__ import annotations

import itertools

import numpy as np

import robustforge as rf

NAMES = ("C1", "L2", "C2", "C3", "L4", "C5")
UNITS = np.array([1e-12, 1e-6, 1e-12, 1e-12, 1e-6, 1e-12])  # pF and uH
BOUNDS = np.log([(100, 1000), (0.4, 2.5), (30, 300), (200, 2000), (0.4, 2.5), (100, 1000)])
TOLERANCES = np.array([0.05, 0.10, 0.05, 0.05, 0.10, 0.05])
PASS, STOP = np.linspace(1e6, 7.3e6, 64), np.linspace(14e6, 70e6, 113)


def gain(parts: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """Return the gain in dB, 0 without a filter: from 1 V at the load back to the source, part by part."""
    c1, l2, c2, c3, l4, c5 = parts * UNITS
    s = 2j * np.pi * frequencies
    volts, amperes = 1.0, 1.0 / 50.0 + s * c5
    volts = volts + (s * l4 + 0.3) * amperes
    amperes = amperes + s * c3 * volts
    volts = volts + amperes / (s * c2 + 1.0 / (s * l2 + 0.3))
    amperes = amperes + s * c1 * volts
    return 20 * np.log10(2.0 / np.abs(volts + 50.0 * amperes))


def deviation(parts: np.ndarray, loss: float = 1.5, attenuation: float = 40.0, stop: np.ndarray = STOP) -> float:
    """Return by how many dB the mask is broken; below 0, the margin with which it is kept."""
    return float(max(-gain(parts, PASS).min() - loss, gain(parts, stop).max() + attenuation))


def corners(parts: np.ndarray) -> np.ndarray:
    """Return all parts at an end of their tolerance, in all 64 ways."""
    return parts * (1 + TOLERANCES * np.array(list(itertools.product((-1, 1), repeat=len(parts)))))


def family() -> list[rf.Problem]:
    """Return three other filters, as the search sees them: logarithms of the parts, tolerances on a log scale."""
    problems = []
    for loss, attenuation, first, tolerance in (
        (1.0, 30.0, 14e6, 0.05),
        (2.0, 45.0, 15e6, 0.1),
        (1.5, 35.0, 13e6, 0.07),
    ):
        stop = np.linspace(first, 70e6, 113)
        problems.append(
            rf.Problem(
                lambda x, mask=(loss, attenuation, stop): deviation(np.exp(x), *mask),
                BOUNDS,
                rf.Box(lower=[-np.log1p(-tolerance)] * 6, upper=[np.log1p(tolerance)] * 6),
                name=f"ladder-{attenuation:g}dB",
            )
        )
    return problems


if __name__ == "__main__":
    sizes = {"population": 24, "first": 72, "generations": 10, "repeats": 6, "samples": 3000, "final_repeats": 20}
    evolution = rf.evolve(family(), store="ladder.db", name="ladder", budget=1000, refinement=0.5, race=True, **sizes)
    evolution.champion.save("heuristic.json")
    print(evolution.champion)
