"""`solve`: find a robust design for a problem file or a test problem."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Any

import click

from robustforge.cli import log
from robustforge.cli.grouped_help import command
from robustforge.cli.options import (
    COUNT,
    FAILED,
    INTERRUPTED,
    execution,
    explicit_options,
    json_option,
    output_option,
    problem_file,
    problem_options,
    refuse,
    search_options,
    store_options,
    verbosity_options,
)
from robustforge.cli.output import echo, print_payload
from robustforge.cli.signals import counted_interrupts, ended_by_signals
from robustforge.errors import StoreWriteError

if TYPE_CHECKING:
    from robustforge.robust_problem import Problem
    from robustforge.simulator.problem_file import ProblemFile
    from robustforge.solver import StoredSearch


@command(
    "robustforge solve filter.toml --workers 2 --store filter.db",
    "robustforge solve rastrigin --heuristic rpso+dd --seed 1 -o result.json",
)
@click.argument("problem", metavar="FILE.toml|PROBLEM")
@search_options
@store_options
@problem_file("--keep-folders", is_flag=True, former="--keep", help="Keep the folder of every run of the model.")
@problem_file("--accept-changes", is_flag=True, help="Reuse stored runs although files of the model have changed.")
@problem_options
@execution(
    "--workers", type=COUNT, metavar="N", show_default="from the file", help="Number of parallel runs of a model."
)
@output_option("result")
@json_option
@verbosity_options
@click.pass_context
def solve(
    ctx: click.Context,
    /,
    problem: str,
    heuristic: str | None,
    budget: int,
    seed: int | None,
    on_failure: str,
    verify: int | None,
    output: str | None,
    as_json: bool,
    store: str | None,
    name: str | None,
    workers: int | None,
    keep_folders: bool,
    accept_changes: bool,
    **options: Any,
) -> None:
    """Solve a problem file or a test problem.

    FILE.toml is a problem file (see `robustforge help problem-file`), PROBLEM a test problem (see `robustforge
    problems`). Options override the file. Those under "Problem" apply to test problems only, those under "Problem file"
    and --workers to problem files only.

    Every run of a model is stored before its value is used. The same command resumes an interrupted search.

    Ctrl-C ends the search: the best design so far is printed and saved, and the exit code is 130.
    """
    from robustforge.cli.load_problem import build_problem, is_problem_file, problem_spec
    from robustforge.cli.payloads import json_text, results
    from robustforge.cli.views.result_view import show_result

    if is_problem_file(problem):
        refuse(ctx, "test problems", *options)
        changes = explicit_options(ctx, "heuristic", "budget", "seed", "on_failure", "verify", "workers", "name")
        solve_file(ctx, problem, store, keep_folders, accept_changes, output, as_json, changes)
        return
    refuse(ctx, "problem files", "store", "name", "workers", "keep_folders", "accept_changes")
    json_text.check_folder(output)
    spec = problem_spec(problem, options)
    made = build_problem(spec)
    seed = secrets.randbits(32) if seed is None else seed
    started = time.perf_counter()
    settings = {"budget": budget, "heuristic": heuristic, "rng": seed, "on_failure": on_failure, "verify": verify}
    result, interrupted = _minimize(made, **settings)
    if interrupted:
        result.message = f"interrupted; {result.message}"
    payload = results.result_payload(spec, heuristic, budget, seed, result, time.perf_counter() - started)
    saved = False
    try:
        saved = json_text.save(payload, output)
    finally:  # print the result even if the disk is full
        radius = float(made.geometry.radii.max())
        print_payload(payload, as_json, lambda: show_result(payload, radius, output if saved else None))
    if interrupted:
        echo("interrupted: this is the best design so far", err=True)
        ctx.exit(INTERRUPTED)
    ctx.exit(0 if result.success else FAILED)


def _minimize(made: Problem, **arguments: Any) -> tuple[Any, bool]:
    """Return the result of a search, and whether Ctrl-C ended it."""
    import robustforge as rf

    if log.shows_views():
        return _minimize_with_bar(made, **arguments)
    try:
        with log.progress_lines(f"solve {made.name}"):
            return rf.minimize(made, **arguments), False
    except KeyboardInterrupt as error:
        result = getattr(error, "result", None)
        if result is None:
            raise
        return result, True


def _minimize_with_bar(made: Problem, **arguments: Any) -> tuple[Any, bool]:
    """Return the same with a progress bar, by ask and tell.

    A callback of `minimize` would build a whole result in each iteration, at 20 times the cost of the search. Ctrl-C is
    handled between two batches, where the state of the search is consistent.
    """
    import robustforge as rf
    from robustforge.cli.views.progress_bars import bar

    search = rf.Optimizer(made, **arguments)
    search.ask()  # may compile, which Ctrl-C may end; the loop asks for the same points again
    with counted_interrupts() as interrupts, bar("solving", search.budget) as update:
        while not interrupts and (batch := search.ask()):
            search.tell(batch.ids, [made(x) for x in batch.x])
            update(search.nfev)
    return search.result(), not search.finished


def solve_file(
    ctx: click.Context,
    target: str,
    store: str | None,
    keep_folders: bool,
    accept_changes: bool,
    output: str | None,
    as_json: bool,
    changes: Any,
) -> None:
    """Solve a problem file.

    Args:
        ctx: The context of the command, which it ends.
        target: The problem file.
        store: Its store, if one is named.
        keep_folders: Whether to keep the folder of every run.
        accept_changes: Whether stored runs are used although files of the model have changed.
        output: Where the design is saved, if anywhere.
        as_json: Whether it is printed as JSON.
        changes: Entries of the file that options override.
    """
    from robustforge.cli.load_problem import check_model, read_file, store_of
    from robustforge.cli.payloads import designs, json_text
    from robustforge.cli.views.design_view import show_design

    json_text.check_folder(output)
    file, where, started = read_file(target, **changes), store_of(target, store), time.perf_counter()
    check_model(file)
    search, interrupted, store_error = _run_search(file, where, keep_folders, accept_changes)
    stored = getattr(store_error, "recovery_copy", None) or where
    payload = designs.design_payload(search, stored, time.perf_counter() - started)
    try:
        json_text.save(payload, output)
    finally:
        print_payload(payload, as_json, lambda: show_design(payload, target, store, changes.get("name")))
    if store_error is not None:  # the design is printed although the store was lost
        raise store_error
    if interrupted:
        echo(f"interrupted: {payload['runs']} runs are stored in {where}; the same command resumes", err=True)
        ctx.exit(INTERRUPTED)
    ctx.exit(0 if payload["success"] else FAILED)


def _run_search(
    file: ProblemFile, store: str, keep_folders: bool, accept_changes: bool
) -> tuple[StoredSearch, bool, StoreWriteError | None]:
    """Run a search until it is complete; return it, whether a signal ended it, and the error if the store was lost."""
    from robustforge.cli.load_problem import model_runner
    from robustforge.cli.views.design_view import log_plan
    from robustforge.cli.views.progress_bars import model_runs
    from robustforge.solver import StoredSearch
    from robustforge.store import Store

    search = None
    try:
        with Store.open(store, durable=True) as opened:
            search = StoredSearch.open(file, opened, accept_changes)
            log_plan(search)
            what = f"solve {search.experiment.name}"
            try:
                with (
                    ended_by_signals(),
                    model_runner(file, store, keep_folders) as submit,
                    model_runs(what, file.budget, search.runs, search.failures) as update,
                ):
                    search.solve(submit, lambda progress: update(progress.runs, progress.failures))
            except KeyboardInterrupt:
                return search, True, None
    except StoreWriteError as error:
        if search is None:
            raise
        return search, False, error
    return search, False, None
