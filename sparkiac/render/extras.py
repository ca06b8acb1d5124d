"""Extra files as the playbook fetches them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkiac.plan.parts import FILES, UNLOCKED

if TYPE_CHECKING:
    from sparkiac.plan import FetchedFile, HostPlan, HubEndpoint


def downloads(host: HostPlan, hub: HubEndpoint) -> list[dict[str, str]]:
    """Say what is fetched, each content once, with its path below the directory of fetched files."""
    wanted = {file.path: file for container in host.containers for file in container.storage.files}
    return [
        {"url": _address(file, hub), "sha256": file.sha256 or UNLOCKED, "path": path.removeprefix(f"{FILES}/")}
        for path, file in sorted(wanted.items())
    ]


def _address(file: FetchedFile, hub: HubEndpoint) -> str:
    """Give where a file is fetched from: of the model hub at the commit that the lock holds."""
    if (named := file.on_hub) is None:
        return file.url
    handle, path = named
    return f"{hub.url}/{handle}/resolve/{file.commit or 'main'}/{path}"
