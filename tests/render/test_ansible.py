"""What Ansible reads: hosts, variables, configuration and playbooks."""

from __future__ import annotations

import configparser
from typing import TYPE_CHECKING, Any

import yaml

from sparkiac.render import playbooks
from sparkiac.report import assets
from tests.plan.fleets import ONES, PAIR, deployment, service

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sparkiac.report.artifact import Artifact

    Rendered = Callable[[str], Mapping[str, Artifact]]


class _Loader(yaml.SafeLoader):
    """PyYAML with Ansible's tag for text that is not evaluated."""


_Loader.add_constructor("!unsafe", lambda loader, node: loader.construct_scalar(node))


def variables(tree: Mapping[str, Artifact], host: str = "spark-01") -> dict[str, Any]:
    """Read a host's variables."""
    text = b"".join(tree[f"host_vars/{host}/{name}.yml"].content.removeprefix(b"---\n") for name in ("main", "hashes"))
    found = yaml.load(text, Loader=_Loader)  # noqa: S506  a SafeLoader
    assert list(found) == ["sparkiac", "sparkiac_hashes"]
    assert found["sparkiac"].keys().isdisjoint(found["sparkiac_hashes"])
    return {**found["sparkiac"], **found["sparkiac_hashes"]}


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


def test_the_files_are_all_those_of_one_host_with_their_modes(rendered: Rendered) -> None:
    tree = rendered(deployment())
    files = variables(tree)["files"]
    assert {file["path"]: int(file["mode"], 8) for file in files} == {
        path.removeprefix("hosts/spark-01/"): artifact.mode
        for path, artifact in tree.items()
        if path.startswith("hosts/")
    }
    paths = [file["path"] for file in files]
    assert paths == sorted(set(paths))


def test_the_rollout_of_the_inventory(rendered: Rendered) -> None:
    hosts = ", ".join(f"spark-0{number}: {{address: 192.168.1.1{number}}}" for number in range(1, 6))
    written = "rollout: {batch: 2, pause_s: 60, canary: spark-03, on_failure: back}\n"
    tree = rendered(deployment(host=hosts) + written)
    _, *changes, _ = yaml.safe_load(tree["site.yml"].content)
    others = ["spark-01", "spark-02", "spark-04", "spark-05"]
    assert [(play["name"], play["vars"]) for play in changes] == [
        ("Change hosts one after the other", {"change_serial": 1, "change_pause_s": 60, "change_hosts": ["spark-03"]}),
        ("Change up to 2 hosts at a time", {"change_serial": 2, "change_pause_s": 60, "change_hosts": others}),
    ]
    rollout = yaml.safe_load(tree["group_vars/all.yml"].content)["sparkiac_rollout"]
    assert rollout == {"on_failure": "back", "order": ["spark-03", *others]}
    default = yaml.safe_load(rendered(deployment())["group_vars/all.yml"].content)
    assert default["sparkiac_rollout"] == {"on_failure": "stop", "order": ["spark-01"]}


def test_a_retired_host_is_in_a_group_of_its_own_and_in_the_last_play(rendered: Rendered) -> None:
    retired = "retired: {old: {address: 192.168.1.13, user: milo, port: 2222}, older: {address: 192.168.1.14}}\n"
    tree = rendered(deployment(defaults="{model_store: /srv/models, user: spark}") + retired)
    children = yaml.safe_load(tree["inventory.yml"].content)["all"]["children"]
    assert children["retired"]["hosts"] == {
        "old": {"ansible_host": "192.168.1.13", "ansible_user": "milo", "ansible_port": 2222},
        "older": {"ansible_host": "192.168.1.14", "ansible_user": "spark"},
    }
    assert list(children["sparks"]["hosts"]) == ["spark-01"]
    *plays, last = yaml.safe_load(tree["site.yml"].content)
    assert last["ansible.builtin.import_playbook"] == "playbooks/uninstall.yml"
    assert last["vars"] == {"uninstall_hosts": "retired"}
    assert [path for path in tree if "old" in path] == []
    without = rendered(deployment())
    assert "retired" not in yaml.safe_load(without["inventory.yml"].content)["all"]["children"]
    assert len(yaml.safe_load(without["site.yml"].content)) == len(plays) == 3


def test_the_image_that_tries_the_gpu_is_an_engines(rendered: Rendered) -> None:
    """(HST002) The first of them; a machine without a GPU, or without an engine, has none to try."""
    found = variables(rendered(deployment()))
    assert found["gpu_image"] in found["images"]
    assert variables(rendered(service()))["gpu_image"] == ""
    plain = deployment(host="spark-01: {address: 192.168.1.11, platform: pc}")
    assert variables(rendered(plain + "platforms: {pc: {title: PC, architecture: arm64}}\n"))["gpu_image"] == ""


def test_what_a_deployment_needs(rendered: Rendered) -> None:
    tree = rendered(deployment("api_key: {secret: team_key}"))
    found = variables(tree)
    [directory] = found["directories"]
    assert directory["path"].startswith("/var/cache/sparkiac/chat/")
    assert directory["mode"] == "0700"
    assert (found["host"], found["user"], found["secrets"]) == ("spark-01", "sparkiac", ["team_key"])
    assert found["images"] == [f"nvcr.io/nvidia/vllm@{ONES}"]


def test_the_plays_change_single_hosts_one_by_one_and_a_group_together(rendered: Rendered) -> None:
    single = deployment(host="spark-01: {address: 192.168.1.11}, spark-02: {address: 192.168.1.12}")
    for text, serial in ((single, 1), (PAIR, 2)):
        first, change, last = yaml.safe_load(rendered(text)["site.yml"].content)
        assert change["ansible.builtin.import_playbook"] == "playbooks/change.yml"
        hosts = ["spark-01", "spark-02"]
        assert change["vars"] == {"change_serial": serial, "change_pause_s": 0, "change_hosts": hosts}
        assert first["ansible.builtin.import_playbook"] == "playbooks/deploy.yml"
        assert last["ansible.builtin.import_playbook"] == "playbooks/verify.yml"
    together = ["spark-01", "spark-02"]
    assert [variables(rendered(PAIR), host)["together"] for host in together] == [together, together]
    assert [variables(rendered(single), host)["together"] for host in together] == [["spark-01"], ["spark-02"]]


def test_a_host_that_runs_nothing(rendered: Rendered) -> None:
    tree = rendered("name: lab\nhosts: {spark-01: {address: 192.168.1.11, sysctl: null}}\n")
    found = variables(tree)
    assert (found["images"], found["secrets"], found["directories"]) == ([], [], [])


def test_the_configuration_and_the_playbooks_are_copies(rendered: Rendered) -> None:
    tree = rendered(deployment())
    for name in ("ansible.cfg",):
        assert tree[name].content == (assets.directory("templates") / name).read_bytes()
    copies = {f"playbooks/{path}": file for path, file in assets.files("playbooks")}
    programs = {f"playbooks/roles/programs/files/{each.path}" for each in playbooks.on_every_host()}
    assert {path for path in tree if path.startswith("playbooks/")} == copies.keys() | programs
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


def test_no_variable_contains_what_ansible_would_evaluate(rendered: Rendered) -> None:
    """A path of the model store cannot hold braces. A name that clients use can; only generation.json has it."""
    tree = rendered(deployment("served_names: ['{{ 7 * 7 }}']"))
    assert b"{{ 7 * 7 }}" in tree["hosts/spark-01/etc/sparkiac/generation.json"].content
    assert not [path for path in tree if path.startswith(("host_vars", "group_vars")) and b"{{" in tree[path].content]
