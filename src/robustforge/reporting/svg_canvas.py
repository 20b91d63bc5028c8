"""The canvas of the report: from plots on Matplotlib axes to SVG that is part of the page.

Plots name colours by their roles. Matplotlib gets placeholder colours, which become CSS variables in the SVG, so that a
figure follows the page from light to dark. Text stays text, in the font of the page. Everything a browser does not need
is removed: prolog, namespaces, metadata, and ids that nothing refers to. The other ids get the key of the figure as a
prefix, so that they are unique on the page. The same data gives the same bytes.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from scipy.optimize import isotonic_regression

from robustforge.formatting import shorten
from robustforge.plotting.canvas import LINE_ROLES, Canvas, Direction

UNITS = 72
"""Units per inch: one unit of the SVG is one point of Matplotlib."""

WIDTH = 320.0
"""Width of a figure, in units; on the page, about the same in pixels."""

IMAGE_DPI = 100
"""Pixels per inch of images within a figure."""

FONT_SIZE = 10.0
"""Height of the letters, in units."""

LETTER_WIDTH = 5.9
"""Width of a letter, in units, on the safe side."""

ROLES = ("ink", "soft", "muted", "grid", "page", *LINE_ROLES)
_PLACEHOLDERS = {role: f"#10f0{number:02x}" for number, role in enumerate(ROLES)}
_ROLE_OF = {placeholder: role for role, placeholder in _PLACEHOLDERS.items()}

_ROW_NAME_LENGTH, _LONG_NAME_LENGTH = 14, 48


@dataclass(frozen=True)
class Frame:
    """The size of a figure and the margins around its axes, in units.

    Attributes:
        height: Height of the whole figure.
        left: Left margin, for labels.
        right: Right margin, for the names of lines.
        top: Top margin, for the name of the quantity.
        bottom: Bottom margin, for labels.
    """

    height: float = 200.0
    left: float = 44.0
    right: float = 14.0
    top: float = 22.0
    bottom: float = 34.0


class SvgCanvas(Canvas):
    """Axes of a figure on the page: colours of the page, and texts where a narrow figure has room for them."""

    def colour(self, role: str) -> str:
        """Return the placeholder for a colour of the page."""
        return _PLACEHOLDERS[role]

    def label_axis(self, direction: Direction, text: str) -> None:
        """Name the quantity above the axes: it is read before the figure, and is not rotated."""
        style: Any = {"xycoords": "axes fraction", "textcoords": "offset points", "color": self.colour("muted")}
        self.axes.annotate(text, (0, 1), (-2, 8), **style)

    def label_lines(self, ends: Sequence[tuple[float, str, str]], max_length: int = 22) -> None:
        """Name lines at their right ends, with the names moved apart where they would overlap; limits must be final."""
        if not ends:
            return
        axes = self.axes
        edge, top = axes.transAxes.transform([(1.0, 0.0), (1.0, 1.0)])
        heights = np.array([axes.transData.transform((axes.get_xlim()[1], end))[1] for end, _, _ in ends])
        heights = heights.clip(edge[1], top[1])
        positions = spread_apart(heights, FONT_SIZE + 1, edge[1] + 1, top[1] - 2)
        for (_, name, role), height, position in zip(ends, heights, positions, strict=True):
            self._leader(edge[0], height, position, role)
            style: Any = {"xycoords": "figure pixels", "color": self.colour(role), "va": "center"}
            axes.annotate(shorten(name, max_length), (edge[0] + 13, position), **style)

    def label_variables(self, names: Sequence[str]) -> None:
        """Make a row of each variable; names are next to their rows if all are short, else above them."""
        self.label_rows(names, max_length=_ROW_NAME_LENGTH)
        if not have_long_names(names):
            return
        self.axes.set_ylim(len(names) - 0.5, -0.75)
        self.axes.set_yticks(range(len(names)), [""] * len(names))
        background: Any = {"facecolor": self.colour("page"), "edgecolor": "none", "alpha": 0.8, "pad": 0.6}
        for row, name in enumerate(names):
            self.axes.annotate(
                shorten(name, _LONG_NAME_LENGTH), (0, row), (4, 12), xycoords=("axes fraction", "data"), zorder=5,
                textcoords="offset points", va="center", ha="left", color=self.colour("soft"), bbox=background,
            )  # fmt: skip

    def _leader(self, edge: float, height: float, position: float, role: str) -> None:
        """Draw the thin line from the end of a line to its name."""
        style = {"arrowstyle": "-", "color": self.colour(role), "lw": 0.6, "shrinkA": 0, "shrinkB": 0}
        pixels: Any = {"xycoords": "figure pixels", "textcoords": "figure pixels"}
        self.axes.annotate("", (edge + 10, position), (edge + 2, height), arrowprops=style, **pixels)


def draw(key: str, label: str, frame: Frame, paint: Callable[[SvgCanvas], None]) -> Markup:
    """Return a figure as SVG, for the page.

    Args:
        key: Its id, unique on the page.
        label: A description of what it shows, for screen readers.
        frame: Its size and margins.
        paint: Draws it.
    """
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"(?s).*Glyph")  # names may be in any script: the browser has fonts
        figure = Figure(figsize=(WIDTH / UNITS, frame.height / UNITS), dpi=UNITS)
        width, height = WIDTH - frame.left - frame.right, frame.height - frame.top - frame.bottom
        box = (frame.left / WIDTH, frame.bottom / frame.height, width / WIDTH, height / frame.height)
        paint(SvgCanvas(figure.add_axes(box)))
        text = io.StringIO()
        figure.savefig(text, format="svg", dpi=IMAGE_DPI, transparent=True, metadata=dict.fromkeys(_METADATA))
    return _inline(text.getvalue(), key, label)


def spread_apart(preferred: Any, gap: float, low: float, high: float) -> Any:
    """Return positions close to the preferred ones, in the same order, a gap apart, and within limits if possible."""
    preferred = np.asarray(preferred, dtype=float)
    order = np.argsort(preferred, kind="stable")
    steps = gap * np.arange(preferred.size)
    moved = isotonic_regression(preferred[order] - steps).x
    positions = np.empty_like(preferred)
    positions[order] = np.clip(moved, low, max(high - steps[-1], low)) + steps
    return positions


def name_width(names: Sequence[str], max_length: int = 22) -> float:
    """Return the units that the longest name next to a figure takes."""
    return LETTER_WIDTH * max((len(shorten(name, max_length)) for name in names), default=0)


def have_long_names(names: Sequence[str]) -> bool:
    """Whether variables have names that are too long to be next to their rows."""
    return max(map(len, names), default=0) > _ROW_NAME_LENGTH


def variable_margin(names: Sequence[str], least: float) -> float:
    """Return the left margin of a figure with a row per variable."""
    return least if have_long_names(names) else name_width(names, _ROW_NAME_LENGTH) + 10


_METADATA = ("Date", "Creator", "Format", "Type")
_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "robustforge",
    "text.parse_math": False,  # a dollar sign in a name is not mathematics
    "axes.unicode_minus": True,
    "axes.formatter.useoffset": False,
    "font.size": FONT_SIZE,
    "text.color": _PLACEHOLDERS["ink"],
    "axes.edgecolor": _PLACEHOLDERS["grid"],
    "axes.linewidth": 0.8,
    "axes.labelcolor": _PLACEHOLDERS["muted"],
    "axes.labelsize": FONT_SIZE,
    "xtick.labelsize": FONT_SIZE,
    "ytick.labelsize": FONT_SIZE,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": _PLACEHOLDERS["grid"],
    "grid.linewidth": 0.6,
    "xtick.color": _PLACEHOLDERS["grid"],
    "ytick.color": _PLACEHOLDERS["grid"],
    "xtick.labelcolor": _PLACEHOLDERS["muted"],
    "ytick.labelcolor": _PLACEHOLDERS["muted"],
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "xtick.major.pad": 5,
    "ytick.major.pad": 5,
    "lines.linewidth": 1.6,
    "lines.solid_capstyle": "round",
}


def _inline(text: str, key: str, label: str) -> Markup:
    """Return the SVG that Matplotlib wrote, as an element of the page."""
    svg = ElementTree.fromstring(text)
    used = set(re.findall(r"(?:href=\"|url\()#([^\")]+)", text))
    for element in svg.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = _attributes(element.attrib, key, used)
        element.tail = None
        if not (element.text or "").strip():
            element.text = None
    for parent in list(svg.iter()):
        for child in [child for child in parent if child.tag in ("metadata", "style")]:
            parent.remove(child)
    svg.attrib = {"role": "img", "aria-label": label, "viewBox": svg.attrib["viewBox"]}
    return Markup(ElementTree.tostring(svg, encoding="unicode"))


def _attributes(given: dict[str, str], key: str, used: set[str]) -> dict[str, str]:
    """Return the attributes of an element as the page has them: unique ids, CSS variables as colours, short numbers."""
    attributes = {}
    for full, value in given.items():
        name = full.rpartition("}")[2]
        if name == "id" and value not in used:
            continue
        if name == "id":
            value = f"{key}-{value}"
        elif name == "style":
            value = _LONG_NUMBER.sub(
                _short_number, _PLACEHOLDER.sub(lambda found: f"var(--{_ROLE_OF[found[0]]})", value)
            )
            value = re.sub(r"font-family: [^;]*(; )?", "", value)
        elif name in ("d", "x", "y", "transform"):
            value = " ".join(_LONG_NUMBER.sub(_short_number, value).split())
        elif name == "href" and value.startswith("data:"):
            value = "".join(value.split())
        attributes[name] = re.sub(r"^#|(?<=url\()#", f"#{key}-", value)
    return attributes


def _short_number(found: re.Match[str]) -> str:
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".")


_LONG_NUMBER = re.compile(r"-?(?<!\d)\d+\.\d+(?![\d.e])")
_PLACEHOLDER = re.compile(r"#10f0[0-9a-f]{2}")
