"""What the catalog knows of a kind of service: the layer below everything that the inventory says of one."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sparkiac.model.base import AbsolutePath, Line, Model, Port, ServedName, ShortText, UrlPath, VariableName
from sparkiac.model.settings import Timeouts


class ServiceKind(Model):
    """A kind of service, as its sources describe it. No image: none of the sources names one."""

    title: ShortText
    """What it is."""
    sources: Annotated[tuple[ShortText, ...], Field(min_length=1)]
    """Where these facts come from."""
    api: Literal["openai", "ollama"] | None = None
    """What other services can ask it; nothing if they cannot."""
    served_names: tuple[ServedName, ...] = ()
    """Models that it always lists."""
    port: Port | None = None
    """Port on the host."""
    container_port: Port | None = None
    """Port inside the container."""
    health: UrlPath | None = None
    """HTTP path that answers 200 when it is well."""
    healthcheck: tuple[Line, ...] | None = None
    """Command that asks inside the container, where the image has no HTTP client; empty where it has none at all."""
    gpu: bool | None = None
    """Whether it gets the GPU."""
    env: dict[VariableName, Line | int] | None = None
    """Environment variables."""
    data: AbsolutePath | None = None
    """Directory in the container that must outlive it."""
    read_only: bool | None = None
    """Whether the image's own file system is read-only."""
    timeouts: Timeouts | None = None
    """Waits of the unit."""
    notes: tuple[ShortText, ...] = ()
    """What to know before using it."""
    not_verified: tuple[ShortText, ...] = ()
    """What only a real machine can show."""
