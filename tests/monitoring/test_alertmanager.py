"""The configuration of Alertmanager: read by amtool, and what amtool does not see."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from sparkiac import catalog
from tests.monitoring.fleets import FULL, SHORT, program, read, rendered

if TYPE_CHECKING:
    from pathlib import Path

PATH = "spark-02/etc/sparkiac/alertmanager/config/alertmanager.yml"
NEWER = {"bot_token_file": "bot_token", "url_file": "url"}
"""Keys of Alertmanager 0.26 and later → what 0.25 of Debian 12 knows."""


def configuration(text: str) -> dict[str, Any]:
    """Return the generated configuration."""
    found: dict[str, Any] = read(rendered(text), PATH)
    return found


@pytest.mark.parametrize("text", [SHORT, FULL], ids=["short", "full"])
def test_amtool_reads_it(text: str, tmp_path: Path) -> None:
    """The amtool of Debian 12 is older than the image: two keys get their older names first."""
    amtool = program("amtool", "prometheus-alertmanager")
    content = rendered(text)[f"hosts/{PATH}"].decode()
    for new, old in NEWER.items():
        content = re.sub(rf'\b{new}: ".*"', f'{old}: "http://127.0.0.1/stand-in"', content)
    (tmp_path / "alertmanager.yml").write_text(content)
    argv = [amtool, "check-config", str(tmp_path / "alertmanager.yml")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    route = [amtool, "config", "routes", "test", f"--config.file={tmp_path / 'alertmanager.yml'}", "severity=critical"]
    done = subprocess.run(route, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "everybody")


def test_secrets_are_files() -> None:
    [receiver] = configuration(FULL)["receivers"]
    [telegram], [email], [webhook] = (receiver[f"{kind}_configs"] for kind in ("telegram", "email", "webhook"))
    assert telegram["bot_token_file"] == "/run/secrets/telegram_token"  # noqa: S105  a path
    assert email["auth_password_file"] == "/run/secrets/smtp_password"  # noqa: S105  a path
    assert webhook["url_file"] == "/run/secrets/webhook_url"
    assert telegram["chat_id"] == 12345
    assert email["to"] == "me@example.org, you@example.org"
    assert (email["from"], email["smarthost"], email["auth_username"]) == (
        "spark@example.org",
        "smtp.example.org:587",
        "spark",
    )
    compose = read(rendered(FULL), "spark-02/etc/sparkiac/alertmanager/compose.yaml")["services"]["server"]
    mounted = {each["source"]: each["target"] for each in compose["secrets"]}
    assert mounted == {name: f"/run/secrets/{name}" for name in ("smtp_password", "telegram_token", "webhook_url")}
    assert compose["user"] == "0:0"


def test_every_template_closes_what_it_opens() -> None:
    """Here amtool passes a message with an unclosed action."""
    [receiver] = configuration(FULL)["receivers"]
    message = receiver["telegram_configs"][0]["message"]
    actions = re.findall(r"\{\{(.*?)\}\}", message)
    assert message.count("{{") == message.count("}}") == len(actions)
    words = [action.split()[0] for action in actions]
    assert words.count("end") == words.count("if") + words.count("range")


def test_inhibitions_name_alerts_that_exist() -> None:
    """Here amtool does not know the alerts."""
    known = {each.name for group in catalog.alert_groups().values() for each in group.alerts}
    rules = configuration(SHORT)["inhibit_rules"]
    for rule in rules:
        for matcher in (*rule["source_matchers"], *rule["target_matchers"]):
            label, value = re.fullmatch(r'(\w+)(?:=~|!=|=)"(.*)"', matcher).groups()  # type: ignore[union-attr]
            assert label != "alertname" or set(value.split("|")) <= known
    assert [rule["equal"] for rule in rules] == [["host"], ["host", "deployment"]]


def test_a_plain_webhook_needs_no_secret() -> None:
    text = SHORT.replace(
        "telegram: {chat_id: 12345, token: {secret: telegram_token}}", "webhook: {url: 'http://a.b/c'}"
    )
    [receiver] = configuration(text)["receivers"]
    assert receiver == {"name": "everybody", "webhook_configs": [{"url": "http://a.b/c", "send_resolved": True}]}
    compose = yaml.safe_load(rendered(text)["hosts/spark-02/etc/sparkiac/alertmanager/compose.yaml"])
    assert "secrets" not in compose


def test_without_alerts_nothing_is_sent() -> None:
    text = SHORT.replace(", alerts: {telegram: {chat_id: 12345, token: {secret: telegram_token}}}", "")
    files = rendered(text)
    assert f"hosts/{PATH}" not in files
    assert "alerting" not in read(files, "spark-02/etc/sparkiac/prometheus/config/prometheus.yml")
