"""What people see of searches on their own models: the plan, the runs as they go on, the design, the worst case."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from robustforge.cli import log
from robustforge.cli.frame import say
from robustforge.cli.layout import Screen, Text, columns, duration, indented, number, paragraphs, show, title
from robustforge.cli.listings import Record
from robustforge.formatting import spread, within
from robustforge.search import Search


def say_plan(search: Search) -> None:
    """Say what is stored already, and warn of workers that will have nothing to do."""
    if search.runs and not search.optimizer.over:
        say(f"going on; {search.runs:,} of {search.file.budget:,} runs are in the store", err=True)
    if warning := too_many(search.file.workers, search.optimizer.width):
        say(f"note: {warning}", err=True)


def too_many(workers: int, width: int) -> str:
    """Return a warning if there are more workers than runs that can be made at the same time; else nothing."""
    if workers <= width:
        return ""
    return (
        f"this heuristic waits for at most {width} runs at a time, so {workers - width} of {workers} workers "
        "will have nothing to do; one with a larger group would use them"
    )


@contextmanager
def watching(search: Search) -> Iterator[Callable[[Search], Any]]:
    """Show how the runs of the model go on; yields what is to be called after each of them."""
    with bar(f"solve {search.experiment.name}", search.file.budget, search.runs, search.failures) as update:
        yield lambda going: update(going.runs, going.failures)


@contextmanager
def bar(what: str, total: int, done: int = 0, failed: int = 0) -> Iterator[Callable[..., Any]]:
    """Show a bar of runs on a terminal, dated lines elsewhere; yields what wants to be told the runs and failures."""
    if not log.on_terminal():
        counts = _Counts(total, done, failed)
        with log.lines(what, counts.status) as counts.say:
            yield counts.update
        return
    parts = (
        TextColumn("runs"),
        BarColumn(bar_width=30, complete_style="bold", finished_style="bold"),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]}"),
        TimeRemainingColumn(),
    )
    with Progress(*parts, console=Screen(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=total, completed=done, failed="")

        def update(runs: int, failures: int = 0) -> None:
            shown.update(task, completed=runs, failed=f"{failures} failed" if failures else "")

        yield update


class _Counts:
    """How many runs of a model there are, for a log."""

    def __init__(self, total: int, done: int, failed: int) -> None:
        self._total, self._runs, self._failed = total, done, failed
        self._first, self._started = done, time.monotonic()
        self.say: log.Say = lambda text: None

    def update(self, runs: int, failures: int = 0) -> None:
        """Take note of runs; the first that fails is said."""
        first_failure = failures and not self._failed
        self._runs, self._failed = runs, failures
        if first_failure:
            self.say(f"run {runs} has failed, the first one without a value")

    def status(self) -> str:
        """Return how far it is."""
        text = f"{self._runs:,} of {self._total:,} runs"
        if self._failed:
            text += f", {self._failed:,} failed"
        made = self._runs - self._first
        if made and self._runs < self._total:
            left = (self._total - self._runs) * (time.monotonic() - self._started) / made
            text += f", {duration(left)} left"
        return text


def show_plan(record: Record, path: str) -> None:
    """Print what would be done with a problem file."""
    table = columns("variable", "bounds", "unit", "tolerance")
    for name, each in record["variables"].items():
        low, high = each["bounds"]
        table.add_row(Text(name, style="bold"), f"{low:g} to {high:g}", each["unit"], each["tolerance"])
    text = paragraphs(12)
    kind = "each on its own (a box)" if record["tolerances"] == "box" else "not all at their worst at once (a ball)"
    text.add_row("goal", f"{record['goal']} the worst case within the tolerances, {kind}")
    earlier = f", after {record['earlier']:,} earlier ones" if record["earlier"] else ""
    text.add_row("budget", f"{record['budget']:,} runs{earlier}; one that fails is {_policy(record['on_failure'])}")
    text.add_row("heuristic", f"{record['heuristic_name']}, at most {record['in_flight']} runs at a time")
    text.add_row("trial", _trial_words(record["trial"]))
    if record["seconds"] is not None and not record["trial"]["failure"]:
        workers = f"{record['workers']} worker{'s' if record['workers'] > 1 else ''}"
        text.add_row("time", f"about {duration(record['seconds'])} with {workers}, if all runs are like this one")
    parts: list[Any] = [title(f"{record['name']}: the plan"), "", indented(table), "", indented(text)]
    trial = record["trial"]
    if trial and trial["tail"]:
        parts += [
            "",
            Text("The last that the model said:", style="dim"),
            indented(Text(trial["tail"].strip())),
        ]
    if warning := too_many(record["workers"], record["in_flight"]):
        parts += ["", Text(f"Note: {warning}.")]
    if not trial:
        parts += ["", Text(f"There is no model to run: robustforge ask {path} shows what to try.", style="dim")]
    elif not trial["failure"]:
        parts += ["", Text(f"robustforge solve {path} begins.", style="dim")]
    show(*parts)


def show_design(record: Record, path: str, store: str | None, name: str | None = None, has_model: bool = True) -> None:
    """Print the design that a search came to."""
    if not record["found"]:
        rest = f"{record['runs']:,} of {record['budget']:,} runs are in {record['store']}"
        show(Text(f"There is no design yet: {record['message']}; {rest}."))
        return
    high = "lowest" if record["goal"] == "maximise" else "highest"
    figures = Table.grid(padding=(0, 2, 0, 0))
    figures.add_column(no_wrap=True)
    figures.add_column(justify="right", no_wrap=True, style="bold")
    figures.add_column(style="dim")
    width = spread(record["worst"], record["nominal"])
    is_own = record["worst"] == record["nominal"]
    known = "its own: nothing worse is known" if is_own else f"the {high} found within the tolerances"
    figures.add_row("worst value known", _value(record["worst"], width), known)
    figures.add_row("nominal value", _value(record["nominal"], width), "if it is built exactly as designed")
    failed = f", {record['failures']} of them without a value" if record["failures"] else ""
    figures.add_row("runs", f"{record['runs']:,}", f"of {record['budget']:,} allowed{failed}")
    table = columns("variable", "value", "unit", "tolerance", "built between")
    for place in (1, 3):
        table.columns[place].no_wrap = True  # a number is never cut
    for each in record["variables"]:
        low, top = each["built"]
        value, *ends = (within(each_one, top - low) for each_one in (each["value"], low, top))
        between = " and ".join(ends) if low < top else ""
        table.add_row(Text(each["name"], style="bold"), value, each["unit"], each["tolerance"], between)
    text = paragraphs(9)
    text.add_row("heuristic", f"{record['heuristic_name']}, at most {record['in_flight']} runs at a time")
    text.add_row("outcome", record["message"])
    option = "".join(f" --{key} {shlex.quote(word)}" for key, word in (("store", store), ("name", name)) if word)
    hint = f"robustforge report {record['store']} shows all."
    if has_model:
        hint = f"robustforge verify {path}{option} looks for a worse case; {hint}"
    else:
        hint += " There is no model that could look for a worse case: try the ends of the tolerances yourself."
    show(
        title(f"Robust design of {record['name']}"),
        "",
        indented(figures),
        "",
        indented(table),
        "",
        indented(text),
        "",
        Text(hint, style="dim"),
    )


def show_verified(record: Record) -> None:
    """Print what an attack came to, and what drives the worst case."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("")
    table.add_column("value", justify="right", no_wrap=True, style="bold")
    table.add_column("", style="dim")
    width = spread(record["nominal"], record["known"], record["worst"])
    table.add_row("nominal", _value(record["nominal"], width), "built exactly as designed")
    table.add_row("known", _value(record["known"], width), "the worst that the search had seen")
    failed = f", {record['failures']} failed" if record["failures"] else ""
    spent = f"after {record['runs']:,} further run{'s' if record['runs'] != 1 else ''}{failed}"
    table.add_row("attacked", _value(record["worst"], width), spent)
    drivers = columns("variable", "at the worst point", "unit", "change across its tolerance")
    for name, slope in record["slopes"].items():
        point = (within(record["worst_point"][name], record["widths"][name]), record["units"][name])
        change = f"{'+' if slope > 0 else ''}{number(slope, 3)}" if slope else ""
        drivers.add_row(Text(name, style="bold"), *point, change)
    show(
        title(f"{record['name']}: the worst within the tolerances"),
        "",
        indented(table),
        "",
        indented(_verdict(record["verdict"])),
        "",
        Text("What drives it, by a linear model of all runs within the tolerances:", style="dim"),
        indented(drivers),
    )


