"""The cache of machine code: where it goes, what is forgotten, and what never is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from robustforge.core import compiler

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


def test_every_module_that_decides_compiled_code_is_in_the_fingerprint(tmp_path):
    package = Path(compiler.__file__).parents[1]
    compiles = [path for path in package.rglob("*.py") if "core.compiler import" in path.read_text()]
    assert {path.relative_to(package).parts[0] for path in compiles} <= set(compiler.PACKAGES_WITH_KERNELS)
    program = "from robustforge.core import compiler; print(compiler.fingerprint())"
    shutil.copytree(package, tmp_path / "robustforge", ignore=shutil.ignore_patterns("__pycache__"))
    found = []
    for edited in ("core/state.py", "core/state_type.py", "core/interpretation.py", "cli/output.py"):
        done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
        found.append(done.stdout)
        with (tmp_path / "robustforge" / edited).open("a") as file:
            file.write("# a change\n")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert len(set(found)) == 4
    assert done.stdout == found[-1]  # the command line has no kernels


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


@pytest.mark.slow
def test_only_what_a_search_uses_is_compiled(tmp_path):
    code = "import robustforge as rf; rf.minimize(lambda x: float(x[0]), [(0, 1)] * 2, rf.Ball(0.1), 60, 'rpso', 1)"
    environment = {**os.environ, "ROBUSTFORGE_CACHE": str(tmp_path), "ROBUSTFORGE_QUIET": ""}
    for said in ("compiling components", ""):
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert said in done.stderr if said else done.stderr == ""
    compiled = {path.name for path in tmp_path.rglob("*.compiled")}
    assert "robustforge.engine.ask_tell.advance.compiled" in compiled
    assert "robustforge.components.swarm._move_swarm.compiled" in compiled
    assert "robustforge.engine.ask_tell.run.compiled" not in compiled
    assert not [name for name in compiled if "regression" in name or "coordinate" in name or "descent_search" in name]
