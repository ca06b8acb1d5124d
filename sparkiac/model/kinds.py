"""Kinds of services in the catalog: the defaults that the inventory's services override."""

from typing import Annotated, Literal

from pydantic import Field

from sparkiac.model.base import (
    AbsolutePath,
    Gib,
    ImageReference,
    Line,
    Model,
    Port,
    ServedName,
    ShortText,
    UrlPath,
    VariableName,
)
from sparkiac.model.settings import Timeouts


class ServiceKind(Model):
    """Defaults of one kind of service. There is an image only if a source names one."""

    title: ShortText
    """Title, in one line."""
    sources: Annotated[tuple[ShortText, ...], Field(min_length=1)]
    """Sources of these facts."""
    api: Literal["openai", "ollama"] | None = None
    """API that other services can use; omitted if it has none."""
    served_names: tuple[ServedName, ...] = ()
    """Model names that it always serves."""
    image: ImageReference | None = None
    """Image with a tag, which the lock pins."""
    memory_gib: Gib | None = None
    """Memory that it is planned with until a measured value is set."""
    user: Line | None = None
    """User in the container, as uid:gid; default is that of the image."""
    port: Port | None = None
    """Port on the host."""
    container_port: Port | None = None
    """Port inside the container."""
    health: UrlPath | None = None
    """HTTP path that returns 200 when the service is healthy."""
    healthcheck: tuple[Line, ...] | None = None
    """Health check command in the container, if the image has no HTTP client; empty if no check is possible."""
    gpu: bool | None = None
    """Whether the container gets the GPU."""
    env: dict[VariableName, Line | int] | None = None
    """Environment variables."""
    data: AbsolutePath | None = None
    """Directory in the container whose content must survive a restart."""
    read_only: bool | None = None
    """Whether the root file system of the container is read-only."""
    timeouts: Timeouts | None = None
    """Timeouts of the unit."""
    notes: tuple[ShortText, ...] = ()
    """Notes to read before use."""
    not_verified: tuple[ShortText, ...] = ()
    """Claims that only a test on real hardware can verify."""
