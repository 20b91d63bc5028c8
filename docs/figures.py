"""Draws the README's picture: a nominal curve, its worst case within a tolerance, and the optimum of each.

python docs/figures.py        needs Matplotlib
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt
import numpy as np

import robustforge as rf


def main() -> None:
    """Write docs/explanation/robust-optimum.svg."""
    problem = rf.problem("multipeak-f2", dimension=1)
    gamma = float(problem.geometry.radii[0])
    fine = np.linspace(problem.lower[0] - gamma, problem.upper[0] + gamma, 2201)
    nominal = np.array([problem([t]) for t in fine])
    step = fine[1] - fine[0]
    radius = round(gamma / step)
    worst = np.array([nominal[max(0, k - radius) : k + radius + 1].max() for k in range(fine.size)])
    inside = (fine >= problem.lower[0]) & (fine <= problem.upper[0])
    x, f, g = fine[inside], nominal[inside], worst[inside]
    at_f, at_g = int(np.argmin(f)), int(np.argmin(g))
    mpl.rcParams.update(
        {"path.simplify_threshold": 0.6, "svg.hashsalt": "robustforge", "font.size": 11, "font.family": "sans-serif"}
    )
    figure, axes = plt.subplots(figsize=(8.4, 3.6), layout="constrained")
    axes.plot(x, f, color="#2b6cb0", lw=1.8, label="nominal value f(x)")
    axes.plot(x, g, color="#c05621", lw=1.8, ls="--", label=f"worst case within ±{gamma:g}")
    axes.fill_between(x, f, g, color="#c05621", alpha=0.08, lw=0)
    for k, value, colour, text, shift in (
        (at_f, g[at_f], "#2b6cb0", "nominal optimum:\npoor in the worst case", (0.35, 0.35)),
        (at_g, g[at_g], "#c05621", "robust optimum", (0.3, -0.75)),
    ):
        axes.plot([x[k], x[k]], [f[k], value], color=colour, lw=1)
        axes.plot([x[k]], [f[k]], "o", color=colour, ms=6)
        axes.plot([x[k]], [value], "s", color=colour, ms=6)
        axes.annotate(text, (x[k], value), (x[k] + shift[0], value + shift[1]), color=colour, fontsize=10)
    axes.set_xlabel("design variable x")
    axes.set_ylabel("objective, lower is better")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right")
    figure.patch.set_facecolor("white")
    figure.savefig(Path(__file__).parent / "explanation" / "robust-optimum.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
