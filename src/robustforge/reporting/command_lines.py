"""The command lines that repeat an evolution or a search, reconstructed from what is stored of it.

A stored problem counts as one of the test problems only if that problem, constructed again, equals what is stored.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

from robustforge.analysis import EvolutionRecord
from robustforge.errors import RobustforgeError
from robustforge.evolution.api import default_name
from robustforge.evolution.settings import DEFAULT_GRAMMAR, RACE_LEVEL, Settings, from_stored
from robustforge.representation.presets import heuristic, heuristics
from robustforge.representation.restriction import present_name
from robustforge.robust_problem.engineering import ENGINEERING
from robustforge.robust_problem.held_out import ALL
from robustforge.robust_problem.problem import problem
from robustforge.robust_problem.test_functions import FUNCTIONS
from robustforge.tables import Record

DEFAULT_DIMENSION, DEFAULT_STORE, DEFAULT_ATTACK = 30, "runs.db", 200

_NAME = re.compile(
    r"(?P<stem>.+)-(?P<dimension>\d{1,9})d(?:-(?P<variant>shifted-rotated|shifted|rotated)-(?P<seed>\d{1,18}))?"
)


def command(evolution: EvolutionRecord, where: str) -> Record:
    """Return the command that repeats an evolution, with a note on what it cannot express.

    Args:
        evolution: The evolution.
        where: The store or the folder that it is in.

    Returns:
        `text`, with the options that differ from their defaults; `parts`, the same between possible line breaks; and
        `note`, empty if the command is complete.
    """
    stored = evolution.settings
    problems = [_test_problem(each) for each in stored.get("problems", [])]
    arguments, note = _problem_arguments(problems)
    arguments += [*_grammar_arguments(evolution.grammar), *_setting_arguments(stored), *_initial_arguments(stored)]
    if _UNNAMED in arguments:
        note += f" It started from custom heuristics: {_UNNAMED} stands for each of them."
    if stored.get("race") not in (None, 0, RACE_LEVEL):
        level = stored["race"]
        note += f" The level of its race, {level}, can be set in Python only: `rf.evolve(race_level={level})`."
    store = Path(where).name if where and not Path(where).is_dir() else DEFAULT_STORE
    if store != DEFAULT_STORE:
        arguments += ["--store", store]
    if evolution.name != default_name(evolution.problems):
        arguments += ["--name", evolution.name]
    parts = _parts(["robustforge", "evolve", *arguments])
    return {"name": evolution.name, "text": " ".join(parts), "parts": parts, "note": note.strip()}


def search_commands(name: str, where: str, has_model: bool, attack: int = 0) -> list[Record]:
    """Return the commands that repeat a search; the name of the problem file is not stored.

    Args:
        name: The name of the search.
        where: The store that it is in.
        has_model: Whether a model is run; otherwise the user reports the values.
        attack: Runs of the attack on its design.
    """
    target = ["PROBLEM.toml", "--store", Path(where).name, "--name", name]
    commands = [["solve", *target], ["verify", *target]] if has_model else [["ask", *target]]
    if has_model and attack not in (0, DEFAULT_ATTACK):
        commands[1] += ["--budget", str(attack)]
    every = [_parts(["robustforge", *arguments]) for arguments in commands]
    return [{"name": name, "text": " ".join(parts), "parts": parts, "note": ""} for parts in every]


def _test_problem(stored: Mapping[str, Any]) -> Record | None:
    """Return the name and the options of a test problem; `None` for any other problem."""
    if str(stored.get("name")) in ENGINEERING:
        return _engineering_problem(stored)
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
    options = {"dimension": made.dimension, "variant": variant, "variant-seed": seed, "out-of-bounds": outside}
    return {"name": found["stem"], "options": options}


def _engineering_problem(stored: Mapping[str, Any]) -> Record | None:
    name, outside = stored["name"], stored.get("outside", "evaluate")
    try:
        made = problem(name, out_of_bounds=outside)
    except RobustforgeError:
        return None
    if made.to_dict() != dict(stored):
        return None
    options = {"dimension": DEFAULT_DIMENSION, "variant": "original", "variant-seed": None, "out-of-bounds": outside}
    return {"name": name, "options": options}


def _problem_arguments(problems: Sequence[Record | None]) -> tuple[list[str], str]:
    """Return the arguments that name the problems, and a note if that is not possible."""
    known = [each for each in problems if each is not None]
    variants = list(dict.fromkeys(each["options"]["variant"] for each in known))
    several = {"variant": variants[0], "variant-seed": None} if len(variants) > 1 else {}
    if several:  # --variants makes every problem in every variant, in this order
        first = [each["name"] for each in known if each["options"]["variant"] == variants[0]]
        product = [(name, variant) for variant in variants for name in first]
        seeds = {each["options"]["variant-seed"] for each in known} - {None}
        if product == [(each["name"], each["options"]["variant"]) for each in known] and seeds == {1}:
            known = [{**each, "options": {**each["options"], **several}} for each in known]
    if not known or len(known) < len(problems) or any(each["options"] != known[0]["options"] for each in known):
        note = "Its problems are custom, or differ in their options: MODULE:NAME stands for the object that makes them."
        return ["--objective", "MODULE:NAME"], note
    names = list(dict.fromkeys(each["name"] for each in known))
    arguments = ["all"] if len(names) > 1 and names == list(FUNCTIONS) else names
    defaults = {
        "dimension": DEFAULT_DIMENSION,
        "variant": "original",
        "variant-seed": None,
        "out-of-bounds": "evaluate",
    }
    given = {key: value for key, value in known[0]["options"].items() if value != defaults[key]}
    if several:
        given = {"variants": ",".join(variants), **{key: value for key, value in given.items() if key != "variant"}}
    return [*arguments, *(part for key, value in given.items() for part in (f"--{key}", str(value)))], ""


def _grammar_arguments(grammar: Mapping[str, Any]) -> list[str]:
    restrictions = grammar.get("restrictions") or {}
    name = present_name(grammar)
    arguments = [] if name == DEFAULT_GRAMMAR else ["--grammar", name]
    for slot, names in restrictions.get("only", {}).items():
        arguments += ["--only", f"{slot}={','.join(names)}"]
    for name in restrictions.get("without", []):
        arguments += ["--without", str(name)]
    for field, value in restrictions.get("fix", {}).items():
        arguments += ["--fix", f"{field}={_plain(value)}"]
    return arguments


def _setting_arguments(stored: Mapping[str, Any]) -> list[str]:
    arguments: list[str] = []
    present = from_stored(stored)
    for field in fields(Settings):
        value = present.get(field.name, field.default)
        if field.name == "initial_heuristics":
            continue
        if field.name in _FLAGS:
            arguments += [_FLAGS[field.name]] if value else []
        elif field.name == "goals":
            arguments += [f"--goals={','.join(map(str, value))}"] if value else []
        elif value != field.default:
            arguments += [f"--{field.name.replace('_', '-')}", str(value)]
    return arguments


_FLAGS = {"race_level": "--race", "resample_instances": "--resample-instances"}
"""Options without a value, by the setting that they change."""
_UNNAMED = "HEURISTIC.json"


def _initial_arguments(stored: Mapping[str, Any]) -> list[str]:
    """Return the initial heuristics of an evolution, of which only ids are stored; ready-made ones get their names."""
    ids = stored.get("start", [])
    names = {heuristic(name).id: name for name in heuristics()} if ids else {}
    return [word for id in ids for word in ("--initial-heuristic", names.get(id, _UNNAMED))]


def _parts(words: Sequence[str]) -> list[str]:
    """Return a command in parts that are not broken across lines: an option stays with its value."""
    parts = [shlex.quote(words[0])]
    for before, word in pairwise(words):
        quoted = shlex.quote(word)
        if before.startswith("--") and not word.startswith("--"):
            parts[-1] += f" {quoted}"
        else:
            parts.append(quoted)
    return parts


def _plain(value: Any) -> str:
    """Return a fixed value, or its limits, in the syntax of the option."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ":".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
