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


@pytest.mark.parametrize(("name", "hosts"), [("pair", 2), ("ring3", 3), ("switch4", 4)])
def test_each_host_runs_its_rank_with_the_names_of_its_links(cli: Cli, name: str, hosts: int, tmp_path: Path) -> None:
    path = ROOT / f"inventories/{name}.yaml"
    assert cli("generate", str(path), "--output", str(tmp_path / "out")).code == 0
    found = sorted((tmp_path / "out").glob("hosts/*/etc/sparkiac/*/compose.yaml"))
    assert len(found) == hosts
    for rank, each in enumerate(found):
        text = each.read_text()
        assert f'"--node-rank={rank}"' in text
        assert f'"--nnodes={hosts}"' in text
        assert 'NCCL_IB_HCA: "rocep1s0f' in text
