"""The shipped inventories of groups: every entry that they offer can be chosen, and each renders as it is."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

PAIR = (ROOT / "inventories/pair.yaml").read_text()
CHOSEN = "    recipe: deepseek-ai/deepseek-v4-flash\n"
OFFERED = re.findall(r"^    #   ((?:recipe|variant): \S+)", PAIR, re.MULTILINE)


def with_entry(entry: str) -> str:
    line = f"    {entry}\n"
    if entry.startswith("variant"):
        return PAIR.replace(CHOSEN, CHOSEN + line)
    return PAIR.replace(CHOSEN, f"{line}    port: 8000\n")


def test_the_thread_has_these_entries() -> None:
    assert OFFERED == [
        "variant: no-mtp",
        "variant: pr-43447",
        "variant: host-tuning",
        "recipe: deepseek-ai/deepseek-v4-flash-pinned",
    ]


@pytest.mark.parametrize("entry", OFFERED)
def test_each_entry_of_the_thread_lacks_only_its_pins(cli: Cli, entry: str, tmp_path: Path) -> None:
    inventory = tmp_path / "pair.yaml"
    inventory.write_text(with_entry(entry))
    outcome = cli("check", str(inventory), "--format", "json")
    errors = {each["code"] for each in json.loads(outcome.out)["findings"] if each["severity"] == "error"}
    assert errors == {"IMG003", "MDL001", "ENT100"}
    generated = cli("generate", str(inventory), "--allow-unlocked", "--output", str(tmp_path / "out"))
    assert generated.code == 0
    composed = tmp_path.glob("out/hosts/*/etc/sparkiac/ds4/compose.yaml")
    assert sorted(path.parents[3].name for path in composed) == ["spark-01", "spark-02"]


def test_host_tuning_renders_the_settings_of_the_thread_for_each_of_its_hosts(cli: Cli, tmp_path: Path) -> None:
    smaller = "      spark-02: {set: {gpu_memory_utilization: 0.81}}\n"
    tuned = "load_memory: {sysctl: {vm.min_free_kbytes: 5242880}}, set"
    text = with_entry("variant: host-tuning")
    assert smaller in text
    (tmp_path / "pair.yaml").write_text(text.replace(smaller, smaller.replace("set", tuned)))
    options = ("--allow-unlocked", "--output", str(tmp_path / "out"))
    assert cli("generate", str(tmp_path / "pair.yaml"), *options).code == 0
    for host, reserve in {"spark-01": "3145728", "spark-02": "5242880"}.items():  # L323
        guard = json.loads((tmp_path / f"out/hosts/{host}/etc/sparkiac/ds4/load-memory.json").read_text())
        assert {each["key"]: each["value"] for each in guard["sysctls"]} == {
            "vm.dirty_background_ratio": "2",
            "vm.dirty_ratio": "5",
            "vm.min_free_kbytes": reserve,
            "vm.vfs_cache_pressure": "200",  # L329
        }
        assert (guard["drop_every_s"], guard["read_ahead_kib"], guard["read_ahead_for_s"]) == (
            0.1,
            8,
            180,
        )  # L325, L327


@pytest.mark.parametrize(("name", "hosts"), [("pair", 2), ("ring3", 3), ("switch4", 4)])
def test_each_host_runs_its_rank_with_the_names_of_its_links(cli: Cli, name: str, hosts: int, tmp_path: Path) -> None:
    path = ROOT / f"inventories/{name}.yaml"
    assert cli("generate", str(path), "--allow-unlocked", "--output", str(tmp_path / "out")).code == 0
    found = sorted((tmp_path / "out").glob("hosts/*/etc/sparkiac/*/compose.yaml"))
    assert len(found) == hosts
    for rank, each in enumerate(found):
        text = each.read_text()
        assert f'"--node-rank={rank}"' in text
        assert f'"--nnodes={hosts}"' in text
        assert 'NCCL_IB_HCA: "rocep1s0f' in text
