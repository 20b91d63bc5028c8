"""The cache of machine code: where it goes, what is forgotten, and what never is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
from robustforge.core import compiler
print(compiler.cache_folder())
compiler.first_use_is_over()
"""


def run(cache: Path) -> Path:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "ROBUSTFORGE_CACHE": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    return Path(done.stdout.strip())


def test_it_goes_where_the_user_says_and_forgets_only_its_own(tmp_path):
    for name in ("photos", "thesis", "mail", "code", "music", "0123456789abcdef"):
        (tmp_path / name).mkdir()
    old = tmp_path / "kernels"
    for number in range(6):
        (old / f"{number:016x}").mkdir(parents=True)
    (old / "notes").mkdir()
    folder = run(tmp_path)
    assert folder.parent == old
    assert {path.name for path in tmp_path.iterdir()} == {
        "photos", "thesis", "mail", "code", "music", "0123456789abcdef", "kernels",
    }  # fmt: skip
    left = {path.name for path in old.iterdir()}
    assert folder.name in left
    assert "notes" in left
    assert len(left) <= 6


def test_without_a_place_to_write_it_uses_one_of_its_own(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    folder = run(blocked)
    assert folder.is_dir()
    assert folder.parent != tmp_path
