"""Monitored fleets, taken through the stages in memory, and the programs that read what comes out."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from sparkiac import pipeline
from tests.plan.fleets import LOCK

if TYPE_CHECKING:
    from pathlib import Path

HEAD: Final = """\
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}, spark-02: {address: 192.168.1.12}}
"""
CHAT: Final = """\
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    hosts: spark-01
    port: 8001
    speculative: {method: ngram, num_speculative_tokens: 4}
"""
GATEWAY: Final = """\
services: {door: {kind: gateway, hosts: spark-01, api_key: {secret: gate_key}}}
routes: {fast: {to: [chat]}}
"""
TELEGRAM: Final = "telegram: {chat_id: 12345, token: {secret: telegram_token}}"
SHORT: Final = f"{HEAD}{CHAT}monitoring: {{prometheus: {{hosts: spark-02}}, alerts: {{{TELEGRAM}}}}}\n"
"""The shortest form that starts Prometheus, Alertmanager and the exporters."""
FULL: Final = f"""\
{HEAD}{CHAT}\
monitoring:
  prometheus: {{hosts: spark-02}}
  grafana: {{hosts: spark-01, admin_password: {{secret: grafana_admin}}}}
  alerts:
    {TELEGRAM}
    email:
      {{to: [me@example.org, you@example.org], sender: spark@example.org,
       smarthost: "smtp.example.org:587", user: spark, password: {{secret: smtp_password}}}}
    webhook: {{secret_url: {{secret: webhook_url}}}}
  external:
    - {{name: m3-ultra, url: "http://192.168.1.10:8009/v1/models", metrics: "http://192.168.1.10:8009/metrics"}}
""".replace("prometheus: {hosts: spark-02}", "prometheus: {hosts: spark-02, bind: lan}")
"""Everything that can be monitored."""


def rendered(text: str) -> dict[str, bytes]:
    """Return path → content of what is generated from an inventory."""
    inventory, lock = pipeline.InputFile("lab.yaml", text.encode()), pipeline.InputFile("lab.lock.yaml", LOCK.encode())
    checked = pipeline.check(inventory, lock, allow_unlocked=True, hidden=frozenset())
    assert checked.plan is not None, checked.report.findings
    return {each.path: each.content for each in pipeline.render(checked.plan)}


def read(files: dict[str, bytes], path: str) -> Any:  # noqa: ANN401  a YAML document
    """Return a generated file of a host as data."""
    return yaml.safe_load(files[f"hosts/{path}"])


def rules(text: str = FULL) -> dict[str, Any]:
    """Return the rules of Prometheus."""
    found: dict[str, Any] = read(rendered(text), "spark-02/etc/sparkiac/prometheus/config/rules.yml")
    return found


def program(name: str, package: str) -> str:
    """Return the path of a program; the test is skipped without it."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed (Debian package {package})")
    return found


def promtool(*arguments: str | Path) -> tuple[int, str]:
    """Run promtool; return its status and everything that it printed."""
    argv = [program("promtool", "prometheus"), *map(str, arguments)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr
