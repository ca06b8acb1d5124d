"""What Ansible reads: hosts, variables, configuration and playbooks."""

from __future__ import annotations

import configparser
import json
from typing import TYPE_CHECKING, Any

import yaml

from sparkiac import assets
from tests.plan.fleets import ONES, PAIR, deployment, service

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sparkiac.artifact import Artifact

    Rendered = Callable[[str], Mapping[str, Artifact]]


class _Loader(yaml.SafeLoader):
    """PyYAML with Ansible's tag for text that is not evaluated."""


_Loader.add_constructor("!unsafe", lambda loader, node: loader.construct_mapping(node, deep=True))


def variables(tree: Mapping[str, Artifact], host: str = "spark-01") -> dict[str, Any]:
    """Read a host's variables."""
    text = tree[f"host_vars/{host}.yml"].content.decode()
    assert "sparkiac: !unsafe\n" in text
    found = yaml.load(text, Loader=_Loader)  # noqa: S506  a SafeLoader
    assert list(found) == ["sparkiac"]
    return dict(found["sparkiac"])


def test_the_inventory_says_how_to_reach_each_host(rendered: Rendered) -> None:
    hosts = (
        "spark-01: {address: 192.168.1.11, ssh: {user: milo, port: 2222}}, spark-02: {address: spark-02.example.org}"
    )
    text = deployment(host=hosts, defaults="{model_store: /srv/models}")
    found = yaml.safe_load(rendered(text)["inventory.yml"].content)
    assert found["all"]["children"]["sparks"]["hosts"] == {
        "spark-01": {"ansible_host": "192.168.1.11", "ansible_user": "milo", "ansible_port": 2222},
        "spark-02": {"ansible_host": "spark-02.example.org"},
    }


def test_the_files_are_all_those_of_one_host_with_their_modes_the_list_last(rendered: Rendered) -> None:
    tree = rendered(deployment())
    files = variables(tree)["files"]
    assert {file["path"]: int(file["mode"], 8) for file in files} == {
        path.removeprefix("hosts/spark-01/"): artifact.mode
        for path, artifact in tree.items()
        if path.startswith("hosts/")
    }
    paths = [file["path"] for file in files]
    assert paths == [*sorted(set(paths) - {"etc/sparkiac/owned.json"}), "etc/sparkiac/owned.json"]


def test_the_image_that_tries_the_gpu_is_an_engines(rendered: Rendered) -> None:
    """(HST002) The first of them; a machine without a GPU, or without an engine, has none to try."""
    found = variables(rendered(deployment()))
    assert found["gpu_image"] in found["images"]
    assert variables(rendered(service()))["gpu_image"] == ""
    plain = deployment(host="spark-01: {address: 192.168.1.11, platform: pc}")
    assert variables(rendered(plain + "platforms: {pc: {title: PC, architecture: arm64}}\n"))["gpu_image"] == ""


def test_a_deployments_unit(rendered: Rendered) -> None:
    tree = rendered(deployment("api_key: {secret: team_key}"))
    found = variables(tree)
    [unit] = found["units"]
    [directory] = found["directories"]
    cache, _, key = directory["path"].rpartition("/")
    assert directory["mode"] == "0700"
    assert (unit["cache"], unit["cache_keep"]) == (cache, key) == ("/var/cache/sparkiac/chat", key)
    assert (unit["name"], unit["ready_timeout_s"], unit["group"]) == ("sparkiac-chat", 1200, False)
    assert unit["verify"] == {
        "url": "http://192.168.1.11:8001",
        "health": "/health",
        "models": ["example/model"],
        "api_key": "team_key",
        "answer": True,
        "tools": False,
    }
    assert (found["host"], found["user"], found["secrets"]) == ("spark-01", "sparkiac", ["team_key"])
    assert found["images"] == [f"nvcr.io/nvidia/vllm@{ONES}"]
    assert found["sysctls"] == [{"key": "vm.swappiness", "value": "1"}]


def test_a_unit_restarts_for_its_own_files_alone(rendered: Rendered) -> None:
    extra = f"services: {{asr: {{kind: container, image: 'example.org/asr@{ONES}', on: spark-01}}}}\n"
    tree = rendered(deployment() + extra)
    restarts = json.loads(tree["hosts/spark-01/etc/sparkiac/units.json"].content)
    files = {unit["name"]: unit["files"] for unit in restarts["units"]}
    scripts = "usr/local/lib/sparkiac"
    assert files == {
        "sparkiac-asr": [
            "etc/systemd/system/sparkiac-asr.service",
            "etc/sparkiac/asr/compose.yaml",
            f"{scripts}/supervise",
        ],
        "sparkiac-chat": [
            "etc/systemd/system/sparkiac-chat.service",
            "etc/sparkiac/chat/compose.yaml",
            f"{scripts}/supervise",
            f"{scripts}/probe.py",
            f"{scripts}/probe_answers.py",
        ],
    }
    roots = ("hosts/spark-01", "playbooks/roles/programs/files")
    assert all(any(f"{root}/{path}" in tree for root in roots) for paths in files.values() for path in paths)


