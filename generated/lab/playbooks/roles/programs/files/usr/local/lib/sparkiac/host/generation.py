"""What a generation is, for both sides: its files and its name, and what etc/sparkiac/generation.json says.

sparkiac fills these records and writes every field; the programs refuse unknown and missing ones.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

PASSED = "SPARKIAC_PASSED"
"""Variable in a container whose version has passed its gate on this host before."""
ALERT = "sparkiac-alert:"
"""Marks a wrong answer in the log and in the status of the unit."""
WRONG_TWICE = ", 2 times in a row"
"""Ends the alert of a ready server whose port is closed."""
SICK = "/var/lib/sparkiac/watch/sick.json"
"""What is wrong with the machine, as the watch of the host found it."""
LATELY_S = 300
"""What it found counts for so long."""
CLOCK_CAP, TARGET, EARLYOOM = "GPU clock cap", "default target", "arguments of earlyoom"
"""Keys of settings that are not those of the kernel. The cap is in MHz."""
PARAMETER = "kernel parameter"
"""Key of a parameter of the kernel's command line, which no switch sets."""


class PlacedFile(NamedTuple):
    """A generated file of the host."""

    path: str
    mode: str
    """In octal digits."""
    sha256: str


def generation_id(files: Iterable[PlacedFile]) -> str:
    """Return the name of a generation with these files: a hash of them and their modes."""
    text = "".join(f"{mode} {sha256} {path}\n" for path, mode, sha256 in sorted(files))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def mac_address(unit: str) -> str:
    """Return the MAC address of the container of a unit in its Docker network, by which its port is closed there.

    Docker would choose another one at each start, after the port was closed.
    """
    return ":".join(["02", *re.findall("..", hashlib.sha256(unit.encode()).hexdigest()[:10])])


class Sysctl(NamedTuple):
    """A kernel setting, or one of the host (`settings.py`)."""

    key: str
    value: str


class OwnFolder(NamedTuple):
    """Where the files of a model lie that no hub has."""

    host: str
    path: str | None
    """Folder on this host; None on the others, which copy from it."""


class StoreEntry(NamedTuple):
    """A model that the playbooks download into a model store."""

    model: str
    commit: str
    layout: str
    """`hub` or `directory`."""
    manifest: str
    """Path of the manifest that lists its files."""
    own: OwnFolder | None
    """None for a model of the hub."""


class StagedStore(NamedTuple):
    """A model store and the models that are downloaded into it: the argument --stores of `stage`."""

    path: str
    models: tuple[StoreEntry, ...]


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


class Promise(NamedTuple):
    """What clients can expect of a unit's API. The probe checks it step by step."""

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
    """Kinds of clients that it must serve: `tools`, `messages`, `responses`. All of them send tool definitions."""
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


class Clients(NamedTuple):
    """Who may connect to the port of a unit, besides its own host."""

    networks: tuple[str, ...]
    """Networks and addresses."""
    units: tuple[str, ...]
    """Units of the same host whose containers reach the port at the address of the host."""


class GenerationPlan(NamedTuple):
    """Everything about a generation that is not in its files: etc/sparkiac/generation.json, read by `switch`."""

    host: str
    memory_bytes: int | None
    """Memory that all units together may use."""
    turns: tuple[str, ...]
    """Turns of the host; the first one is current after the first apply. Empty if none of its units takes turns."""
    units: tuple[GenerationUnit, ...]
    """Units in start order."""
    sysctls: tuple[Sysctl, ...]
    packages: Mapping[str, str]
    """Pinned package → its version."""
    parameters: tuple[str, ...]
    """Declared kernel parameters, which `kernel` tries."""
    group: ChangeGroup | None
    """Hosts that change together with this one; None if it changes alone."""
    nft_optional: bool
    """Whether units start even if their ports cannot be closed until they have passed."""
    clients: Mapping[str, Clients]
    """Unit → who may connect to it; everybody who reaches its port if it is not there."""
    egress: Mapping[str, tuple[str, ...]]
    """Unit → networks and addresses that its container may connect to; everything if it is not there."""
    needs: Needs


class GroupNode(NamedTuple):
    """A node of a group: etc/sparkiac/NAME/group.json, read by `group`, which connects the workers to the leader."""

    host: str
    """Name of the host, as are those below."""
    leader: str
    address: str
    """Address at which the leader listens, and its port."""
    port: int
    workers: tuple[str, ...]
    version: str
    """Hash of what all nodes of the group run; a group starts only if it is the same on all of them."""
    files: dict[str, str]
    """Path below the root → hash of what counts in a file from which this node starts (`switch/effective.py`)."""


class FoundSickness(NamedTuple):
    """Something that is wrong with the machine."""

    kind: str
    unit: str | None
    """Unit that it is about; None for the machine."""
    text: str
    remedy: str


class SickRecord(NamedTuple):
    """What the watch of a host found last: SICK, read by `status` and `host_metrics`."""

    at_s: float
    sick: tuple[FoundSickness, ...]


class MeasuredUnit(NamedTuple):
    """A unit of a host whose state is a metric."""

    unit: str
    deployment: str | None
    """Name of the deployment; None for a service."""


class HostMetrics(NamedTuple):
    """What `host_metrics` measures on a host: etc/sparkiac/metrics.json."""

    units: tuple[MeasuredUnit, ...]
