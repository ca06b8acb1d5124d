"""The layers of the containers that monitor the fleet, and checks of what is written under `monitoring`.

The hosts of these containers are names that were checked before.

Precedence, later wins: service default < its kind, from the catalog < inventory defaults (`bind` of Grafana and of the
exporters only) < inventory. Prometheus and Alertmanager have no login, so `defaults.bind` does not open them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sparkiac import catalog
from sparkiac.model.inventory import Inventory
from sparkiac.model.monitoring import Alerts, Monitoring, MonitoringContainer
from sparkiac.report import Finding, Path
from sparkiac.resolve import required
from sparkiac.resolve.leaves import Leaves, constant, from_document, merge, of_entry
from sparkiac.resolve.references import NEEDED, TWICE, error
from sparkiac.resolve.services import DEFAULTS
from sparkiac.source import Source
from sparkiac.source.document import Document

BASE: Final = "monitoring"
EXPORTERS: Final[dict[Path, str]] = {("exporters", "node"): "node-exporter", ("exporters", "gpu"): "gpu-exporter"}
"""Path of an exporter below `monitoring` → its kind and the name of its unit."""
KINDS: Final[dict[Path, str]] = {
    ("prometheus",): "prometheus",
    ("alertmanager",): "alertmanager",
    ("grafana",): "grafana",
    **EXPORTERS,
}
"""Path of a container below `monitoring` → its kind and the name of its unit."""
_PRIVATE: Final = ("prometheus", "alertmanager")
_RECEIVERS: Final = "telegram, email or webhook"
_OWN: Final = tuple(MonitoringContainer.model_fields)
_OF_KIND: Final = (
    *("bind", "env", "gpu", "health", "healthcheck", "image", "memory_gib", "port", "data", "user", "read_only"),
    "timeouts",
)


def resolve(inventory: Source[Inventory]) -> Leaves:
    """Resolve every container that monitors the fleet; none if there is no Prometheus."""
    found: Leaves = {}
    for path in running(inventory):
        layers = merge(*stack(inventory.document, path))
        found |= {(BASE, *path, *tail): leaf for tail, leaf in layers.items()}
    return found


def running(inventory: Source[Inventory]) -> tuple[Path, ...]:
    """Return the paths of the containers that run, below `monitoring`."""
    written = inventory.valid.monitoring
    absent: dict[Path, bool] = {
        ("alertmanager",): written.alerts is None,
        ("grafana",): written.grafana is None,
    }
    return () if written.prometheus is None else tuple(path for path in KINDS if not absent.get(path))


def stack(document: Document, path: Path) -> tuple[Leaves, ...]:
    """Return the layers of one of these containers, lowest first."""
    kind = KINDS[path]
    known = catalog.monitoring_kind(kind) or catalog.service_kind(kind)
    assert known is not None, "the catalog has every kind"  # noqa: S101
    default = DEFAULTS | ({"bind": "loopback"} if kind in _PRIVATE else {})
    below = of_entry(known.document, layer=f"service kind {kind}", keys=_OF_KIND)
    general = {} if kind in _PRIVATE else from_document(document, ("defaults",), layer="inventory", keys=("bind",))
    own = from_document(document, (BASE, *path), layer="inventory", keys=_OWN)
    return constant(default, layer="service default"), below, general, own


def check(inventory: Source[Inventory], leaves: Leaves, values: dict[str, Any]) -> Iterator[Finding]:
    """Return a finding for each address that a host does not have, and for each name that is taken."""
    hosts = tuple(values["hosts"])
    for path in running(inventory):
        for host in hosts if path in EXPORTERS else (_host(inventory, path),):
            yield from required.bind(inventory, leaves, (BASE, *path), host=host)
    yield from _taken(inventory)


def _host(inventory: Source[Inventory], path: Path) -> str:
    """Return the host of a container that is no exporter."""
    written = inventory.valid.monitoring
    assert written.prometheus is not None, "it runs only with Prometheus"  # noqa: S101
    return written.grafana.hosts if path == ("grafana",) and written.grafana is not None else written.prometheus.hosts


def _taken(inventory: Source[Inventory]) -> Iterator[Finding]:
    """Find deployments and services with the name of a unit of the monitoring."""
    named = {KINDS[path] for path in running(inventory)}
    for section, entries in (("deployments", inventory.valid.deployments), ("services", inventory.valid.services)):
        for name in sorted(entries.keys() & named):
            message = f"{name!r} is also the name of a unit of the monitoring"
            place = inventory.document.at_key((section, name))
            yield error(TWICE, message, place, "choose another name")


def check_parts(inventory: Source[Inventory]) -> Iterator[Finding]:
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
    here = (BASE, *path)
    place = document.at_value(here) if path[-1] == "name" else document.at_key(here)
    return error(code, message, place, hint)
