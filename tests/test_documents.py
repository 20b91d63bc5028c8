"""Every code block in the documents runs, and every example in a docstring gives what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import shlex
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import cloudpickle
import pytest

import robustforge
from robustforge.components import Network

ROOT = Path(__file__).parent.parent
AT_THE_TOP = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
DOCUMENTS = [*(ROOT / name for name in AT_THE_TOP), *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^([ ]*)```(\w+)\n(.*?)^[ ]*```$", re.MULTILINE | re.DOTALL)
FOUND = [info.name for info in pkgutil.walk_packages(robustforge.__path__, "robustforge.")]
MODULES = [name for name in FOUND if not name.endswith("__main__")]


def blocks(path: Path, *languages: str) -> list[tuple[str, str]]:
    found = [(kind, textwrap.dedent(body)) for _, kind, body in BLOCK.findall(path.read_text())]
    return [item for item in found if item[0] in languages]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_code_blocks(path, tmp_path, monkeypatch, capsys):
    """Python blocks run in order in one namespace; after each, a `text` block says what was printed so far."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["document"])  # not those of the tests
    module = types.ModuleType("document")
    monkeypatch.setitem(sys.modules, "document", module)
    cloudpickle.register_pickle_by_value(module)  # travels to other processes as the code of a script does
    monkeypatch.setattr(Network, "_alternatives", [*Network.alternatives()])  # an example may add one
    namespace = module.__dict__
    for number, (kind, body) in enumerate(blocks(path, "python", "text")):
        if kind == "python":
            source = tmp_path / f"block{number}.py"  # a file of its own: Numba reads the source of what it compiles
            source.write_text(body)
            exec(compile(body, source, "exec"), namespace)
        else:
            assert capsys.readouterr().out.strip() == body.strip()


@pytest.mark.slow
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_shell_blocks(path, tmp_path):
    """Commands run in order in an empty folder; `make` targets exist (they are run by whoever runs this)."""
    makefile = (ROOT / "Makefile").read_text()
    for _, body in blocks(path, "python", "toml"):
        if named := re.match(r"# (\w+\.(?:py|toml))\n", body):  # a file that the commands use
            (tmp_path / named[1]).write_text(body)
    for _, body in blocks(path, "sh"):
        for line in filter(None, body.splitlines()):
            words = shlex.split(line, comments=True)
            if words[:1] == ["make"]:
                assert re.search(rf"^{words[1]}:", makefile, re.MULTILINE), line
            elif words[0] == "robustforge":
                command = [sys.executable, "-m", "robustforge.cli", *words[1:]]
                done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
                assert done.returncode == 0, done.stderr
            else:  # a script of the benchmarks, which takes long: its options must be known to it
                assert words[0] == "python", line
                script = ROOT / words[1]
                assert all(word in script.read_text() for word in words[2:] if word.startswith("--")), line


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_no_block_is_left_out(path):
    kinds = {kind for _, kind, _ in BLOCK.findall(path.read_text())}
    assert kinds <= {"python", "text", "sh", "toml"}
    assert all(re.match(r"# \w+\.toml\n", body) for _, body in blocks(path, "toml"))
    assert path.read_text().count("```") == 2 * len(BLOCK.findall(path.read_text()))


def test_links_lead_somewhere():
    for path in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#]+)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


def test_public_names_have_docstrings_with_examples():
    for name in robustforge.__all__:
        thing = getattr(robustforge, name)
        assert name == "__version__" or thing.__doc__, name


@pytest.mark.slow
def test_the_demo_runs(tmp_path):
    command = [sys.executable, ROOT / "examples" / "demo.py", "--generations", "2", "--runs", "4"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "generation 2/2" in done.stderr
    assert "rank-sum test at 95%" in done.stdout
    assert (tmp_path / "build" / "demo" / "report.html").stat().st_size > 100_000


def test_the_readme_names_every_component():
    from robustforge.components import (
        Baseline,
        Clamp,
        Final,
        InnerForm,
        Movement,
        Mutation,
        Network,
        Outer,
        Relocation,
        Restart,
        Returned,
        Structure,
    )

    text = (ROOT / "README.md").read_text()
    slots = (Outer, Network, Baseline, Movement, Relocation, Mutation, Clamp, InnerForm)
    for slot in (*slots, Structure, Restart, Returned, Final):
        row = (
            "| " + ", ".join(f"`{c.title}`{' (extension)' if c.extension else ''}" for c in slot.alternatives()) + " |"
        )
        assert row in text, slot
