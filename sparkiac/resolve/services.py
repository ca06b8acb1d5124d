"""The layers of a service, which depend on its kind, and checks of the merged values.

Precedence, later wins: service default < its kind, from the catalog < inventory defaults (`bind` only) < its host
(`model_store` and `reachable_from`) < service.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sparkiac import catalog
from sparkiac.engines.records import ollama
from sparkiac.model.inventory import Inventory
from sparkiac.model.services import (
    ContainerService,
    GatewayService,
    HermesAgentService,
    OllamaService,
    OpenClawService,
    OpenWebuiService,
    ServiceKind,
)
from sparkiac.report import Finding, Path
from sparkiac.report.hints import nearest
from sparkiac.resolve import required, uses
from sparkiac.resolve.leaves import Leaves, constant, from_document, of_entry
from sparkiac.resolve.references import NEEDED, UNKNOWN, error, mapping
from sparkiac.source import Source
from sparkiac.source.document import Document

DEFAULTS: Final = {
    "bind": "lan",
    "gpu": False,
    "read_only": True,
    "timeouts": {"ready_s": 300, "stop_s": 60, "restart_delay_s": 2, "drain_s": 0, "answer_s": 120},
}
"""The lowest layer of every container; programs use the keys that apply to them."""
_OF_GATEWAY: Final = {"metrics_port": 8405, "max_body_mib": 8, "max_connections": 1024}
_SHAPES: Final = (
    *(ContainerService, OllamaService, OpenWebuiService, HermesAgentService, OpenClawService),
    GatewayService,
)
_OWN: Final = tuple(sorted({field for shape in _SHAPES for field in shape.model_fields} - {"allow"}))
_NOT_SET: Final = {"title", "sources", "notes", "not_verified", "speech", "images"}
_OF_KIND: Final = tuple(sorted(ServiceKind.model_fields.keys() - _NOT_SET))
_OF_CONTAINER: Final = (("bind",), *required.TIMEOUTS)
_OF_PROGRAM: Final = (("port",), *_OF_CONTAINER)


def stack(document: Document, name: str, kind: str, *, store: Leaves, clients: Leaves) -> tuple[Leaves, ...]:
    """Return the layers of a service, lowest first."""
    own = from_document(document, ("services", name), layer="inventory", keys=_OWN)
    if kind == "openclaw":
        return (own,)
    known = catalog.service_kind(kind)
    below = of_entry(known.document, layer=f"service kind {kind}", keys=_OF_KIND) if known else {}
    default = DEFAULTS
    if kind in {"hermes-agent", uses.GATEWAY}:
        more = _OF_GATEWAY if kind == uses.GATEWAY else {}
        default = {"bind": DEFAULTS["bind"], "timeouts": DEFAULTS["timeouts"], **more}
    engine = constant({"set": ollama.DEFAULTS["set"]}, layer="engine ollama") if kind == "ollama" else {}
    keys = ("bind", "api_key") if kind == uses.GATEWAY else ("bind",)
    general = from_document(document, ("defaults",), layer="inventory", keys=keys)
    mounts = {} if default is not DEFAULTS else store
    offers = {"served_names": tuple(mapping(document.data, "routes"))} if kind == uses.GATEWAY else {}
    routed = constant(offers, layer="routes")
    return constant(default, layer="service default"), engine, below, general, mounts, clients, own, routed


def check(inventory: Source[Inventory], leaves: Leaves, values: dict[str, Any]) -> Iterator[Finding]:
    """Return a finding for every required value that no layer sets."""
    for name, found in values.get("services", {}).items():
        base, kind = ("services", name), found["kind"]
        if kind == "hermes-agent":
            yield from required.missing(inventory, leaves, base, _OF_PROGRAM)
            yield from required.bind(inventory, leaves, base, host=found["hosts"])
        elif kind != "openclaw":
            yield from _container(inventory, leaves, base, found)
        if kind == uses.GATEWAY:
            yield from required.missing(inventory, leaves, base, (("api_key",),))
        for use in uses.of(base, found):
            yield from _model(inventory, values, use, name=name)
    yield from _routes(inventory, values)


def _routes(inventory: Source[Inventory], values: dict[str, Any]) -> Iterator[Finding]:
    """Find routes to Ollama servers that do not have the model, and routes to servers with different keys."""
    deployments = values.get("deployments", {})
    for alias, route in inventory.valid.routes.items():
        place: Path = ("routes", alias)
        placed = {name: next(iter(deployments[name].values())) for name in route.targets if name in deployments}
        secrets = {name: each["api_key"]["secret"] for name, each in placed.items() if each.get("api_key")}
        if len({*secrets.values()}) > 1:
            listed = ", ".join(f"{name} has {secret}" for name, secret in secrets.items())
            message = f"the servers of route {alias} have different keys: {listed}"
            hint = "give them the same `api_key`: the gateway sends one key for a route"
            yield _error(NEEDED, message, inventory.document, place, hint)
        for name in route.targets:
            if name not in deployments and alias not in (offered := served(values, name)):
                message = f"{name} has no model {alias!r}, and Ollama serves models under their own names"
                yield _error(UNKNOWN, message, inventory.document, place, nearest(alias, offered))


def _container(inventory: Source[Inventory], leaves: Leaves, base: Path, found: dict[str, Any]) -> Iterator[Finding]:
    document, kind = inventory.document, found["kind"]
    if "image" not in found:
        unknown = "" if kind == "container" else f", and the catalog has none for kind {kind}"
        message = f"service {base[1]} has no image{unknown}"
        yield _error(NEEDED, message, document, base, "add `image:` and run `sparkiac lock`")
    yield from required.missing(inventory, leaves, base, _OF_CONTAINER if kind == "container" else _OF_PROGRAM)
    yield from required.store(inventory, base, found, found.get("mounts", {}))
    if "port" in found:
        yield from required.bind(inventory, leaves, base, host=found["hosts"])
    elif kind == "container":
        yield from _portless(inventory, found, base)


def _portless(inventory: Source[Inventory], found: dict[str, Any], base: Path) -> Iterator[Finding]:
    """Find keys that have no effect without a port, such as a health check."""
    for key in ("health", "container_port"):
        if key in found:
            message = f"service {base[1]} has a {key} but no port"
            yield _error(NEEDED, message, inventory.document, (*base, key), "add `port:`")


def _model(inventory: Source[Inventory], values: dict[str, Any], use: uses.Use, *, name: str) -> Iterator[Finding]:
    """Find a used model that is not served, or a model that is required and not set."""
    if values["services"][name]["kind"] == "open-webui":
        return
    offered = served(values, use.name)
    path = (*use.path[:-1], "model")
    if use.model is None and not offered:
        message = f"service {name} uses {use.name}, but no model is set"
        yield _error(NEEDED, message, inventory.document, use.path, f"add `model:` or services.{use.name}.models")
    elif use.model is not None and offered and use.model not in offered:
        message = f"{use.name} does not serve the model {use.model!r}"
        yield _error(UNKNOWN, message, inventory.document, path, nearest(use.model, offered))


def served(values: dict[str, Any], name: str) -> tuple[str, ...]:
    """Return the names of the models that a deployment or service serves, as far as they are known."""
    if name in values.get("deployments", {}):
        placed = next(iter(values["deployments"][name].values()))
        return tuple(placed.get("served_names") or filter(None, (placed.get("model"),)))
    found = values["services"].get(name) or {"served_names": (name,)}  # a route
    return tuple(found.get("models") or found.get("served_names") or ())


def _error(code: tuple[str, str], message: str, document: Document, path: Path, hint: str) -> Finding:
    place = document.at_value(path) if len(path) > len(("services", "name")) else document.at_key(path)
    return error(code, message, place, hint)
