"""What is released: complete archives, an install without extras that works anywhere, and one version everywhere."""

from __future__ import annotations

import email
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path

import pytest
import yaml

import robustforge as rf
from robustforge.cli import documents, main

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
IGNORED = [line.rstrip("/") for line in (ROOT / ".gitignore").read_text().split()]
PYTHONS = ["3.11", "3.12", "3.13"]


def called(*command, cwd, code=0, **options):
    """Run a program to its end; returns what it printed, on stderr if it was to fail."""
    words = list(map(str, command))
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=900, **options)
    assert done.returncode == code, f"{words}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return done.stderr if code else done.stdout


def files_of(folder):
    """The files below a folder that belong to the project."""
    found = (path.relative_to(ROOT) for path in (ROOT / folder).rglob("*") if path.is_file())
    return {path.as_posix() for path in found if not any(fnmatchcase(*pair) for pair in product(path.parts, IGNORED))}


def page_of(path):
    """The path of a document below the folder of the documentation."""
    return path.relative_to(ROOT / "docs").as_posix()


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """A source archive, and a wheel that is built from it alone."""
    folder = tmp_path_factory.mktemp("archives")
    called(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=ROOT)
    (source,) = folder.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(folder, filter="data")
    unpacked = folder / source.name.removesuffix(".tar.gz")
    called(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=unpacked)
    (wheel,) = folder.glob("*.whl")
    return unpacked, wheel


