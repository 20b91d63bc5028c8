"""The commands for users' own models: `check`, `ask` and `tell`; and `solve` and `verify` of a problem file."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from robustforge.cli.frame import (
    FAILED,
    INTERRUPTED,
    examples,
    give,
    interruptible_once,
    json_option,
    options,
    output_option,
    say,
)
from robustforge.errors import ProblemError, StoreWriteError

if TYPE_CHECKING:
    from robustforge.model.problem_file import ProblemFile

WORKERS = click.IntRange(min=1)

file_options = options(
    click.option("--store", metavar="FILE", show_default="FILE.db for FILE.toml", help="Keeps every run of the model."),
    click.option("--name", metavar="NAME", show_default="of the problem", help="What the search is called there."),
)
run_options = options(
    click.option("--workers", type=WORKERS, metavar="N", show_default="of the file", help="Runs at the same time."),
    click.option("--keep", is_flag=True, help="Keep the folder of every run, not only of the first that fail."),
    click.option("--accept-changes", is_flag=True, help="Stored runs hold although the model's files have changed."),
)


def is_problem_file(target: str) -> bool:
    """Whether a word on the command line is a problem file."""
    return target.endswith(".toml")


def given(ctx: click.Context, *names: str) -> dict[str, Any]:
    """Return those options that were given on the command line, by name."""
    return {name: ctx.params[name] for name in names if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT}


def refuse(ctx: click.Context, what: str, *names: str) -> None:
    """Refuse options that do not belong to what is solved or verified."""
    for name in given(ctx, *names):
        flag = next(parameter.opts[0] for parameter in ctx.command.params if parameter.name == name)
        raise ProblemError(f"{flag} belongs to {what}", "it was given for something else", f"Leave {flag} out")


def read(target: str, **changes: Any) -> ProblemFile:
    """Read a problem file, some of whose entries the command line overrides."""
    from dataclasses import replace

    from robustforge.model.problem_file import read_problem_file

    wanted = {key: value for key, value in changes.items() if value is not None}
    return replace(read_problem_file(target), **wanted)


def store_of(target: str, store: str | None) -> str:
    """Return the store of a problem file: the one that is named, or one beside it."""
    return store or str(Path(target).with_suffix(".db"))


def solve_file(
    ctx: click.Context,
    target: str,
    store: str | None,
    keep: bool,
    accept_changes: bool,
    output: str | None,
    as_json: bool,
    changes: Any,
) -> None:
    """Solve a problem file, as `solve` does."""
    from robustforge.cli import designs, models, records
    from robustforge.search import Search
    from robustforge.store import Store

    records.check_folder(output)
    file, where = read(target, **changes), store_of(target, store)
    models.check_model(file)
    started, interrupted, search, lost = time.perf_counter(), False, None, None
    try:
        with Store.open(where, durable=True) as kept:
            search = Search.open(file, kept, accept_changes)
            designs.say_plan(search)
            try:
                with (
                    _ended_by_signals(),
                    models.running(file, where, keep) as submit,
                    designs.watching(search) as notice,
                ):
                    search.solve(submit, notice)
            except KeyboardInterrupt:
                interrupted = True
    except StoreWriteError as error:
        if search is None:
            raise
        lost = error
    place = getattr(lost, "rescued", None) or where
    record = models.design_record(search, place, time.perf_counter() - started)
    try:
        records.save(record, output)
    finally:
        give(record, as_json, lambda: designs.show_design(record, target, store, changes.get("name")))
    if lost is not None:  # the design that was found is not lost with the store
        raise lost
    if interrupted:
        say(f"interrupted: {record['runs']} runs are in {where}; the same command goes on from there", err=True)
        ctx.exit(INTERRUPTED)
    ctx.exit(0 if record["success"] else FAILED)


def verify_file(ctx: click.Context, target: str, store: str | None, budget: int, as_json: bool, changes: Any) -> None:
    """Verify the answer to a problem file, as `verify` does."""
    from robustforge.cli import designs, models
    from robustforge.search import Attack, Search
    from robustforge.store import Store

    file, where = read(target, **changes), store_of(target, store)
    models.check_model(file)
    if not os.path.exists(where):
        raise ProblemError("only a search that came to a design can be verified", f"there is no {where}", "`solve` it")
    attack, lost = None, None
    try:
        with Store.open(where, durable=True) as kept:
            attack = Attack(Search.again(file, kept))
            try:
                with (
                    _ended_by_signals(),
                    models.running(file, where, False) as submit,
                    designs.bar(f"verify {file.name}", budget) as update,
                ):
                    attack.carry_out(
                        max(budget, attack.stored), submit, lambda going: update(going.runs, going.failures)
                    )
            except KeyboardInterrupt:
                say(f"interrupted: what was run is in {where}; the same command goes on from there", err=True)
                ctx.exit(INTERRUPTED)
    except StoreWriteError as error:
        if attack is None:
            raise
        lost = error
    record = models.verified_record(file, attack.outcome(), where, budget)
    give(record, as_json, lambda: designs.show_verified(record))
    if lost is not None:
        raise lost


@click.command(epilog=examples("robustforge check filter.toml"))
@click.argument("file")
@json_option
@click.pass_context
def check(ctx: click.Context, file: str, as_json: bool) -> None:
    """Try a problem file: read it, run its model once, show the plan.

    Nothing is stored. The model runs in the middle of the bounds. Exit code 1 if it fails there.
    """
    from robustforge.cli import designs, models

    with _ended_by_signals():
        record = models.plan_record(read(file))
    give(record, as_json, lambda: designs.show_plan(record, file))
    ctx.exit(FAILED if record["trial"] and record["trial"]["failure"] else 0)


@click.command(epilog=examples("robustforge ask lab.toml", "robustforge ask lab.toml -o points.csv"))
@click.argument("file")
@file_options
@click.option("-o", "--output", metavar="FILE", help="Write them as CSV, with a column for the values.")
@json_option
def ask(file: str, store: str | None, name: str | None, output: str | None, as_json: bool) -> None:
    """Show the points that wait for a value, for models that you run by hand.

    `tell` takes the values. The same points are shown until all of them have one; with none left, the search is over.
    """
    from robustforge.cli import designs, models
    from robustforge.search import Search
    from robustforge.store import Store

    problem, where = read(file, name=name), store_of(file, store)
    with Store.open(where, durable=True) as kept:
        record = models.points_record(Search.open(problem, kept), where)
    if output:
        models.write_points(record, output)
    give(record, as_json, lambda: designs.show_points(record, file, output))


@click.command(
    epilog=examples("robustforge tell lab.toml 0 12.5", "robustforge tell lab.toml points.csv"),
    context_settings={"ignore_unknown_options": True},  # a value may be negative
)
@click.argument("file")
@click.argument("what", metavar="ID|CSV")
@click.argument("value", required=False)
@file_options
@output_option("answer")
@json_option
def tell(
    file: str,
    what: str,
    value: str | None,
    store: str | None,
    name: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Tell the values of points that `ask` has shown.

    Either one, by its id, or all that have a value in a CSV file that `ask -o` wrote; those told before with the same
    value are skipped. The word "failed" instead of a number says that there is none.
    """
    from robustforge.cli import designs, models, records
    from robustforge.search import Search
    from robustforge.store import Store

    records.check_folder(output)
    problem, where = read(file, name=name), store_of(file, store)
    told = models.parse_told(what, value)
    with Store.open(where, durable=True) as kept:
        search = Search.open(problem, kept)
        new = search.new_ones(told)
        for number, outcome in new:
            search.tell(number, outcome)
        search.close_if_over()
        record = models.told_record(search, len(new), where)
    if skipped := len(told) - len(new):
        say(f"note: {skipped} told before with the same value; skipped", err=True)
    records.save(record, output)
    give(record, as_json, lambda: designs.show_told(record, file, store, name, problem.model is not None))


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let SIGTERM, which queues and systems send, end the work as Ctrl-C does."""

    def end(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        with interruptible_once():
            yield
    finally:
        signal.signal(signal.SIGTERM, before)
