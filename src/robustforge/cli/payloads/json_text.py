"""Payloads as JSON or CSV, on stdout or in a file."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from robustforge.errors import ProblemError
from robustforge.tables import Record, Table


def to_json(payload: Any) -> str:
    """Return a payload as JSON; numbers that are not finite become null, since JSON cannot represent them."""
    return json.dumps(_finite(payload), indent=2, allow_nan=False).replace("\x7f", "\\u007f") + "\n"


def check_folder(path: str | None, flag: str = "--output") -> None:
    """Refuse an output file in a folder that does not exist, before the work starts."""
    if path and not Path(path).absolute().parent.is_dir():
        raise ProblemError(f"{flag} must be in a folder that exists", f"got {path}", "Create the folder first")


def save(payload: Record, path: str | None) -> bool:
    """Write a payload to a file, if one is given; return whether it was written."""
    if path:
        Path(path).write_text(to_json(payload), encoding="utf-8")
    return bool(path)


def save_csv(table: Table, path: str | None) -> None:
    """Write a table as CSV, if a file is given."""
    if path:
        Path(path).write_text(table.to_csv(), encoding="utf-8")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
