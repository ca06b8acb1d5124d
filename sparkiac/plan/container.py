"""What a container is put together from. Sizes are bytes, times are seconds, commands are tuples of words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sparkiac.plan.image import AddedNames

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.model.facts import ModelFacts
    from sparkiac.model.inventory import Measured, Workload
    from sparkiac.plan.parts import BindMount, Export, FetchedFile, Health, Published, SupersededEntry


class ContainerCommand(NamedTuple):
    """What the container runs."""

    words: tuple[str, ...]
    """Words after the image's entrypoint; empty where the image's own command serves."""
    env: Mapping[str, str]
    """Environment variables, sorted by name."""
    exports: tuple[Export, ...] = ()
    """Variables that are read from secrets inside the container."""
    pre_start: tuple[tuple[str, ...], ...] = ()
    """Commands that run before the server."""

    @property
    def needs_shell(self) -> bool:
        """Whether a shell prepares the start, which then must name the image's entrypoint."""
        return bool(self.pre_start or self.exports)


class ContainerNetwork(NamedTuple):
    """How the container is reached, and what it reaches."""

    listen: tuple[str, int] | None = None
    """Address and port on the host; None where it answers nobody."""
    published: Published | None = None
    """The port that Docker publishes; None on the host's own network."""
    host: bool = False
    """Whether it runs on the host's own network."""
    shared: str | None = None
    """Docker network of the host that it shares with others, under its own name."""
    extra_hosts: tuple[str, ...] = ()
    """Entries of its /etc/hosts, as name:address."""


class Confinement(NamedTuple):
    """What the container may use of its host."""

    read_only: bool
    """Whether the image's own file system is read-only."""
    gpu: bool
    ipc: str = "private"
    """`host` or `private`."""
    shm_size_bytes: int | None = None
    tmp_size_bytes: int = 1 << 28
    ulimits: Mapping[str, int] = {}
    """Limit → value; -1 is unlimited."""
    devices: tuple[str, ...] = ()


class Storage(NamedTuple):
    """Files of the host that the container sees."""

    mounts: tuple[BindMount, ...] = ()
    files: tuple[FetchedFile, ...] = ()
    data: str | None = None
    """Directory on the host that keeps what the container must not lose."""
    cache_key: str | None = None
    """Directory name of the compile cache: changes with image, command and environment."""


class RequiredWeights(NamedTuple):
    """What the model store of the host must hold."""

    store: str | None = None
    """Directory on the host."""
    models: tuple[str, ...] = ()
    """Repositories, in the layout of the hub's cache."""
    directories: tuple[str, ...] = ()
    """Repositories, as plain directories."""
    commits: Mapping[str, str] = {}
    """Those of them that the lock pins → the commit."""


class ModelServer(NamedTuple):
    """What a deployment serves, and how."""

    engine: str | None = None
    """The serving engine."""
    options: Mapping[str, Any] = {}
    """The engine's options, as the inventory spells them."""
    model: str | None = None
    """Handle of the model."""
    served: tuple[str, ...] = ()
    """Names that clients use; empty where it answers nobody."""
    facts: ModelFacts | None = None
    """The catalog's facts about that model; None if the recipe serves another one."""
    speculative: Mapping[str, Any] | None = None
    """Speculative decoding, in the words of the inventory."""
    node: tuple[int, int] | None = None
    """Rank and size of the distributed group; None for a single host."""
    clients: tuple[str, ...] = ()
    """What clients need of it: `tools`."""
    extra: AddedNames = AddedNames()
    """Options and variables of a fork or a patch, which the inventory gives a reason for."""
    workload: Workload | None = None
    """What the inventory says that it is for."""
    measured: Measured | None = None
    """What a start has measured of it."""
    recipe: str | None = None
    """Catalog entry: vendor/name, or vendor/name#variant."""
    superseded: tuple[SupersededEntry, ...] = ()
    """Catalog entries in use that their sources took back."""
    pulls: tuple[str, ...] = ()
    """Models that are pulled into an Ollama server once it runs."""


class Checks(NamedTuple):
    """How the container is asked whether it is well."""

    health: Health | None = None
    """The health check of the container."""
    path: str | None = None
    """HTTP path that answers 200."""
