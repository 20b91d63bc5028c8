"""The outcome of an evolution, and a champion."""

from __future__ import annotations

from rich.console import RenderableType

from robustforge.cli.terminal import (
    Text,
    bullets,
    columns,
    indented,
    number,
    paragraphs,
    show,
    title,
)
from robustforge.representation import Heuristic
from robustforge.tables import Record


def show_evolution(payload: Record, champion: Heuristic, path: str | None) -> None:
    """Print the outcome of an evolution.

    Args:
        payload: The evolution.
        champion: Its champion.
        path: The file that the champion was saved to, if any.
    """
    figures = paragraphs(12)
    new, every = payload["new_runs"], payload["runs"]
    figures.add_row("runs", f"{every:,}" + (f", {every - new:,} of them from the store" if every > new else ""))
    if payload["failures"]:
        reason, count = next(iter(payload["reasons"].items()))
        figures.add_row("failed", f"{payload['failures']:,} runs; {count:,} of them: {reason}")
    first, last = payload["generations"][0], payload["generations"][-1]
    kind = "mean worst case" if len(payload["problems"]) == 1 else "0: best, 1: median of the first generation"
    figures.add_row(
        "best", f"{number(first['best'])} -> {number(last['best'])} in {last['number']} generations ({kind})"
    )
    heading = f"{payload['name']}: {_outcome(payload)}"
    if not payload["champion"]["all_finite"]:
        hint = "Every finalist failed on some problem, so there is no usable champion."
    else:
        keep = f"To save it: robustforge champion {payload['store']} --name {payload['name']} -o FILE"
        hint = _saved(path, payload["settings"]["budget"], payload["own_problems"]) or (
            keep if payload["finished"] else ""
        )
    show(
        title(heading),
        "",
        indented(figures),
        "",
        *_champion(payload["champion"], champion, payload["settings"]["budget"]),
        "",
        Text(hint, style="dim"),
    )


def _outcome(payload: Record) -> str:
    """Return the state of an evolution."""
    if not payload["finished"]:
        return f"stopped after {len(payload['generations'])} of {payload['settings']['generations']} generations"
    return "finished" if payload["new_runs"] else "already finished; no new runs"


def show_champion(payload: Record, champion: Heuristic, path: str | None) -> None:
    """Print the champion of a stored evolution, or the best heuristic so far."""
    what = (
        "champion" if payload["finished"] else f"best of generation {payload['generation']} of {payload['generations']}"
    )
    hint = _saved(path, payload["budget"], False) or "To save it, add -o FILE."
    show(
        title(f"{payload['name']}: {what}"),
        "",
        *_champion(payload, champion, payload["budget"]),
        "",
        Text(hint, style="dim"),
    )


def _saved(path: str | None, budget: int, own: bool) -> str:
    """Return where a champion was saved and how to use it, with the budget that it was evolved for."""
    if not path:
        return ""
    if own:
        return f'Saved to {path}. To use it: rf.minimize(problem, heuristic="{path}", budget={budget})'
    return f"Saved to {path}. To use it: robustforge solve PROBLEM --heuristic {path} --budget {budget}"


def _champion(payload: Record, champion: Heuristic, budget: int) -> list[RenderableType]:
    """Return a champion: its mean worst case on each problem, and its description."""
    values = columns("problem", "mean worst case", "runs")
    for row in payload["means"]:
        values.add_row(row["problem"], Text(number(row["mean"]), style="bold"), str(row["runs"]))
    lines = bullets(champion.describe(budget))
    return [Text.assemble("  heuristic ", (payload["id"], "dim")), "", indented(values), "", indented(lines)]
