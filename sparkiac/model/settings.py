"""Settings of a deployment that each layer may set: recipe, variant, defaults, deployment, and one of its hosts.

Speculative decoding has the keys of vLLM's speculative_config (docs.vllm.ai, "Speculative Decoding"); rules compare
them with the release. Each other engine translates those that it has into its own options.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from sparkiac.model.base import (
    AbsolutePath,
    Bind,
    FileSource,
    Gib,
    ImageReference,
    JsonValue,
    Line,
    Model,
    ModelHandle,
    Network,
    OptionKey,
    OptionName,
    OptionValue,
    Pause,
    Port,
    Seconds,
    SecretRef,
    ServedName,
    Shared,
    ShortText,
    SysctlKey,
    SysctlValue,
    VariableName,
    Word,
)
from sparkiac.model.forms import FILE

Drafter = ModelHandle | AbsolutePath
"""A repository on the model hub, or a path in the container."""
Tokens = Annotated[int, Field(ge=1, le=64)]


class Speculative(Shared, extra="allow"):
    """A method of speculative decoding, with the keys of vLLM's speculative_config in the release of the image.

    Examples are draft_sample_method, prompt_lookup_max and enable_adaptive_verification.
    """

    method: Word
    """Method, by vLLM's name: mtp, dflash, dspark, eagle3, draft_model, ngram, suffix, …"""
    model: Drafter | None = None
    """Drafter; omit it if the method needs none or the checkpoint of the target contains it. For `dflash`, the default
    is the catalog's drafter for the target model."""
    num_speculative_tokens: Tokens | None = None
    """Tokens that are proposed in each step."""
    __pydantic_extra__: dict[OptionName, JsonValue]


class Mount(Model):
    """A directory of the host inside the container."""

    source: Literal["model_store"] | AbsolutePath
    """`model_store`, or an absolute path on the host. It must exist: Docker does not create it."""
    read_only: bool = True
    """Whether the container can only read it."""


class ExtraFile(Model):
    """A file that the image does not contain: a patched loader, a parser plugin, a chat template."""

    url: FileSource | None = None
    """URL: https://…, file:///…, or hf://organisation/model/path. The lock pins its SHA-256."""
    why: ShortText | None = None
    """Purpose of the file."""


class Ulimits(Model):
    """Resource limits of the processes in the container; -1 is unlimited."""

    memlock: int | None = Field(default=None, ge=-1)
    """Locked memory in bytes."""
    stack: int | None = Field(default=None, ge=-1)
    """Stack size in bytes."""
    nofile: int | None = Field(default=None, ge=1)
    """Number of open files."""


class ContainerSettings(Shared):
    """Settings of the container."""

    ipc: Literal["host", "private"] | None = None
    """`host` shares /dev/shm with the host, as nodes of a group do; recipes of the catalog on one host do not."""
    shm_size_gib: Gib | None = None
    """Limit in GiB of the container's own /dev/shm, only with `ipc: private`; with recipes of the catalog 16."""
    tmp_size_gib: Gib | None = None
    """GiB of /tmp, which is kept in memory; on unified memory it reduces the memory for the model."""
    ulimits: Ulimits | None = None
    """Resource limits."""
    mounts: Mapping[AbsolutePath, Mount | None] | None = None
    """Mounts, by path in the container."""
    files: Mapping[AbsolutePath, ExtraFile | None] | None = None
    """Files that are downloaded, verified and mounted read-only, by path in the container."""
    prelude: tuple[Annotated[tuple[Line, ...], Field(min_length=1)], ...] | None = None
    """Pre-start commands: they run in the container before the server, in this order, each as a list of words."""
    read_only: bool | None = None
    """Whether the root file system of the container is read-only."""


class Timeouts(Shared):
    """Timeouts of a unit."""

    ready_s: Seconds | None = None
    """Seconds from start to the first answer, including preflight, container start, model load and warm-up."""
    stop_s: Seconds | None = None
    """Seconds that systemd waits for the unit to stop; the container gets 30 s less."""
    restart_delay_s: Seconds | None = None
    """Seconds before the first restart; the delay grows with each restart, up to one minute."""
    drain_s: Pause | None = None
    """Seconds that running requests have to end before an apply stops the unit; default 30, for services 0."""
    answer_s: Seconds | None = None
    """Seconds within which an apply must get the known answer from a model; default 120."""


