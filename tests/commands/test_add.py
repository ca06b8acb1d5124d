"""`sparkiac add` and `sparkiac remove`: only the lines of one deployment change, and nothing that would not run."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Final

import click
import pytest
import yaml

from sparkiac.fix.edits import with_entry, without_deployment
from sparkiac.fix.nodes import CannotEdit
from tests.conftest import ROOT
from tests.plan.fleets import LOCK

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

INVENTORY: Final = """\
# The lab.
name: lab
defaults: {model_store: /srv/models}
hosts:
  spark-01: {address: 192.168.1.11}   # left
  spark-02: {address: 192.168.1.12}   # right

deployments:
  # The first one.
  small:
    recipe: base/single-spark
    # tried twice
    model: example/model   # of the example
    hosts: spark-01
    port: 8001

# The end.
services:
  chat: {kind: open-webui, image: "ghcr.io/open-webui/open-webui:v0.12.4", hosts: spark-02, port: 8000, urls: []}
"""
ADDED: Final = """\
  model:
    recipe: base/single-spark
    model: example/model
    hosts: spark-02
    port: 8001
"""
NEW: Final = ("add", "base/single-spark", "--model", "example/model", "--to", "lab.yaml")


@pytest.fixture(autouse=True)
def fleet(folder: Path) -> Path:
    (folder / "lab.yaml").write_text(INVENTORY)
    (folder / "lab.lock.yaml").write_text(LOCK)
    return folder


def test_a_deployment_is_added_below_the_others_and_all_comments_stay(fleet: Path, cli: Cli) -> None:
    """Port 8000 is taken on this host, so the next one is chosen."""
    outcome = cli(*NEW, "--on", "spark-02")
    assert outcome.code == 0, outcome.err
    before, after = INVENTORY.split("\n# The end.\n")
    assert (fleet / "lab.yaml").read_text() == f"{before}{ADDED}\n# The end.\n{after}"
    assert [line for line in outcome.out.splitlines() if line.startswith(("+ ", "-"))][1:] == [
        f"+{line}" for line in ADDED.splitlines()
    ]
    assert outcome.err == "next: sparkiac lock lab.yaml, sparkiac generate lab.yaml, sparkiac apply lab.yaml\n"
    assert cli("check", "lab.yaml", "--allow-unlocked").code == 0


def test_names_and_ports_are_those_of_the_flags(fleet: Path, cli: Cli) -> None:
    assert cli(*NEW, "--on", "spark-02", "--name", "third", "--port", "9000").code == 0
    added = yaml.safe_load((fleet / "lab.yaml").read_text())["deployments"]["third"]
    assert added["port"] == 9000


def test_a_second_one_of_the_same_model_gets_another_name(fleet: Path, cli: Cli) -> None:
    (fleet / "lab.yaml").write_text(INVENTORY.replace("  small:", "  model:"))
    assert cli(*NEW, "--on", "spark-02").code == 0
    assert sorted(yaml.safe_load((fleet / "lab.yaml").read_text())["deployments"]) == ["model", "model-2"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*NEW, "--on", "spark-9"), "unknown host 'spark-9'"),
        ((*NEW, "--on", "spark-01, spark-9"), "unknown host 'spark-9'"),
        ((*NEW, "--on", "spark-01,spark-02"), "base/single-spark needs 1 host, but --on names 2"),
        ((*NEW, "--on", "spark-01", "--name", "chat"), "--name chat: the inventory has a deployment or service"),
        (("add", "base/single-spark", "--to", "lab.yaml", "--on", "spark-01"), "has no model of its own: add --model"),
        (("add", "base/singel-spark", "--to", "lab.yaml", "--on", "spark-01"), "unknown recipe"),
        (("remove", "smal", "--from", "lab.yaml"), "unknown deployment 'smal'"),
    ],
)
def test_a_wrong_word_changes_nothing(fleet: Path, cli: Cli, words: tuple[str, ...], message: str) -> None:
    outcome = cli(*words)
    assert (outcome.code, message in outcome.err) == (2, True), outcome.err
    assert (fleet / "lab.yaml").read_text() == INVENTORY


def test_a_taken_port_is_refused_with_the_finding(fleet: Path, cli: Cli) -> None:
    outcome = cli(*NEW, "--on", "spark-01", "--port", "8001")
    assert outcome.code == 1
    assert "port 8001" in outcome.err
    assert outcome.err.endswith("nothing was written: the change would add these errors\n")
    assert (fleet / "lab.yaml").read_text() == INVENTORY


def test_a_model_that_does_not_fit_is_refused(fleet: Path, cli: Cli) -> None:
    """The second server of a recipe that takes most of the memory of a host."""
    words = ("add", "redhatai/qwen3.6-35b-a3b-nvfp4", "--to", "lab.yaml", "--on", "spark-02")
    assert cli(*words).code == 0
    once = (fleet / "lab.yaml").read_text()
    outcome = cli(*words, "--format", "json")
    assert outcome.code == 1
    assert {each["code"][:3] for each in json.loads(outcome.out)["findings"]} == {"MEM"}
    assert (fleet / "lab.yaml").read_text() == once


def test_a_removed_deployment_takes_its_own_lines_only(fleet: Path, cli: Cli) -> None:
    """Comments in its lines go with it; those above and below stay."""
    assert cli(*NEW, "--on", "spark-02").code == 0
    outcome = cli("remove", "small", "--from", "lab.yaml")
    assert outcome.code == 0, outcome.err
    before, _, rest = INVENTORY.partition("  small:\n")
    after = rest[rest.index("\n# The end.") :]
    assert (fleet / "lab.yaml").read_text() == before + ADDED + after
    assert "-    # tried twice\n" in outcome.out


def test_a_group_is_removed_and_added_on_its_hosts_with_the_build_that_is_there(folder: Path, cli: Cli) -> None:
    """An inventory without the build needs its commits: they are the user's to choose."""
    for name in ("pair.yaml", "pair.lock.yaml"):
        (folder / name).write_bytes((ROOT / "inventories" / name).read_bytes())
    recipe = "deepseek-ai/deepseek-v4-flash"
    words = ("add", recipe, "--on", "spark-01,spark-02", "--to", "pair.yaml")
    assert cli("remove", "ds4", "--from", "pair.yaml").code == 0
    outcome = cli(*words)
    assert outcome.code == 0, outcome.err
    assert f"+    recipe: {recipe}\n+    hosts: [spark-01, spark-02]\n" in outcome.out
    assert "leaves 2 values open: commit of build vllm-node-dsv4" in cli(*words[:-1], "lab.yaml").err


