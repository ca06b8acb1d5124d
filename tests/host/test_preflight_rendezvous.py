"""Only the nodes of a group reach the ports that it opens; without nftables it does not start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.host.test_preflight_start import DOCKER, FILES, prepared

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

    Make = Callable[..., Any]

STORE = {"ports": ["29501", "29510-29599"], "peers": ["192.168.177.12", "fd00::12"]}
PORTS = "port 29501, 29510-29599"


def test_the_rules_name_the_peers(
    preflight: ModuleType,
    machine: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nft = tmp_path / "bin/nft"
    nft.parent.mkdir()
    nft.write_text("#!/bin/sh\n")
    nft.chmod(0o755)
    monkeypatch.setenv("PATH", f"{nft.parent}:/usr/bin:/bin")
    host = machine(DOCKER, **FILES)
    [line] = [line for line in prepared(preflight, host, "big-one", group_ports=STORE) if line.check == PORTS]
    assert (line.state, line.found) == ("ok", "open for 192.168.177.12, fd00::12 only")
    text = host.path("/run/sparkiac/doors.nft").read_text()
    assert "delete table inet sparkiac_store_big_one\n" in text, "that of a former version"
    rules = [line.partition(" peers tcp ")[2] for line in text.splitlines() if " peers tcp " in line]
    port = "dport { 29501, 29510-29599 }"
    assert rules[:2] == [f"{port} ip saddr 192.168.177.12 accept", f"{port} ip6 saddr fd00::12 accept"]
    assert [rule for rule in rules[2:] if not (rule.startswith(port) and rule.endswith(" drop"))] == []


@pytest.mark.parametrize(("required", "state"), [(True, "FAIL"), (False, "warn")])
def test_without_nftables_a_node_starts_only_if_it_is_optional(  # noqa: PLR0913, PLR0917
    preflight: ModuleType,
    machine: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    required: bool,  # noqa: FBT001
    state: str,
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    lines = prepared(preflight, machine(DOCKER, **FILES), "big", nft=required, group_ports=STORE)
    [line] = [line for line in lines if line.check == PORTS]
    assert line.state == state
    assert "install nftables" in line.hint
    assert [line.check for line in lines if line.state == "FAIL"] == ([PORTS] if required else [])
