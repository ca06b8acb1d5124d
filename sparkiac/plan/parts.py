"""The small values that a plan is put together from. Sizes are bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.memory.values import GIB, Unknown
from sparkiac.model.references import hub_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.memory.blocks import Cache
    from sparkiac.memory.budget import Server
    from sparkiac.memory.fit import Advice, Fit, Step
    from sparkiac.memory.layers import Shape
    from sparkiac.memory.options import ServerOptions
    from sparkiac.memory.speed import Range
    from sparkiac.model.facts import Prefill
    from sparkiac.model.inventory import Workload
    from sparkiac.report import Path

FILES: Final = "/var/lib/sparkiac/files"
"""Directory on the host that keeps fetched files."""
UNLOCKED: Final = "UNLOCKED"
"""What stands in the place of a digest or hash that the lock lacks."""


def stated_bytes(size_gib: float | None) -> int | None:
    """Give the bytes of a size that is stated in GiB, if one is."""
    return None if size_gib is None else int(size_gib * GIB)


class BindMount(NamedTuple):
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


class FetchedFile(NamedTuple):
    """A file that is fetched to the host, checked, and mounted."""

    url: str
    sha256: str | None
    target: str
    commit: str | None = None
    """Commit of the hub's repository that holds it."""

    @property
    def path(self) -> str:
        """Where it lies on the host: named after its content, so that a new one never meets an old name."""
        return f"{FILES}/{self.sha256 or UNLOCKED}/{self.target.rpartition('/')[2]}"

    @property
    def on_hub(self) -> tuple[str, str] | None:
        """Repository of the model hub, and path in it, if it is fetched from there."""
        return hub_file(self.url)


class SupersededEntry(NamedTuple):
    """A catalog entry in use that its source took back."""

    path: Path
    """Where the inventory names it."""
    entry: str
    why: str
    instead: str | None


class UnitTimeouts(NamedTuple):
    """Timeouts of a unit, in seconds."""

    ready_s: int
    """From start to the first answer."""
    stop_s: int
    restart_delay_s: int
    """Before the first restart; later ones wait longer."""


class Health(NamedTuple):
    """How the container is asked whether it is well."""

    command: tuple[str, ...]
    interval_s: int
    timeout_s: int


class ModelRepository(NamedTuple):
    """One repository of the model hub at the commit that the lock pins, with all that a host downloads of it."""

    model: str
    commit: str
    gated: bool
    files: Mapping[str, tuple[int, str]]
    """Path → size in bytes and sha256."""

    @property
    def slug(self) -> str:
        """Its handle as the name of a file."""
        return self.model.replace("/", "--")

    @property
    def size_bytes(self) -> int:
        """What a host downloads."""
        return sum(size for size, _ in self.files.values())


class StoredModel(NamedTuple):
    """One repository in a model store."""

    repository: ModelRepository
    layout: str
    """`hub` as the hub's own cache, or `directory` as plain files below organisation/name."""


class ModelStore(NamedTuple):
    """A directory of a host that holds weights, and what it must hold."""

    path: str
    models: tuple[StoredModel, ...]


class Peer(NamedTuple):
    """A host that gives others what it has itself."""

    host: str
    address: str


NO_RATE: Final = Unknown(("published prefill rate",))


class Proof(NamedTuple):
    """The memory of one server."""

    server: Server
    options: ServerOptions | Unknown
    shape: Shape | Unknown
    cache: Cache | Unknown
    fit: Fit | Unknown
    workload: Workload | None
    """What the inventory says that it is for."""
    advice: Advice | Unknown
    """The smallest pool for that, or for one request of the whole context."""
    steps: tuple[Step, ...]
    """What other utilizations buy."""
    decode: tuple[tuple[int, Range], ...] | Unknown = Unknown(())
    """Tokens of context → tokens a second of one request."""
    prefill: Prefill | Unknown = Unknown(())
    """Tokens of a prompt a second."""
    assumption: str | None = None
    """What the figures rest on that nobody knows: they are an estimate then, and no proof."""
    config: Mapping[str, object] = {}
    """The model's config.json, as far as the lock has it."""
