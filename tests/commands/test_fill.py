"""Values that a recipe leaves open: given by --fill, typed at a prompt, or left as placeholders that `check` counts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import click
import pytest
import yaml

from sparkiac import pipeline
from sparkiac.commands.init.repository import FleetDraft, FleetHost, Placement, from_recipes
from sparkiac.commands.recipes import filling
from sparkiac.fleet.fabric import FoundLink
from sparkiac.resolve import catalogued
from tests.commands.test_init import LINKS, answered, printed
from tests.lock import conftest
from tests.lock.upstream import repository

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome
    from tests.lock.upstream import Upstream

    Cli = Callable[..., Outcome]

registry, upstream = conftest.registry, conftest.upstream
"""Fixtures: a real registry, the model hub's stand-in."""
FLASH: Final = "deepseek-ai/deepseek-v4-flash"
COMMIT, HEAD = "9f131c1579ff77f39c0685049be1c2fadc41a367", "edc82b614f51f4f9ce16c7010e879571e5c46136"
VLLM: Final = "https://github.com/vllm-project/vllm.git"
GIVEN: Final = ("--fill", f"commit={COMMIT}", "--fill", f"pull_requests={VLLM}#41834@{HEAD}")
BUILD: Final = {
    "commit": COMMIT,
    "pull_requests": [{"number": 41834, "repository": VLLM, "commit": HEAD}],
}
HOSTS: Final = [word for number in (1, 2) for word in ("--host", f"spark-0{number}=192.168.1.1{number}")]
PAIR: Final = (*HOSTS, *(word for link in LINKS for word in ("--link", link)), "--user", "milo")


def codes(outcome: Outcome, code: str) -> list[str]:
    return [line.partition(": error ")[2] for line in outcome.err.splitlines() if f" error {code} " in line]


def inventory(folder: Path) -> dict[str, object]:
    found: dict[str, object] = yaml.safe_load((folder / "lab/inventories/lab.yaml").read_text())
    return found


def test_without_a_terminal_the_missing_flags_are_named_with_what_is_open(folder: Path, cli: Cli) -> None:
    outcome = cli("init", "lab", *PAIR, "--recipe", FLASH)
    assert outcome.code == 2
    for words in (
        f"{FLASH} leaves 2 values open: commit of build vllm-node-dsv4 (the source does not say which commit of ",
        "pull_requests of build vllm-node-dsv4 (the head of PR 41834 of vllm-project/vllm ",
        "Add --fill commit=COMMIT --fill pull_requests=[REPOSITORY#]NUMBER@COMMIT[,…], or an empty value",
    ):
        assert words in outcome.err
    assert list(folder.iterdir()) == []


