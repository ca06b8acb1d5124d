"""References of images and of files of the model hub: how their parts are told from one another."""

from __future__ import annotations

from typing import Final

_HUB_FILE: Final = "hf://"
DOCKER_HUB: Final = "docker.io"
"""What an image without a registry is pulled from."""


def split(tagged: str) -> tuple[str, str]:
    """Give repository and tag, which may be empty."""
    head, colon, tag = tagged.rpartition(":")
    return (head, tag) if colon and "/" not in tag else (tagged, "")


def full(repository: str) -> str:
    """Name the registry: `vllm/vllm-openai` is docker.io/vllm/vllm-openai, and `nginx` is docker.io/library/nginx."""
    first, slash, rest = repository.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        inside = f"library/{rest}" if first == DOCKER_HUB and "/" not in rest else rest
        return f"{first}/{inside}"
    return f"{DOCKER_HUB}/{'' if slash else 'library/'}{repository}"


def hub_file(url: str) -> tuple[str, str] | None:
    """Give handle and path of hf://ORGANISATION/MODEL/PATH; None if it is another URL."""
    if not url.startswith(_HUB_FILE):
        return None
    organisation, model, path = url.removeprefix(_HUB_FILE).split("/", 2)
    return f"{organisation}/{model}", path
