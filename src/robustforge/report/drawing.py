"""The canvas of all figures: from what is painted on Matplotlib axes to SVG that becomes part of the page.

Figures know colours by what they are for. Matplotlib is given stand-ins, which become CSS variables afterwards, so that
a figure changes with the page from light to dark. Text stays text, in the font of the page. What a browser does not
need is taken out: prolog, namespaces, metadata, and names of parts that nothing refers to; the rest get the name of the
figure, so that figures do not disturb each other. The same data gives the same bytes.
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
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.optimize import isotonic_regression

from robustforge.report.words import short

UNITS = 72
"""Units per inch: one unit of the SVG is one of Matplotlib's points."""

WIDTH = 320.0
"""Units across a figure; on the page, about as many pixels."""

IMAGE_DPI = 100
"""Pixels per inch of what is painted as an image."""

FONT = 10.0
"""Height of the letters, in units."""

LETTER = 5.9
"""Units that a letter takes, on the safe side."""

LINES = ("c1", "c2", "c3", "c4", "c5", "c6", "c7")
"""The colours that tell things apart, in the order in which they are given out."""

ROLES = ("ink", "soft", "muted", "grid", "page", *LINES)
_STAND_INS = {role: f"#10f0{number:02x}" for number, role in enumerate(ROLES)}
_ROLE_OF = {stand_in: role for role, stand_in in _STAND_INS.items()}


@dataclass(frozen=True)
class Frame:
    """The size of a figure and the room around its axes, in units.

    Attributes:
        height: Of the whole figure.
        left: Room for the labels on the left.
        right: Room on the right.
        top: Room above.
        bottom: Room for the labels below.
    """

    height: float = 200.0
    left: float = 44.0
    right: float = 14.0
    top: float = 22.0
    bottom: float = 34.0


def colour(role: str) -> str:
    """Return what Matplotlib is told for a colour of the page."""
    return _STAND_INS[role]


def draw(key: str, label: str, frame: Frame, paint: Callable[[Axes], None]) -> Markup:
    """Return a figure as SVG to be put into a page.

    Args:
        key: Its name, unique on the page.
        label: What it shows, for those who cannot see it.
        frame: Its size.
        paint: Paints it.
    """
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"(?s).*Glyph")  # a name may be in any script; the browser knows it
        figure = Figure(figsize=(WIDTH / UNITS, frame.height / UNITS), dpi=UNITS)
        width, height = WIDTH - frame.left - frame.right, frame.height - frame.top - frame.bottom
        box = (frame.left / WIDTH, frame.bottom / frame.height, width / WIDTH, height / frame.height)
        axes = figure.add_axes(box)
        paint(axes)
        text = io.StringIO()
        figure.savefig(text, format="svg", dpi=IMAGE_DPI, transparent=True, metadata=dict.fromkeys(_METADATA))
    return _inline(text.getvalue(), key, label)


def heading(axes: Axes, text: str) -> None:
    """Write above the axes what is measured: that is read before the figure, and needs no turned head."""
    axes.annotate(text, (0, 1), (-2, 8), xycoords="axes fraction", textcoords="offset points", color=colour("muted"))


def end_labels(axes: Axes, ends: Sequence[tuple[float, str, str]], most: int = 22) -> None:
    """Write names beside the ends of lines on the right, moved apart where they would cover each other.

    Args:
        axes: Whose limits are final.
        ends: For each line the height of its end, its name, and its colour's role.
        most: Letters of a name.
    """
    if not ends:
        return
    edge, top = axes.transAxes.transform([(1.0, 0.0), (1.0, 1.0)])
    heights = np.array([axes.transData.transform((axes.get_xlim()[1], end))[1] for end, _, _ in ends])
    heights = heights.clip(edge[1], top[1])
    places = spread(heights, FONT + 1, edge[1] + 1, top[1] - 2)
    for (_, name, role), at, place in zip(ends, heights, places, strict=True):
        _leader(axes, edge[0], at, place, role)
        axes.annotate(
            short(name, most), (edge[0] + 13, place), xycoords="figure pixels", color=colour(role), va="center"
        )