def test_with_all_values_every_printed_command_works(
    upstream: Upstream, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lines with ssh and scp are not run: the record of the build is written here, with the spec's hash."""
    monkeypatch.chdir(tmp_path)
    upstream.hub.repositories["deepseek-ai/DeepSeek-V4-Flash"] = repository("deepseek-ai/DeepSeek-V4-Flash")
    outcome = cli("init", "lab", *PAIR, "--recipe", FLASH, *GIVEN)
    assert (outcome.code, outcome.err) == (0, "")
    assert inventory(tmp_path)["builds"] == {"vllm-node-dsv4": BUILD}
    assert inventory(tmp_path)["hosts"]["spark-02"]["images_from"] == "spark-01"  # type: ignore[index]
    monkeypatch.chdir(tmp_path / "lab")
    built: list[str] = []
    for line in printed(outcome)[2:-1]:
        if not line.startswith("sparkiac "):
            built.append(line)
            record(tmp_path / "lab")
            continue
        done = cli(*line.split()[1:])
        assert done.code == 0, (line, done.err)
        assert codes(done, "OPN001") == codes(done, "REF003") == []
    assert built == [
        "scp -r generated/lab/builds/vllm-node-dsv4 milo@192.168.1.11:",
        "ssh milo@192.168.1.11 ./vllm-node-dsv4/build vllm-node-dsv4.json",
        "scp milo@192.168.1.11:vllm-node-dsv4.json .",
    ]


def record(folder: Path) -> None:
    spec = json.loads((folder / "generated/lab/builds/vllm-node-dsv4/spec.json").read_bytes())
    made = {"name": "vllm-node-dsv4", "id": f"sha256:{'2' * 64}", "spec": spec["spec"], "commit": COMMIT}
    made |= {"tree": "2" * 40, "picked": [], "entrypoint": ["/entry.sh"], "command": None}
    (folder / "vllm-node-dsv4.json").write_text(json.dumps(made))


@pytest.mark.usefixtures("folder")
def test_what_is_left_empty_is_a_placeholder_that_check_counts(cli: Cli) -> None:
    outcome = cli("init", "lab", *PAIR, "--recipe", FLASH, "--fill", "commit=", "--fill", "pull_requests=")
    assert outcome.code == 1
    first = "Replace 2 placeholders in inventories/lab.yaml first: `sparkiac check` names each one. Next steps:\n"
    assert first in outcome.out
    checked = cli("check", "lab/inventories/lab.yaml", "--allow-unlocked")
    assert codes(checked, "OPN001") == ["OPN001 open-point: the commit of build vllm-node-dsv4 is a placeholder"]
    assert "  all 2: commit, pull_requests\n" in checked.err
    assert codes(checked, "REF003") == []
    assert cli("generate", "lab/inventories/lab.yaml", "--allow-unlocked").code == 1


def test_on_a_terminal_open_values_are_prompted_for(folder: Path) -> None:
    arguments = (*PAIR, "--recipe", FLASH, "--name", "lab", "--model-store", "/srv")
    done = answered(folder, "main", COMMIT, "", arguments=arguments)
    assert done.returncode == 1, done.stderr
    asked = "commit of build vllm-node-dsv4 (the source does not say which commit of eugr/spark-vllm-docker it used): "
    assert asked in done.stderr
    assert "Error: --fill commit 'main' is not a full commit" in done.stderr
    [build] = inventory(folder)["builds"].values()  # type: ignore[attr-defined]
    assert (build["commit"], build["pull_requests"][0]["commit"]) == (COMMIT, "0" * 40)


def test_add_writes_the_build_below_the_deployments(folder: Path, cli: Cli) -> None:
    assert cli("init", "lab", *PAIR, "--recipe", FLASH, *GIVEN).code == 0
    path = folder / "lab/inventories/lab.yaml"
    assert cli("remove", "deepseek-v4-flash", "--from", str(path)).code == 0
    path.write_text(path.read_text().partition("builds:")[0])
    words = ("add", FLASH, "--on", "spark-01,spark-02", "--to", str(path))
    assert "leaves 2 values open" in cli(*words).err
    outcome = cli(*words, *GIVEN)
    assert outcome.code == 0, outcome.err
    assert "+builds:\n+  vllm-node-dsv4:\n" in outcome.out
    assert inventory(folder)["builds"] == {"vllm-node-dsv4": BUILD}


def test_add_writes_placeholders_if_the_values_are_empty(folder: Path, cli: Cli) -> None:
    assert cli("init", "lab", *PAIR, "--recipe", "nvidia/minimax-m2.7-nvfp4").code == 0
    path = folder / "lab/inventories/lab.yaml"
    assert cli("remove", "minimax-m2-7-nvfp4", "--from", str(path)).code == 0
    words = ("add", FLASH, "--on", "spark-01,spark-02", "--to", str(path), "--fill", "commit=", "--fill")
    outcome = cli(*words, "pull_requests=")
    assert outcome.code == 0, outcome.err
    assert (
        f"next: replace 2 placeholders, which sparkiac check {path} names, then sparkiac lock {path}, " in outcome.err
    )
    assert "  all 2: commit, pull_requests\n" in cli("check", str(path), "--allow-unlocked").err


def test_two_recipes_of_one_build_need_its_values_once(folder: Path, cli: Cli) -> None:
    more = ("--host", "spark-03=192.168.1.13", "--host", "spark-04=192.168.1.14")
    links = [w for n in (3, 4) for w in ("--link", f"spark-0{n}=enp1s0f1np1,rocep1s0f1,192.168.177.1{n}/24")]
    recipes = ("--recipe", FLASH, "--recipe", f"{FLASH}#no-mtp")
    outcome = cli("init", "lab", *PAIR, *more, *links, *recipes, *GIVEN)
    assert outcome.code == 0, outcome.err
    assert len(inventory(folder)["deployments"]) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--fill", "commit"), "--fill 'commit' is not KEY=VALUE"),
        (("--fill", "commit=main", "--fill", "pull_requests="), "--fill commit 'main' is not a full commit"),
        (("--fill", "commit=", "--fill", f"pull_requests=1@{HEAD}x"), "pull_requests: commit 'edc8"),
        (("--fill", "commit=", "--fill", f"pull_requests={HEAD}"), "is not [REPOSITORY#]NUMBER@COMMIT[,…]"),
        (("--fill", "commit=", "--fill", f"pull_requests=git@x#1@{HEAD}"), "is not [REPOSITORY#]NUMBER@COMMIT"),
        (("--fill", "commit=", "--fill", f"pull_requests=ftp://x/y#1@{HEAD}"), "repository 'ftp://x/y' is not the add"),
        ((*GIVEN, "--fill", "base=image"), "--fill base: no chosen recipe leaves this value open"),
    ],
)
def test_a_wrong_value_writes_nothing(folder: Path, cli: Cli, words: tuple[str, ...], message: str) -> None:
    outcome = cli("init", "lab", *PAIR, "--recipe", FLASH, *words)
    assert (outcome.code, message in outcome.err) == (2, True), outcome.err
    assert list(folder.iterdir()) == []


