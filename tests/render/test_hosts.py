"""hosts/<name>/ mirrors the target's root: units, compose files and settings."""

from __future__ import annotations

import configparser
import json
from typing import TYPE_CHECKING

import pytest

from tests.plan.fleets import PAIR, deployment, service

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sparkiac.report.artifact import Artifact

    Rendered = Callable[[str], Mapping[str, Artifact]]

ROOT = "hosts/spark-01/"
PROGRAMS = "playbooks/roles/programs/files/"
UNIT = f"{ROOT}etc/systemd/system/sparkiac-chat.service"


def unit(artifact: Artifact) -> dict[str, dict[str, list[str]]]:
    """Read a unit file: section → key → values in order."""
    sections: dict[str, dict[str, list[str]]] = {}
    for line in artifact.content.decode().splitlines():
        if line.startswith("["):
            found = sections.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return sections


def test_the_files_of_a_host(rendered: Rendered) -> None:
    assert {path for path in rendered(deployment()) if path.startswith("hosts/")} == {
        UNIT,
        f"{ROOT}etc/sparkiac/chat/compose.yaml",
        f"{ROOT}etc/sparkiac/chat/promise.json",
        f"{ROOT}etc/sparkiac/generation.json",
        f"{ROOT}etc/sparkiac/preflight.json",
        f"{ROOT}etc/sysctl.d/90-sparkiac.conf",
    }


def test_everything_else_is_not_executable(rendered: Rendered) -> None:
    modes = {path: artifact.mode for path, artifact in rendered(PAIR).items() if not path.startswith(PROGRAMS)}
    assert {path for path, mode in modes.items() if mode != 0o644} == set()


def test_the_unit_of_a_deployment(rendered: Rendered) -> None:
    text = deployment("api_key: {secret: team_key}", "timeouts: {ready_s: 700, stop_s: 70, restart_delay_s: 7}")
    found = unit(rendered(text)[UNIT])
    service_section = found["Service"]
    assert found["Unit"]["Description"] == ["example/model"]
    assert service_section["ExecStart"] == ["/usr/local/lib/sparkiac/supervise chat"]
    assert service_section["ExecStartPre"] == [
        "+/usr/local/lib/sparkiac/switch started sparkiac-chat",  # a unit that gives up changes nothing
        "+/usr/local/lib/sparkiac/preflight --start chat",
    ]
    assert service_section["ExecStartPost"] == ["+/usr/local/lib/sparkiac/switch opened sparkiac-chat"]
    assert service_section["RuntimeDirectoryPreserve"] == ["restart"]
    assert service_section["TimeoutStartSec"] == ["700"]
    assert service_section["TimeoutStopSec"] == ["70"]
    assert service_section["RestartSec"] == ["7"]
    assert service_section["LoadCredential"] == ["team_key:/etc/sparkiac/secrets/team_key"]
    assert service_section["RuntimeDirectory"] == ["sparkiac-chat"]
    assert found["Install"]["WantedBy"] == ["multi-user.target docker.service"]


def test_load_memory_adds_its_steps_and_its_file(rendered: Rendered) -> None:
    during = (
        "load_memory: {drop_caches_every_s: 1, read_ahead_kib: 8, read_ahead_for_s: 180, sysctl: {vm.dirty_ratio: 5}}"
    )
    tree = rendered(deployment(during, "timeouts: {ready_s: 700}"))
    steps = unit(tree[UNIT])["Service"]
    program = "+/usr/local/lib/sparkiac/load_memory"
    assert steps["ExecStartPre"][1] == f"{program} begin chat"  # before the preflight looks at the free memory
    assert "preflight" in steps["ExecStartPre"][2]
    assert steps["ExecStartPost"] == [
        "+/usr/local/lib/sparkiac/switch opened sparkiac-chat",
        f"-{program} end chat",
    ]
    assert f"-{program} end chat" in steps["ExecStopPost"]
    assert json.loads(tree[f"{ROOT}etc/sparkiac/chat/load-memory.json"].content) == {
        "drop_every_s": 1.0,
        "drop_for_s": 700,
        "for_s": 700,
        "read_ahead_for_s": 180,
        "read_ahead_kib": 8,
        "store": "/srv/models",
        "sysctls": [{"key": "vm.dirty_ratio", "value": "5"}],
    }
    [planned] = json.loads(tree[f"{ROOT}etc/sparkiac/generation.json"].content)["units"]
    assert "etc/sparkiac/chat/load-memory.json" in planned["files"]


def test_the_unit_waits_for_every_mounted_path(rendered: Rendered) -> None:
    found = unit(rendered(deployment())[UNIT])
    store = "/srv/models/hub/models--example--model"
    assert found["Unit"]["RequiresMountsFor"] == [f"/etc/sparkiac /var/cache/sparkiac /var/lib/docker {store}"]


