"""Every code block in the documents runs, and every example in a docstring gives what it says."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import json
import pkgutil
import re
import shlex
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import click
import cloudpickle
import pytest

import robustforge
from robustforge import components
from robustforge.cli import main
from robustforge.components import Network

ROOT = Path(__file__).parent.parent
AT_THE_TOP = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
DOCUMENTS = [*(ROOT / name for name in AT_THE_TOP), *sorted((ROOT / "docs").rglob("*.md"))]
NOTEBOOKS = sorted((ROOT / "docs").rglob("*.ipynb"))
FENCE = re.compile(r"^[ ]*(`{3,})(.*)\n(?s:(.*?))^[ ]*\1[ ]*$", re.MULTILINE)
LANGUAGES = {"python", "text", "sh", "toml"}
DIRECTIVES = {"{toctree}", "{eval-rst}", "{math}", "{note}", "{warning}", "{tip}"}
"""MyST directives without code; `{code-block} LANGUAGE` counts as a block in this language."""
FOUND = [info.name for info in pkgutil.walk_packages(robustforge.__path__, "robustforge.")]
MODULES = [name for name in FOUND if not name.endswith("__main__")]


def blocks(path: Path, *languages: str) -> list[tuple[str, str]]:
    """Return the blocks in some languages, or all of them: language or directive, and text."""
    found = [language_and_text(info, body) for _, info, body in FENCE.findall(path.read_text())]
    return [item for item in found if not languages or item[0] in languages]


def language_and_text(info: str, body: str) -> tuple[str, str]:
    if not info.startswith("{code-block}"):
        return info.split(" ")[0], textwrap.dedent(body)
    return info.split()[1], re.sub(r"\A(:.*\n)+\n*", "", textwrap.dedent(body))


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


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_notebooks(path, tmp_path, monkeypatch):
    """The code cells run in order in one namespace."""
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "notebook"}
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), path.name, "exec"), namespace)


@pytest.mark.slow
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_shell_blocks(path, tmp_path):
    """Commands run in order in an empty folder; `make` targets exist (they are run by whoever runs this)."""
    makefile = (ROOT / "Makefile").read_text()
    for _, body in blocks(path, "python", "toml"):
        if named := re.match(r"# (\w+\.(?:py|toml))\n", body):  # a file that the commands use
            (tmp_path / named[1]).write_text(body)
    for _, body in blocks(path, "sh"):
        for line in filter(None, body.replace("\\\n", " ").splitlines()):
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
    assert {kind for kind, _ in blocks(path)} <= LANGUAGES | DIRECTIVES
    assert all(re.match(r"# \w+\.toml\n", body) for _, body in blocks(path, "toml"))
    assert not any("code-block" in body for _, body in blocks(path, *DIRECTIVES))
    assert path.read_text().count("```") == 2 * len(FENCE.findall(path.read_text()))


def test_links_lead_somewhere():
    for path in DOCUMENTS:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text()):
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
    assert "generation 2 of 2" in done.stderr
    assert "rank-sum test at the 5% level" in " ".join(done.stdout.split())
    assert (tmp_path / "build" / "demo" / "report.html").stat().st_size > 100_000


# --- the reference


def test_the_reference_names_every_public_name():
    """By autodoc, in a page whose groups are chosen by hand."""
    page = (ROOT / "docs" / "reference" / "api.md").read_text()
    named = re.findall(r"^\.\. auto(?:function|class|exception|data):: (\w+)$", page, re.MULTILINE)
    assert sorted(named) == sorted(set(robustforge.__all__) - {"__version__"})


@pytest.fixture(scope="module")
def listings():
    """The extension that fills the generated pages."""
    spec = importlib.util.spec_from_file_location("listings", ROOT / "docs" / "_ext" / "listings.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_names_every_component(listings):
    text = listings.components()
    slots = [each for each in vars(components).values() if isinstance(each, type) and each.__dict__.get("is_slot")]
    assert {Network, components.Outer} <= set(slots)
    for slot in slots:
        titles = [f"`{each.title}`{' (extension)' if each.extension else ''}" for each in slot.alternatives()]
        assert f"| {', '.join(titles)} |" in text, slot


def test_the_reference_names_every_command(listings):
    text = listings.commands()
    for name in main.list_commands(None):
        assert f"# {name}\n" in text
        options = [each for each in main.get_command(None, name).params if isinstance(each, click.Option)]
        assert all(each.opts[-1] in text for each in options if not each.hidden)


def test_the_reference_has_every_problem_and_heuristic(listings):
    assert all(f"| `{name}` |" in listings.problems() for name in robustforge.problems())
    for suite in ("engineering", "engineering-held-out"):
        assert all(f"| `{name}` |" in listings.engineering() for name in robustforge.problems(suite))
    assert all(f"| `{name}` |" in listings.heuristics() for name in robustforge.heuristics())
    assert all(str(robustforge.grammar(name)) in listings.grammar() for name in ("paper", "letter", "extended"))
