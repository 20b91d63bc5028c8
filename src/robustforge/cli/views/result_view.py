"""The results of `solve` and `verify` for a test problem."""

from __future__ import annotations

from robustforge.cli.terminal import (
    Text,
    columns,
    figures,
    indented,
    number,
    paragraphs,
    show,
    title,
    vector,
)
from robustforge.formatting import duration
from robustforge.tables import Record

NOT_ATTACKED = "not attacked: the worst value is that of the search"


def show_result(payload: Record, radius: float, path: str | None) -> None:
    """Print the result of a search.

    Args:
        payload: The result.
        radius: Radius of the uncertainty ball.
        path: The file that the result was saved to, if any.
    """
    table = figures()
    used = f"of a budget of {payload['budget']:,}, in {_time(payload['seconds'])}"
    is_own = payload["worst_x"] == payload["x"]
    known = (
        f"nominal value: no worse value was found within {radius:g}"
        if is_own
        else f"highest value found within {radius:g}"
    )
    table.add_row("worst value found", number(payload["fun"]), known)
    table.add_row("nominal value", number(payload["nominal_fun"]), "if built exactly as designed")
    table.add_row("estimate", number(payload["estimate"]), "worst case as the search believed")
    table.add_row("attack", f"{payload['attack_runs']:,}", payload["attack"] or NOT_ATTACKED)
    table.add_row("evaluations", f"{payload['nfev']:,}", used)
    name = payload["heuristic_name"]
    text = paragraphs(17)
    text.add_row("design", vector(payload["x"]))
    text.add_row("worst point", vector(payload["worst_x"]))
    text.add_row("heuristic", Text.assemble(name, (f"  (see: robustforge show {name})", "dim")))
    text.add_row("seed", Text(str(payload["seed"])))
    text.add_row("outcome", Text(payload["message"]))
    if path:
        hint = f"Saved to {path}. To search for a worse case: robustforge verify {path}"
    else:
        hint = "To save it, add -o FILE. To search for a worse case: robustforge verify FILE"
    show(
        title(f"Robust design for {_problem_name(payload['problem'])}"),
        "",
        indented(table),
        "",
        indented(text),
        "",
        Text(hint, style="dim"),
    )


def show_verification(payload: Record, radius: float) -> None:
    """Print the worst case of a design: as known before, and as found by sampling and by an attack."""
    nominal = payload["nominal_fun"]
    rows = [("nominal", {"fun": nominal, "nfev": None}, "built exactly as designed")]
    if payload["found_by_search"]:
        rows.append(("found", payload["found_by_search"], "worst value found by the search"))
    rows.append(("sampled", payload["sampled"], "worst of the random points"))
    rows.append(("attacked", payload["attacked"], "worst value found by ascent"))
    table = columns("", "value", "increase", "evaluations", "")
    for column in table.columns[1:4]:
        column.justify, column.no_wrap = "right", True
    table.columns[4].style = "dim"
    for label, found, meaning in rows:
        rise = "" if label == "nominal" else f"{found['fun'] - nominal:+,.5g}"
        count = "" if found["nfev"] is None else f"{found['nfev']:,}"
        table.add_row(label, Text(number(found["fun"]), style="bold"), rise, count, meaning)
    design = paragraphs(8)
    design.add_row("design", vector(payload["x"]))
    show(
        title(f"{_problem_name(payload['problem'])}: worst case within {radius:g} of the design"),
        "",
        indented(table),
        "",
        indented(design),
    )


def _time(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 10 else duration(seconds)


def _problem_name(spec: Record) -> str:
    seed = "" if spec["variant_seed"] is None else f" (seed {spec['variant_seed']})"
    variant = "" if spec["variant"] == "original" else f"{spec['variant']} "
    plural = "" if spec["dimension"] == 1 else "s"
    return f"{variant}{spec['name']}{seed}, {spec['dimension']} variable{plural}"
