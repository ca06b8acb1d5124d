"""The layers of the containers that monitor the fleet. Their hosts are names that were checked before.

Precedence, later wins: service default < its kind, from the catalog < inventory defaults (`bind` of Grafana and of the
exporters only) < inventory. Prometheus and Alertmanager have no login, so `defaults.bind` does not open them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sparkiac import catalog
from sparkiac.model.inventory import Inventory
from sparkiac.model.monitoring import MonitoringContainer
from sparkiac.report import Finding, Path
from sparkiac.resolve import required
from sparkiac.resolve.faults import TWICE, error
from sparkiac.resolve.leaves import Leaves, constant, from_document, merge, of_entry
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