def test_the_unit_stays_as_it_is_when_an_option_changes(rendered: Rendered) -> None:
    changed = rendered(deployment("set: {max_model_len: 1024}"))
    assert changed[UNIT].content == rendered(deployment())[UNIT].content


def test_a_service_has_no_cache_and_no_secret(rendered: Rendered) -> None:
    found = unit(rendered(service("description: '100 % \"speech\"'"))[UNIT.replace("chat", "asr")])
    assert found["Unit"]["Description"] == ['100 %% "speech"']
    assert found["Unit"]["RequiresMountsFor"] == ["/etc/sparkiac /var/cache/sparkiac /var/lib/docker"]
    assert "LoadCredential" not in found["Service"]


def test_a_path_with_specifiers_reaches_systemd_whole(rendered: Rendered) -> None:
    """A path may hold `@`, `=` and `+`, which mean nothing to systemd; a `%` cannot stand in one."""
    found = unit(rendered(service("mounts: {/data: {source: /srv/a@b=c+d}}"))[UNIT.replace("chat", "asr")])
    assert found["Unit"]["RequiresMountsFor"][0].endswith(" /srv/a@b=c+d")


def test_the_kernel_settings(rendered: Rendered) -> None:
    host = "spark-01: {address: 192.168.1.11, sysctl: {net.ipv4.tcp_rmem: '1 2 3'}}"
    content = rendered(deployment(host=host))[f"{ROOT}etc/sysctl.d/90-sparkiac.conf"].content.decode()
    parser = configparser.ConfigParser(delimiters="=")
    parser.read_string("[all]\n" + content)
    assert dict(parser["all"]) == {"net.ipv4.tcp_rmem": "1 2 3", "vm.swappiness": "1"}


def test_no_kernel_settings_no_file(rendered: Rendered) -> None:
    tree = rendered(deployment(host="spark-01: {address: 192.168.1.11, sysctl: null}"))
    assert f"{ROOT}etc/sysctl.d/90-sparkiac.conf" not in tree


@pytest.mark.parametrize("name", ["generation.json", "preflight.json"])
def test_json_is_sorted_and_ends_with_a_newline(rendered: Rendered, name: str) -> None:
    text = rendered(PAIR)[f"{ROOT}etc/sparkiac/{name}"].content.decode()
    assert text == json.dumps(json.loads(text), indent=1, sort_keys=True) + "\n"


def group(tree: Mapping[str, Artifact], host: str) -> dict[str, object]:
    """Read the file of the node of a host."""
    found: dict[str, object] = json.loads(tree[f"hosts/{host}/etc/sparkiac/big/group.json"].content)
    return found


def test_the_nodes_of_a_group_start_together_and_share_a_version(rendered: Rendered) -> None:
    tree = rendered(PAIR)
    nodes = [group(tree, host) for host in ("spark-01", "spark-02")]
    assert [node.pop("host") for node in nodes] == ["spark-01", "spark-02"]
    assert [list(node.pop("files")) for node in nodes] == [["etc/sparkiac/big/compose.yaml"]] * 2
    assert nodes[0] == nodes[1]
    assert (nodes[0]["leader"], nodes[0]["workers"], nodes[0]["port"]) == ("spark-02", ["spark-01"], 7349)
    for host in ("spark-01", "spark-02"):
        lines = unit(tree[f"hosts/{host}/etc/systemd/system/sparkiac-big.service"])["Service"]
        program = "/usr/local/lib/sparkiac"
        assert lines["ExecStart"] == [f"{program}/group /etc/sparkiac/big/group.json {program}/supervise big"]
        assert lines["RestrictAddressFamilies"] == ["AF_UNIX AF_INET AF_INET6"]
        assert "PrivateNetwork" not in lines
        [planned] = json.loads(tree[f"hosts/{host}/etc/sparkiac/generation.json"].content)["units"]
        assert "etc/sparkiac/big/group.json" in planned["files"]


@pytest.mark.parametrize(
    "change",
    [("port: 8001", "port: 8001\n    env: {A: b}"), ("address: 192.168.177.12/24", "address: 192.168.177.13/24")],
)
def test_what_one_node_runs_changes_the_version_of_all(rendered: Rendered, change: tuple[str, str]) -> None:
    assert change[0] in PAIR
    before, after = rendered(PAIR), rendered(PAIR.replace(*change))
    versions = {group(tree, host)["version"] for tree in (before, after) for host in ("spark-01", "spark-02")}
    assert len(versions) == 2


def test_a_unit_without_a_group_has_no_network(rendered: Rendered) -> None:
    lines = unit(rendered(deployment())[UNIT])["Service"]
    assert (lines["PrivateNetwork"], lines["RestrictAddressFamilies"]) == (["yes"], ["AF_UNIX"])
