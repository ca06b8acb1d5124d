"""Text of the inventory that Prometheus could read as something else, and what its targets are called."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml

from tests.monitoring.fleets import HEAD, SHORT, TELEGRAM, promtool, read, rendered, rules

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = "spark-02/etc/sparkiac/prometheus/config/prometheus.yml"
HOSTILE = 'm"}{{ $value }}.*|$1${HOME}\\c'
"""Ends a string and a matcher, begins a template and a regular expression, and refers to a group and a variable."""
DEPLOYMENT = """\
  {name}:
    recipe: base/single-spark
    model: example/{name}
    hosts: {host}
    port: {port}
"""
SERVERS = {"chat": ("spark-01", 8001), "code": ("spark-01", 8002), "judge": ("spark-02", 8001)}
FLEET = "".join([
    HEAD,
    "deployments:\n",
    *(DEPLOYMENT.format(name=name, host=host, port=port) for name, (host, port) in SERVERS.items()),
    f"monitoring: {{prometheus: {{hosts: spark-02}}, alerts: {{{TELEGRAM}}}}}\n",
])  # fmt: skip


def hostile(text: str) -> str:
    """Return a fleet with hostile texts wherever the inventory takes any text."""
    lines = f"    served_names: [{json.dumps(HOSTILE)}]\n    env: {{ANY: {json.dumps(HOSTILE)}}}\n"
    return text.replace("    port: 8001\n", f"    port: 8001\n{lines}")


def targets(text: str) -> list[dict[str, Any]]:
    """Return the groups of targets of all jobs."""
    return [group for job in read(rendered(text), CONFIG)["scrape_configs"] for group in job["static_configs"]]


def test_no_text_of_the_inventory_is_in_a_query() -> None:
    """Labels are compared with each other or with fixed texts: there is nothing to quote."""
    assert rules(hostile(SHORT)) == rules(SHORT)
    assert rules(SHORT.replace("chat:", "other:")) == rules(SHORT)


def test_no_label_is_made_by_replacement() -> None:
    """Only a replacement reads `$1`; the labels of a target are taken as they are."""
    for job in read(rendered(hostile(SHORT)), CONFIG)["scrape_configs"]:
        assert not job.keys() & {"relabel_configs", "metric_relabel_configs"}
    assert targets(hostile(SHORT)) == targets(SHORT)


def test_braces_in_a_label_stay_in_the_text_of_an_alert(tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(rules()))
    [alert] = [each for group in rules()["groups"] for each in group["rules"] if each.get("alert") == "WrongAnswers"]
    labels = {"deployment": HOSTILE, "host": "spark-01", "unit": "sparkiac-chat"}
    quoted = ",".join(f"{name}={json.dumps(value)}" for name, value in labels.items())
    said = {key: alert["annotations"][key] for key in alert["annotations"]}
    for name, value in labels.items():
        said = {key: text.replace(f"{{{{ $labels.{name} }}}}", value) for key, text in said.items()}
    assert HOSTILE in said["summary"]
    expected = {"exp_labels": {**labels, **alert["labels"]}, "exp_annotations": said}
    unit = {
        "interval": "1m",
        "input_series": [{"series": f"sparkiac_wrong_answer{{{quoted}}}", "values": "1x60"}],
        "alert_rule_test": [{"eval_time": "60m", "alertname": "WrongAnswers", "exp_alerts": [expected]}],
    }
    (tmp_path / "test.yml").write_text(json.dumps({"rule_files": ["rules.yml"], "tests": [unit]}))
    code, printed = promtool("test", "rules", tmp_path / "test.yml")
    assert code == 0, printed


def test_each_host_and_each_deployment_is_one_target() -> None:
    found = [(group["labels"].get("deployment"), group["labels"]["host"]) for group in targets(FLEET)]
    servers = {(name, host) for name, (host, _) in SERVERS.items()}
    assert sorted(each for each in found if each[0]) == sorted(servers)
    addresses = [address for group in targets(FLEET) for address in group["targets"]]
    assert len(addresses) == len(set(addresses))
    for port in (9100, 9835):
        assert [address for address in addresses if address.endswith(f":{port}")] == [
            f"192.168.1.1{number}:{port}" for number in (1, 2)
        ]


def test_labels_stay_the_same_when_a_deployment_changes() -> None:
    """With another set of labels a series would begin anew: graphs break, and alerts start again."""
    changed = FLEET.replace("    port: 8002\n", "    port: 8002\n    set: {max_model_len: 4096}\n    env: {ANY: x}\n")
    assert targets(changed) == targets(FLEET)
    names = {frozenset(group["labels"]) for group in targets(FLEET)}
    assert names == {frozenset({"host"}), frozenset({"deployment", "engine", "host", "model"})}