def show_points(record: Record, path: str, output: str | None) -> None:
    """Print the points that wait for a value."""
    points = record["points"]
    if not points:
        show(Text(f"The search is over: {record['runs']:,} runs are in {record['store']}."))
        return
    names = [key for key in points[0] if key != "id"]
    table = columns("id", *(f"{name} ({unit})" if (unit := record["units"][name]) else name for name in names))
    for point in points:
        table.add_row(Text(str(point["id"]), style="bold"), *(number(point[name]) for name in names))
    told = f"robustforge tell {path} {output}" if output else f"robustforge tell {path} {points[0]['id']} VALUE"
    place = f"Exactly so in {output}; fill in the values, then: {told}" if output else f"Their values: {told}"
    show(
        title(
            f"{record['name']}: {len(points)} points wait, {record['runs']:,} of {record['budget']:,} runs are there"
        ),
        "",
        indented(table),
        "",
        Text(place, style="dim"),
    )


def show_told(record: Record, path: str, store: str | None, name: str | None = None, has_model: bool = True) -> None:
    """Print how far a search is that was told values; its answer if it is over."""
    if record["over"]:
        show_design(record["answer"], path, store, name, has_model)
        return
    waiting = len(record["points"])
    count = f"{record['told']} value{'s' if record['told'] != 1 else ''}"
    show(
        Text(f"{count} taken in; {record['runs']:,} of {record['budget']:,} runs are there, {waiting} points wait."),
        Text(f"robustforge ask {path} shows them.", style="dim"),
    )


def _trial_words(trial: Record | None) -> str:
    if trial is None:
        return "none, for there is no model"
    where = "in the middle of the bounds"
    if trial["failure"]:
        return f"failed {where}: {trial['failure']}"
    return f"{number(trial['value'])} {where}, in {trial['seconds']:.2g} s"


def _policy(policy: str) -> str:
    words = {"infeasible": "infeasible", "unknown": "left out", "raise": "the end of the search"}
    return words[policy]


def _verdict(said: Record) -> Text:
    """Return what an attack says about the search, in a colour of its own if that is a warning."""
    if said["kind"] == "warning":
        return Text(f"Warning: {said['text']}", style="bold yellow")
    return Text(said["text"])


def _value(value: float, width: float) -> str:
    """Return a value of the model, with the digits that differences of such a width need."""
    return within(value, width, 4) if math.isfinite(value) else number(value)
