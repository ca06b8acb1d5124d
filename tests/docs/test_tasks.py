"""The pages of tasks: each runs as printed, in a repository as the tutorial leaves it, and prints what it shows.

A YAML block is written into the inventory first. Registry and hub are stand-ins for a page that runs `sparkiac lock`;
the other pages read pins of the real names, so that sizes are those of the catalog. What needs hosts is run by
tests/e2e/test_tasks.py, and its command lines are parsed by tests/docs/test_blocks.py.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.conftest import ROOT
from tests.docs.blocks import TASKS, blocks, edited, shows, steps
from tests.e2e import test_tasks as on_hosts
from tests.lock import conftest as locking
from tests.lock.upstream import Upstream, repository
from tests.standin.hub import Hub

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.docs.blocks import Block
    from tests.upstream.registry.servers import Registry

registry = locking.registry

BIN: Final = Path(sys.executable).parent
INVENTORY: Final = "inventories/home.yaml"
LOCK: Final = "inventories/home.lock.yaml"
NEW: Final = "first-model"
"""The page that begins in an empty directory."""
SETUP: Final = (
    *("sparkiac init home --host spark-01=192.168.1.11 --recipe redhatai/qwen3.6-35b-a3b-nvfp4", "cd home"),
    "git init --quiet --initial-branch main",
)
SAVE: Final = (
    "sparkiac secrets new",
    "sparkiac generate",
    "git add --all",
    "git commit --quiet --allow-empty --message First",
)
PINS: Final = f"""\
version: 1
images: {{"nvcr.io/nvidia/vllm:26.04-py3": {{digest: "sha256:{"1" * 64}"}}}}
models:
  RedHatAI/Qwen3.6-35B-A3B-NVFP4: {{commit: {"a" * 40}}}
  Qwen/Qwen3.6-35B-A3B: {{commit: {"b" * 40}}}
