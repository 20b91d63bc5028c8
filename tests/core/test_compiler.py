"""The cache of machine code: where it goes, what is forgotten, and what never is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAM = """
from robustforge.core import compiler
print(compiler.cache_folder(), flush=True)
input()
"""


@contextmanager
def living(cache: Path) -> Iterator[Path]:
    """Run a process that uses the cache, and let it live meanwhile."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "ROBUSTFORGE_CACHE": str(cache)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip())
    yield folder
    process.communicate("\n")


def run(cache: Path) -> Path:
    with living(cache) as folder:
        return folder


def made_before(kernels: Path, count: int) -> list[Path]:
    """Make folders of other fingerprints, the first of which was used least recently but made last."""
    folders = [kernels / f"{number:016x}" for number in range(count)]
    for age, folder in enumerate(reversed(folders)):
        folder.mkdir(parents=True)
        (folder / "used").touch()
        os.utime(folder / "used", (2e9 - 1e6 * age, 2e9 - 1e6 * age) if age < 5 else (1e9 - age, 1e9 - age))
    return folders


def test_it_goes_where_the_user_says_and_forgets_only_its_own(tmp_path):
    for name in ("photos", "thesis", "mail", "code", "music", "0123456789abcdef"):
        (tmp_path / name).mkdir()
    made_before(tmp_path / "kernels", 20)
    (tmp_path / "kernels" / "notes").mkdir()
    folder = run(tmp_path)
    assert folder.parent == tmp_path / "kernels"
    assert {path.name for path in tmp_path.iterdir()} == {
        "photos", "thesis", "mail", "code", "music", "0123456789abcdef", "kernels",
    }  # fmt: skip
    left = {path.name for path in folder.parent.iterdir()}
    assert folder.name in left
    assert "notes" in left
    assert len(left) == 16 + 1


def test_what_was_unused_for_longest_is_forgotten_first(tmp_path):
    folders = made_before(tmp_path / "kernels", 18)
    run(tmp_path)
    assert [folder.exists() for folder in folders] == [False] * 3 + [True] * 15


def test_nothing_is_forgotten_while_a_process_that_uses_it_lives(tmp_path):
    with living(tmp_path) as mine:
        used = tmp_path / "kernels" / f"{0:016x}"  # as another installation's, in use by the same process
        mine.rename(used)
        made_before(tmp_path / "kernels", 0)
        for number in range(1, 20):
            (tmp_path / "kernels" / f"{number:016x}").mkdir()
        os.utime(used / "used", (1.0, 1.0))
        run(tmp_path)
        assert used.exists()
    shutil.rmtree(mine)
    run(tmp_path)
    assert not used.exists()


def test_without_a_place_to_write_it_uses_one_of_its_own(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    folder = run(blocked)
    assert folder.is_dir()
    assert folder.parent != tmp_path


def test_only_what_a_search_uses_is_compiled(tmp_path):
    code = "import robustforge as rf; rf.minimize(lambda x: float(x[0]), [(0, 1)] * 2, rf.Ball(0.1), 60, 'rpso', 1)"
    environment = {**os.environ, "ROBUSTFORGE_CACHE": str(tmp_path), "ROBUSTFORGE_QUIET": ""}
    for said in ("compiling for this machine", ""):
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert said in done.stderr if said else done.stderr == ""
    compiled = {path.name for path in tmp_path.rglob("*.compiled")}
    assert "robustforge.engine.machine.advance.compiled" in compiled
    assert "robustforge.components.outer._move_as_swarm.compiled" in compiled
    assert "robustforge.engine.machine.run.compiled" not in compiled
    assert not [name for name in compiled if "regression" in name or "coordinate" in name or "descent" in name]
