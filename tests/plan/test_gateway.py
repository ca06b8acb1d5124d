"""The planned gateway: its memory, its keys, its servers, and the services that use it."""

from __future__ import annotations

from collections import defaultdict

import yaml

from sparkiac.memory.values import GIB
from sparkiac.plan import Export
from sparkiac.render import ansible, hosts
from sparkiac.render.kubernetes import render
from tests.gateway.standins import FLEET, KEYS
from tests.plan.fleets import ONES, containers, planned

CLIENTS = f"""\
  web: {{kind: open-webui, image: 'example.org/w@{ONES}', hosts: spark-01, uses: [both, safe]}}
  agent: {{kind: hermes-agent, hosts: spark-01, uses: safe, api_key: {{secret: h}}, program: /usr/bin/h, user: spark}}
  claw: {{kind: openclaw, hosts: spark-01, aliases: {{fast: {{to: both}}}}}}
routes:
"""


def test_the_memory_at_the_default_is_at_most_one_and_a_half_gib() -> None:
    found = containers(FLEET)["spark-02/gateway"]
    larger = containers(FLEET.replace("    kind: gateway\n", "    kind: gateway\n    max_body_mib: 16\n"))
    assert found.memory_bytes is not None
    assert GIB < found.memory_bytes <= 1.5 * GIB
    assert (larger["spark-02/gateway"].memory_bytes or 0) > found.memory_bytes


def test_no_generated_file_has_a_key_and_only_the_unit_reads_the_secrets() -> None:
    plan = planned(FLEET)
    [host] = [each for each in plan.hosts if each.name == "spark-02"]
    files = {each.path: each.content.decode() for each in hosts.render(host, {})}
    assert not [path for path, text in files.items() for key in KEYS.values() if key in text]
    unit = files["hosts/spark-02/etc/systemd/system/sparkiac-gateway.service"]
    assert "ExecReload=+/usr/local/lib/sparkiac/gateway_keys gateway\n" in unit
    assert unit.rindex("ExecReload=+/usr/local/lib/sparkiac/switch reloaded sparkiac-gateway\n") > unit.index("USR2")
    assert "LoadCredential" not in unit
    assert "After=docker.service network-online.target sparkiac-recover.service\n" in unit  # it waits for no model
    assert set(KEYS) <= {*host.secrets}
    assert "/run/secrets" not in files["hosts/spark-02/etc/sparkiac/gateway/compose.yaml"]


def test_it_reads_new_keys_before_a_host_changes() -> None:
    for text, played in ((FLEET, ["keys"]), (FLEET.partition("services:")[0], [])):
        site = next(each for each in ansible.render(planned(text), defaultdict(tuple)) if each.path == "site.yml")
        plays = [each["ansible.builtin.import_playbook"] for each in yaml.safe_load(site.content)]
        others = ["deploy", *played, "change", "verify"]
        assert list(dict.fromkeys(plays)) == [f"playbooks/{each}.yml" for each in others]


def test_limits_and_weights_reach_the_servers() -> None:
    text = FLEET.replace("both: {to: [one, two]}", "both: {to: [one, two], weights: {two: 3}}")
    text = text.replace("hosts: spark-02, port: 8001}", "hosts: spark-02, port: 8001, set: {max_num_seqs: 9}}")
    both = containers(text)["spark-02/gateway"].documents[0].content["routes"][0]
    found = [(each["address"], each["weight"], each["concurrent"]) for each in both["servers"]]
    assert found[1] == ("192.168.1.12:8001", 48, 9)
    assert found[0][:2] == ("192.168.1.11:8001", 16)


def test_services_use_a_route_through_the_gateway_with_its_key() -> None:
    plan = planned(FLEET.replace("routes:\n", CLIENTS))
    [host] = [each for each in plan.hosts if each.name == "spark-01"]
    [web] = [each for each in host.containers if each.name == "web"]
    assert web.command.env["OPENAI_API_BASE_URLS"] == "http://192.168.1.12:8088/v1"
    assert web.command.exports == (Export("OPENAI_API_KEYS", ("gate_key",)),)
    assert host.programs[0].config["model"]["default"] == "safe"
    [provider] = host.config_files[0].content["models"]["providers"].values()
    assert (provider["baseUrl"], provider["models"][0]["id"]) == ("http://192.168.1.12:8088/v1", "both")


def test_an_encrypted_gateway_has_https_addresses() -> None:
    text = FLEET.replace("    kind: gateway\n", "    kind: gateway\n    tls: /etc/ssl/gateway.pem\n")
    found = containers(text.replace("routes:\n", CLIENTS))["spark-01/web"]
    assert found.command.env["OPENAI_API_BASE_URLS"] == "https://192.168.1.12:8088/v1"


def test_kubernetes_refuses_it_by_name() -> None:
    notes = next(each for each in render(planned(FLEET)).artifacts if each.path.endswith("NOTES.md"))
    assert "the gateway gets its keys from its systemd unit" in notes.content.decode()
