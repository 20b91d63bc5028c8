"""Searches of problem files: the plan, the design, the worst case, and the points to evaluate by hand."""

from __future__ import annotations

import logging
import math
import shlex
from typing import Any

from rich.table import Table

from robustforge.cli.terminal import (
    Text,
    columns,
    figures,
    indented,
    number,
    paragraphs,
    show,
    title,
)
from robustforge.formatting import at_precision, count, finite_range, whole_duration
from robustforge.solver import StoredSearch
from robustforge.tables import Record

_logger = logging.getLogger(__name__)


def log_plan(search: StoredSearch) -> None:
    """Log how many runs are stored, and whether some workers will be idle."""
    if search.runs and not search.optimizer.finished:
        runs = f"{search.runs:,} of {search.file.budget:,} runs"
        _logger.info("solve %s: resumed, %s are stored", search.experiment.name, runs)
    if warning := idle_workers(search.file.workers, search.optimizer.max_batch):
        _logger.warning("note: %s", warning)


def idle_workers(workers: int, width: int) -> str:
    """Return a warning if there are more workers than parallel runs of a heuristic; otherwise an empty string."""
    if workers <= width:
        return ""
    return (
        f"this heuristic evaluates at most {width} points in parallel, so {workers - width} of {workers} workers are "
        "idle; a heuristic with a larger swarm would use them"
    )


def show_plan(payload: Record, path: str) -> None:
    """Print the plan of a search."""
    table = columns("variable", "bounds", "unit", "tolerance")
    for name, each in payload["variables"].items():
        low, high = each["bounds"]
        table.add_row(Text(name, style="bold"), f"{low:g} to {high:g}", each["unit"], each["tolerance"])
    text = paragraphs(12)
    kind = "independent (box)" if payload["tolerances"] == "box" else "joint (ellipsoid)"
    text.add_row("goal", f"{payload['goal']} the worst case within the tolerances")
    text.add_row("tolerances", kind)
    earlier = f", after {payload['earlier']:,} earlier runs" if payload["earlier"] else ""
    text.add_row("budget", f"{payload['budget']:,} runs{earlier}; {_policy(payload['on_failure'])}")
    text.add_row("heuristic", f"{payload['heuristic_name']}, at most {payload['max_parallel']} parallel runs")
    text.add_row("trial run", _trial_outcome(payload["trial"]))
    if payload["seconds"] is not None and not payload["trial"]["failure"]:
        workers = count(payload["workers"], "worker")
        text.add_row(
            "time",
            f"about {whole_duration(payload['seconds'])} with {workers}, if all runs take as long as the trial run",
        )
    parts: list[Any] = [title(f"{payload['name']}: plan"), "", indented(table), "", indented(text)]
    trial = payload["trial"]
    if trial and trial["tail"]:
        parts += [
            "",
            Text("Last lines of output:", style="dim"),
            indented(Text(trial["tail"].strip())),
        ]
    if warning := idle_workers(payload["workers"], payload["max_parallel"]):
        parts += ["", Text(f"Note: {warning}.")]
    if not trial:
        parts += ["", Text(f"The file has no model. For the points to evaluate: robustforge ask {path}", style="dim")]
    elif not trial["failure"]:
        parts += ["", Text(f"To start: robustforge solve {path}", style="dim")]
    show(*parts)


def show_design(payload: Record, path: str, store: str | None, name: str | None = None, has_model: bool = True) -> None:
    """Print the design that a search found.

    Args:
        payload: The design.
        path: The problem file.
        store: The store, if one was given.
        name: The name of the search, if one was given.
        has_model: Whether the problem file has a model.
    """
    if not payload["found"]:
        rest = f"{payload['runs']:,} of {payload['budget']:,} runs are stored in {payload['store']}"
        show(Text(f"No design yet: {payload['message']}; {rest}."))
        return
    text = paragraphs(9)
    text.add_row("heuristic", f"{payload['heuristic_name']}, at most {payload['max_parallel']} parallel runs")
    text.add_row("outcome", payload["message"])
    options = "".join(f" --{key} {shlex.quote(word)}" for key, word in (("store", store), ("name", name)) if word)
    hint = f"For a report: robustforge report {payload['store']}"
    if has_model:
        hint = f"To search for a worse case: robustforge verify {path}{options}\n{hint}"
    else:
        hint += "\nWithout a model, check the extremes of the tolerances yourself."
    parts = [indented(_values(payload)), indented(_verdict(payload["verdict"]))] if payload["success"] else []
    parts = parts or [indented(_values(payload))]
    parts += [indented(_variables(payload["variables"])), indented(text)]
    show(title(f"Robust design of {payload['name']}"), *(part for each in parts for part in ("", each)))
    show("", Text(hint, style="dim"))