def test_a_command_is_split_as_a_shell_does() -> None:
    left = filling.left_open(catalogued.named("deepseek-ai/deepseek-v4-flash-pinned"))
    given = [("base", "nvcr.io/nvidia/vllm:26.04-py3"), ("install", "python3 -m pip install '.[all]'")]
    found = filling.filled("pinned", left, given)
    assert found.builds["vllm-ds4-pinned"]["install"] == ("python3", "-m", "pip", "install", ".[all]")
    with pytest.raises(click.UsageError, match="is not a command: No closing quotation"):
        filling.filled("pinned", left, [("base", ""), ("install", "pip install '")])


OPEN: Final = [each for each in catalogued.everything() if each.usable and filling.left_open(each)]


@pytest.mark.parametrize("each", OPEN, ids=[each.name for each in OPEN])
def test_every_recipe_with_open_values_can_be_written_with_placeholders(each: catalogued.Catalogued) -> None:
    """Its inventory has a plan, in which `check` finds one placeholder for each open value."""
    left = filling.left_open(each)
    filled = filling.filled(each.name, left, [(value.key, "") for value in left])
    links = [FoundLink("enp1s0f1np1", "rocep1s0f1", f"192.168.177.1{number}/24") for number in range(1, 5)]
    hosts = tuple(
        FleetHost(f"spark-0{number}", f"192.168.1.1{number}", links=(links[number - 1],))
        for number in range(1, each.nodes + 1)
    )
    placement = Placement(each, hosts, None if "model" in each.values else "acme/tiny", filled)
    text = from_recipes(FleetDraft("lab", hosts, "milo", "/srv/models"), [placement])
    outcome = pipeline.check(pipeline.InputFile("lab.yaml", text.encode()), None, allow_unlocked=True)
    assert outcome.plan is not None, outcome.report.findings
    assert len([found for found in outcome.report.findings if found.code == "OPN001"]) == len(left)