def test_the_archives_are_complete(archives):
    unpacked, wheel = archives
    sources = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    wanted = set.union(*map(files_of, ("src", "tests", "docs", "examples", "benchmarks")))
    top = {"CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "SECURITY.md"}
    assert wanted | top | {".ci/run", "pyproject.toml"} <= sources
    assert not [name for name in sources if ".venv" in name or name.startswith(("build/", "dist/"))]

    names = set(zipfile.ZipFile(wheel).namelist())
    package = {name.removeprefix("src/") for name in files_of("src/robustforge")}
    assert {".py", ".json", ".sql", ".html", ".csv"} <= {Path(name).suffix for name in package}
    shipped = {f"robustforge/documents/{path}" for path in map(page_of, documents.documents().values())}
    others = {name for name in names - package if not name.split("/")[0].endswith(".dist-info")}
    assert package <= names
    assert shipped <= others
    assert all(name.startswith("robustforge/documents/") for name in others)
    assert "robustforge/py.typed" in names


def test_the_metadata_tell_the_truth(archives):
    with zipfile.ZipFile(archives[1]) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        made = email.message_from_bytes(wheel.read(name))
    assert (made["Version"], made["License-Expression"], made["Requires-Python"]) == (rf.__version__, "MIT", ">=3.11")
    classifiers = made.get_all("Classifier")
    assert "Operating System :: POSIX" in classifiers
    assert [line for line in classifiers if re.search(r":: 3\.\d+$", line)] == [
        f"Programming Language :: Python :: {version}" for version in PYTHONS
    ]
    always = {re.split(r"[^\w-]", line)[0] for line in made.get_all("Requires-Dist") if "extra ==" not in line}
    assert always == {"numpy", "scipy", "numba", "rich", "click", "cloudpickle"}


FEW = ("network=ring", "baseline=inertia", "form=random sampling", "movement=dd", "mutation=gaussian")
"""Components that are compiled in seconds; all of them would take a minute."""

PROBLEM_FILE = """\
budget = 12
heuristic = "rpso"
[variables]
R = { bounds = [1, 10], tolerance = "5%" }
[model]
command = ["sh", "-c", "echo $1", "sh", "{R}"]
"""


def test_an_install_without_extras_works_anywhere(archives, tmp_path):
    """All in one test, so that the kernels of this install are compiled once."""
    venv, here = tmp_path / "venv", tmp_path / "elsewhere"
    here.mkdir()
    called(sys.executable, "-m", "venv", venv, cwd=here)
    python = venv / "bin" / "python"
    outside = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    environment = {key: value for key, value in os.environ.items() if key not in outside}
    environment |= {"ROBUSTFORGE_CACHE": str(tmp_path / "cache"), "ROBUSTFORGE_QUIET": "1"}
    called(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", archives[1], cwd=here, env=environment)

    def robustforge(*words, **options):
        return called(venv / "bin" / "robustforge", *words, cwd=here, env=environment, **options)

    where = called(python, "-c", "import robustforge; print(robustforge.__file__)", cwd=here, env=environment)
    assert Path(where.strip()).is_relative_to(venv)
    absent = "import importlib.util as u; print([n for n in ('jinja2', 'matplotlib', 'cma', 'dask') if u.find_spec(n)])"
    assert called(python, "-c", absent, cwd=here, env=environment).strip() == "[]"

    version = called(python, "-m", "robustforge", "--version", cwd=here, env=environment)
    assert version == robustforge("--version") == f"robustforge, version {rf.__version__}\n"
    assert all(name in robustforge("--help") for name in main.list_commands(None))
    for topic, path in documents.documents().items():
        assert robustforge("help", topic) == path.read_text()

    solved = json.loads(
        robustforge("solve", "sphere", "--heuristic", "rpso", "--dimension", 3, "--budget", 200, "--json")
    )
    assert (solved["nfev"], solved["success"]) == (200, True)
    small = ("--dimension", 3, "--population", 4, "--generations", 2, "--repeats", 2, "--final-repeats", 2)
    few = ("--grammar", "paper", *(word for slot in FEW for word in ("--only", slot)))
    evolve = ("evolve", "sphere", *small, *few, "--budget", 60, "--seed", 1, "--store", "runs.db", "--name", "small")
    robustforge(*evolve)
    robustforge("champion", "runs.db", "--name", "small", "-o", "champion.json")
    assert rf.heuristic(str(here / "champion.json")).id

    (here / "resistor.toml").write_text(PROBLEM_FILE)
    assert "resistor" in robustforge("check", "resistor.toml")
    answer = json.loads(robustforge("solve", "resistor.toml", "--json"))
    assert 1.0 <= answer["nominal"] <= answer["worst"]
    (here / "wrong.toml").write_text("budget = \n")
    assert "`robustforge help problem-file`" in robustforge("check", "wrong.toml", code=2)

    for words, extra in (
        (("report", "runs.db", "-o", "page.html"), "report"),
        (("assess", "cma-es", "--problems", "sphere", "--dimension", 3, "--runs", 1, "--store", "a.db"), "peers"),
        ((*evolve, "--dask", "tcp://127.0.0.1:1"), "dask"),
    ):
        assert f"pip install 'robustforge[{extra}]'" in robustforge(*words, code=2)


# --- what is written down


def test_the_changelog_has_the_version():
    text = (ROOT / "CHANGELOG.md").read_text()
    releases = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", text, re.MULTILINE)
    assert releases[0] == ("Unreleased", "")
    assert releases[1][0] == rf.__version__
    assert all(date for _, date in releases[1:])
    kinds = set(re.findall(r"^### (.+)$", text, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_citation_is_valid():
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= found.keys()
    assert found["cff-version"] == "1.2.0"
    assert all((ROOT / path).exists() for path in re.findall(r"docs/[\w/.-]+\.md", str(found)))
    assert (found["type"], found["title"], found["license"]) == (
        "software",
        "robustforge",
        PYPROJECT["project"]["license"],
    )
    released = re.search(
        rf"^## \[{re.escape(rf.__version__)}\] - (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    assert (found["version"], str(found["date-released"])) == (rf.__version__, released[1])
    for work in (found, *found["references"]):
        assert work["title"]
        assert all("name" in author or {"family-names", "given-names"} <= author.keys() for author in work["authors"])
    assert all("type" in work for work in found["references"])


def test_topics_and_commands_have_different_names():
    pages = [path for part in ("tutorials", "howto", "explanation") for path in (ROOT / "docs" / part).glob("*.md")]
    topics = [path.stem for path in pages if path.stem != "index"]
    assert sorted(documents.titles()) == sorted([*topics, "problem-file", "glossary"])
    assert not set(documents.titles()) & set(main.list_commands(None))


def test_every_python_is_checked():
    """On the forge as well as by `.ci/run`."""
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    (job,) = workflow["jobs"].values()
    assert job["strategy"]["matrix"]["python"] == PYTHONS
    assert any(step.get("run") == ".ci/run" for step in job["steps"])
    assert f"for version in {' '.join(PYTHONS)}" in (ROOT / ".ci" / "run").read_text()


def test_hooks_need_nothing_from_elsewhere():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    (local,) = hooks["repos"]
    assert local["repo"] == "local"
    assert [hook["id"] for hook in local["hooks"]] == ["ruff-format", "ruff-check", "mypy", "import-linter"]
    assert all(hook["language"] == "system" for hook in local["hooks"])
