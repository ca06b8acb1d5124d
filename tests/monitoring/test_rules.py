"""Every alert fires and clears, in Prometheus itself; every query asks only for metrics that exist."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from sparkiac import catalog
from tests.monitoring.fleets import FULL, GATEWAY, SHORT, promtool, read, rendered, rules
from tests.monitoring.series import CASES, Case

if TYPE_CHECKING:
    from pathlib import Path

ALERTS = {each.name: each for group in catalog.alert_groups().values() for each in group.alerts}


def test_every_alert_has_a_case() -> None:
    assert CASES.keys() == ALERTS.keys()


def test_every_alert_is_written() -> None:
    found = {each["alert"]: each for group in rules()["groups"] for each in group["rules"] if "alert" in each}
    assert found.keys() == ALERTS.keys()
    for name, alert in found.items():
        assert alert["annotations"].keys() == {"summary", "description", "doc"}
        assert alert["annotations"]["doc"] == f"docs/alerts.md#{name.lower()}"


@pytest.mark.parametrize("text", [SHORT, FULL, FULL + GATEWAY], ids=["short", "full", "gateway"])
def test_prometheus_reads_its_files(text: str, tmp_path: Path) -> None:
    files = rendered(text)
    base = "hosts/spark-02/etc/sparkiac/prometheus/config"
    for name in ("prometheus.yml", "rules.yml"):
        (tmp_path / name).write_bytes(files[f"{base}/{name}"].replace(b"/run/secrets", bytes(tmp_path)))
    (tmp_path / "gate_key").touch()
    code, said = promtool("check", "config", "--lint=all", "--lint-fatal", tmp_path / "prometheus.yml")
    assert code == 0, said
    code, said = promtool("check", "rules", "--lint=all", "--lint-fatal", tmp_path / "rules.yml")
    assert code == 0, said


def firing(name: str, minute: int, *, count: int) -> dict[str, Any]:
    """Return a test that so many alerts of a name fire at a minute."""
    expr = f'count(ALERTS{{alertname="{name}",alertstate="firing"}}) or vector(0)'
    return {"expr": expr, "eval_time": f"{minute}m", "exp_samples": [{"labels": "{}", "value": count}]}


@pytest.mark.parametrize("name", CASES)
def test_an_alert_fires_and_clears(name: str, tmp_path: Path) -> None:
    case: Case = CASES[name]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(rules()))
    series = [{"series": key, "values": values} for key, values in case.series.items()]
    expected = [
        firing(name, case.quiet, count=0),
        firing(name, case.fires, count=1),
        firing(name, case.clears, count=0),
    ]
    unit = {"interval": "1m", "input_series": series, "promql_expr_test": expected}
    test = {"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": [unit]}
    (tmp_path / "test.yml").write_text(json.dumps(test))
    code, said = promtool("test", "rules", tmp_path / "test.yml")
    assert code == 0, said


def test_a_unit_that_gave_up_is_one_alert_with_its_command(tmp_path: Path) -> None:
    """UnitFailed says nothing about it."""
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(rules()))
    labels = {"host": "spark-01", "unit": "sparkiac-chat", "deployment": "chat"}
    reason = "6.2 GiB of memory did not come back in 5 minutes"
    here = ",".join(f'{key}="{value}"' for key, value in labels.items())
    series = [
        {"series": f"sparkiac_unit_failed{{{here}}}", "values": "1x30"},
        {"series": f'sparkiac_unit_gave_up{{{here},reason="{reason}"}}', "values": "1x30"},
    ]
    unit = {"interval": "1m", "input_series": series, "promql_expr_test": [firing("UnitFailed", 20, count=0)]}
    [rule] = [each for group in rules()["groups"] for each in group["rules"] if each.get("alert") == "UnitGaveUp"]
    said = {
        "summary": f"sparkiac-chat on spark-01 gave up: {reason}",
        "description": ALERTS["UnitGaveUp"]
        .remedy.replace("{{ $labels.unit }}", labels["unit"])
        .replace("{{ $labels.host }}", labels["host"]),
        "doc": rule["annotations"]["doc"],
    }
    assert "sudo systemctl start sparkiac-chat" in said["description"]
    expected = [{"exp_labels": {**labels, "reason": reason, **rule["labels"]}, "exp_annotations": said}]
    unit["alert_rule_test"] = [{"eval_time": "20m", "alertname": "UnitGaveUp", "exp_alerts": expected}]
    (tmp_path / "test.yml").write_text(json.dumps({"rule_files": ["rules.yml"], "tests": [unit]}))
    code, said_by_promtool = promtool("test", "rules", tmp_path / "test.yml")
    assert code == 0, said_by_promtool


LOGGED: Final = 'sparkiac_kernel_messages_total{kind="no_memory",host="spark-01"}'
AVAILABLE: Final = 'node_memory_MemAvailable_bytes{host="%s"}'
GIB: Final = 1 << 30


@pytest.mark.parametrize(
    ("series", "count"),
    [
        ({LOGGED: "0x9 2x30", AVAILABLE % "spark-01": f"{90 * GIB}x9 {22 * GIB}x30"}, 0),
        ({LOGGED: "0x40", AVAILABLE % "spark-01": f"{90 * GIB}x9 {2 * GIB}x30"}, 0),
        ({LOGGED: "0x9 2x30", AVAILABLE % "spark-01": f"{90 * GIB}x40", AVAILABLE % "spark-02": f"{2 * GIB}x40"}, 0),
        ({LOGGED: "0x9 2x30", AVAILABLE % "spark-01": f"{90 * GIB}x9 {2 * GIB}x30"}, 1),
    ],
    ids=["healthy start", "low memory alone", "low memory of another host", "both"],
)
def test_no_memory_of_the_driver_counts_with_low_memory_alone(
    series: dict[str, str], count: int, tmp_path: Path
) -> None:
    """A healthy start logs the message with 22 GiB available (vllm-project/vllm issue 56824)."""
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(rules()))
    given = [{"series": key, "values": values} for key, values in series.items()]
    expected = [firing("DriverOutOfMemory", 15, count=count)]
    unit = {"interval": "1m", "input_series": given, "promql_expr_test": expected}
    (tmp_path / "test.yml").write_text(json.dumps({"rule_files": ["rules.yml"], "tests": [unit]}))
    code, said = promtool("test", "rules", tmp_path / "test.yml")
    assert code == 0, said


def test_metrics_that_never_came_are_an_alert(tmp_path: Path) -> None:
    """An expression that compares a metric is silent as long as there is none."""
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(rules()))
    here = 'host="spark-01"'
    series = [
        {"series": f'up{{job="node",{here}}}', "values": "1x60"},
        {"series": f"sparkiac_written_timestamp_seconds{{{here}}}", "values": "_x29 1800+60x30"},
    ]
    expected = [firing("HostMetricsStale", minute, count=count) for minute, count in ((3, 0), (20, 1), (40, 0))]
    unit = {"interval": "1m", "input_series": series, "promql_expr_test": expected}
    (tmp_path / "test.yml").write_text(json.dumps({"rule_files": ["rules.yml"], "tests": [unit]}))
    code, said = promtool("test", "rules", tmp_path / "test.yml")
    assert code == 0, said


def test_a_fleet_without_speculation_has_no_alert_about_it() -> None:
    text = SHORT.replace("    speculative: {method: ngram, num_speculative_tokens: 4}\n", "")
    names = {each.get("alert") or each["record"] for group in rules(text)["groups"] for each in group["rules"]}
    assert "AcceptanceCollapsed" not in names
    assert "sparkiac:acceptance_ratio" not in names
    assert "PrefixCacheLost" in names


def test_a_fleet_without_deployments_has_the_other_alerts() -> None:
    text = SHORT.replace(SHORT[SHORT.index("deployments:") : SHORT.index("monitoring:")], "")
    names = {each.get("alert") for group in rules(text)["groups"] for each in group["rules"]}
    assert "HostDown" in names
    assert not names & {"KvCacheNearlyFull", "AcceptanceCollapsed", "EngineHangs"}
    jobs = read(rendered(text), "spark-02/etc/sparkiac/prometheus/config/prometheus.yml")["scrape_configs"]
    assert [each["job_name"] for each in jobs] == ["alertmanager", "gpu", "node", "prometheus"]
