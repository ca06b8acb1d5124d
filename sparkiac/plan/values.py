"""The plan's values. Sizes are bytes, times are seconds, commands are tuples of words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.plan.askers import Document, Link, Program
    from sparkiac.report import Path

GIB: Final = 1 << 30
"""Bytes in a GiB."""
FILES: Final = "/var/lib/sparkiac/files"
"""Directory on the host that keeps fetched files."""


class Tag(NamedTuple):
    """What the catalog knows of an image: its family's facts, and those of its tag."""

    family: str
    """Title of the family."""
    style: str
    """How it takes its command: `vllm-serve`, `pass-through`, `environment` or `unknown`."""
    vllm: str | None = None
    """vLLM release inside; of a moving tag, the series that the sources saw."""
    vllm_at_least: str | None = None
    """Oldest vLLM release that it can hold, where no more is known."""
    transformers: str | None = None
    """Oldest Transformers release inside."""
    min_driver: str | None = None
    """Oldest driver that it runs on by itself."""
    forward_compat: str | None = None
    """Older driver series that it runs on through forward compatibility."""
    lacks: tuple[str, ...] = ()
    forbidden_on: Mapping[str, str] = {}
    """Platform → why it must not run there."""
    moving: bool = False


class Facts(NamedTuple):
    """What the catalog knows of a model, as far as rules ask for it."""

    kind: str | None
    """`dense`, `moe`, `hybrid-dense` or `hybrid-moe`."""
    format: str | None
    """Format of the weights: NVFP4, FP8, BF16 …"""
    checkpoint: str | None
    """Tool that wrote the checkpoint: `modelopt`, `compressed-tensors` …"""
    native_context: int | None
    thinks: bool | None
    """Whether it reasons before it answers unless told otherwise."""
    modalities: tuple[str, ...]
    weights_bytes: int | None
    """Loaded size, or else the size on disk."""


class Image(NamedTuple):
    """An image to run. Without a digest it must not be deployed."""

    reference: str
    """As the inventory or recipe writes it."""
    repository: str
    """Where hosts pull from: the reference's repository, or its mirror."""
    digest: str | None
    entrypoint: tuple[str, ...] | None
    """The image's own entrypoint, if it is known."""
    command: tuple[str, ...] | None
    """The image's own command, if it is known."""
    tag: Tag | None
    """What the catalog knows of it."""
    example: bool
    """Whether the digest is only an example."""
    build: str | None = None
    """Name of the build that makes it; its digest is the image's ID then, which no registry knows."""
    stale: bool = False
    """Whether the lock has it from a build that was changed since."""

    @property
    def vllm(self) -> str | None:
        """The vLLM release inside, as far as the catalog knows it."""
        return self.tag.vllm if self.tag else None

    @property
    def pull(self) -> str:
        """The pinned reference, or the ID of a built image; UNLOCKED stands where it is missing."""
        if self.build is not None and self.digest is not None:
            return self.digest
        return f"{self.repository}@{self.digest or 'UNLOCKED'}"


class Mount(NamedTuple):
    """A directory or file of the host inside the container."""

    source: str
    target: str
    read_only: bool


class Published(NamedTuple):
    """A port of the container on the host."""

    address: str
    port: int
    container_port: int


class Secret(NamedTuple):
    """A secret's name and the file that the container reads it from."""

    name: str
    target: str


class Export(NamedTuple):
    """A variable of the server whose value is put together from secrets inside the container.

    So it shows in no inspect output and in no argument list, and a server whose secret is missing does not start.
    """

    variable: str
    secrets: tuple[str | None, ...]
    """One secret for each part, joined by semicolons; None is a part that needs no key."""


class ExtraFile(NamedTuple):
    """A file that is fetched to the host, checked, and mounted."""

    url: str
    sha256: str | None
    target: str

    @property
    def path(self) -> str:
        """Where it lies on the host: named after its content, so that a new one never meets an old name."""
        return f"{FILES}/{self.sha256 or 'UNLOCKED'}/{self.target.rpartition('/')[2]}"


class Caution(NamedTuple):
    """A catalog entry in use that its source took back."""

    path: Path
    """Where the inventory names it."""
    entry: str
    why: str
    instead: str | None


class Health(NamedTuple):
    """How the container is asked whether it is well."""

    command: tuple[str, ...]
    interval_s: int
    timeout_s: int