def test_what_is_used_is_not_removed(fleet: Path, cli: Cli) -> None:
    used = INVENTORY.replace("urls: []", "uses: [small]")
    (fleet / "lab.yaml").write_text(used)
    outcome = cli("remove", "small", "--from", "lab.yaml")
    assert outcome.code == 1
    assert "small" in outcome.err
    assert (fleet / "lab.yaml").read_text() == used
    assert cli("remove", "chat", "--from", "lab.yaml").code == 2


def test_an_inventory_with_errors_stays(fleet: Path, cli: Cli) -> None:
    broken = INVENTORY.replace("hosts: spark-01", "hosts: spark-09")
    (fleet / "lab.yaml").write_text(broken)
    assert cli("remove", "small", "--from", "lab.yaml").code == 2
    assert cli(*NEW, "--on", "spark-02").code == 2
    assert (fleet / "lab.yaml").read_text() == broken


@pytest.mark.parametrize(
    "text",
    [
        INVENTORY,
        INVENTORY.replace("\n", "\r\n"),
        INVENTORY.rstrip("\n"),
        "name: lab\nhosts:\n    a: {}\ndeployments:\n    b:\n        hosts: a # here",
        "name: lab\nhosts:\n    a: {}\ndeployments:\n    b:\n        on: a # here",
        "deployments: {b: {hosts: a}}\nhosts: {a: {}}\n",
        "name: lab\ndeployments: {}\n",
        "hosts: {a: {}}\n",
        "hosts: {a: {}}",
    ],
)
def test_adding_and_removing_gives_the_same_text(text: str) -> None:
    values = {"recipe": "base/single-spark", "hosts": ["spark-01", "spark-02"], "port": 8000}
    added = with_entry(text, "deployments", "new", values)
    assert yaml.safe_load(added)["deployments"]["new"] == values
    removed = without_deployment(added, "new")
    emptied = text.replace("deployments: {}\n", "")
    assert removed.rstrip("\r\n") == emptied.rstrip("\r\n")


def test_deployments_without_a_value_are_not_edited() -> None:
    with pytest.raises(CannotEdit, match="deployments has no value"):
        with_entry("deployments:\n", "deployments", "new", {"hosts": "a"})


FULL: Final = """\
name: lab
defaults: {model_store: /srv/models}
hosts:
  spark-01: {address: 192.168.1.11}
deployments:
  chat: {recipe: redhatai/qwen3.6-35b-a3b-nvfp4, hosts: spark-01, set: {gpu_memory_utilization: 0.85}}
"""
SECOND: Final = ("add", "unsloth/gemma-4-26b-a4b-it-nvfp4", "--on", "spark-01", "--to", "lab.yaml")


