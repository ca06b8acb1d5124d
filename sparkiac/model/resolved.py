"""The fleet after all layers are merged: the values that the plan reads.

What a plan cannot do without is required here. Each class extends the one of the inventory or the catalog, so no
field is listed a second time.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003  pydantic reads the annotation
from typing import Annotated, Literal

from pydantic import Field

from sparkiac.model.base import (
    AbsolutePath,
    Address,
    Bind,
    Commit,
    FileSource,
    Gib,
    GitAddress,
    ImageReference,
    Line,
    Model,
    ModelHandle,
    OptionName,
    OptionValue,
    Port,
    Seconds,
    SecretRef,
    ServedName,
    ShortText,
    UrlPath,
    UserName,
)
from sparkiac.model.build import Build
from sparkiac.model.catalog import EngineName  # noqa: TC001  pydantic reads the annotation
from sparkiac.model.inventory import Fabric, Measured, Ssh, Workload
from sparkiac.model.platform import Platform
from sparkiac.model.services import (
    ContainerizedService,
    ContainerService,
    HermesAgentService,
    OllamaService,
    OpenClawService,
    OpenWebuiService,
)
from sparkiac.model.settings import ContainerSettings, ExtraFile, Mount, Serving, Timeouts


class ResolvedHost(Platform):
    """One machine: its platform's values, and its own over them."""

    address: Address
    """Address that Ansible and clients use."""
    reserve_gib: Gib | None = None
    """Memory that is kept for the system and the page cache, if the inventory says how much."""
    fabric: Fabric | None = None
    """High-speed links."""
    ssh: Ssh = Ssh()
    """How Ansible reaches it."""
    model_store: AbsolutePath | None = None
    """Directory that holds weights."""


class ResolvedTimeouts(Timeouts):
    """Timeouts of a unit, in seconds."""

    ready_s: Seconds
    stop_s: Seconds
    restart_delay_s: Seconds


class ResolvedFile(ExtraFile):
    """A file that is fetched and mounted."""

    url: FileSource


class ResolvedContainerSettings(ContainerSettings):
    """How a deployment's container is run."""

    ipc: Literal["host", "private"]
    tmp_size_gib: Gib
    read_only: bool
    mounts: Mapping[AbsolutePath, Mount] = {}
    files: Mapping[AbsolutePath, ResolvedFile] = {}
    prelude: tuple[tuple[Line, ...], ...] = ()


class ResolvedDeployment(Serving):
    """A deployment on one of its hosts."""

    engine: EngineName
    """The serving engine."""
    image: ImageReference
    model: ModelHandle
    set: dict[OptionName, OptionValue]
    container: ResolvedContainerSettings
    timeouts: ResolvedTimeouts
    bind: Bind
    port: Port
    env: Mapping[str, Line | int] = {}
    needs_models: tuple[ModelHandle, ...] = ()
    nodes: int = 1
    """Machines that the recipe needs."""
    description: ShortText | None = None
    """Shown in the unit and in the plan."""
    workload: Workload | None = None
    """What it is for."""
    measured: Measured | None = None
    """What a start of it has measured."""


class _ResolvedContainer(ContainerizedService):
    """A service in a container: its kind's values, and its own over them."""

    image: ImageReference
    bind: Bind
    gpu: bool
    read_only: bool
    timeouts: ResolvedTimeouts
    command: tuple[Line, ...] = ()
    env: Mapping[str, Line | int] = {}
    mounts: Mapping[AbsolutePath, Mount] = {}
    model_store: AbsolutePath | None = None
    """Directory of the host that holds weights."""
    api: str | None = None
    """What other services can ask it; nothing if they cannot."""
    served_names: tuple[ServedName, ...] = ()
    """Models that it always lists."""
    healthcheck: tuple[Line, ...] | None = None
    """Command that asks inside the container."""
    data: AbsolutePath | None = None
    """Directory in the container that must outlive it."""


class ResolvedContainerService(_ResolvedContainer, ContainerService):
    """A container that asks no other service."""


class ResolvedOllamaService(_ResolvedContainer, OllamaService):
    """An Ollama server."""

    set: dict[OptionName, OptionValue] = {}


class ResolvedOpenWebuiService(_ResolvedContainer, OpenWebuiService):
    """Open WebUI."""


class ResolvedHermesAgentService(HermesAgentService):
    """Hermes Agent."""

    port: Port
    bind: Bind
    health: UrlPath
    """HTTP path that answers 200 when it is well."""
    served_names: tuple[ServedName, ...]
    """Models that it always lists."""
    timeouts: ResolvedTimeouts
    env: Mapping[str, Line | int] = {}
    api: str | None = None
    """What other services can ask it."""
    api_key: SecretRef
    user: UserName


ResolvedService = Annotated[
    ResolvedContainerService
    | ResolvedOllamaService
    | ResolvedOpenWebuiService
    | ResolvedHermesAgentService
    | OpenClawService,
    Field(discriminator="kind"),
]


class ResolvedBuild(Build):
    """An image that is built from source, with all that it needs."""

    why: ShortText
    repository: GitAddress
    commit: Commit


class ResolvedFleet(Model):
    """Everything that the plan reads, by name."""

    hosts: dict[str, ResolvedHost]
    """The machines."""
    deployments: dict[str, dict[str, ResolvedDeployment]] = {}
    """Deployment → host → how it runs there."""
    services: dict[str, ResolvedService] = {}
    """The services."""
    builds: dict[str, ResolvedBuild] = {}
    """The images that something runs and that are built from source."""
