"""The format of each file that programs on a host read. Rendering writes every field, including empty ones.

The programs reject files with unknown or missing keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sparkiac.plan.contract_units import NodeWeights, StagedStore, Sysctl, UnpinnableMemory


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


class ExpectedLink(NamedTuple):
    """A high-speed link that a group on this host uses."""

    interface: str
    address: str
    """IP address with prefix length."""
    mtu: int | None
    speed_gbit: float | None


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
    unpinnable: UnpinnableMemory | None
    disk: tuple[Disk, ...]
    links: tuple[ExpectedLink, ...]
    """Links of a host that runs nodes of groups."""
    ports: tuple[FreePort, ...]
    secrets: tuple[ExpectedSecret, ...]
    logins: tuple[RegistryLogin, ...]
    store: tuple[StoreExpectation, ...]
    units: Mapping[str, UnitExpectation]


class Promise(NamedTuple):
    """What clients can expect of a unit's API. The probe (probe.py) checks it step by step."""

    unit: str
    """Name of its systemd unit, without suffix."""
    kind: str
    """`chat`, `generate` (chat if the model has a chat template, otherwise text completion), `embedding`, `pooling`
    (classification or reward), `transcription`, `speech`, `service` (HTTP only), or `worker` (a node of a group
    that serves no HTTP)."""
    url: str | None
    """http://address:port, as clients use it; None for a worker."""
    health: str | None
    """HTTP path that returns 200 when the unit is healthy."""
    models: tuple[str, ...]
    """Names that it must serve."""
    api_key: str | None
    """Secret with its own API key, not with one of its dependencies."""
    clients: tuple[str, ...]
    """Kinds of clients that it must serve: `tools`."""
    reasoning: bool
    """Whether a parser separates the reasoning from the content."""
    structured: bool
    """Whether an answer can be restricted to a JSON schema."""
    vision: bool
    """Whether it accepts images."""
    max_model_len: int | None
    """Tokens that /v1/models must report; None if they are not checked."""
    dimensions: int | None
    """Length that an embedding must have; None if it is not checked."""
    speculative: bool
    """Whether it drafts tokens."""
    metrics: str | None
    """HTTP path of metrics with the token counters and the queue; None if it has none."""
    answer_s: int
    """Maximum time of the first answers together, in seconds."""
    store: str | None
    """address:port of the leader of its group to which every worker keeps a connection: the rendezvous store, or the
    head of Ray; None for a single host and for groups that the leader connects."""
    workers: int
    """Nodes of its group besides the leader, which must be connected to it; 0 for a single host."""


class GenerationUnit(NamedTuple):
    """A unit, the inputs whose change requires a restart, and how it is stopped and checked."""

    name: str
    files: tuple[str, ...]
    """Generated files; a changed file requires a restart."""
    secrets: tuple[str, ...]
    memory_bytes: int | None
    listen: str | None
    """address:port"""
    group: bool
    """Whether it is a node of a group, whose other nodes run on other hosts."""
    ready_timeout_s: int
    """Maximum time from start to the first answer."""
    drain_s: int
    """Maximum time for running requests to end before the unit is stopped."""
    turns: tuple[str, ...]
    """Turns in which it runs; empty if it always runs."""
    promise: Promise | None
    """None for a unit that listens on no port of its own and is not a worker of a group."""


class ChangeGroup(NamedTuple):
    """Hosts that change together because they run groups together."""

    members: tuple[str, ...]
    """Names of the hosts, sorted."""
    coordinator: str
    """Host that collects the votes of the others."""
    address: str
    """Its address: on a link that all members share, if there is one."""
    port: int
    """Its port for the votes."""
    peers: tuple[str, ...]
    """Addresses of the other members, from which it accepts votes; empty if one is a name."""


class Needs(NamedTuple):
    """What a generation needs besides its files; pruning does not remove it while the generation is kept."""

    images: tuple[str, ...]
    """Names with digests, or IDs of images that are copied from another host."""
    stores: tuple[StagedStore, ...]
    extra_files: tuple[str, ...]
    """Paths below /var/lib/sparkiac/files."""
    caches: tuple[str, ...]
    """Directories of compile caches."""


class Generation(NamedTuple):
    """Everything about a generation that is not in its files: etc/sparkiac/generation.json, read by `switch`."""

    host: str
    memory_bytes: int | None
    """Memory that all units together may use."""
    turns: tuple[str, ...]
    """Turns of the host; the first one is current after the first apply. Empty if none of its units takes turns."""
    units: tuple[GenerationUnit, ...]
    """Units in start order."""
    sysctls: tuple[Sysctl, ...]
    group: ChangeGroup | None
    """Hosts that change together with this one; None if it changes alone."""
    needs: Needs
