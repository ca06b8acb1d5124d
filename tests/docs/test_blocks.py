"""Every block of README and of the guides runs as printed, or a comment above it says why not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import click
import pytest
import yaml

from sparkiac import pipeline
from sparkiac.cli import cli
from sparkiac.commands.apply import AnsibleCommand
from sparkiac.model.inventory import Inventory
from tests.conftest import ROOT
from tests.docs.blocks import PAGES, TASKS, Block, blocks, calls, commands
from tests.every import every
from tests.lock import conftest as locking
from tests.lock.upstream import repository

if TYPE_CHECKING:
    from tests.lock.upstream import Upstream

BIN: Final = Path(sys.executable).parent
GUIDES: Final = ("install", "own-models", "troubleshooting", "two-sparks", "upgrade", "air-gapped")
"""Pages whose console blocks run from top to bottom. So does the tutorial, with a registry and a hub."""
BASE: Final = "name: lab\ndefaults: {model_store: /srv/models}\nhosts: {spark-01: {address: 192.168.1.11}}\n"
LINES: Final = [
    (block, line) for page in (*PAGES, *TASKS) for block in blocks(page, "console") for line in commands(block)
]
YAML: Final = [block for page in PAGES for block in blocks(page, "yaml")]

registry = locking.registry
upstream = locking.upstream


def guide(name: str) -> Path:
    return ROOT / f"docs/{name}.md"


def run(lines: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run command lines in a shell, which ends at the first that fails."""
    environment = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}", "NO_COLOR": "1", "HOME": str(folder)}
    author = {f"GIT_{who}_{what}": "ada@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    script = "\n".join(lines)
    return subprocess.run(
        ["bash", "-euc", script], cwd=folder, env=environment | author, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(("block", "line"), LINES, ids=str)
def test_every_command_line_has_a_command_and_options_that_exist(block: Block, line: str) -> None:
    """It is only parsed here, by the parser of the command itself."""
    for call in calls(line):
        words, command = call, cast("click.Command", cli)
        while isinstance(command, click.Group) and words and words[0] not in {"--version", "--help"}:
            given = command.get_command(click.Context(command, **cli.context_settings), words[0])
            found = given or command.get_command(
                click.Context(command, **cli.context_settings), "run"
            )  # `bench` may omit it
            assert found is not None, f"{block}: {line}"
            command, words = found, words[given is not None :]
        if isinstance(command, AnsibleCommand) and "--" in words:
            words = words[: words.index("--")]  # the rest is for Ansible
        context = click.Context(command, info_name=command.name, **cli.context_settings)
        options, left, _ = command.make_parser(context).parse_args(list(words))
        assert isinstance(command, click.Group) or left == [], f"{block}: {line}"
        for each in command.params:
            value = options.get(each.name or "")
            if isinstance(each.type, click.Choice) and isinstance(value, str):
                each.type.convert(value, each, context)


@pytest.mark.parametrize("block", [each for each in YAML if each.mark is None], ids=str)
def test_every_yaml_block_is_an_inventory_or_a_part_of_one(block: Block) -> None:
    """A part is put into a small inventory: its keys and values must be allowed there."""
    data: dict[str, Any] = yaml.safe_load(block.text)
    whole = {"name", "hosts", "deployments"} <= data.keys()
    unknown = data.keys() - Inventory.model_fields.keys()
    assert not unknown, f"{block}: not keys of an inventory; mark the block with why it is not run"
    missing = [line for line in BASE.splitlines(keepends=True) if line.partition(":")[0] not in data]
    text = block.text if whole else "".join(missing) + block.text
    report = pipeline.check(pipeline.InputFile("lab.yaml", text.encode()), None, allow_unlocked=True).report
    wrong = [each for each in report.findings if each.severity.name == "ERROR"]
    assert [each for each in wrong if whole or each.code.startswith(("INV", "YML"))] == [], block


@pytest.mark.parametrize("name", GUIDES)
def test_the_console_blocks_of_a_guide_run_from_top_to_bottom(name: str, tmp_path: Path) -> None:
    found = list(blocks(guide(name), "console"))
    lines = [line for block in found if block.mark is None for line in commands(block)]
    assert found
    done = run(lines, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_tutorial_runs_up_to_apply(upstream: Upstream, tmp_path: Path) -> None:
    """A registry stands for NVIDIA's as a mirror, and the hub's stand-in has small models of the names."""
    entrypoint = ["/opt/nvidia/nvidia_entrypoint.sh"]
    upstream.push("nvidia/vllm", "26.04-py3", Entrypoint=entrypoint, Cmd=[])
    for handle in ("RedHatAI/Qwen3.6-35B-A3B-NVFP4", "Qwen/Qwen3.6-35B-A3B"):
        upstream.hub.repositories[handle] = repository(handle)
    first, *rest = [each for each in blocks(guide("tutorial"), "console") if each.mark is None]
    mirrors = f"registries: {{mirrors: {{nvcr.io: '{upstream.registry.host}/{upstream.prefix}'}}}}"
    mirror = f'printf "%s\\n" "{mirrors}" >> inventories/home.yaml'
    lines = [*commands(first), mirror, *(line for block in rest for line in commands(block))]
    done = run(lines, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [words[0] for line in lines for words in calls(line)] == [
        *("init", "lock", "check", "plan", "secrets", "generate")
    ]
    assert (tmp_path / "home/generated/home/PLAN.md").is_file()
    assert (tmp_path / "home/secrets/home.json").stat().st_mode & 0o077 == 0


def test_a_block_that_is_not_run_says_why() -> None:
    marks = [
        each.mark for page in (*PAGES, *TASKS) for language in ("console", "yaml") for each in blocks(page, language)
    ]
    given = [mark for mark in marks if mark is not None]
    assert given
    assert all(mark.partition(": ")[2] for mark in given)


@every(each for page in (*PAGES, *TASKS) for each in blocks(page, "console"))
def test_a_mark_that_names_a_test_names_one_that_exists(block: Block) -> None:
    for word in (block.mark or "").replace(";", " ").split():
        if word.startswith("tests/"):
            assert (ROOT / word).exists(), block
