"""Keys of an inventory that exports and Kubernetes leave out, from `catalog/unwritten.yaml`."""

from __future__ import annotations

from collections.abc import Iterator

from sparkiac import catalog, engines
from sparkiac.model.resolved import ResolvedContainerSettings
from sparkiac.plan.confinement import KEYED, confinement
from sparkiac.plan.container import Container


def reasons(target: str) -> dict[str, str]:
    """Return key → why a target does not get it."""
    return {key: each.why for each in catalog.unwritten() if target in each.targets for key in each.keys}


def refuses(target: str, key: str) -> bool:
    """Return whether a target does not get a key, or the section that it is in."""
    return any(f"{key}.".startswith(f"{each}.") for each in reasons(target))


def notes(container: Container, target: str) -> Iterator[tuple[str, str]]:
    """Yield key and reason for each setting other than the engine's default that a target does not get."""
    own, server = container.confinement, container.server
    defaults = engines.named(server.engine).defaults
    changed = {"ipc": "host"} if target == "eugr" else {}  # what its containers have anyway
    stated = ResolvedContainerSettings.model_validate(defaults["container"] | changed)
    usual = confinement(stated, gpu=own.gpu, devices=own.devices)
    timeouts = container.timeouts.model_dump().items()
    load_memory = container.load_memory.model_dump(exclude_none=True) if container.load_memory else {}
    differs = {
        **{".".join(each.path): each.value(own) != each.value(usual) for each in KEYED},
        **{f"timeouts.{key}": value != defaults["timeouts"].get(key) for key, value in timeouts},
        **{f"load_memory.{key}": True for key in load_memory},
        "description": container.description != server.model,
        "clients": bool(server.clients),
        "egress": container.network.egress != (),
        "reachable_from": container.network.clients is not None,
    }
    return ((key, why) for key, why in reasons(target).items() if differs.get(key))
