"""Check who gets messages: that something sends them, and that every receiver is complete."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.model.inventory import Inventory
from sparkiac.model.monitoring import Alerts, Monitoring
from sparkiac.report import Finding, Path
from sparkiac.resolve.faults import NEEDED, TWICE, error
from sparkiac.source import Source
from sparkiac.source.document import Document

_BASE: Final = ("monitoring",)
_RECEIVERS: Final = "telegram, email or webhook"


def check(inventory: Source[Inventory]) -> Iterator[Finding]:
    """Return a finding for each entry under `monitoring` whose requirements are missing."""
    document, written = inventory.document, inventory.valid.monitoring
    yield from _parts(document, written)
    if written.alerts is not None:
        yield from _receivers(document, written.alerts)
    yield from _external(document, written)


def _parts(document: Document, written: Monitoring) -> Iterator[Finding]:
    if written.timer is not None and written.alerts is None:
        message = "the fleet timer has no receiver for its messages"
        yield _error(NEEDED, message, document, ("timer",), f"add monitoring.alerts with {_RECEIVERS}")
    if written.alerts is not None and written.prometheus is None and written.timer is None:
        message = "nothing sends these alerts: there is neither a Prometheus nor a fleet timer"
        yield _error(
            NEEDED, message, document, ("alerts",), "add `timer: {hosts: HOST}` or `prometheus: {hosts: HOST}`"
        )
    if written.alertmanager is not None and (written.prometheus is None or written.alerts is None):
        message = "Alertmanager runs only with Prometheus and alerts"
        yield _error(NEEDED, message, document, ("alertmanager",), "add `prometheus:` and `alerts:`, or remove it")
    for part in ("grafana", "exporters"):
        if getattr(written, part) is not None and written.prometheus is None:
            message = f"monitoring.{part} needs a Prometheus"
            yield _error(NEEDED, message, document, (part,), "add `prometheus: {hosts: HOST}`, or remove it")


def _receivers(document: Document, alerts: Alerts) -> Iterator[Finding]:
    if alerts.telegram is None and alerts.email is None and alerts.webhook is None:
        yield _error(NEEDED, "the alerts have no receiver", document, ("alerts",), f"add {_RECEIVERS}")
    mail, hook = alerts.email, alerts.webhook
    if mail is not None and (mail.user is None) != (mail.password is None):
        message = "the e-mail has only one of user and password"
        yield _error(NEEDED, message, document, ("alerts", "email"), "set both, or neither")
    if hook is not None and (hook.url is None) == (hook.secret_url is None):
        which = "neither url nor secret_url" if hook.url is None else "both url and secret_url"
        hint = "set `url:`, or `secret_url:` for an address that is secret"
        yield _error(NEEDED, f"the webhook has {which}", document, ("alerts", "webhook"), hint)


def _external(document: Document, written: Monitoring) -> Iterator[Finding]:
    seen = set[str]()
    for index, endpoint in enumerate(written.external):
        if endpoint.name in seen:
            message = f"external endpoint {endpoint.name} is listed twice"
            yield _error(TWICE, message, document, ("external", index, "name"), "rename one of them")
        seen.add(endpoint.name)


def _error(code: tuple[str, str], message: str, document: Document, path: Path, hint: str) -> Finding:
    here = (*_BASE, *path)
    place = document.at_value(here) if path[-1] == "name" else document.at_key(here)
    return error(code, message, place, hint)
