"""The extra files that the playbook downloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkiac.plan.parts import FILES, UNLOCKED

if TYPE_CHECKING:
    from sparkiac.plan import FetchedFile, HostPlan, HubEndpoint


def downloads(host: HostPlan, hub: HubEndpoint) -> list[dict[str, str]]:
    """Return URL, SHA-256 and path of each extra file; files with the same path and content are listed once."""
    wanted = {file.path: file for container in host.containers for file in container.storage.files}
    return [
        {"url": _address(file, hub), "sha256": file.sha256 or UNLOCKED, "path": path.removeprefix(f"{FILES}/")}
        for path, file in sorted(wanted.items())
    ]


def paths(host: HostPlan) -> tuple[str, ...]:
    """Return the paths of the extra files below their directory on the host, sorted."""
    found = {file.path for container in host.containers for file in container.storage.files}
    return tuple(path.removeprefix(f"{FILES}/") for path in sorted(found))


def _address(file: FetchedFile, hub: HubEndpoint) -> str:
    """Return the download URL of a file; for the model hub, at the locked commit."""
    if (named := file.on_hub) is None:
        return file.url
    handle, path = named
    return f"{hub.url}/{handle}/resolve/{file.commit or 'main'}/{path}"
