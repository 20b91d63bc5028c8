"""`report`: one self-contained HTML page about the contents of a store or of a folder of results.

`page_data` collects what is on the page as plain data, with one module of sections for each subject; the modules of
figures draw; `page.html` lays out the page, and `search.html` the part about a search for a robust design. Only the
report needs Jinja2, and only figures need Matplotlib: both are imported when a page is made.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from robustforge.analysis import Dataset, read_dataset
from robustforge.errors import MissingExtraError, StoreError, escaped
from robustforge.reporting.search_data import SearchData, read_searches

__all__ = ["page_html", "report"]

_UNBROKEN_LENGTH = 12
_BREAK = re.compile(r"(?<=[\w)][_\-./:])(?=\w)|(?<=[a-z])(?=[A-Z])")


def report(path: str | Path, output: str | Path, names: Sequence[str] = ()) -> None:
    """Write a page about a store or a folder of results; a running evolution or search is not disturbed.

    For each search, the page shows how its estimate developed. The store holds no estimates, so the optimiser is
    replayed on the stored values: that evaluates nothing, but takes about as long as the optimiser itself took.

    Args:
        path: The store or the folder.
        output: The HTML file to write.
        names: The searches and evolutions to include, the latter with the assessments on their problems; all by
            default.

    Raises:
        StoreError: The store or the results are missing or damaged.
        UnknownNameError: There is no search or evolution of a name.
        MissingExtraError: Matplotlib or Jinja2 is not installed.
    """
    _check_installed()
    if Path(output).exists() and Path(path).exists() and Path(output).samefile(path):
        raise StoreError(f"the report would overwrite its input, {output}", fix="Name another file to write")
    searches, evolved = read_searches(path, names)
    dataset = read_dataset(path, evolved)
    if names:
        from robustforge.reporting.page_data import selected

        dataset = selected(dataset if evolved else replace(dataset, evolutions=()))
    page = page_html(dataset, searches)
    Path(output).write_bytes(page.encode("utf-8", "xmlcharrefreplace"))  # a name may contain a lone surrogate


def page_html(dataset: Dataset, searches: Sequence[SearchData] = ()) -> str:
    """Return the page as HTML, which refers to nothing outside itself.

    Args:
        dataset: Evolutions and assessments.
        searches: Searches for robust designs.

    Raises:
        MissingExtraError: Matplotlib or Jinja2 is not installed.
    """
    _check_installed()
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from robustforge.reporting.page_data import page

    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["breakable"] = breakable
    return escaped(templates.get_template("page.html").render(page(dataset, searches)))


def breakable(text: str) -> Any:
    """Return a name as markup that may be broken between its parts: after `_`, `-`, `.`, `/`, and before a capital.

    Example:
        >>> print(breakable("wall_thickness_at_flange"), breakable("R_1"))
        wall_<wbr>thickness_<wbr>at_<wbr>flange R_1
    """
    from markupsafe import Markup, escape

    words = (
        escape(word) if len(word) <= _UNBROKEN_LENGTH else Markup("<wbr>").join(map(escape, _BREAK.split(word)))
        for word in re.split(r"(\s+)", text)
    )
    return Markup("").join(words)


def _check_installed() -> None:
    for module in ("jinja2", "matplotlib"):
        try:
            import_module(module)
        except ImportError as error:
            raise MissingExtraError(module, "report") from error
