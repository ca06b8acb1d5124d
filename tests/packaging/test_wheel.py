"""The distribution: built without a network, installed into a bare environment, it generates what the checkout does.

The wheel is built from the source distribution, so that neither can lack a file.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from typing import TYPE_CHECKING, NamedTuple

import pytest
import yaml

from sparkiac import __version__
from sparkiac.report import assets
from tests.commands.looks import contents
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SOURCES = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", ".gitignore")
FOLDERS = ("sparkiac", "templates", "playbooks", "inventories", "tools", "docs")
JUNK = (
    "templates/__pycache__/probe.cpython-311.pyc",
    "playbooks/__pycache__/x.pyc",
    "docs/__pycache__/x.pyc",
    "sparkiac/__pycache__/x.pyc",
)


class Built(NamedTuple):
    """The two archives."""

    wheel: Path
    sdist: Path

    def in_wheel(self) -> set[str]:
        """Name the wheel's files."""
        with zipfile.ZipFile(self.wheel) as archive:
            return set(archive.namelist())

    def in_sdist(self) -> set[str]:
        """Name the files of the source distribution, without its top folder."""
        with tarfile.open(self.sdist) as archive:
            return {name.partition("/")[2] for name in archive.getnames()}


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Build both from a copy of the checkout in which caches lie about, as they do after a run."""
    checkout = tmp_path_factory.mktemp("checkout")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, checkout / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in SOURCES:
        if (ROOT / name).is_file():
            shutil.copy(ROOT / name, checkout / name)
    for name in JUNK:
        (checkout / name).parent.mkdir(exist_ok=True)
        (checkout / name).write_bytes(b"junk")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", checkout / "dist", checkout]
    done = subprocess.run(command, env={**os.environ, **NO_NETWORK}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    [wheel], [sdist] = (checkout / "dist").glob("*.whl"), (checkout / "dist").glob("*.tar.gz")
    return Built(wheel, sdist)


NO_NETWORK = {f"{kind}_proxy": "http://127.0.0.1:9" for kind in ("http", "https", "all")} | {"PIP_NO_INDEX": "1"}
"""A build that asks an index fails."""


@pytest.fixture(scope="session")
def command(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel alone into a new environment, which borrows the dependencies; give its command."""
    home = tmp_path_factory.mktemp("installed")
    venv.create(home, symlinks=True)
    python = home / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", built.wheel]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [site] = home.glob("lib/python3*/site-packages")
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin" / "sparkiac"


def test_their_names_tell_the_version(built: Built) -> None:
    assert built.wheel.name == f"sparkiac-{__version__}-py3-none-any.whl"
    assert built.sdist.name == f"sparkiac-{__version__}.tar.gz"


def test_templates_and_playbooks_are_inside(built: Built) -> None:
    wanted = {
        f"sparkiac/_assets/{kind}/{path}" for kind in ("templates", "playbooks") for path, _ in assets.files(kind)
    }
    assert len(wanted) > 10
    assert wanted <= built.in_wheel()
    assert {path.removeprefix("sparkiac/_assets/") for path in wanted} <= built.in_sdist()


def test_the_package_is_inside_with_its_data(built: Built) -> None:
    package = ROOT / "sparkiac"
    wanted = {
        path.relative_to(ROOT).as_posix()
        for path in package.rglob("*")
        if path.is_file() and path.suffix in {".py", ".yaml", ".json", ".typed"} and "__pycache__" not in path.parts
    }
    assert "sparkiac/catalog/platforms/dgx-spark.yaml" in wanted
    assert wanted <= built.in_wheel()
    assert wanted <= built.in_sdist()


def test_nothing_else_is_inside(built: Built) -> None:
    information = f"sparkiac-{__version__}.dist-info/"
    assert {path for path in built.in_wheel() if not path.startswith(("sparkiac/", information))} == set()
    assert f"{information}licenses/LICENSE" in built.in_wheel()
    for names in (built.in_wheel(), built.in_sdist()):
        assert [name for name in names if "__pycache__" in name or name.endswith(".pyc")] == []
        assert [name for name in names if name.startswith(("tests/", "generated/"))] == []


