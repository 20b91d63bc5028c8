"""The report: one self-contained HTML page about what a store or a folder of results holds.

`page.py` says what goes onto it, as plain data; `figures.py`, `landscapes.py` and `design_figures.py` draw;
`template.html` lays it out, and `designs.html` the part about searches for robust designs. Matplotlib and Jinja2 are
needed for this alone, and imported here when a page is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from robustforge.analysis import Evidence, read_evidence
from robustforge.errors import MissingExtraError, StoreError, escaped
from robustforge.report.designs import Design, read_designs

__all__ = ["page_html", "report"]


def report(path: str | Path, output: str | Path, names: Sequence[str] = ()) -> None:
    """Write a page about a store or a folder of results; a running evolution or search is not disturbed.

    Args:
        path: The store or the folder.
        output: The HTML file to write.
        names: The evolutions that are wanted, with the assessments on their problems, and the searches; all, if none is
            named.

    Raises:
        StoreError: There is no store or no results, or they are damaged.
        UnknownNameError: There is nothing of a name.
        MissingExtraError: Matplotlib or Jinja2 is not installed.
    """
    _check_installed()
    if Path(output).exists() and Path(path).exists() and Path(output).samefile(path):
        fact = f"both are {output}"
        raise StoreError("a report must not take the place of what it is about", fact, "Name another file to write")
    designs, bred = read_designs(path, names)
    evidence = read_evidence(path, bred)
    if names:
        from robustforge.report.page import chosen

        evidence = chosen(evidence if bred else replace(evidence, outcomes=()))
    html = page_html(evidence, designs)
    Path(output).write_bytes(html.encode("utf-8", "xmlcharrefreplace"))  # a name may be half a letter


def page_html(evidence: Evidence, designs: Sequence[Design] = ()) -> str:
    """Return the page as HTML text, which refers to nothing outside itself.

    Args:
        evidence: Evolutions and assessments.
        designs: Searches for robust designs.

    Raises:
        MissingExtraError: Matplotlib or Jinja2 is not installed.
    """
    _check_installed()
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from robustforge.report.page import page
    from robustforge.report.words import breakable

    layout = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    layout.filters["breakable"] = breakable
    return escaped(layout.get_template("template.html").render(page(evidence, designs)))  # names may hold anything


def _check_installed() -> None:
    for module in ("jinja2", "matplotlib"):
        try:
            import_module(module)
        except ImportError as error:
            raise MissingExtraError(module, "report") from error