class Container(NamedTuple):
    """One supervised container on one host: a deployment, a node of a group, or a service."""

    kind: str
    """`deployment` or `service`."""
    name: str
    description: str
    path: Path
    """Where it stands in the inventory."""
    image: Image
    command: tuple[str, ...]
    """Words after the image's entrypoint; empty where the image's own command serves."""
    env: Mapping[str, str]
    mounts: tuple[Mount, ...]
    listen: tuple[str, int] | None
    """Address and port on the host, however the container comes by them."""
    published: Published | None
    read_only: bool
    gpu: bool
    health: Health | None
    health_path: str | None
    ready_s: int
    stop_s: int
    restart_delay_s: int
    host_network: bool = False
    network: str | None = None
    """Network of the host that it shares with others, under its own name."""
    extra_hosts: tuple[str, ...] = ()
    ipc: str = "private"
    shm_size_bytes: int | None = None
    tmp_size_bytes: int = 1 << 28
    ulimits: Mapping[str, int] = {}
    devices: tuple[str, ...] = ()
    secrets: tuple[Secret, ...] = ()
    exports: tuple[Export, ...] = ()
    prelude: tuple[tuple[str, ...], ...] = ()
    """Commands that run before the server."""
    files: tuple[ExtraFile, ...] = ()
    data: str | None = None
    """Directory on the host that keeps what the container must not lose."""
    served: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    """What it asks."""
    pulls: tuple[str, ...] = ()
    """Models that are pulled into an Ollama server once it runs."""
    engine: str | None = None
    """The serving engine."""
    options: Mapping[str, Any] = {}
    """The engine's options, as the inventory spells them."""
    model: str | None = None
    """Handle of the model that a deployment serves."""
    facts: Facts | None = None
    """What the catalog knows of that model; None of a model that is not its recipe's."""
    speculative: Mapping[str, Any] | None = None
    node: tuple[int, int] | None = None
    """Rank and size of the distributed group; None for a single host."""
    clients: tuple[str, ...] = ()
    """What clients of a deployment need of it: `tools`."""
    store: str | None = None
    models: tuple[str, ...] = ()
    """Repositories that the model store must hold."""
    directories: tuple[str, ...] = ()
    """Models that the store must hold as plain directories."""
    cache_key: str | None = None
    """Directory name of the compile cache: changes with image, command and environment."""
    memory_bytes: int | None = None
    """Memory that the engine takes at start, if its utilization and the host's total are known."""
    recipe: str | None = None
    """Catalog entry of a deployment: vendor/name, or vendor/name#variant."""
    cautions: tuple[Caution, ...] = ()

    @property
    def unit(self) -> str:
        """Name of its systemd unit, without suffix."""
        return f"sparkiac-{self.name}"

    @property
    def argv(self) -> tuple[str, ...]:
        """The words that start the server, as far as the image's entrypoint is known."""
        return (*(self.image.entrypoint or ()), *(self.command or self.image.command or ()))

    @property
    def wrapped(self) -> bool:
        """Whether a shell prepares the start, which then must name the image's entrypoint."""
        return bool(self.prelude or self.exports)


class HostPlan(NamedTuple):
    """One machine and all that it runs."""

    name: str
    address: str
    user: str | None
    ssh_port: int | None
    platform: str
    architecture: str
    driver: str | None
    memory_bytes: int | None
    sysctls: Mapping[str, str]
    containers: tuple[Container, ...]
    preflight: Mapping[str, Any]
    """What the preflight script expects, as it is written to its file."""
    programs: tuple[Program, ...] = ()
    documents: tuple[Document, ...] = ()
    starts: tuple[str | None, ...] = ()
    """The unit that starts at each step of the fleet; None where this host waits for another one."""

    @property
    def units(self) -> tuple[Container | Program, ...]:
        """Everything that systemd runs, sorted by name."""
        return tuple(sorted((*self.containers, *self.programs), key=lambda each: each.name))

    @property
    def askers(self) -> tuple[Container | Program | Document, ...]:
        """Everything that may ask others."""
        return (*self.containers, *self.programs, *self.documents)


class Build(NamedTuple):
    """An image that is built from source."""

    name: str
    path: Path
    """Where the inventory names it first."""
    spec: Mapping[str, Any]
    """All that decides what comes out, in the words of the inventory."""
    digest: str
    """Hash of that."""
    base: Image | None
    """Image to start from; a build that runs a program chooses its own."""


class Plan(NamedTuple):
    """The whole fleet."""

    name: str
    hosts: tuple[HostPlan, ...]
    builds: tuple[Build, ...] = ()