def test_shares_with_which_both_fit_are_proposed_and_not_written_without_an_answer(fleet: Path, cli: Cli) -> None:
    """What each loses, who starts first, and the lines; without a terminal, nothing is written."""
    (fleet / "lab.yaml").write_text(FULL)
    outcome = cli(*SECOND)
    assert (outcome.code, (fleet / "lab.yaml").read_text()) == (1, FULL)
    assert outcome.err == "lab.yaml: nothing was written; --yes writes this\n"
    lines = [" ".join(line.split()) for line in outcome.out.splitlines()]
    assert "share of the memory 0.85 0.47" in lines
    assert "gemma-4-26b-a4b-it-nvfp4 (new)" in lines
    assert "share of the memory 0.8 0.4" in lines
    first, second = (line.split() for line in lines if line.endswith(" free"))
    assert (first[1], second[1]) == ("chat", "gemma-4-26b-a4b-it-nvfp4")
    for start in (first, second):
        assert float(start[3]) <= float(start[6])
    assert "+ gpu_memory_utilization: 0.4" in lines


def test_what_fits_is_written_with_yes_and_passes_the_check(fleet: Path, cli: Cli) -> None:
    (fleet / "lab.yaml").write_text(FULL)
    outcome = cli(*SECOND, "--yes", "--format", "json")
    assert outcome.code == 0
    data = json.loads(outcome.out)
    chat, new = data["proposal"]["deployments"]
    assert chat["before"]["context"] == chat["after"]["context"] == 131072
    assert chat["before"]["fit"]["tokens"] > chat["after"]["fit"]["tokens"] > 131072
    assert new["after"]["fit"]["one"] is True
    assert [each["name"] for each in data["proposal"]["starts"]] == ["chat", "gemma-4-26b-a4b-it-nvfp4"]
    assert cli("check", "lab.yaml", "--allow-unlocked").code == 0
    [host] = json.loads(cli("plan", "lab.yaml", "--format", "json").out)["plan"]["hosts"]
    assert host["memory"]["verdict"]["word"] == "fits"


def test_a_terminal_is_asked(fleet: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    (fleet / "lab.yaml").write_text(FULL)
    monkeypatch.setattr(os, "isatty", lambda _: True)
    monkeypatch.setattr(click.termui, "visible_prompt_func", lambda _: "n")
    assert cli(*SECOND).code == 130
    assert (fleet / "lab.yaml").read_text() == FULL
    monkeypatch.setattr(click.termui, "visible_prompt_func", lambda _: "y")
    outcome = cli(*SECOND)
    assert (outcome.code, outcome.out.count("diff --git")) == (0, 1)
    assert "gpu_memory_utilization: 0.47" in (fleet / "lab.yaml").read_text()


def test_what_cannot_fit_names_what_is_missing_and_what_would_fit(fleet: Path, cli: Cli) -> None:
    (fleet / "lab.yaml").write_text(FULL.replace("11}\n", "11, memory: {total_gib: 60}}\n"))
    outcome = cli("add", "unsloth/qwen3.8-27b-nvfp4#bf16", "--on", "spark-01", "--to", "lab.yaml")
    assert outcome.code == 1
    said = " ".join(outcome.err.split())
    assert "GiB are missing on spark-01, even with the smallest shares and the shortest contexts: chat " in said
    assert " fits beside them, or let them take turns" in said


def test_another_host_is_named_where_it_fits(fleet: Path, cli: Cli) -> None:
    hosts = "11, memory: {total_gib: 60}}\n  spark-02: {address: 192.168.1.12}\n"
    (fleet / "lab.yaml").write_text(FULL.replace("11}\n", hosts))
    outcome = cli("add", "unsloth/qwen3.8-27b-nvfp4#bf16", "--on", "spark-01", "--to", "lab.yaml")
    assert "fits on spark-02 (--on spark-02)" in " ".join(outcome.err.split())


def test_a_share_is_not_proposed_for_a_size_that_is_unknown(fleet: Path, cli: Cli) -> None:
    (fleet / "lab.yaml").write_text(FULL)
    outcome = cli("add", "openai/gpt-oss-120b", "--on", "spark-01", "--to", "lab.yaml")
    assert outcome.code == 1
    said = " ".join(outcome.err.split())
    assert "No shares can be proposed, because this is unknown: weights of gpt-oss-120b. Write the deployment" in said
