"""Small values that the plan consists of, and those that deployments and services share. Sizes are in bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sparkiac import engines
from sparkiac.host.generation import OwnFolder
from sparkiac.memory.blocks import Cache
from sparkiac.memory.budget import ServerMemory
from sparkiac.memory.fit import Advice, Fit, UtilizationStep
from sparkiac.memory.layers import Shape
from sparkiac.memory.options import ServerOptions
from sparkiac.memory.speed import Range
from sparkiac.memory.values import GIB, Unknown
from sparkiac.model.facts import Prefill
from sparkiac.model.inventory import Workload
from sparkiac.model.records import StartSubject
from sparkiac.model.references import hub_file
from sparkiac.report import Path

if TYPE_CHECKING:
    from sparkiac.model.lock import LockedFile
    from sparkiac.model.resolved import ResolvedDeployment, ResolvedFile
    from sparkiac.model.settings import Mount as Mounted
    from sparkiac.resolve.leaves import Leaves


FILES: Final = "/var/lib/sparkiac/files"
"""Directory on the host for downloaded extra files."""
INVENTORY: Final = "the inventory"
"""Source of a service's memory figure, unless it comes from the catalog."""
UNLOCKED: Final = "UNLOCKED"
"""Replaces a digest or hash that is missing in the lock."""


def stated_bytes(size_gib: float | None) -> int | None:
    """Convert a size in GiB to bytes; None stays None."""
    return None if size_gib is None else int(size_gib * GIB)


class BindMount(NamedTuple):
    """A directory or file of the host that is mounted into a container."""

    source: str
    target: str
    read_only: bool
    follows: bool = False
    """Whether later mounts and unmounts on the host appear in the container (rslave propagation)."""


class ConfigDocument(NamedTuple):
    """A generated configuration file of a container: JSON or one of HAProxy if its name ends so, else YAML."""

    file: str
    """Path on the host, without the leading slash."""
    content: Mapping[str, Any]


class Published(NamedTuple):
    """A container port that is published on the host."""

    address: str
    port: int
    container_port: int


class Secret(NamedTuple):
    """Name of a secret and the file that contains it, as seen by the container or program."""

    name: str
    target: str


class Export(NamedTuple):
    """An environment variable whose value is read from secrets in the container.

    The value therefore appears neither in `docker inspect` nor in an argument list. If a secret is missing, the server
    does not start.
    """

    variable: str
    secrets: tuple[str | None, ...]
    """Secrets whose values are joined with semicolons; None stands for a server that requires no key."""


class FetchedFile(NamedTuple):
    """A file that is downloaded to the host, verified and mounted."""

    url: str
    sha256: str | None
    target: str
    commit: str | None = None
    """Commit of the model hub repository that contains it."""
    size_bytes: int | None = None
    needs_token: bool = False

    @property
    def path(self) -> str:
        """Return its path on the host, which contains the hash of its content, so that versions do not collide."""
        return f"{FILES}/{self.sha256 or UNLOCKED}/{self.target.rpartition('/')[2]}"

    @property
    def on_hub(self) -> tuple[str, str] | None:
        """Return the repository on the model hub and the path in it, if it is downloaded from there."""
        return hub_file(self.url)


class SupersededEntry(NamedTuple):
    """A catalog entry in use that is superseded by another one."""

    path: Path
    """Path in the inventory that names it."""
    entry: str
    why: str
    instead: str | None


class Health(NamedTuple):
    """Docker health check of a container."""

    command: tuple[str, ...]
    interval_s: int
    timeout_s: int


class ModelRepository(NamedTuple):
    """One repository on the model hub at its pinned commit, with the files that hosts download."""

    model: str
    commit: str
    gated: bool
    private: bool
    files: Mapping[str, tuple[int, str]]
    """Path → size in bytes and sha256."""
    own: OwnFolder | None = None
    """Where its files lie if it is a model of the user's."""

    @property
    def slug(self) -> str:
        """Return its handle in a form that is usable as a file name."""
        return self.model.replace("/", "--")

    @property
    def manifest(self) -> str:
        """Return the path of the list of its files, in the generated tree and below /etc/sparkiac on a host."""
        return f"models/{self.slug}.json"

    @property
    def size_bytes(self) -> int:
        """Return the size of the download in bytes."""
        return sum(size for size, _ in self.files.values())


class StoredModel(NamedTuple):
    """One repository in a model store."""

    repository: ModelRepository
    layout: str
    """`hub`: the layout of the Hugging Face cache; `directory`: plain files in organisation/name."""


class ModelStore(NamedTuple):
    """A directory on a host for weights, and the models that it must contain."""

    path: str
    models: tuple[StoredModel, ...]


class Peer(NamedTuple):
    """A host from which another host copies images or weights, and its address."""

    host: str
    address: str


