"""Monitoring needs hosts that exist, somebody who gets messages, and something that sends them."""

from __future__ import annotations

import pytest

from tests.plan.fleets import deployment, faults

BOT = "telegram: {chat_id: -100123, token: {secret: telegram_token}}"


def monitored(text: str) -> str:
    return f"{deployment()}monitoring:\n  {text}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prometheus: {hosts: spark-09}", "REF001 unknown host 'spark-09'"),
        ("grafana: {hosts: spark-09, admin_password: {secret: a}}", "REF001 unknown host 'spark-09'"),
        (f"{{timer: {{hosts: spark-09}}, alerts: {{{BOT}}}}}", "REF001 unknown host 'spark-09'"),
        ("timer: {hosts: spark-01}", "REF003 the fleet timer has no receiver for its messages"),
        (
            f"alerts: {{{BOT}}}",
            "REF003 nothing sends these alerts: there is neither a Prometheus nor a fleet timer",
        ),
        ("{timer: {hosts: spark-01}, alerts: {}}", "REF003 the alerts have no receiver"),
        ("{timer: {hosts: spark-01}, alerts: {webhook: {}}}", "REF003 the webhook has neither url nor secret_url"),
        (
            "{timer: {hosts: spark-01}, alerts: {webhook: {url: 'http://a.b', secret_url: {secret: a}}}}",
            "REF003 the webhook has both url and secret_url",
        ),
        (
            "{timer: {hosts: spark-01}, alerts: {email: {to: [a@b.c], sender: a@b.c, smarthost: 'b.c:25', user: a}}}",
            "REF003 the e-mail has only one of user and password",
        ),
        (
            "{prometheus: {hosts: spark-01}, alertmanager: {}}",
            "REF003 Alertmanager runs only with Prometheus and alerts",
        ),
        ("exporters: {node: {port: 9101}}", "REF003 monitoring.exporters needs a Prometheus"),
        (
            "external: [{name: m3, url: 'http://a.b'}, {name: m3, url: 'http://a.c'}]",
            "REF002 external endpoint m3 is listed twice",
        ),
    ],
)
def test_an_incomplete_monitoring_is_refused(text: str, said: str) -> None:
    [fault] = faults(monitored(text).replace("monitoring:\n  {", "monitoring: {"))
    code, place, message = fault.split(" ", 2)
    assert f"{code} {message}" == said
    assert place != "1:1"


def test_the_short_form_is_complete() -> None:
    assert faults(monitored(f"{{prometheus: {{hosts: spark-01}}, alerts: {{{BOT}}}}}")) == []
    assert faults(monitored(f"{{timer: {{hosts: spark-01}}, alerts: {{{BOT}}}}}")) == []