@pytest.mark.parametrize("name", ["lab", "solo"])
def test_an_installed_sparkiac_generates_the_same_tree_from_anywhere(command: Path, name: str, tmp_path: Path) -> None:
    for file in (f"{name}.yaml", f"{name}.lock.yaml"):
        shutil.copy(ROOT / "inventories" / file, tmp_path / file)
    trees = []
    for program in ([command], [sys.executable, "-m", "sparkiac"]):
        output = f"out-{len(trees)}"
        done = subprocess.run(
            [*program, "generate", f"{name}.yaml", "--output", output],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        trees.append(contents(tmp_path / output))
    assert trees[0] == trees[1]


def test_it_is_the_installed_one_that_ran(command: Path) -> None:
    ask = "from sparkiac.report import assets; print(assets.__file__); print(assets.directory('templates'))"
    python = command.with_name("python")
    said = subprocess.run([python, "-c", ask], cwd="/", capture_output=True, text=True, check=True).stdout.splitlines()
    assert all(line.startswith(str(command.parent.parent)) for line in said), said


def test_its_command_shows_the_version(command: Path) -> None:
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"sparkiac, version {__version__}\n"


def test_the_schema_is_described_without_the_checkout(command: Path) -> None:
    """Descriptions are read from the package's own source files."""
    done = subprocess.run([command, "schema"], cwd="/", capture_output=True, text=True, check=True)
    assert "Name of the fleet" in done.stdout


def test_every_page_of_the_documentation_is_inside(built: Built) -> None:
    pages = {f"sparkiac/_assets/docs/{path}" for path, _ in assets.files("docs") if path.endswith(".md")}
    assert "sparkiac/_assets/docs/adr/README.md" in pages
    assert pages - {"sparkiac/_assets/docs/rules.md"} <= built.in_wheel()  # rules.md is written by `make docs`


def test_the_requirements_of_a_new_repository_install_the_wheel_that_is_in_it(command: Path, tmp_path: Path) -> None:
    """The steps of its workflow, as a runner starts them; the sparkiac that made it was installed from a wheel."""
    arguments = ("--host", "spark-01=192.168.1.11", "--recipe", "redhatai/qwen3.6-35b-a3b-nvfp4")
    done = subprocess.run(
        [command, "init", "lab", *arguments], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    [step] = [line.strip() for line in done.stdout.splitlines() if "wheels" in line]
    assert step.startswith("mkdir -p wheels && cp ")
    subprocess.run(["sh", "-ec", step], cwd=tmp_path / "lab", check=True)
    workflow = yaml.safe_load((tmp_path / "lab/.github/workflows/check.yml").read_text())
    install, check = [each["run"] for each in workflow["jobs"]["check"]["steps"] if "run" in each]
    venv.create(tmp_path / "runner", symlinks=True)
    python = tmp_path / "runner/bin/python"
    pip = f"{sys.executable} -m pip --python {python}"
    commands = f"{install.replace('pip', pip, 1)} --no-deps --no-index"
    subprocess.run(["bash", "-ec", commands], cwd=tmp_path / "lab", env=os.environ | NO_NETWORK, check=True)
    [site] = (tmp_path / "runner").glob("lib/python3*/site-packages")
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    path = {"PATH": f"{python.parent}:/usr/bin:/bin"}
    checked = subprocess.run(
        ["bash", "-ec", check], cwd=tmp_path / "lab", env=path, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 1
    assert checked.stderr.endswith("the lock is incomplete: run sparkiac lock inventories/lab.yaml and commit it\n")


@pytest.mark.parametrize("page", ["apply", "reference", "adr/0002-whole-tree-exchange"])
def test_an_installed_sparkiac_shows_its_documentation(command: Path, page: str) -> None:
    done = subprocess.run([command, "docs", page], cwd="/", env=NO_NETWORK, capture_output=True, check=True)
    assert done.stdout == (ROOT / f"docs/{page}.md").read_bytes()
    listed = subprocess.run([command, "docs"], cwd="/", env=NO_NETWORK, capture_output=True, text=True, check=True)
    assert page in {line.split()[0] for line in listed.stdout.splitlines()}
