"""Extra files as the playbook fetches them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.plan.parts import FILES

if TYPE_CHECKING:
    from sparkiac.plan import ExtraFile, HostPlan, Hub

_HUB: Final = "hf://"


def of(host: HostPlan, hub: Hub) -> list[dict[str, str]]:
    """Say what is fetched, each content once, with its path below the directory of fetched files."""
    wanted = {file.path: file for container in host.containers for file in container.files}
    return [
        {"url": _address(file, hub), "sha256": file.sha256 or "UNLOCKED", "path": path.removeprefix(f"{FILES}/")}
        for path, file in sorted(wanted.items())
    ]


def _address(file: ExtraFile, hub: Hub) -> str:
    """Give where a file is fetched from: of the model hub at the commit that the lock holds."""
    if not file.url.startswith(_HUB):
        return file.url
    organisation, model, path = file.url.removeprefix(_HUB).split("/", 2)
    return f"{hub.url}/{organisation}/{model}/resolve/{file.commit or 'main'}/{path}"
