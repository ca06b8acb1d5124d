"""Send messages of the fleet timer: Telegram, e-mail, webhook.

Secrets are files, and are read for each message. No error contains one: the token of a bot and the address of a webhook
are parts of URLs, so the texts of exceptions that may quote a URL are not used.
"""

from __future__ import annotations

import http.client
import json
import re
import smtplib
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from email.message import EmailMessage
from functools import partial
from pathlib import Path
from typing import Any

from ..contract import parsed
from ..local import REDACTED
from .state import WORKING, Alert, Message

TIMEOUT_S = 20
RESPONSE_BYTES = 1 << 16
GOOD = range(200, 300)
IMPLICIT_TLS_PORT = 465
BOT_TOKEN = re.compile(r"[0-9]{1,20}:[A-Za-z0-9_-]+")
ADDRESS = re.compile(r"https?://[!-~]+")
NEVER = "0001-01-01T00:00:00Z"
"""End of an alert that has not ended, as Alertmanager writes it."""
ERRORS = (OSError, ValueError, http.client.HTTPException, smtplib.SMTPException)


class NotSentError(Exception):
    """A channel did not accept a message, with the reason."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Does not follow redirects, because urllib would send a GET request without the message."""

    def redirect_request(self, *_: object, **__: object) -> None:
        """Return no request, so that urllib raises HTTPError."""


OPENER = urllib.request.build_opener(_NoRedirects)


def send(channel: str, settings: dict[str, Any], message: Message, secrets: Path, fleet: str) -> None:
    """Send a message; raise NotSentError if the channel did not accept it."""
    senders: dict[str, Callable[..., None]] = {"telegram": telegram, "email": email, "webhook": webhook}
    try:
        senders[channel](settings, message, secrets, fleet)
    except ERRORS as error:
        raise NotSentError(reason(error)) from None


def reason(error: Exception) -> str:
    """Return what went wrong, without the text of an exception that may quote a URL."""
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code}"
    if isinstance(error, smtplib.SMTPResponseException):
        text = error.smtp_error.decode("utf-8", "replace") if isinstance(error.smtp_error, bytes) else error.smtp_error
        return f"SMTP {error.smtp_code} {text}"
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return "SMTP: the server refuses all recipients"
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, OSError):
        return f"{type(cause).__name__}: {cause.strerror or 'no answer'}"
    return type(cause).__name__


def secret(directory: Path, name: str, form: re.Pattern[str] | None = None) -> str:
    """Return a secret; raise NotSentError, which does not quote it, if it is missing or has another form."""
    try:
        value = (directory / name).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise NotSentError(f"the secret {name} cannot be read: {type(error).__name__}") from None
    if form is not None and not form.fullmatch(value):
        raise NotSentError(f"the secret {name} does not have the form {form.pattern}")
    return value


def telegram(settings: dict[str, Any], message: Message, secrets: Path, _fleet: str) -> None:
    """Send a message with the method sendMessage of the Bot API."""
    token = secret(secrets, settings["token"], BOT_TOKEN)
    body = {"chat_id": settings["chat_id"], "text": message["text"], "link_preview_options": {"is_disabled": True}}
    status, text = post(f"{settings['url']}/bot{token}/sendMessage", body)
    try:
        answer = parsed(text)
        accepted, description = answer["ok"] is True, str(answer.get("description", ""))
    except (ValueError, KeyError, TypeError, AttributeError):
        accepted, description = False, "the response is not one of the Bot API"
    if status not in GOOD or not accepted:
        refusal = f"HTTP {status} {description}".replace(token, REDACTED)
        raise NotSentError(refusal)


def webhook(settings: dict[str, Any], message: Message, secrets: Path, fleet: str) -> None:
    """Send a message in the format of Alertmanager's webhook, so that one receiver can read both."""
    url = settings["url"] if settings["secret_url"] is None else secret(secrets, settings["secret_url"], ADDRESS)
    status, _ = post(url, notification(message, fleet))
    if status not in GOOD:
        raise NotSentError(f"HTTP {status}")


def notification(message: Message, fleet: str) -> dict[str, Any]:
    """Return a message in the format of Alertmanager's webhook, version 4."""
    alerts = [notified(alert, message["time"]) for alert in message["alerts"]]
    firing = any(alert["status"] == "firing" for alert in alerts)
    labels = {"alertname": "EndpointFailing", "fleet": fleet}
    return {
        "version": "4",
        "groupKey": f"sparkiac-fleet:{fleet}",
        "truncatedAlerts": 0,
        "status": "firing" if firing else "resolved",
        "receiver": "sparkiac-fleet",
        "groupLabels": labels,
        "commonLabels": labels,
        "commonAnnotations": {"summary": message["text"]},
        "externalURL": "",
        "alerts": [{**alert, "labels": {**labels, **alert["labels"]}} for alert in alerts],
    }


def notified(alert: Alert, now: float) -> dict[str, Any]:
    """Return one alert in the format of Alertmanager."""
    resolved = alert["state"] == WORKING
    return {
        "status": "resolved" if resolved else "firing",
        "labels": {"endpoint": alert["name"], "host": alert["host"] or ""},
        "annotations": {"state": alert["state"], "url": alert["url"], "description": alert["evidence"]},
        "startsAt": stamp(alert["since"]),
        "endsAt": stamp(now) if resolved else NEVER,
        "generatorURL": "",
        "fingerprint": "",
    }


def stamp(seconds: float) -> str:
    """Return a time in UTC in the format of RFC 3339."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def email(settings: dict[str, Any], message: Message, secrets: Path, fleet: str) -> None:
    """Send a message through a mail server, over TLS."""
    mail = EmailMessage()
    mail["Subject"] = message["text"].partition("\n")[0]
    mail["From"], mail["To"] = settings["sender"], ", ".join(settings["to"])
    mail["Date"] = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(message["time"]))
    mail["Message-ID"] = f"<{message['time']:.6f}.{fleet}@sparkiac.invalid>"
    mail.set_content(message["text"])
    context = ssl.create_default_context()
    place = (settings["host"], settings["port"])
    implicit = settings["port"] == IMPLICIT_TLS_PORT
    kind = partial(smtplib.SMTP_SSL, context=context) if implicit else smtplib.SMTP
    with kind(*place, timeout=TIMEOUT_S) as server:
        if not implicit:
            server.starttls(context=context)
        if settings["user"] is not None:
            server.login(settings["user"], secret(secrets, settings["password"]) if settings["password"] else "")
        server.send_message(mail)


def post(url: str, body: dict[str, Any]) -> tuple[int, bytes]:
    """Send JSON and return status and body of the response, also of an error."""
    headers = {"Content-Type": "application/json", "User-Agent": "sparkiac"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310 - http, see ADDRESS
    try:
        with OPENER.open(request, timeout=TIMEOUT_S) as answer:
            return answer.status, answer.read(RESPONSE_BYTES)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read(RESPONSE_BYTES)


def ping(name: str, secrets: Path) -> None:
    """Request the address of a dead man's switch, which is a secret; raise NotSentError if it does not answer well."""
    request = urllib.request.Request(secret(secrets, name, ADDRESS), headers={"User-Agent": "sparkiac"})  # noqa: S310 - http
    try:
        OPENER.open(request, timeout=TIMEOUT_S).close()
    except ERRORS as error:
        raise NotSentError(reason(error)) from None
