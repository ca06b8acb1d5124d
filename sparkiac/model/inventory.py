"""The inventory: hosts, deployments, services and defaults."""

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
    Line,
    Model,
    ModelAlias,
    ModelHandle,
    Name,
    Network,
    Pause,
    Port,
    RecipeName,
    RegistryName,
    SecretRef,
    ShortText,
    Ssh,
    SysctlKey,
    SysctlValue,
    TimeOfDay,
    UnitName,
    Url,
    UserName,
    Version,
    Waiver,
    Word,
)
from sparkiac.model.catalog import OwnerSettings, Platform, PortHalf
from sparkiac.model.images import Build
from sparkiac.model.lock import RecipeSource
from sparkiac.model.monitoring import Monitoring
from sparkiac.model.references import HUB
from sparkiac.model.services import ModelRoute, Service
from sparkiac.model.settings import Serving, Settings


class HostMemory(Model):
    """Memory of one host."""

    total_gib: Gib | None = None
    """MemTotal of this host, in GiB, as measured: hosts of one kind differ, such as 119 and 121."""
    reserve_gib: Gib | None = None
    """GiB that stay free for the system and the page cache; default a tenth of the memory."""


class Twin(PortHalf):
    """The second PCIe device of a port: each port of a DGX Spark has two, with one interface each."""

    address: InterfaceAddress | None = None
    """Address with prefix length, in another network than the first PCIe device; RDMA needs none."""


class FabricLink(Model):
    """One high-speed link between hosts."""

    interface: InterfaceName
    """Network interface on this host."""
    address: InterfaceAddress
    """Address with prefix length, such as 192.168.177.11/24."""
    hca: Word | None = None
    """RDMA device behind the interface, such as rocep1s0f1."""
    twin: Twin | None = None
    """Second PCIe device of the port; NCCL reaches the full speed of the cable only with both RDMA devices."""
    mtu: Annotated[int, Field(ge=1280, le=9978)] | None = None
    """Maximum transmission unit in bytes, the same at both ends, such as 9000; preflight compares the interfaces."""
    speed_gbit: Annotated[float, Field(gt=0, le=1_600)] | None = None
    """Speed of the interface in Gbit/s, such as 200; preflight fails if the interface is slower."""


class Fabric(Model):
    """The direct links of one host to other hosts."""

    links: Annotated[tuple[FabricLink, ...], Field(min_length=1)]
    """Links; `sparkiac fabric discover` finds them if `fabric` is left out. The first one carries group traffic."""
    netplan: bool = False
    """Whether a netplan file with these links is generated; `network.yml` installs it."""


class Host(OwnerSettings):
    """One host."""

    address: Address
    """Address of the host for Ansible and for clients."""
    platform: Name | None = None
    """Hardware profile; default `dgx-spark`."""
    memory: HostMemory | None = None
    """Memory of this host, as measured."""
    driver: Version | None = None
    """NVIDIA driver that this host must run: a series such as '580', or a version such as '580.142'."""
    fabric: Fabric | None = None
    """High-speed links to other hosts."""
    ssh: Ssh | None = None
    """SSH settings for this host."""
    sysctl: dict[SysctlKey, int | SysctlValue] | None = None
    """Kernel settings of this host, in addition to those of the platform."""
    model_store: AbsolutePath | None = None
    """Directory on this host that contains the weights; overrides `defaults.model_store`."""
    images_from: HostName | None = None
    """Host to copy images from, instead of pulling them from a registry; copied images run by their IDs."""
    power: tuple[Line, ...] = ()
    """Words of a command on the controller that takes this host's power away and gives it back, for `sparkiac os`."""
    nft: Literal["required", "optional"] | None = None
    """Whether a unit may start if nftables cannot close its port until its server has passed; default `required`."""
    reachable_from: tuple[Network, ...] | None = None
    """Networks and addresses of the clients that may connect to this host's servers; overrides that of `defaults`."""
    allow: tuple[Waiver, ...] = ()
    """Findings that are accepted, with a reason for each."""


