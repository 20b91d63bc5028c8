"""The commands that run an evolution or a search again: from what was stored of it back to the options.

A problem counts as one of the test problems only if making it anew gives what was stored.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

from robustforge.analysis import Outcome
from robustforge.errors import RobustforgeError
from robustforge.evolution.entry import default_name
from robustforge.evolution.settings import DEFAULT_GRAMMAR, RACE_LEVEL, Settings
from robustforge.heuristic import heuristic, heuristics
from robustforge.problem.functions import FUNCTIONS
from robustforge.problem.held_out import ALL
from robustforge.problem.problem import problem
from robustforge.tables import Record

DEFAULT_DIMENSION, DEFAULT_STORE, DEFAULT_ATTACK = 30, "runs.db", 200

_NAME = re.compile(
    r"(?P<stem>.+)-(?P<dimension>\d{1,9})d(?:-(?P<variant>shifted-rotated|shifted|rotated)-(?P<seed>\d{1,18}))?"
)


def command(outcome: Outcome, where: str) -> Record:
    """Return the command that runs an evolution again, and what it cannot say.

    Args:
        outcome: The evolution.
        where: The store or the folder that it is in.

    Returns:
        `text`, with the options that are not at their defaults; `parts`, the same where a line may end; and `note`,
        empty if the text is all that is needed.
    """
    stored = outcome.settings
    places = [_test_problem(each) for each in stored.get("problems", [])]
    words, note = _problem_words(places)
    words += [*_grammar_words(outcome.grammar), *_setting_words(stored), *_start_words(stored)]
    if _UNNAMED in words:
        note += f" It was started with heuristics of somebody's own: {_UNNAMED} stands for each of them."
    if stored.get("race") not in (None, 0, RACE_LEVEL):
        note += f" Its race was at the level {stored['race']}, which takes `rf.evolve(race={stored['race']})`."
    store = Path(where).name if where and not Path(where).is_dir() else DEFAULT_STORE
    if store != DEFAULT_STORE:
        words += ["--store", store]
    if outcome.name != default_name(outcome.problems):
        words += ["--name", outcome.name]
    parts = _parts(["robustforge", "evolve", *words])
    return {"name": outcome.name, "text": " ".join(parts), "parts": parts, "note": note.strip()}


def search_commands(name: str, where: str, has_model: bool, attack: int = 0) -> list[Record]:
    """Return the commands that do a search again; the store does not know what the problem file was called.

    Args:
        name: What the search is called.
        where: The store that it is in.
        has_model: Whether a model is run; else somebody tells the values.
        attack: Runs of the attack on its answer.
    """
    place = ["PROBLEM.toml", "--store", Path(where).name, "--name", name]
    again = [["solve", *place], ["verify", *place]] if has_model else [["ask", *place]]
    if has_model and attack not in (0, DEFAULT_ATTACK):
        again[1] += ["--budget", str(attack)]
    every = [_parts(["robustforge", *words]) for words in again]
    return [{"name": name, "text": " ".join(parts), "parts": parts, "note": ""} for parts in every]


def _test_problem(stored: Mapping[str, Any]) -> Record | None:
    """Return the name and the options of a test problem; `None` if it is a problem of the user's."""
    found = _NAME.fullmatch(str(stored.get("name")))
    if found is None or found["stem"] not in ALL:
        return None
    variant: Any = found["variant"] or "original"
    seed, outside = int(found["seed"]) if found["seed"] else None, stored.get("outside", "evaluate")
    try:
        made = problem(found["stem"], int(found["dimension"]), variant, seed, outside)
    except RobustforgeError:
        return None
    if made.to_dict() != dict(stored):
        return None
    options = {"dimension": made.dimension, "variant": variant, "variant-seed": seed, "outside": outside}
    return {"name": found["stem"], "options": options}


def _problem_words(places: Sequence[Record | None]) -> tuple[list[str], str]:
    """Return the problems as they are named at the command line, and what is to be said about them."""
    known = [place for place in places if place is not None]
    variants = list(dict.fromkeys(place["options"]["variant"] for place in known))
    several = {"variant": variants[0], "variant-seed": None} if len(variants) > 1 else {}
    if several:  # all problems in all of them, in order: that is what --variants makes
        first = [place["name"] for place in known if place["options"]["variant"] == variants[0]]
        asked = [(name, variant) for variant in variants for name in first]
        seeds = {place["options"]["variant-seed"] for place in known} - {None}
        if asked == [(place["name"], place["options"]["variant"]) for place in known] and seeds == {1}:
            known = [{**place, "options": {**place["options"], **several}} for place in known]
    if not known or len(known) < len(places) or any(place["options"] != known[0]["options"] for place in known):
        note = "Its problems are your own, or differ in their options: MODULE:NAME stands for where they are made."
        return ["--objective", "MODULE:NAME"], note
    names = list(dict.fromkeys(place["name"] for place in known))
    words = ["all"] if len(names) > 1 and names == list(FUNCTIONS) else names
    usual = {"dimension": DEFAULT_DIMENSION, "variant": "original", "variant-seed": None, "outside": "evaluate"}
    given = {key: value for key, value in known[0]["options"].items() if value != usual[key]}
    if several:
        given = {"variants": ",".join(variants), **{key: value for key, value in given.items() if key != "variant"}}
    return [*words, *(part for key, value in given.items() for part in (f"--{key}", str(value)))], ""


def _grammar_words(grammar: Mapping[str, Any]) -> list[str]:
    restrictions = grammar.get("restrictions") or {}
    name = str(grammar.get("name", "paper"))
    words = [] if name == DEFAULT_GRAMMAR else ["--grammar", name]
    for slot, names in restrictions.get("only", {}).items():
        words += ["--only", f"{slot}={','.join(names)}"]
    for name in restrictions.get("without", []):
        words += ["--without", str(name)]
    for field, value in restrictions.get("fix", {}).items():
        words += ["--fix", f"{field}={_plain(value)}"]
    return words


def _setting_words(stored: Mapping[str, Any]) -> list[str]:
    words: list[str] = []
    for field in fields(Settings):
        value = stored.get(field.name, field.default)
        if field.name == "start":
            continue
        if field.name in ("race", "fresh"):
            words += [f"--{field.name}"] if value else []
        elif field.name == "goals":
            words += [f"--goals={','.join(map(str, value))}"] if value else []
        elif value != field.default:
            words += [f"--{field.name.replace('_', '-')}", str(value)]
    return words


_UNNAMED = "HEURISTIC.json"


def _start_words(stored: Mapping[str, Any]) -> list[str]:
    """Return what an evolution was started with: by name what is ready-made, which the store knows by its id only."""
    ids = stored.get("start", [])
    names = {heuristic(name).id: name for name in heuristics()} if ids else {}
    return [word for id in ids for word in ("--start", names.get(id, _UNNAMED))]


def _parts(words: Sequence[str]) -> list[str]:
    """Return a command in parts that stay together: an option with its value."""
    found = [shlex.quote(words[0])]
    for before, word in pairwise(words):
        quoted = shlex.quote(word)
        if before.startswith("--") and not word.startswith("--"):
            found[-1] += f" {quoted}"
        else:
            found.append(quoted)
    return found


def _plain(value: Any) -> str:
    """Return a fixed value, or its limits, as the option takes it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ":".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
