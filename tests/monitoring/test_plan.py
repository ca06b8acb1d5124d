"""What starts where, what Prometheus collects, and what it costs."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.monitoring.fleets import FULL, GATEWAY, HEAD, SHORT, TELEGRAM, read, rendered
from tests.plan.fleets import PAIR, checked, faults

PROMETHEUS = "spark-02/etc/sparkiac/prometheus"
LLAMA = f"""\
{HEAD}deployments:
  chat:
    recipe: base/llama-cpp
    image: example.org/llama:1
    model: example/model
    model_file: model.gguf
    hosts: spark-01
    port: 8001
    api_key: {{secret: llama_key}}
monitoring: {{prometheus: {{hosts: spark-02}}, alerts: {{{TELEGRAM}}}}}
"""


def containers(text: str) -> dict[str, list[str]]:
    """Return host → names of its services."""
    plan = checked(text, allow_unlocked=True).plan
    assert plan is not None
    return {host.name: [each.name for each in host.containers if each.kind == "service"] for host in plan.hosts}


def jobs(text: str) -> dict[str, Any]:
    """Return name → scrape job."""
    found = read(rendered(text), f"{PROMETHEUS}/config/prometheus.yml")["scrape_configs"]
    return {each["job_name"]: each for each in found}


def addresses(job: dict[str, Any]) -> list[str]:
    """Return the addresses of a job."""
    return [address for each in job["static_configs"] for address in each["targets"]]


def test_the_short_form_starts_everything() -> None:
    exporters = ["gpu-exporter", "node-exporter"]
    assert containers(SHORT) == {
        "spark-01": exporters,
        "spark-02": ["alertmanager", *exporters, "prometheus"],
    }
    files = rendered(SHORT)
    for host in ("spark-01", "spark-02"):
        assert f"hosts/{host}/etc/systemd/system/sparkiac-metrics.timer" in files
        units = json.loads(files[f"hosts/{host}/etc/sparkiac/generation.json"])["units"]
        assert [each["name"] for each in units[-2:]] == ["sparkiac-metrics.timer", "sparkiac-watch.timer"]


def test_a_host_without_a_gpu_has_no_gpu_exporter() -> None:
    text = SHORT.replace("192.168.1.12}", "192.168.1.12, platform: pc}") + (
        "platforms: {pc: {title: PC, architecture: amd64}}\n"
    )
    assert containers(text)["spark-02"] == ["alertmanager", "node-exporter", "prometheus"]


def test_nothing_starts_without_prometheus() -> None:
    text = SHORT.replace("prometheus: {hosts: spark-02}", "timer: {hosts: spark-02}")
    assert containers(text) == {"spark-01": [], "spark-02": []}


def test_the_jobs_and_their_labels() -> None:
    found = jobs(FULL)
    assert sorted(found) == ["alertmanager", "deployments", "external-m3-ultra", "gpu", "grafana", "node", "prometheus"]
    [chat] = found["deployments"]["static_configs"]
    assert chat == {
        "targets": ["192.168.1.11:8001"],
        "labels": {"deployment": "chat", "engine": "vllm", "host": "spark-01", "model": "example/model"},
    }
    assert addresses(found["node"]) == ["192.168.1.11:9100", "192.168.1.12:9100"]
    assert addresses(found["gpu"]) == ["192.168.1.11:9835", "192.168.1.12:9835"]
    assert addresses(found["alertmanager"]) == ["127.0.0.1:9093"]
    external = found["external-m3-ultra"]
    assert (external["scheme"], external["metrics_path"], addresses(external)) == (
        "http",
        "/metrics",
        ["192.168.1.10:8009"],
    )


def test_a_gateway_is_collected_with_its_own_key() -> None:
    text = SHORT.replace("monitoring:", f"{GATEWAY}monitoring:")
    [(name, job)] = [(name, job) for name, job in jobs(text).items() if name.startswith("gateways")]
    assert (name, job["authorization"]) == ("gateways-gate_key", {"credentials_file": "/run/secrets/gate_key"})
    assert job["static_configs"] == [
        {"targets": ["192.168.1.11:8088"], "labels": {"gateway": "door", "host": "spark-01"}}
    ]
    clients = jobs(text)["gateway-clients-gate_key"]
    assert (clients["metrics_path"], clients["authorization"]) == ("/metrics/clients", job["authorization"])
    plan = checked(text, allow_unlocked=True).plan
    assert plan is not None
    assert "gate_key" in next(host.secrets for host in plan.hosts if host.name == "spark-02")
    hidden = text.replace("kind: gateway,", "kind: gateway, bind: loopback,")
    assert "gateways-gate_key" not in jobs(hidden)
    assert any("the metrics of door" in fault for fault in found_in(hidden))
    encrypted = text.replace("kind: gateway,", "kind: gateway, tls: /etc/ssl/gateway.pem,")
    assert "gateways-gate_key" not in jobs(encrypted)


def test_only_llama_cpp_gets_its_key() -> None:
    job = jobs(LLAMA)["deployments-llama_key"]
    assert job["authorization"] == {"credentials_file": "/run/secrets/llama_key"}
    server = read(rendered(LLAMA), f"{PROMETHEUS}/compose.yaml")["services"]["server"]
    assert [each["source"] for each in server["secrets"]] == ["llama_key"]
    keyed = SHORT.replace("    port: 8001\n", "    port: 8001\n    api_key: {secret: vllm_key}\n")
    assert "authorization" not in jobs(keyed)["deployments"]
    assert "secrets" not in read(rendered(keyed), f"{PROMETHEUS}/compose.yaml")["services"]["server"]


def test_a_group_has_metrics_on_its_leader() -> None:
    text = PAIR + f"monitoring: {{prometheus: {{hosts: spark-01}}, alerts: {{{TELEGRAM}}}}}\n"
    config = yaml.safe_load(rendered(text)["hosts/spark-01/etc/sparkiac/prometheus/config/prometheus.yml"])
    found = {each["job_name"]: addresses(each) for each in config["scrape_configs"]}
    assert found["deployments"] == ["192.168.1.12:8001"]


def test_exporters_on_all_hosts_are_not_a_group() -> None:
    """The same unit runs on every host, and the hosts still change one after the other."""
    plan = checked(SHORT, allow_unlocked=True).plan
    assert plan is not None
    assert [host.group for host in plan.hosts] == [None, None]
    assert sorted(plan.batches) == [("spark-01",), ("spark-02",)]


def test_a_server_on_loopback_is_collected_on_its_own_host_only() -> None:
    text = SHORT.replace("port: 8001", "port: 8001\n    bind: loopback")
    assert "deployments" not in jobs(text)
    assert any(fault.startswith("MON101") for fault in found_in(text))
    own = text.replace("hosts: spark-02", "hosts: spark-01")
    config = yaml.safe_load(rendered(own)["hosts/spark-01/etc/sparkiac/prometheus/config/prometheus.yml"])
    assert "127.0.0.1:8001" in str(config)
    assert not any(fault.startswith("MON101") for fault in found_in(own))


def test_grafana_on_another_host_needs_an_open_prometheus() -> None:
    text = FULL.replace("prometheus: {hosts: spark-02, bind: lan}", "prometheus: {hosts: spark-02}")
    said = "NET100 grafana on spark-01 cannot reach prometheus, which listens on 127.0.0.1:9090 of spark-02"
    assert f"{said}: only that host can reach it" in found_in(text)
    assert not any("NET100" in fault for fault in found_in(FULL))


def found_in(text: str) -> list[str]:
    """Return code and message of every finding."""
    report = checked(text, allow_unlocked=True).report
    return [f"{each.code} {each.message}" for each in report.findings]


def test_the_address_of_prometheus_in_grafana() -> None:
    source = read(rendered(FULL), "spark-01/etc/sparkiac/grafana/config/datasources/prometheus.yaml")
    assert source["datasources"][0]["url"] == "http://192.168.1.12:9090"
    server = read(rendered(FULL), "spark-01/etc/sparkiac/grafana/compose.yaml")["services"]["server"]
    assert server["environment"]["GF_SECURITY_ADMIN_PASSWORD__FILE"] == "/run/secrets/grafana_admin"  # noqa: S105  a path
    assert server["environment"]["GF_SERVER_HTTP_ADDR"] == "192.168.1.11"
    assert server["environment"]["GF_SERVER_HTTP_PORT"] == "3001"


def test_what_has_no_login_is_not_opened_by_the_defaults() -> None:
    text = FULL.replace("{model_store: /srv/models}", "{model_store: /srv/models, bind: any}").replace(
        ", bind: lan", ""
    )
    plan = checked(text, allow_unlocked=True).plan
    assert plan is not None
    listen = {each.name: each.network.listen for host in plan.hosts for each in host.containers}
    assert listen["prometheus"] == ("127.0.0.1", 9090)
    assert listen["alertmanager"] == ("127.0.0.1", 9093)
    assert listen["grafana"] == ("0.0.0.0", 3001)  # noqa: S104  compared
    assert listen["node-exporter"] == ("0.0.0.0", 9100)  # noqa: S104  compared


def test_the_memory_counts_and_says_who_states_it() -> None:
    plan = checked(SHORT.replace("{hosts: spark-02}", "{hosts: spark-02, memory_gib: 2}"), allow_unlocked=True).plan
    assert plan is not None
    terms = {term.name: (term.size_bytes, term.source) for term in plan.hosts[1].budget.terms}
    assert terms["prometheus"] == (2 * 1024**3, "the inventory")
    assert terms["alertmanager"] == (1024**3 // 4, "the catalog")
    assert "node-exporter" in terms


def test_ports_collide_as_others_do() -> None:
    text = SHORT + "services: {x: {kind: container, image: 'example.org/x:1', hosts: spark-01, port: 9100}}\n"
    assert any("NET007" in fault and "9100" in fault for fault in found_in(text))


@pytest.mark.parametrize("name", ["prometheus", "node-exporter"])
def test_the_name_of_a_unit_is_taken(name: str) -> None:
    text = SHORT + f"services: {{{name}: {{kind: container, image: 'example.org/x:1', hosts: spark-01}}}}\n"
    assert any(f"{name!r} is also the name of a unit of the monitoring" in fault for fault in faults(text))


def test_a_bind_that_a_host_lacks_is_refused() -> None:
    text = SHORT.replace("monitoring: {", "monitoring: {exporters: {node: {bind: fabric}}, ")
    said = faults(text)
    assert len(said) == 2  # one for each host
    assert all("bind: fabric needs a fabric link" in fault for fault in said)


def test_node_exporter_sees_the_host_and_cannot_write() -> None:
    server = read(rendered(SHORT), "spark-01/etc/sparkiac/node-exporter/compose.yaml")["services"]["server"]
    [mount] = server["volumes"]
    assert (mount["source"], mount["target"], mount["read_only"]) == ("/", "/host", True)
    assert mount["bind"] == {"create_host_path": False, "propagation": "rslave"}
    assert "user" not in server  # that of the image, which is not root
    assert server["cap_drop"] == ["ALL"]
    assert "--collector.textfile.directory=/host/var/lib/sparkiac/metrics" in server["command"]


def test_a_restart_follows_from_a_change_of_the_configuration() -> None:
    units = json.loads(rendered(SHORT)["hosts/spark-02/etc/sparkiac/generation.json"])["units"]
    [prometheus] = [each for each in units if each["name"] == "sparkiac-prometheus"]
    assert "etc/sparkiac/prometheus/config/rules.yml" in prometheus["files"]


def test_the_same_inventory_gives_the_same_bytes() -> None:
    assert rendered(FULL) == rendered(FULL)


def test_what_has_no_login_and_is_open_is_reported() -> None:
    alertmanager = SHORT.replace("monitoring: {", "monitoring: {alertmanager: {bind: lan}, ")
    said = "SEC101 {} answers without a login at 192.168.1.12:{} of spark-02"
    assert said.format("alertmanager", 9093) in found_in(alertmanager)
    assert said.format("prometheus", 9090) in found_in(FULL)
    assert not any(fault.startswith("SEC101") for fault in found_in(SHORT))
    allowed = FULL.replace("monitoring:\n", "monitoring:\n  allow: [{code: SEC101, reason: a network of our own}]\n")
    assert not any(fault.startswith(("SEC101", "WVR001")) for fault in found_in(allowed))
