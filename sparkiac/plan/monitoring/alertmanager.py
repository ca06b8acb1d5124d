"""The configuration of Alertmanager: one route to all receivers, and which alerts suppress others (inhibition)."""

from __future__ import annotations

from typing import Any, Final

from sparkiac.model.monitoring import Alerts, Email, Telegram, Webhook
from sparkiac.plan.monitoring.prometheus import KEY_DIRECTORY

_RECEIVER: Final = "everybody"
_TEXT: Final = (
    '{{ range .Alerts }}{{ if eq .Status "resolved" }}resolved: {{ end }}{{ .Annotations.summary }}\n'
    '{{ if ne .Status "resolved" }}{{ .Annotations.description }}\n{{ .Annotations.doc }}\n{{ end }}{{ end }}'
)
"""Text of a Telegram message. Texts of users are only in labels, never in the template."""


def configuration(alerts: Alerts) -> dict[str, Any]:
    """Return alertmanager.yml."""
    receiver: dict[str, Any] = {"name": _RECEIVER}
    if alerts.telegram is not None:
        receiver["telegram_configs"] = [_telegram(alerts.telegram)]
    if alerts.email is not None:
        receiver["email_configs"] = [_email(alerts.email)]
    if alerts.webhook is not None:
        receiver["webhook_configs"] = [_webhook(alerts.webhook)]
    return {
        "route": {
            "receiver": _RECEIVER,
            "group_by": ["alertname", "host", "deployment"],
            "group_wait": "30s",
            "group_interval": "5m",
            "repeat_interval": "1d",
        },
        "inhibit_rules": _inhibitions(),
        "receivers": [receiver],
    }


def secrets(alerts: Alerts) -> tuple[str, ...]:
    """Return the names of the secrets that Alertmanager reads, sorted."""
    email, hook = alerts.email, alerts.webhook
    found = (
        alerts.telegram.token if alerts.telegram else None,
        email.password if email else None,
        hook.secret_url if hook else None,
    )
    return tuple(sorted({each.secret for each in found if each is not None}))


def _telegram(telegram: Telegram) -> dict[str, Any]:
    return {
        "bot_token_file": f"{KEY_DIRECTORY}/{telegram.token.secret}",
        "chat_id": telegram.chat_id,
        "parse_mode": "",
        "message": _TEXT,
        "send_resolved": True,
    }


def _email(email: Email) -> dict[str, Any]:
    login = {}
    if email.user is not None and email.password is not None:
        login = {"auth_username": email.user, "auth_password_file": f"{KEY_DIRECTORY}/{email.password.secret}"}
    return {
        "to": ", ".join(email.to),
        "from": email.sender,
        "smarthost": email.smarthost,
        **login,
        "require_tls": True,
        "send_resolved": True,
    }


def _webhook(webhook: Webhook) -> dict[str, Any]:
    secret = webhook.secret_url
    where = {"url": webhook.url} if secret is None else {"url_file": f"{KEY_DIRECTORY}/{secret.secret}"}
    return {**where, "send_resolved": True}


def _inhibitions() -> list[dict[str, Any]]:
    """Return the inhibition rules: a host that is down, and a deployment that does not run, suppress other alerts."""
    return [
        {
            "source_matchers": ['alertname="HostDown"'],
            "target_matchers": ['alertname!="HostDown"'],
            "equal": ["host"],
        },
        {
            "source_matchers": ['alertname=~"UnitFailed|UnitGaveUp|DeploymentNotReady"', 'deployment!=""'],
            "target_matchers": ['alertname=~"EndpointDown|EngineHangs|RestartsOften|FirstTokenSlow|TokensSlow"'],
            "equal": ["host", "deployment"],
        },
    ]
