"""Extra files as the playbook fetches them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.plan.parts import FILES

if TYPE_CHECKING:
    from sparkiac.plan import HostPlan

_HUB: Final = "hf://"


def of(host: HostPlan) -> list[dict[str, str]]:
    """Say what is fetched, each content once, with its path below the directory of fetched files."""
    wanted = {file.path: file for container in host.containers for file in container.files}
    return [
        {"url": _address(file.url), "sha256": file.sha256 or "UNLOCKED", "path": path.removeprefix(f"{FILES}/")}
        for path, file in sorted(wanted.items())
    ]


def _address(url: str) -> str:
    """Give where a file of the model hub is fetched from. Its branch moves; what comes is checked against the lock."""
    if not url.startswith(_HUB):
        return url
    organisation, model, path = url.removeprefix(_HUB).split("/", 2)
    return f"https://huggingface.co/{organisation}/{model}/resolve/main/{path}"
