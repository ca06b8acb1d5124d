"""The user's file: hosts, deployments, services, defaults."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sparkiac.model.base import (
    AbsolutePath,
    Address,
    Gib,
    GitRef,
    HostName,
    InterfaceAddress,
    InterfaceName,
    Model,
    ModelHandle,
    Name,
    Port,
    RecipeName,
    RegistryName,
    SecretRef,
    ShortText,
    SysctlKey,
    SysctlValue,
    UnitName,
    Url,
    UserName,
    Version,
    Waiver,
    Word,
)
from sparkiac.model.build import Build
from sparkiac.model.catalog import EngineName  # noqa: TC001  pydantic reads the annotation
from sparkiac.model.platform import Platform
from sparkiac.model.services import Service
from sparkiac.model.settings import Serving, Settings


class HostMemory(Model):
    """Memory facts of one machine."""

    total_gib: Gib | None = None
    """MemTotal as measured on this machine: 119 and 121 GiB both occur."""
    reserve_gib: Gib | None = None
    """What is kept for the system and the page cache; a tenth of the memory unless said otherwise."""


class FabricLink(Model):
    """One high-speed link between machines."""

    interface: InterfaceName
    """Network interface on this host."""
    address: InterfaceAddress
    """Address with prefix length, such as 192.168.177.11/24."""
    hca: Word | None = None
    """RDMA device behind the interface, such as rocep1s0f1."""


class Fabric(Model):
    """The direct links of one host."""

    links: Annotated[tuple[FabricLink, ...], Field(min_length=1)]
    """The first link carries the traffic of distributed deployments."""


class Ssh(Model):
    """How Ansible reaches a host."""

    user: UserName | None = None
    """Login name; needs sudo."""
    port: Port | None = None
    """Port of sshd, if not 22."""


class Host(Model):
    """One machine."""

    address: Address
    """Address that Ansible and clients use."""
    platform: Name | None = None
    """Hardware profile; `dgx-spark` unless said otherwise."""
    memory: HostMemory | None = None
    """Measured memory."""
    driver: Version | None = None
    """Driver series or version that this host must run: '580' or '580.142'."""
    fabric: Fabric | None = None
    """High-speed links."""
    ssh: Ssh | None = None
    """SSH settings of this host."""
    sysctl: dict[SysctlKey, int | SysctlValue] | None = None
    """Kernel settings of this host, on top of the platform's."""
    model_store: AbsolutePath | None = None
    """Where this host keeps weights, if not where the defaults say."""
    images_from: HostName | None = None
    """Host that gives this one its images over the network, so that no registry is asked; they run by their IDs."""
    allow: tuple[Waiver, ...] = ()
    """Waived rules."""


class Defaults(Settings):
    """Values for all deployments and hosts."""

    user: UserName | None = None
    """Login name for Ansible on every host."""
    sysctl: dict[SysctlKey, int | SysctlValue] | None = None
    """Kernel settings of every host, on top of the platform's."""


class Workload(Model):
    """What a deployment is for: the plan proves that it fits, and names the least memory for it."""

    users: Annotated[int, Field(ge=1, le=100_000)]
    """Requests at once."""
    context: Annotated[int, Field(ge=1, le=100_000_000)]
    """Tokens of each, prompt and answer."""


class Measured(Model):
    """What a start has measured, as `sparkiac memory --from-log` prints it: the next plan is exact then."""

    weights_bytes: Annotated[int, Field(ge=0)] | None = None
    """What the loaded weights take on each host, without the drafter."""
    overhead_bytes: Annotated[int, Field(ge=0)] | None = None
    """What the server takes beside weights and KV cache."""
    graphs_bytes: Annotated[int, Field(ge=0)] | None = None
    """What CUDA graphs take."""
    pool_bytes: Annotated[int, Field(ge=0)] | None = None
    """Size of its KV cache, for models whose cache is not worked out."""
    tokens: Annotated[int, Field(ge=0)] | None = None
    """Tokens that this KV cache holds."""
    context: Annotated[int, Field(ge=0)] | None = None
    """Longest request that it was measured with."""


class Deployment(Serving):
    """A model served on one host, or on several as one distributed group."""

    recipe: RecipeName | None = None
    """Catalog entry that this deployment starts from; without one, `engine`, `image` and `model` are its own."""
    engine: EngineName | None = None
    """Serving engine of a deployment that starts from no recipe."""
    on: HostName | Annotated[tuple[HostName, ...], Field(min_length=1)]
    """One host, or the hosts of one distributed group, the first one leading."""
    variant: Name | None = None
    """Variant of the recipe, which edits the whole of it."""
    fragments: tuple[Name, ...] = ()
    """Fragments of the catalog, laid over the recipe in this order."""
    description: ShortText | None = None
    """Shown in the unit and in the plan."""
    workload: Workload | None = None
    """What it is for."""
    measured: Measured | None = None
    """What a start of it has measured."""
    clients: tuple[Literal["tools"], ...] = ()
    """What its clients need: `tools` for agents and whatever else sends tools with a request."""
    per_host: dict[HostName, Settings] | None = None
    """Settings of single hosts of a group."""
    allow: tuple[Waiver, ...] = ()
    """Waived rules."""


class Registries(Model):
    """Where images come from."""

    mirrors: dict[RegistryName, RegistryName] = {}
    """Registry or repository prefix → the one to pull from instead. The digest stays the same."""


class Hub(Model):
    """Where hosts download models from."""

    url: Url = "https://huggingface.co"
    """The model hub, or a mirror of it."""
    api_key: SecretRef | None = None
    """Token for repositories that are gated or private."""


class Inventory(Model):
    """One reviewed file that describes a fleet and what it serves."""

    name: Name
    """Name of the fleet; the output goes to generated/<name>."""
    platforms: dict[Name, Platform] = {}
    """Hardware profiles beside those of the catalog."""
    registries: Registries = Field(default_factory=Registries)
    """Mirrors."""
    hub: Hub = Field(default_factory=Hub)
    """The model hub."""
    defaults: Defaults = Field(default_factory=Defaults)
    """Values for all deployments and hosts."""
    hosts: Annotated[dict[HostName, Host], Field(min_length=1)]
    """The machines."""
    deployments: dict[UnitName, Deployment] = {}
    """What they serve."""
    services: dict[UnitName, Service] = {}
    """Everything else that runs on them."""
    builds: dict[Name, Build] = {}
    """Name of an image → how it is built from source; laid over the catalog's build of that name."""
    revisions: dict[ModelHandle, GitRef] = {}
    """Repository of the model hub → branch, tag or commit that `sparkiac lock` pins; `main` unless said otherwise."""
    allow: tuple[Waiver, ...] = ()
    """Rules waived for the whole fleet."""