def _values(payload: Record) -> Table:
    """Return the worst and the nominal value of a design, and the number of runs."""
    direction = "lowest" if payload["goal"] == "maximise" else "highest"
    width = finite_range(payload["worst"], payload["nominal"])
    is_nominal = payload["worst"] == payload["nominal"]
    known = (
        "nominal value: no worse value was found" if is_nominal else f"{direction} value found within the tolerances"
    )
    failed = f", {payload['failures']} of them failed" if payload["failures"] else ""
    table = figures()
    table.add_row("worst value found", _value(payload["worst"], width), known)
    table.add_row("nominal value", _value(payload["nominal"], width), "if built exactly as designed")
    table.add_row("runs", f"{payload['runs']:,}", f"of a budget of {payload['budget']:,}{failed}")
    return table


def _variables(rows: list[Record]) -> Table:
    """Return the variables of a design, with the intervals that they are built in."""
    table = columns("variable", "value", "unit", "tolerance", "built between")
    for column in (table.columns[1], table.columns[3]):
        column.no_wrap = True  # a number is never cut
    for row in rows:
        low, high = row["built"]
        value, *ends = (at_precision(number, high - low) for number in (row["value"], low, high))
        between = " and ".join(ends) if low < high else ""
        table.add_row(Text(row["name"], style="bold"), value, row["unit"], row["tolerance"], between)
    return table


def show_verified(payload: Record) -> None:
    """Print the outcome of an attack, and the variables that drive the worst case."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("")
    table.add_column("value", justify="right", no_wrap=True, style="bold")
    table.add_column("", style="dim")
    width = finite_range(payload["nominal"], payload["found_by_search"], payload["worst"])
    table.add_row("nominal", _value(payload["nominal"], width), "built exactly as designed")
    table.add_row("found", _value(payload["found_by_search"], width), "worst value found by the search")
    failed = f", {payload['failures']} failed" if payload["failures"] else ""
    spent = f"after {count(payload['runs'], 'further run')}{failed}"
    table.add_row("attacked", _value(payload["worst"], width), spent)
    drivers = columns("variable", "at the worst point", "unit", "change across its tolerance")
    for name, slope in payload["slopes"].items():
        point = (at_precision(payload["worst_point"][name], payload["widths"][name]), payload["units"][name])
        change = f"{'+' if slope > 0 else ''}{number(slope, 3)}" if slope else ""
        drivers.add_row(Text(name, style="bold"), *point, change)
    show(
        title(f"{payload['name']}: worst case within the tolerances"),
        "",
        indented(table),
        "",
        indented(_verdict(payload["verdict"])),
        "",
        Text("Drivers of the worst case, by a linear model of all runs within the tolerances:", style="dim"),
        indented(drivers),
    )


def show_points(payload: Record, path: str, output: str | None) -> None:
    """Print the pending points."""
    points = payload["points"]
    if not points:
        show(Text(f"The search is complete: {payload['runs']:,} runs are stored in {payload['store']}."))
        return
    names = [key for key in points[0] if key != "id"]
    table = columns("id", *(f"{name} ({unit})" if (unit := payload["units"][name]) else name for name in names))
    for point in points:
        table.add_row(Text(str(point["id"]), style="bold"), *(number(point[name]) for name in names))
    report = f"robustforge tell {path} {output}" if output else f"robustforge tell {path} {points[0]['id']} VALUE"
    hint = f"Written to {output}. Fill in the values, then: {report}" if output else f"To report values: {report}"
    runs = f"{payload['runs']:,} of {payload['budget']:,} runs completed"
    show(
        title(f"{payload['name']}: {count(len(points), 'point')} pending, {runs}"),
        "",
        indented(table),
        "",
        Text(hint, style="dim"),
    )


def show_reported(
    payload: Record, path: str, store: str | None, name: str | None = None, has_model: bool = True
) -> None:
    """Print the state of a search after values were reported; its design if it is complete."""
    if payload["finished"]:
        show_design(payload["result"], path, store, name, has_model)
        return
    runs = f"{payload['runs']:,} of {payload['budget']:,} runs completed"
    show(
        Text(
            f"{count(payload['new_values'], 'value')} stored; {runs}, {count(len(payload['points']), 'point')} pending."
        ),
        Text(f"For the pending points: robustforge ask {path}", style="dim"),
    )


def _trial_outcome(trial: Record | None) -> str:
    if trial is None:
        return "none, the file has no model"
    where = "at the centre of the bounds"
    if trial["failure"]:
        return f"failed {where}: {trial['failure']}"
    return f"{number(trial['value'])} {where}, in {trial['seconds']:.2g} s"


def _policy(policy: str) -> str:
    effects = {"infeasible": "count as infeasible", "unknown": "are left out", "raise": "end the search"}
    return f"failed runs {effects[policy]}"


def _verdict(verdict: Record) -> Text:
    """Return the verdict of an attack on the search; a warning is coloured."""
    if verdict["kind"] == "warning":
        return Text(f"Warning: {verdict['text']}", style="bold yellow")
    return Text(verdict["text"])


def _value(value: float, width: float) -> str:
    """Return a value of the model, with the digits that differences of this width need."""
    return at_precision(value, width, 4) if math.isfinite(value) else number(value)