class PortClients(NamedTuple):
    """Who may connect to the port of a unit, besides its own host."""

    listed: tuple[str, ...]
    """Networks and addresses in the inventory."""
    hosts: Mapping[str, tuple[str, ...]]
    """Other hosts that use or watch the server → their addresses."""
    units: tuple[str, ...]
    """Containers of its own host that use it at the address of the host, by name."""


class Proof(NamedTuple):
    """The memory calculation of one server, with the estimated speeds."""

    server: ServerMemory
    options: ServerOptions | Unknown
    shape: Shape | Unknown
    cache: Cache | Unknown
    fit: Fit | Unknown
    workload: Workload | None
    """Load that it must handle, from the inventory."""
    advice: Advice | Unknown
    """Smallest KV cache for the workload, or without a workload for one request of the longest length."""
    steps: tuple[UtilizationStep, ...]
    """KV cache at other utilizations."""
    decode: tuple[tuple[int, Range], ...] | Unknown = Unknown(())
    """Pairs of tokens in the context and decode rate of one request, in tokens per second."""
    prefill: Prefill | Unknown = Unknown(())
    """Prefill rate, in tokens per second."""
    assumption: str | None = None
    """Assumption behind the figures, such as a vLLM version; with one, they are only an estimate."""
    config: Mapping[str, object] = {}
    """config.json of the model, if the lock has it."""
    remote_code: bool = False
    """Whether the lock says that the model's repository has Python code of its own."""
    busy: float | None = None
    """Lowest expected decode speed at a short context while all servers of the host decode; None for one server."""
    processes: tuple[int, int] = (0, 0)
    """Smallest and largest memory of the server's processes on the host, if its engine is vLLM; part of the reserve."""
    subject: StartSubject | None = None
    """The values that a recorded start must have to be used for this server."""
    record: str | None = None
    """Recorded start that the figures are based on."""
    unused: tuple[str, ...] = ()
    """Why the user's recorded starts for this model are not used."""
    compared: bool = True
    """Whether predictions for this model family were compared with a real server, or the family is unknown."""


class Dependency(NamedTuple):
    """A deployment or service of the fleet, or a URL in the inventory, that a service sends requests to."""

    path: Path
    """Path in the inventory that names it."""
    name: str
    """Name of the deployment or service, or the URL."""
    target: Path | None
    """Path of its definition in the inventory; None for a URL."""
    host: str | None
    """Host that it runs on."""
    listen: tuple[str, int] | None
    """Address and port that it listens on, on that host."""
    url: str | None
    """Base URL; None if it cannot be reached."""
    obstacle: str | None = None
    """Why it cannot be reached: it listens on `loopback`, or on a `fabric` that the other host does not have."""
    api: str = "openai"
    """API that is used: `openai` (the URL ends in /v1) or `ollama`."""
    secret: str | None = None
    """Name of the secret with its API key."""
    model: str | None = None
    """Served name of the model that is used."""
    network: bool = False
    """Whether both run in containers on one host, which then share a Docker network."""
    gateway: bool = False
    """Whether the URL is that of the host itself, as containers see it."""

    @property
    def hostname(self) -> str | None:
        """Return the host name in the URL, or the address."""
        place = self.url.split("/")[2].lower() if self.url else ""
        return (place[1:].partition("]") if place.startswith("[") else place.partition(":"))[0] or None

    @property
    def unit(self) -> str | None:
        """Return the name of the systemd unit that runs it, without suffix."""
        return None if self.target is None else f"sparkiac-{self.name}"


def server_port(values: ResolvedDeployment) -> int:
    """Return the port that the server listens on in its container."""
    port = values.set[engines.named(values.engine).port]
    assert isinstance(port, int), "resolve has checked the type"  # noqa: S101
    return port


def mounts(wanted: Mapping[str, Mounted], *, store: str | None) -> list[BindMount]:
    """Return the mounts of a container; `store` is the model store of the host, required if a mount uses it."""
    return [BindMount(_source(mount, store), target, mount.read_only) for target, mount in wanted.items()]


def _source(mount: Mounted, store: str | None) -> str:
    if mount.source != "model_store":
        return mount.source
    assert store is not None, "resolve has checked that the model store is set"  # noqa: S101
    return store


def files(wanted: Mapping[str, ResolvedFile], pins: Mapping[str, LockedFile]) -> tuple[FetchedFile, ...]:
    """Return the extra files of a container with their pins, sorted by their path in the container."""
    return tuple(_file(file.url, target, pins.get(file.url)) for target, file in sorted(wanted.items()))


def _file(url: str, target: str, pinned: LockedFile | None) -> FetchedFile:
    if pinned is None:
        return FetchedFile(url, None, target)
    return FetchedFile(url, pinned.sha256, target, pinned.commit, pinned.size_bytes, pinned.needs_token)


def memory_source(leaves: Leaves, path: Path) -> str:
    """Return the source of a service's memory figure; `path` is that of the service in the inventory."""
    leaf = leaves.get((*path, "memory_gib"))
    return INVENTORY if leaf is None or leaf[1].layer == "inventory" else "the catalog"