class LoadMemory(Shared):
    """Changes to the host while a unit loads its model; each is undone when the unit is ready, fails or stops."""

    drop_caches_every_s: Annotated[float, Field(ge=0.1, le=60)] | None = None
    """Seconds between two drops of the page cache while the model loads."""
    drop_caches_for_s: Seconds | None = None
    """Seconds after which the drops end even if the unit is not ready; default `timeouts.ready_s`."""
    read_ahead_kib: Annotated[int, Field(ge=0, le=65_536)] | None = None
    """Read-ahead of the disk that contains the model store, in KiB, while the model loads."""
    read_ahead_for_s: Seconds | None = None
    """Seconds after which the read-ahead is restored even if the unit is not ready; default `timeouts.ready_s`."""
    sysctl: dict[SysctlKey, int | SysctlValue | None] | None = None
    """Kernel settings while the model loads, such as vm.min_free_kbytes; `null` removes one."""


class ExtraFlags(Model):
    """Names that only a fork or patch of vLLM accepts; sparkiac does not check them."""

    why: ShortText
    """Which fork or patch accepts them."""
    options: Annotated[tuple[OptionKey, ...], Field(min_length=1)] | None = None
    """Options in snake_case, and keys of JSON options as OPTION.KEY."""
    variables: Annotated[tuple[VariableName, ...], Field(min_length=1)] | None = None
    """Environment variables."""


class Settings(Model):
    """Values that any layer may set; a later layer overrides single values, and `null` removes a value."""

    image: ImageReference | None = None
    """Image to run; `generate` uses its digest from the lock."""
    set: dict[OptionName, OptionValue] | None = None
    """Engine options in snake_case: `max_model_len: 65536` becomes `--max-model-len=65536`."""
    speculative: Speculative | None = None
    """Speculative decoding; some methods also change defaults of other settings."""
    env: Mapping[VariableName, Line | int | None] | None = None
    """Environment variables of the container. Never a secret: use `api_key`."""
    container: ContainerSettings | None = None
    """Settings of the container."""
    timeouts: Timeouts | None = None
    """Timeouts of the unit."""
    load_memory: LoadMemory | None = None
    """What changes on the host while the model loads, against a lack of memory; by default nothing."""
    bind: Bind | None = None
    """Where the port is published: loopback, lan (the address of the host), fabric, or any."""
    reachable_from: tuple[Network, ...] | None = None
    """Networks and addresses of the clients that may connect to the port; sparkiac adds the hosts of the fleet that use
    or watch the server. Default: everybody who reaches it."""
    egress: tuple[Network, ...] | None = None
    """Networks and addresses that a container on one host may connect to; `['0.0.0.0/0', '::/0']` is everything.
    Default: none, not even for names."""
    model_store: AbsolutePath | None = None
    """Directory on the host that contains the weights."""
    api_key: SecretRef | None = None
    """API key that clients must send."""


class Serving(Settings):
    """Settings that recipes, variants and deployments have in addition: the model, its served names, its port."""

    model: ModelHandle | None = None
    """Model handle on the model hub: organisation/name."""
    model_path: AbsolutePath | None = None
    """Path in the container for a model that is served from the directory <model_store>/<organisation>/<name>."""
    model_file: Annotated[str, Field(pattern=FILE)] | None = None
    """File in that directory, for engines that load a single file."""
    needs_models: tuple[ModelHandle, ...] | None = None
    """Further repositories that must be in the model store, such as a tokenizer."""
    served_names: Annotated[tuple[ServedName, ...], Field(min_length=1)] | None = None
    """Model names that clients send in `model`; default is the handle."""
    port: Port | None = None
    """Port on the host."""
    extra_flags: ExtraFlags | None = None
    """Options and environment variables that only a fork or patch of vLLM accepts, with the reason."""
