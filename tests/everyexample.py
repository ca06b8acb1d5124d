"""An example for each key of an inventory: from the inventories that ship, else from the documentation.

A key that is in neither has an example from the golden cases or the catalog, else one that is chosen here, or a word or
name of tests/everyfield.py.
"""

from __future__ import annotations

import inspect
import re
import typing
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final

import yaml

from sparkiac.model.catalog import Platform, Recipe
from sparkiac.model.inventory import Inventory
from tests.conftest import ROOT
from tests.docs.blocks import PAGES, blocks
from tests.everyfield import choices, content, fits, models

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel

LONGEST: Final = 60
"""Characters that an example may have if it can be shortened: a list or mapping then keeps its first entry."""
NO_EXAMPLE: Final = "see its keys"
UNFIT: Final = re.compile(r": error |WVR001")
"""In the report of a golden case: its inventory shows what not to write."""
CHOSEN: Final[dict[str, Any]] = {
    "Defaults.sysctl": {"vm.swappiness": 1},
    "Speculative.method": "mtp",
    "ContainerSettings.shm_size_gib": 16,
    "ContainerSettings.tmp_size_gib": 4,
    "Timeouts.restart_delay_s": 10,
    "Timeouts.drain_s": 60,
    "Timeouts.answer_s": 120,
    "LoadMemory.drop_caches_for_s": 900,
    "HostMemory.reserve_gib": 12,
    "WaiverEnd.release": "0.34",
    "WaiverEnd.image_after": "2027-01",
    "Deployment.engine": "vllm",
    "FabricLink.speed_gbit": 200,
    "Host.reachable_from": ["192.168.1.0/24", "10.8.0.0/24"],
    "Settings.reachable_from": ["192.168.1.20"],
    "Settings.egress": ["10.9.0.7"],
    "ContainerizedService.reachable_from": [],
    "HermesAgentService.reachable_from": ["192.168.1.20"],
    "HermesAgentService.egress": ["192.168.1.11", "10.9.0.7"],
    "MonitoringContainer.reachable_from": [],
    "RetiredHost.port": 22,
    "Workload.users": 4,
    "Workload.context": 32_768,
    "Measured.weights_bytes": 23_500_000_000,
    "Measured.overhead_bytes": 2_000_000_000,
    "Measured.graphs_bytes": 500_000_000,
    "Measured.pool_bytes": 30_000_000_000,
    "Measured.tokens": 400_000,
    "_ServiceFields.memory_gib": 4,
    "HermesAgentService.model": "qwen3.6-35b",
    "HermesAgentService.port": 8642,
    "GatewayService.image": "docker.io/library/haproxy:3.2-alpine",
    "GatewayService.port": 8088,
    "GatewayService.metrics_port": 8405,
    "GatewayService.api_key": {"secret": "gateway_key"},
    "GatewayService.clients": {"laptop": {"api_key": {"secret": "laptop_key"}}},
    "GatewayService.tls": "/etc/ssl/private/gateway.pem",
    "GatewayService.max_body_mib": 8,
    "GatewayService.max_connections": 1024,
    "GatewayClient.api_key": {"secret": "laptop_key"},
    "GatewayClient.requests_per_min": 60,
    "GatewayClient.concurrent": 4,
    "Inventory.routes": {"fast": {"to": ["gemma4"]}},
    "ModelRoute.to": ["qwen36"],
    "ModelRoute.fallback": ["gemma4"],
    "ModelRoute.weights": {"gemma4": 3},
    "RouteLimits.concurrent": 32,
    "RouteLimits.waiting": 16,
    "MonitoringContainer.memory_gib": 2,
    "Build.fetch": "main",
    "CherryPick.commit": "4f9c1d2e3b5a60718293a4b5c6d7e8f901234567",
    "CherryPick.subject": "Fix the loader on GB10",
    "PullRequest.base": "4f9c1d2e3b5a60718293a4b5c6d7e8f901234567",
    "Mod.run": "apply.sh",
    "RecipeSource.path": "recipes/spark",
    "RecipeSource.signed_by": ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZpcnN0a2V5"],
}
"""Class that declares a key, and the key → an example that is shown whatever the inventories have."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  chosen when this is loaded
    """Reads `on` as a text, as YAML 1.2 and sparkiac do."""

    yaml_implicit_resolvers: ClassVar = {
        first: [each for each in found if first not in "oOnNyY" or "bool" not in each[0]]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


@cache
def examples() -> dict[tuple[str, str], Any]:
    """Return class that declares a key, and the key → the first value that an inventory gives it."""
    found: dict[tuple[str, str], Any] = {}
    for model, data in documents():
        for owner, key, value in held(model, data):
            found.setdefault((declaring(owner, key), key), value)
    return found


def documents() -> Iterator[tuple[type[BaseModel], dict[Any, Any]]]:
    """Yield the inventories that ship, blocks of the documentation, golden cases, and platforms and recipes."""
    found = [path.read_text() for path in sorted((ROOT / "inventories").glob("*.yaml"))]
    found += [each.text for page in PAGES for each in blocks(page, "yaml") if each.mark is None]
    reports = sorted((ROOT / "tests/golden").glob("*/report.txt"))
    good = (path for path in reports if not UNFIT.search(path.read_text()))
    found += [path.with_name("inventory.yaml").read_text() for path in good]
    yield from ((Inventory, read(text)) for text in found)
    for folder, model in (("platforms", Platform), ("recipes", Recipe)):
        files = sorted((ROOT / "sparkiac/catalog" / folder).rglob("*.yaml"))
        yield from ((model, read(path.read_text())) for path in files)


def read(text: str) -> dict[Any, Any]:
    """Read YAML with the fast parser where there is one; what is read here has tests of its own."""
    return dict(yaml.load(text, Loader=_Loader))  # noqa: S506  a safe one


def held(model: type[BaseModel], data: dict[str, Any]) -> Iterator[tuple[type[BaseModel], str, Any]]:
    """Yield every key of an inventory that has a value, with the class that has it."""
    hints = typing.get_type_hints(model, include_extras=True)
    for key in (each for each in data if each in hints):
        value, hint = data[key], hints[key]
        yield model, key, value
        _, inner = content(hint)
        entries = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
        below = [(value, models(hint)), *((entry, models(inner)) for entry in entries)]
        for entry, classes in below:
            for each in classes:
                if isinstance(entry, dict) and fits(entry, each):
                    yield from held(each, entry)


def declaring(owner: type[BaseModel], key: str) -> str:
    """Return the name of the class that declares a key: several classes inherit it."""
    return next(each.__name__ for each in owner.__mro__ if key in inspect.get_annotations(each))


def example(owner: type[BaseModel], key: str) -> str:
    """Return a key with an example of its value, in one line of YAML."""
    hint = typing.get_type_hints(owner, include_extras=True)[key]
    value = CHOSEN.get(f"{declaring(owner, key)}.{key}", examples().get((declaring(owner, key), key)))
    if not models(hint) and not models(content(hint)[1]):
        return flow(key, choices(owner, key, hint)[0] if value is None else value)
    line = flow(key, value)
    return line if value and len(line) <= LONGEST else NO_EXAMPLE


def flow(key: str, value: Any) -> str:  # noqa: ANN401  any YAML
    """Write a key and its value in one line; a list or mapping that is too long keeps its first entry."""
    line = yaml.safe_dump(
        {key: value}, default_flow_style=True, width=10_000, allow_unicode=True, sort_keys=False
    ).strip()[1:-1]
    if len(line) > LONGEST and isinstance(value, (list, dict)) and len(value) > 1:
        return flow(key, value[:1] if isinstance(value, list) else dict([next(iter(value.items()))]))
    return line
