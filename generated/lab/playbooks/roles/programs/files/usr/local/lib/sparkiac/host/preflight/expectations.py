"""What preflight expects of a host, and what load_memory changes. sparkiac fills these records, every field of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..conditions import HostFact
from ..generation import Sysctl


class ExpectedGpu(NamedTuple):
    """Expected GPU, with the name that nvidia-smi prints."""

    name: str
    compute_capability: str


class DoubtedDriver(NamedTuple):
    """A driver series on which sources disagree."""

    series: str
    why: str


class ImageDriver(NamedTuple):
    """Driver that the image of a unit requires."""

    unit: str
    min_driver: str
    forward_compat: str | None
    """Older driver series that runs the image with CUDA forward compatibility."""


class Versions(NamedTuple):
    """Lowest versions of the software on the host; None if a version is not checked."""

    docker: str | None
    compose: str | None
    container_toolkit: str | None
    systemd: str | None


class DockerAccess(NamedTuple):
    """User and group that start the containers."""

    user: str
    group: str


class Disk(NamedTuple):
    """Free space that the file system of a directory must have."""

    path: str
    free_bytes: int


class FreePort(NamedTuple):
    """A port that must be free for a unit."""

    address: str
    port: int
    unit: str


class ExpectedSecret(NamedTuple):
    """A secret that must exist on the host and belong to root."""

    name: str
    mode: str
    header: bool
    """Whether HTTP headers carry it, as they carry API keys: then it is visible ASCII without outer spaces."""


class RegistryLogin(NamedTuple):
    """A registry that may require a login to pull an image."""

    registry: str
    image: str


class StoreExpectation(NamedTuple):
    """What a model store must contain before any unit starts."""

    path: str
    models: tuple[str, ...]
    """Entries: models--org--name[@commit] in the Hugging Face cache, or org/name for a plain directory."""
    gated: tuple[str, ...]
    """Entries whose licence must be accepted before the download."""
    not_before: Mapping[str, str]
    """Entry → first day with a usable version; a copy that was downloaded before is rejected."""
    compared: Mapping[str, tuple[str, ...]]
    """Entry → groups whose hosts must all have the same revision."""


class RdmaLink(NamedTuple):
    """An RDMA device that a unit uses."""

    device: str
    interface: str
    """Network interface of the device."""
    address: str | None
    """IP address of the interface; None for a twin without an address."""


class FabricLookup(NamedTuple):
    """What preflight looks up about the links of a unit at each start, for the unit's environment."""

    rdma: tuple[RdmaLink, ...]
    """Devices whose GID index is looked up."""
    sockets: str | None
    """Address whose network interface is looked up for the sockets of NCCL and Gloo."""


class GroupPorts(NamedTuple):
    """Ports without a password that a node of a group opens, some of them on all addresses."""

    ports: tuple[str, ...]
    """Port numbers, and ranges such as 29510-29599."""
    peers: tuple[str, ...]
    """Addresses of the other nodes, from which connections are accepted."""


class NodeWeights(NamedTuple):
    """A model whose files preflight compares with its manifest before a node of a group starts."""

    path: str
    """Directory with the files."""
    commit: str
    manifest: str
    """Path of the manifest below /etc/sparkiac."""


class UnitExpectation(NamedTuple):
    """What preflight checks just before a unit starts."""

    image: str
    memory_bytes: int | None
    secrets: tuple[str, ...]
    cache: str | None
    """Directory of its compile cache, which preflight creates if it is missing."""
    files: tuple[str, ...]
    weights: tuple[NodeWeights, ...]
    """Of a node of a group: it must load the same weights as the others."""
    fabric: FabricLookup | None
    group_ports: GroupPorts | None
    gpu: bool


class ExpectedLink(NamedTuple):
    """A high-speed link that a group on this host uses."""

    interface: str
    address: str
    """IP address with prefix length."""
    mtu: int | None
    speed_gbit: float | None


class UnpinnableMemory(NamedTuple):
    """What preflight reports if the kernel has memory in which nothing can be pinned."""

    rdma_units: tuple[str, ...]
    """Units that register memory for RDMA. If there is one, the check of the host fails; otherwise it only warns."""
    hint: str
    code: str


class KnownSoftware(NamedTuple):
    """What is known about the software of hosts like this one."""

    rdma: bool
    """Whether a unit of this host uses RDMA."""
    facts: tuple[HostFact, ...]


class ExpectedParameters(NamedTuple):
    """The parameters of the kernel that sparkiac sets."""

    declared: tuple[str, ...]


class Expectations(NamedTuple):
    """Expected state of a host, etc/sparkiac/preflight.json. None and empty values are not checked."""

    host: str
    architecture: str
    gpu: ExpectedGpu | None
    driver: str | None
    """Version or series."""
    doubted_drivers: tuple[DoubtedDriver, ...]
    image_drivers: tuple[ImageDriver, ...]
    kernel_parameters: Mapping[str, str]
    versions: Versions
    docker_access: DockerAccess | None
    memory_bytes: int | None
    idle_memory_bytes: int | None
    load_tuning: Mapping[str, str]
    headless: str | None
    """Address of a host that boots without a desktop."""
    earlyoom: bool
    """Whether earlyoom must be installed."""
    parameters: ExpectedParameters | None
    unpinnable: UnpinnableMemory | None
    host_facts: KnownSoftware | None
    disk: tuple[Disk, ...]
    links: tuple[ExpectedLink, ...]
    """Links of a host that runs nodes of groups."""
    ports: tuple[FreePort, ...]
    nft: bool
    """Whether nftables must work."""
    secrets: tuple[ExpectedSecret, ...]
    logins: tuple[RegistryLogin, ...]
    store: tuple[StoreExpectation, ...]
    units: Mapping[str, UnitExpectation]


class LoadGuard(NamedTuple):
    """Changes to the host during the load of a unit: etc/sparkiac/NAME/load-memory.json."""

    drop_every_s: float | None
    """Seconds between two drops of the page cache; None drops it only once, before the start."""
    drop_for_s: int
    """Seconds after which the drops end even if the unit is not ready."""
    read_ahead_kib: int | None
    """Read-ahead of the disk that contains `store`; None does not change it."""
    read_ahead_for_s: int
    """Seconds after which the read-ahead is restored even if the unit is not ready."""
    store: str | None
    """The model store."""
    sysctls: tuple[Sysctl, ...]
    for_s: int
    """Seconds after which everything is undone even if nothing else does so."""


class GatewayKeys(NamedTuple):
    """What the gateway reads: etc/sparkiac/NAME/config/keys.json."""

    clients: Mapping[str, str]
    """Secret → name of the client that sends it."""
    servers: tuple[str, ...]
    """Secrets that are sent to servers."""
    tls: str | None
    """File on this host with certificate, chain and key as PEM."""
