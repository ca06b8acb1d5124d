"""The inventory after all layers are merged: the values that the plan reads.

Fields that the plan needs are required here. Each class extends a class of the inventory or the catalog and repeats
only the fields whose type becomes stricter.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, get_args

from sparkiac.model.base import (
    AbsolutePath,
    Address,
    Bind,
    FileSource,
    Gib,
    ImageReference,
    Line,
    Model,
    ModelHandle,
    Name,
    Network,
    OptionName,
    OptionValue,
    Pause,
    Port,
    Seconds,
    SecretRef,
    ServedName,
    ShortText,
    Ssh,
    UrlPath,
    UserName,
)
from sparkiac.model.catalog import Platform
from sparkiac.model.images import Build
from sparkiac.model.inventory import Fabric, Measured, Workload
from sparkiac.model.monitoring import MonitoringContainer
from sparkiac.model.services import (
    ContainerizedService,
    ContainerService,
    GatewayService,
    HermesAgentService,
    OllamaService,
    OpenClawService,
    OpenWebuiService,
)
from sparkiac.model.settings import ContainerSettings, ExtraFile, Mount, Serving, Timeouts


class ResolvedHost(Platform):
    """A host: the values of its platform, overridden by its own."""

    address: Address
    """Address of the host for Ansible and for clients."""
    reserve_gib: Gib | None = None
    """GiB that stay free for the system and the page cache, if the inventory sets it."""
    fabric: Fabric | None = None
    """High-speed links to other hosts."""
    ssh: Ssh = Ssh.model_construct()
    """SSH settings."""
    model_store: AbsolutePath | None = None
    """Directory that contains the weights."""
    power: tuple[Line, ...] = ()
    """Command that takes its power away and gives it back."""
    nft: Literal["required", "optional"] = "required"
    """Whether nftables must work."""
    reachable_from: tuple[Network, ...] | None = None
    """Clients of its servers that have no list of their own; None is everybody."""


class ResolvedTimeouts(Timeouts):
    """Timeouts of a unit, in seconds."""

    ready_s: Seconds
    stop_s: Seconds
    restart_delay_s: Seconds
    drain_s: Pause
    answer_s: Seconds


class ResolvedFile(ExtraFile):
    """A file that is downloaded and mounted into the container."""

    url: FileSource


class ResolvedContainerSettings(ContainerSettings):
    """Settings of a deployment's container."""

    ipc: Literal["host", "private"]
    tmp_size_gib: Gib
    read_only: bool
    mounts: Mapping[AbsolutePath, Mount] = {}
    files: Mapping[AbsolutePath, ResolvedFile] = {}
    prelude: tuple[tuple[Line, ...], ...] = ()


class ResolvedDeployment(Serving):
    """A deployment on one of its hosts."""

    engine: Name
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
    """Number of hosts that the recipe needs."""
    executor: Literal["mp", "ray"] | None = None
    """How vLLM runs on several hosts."""
    description: ShortText | None = None
    """Description in the systemd unit and in the plan."""
    workload: Workload | None = None
    """Load that the deployment must handle."""
    measured: Measured | None = None
    """Values that a server start measured."""


class _ResolvedContainer(ContainerizedService):
    """A service in a container: the values of its kind, overridden by its own."""

    image: ImageReference
    bind: Bind
    gpu: bool
    read_only: bool
    timeouts: ResolvedTimeouts
    command: tuple[Line, ...] = ()
    env: Mapping[str, Line | int] = {}
    mounts: Mapping[AbsolutePath, Mount] = {}
    model_store: AbsolutePath | None = None
    """Directory of the host that contains the weights."""
    api: str | None = None
    """API that other services can use; None if it has none."""
    served_names: tuple[ServedName, ...] = ()
    """Model names that it always serves."""
    healthcheck: tuple[Line, ...] | None = None
    """Health check command in the container."""
    user: Line | None = None
    """User in the container, as uid:gid."""
    data: AbsolutePath | None = None
    """Directory in the container whose content must survive a restart."""


class ResolvedContainerService(_ResolvedContainer, ContainerService):
    """A container that uses no other service."""


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
    """HTTP path that returns 200 when the service is healthy."""
    served_names: tuple[ServedName, ...]
    """Model names that it always serves."""
    timeouts: ResolvedTimeouts
    env: Mapping[str, Line | int] = {}
    api: str | None = None
    """API that other services can use."""
    api_key: SecretRef
    user: UserName


