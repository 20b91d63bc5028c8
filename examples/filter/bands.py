"""Two designs of the filter within their tolerances: a table, and a figure of the response bands.

    python bands.py nominal.json robust.json            the files that `robustforge solve -o` wrote

Each design is evaluated in all 64 corners of its tolerances and at 2,000 random points; the mask must hold for all.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from ladder import NAMES, PASS, STOP, TOLERANCES, corners, deviation, gain

FREQUENCIES = np.geomspace(1e6, 70e6, 400)


def main(paths: list[str]) -> None:
    """Print the table, and draw a panel per design."""
    figure, panels = plt.subplots(1, len(paths), figsize=(5.2 * len(paths), 3.6), sharey=True, squeeze=False)
    print(f"{'design':10}  {'nominal':>12}  {'worst corner':>12}  {'random builds within the mask':>30}")
    for path, axes in zip(paths, panels[0], strict=True):
        design = json.loads(Path(path).read_text())["design"]
        parts = np.array([design[name] for name in NAMES])
        drawn = parts * (1 + TOLERANCES * np.random.default_rng(1).uniform(-1, 1, (2000, len(parts))))
        worst = max(map(deviation, corners(parts)))
        kept = np.mean([deviation(built) <= 0 for built in drawn])
        print(f"{Path(path).stem:10}  {deviation(parts):+9.2f} dB  {worst:+9.2f} dB  {kept:30.0%}")
        draw(axes, parts, np.concatenate([corners(parts), drawn]), f"{Path(path).stem}: worst {worst:+.1f} dB")
    figure.savefig("bands.svg", bbox_inches="tight")
    print("the bands are in bands.svg")


def draw(axes: plt.Axes, parts: np.ndarray, built: np.ndarray, title: str) -> None:
    """Draw the response as designed, the band of all that was built, and the mask."""
    responses = np.array([gain(each, FREQUENCIES) for each in built])
    axes.fill_between(FREQUENCIES, responses.min(axis=0), responses.max(axis=0), color="#9db8d2", label="as built")
    axes.plot(FREQUENCIES, gain(parts, FREQUENCIES), color="#1f4e79", label="as designed")
    for band, limits in ((PASS, (-1.5, -90)), (STOP, (10, -40))):  # where the response must not be
        low, high = min(limits[1], limits[0]), max(limits)
        axes.fill_between(band[[0, -1]], low, high, color="#c0504d", alpha=0.18, linewidth=0)
    axes.set(xscale="log", ylim=(-80, 5), title=title, xlabel="Hz", ylabel="gain in dB")
    axes.legend(loc="lower left", frameon=False)


if __name__ == "__main__":
    main(sys.argv[1:])