class RetiredHost(Model):
    """A host that has left the fleet: an apply removes what sparkiac put on it."""

    address: Address
    """Address of the host for Ansible."""
    user: UserName | None = None
    """Login name, as under `ssh` of a host; default is that of `defaults`."""
    port: Port | None = None
    """Port of the SSH server; default 22."""


class Defaults(Settings):
    """Values for all deployments and hosts."""

    user: UserName | None = None
    """Login name for Ansible on all hosts."""
    sysctl: dict[SysctlKey, int | SysctlValue] | None = None
    """Kernel settings of all hosts, in addition to those of the platform."""


class Workload(Model):
    """Load that a deployment must handle: the plan checks that it fits and states the memory that it needs."""

    users: Annotated[int, Field(ge=1, le=100_000)]
    """Number of concurrent requests."""
    context: Annotated[int, Field(ge=1, le=100_000_000)]
    """Tokens per request, prompt and answer together."""


class Measured(Model):
    """Values that a server start measured; they replace estimates and recorded starts."""

    weights_bytes: Annotated[int, Field(ge=0)] | None = None
    """Bytes of the loaded weights on each host, without the drafter."""
    overhead_bytes: Annotated[int, Field(ge=0)] | None = None
    """Bytes that the server uses in addition to weights and KV cache."""
    graphs_bytes: Annotated[int, Field(ge=0)] | None = None
    """Bytes of the CUDA graphs."""
    pool_bytes: Annotated[int, Field(ge=0)] | None = None
    """Bytes of the KV cache, for models whose cache sparkiac cannot calculate."""
    tokens: Annotated[int, Field(ge=0)] | None = None
    """Tokens that fit into this KV cache."""
    context: Annotated[int, Field(ge=0)] | None = None
    """max_model_len at which this was measured."""


class Deployment(Serving):
    """A model served on one host, or on several as one distributed group."""

    recipe: RecipeName | None = None
    """Recipe of the catalog that the deployment uses; without one, set `engine`, `image` and `model`."""
    engine: Name | None = None
    """Serving engine of a deployment without a recipe, by the name that the catalog gives it."""
    hosts: HostName | Annotated[tuple[HostName, ...], Field(min_length=1)]
    """One host, or the hosts of one group; the first one is the leader."""
    executor: Literal["mp", "ray"] | None = None
    """How vLLM runs on several hosts: `mp`, its own processes (default), or `ray`."""
    variant: Name | None = None
    """Variant of the recipe."""
    fragments: tuple[Name, ...] = ()
    """Fragments of the catalog, applied to the recipe in this order."""
    description: ShortText | None = None
    """Description in the systemd unit and in the plan."""
    workload: Workload | None = None
    """Load that the deployment must handle."""
    measured: Measured | None = None
    """Values that a server start measured."""
    clients: tuple[Literal["tools", "messages", "responses"], ...] = ()
    """What its clients need: `tools` for agents and other clients that send tool definitions; `messages` for agents
    that use /v1/messages, such as Claude Code; `responses` for those that use /v1/responses, such as Codex."""
    per_host: dict[HostName, Settings] | None = None
    """Settings for single hosts of a group, by host."""
    allow: tuple[Waiver, ...] = ()
    """Findings that are accepted, with a reason for each."""


class OwnModel(Model):
    """A model whose files lie on a host, such as a fine-tune."""

    host: HostName
    """Host that has the files; other hosts that serve the model copy them from it."""
    path: AbsolutePath
    """Folder with config.json, safetensors and tokenizer as a model hub has them, or a GGUF file."""

    def __str__(self) -> str:
        """Return host and path, as the lock records them."""
        return f"{self.host}:{self.path}"

    @property
    def file(self) -> str | None:
        """Return the name of the GGUF file; None for a folder."""
        return self.path.rpartition("/")[2] if self.path.endswith(".gguf") else None

    @property
    def folder(self) -> str:
        """Return the folder with the files."""
        return self.path.rpartition("/")[0] if self.file else self.path


