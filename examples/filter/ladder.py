"""The filter by formula, for the picture: the same response as ngspice's, to a millionth of a dB."""

from __future__ import annotations

import itertools

import numpy as np

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


def deviation(parts: np.ndarray) -> float:
    """Return by how many dB the mask is broken; below 0, the margin with which it is kept."""
    return float(max(-gain(parts, PASS).min() - 1.5, gain(parts, STOP).max() + 40.0))


def corners(parts: np.ndarray) -> np.ndarray:
    """Return all parts at an end of their tolerance, in all 64 ways."""
    return parts * (1 + TOLERANCES * np.array(list(itertools.product((-1, 1), repeat=len(parts)))))