def test_what_the_host_restarts_by(rendered: Rendered) -> None:
    """In the order in which units start, with what does not fit beside what: memory and ports."""
    extra = f"services: {{asr: {{kind: container, image: 'example.org/asr@{ONES}', on: spark-01, port: 8765}}}}\n"
    host = "spark-01: {address: 192.168.1.11, memory: {total_gib: 119, reserve_gib: 9}}"
    text = deployment("set: {gpu_memory_utilization: 0.5}", "api_key: {secret: k}", host=host) + extra
    found = json.loads(rendered(text)["hosts/spark-01/etc/sparkiac/units.json"].content)
    assert found["memory_bytes"] == 110 << 30
    chat, asr = found["units"]
    assert (chat["name"], chat["secrets"], chat["listen"]) == ("sparkiac-chat", ["k"], "192.168.1.11:8001")
    assert chat["memory_bytes"] == (119 << 30) // 2
    assert (asr["name"], asr["secrets"], asr["listen"]) == ("sparkiac-asr", [], "192.168.1.11:8765")
    assert asr["memory_bytes"] is None


def test_the_plays_change_single_hosts_one_by_one_and_a_group_together(rendered: Rendered) -> None:
    single = deployment(host="spark-01: {address: 192.168.1.11}, spark-02: {address: 192.168.1.12}")
    for text, serial in ((single, 1), (PAIR, 2)):
        first, change, last = yaml.safe_load(rendered(text)["site.yml"].content)
        assert change["ansible.builtin.import_playbook"] == "playbooks/change.yml"
        assert change["vars"] == {"change_serial": serial, "change_hosts": ["spark-01", "spark-02"]}
        assert first["ansible.builtin.import_playbook"] == "playbooks/deploy.yml"
        assert last["ansible.builtin.import_playbook"] == "playbooks/verify.yml"
    together = ["spark-01", "spark-02"]
    assert [variables(rendered(PAIR), host)["together"] for host in together] == [together, together]
    assert [variables(rendered(single), host)["together"] for host in together] == [["spark-01"], ["spark-02"]]


def test_a_service_is_asked_for_health_and_for_no_model(rendered: Rendered) -> None:
    [unit] = variables(rendered(service("port: 8765", "health: /health")))["units"]
    assert unit["verify"] == {
        "url": "http://192.168.1.11:8765",
        "health": "/health",
        "models": [],
        "api_key": None,
        "answer": False,
        "tools": False,
    }
    assert "cache" not in unit


def test_what_listens_on_every_address_is_asked_on_loopback(rendered: Rendered) -> None:
    [unit] = variables(rendered(service("port: 8765", "bind: any")))["units"]
    assert unit["verify"]["url"] == "http://127.0.0.1:8765"


def test_what_has_no_port_is_not_asked(rendered: Rendered) -> None:
    [unit] = variables(rendered(service()))["units"]
    assert unit["verify"] is None


def test_clients_with_tools_have_their_requests_tried(rendered: Rendered) -> None:
    for lines, tools in (((), False), (("clients: [tools]",), True)):
        [unit] = variables(rendered(deployment(*lines)))["units"]
        assert (unit["verify"]["answer"], unit["verify"]["tools"]) == (True, tools)


def test_only_the_leading_node_of_a_group_is_asked(rendered: Rendered) -> None:
    tree = rendered(PAIR)
    [leading], [other] = (variables(tree, host)["units"] for host in ("spark-02", "spark-01"))
    assert leading["verify"]["url"] == "http://192.168.1.12:8001"
    assert other["verify"] is None


def test_a_host_that_runs_nothing(rendered: Rendered) -> None:
    tree = rendered("name: lab\nhosts: {spark-01: {address: 192.168.1.11, sysctl: null}}\n")
    found = variables(tree)
    assert (found["units"], found["images"], found["secrets"], found["sysctls"]) == ([], [], [], [])


def test_the_configuration_and_the_playbooks_are_copies(rendered: Rendered) -> None:
    tree = rendered(deployment())
    for name in ("ansible.cfg",):
        assert tree[name].content == (assets.directory("templates") / name).read_bytes()
    copies = {f"playbooks/{path}": file for path, file in assets.files("playbooks")}
    assert {path for path in tree if path.startswith("playbooks/")} == copies.keys()
    for path, file in copies.items():
        mode = 0o755 if file.read_bytes().startswith(b"#!") else 0o644
        assert (tree[path].content, tree[path].mode) == (file.read_bytes(), mode)
    parser = configparser.ConfigParser()
    parser.read_string(tree["ansible.cfg"].content.decode())
    assert parser["defaults"]["inventory"] == "inventory.yml"


def test_hidden_files_and_caches_are_not_copied(tmp_path: Any, monkeypatch: Any) -> None:  # noqa: ANN401  pytest's own
    for name in ("deploy.yml", ".keep", "roles/a/tasks/main.yml", "__pycache__/x.pyc", ".git/config"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(assets, "directory", lambda _: tmp_path)
    assert [path for path, _ in assets.files("playbooks")] == ["deploy.yml", "roles/a/tasks/main.yml"]


def test_what_ansible_would_evaluate_stays_text(rendered: Rendered) -> None:
    """A path of the model store cannot hold braces; a name that clients use can."""
    tree = rendered(deployment("served_names: ['{{ 7 * 7 }}']"))
    [unit] = variables(tree)["units"]
    assert unit["verify"]["models"] == ["{{ 7 * 7 }}"]