class Registries(Model):
    """Registries that hosts pull images from."""

    mirrors: dict[RegistryName, RegistryName] = {}
    """Mirrors to pull from instead, by registry or repository prefix. The digest stays the same."""


class Hub(Model):
    """Where hosts download models from."""

    url: Url = HUB
    """URL of the model hub or of a mirror."""
    api_key: SecretRef | None = None
    """Token for gated and private repositories."""


class Rollout(Model):
    """How an apply changes the hosts one after the other."""

    batch: Annotated[int, Field(ge=1, le=1_000)] | None = None
    """Number of hosts that change at the same time; default is 1, from 20 hosts on a tenth of them. The hosts
    of a group are always a batch of their own."""
    pause_s: Pause = 0
    """Seconds to wait between two batches."""
    canary: HostName | tuple[HostName, ...] = ()
    """Host or hosts that change before all others, one after the other."""
    on_failure: Literal["stop", "back"] = "stop"
    """What happens to hosts that have changed when a later host fails: `stop` leaves them, `back` returns them too."""


class Turn(Model):
    """One turn: what runs in it, and when it begins."""

    run: Annotated[tuple[UnitName, ...], Field(min_length=1)]
    """Deployments and services that run only in this turn, or in every turn that lists them."""
    at: TimeOfDay | None = None
    """Time of the day at which the hosts switch to it, such as "22:00", in their own time zone."""


class Inventory(Model):
    """Description of a fleet and what it serves."""

    name: Name
    """Name of the fleet; files are generated in generated/<name>."""
    platforms: dict[Name, Platform] = {}
    """Hardware profiles by name, in addition to those of the catalog."""
    registries: Registries = Field(default_factory=Registries.model_construct)
    """Mirrors of registries."""
    hub: Hub = Field(default_factory=Hub.model_construct)
    """Model hub that hosts download from."""
    defaults: Defaults = Field(default_factory=Defaults.model_construct)
    """Values for all deployments and hosts."""
    hosts: Annotated[dict[HostName, Host], Field(min_length=1)]
    """Hosts of the fleet, by name."""
    retired: dict[HostName, RetiredHost] = {}
    """Former hosts by name, which no longer run anything. Remove an entry when its host is clean."""
    deployments: dict[UnitName, Deployment] = {}
    """Deployments by name: models that are served on one or more hosts."""
    services: dict[UnitName, Service] = {}
    """Services by name: all other containers and programs on hosts."""
    routes: dict[ModelAlias, ModelRoute] = {}
    """Model names of the gateway, which is a service of kind `gateway`, and who serves them."""
    turns: dict[Name, Annotated[tuple[UnitName, ...], Field(min_length=1)] | Turn] = {}
    """Turns by name: deployments and services that share hosts but never run together. What no turn lists always
    runs. The first turn is current after the first apply; `sparkiac turn` switches."""
    monitoring: Monitoring = Field(default_factory=Monitoring.model_construct)
    """What watches the fleet, and who gets messages."""
    rollout: Rollout = Field(default_factory=Rollout.model_construct)
    """How an apply changes the hosts one after the other."""
    builds: dict[Name, Build] = {}
    """Builds of images from source, by name; they override the catalog's builds with the same name."""
    revisions: dict[ModelHandle, GitRef] = {}
    """Branch, tag or commit for `sparkiac lock` to pin, by repository on the model hub; default `main`."""
    own_models: dict[ModelHandle, OwnModel] = {}
    """Models whose files lie on a host, by the name that deployments use; `sparkiac lock --own-models` pins them."""
    sources: dict[Name, RecipeSource] = {}
    """Repositories of recipes by name, beside the catalog and the recipes of this repository."""
    allow: tuple[Waiver, ...] = ()
    """Findings that are accepted for the whole fleet, with a reason for each."""
