"""The format of each file that programs on a host read. Rendering writes every field, including empty ones.

The programs reject files with unknown or missing keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


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
    """Lowest versions of the software on the host; None is not checked."""

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


class UnitExpectation(NamedTuple):
    """What preflight checks just before a unit starts."""

    image: str
    memory_bytes: int | None
    secrets: tuple[str, ...]
    cache: str | None
    """Directory of its compile cache, which preflight creates if it is missing."""
    files: tuple[str, ...]


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
    disk: tuple[Disk, ...]
    ports: tuple[FreePort, ...]
    secrets: tuple[ExpectedSecret, ...]
    logins: tuple[RegistryLogin, ...]
    store: tuple[StoreExpectation, ...]
    units: Mapping[str, UnitExpectation]


class RestartedUnit(NamedTuple):
    """A unit and the inputs whose change requires a restart."""

    name: str
    files: tuple[str, ...]
    """Generated files; a changed file requires a restart."""
    secrets: tuple[str, ...]
    memory_bytes: int | None
    listen: str | None
    """address:port"""


class Restarts(NamedTuple):
    """Units of a host in start order, etc/sparkiac/units.json; `units` uses it to decide what to restart."""

    memory_bytes: int | None
    """Memory that all units together may use."""
    units: tuple[RestartedUnit, ...]
    """Units in start order."""


class HostOwned(NamedTuple):
    """Files and units that sparkiac put on the host, etc/sparkiac/owned.json; the next apply removes stale ones."""

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
    """A model that the playbooks download into a model store."""

    model: str
    commit: str
    layout: str
    """`hub` or `directory`."""
    manifest: str
    """Path of the manifest that lists its files."""


class StagedStore(NamedTuple):
    """A model store and the models that are downloaded into it: the argument --stores of `stage`."""

    path: str
    models: tuple[StagedModel, ...]


class ManifestFile(NamedTuple):
    """One file of a model."""

    sha256: str
    size_bytes: int


class ModelManifest(NamedTuple):
    """The files of one commit of a model, models/<name>.json."""

    model: str
    commit: str
    gated: bool
    files: Mapping[str, ManifestFile]
