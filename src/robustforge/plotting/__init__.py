"""Plots on Matplotlib axes, from plain numbers: drawn in notebooks by `plot()`, and on the page of a report as SVG.

Matplotlib comes with the extra `report`. It is imported by the modules of this package, and not by this one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from robustforge.errors import MissingExtraError

if TYPE_CHECKING:
    from robustforge.plotting.canvas import Canvas


def new_canvas(ax: Any = None, height: float = 3.6, width: float = 6.0) -> Canvas:
    """Return a canvas on given axes, or on those of a new Pyplot figure.

    Args:
        ax: Matplotlib axes to draw on; `None` for a new figure.
        height: Height of a new figure, in inches.
        width: Width of a new figure, in inches.

    Raises:
        MissingExtraError: Matplotlib is not installed.
    """
    return new_canvases(ax, 1, height, width)[0]


def new_canvases(ax: Any, count: int, height: float, width: float = 6.0) -> list[Canvas]:
    """Return canvases one below the other, all on a new Pyplot figure; or one, on given axes."""
    try:
        import matplotlib.pyplot as plt

        from robustforge.plotting.canvas import Canvas
    except ImportError as error:
        raise MissingExtraError("matplotlib", "report") from error
    if ax is not None:
        return [Canvas(ax)]
    _, axes = plt.subplots(count, squeeze=False, figsize=(width, count * height), layout="constrained")
    return [Canvas(each) for each in axes[:, 0]]
