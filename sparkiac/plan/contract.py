"""What the programs on a host read: the one definition of each file. Rendering writes every field, also an empty one.

The programs refuse keys that they do not know and keys that are missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class ExpectedGpu(NamedTuple):
    """The GPU as nvidia-smi names it."""

    name: str
    compute_capability: str


class DoubtedDriver(NamedTuple):
    """A driver series that sources disagree on."""

    series: str
    why: str


class ImageDriver(NamedTuple):
    """The driver that the image of a unit was built for."""

    unit: str
    min_driver: str
    forward_compat: str | None
    """Older series that runs it by CUDA forward compatibility."""


class Versions(NamedTuple):
    """Lowest versions of what the host must bring; None is not checked."""

    docker: str | None
    compose: str | None
    container_toolkit: str | None
    systemd: str | None


class DockerAccess(NamedTuple):
    """Who starts the containers."""

    user: str
    group: str


class Disk(NamedTuple):
    """Free space that a directory must have."""

    path: str
    free_bytes: int


class FreePort(NamedTuple):
    """A port that must be free for a unit."""

    address: str
    port: int
    unit: str


class ExpectedSecret(NamedTuple):
    """A secret that must be on the host, for root alone."""

    name: str
    mode: str


class RegistryLogin(NamedTuple):
    """A registry that may want a login before it gives an image."""

    registry: str
    image: str


class StoreExpectation(NamedTuple):
    """What a model store must hold before anything starts."""

    path: str
    models: tuple[str, ...]
    """Entries: models--org--name[@commit] of the hub's cache, or org/name of a plain directory."""
    gated: tuple[str, ...]
    """Those of them whose licence must be accepted first."""
    not_before: Mapping[str, str]
    """Entry → the first day on which a good copy could be fetched."""
    compared: Mapping[str, tuple[str, ...]]
    """Entry → the groups whose nodes must have the same revision."""


class UnitExpectation(NamedTuple):
    """What is looked for just before one unit starts."""

    image: str
    memory_bytes: int | None
    secrets: tuple[str, ...]
    cache: str | None
    """Directory of its compiled code, which is made if it is missing."""
    files: tuple[str, ...]


class Expectations(NamedTuple):
    """What a host must be: etc/sparkiac/preflight.json. None and empty are not checked."""

    host: str
    architecture: str
    gpu: ExpectedGpu | None
    driver: str | None
    """A version or a series."""
    doubted_drivers: tuple[DoubtedDriver, ...]
    image_drivers: tuple[ImageDriver, ...]
    kernel_parameters: Mapping[str, str]
    versions: Versions
    docker_access: DockerAccess | None
    memory_bytes: int | None
    idle_memory_bytes: int | None
    load_tuning: Mapping[str, str]
    disk: tuple[Disk, ...]
    ports: tuple[FreePort, ...]
    secrets: tuple[ExpectedSecret, ...]
    logins: tuple[RegistryLogin, ...]
    store: tuple[StoreExpectation, ...]
    units: Mapping[str, UnitExpectation]


class RestartedUnit(NamedTuple):
    """A unit and what it runs from."""

    name: str
    files: tuple[str, ...]
    """Generated files: another content of one of them needs a restart."""
    secrets: tuple[str, ...]
    memory_bytes: int | None
    listen: str | None
    """address:port"""


class Restarts(NamedTuple):
    """What the host compares and restarts by: etc/sparkiac/units.json."""

    memory_bytes: int | None
    """Memory that all units may take together."""
    units: tuple[RestartedUnit, ...]
    """In the order in which they start."""


class HostOwned(NamedTuple):
    """What sparkiac put on the host, so that the next apply removes what is gone: etc/sparkiac/owned.json."""

    files: tuple[str, ...]
    units: tuple[str, ...]


class PlacedFile(NamedTuple):
    """A generated file of the host."""

    path: str
    mode: str
    """In octal digits."""


class Sysctl(NamedTuple):
    """A kernel setting."""

    key: str
    value: str


class StagedModel(NamedTuple):
    """A model that is staged into a store."""

    model: str
    commit: str
    layout: str
    """`hub` or `directory`."""
    manifest: str
    """Path of the list of its files."""


class StagedStore(NamedTuple):
    """A model store and all that is staged into it: the argument --stores."""

    path: str
    models: tuple[StagedModel, ...]


class ManifestFile(NamedTuple):
    """One file of a model."""

    sha256: str
    size_bytes: int


class ModelManifest(NamedTuple):
    """The files of one commit of a model: models/<name>.json."""

    model: str
    commit: str
    gated: bool
    files: Mapping[str, ManifestFile]
