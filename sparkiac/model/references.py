"""Parse references of images and of files on the model hub."""

from __future__ import annotations

from typing import Final

HUB: Final = "https://huggingface.co"
"""The model hub that sparkiac and hosts use by default."""
_HUB_FILE: Final = "hf://"
DOCKER_HUB: Final = "docker.io"
"""Registry of an image reference without one."""


def split(tagged: str) -> tuple[str, str]:
    """Split an image reference into repository and tag; the tag is empty if there is none."""
    head, colon, tag = tagged.rpartition(":")
    return (head, tag) if colon and "/" not in tag else (tagged, "")


def full(repository: str) -> str:
    """Return the repository with its registry: docker.io/vllm/vllm-openai for `vllm/vllm-openai`."""
    first, slash, rest = repository.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        inside = f"library/{rest}" if first == DOCKER_HUB and "/" not in rest else rest
        return f"{first}/{inside}"
    return f"{DOCKER_HUB}/{'' if slash else 'library/'}{repository}"


def repository(reference: str) -> str:
    """Return an image reference without tag and digest."""
    return split(reference.partition("@")[0])[0]


def short(reference: str) -> str:
    """Return an image reference without Docker Hub, the registry of a reference that names none."""
    return reference.removeprefix(f"{DOCKER_HUB}/").removeprefix("library/")


def hub_file(url: str) -> tuple[str, str] | None:
    """Return handle and path of hf://ORGANISATION/MODEL/PATH; None for any other URL."""
    if not url.startswith(_HUB_FILE):
        return None
    organisation, model, path = url.removeprefix(_HUB_FILE).split("/", 2)
    return f"{organisation}/{model}", path
