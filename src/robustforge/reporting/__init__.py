"""The report on a store or a folder of results: its data, its figures and its page."""

from robustforge.reporting.api import page_html, report

__all__ = ["page_html", "report"]