"""
LONGER: Final = "deployments: {qwen3-6-35b-a3b-nvfp4: {set: {max_model_len: 65536}}}"
BEFORE: Final = {
    "retire-a-host": "hosts: {spark-02: {address: 192.168.1.12}}",
    "open-to-the-lan": "defaults: {bind: loopback, api_key: null}",
    "what-changed": LONGER,
    "go-back": LONGER,
}
"""Page → the last change that its reader has committed."""
IMAGES: Final = ("nvidia/vllm:26.04-py3", "nvidia/vllm:26.06-py3")
MODELS: Final = (
    *("RedHatAI/Qwen3.6-35B-A3B-NVFP4", "Qwen/Qwen3.6-35B-A3B"),
    *("nvidia/Qwen3-14B-NVFP4", "acme/tiny", "acme/gated"),
)
TOKENS: Final = {"hf_abc": ("acme/gated",)}
EXITS: Final = {("gated-model", "sparkiac secrets new"): 1}
"""Page and command → exit code, if it is not 0."""


class Shell:
    """A reader's shell, which remembers its directory."""

    def __init__(self, folder: Path) -> None:
        """Open it in a folder."""
        self.folder = folder
        self._end = folder / "folder-at-the-end"
        names = [f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")]
        self._environment = os.environ | dict.fromkeys(names, "ada@example.org")
        self._environment |= {"PATH": f"{BIN}:{os.environ['PATH']}", "NO_COLOR": "1", "COLUMNS": "100"}

    def types(self, command: str, *, exits: int = 0) -> str:
        """Run a command line, which must end so; return what both streams show."""
        script = f"trap 'pwd >{self._end}' EXIT\n{command}"
        environment = self._environment | {"HOME": str(self._end.parent)}
        done = subprocess.run(
            ["bash", "-c", script], cwd=self.folder, env=environment, text=True, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert done.returncode == exits, f"$ {command}\n{done.stdout}"
        self.folder = Path(self._end.read_text().strip())
        return done.stdout


def parts(page: Path) -> list[Block]:
    """Return the blocks of a page that a reader types or writes, in its order."""
    found = [each for language in ("console", "yaml") for each in blocks(page, language)]
    return sorted((each for each in found if each.mark is None), key=lambda block: block.line)


def write(shell: Shell, part: str) -> None:
    """Write a part into the inventory."""
    inventory = shell.folder / INVENTORY
    inventory.write_text(edited(inventory.read_text(), part))


def follow(block: Block, shell: Shell) -> None:
    """Do what a block of a page says, and compare what it shows."""
    if block.language == "yaml":
        write(shell, block.text)
        return
    for step in steps(block):
        output = shell.types(step.command, exits=EXITS.get((block.page.stem, step.command), 0))
        assert shows(step.printed, output), f"{block}: $ {step.command}\n{output}"


def locks(page: Path) -> bool:
    """Tell whether a page needs the lock that the stand-ins complete."""
    lines = [step.command for block in parts(page) for step in steps(block)]
    return any(words in line for line in lines for words in ("sparkiac lock", "ci/check.sh"))


@pytest.fixture(scope="module")
def pinned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the repository of the tutorial, with pins of the real names."""
    shell = Shell(tmp_path_factory.mktemp("pinned"))
    for line in SETUP:
        shell.types(line)
    (shell.folder / LOCK).write_text(PINS)
    for line in SAVE:
        shell.types(line)
    return shell.folder


@pytest.fixture(scope="module")
def mirrors(registry: Registry) -> Iterator[str]:
    """Serve stand-ins of images and models; return what an inventory has to say of them."""
    models = [repository(handle, gated="manual" if handle in TOKENS["hf_abc"] else False) for handle in MODELS]
    with Hub(*models, tokens=TOKENS) as hub, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_ENDPOINT", hub.url)
        patch.setenv("SSL_CERT_FILE", str(registry.data.parent / "authority.pem"))
        upstream = Upstream(Path(), registry, hub, "tasks")
        for name in IMAGES:
            upstream.push(*name.split(":"), Entrypoint=["/opt/nvidia/nvidia_entrypoint.sh"], Cmd=[])
        places = dict.fromkeys(("nvcr.io", "ghcr.io", "docker.io"), f"{registry.host}/tasks")
        yield f"registries: {{mirrors: {places}}}"


@pytest.fixture(scope="module")
def locked(pinned: Path, mirrors: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lock the same repository with the stand-ins."""
    shell = Shell(tmp_path_factory.mktemp("locked"))
    shell.folder = shell.folder / "home"
    shutil.copytree(pinned, shell.folder)
    write(shell, mirrors)
    (shell.folder / LOCK).unlink()
    for line in ("sparkiac lock", *SAVE):
        shell.types(line)
    return shell.folder


@pytest.mark.parametrize(
    "page", [each for each in TASKS if parts(each) and each.stem != NEW], ids=lambda page: page.stem
)
def test_a_page_runs_as_printed(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    prepared = request.getfixturevalue("locked" if locks(page) else "pinned")
    shutil.copytree(prepared, tmp_path / "home")
    shell = Shell(tmp_path)
    shell.folder = tmp_path / "home"
    if page.stem in BEFORE:
        write(shell, BEFORE[page.stem])
        for line in SAVE:
            shell.types(line)
    for block in parts(page):
        follow(block, shell)


def test_the_first_model_is_served_from_an_empty_directory(mirrors: str, tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    first, *rest = parts(ROOT / f"docs/tasks/{NEW}.md")
    follow(first, shell)
    write(shell, mirrors)
    for block in rest:
        follow(block, shell)


def test_each_page_with_a_mark_of_the_test_on_hosts_is_followed_there() -> None:
    assert {page.stem for page in TASKS if on_hosts.HERE in page.read_text()} <= {NEW, *on_hosts.ORDER}


def test_each_page_is_in_the_list_once() -> None:
    listed = re.findall(r"\[([\w-]+)\]\(tasks/([\w-]+)\.md\)", (ROOT / "docs/tasks.md").read_text())
    assert all(name == path for name, path in listed)
    assert sorted(name for name, _ in listed) == [page.stem for page in TASKS]


def test_the_shortest_form_of_a_page_is_that_of_a_reader() -> None:
    assert shows("a\n…\nb … d\n", "a\nx\ny\nb c d\n")
    assert shows("a\n…\nb\n", "a\nb\n")
    assert not shows("a\nb\n", "a\nx\nb\n")
    assert not shows("a\n", "a\nb\n")
    assert edited("a: {b: 1, c: 2}\n", "a: {b: null, d: 3}\n") == "a:\n  c: 2\n  d: 3\n"