def spread(wanted: Any, gap: float, low: float, high: float) -> Any:
    """Return places close to the wanted ones, in the same order, a gap apart, and as far as possible between limits."""
    wanted = np.asarray(wanted, dtype=float)
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(wanted.size)
    moved = isotonic_regression(wanted[order] - steps).x
    places = np.empty_like(wanted)
    places[order] = np.clip(moved, low, max(high - steps[-1], low)) + steps
    return places


def room_for(names: Sequence[str], most: int = 22) -> float:
    """Return the units that names beside a figure take."""
    return LETTER * max((len(short(name, most)) for name in names), default=0)


def _leader(axes: Axes, edge: float, at: float, place: float, role: str) -> None:
    """Draw the thin line from the end of a line to its name."""
    points = np.array([(edge + 2, at), (edge + 10, place)])
    axes.annotate(
        "", points[1], points[0], xycoords="figure pixels", textcoords="figure pixels",
        arrowprops={"arrowstyle": "-", "color": colour(role), "lw": 0.6, "shrinkA": 0, "shrinkB": 0},
    )  # fmt: skip


_METADATA = ("Date", "Creator", "Format", "Type")
_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "robustforge",
    "text.parse_math": False,  # a dollar in a name is a dollar
    "axes.unicode_minus": True,
    "axes.formatter.useoffset": False,
    "font.size": FONT,
    "text.color": colour("ink"),
    "axes.edgecolor": colour("grid"),
    "axes.linewidth": 0.8,
    "axes.labelcolor": colour("muted"),
    "axes.labelsize": FONT,
    "xtick.labelsize": FONT,
    "ytick.labelsize": FONT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": colour("grid"),
    "grid.linewidth": 0.6,
    "xtick.color": colour("grid"),
    "ytick.color": colour("grid"),
    "xtick.labelcolor": colour("muted"),
    "ytick.labelcolor": colour("muted"),
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
    """Return the SVG that Matplotlib wrote as a part of a page."""
    picture = ElementTree.fromstring(text)
    used = set(re.findall(r"(?:href=\"|url\()#([^\")]+)", text))
    for part in picture.iter():
        part.tag = part.tag.rpartition("}")[2]
        part.attrib = _attributes(part.attrib, key, used)
        part.tail = None
        if not (part.text or "").strip():
            part.text = None
    for above in list(picture.iter()):
        for part in [part for part in above if part.tag in ("metadata", "style")]:
            above.remove(part)
    picture.attrib = {"role": "img", "aria-label": label, "viewBox": picture.attrib["viewBox"]}
    return Markup(ElementTree.tostring(picture, encoding="unicode"))


def _attributes(given: dict[str, str], key: str, used: set[str]) -> dict[str, str]:
    """Return the attributes of a part as the page has them: its own names, the page's colours, short numbers."""
    found = {}
    for full, value in given.items():
        name = full.rpartition("}")[2]
        if name == "id" and value not in used:
            continue
        if name == "id":
            value = f"{key}-{value}"
        elif name == "style":
            value = _SHORTER.sub(_short_number, _STAND_IN.sub(lambda at: f"var(--{_ROLE_OF[at[0]]})", value))
            value = re.sub(r"font-family: [^;]*(; )?", "", value)
        elif name in ("d", "x", "y", "transform"):
            value = " ".join(_SHORTER.sub(_short_number, value).split())
        elif name == "href" and value.startswith("data:"):
            value = "".join(value.split())
        found[name] = re.sub(r"^#|(?<=url\()#", f"#{key}-", value)
    return found


def _short_number(found: re.Match[str]) -> str:
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".")


_SHORTER = re.compile(r"-?(?<!\d)\d+\.\d+(?![\d.e])")
_STAND_IN = re.compile(r"#10f0[0-9a-f]{2}")