class ResolvedGatewayService(GatewayService):
    """The gateway."""

    image: ImageReference
    port: Port
    bind: Bind
    metrics_port: Port
    max_body_mib: int
    max_connections: int
    api_key: SecretRef
    timeouts: ResolvedTimeouts
    health: UrlPath
    """HTTP path that returns 200 when it is healthy."""
    served_names: tuple[ServedName, ...]
    """The names of the routes."""
    api: str | None = None
    """API that other services can use."""
    user: Line | None = None
    """User in the container, as uid:gid."""


ResolvedService = (
    ResolvedContainerService
    | ResolvedOllamaService
    | ResolvedOpenWebuiService
    | ResolvedHermesAgentService
    | ResolvedGatewayService
    | OpenClawService
)
_SERVICES: Final[dict[str, type[ResolvedService]]] = {
    kind: service for service in get_args(ResolvedService) for kind in get_args(service.model_fields["kind"].annotation)
}
"""Kind of a service → its class."""


class ResolvedMonitoringContainer(MonitoringContainer):
    """A container that monitors the fleet."""

    image: ImageReference
    port: Port
    bind: Bind
    gpu: bool
    read_only: bool
    timeouts: ResolvedTimeouts
    health: UrlPath
    """HTTP path that returns 200 when it is healthy."""
    healthcheck: tuple[Line, ...] | None = None
    """Health check command in the container; empty if no check is possible."""
    env: Mapping[str, Line | int] = {}
    """Environment variables."""
    data: AbsolutePath | None = None
    """Directory in the container whose content must survive a restart."""
    user: Line | None = None
    """User in the container, as uid:gid."""


class ResolvedExporters(Model):
    """Exporters, which run on every host."""

    node: ResolvedMonitoringContainer
    """node_exporter."""
    gpu: ResolvedMonitoringContainer
    """Exporter of the GPU."""


class ResolvedMonitoring(Model):
    """Containers that monitor the fleet; None for one that does not run."""

    prometheus: ResolvedMonitoringContainer | None = None
    """Prometheus."""
    alertmanager: ResolvedMonitoringContainer | None = None
    """Alertmanager."""
    grafana: ResolvedMonitoringContainer | None = None
    """Grafana."""
    exporters: ResolvedExporters | None = None
    """Exporters."""


_UNMONITORED: Final = ResolvedMonitoring.model_construct()
"""This field is not validated again, because that would build the classes of all containers."""


class ResolvedBuild(Build):
    """A build with all its values: of an image from source, or of packages that are added to a base image."""

    why: ShortText


class ResolvedFleet(NamedTuple):
    """Everything that the plan reads, by name."""

    hosts: dict[str, ResolvedHost]
    """Hosts by name."""
    deployments: dict[str, dict[str, ResolvedDeployment]]
    """Values of each deployment on each of its hosts: deployment → host → values."""
    services: dict[str, ResolvedService]
    """Services by name."""
    monitoring: ResolvedMonitoring
    """Containers that monitor the fleet."""
    builds: dict[str, ResolvedBuild]
    """Builds that a deployment or service uses, by name."""


def fleet(values: Mapping[str, Mapping[str, Any]]) -> ResolvedFleet:
    """Validate the merged values. Each entry is validated on its own, so that only the classes in use are built."""
    assert values.keys() <= {*ResolvedFleet._fields}, "every part of the fleet is read"  # noqa: S101
    monitored = values.get("monitoring")
    return ResolvedFleet(
        hosts={name: ResolvedHost.model_validate(each) for name, each in values.get("hosts", {}).items()},
        deployments={
            name: {host: ResolvedDeployment.model_validate(each) for host, each in hosts.items()}
            for name, hosts in values.get("deployments", {}).items()
        },
        services={
            name: _SERVICES[each["kind"]].model_validate(each) for name, each in values.get("services", {}).items()
        },
        monitoring=ResolvedMonitoring.model_validate(monitored) if monitored else _UNMONITORED,
        builds={name: ResolvedBuild.model_validate(each) for name, each in values.get("builds", {}).items()},
    )
