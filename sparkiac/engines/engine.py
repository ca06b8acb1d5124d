"""The record of a serving engine: everything that sparkiac knows of one. Each engine is a module in `records`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple

from sparkiac.engines import tables
from sparkiac.engines.tables import Option, OptionTable

CACHE: Final = "/cache"
"""Directory inside the container that keeps compiled kernels between restarts."""
HUB_HOMES: Final = ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_CACHE")
"""Variables that name the directory of the model hub's cache."""
HUB_HOME: Final = "/root/.cache/huggingface"
"""That directory, if no variable names another one."""
STAGED: Final = "weights are staged in the model store, which is mounted read-only"
"""Why no variable and no option names the directory of downloads."""
REPLACED: Final = {"download_dir": STAGED}
"""Option of a server whose whole effect sparkiac provides otherwise → how."""
TRANSLATED: Final = frozenset({"method", "model", "num_speculative_tokens"})
"""Keys of `speculative` that each engine writes in its own form; the others are vLLM's."""
CONTAINER: Final[Mapping[str, Any]] = {
    "container": {"ipc": "private", "tmp_size_gib": 1.0, "read_only": True},
    "timeouts": {"ready_s": 1200, "stop_s": 120, "restart_delay_s": 2, "drain_s": 30, "answer_s": 120},
    "bind": "lan",
}
"""Defaults that most engines share. Load time: Spark guide and vLLM blog give up to 15 minutes."""


class Request(NamedTuple):
    """The model to serve, with its options."""

    model: str
    """Handle, or the path in the container."""
    served: tuple[str, ...]
    """Model names that clients use; empty for the engine's default."""
    options: Mapping[str, Any]
    speculative: Mapping[str, Any] | None
    commits: Mapping[str, str] = {}
    """Repository → pinned commit."""

    def pins(self, **named: str | None) -> dict[str, str]:
        """Return the pinned commit of each of these repositories, by the option that sets it."""
        return {option: self.commits[name] for option, name in named.items() if name and name in self.commits}


class Start(NamedTuple):
    """Arguments and environment of the server."""

    arguments: tuple[str, ...]
    """Arguments after the program."""
    env: Mapping[str, str] = {}
    """Environment variables that set options."""


class Member(NamedTuple):
    """One node of a group. The nodes are numbered from 0; node 0 leads the group and accepts the requests."""

    rank: int
    addresses: tuple[str, ...]
    """Addresses at which the other nodes reach each node."""
    executor: str
    """One of the executors of the engine's groups."""
    options: Mapping[str, Any] = {}
    """Engine options of the deployment."""
    number: int = 0
    """Number of its group. Groups that share a host have different numbers, and thus different ports."""

    @property
    def leads(self) -> bool:
        """Return whether it is the leader."""
        return self.rank == 0

    @property
    def size(self) -> int:
        """Return the number of nodes."""
        return len(self.addresses)


class Part(NamedTuple):
    """What a node of a group gets in addition to the settings of its deployment."""

    options: Mapping[str, Any] = {}
    """Engine options that connect the nodes."""
    before: tuple[tuple[str, ...], ...] = ()
    """Commands that run in the container before the server."""
    program: tuple[str, ...] = ()
    """Command of a worker that does not run the server of the engine."""
    loads: bool = True
    """Whether it reads the weights from the model store of its host."""
    store: str | None = None
    """address:port to which every worker keeps a connection while the group works."""
    ports: tuple[str, ...] = ()
    """Ports that it opens without a password for the other nodes: numbers, or ranges such as 29510-29599."""
    listen: str = "0.0.0.0"  # noqa: S104  compared, not bound
    """Address on which it opens them; 0.0.0.0 is every address."""
    check: str = ""
    """Shell command that succeeds while the node is connected, for images without Python."""


class Groups(NamedTuple):
    """How an engine serves one model on several hosts."""

    executors: tuple[str, ...]
    """Ways to run the nodes; the first one is the default. `catalog/groups.yaml` has the settings of some."""
    part: Callable[[Member], Part]
    """Return what a node gets."""
    split: tuple[str, ...] = ()
    """Options that divide a model among the nodes; their product is the number of nodes."""
    computed: tuple[str, ...] = ()
    """Options that sparkiac derives from the hosts of the group; the inventory must not set them."""
    nccl: bool = True
    """Whether the nodes exchange data through NCCL."""
    pairs: bool = False
    """Whether only the leader connects to the workers, so that each worker needs a link to the leader alone."""


class Metric(NamedTuple):
    """One metric of an engine."""

    name: str
    """Name in /metrics. A histogram adds _bucket, _sum and _count to it."""
    kind: Literal["gauge", "counter", "histogram"] = "gauge"
    first: str | None = None
    """First known release that has it; None if all known releases have it."""
    speculation: bool = False
    """Whether the engine exposes it only with speculative decoding."""
    at_end: bool = False
    """Whether a request counts only when it ends, so that the counter does not change while requests run."""


class Refusal(NamedTuple):
    """A backend that some releases refuse."""

    backend: str
    phases: tuple[str, ...]
    """Phases in which the backend is refused."""
    first: str
    last: str
    wants: str
    kv_cache: str | None = None
    """KV cache dtype with which the backend is refused; None means every dtype."""


class Engine(NamedTuple):
    """A serving engine: how it starts, what it answers, and by what others know it."""

    name: str
    title: str
    suits: str
    """Strengths and drawbacks."""
    sources: tuple[str, ...]
    defaults: Mapping[str, Any]
    """The lowest layer of every deployment."""
    words: tuple[str, ...]
    """Program and subcommand; omitted if the entrypoint of the image contains them."""
    start: Callable[[Request], Start]
    health: str
    """Path that returns 200 when the server is ready."""
    key_variable: str | None
    """Environment variable with the API key; None if the server accepts a key only as an argument."""
    metrics: str | None
    """Path of Prometheus metrics."""
    keyless: Mapping[str, tuple[str, ...]] = {}
    """Release → paths that a server with a key answers without it, from that release until the next one here."""
    apis: Mapping[str, str | None] = {}
    """What it answers beside chat: `messages`, `responses` → the first release that is known to have it, if one is."""

    deployed: bool = True
    """Whether deployments run on it, and not only a service of its own."""
    tested: bool = False
    """Whether a source published a command that runs it on this hardware."""
    vllm: bool = False
    """Whether its server is vLLM's, as it is or inside images with a start of their own."""
    python: bool = True
    """Whether its images contain Python, which the probe needs; otherwise curl checks the health."""
    processes: bool = True
    """Whether it runs as several processes, which exchange tensors through shared memory."""
    local: bool = False
    """Whether it loads models from a path in the container; a handle would make it download the model."""
    needs: Mapping[str, str] = {}
    """Required key of the inventory → reason."""
    groups: Groups | None = None
    """How one model can span several hosts; None if it cannot."""

    listed: Mapping[str, Option] | None = None
    """Options that do not depend on the release."""
    released: bool = False
    """Whether `catalog/options` has its options by release. If it has none and none are listed, vLLM's are used."""
    host: str = "host"
    """Option for the address that it listens on."""
    port: str = "port"
    loopback: bool = False
    """Whether it listens on loopback if no option says otherwise."""
    context: str | None = None
    """Option for the context length that /v1/models reports."""
    memory_share: str | None = None
    """Option for the memory that the server reserves at start, as a fraction of the machine's memory."""
    of_vllm: Mapping[str, str] = {}
    """vLLM's name of an option → this engine's name."""
    parallel: Mapping[str, str] = {}
    """Option that divides a model → its name in the recipes of other tools."""
    elsewhere: Mapping[str, str] = {}
    """Option → key of the inventory that sets it."""
    spellings: str = ""
    """Other spellings on a command line, as words `spelling=option`."""
    variables: Mapping[str, str] = {}
    """Environment variable → the option that it sets, of an engine without a command line."""
    former_switches: Mapping[str, str] = {}
    """Former switch on a command line that now requires a value → that value."""
    tools: tuple[str, ...] = ()
    """Options without which it refuses requests with tools; each but the last needs the last."""
    backends: tuple[str, ...] = ()
    """Options that choose kernels, which a search for better options tries."""
    refused: Callable[[Mapping[str, object], OptionTable, str], Mapping[str, Refusal]] = lambda *_: {}
    """Return the options whose attention backend a release refuses on GPUs of compute capability 12."""
    plain_v_cache: frozenset[str] = frozenset()
    """Values of `cache_type_v` with which it runs without flash attention; empty if it does not depend on it."""
    tensor_sizes: tuple[str, ...] = ()
    """Options for the number of GPUs among which it divides the heads of a model; others accept every number."""
    batches: tuple[str, ...] = ()
    """Options for the size of a batch, which a search for better options tries."""

    one_name: bool = False
    """Whether it serves only one model name."""
    default_name: Literal["any", "whole", "last part"] = "any"
    """The name under which it serves a handle or path without a configured name; `last part` of a path."""
    structured: bool = False
    """Whether it restricts an answer to a JSON schema without an option."""

    metrics_option: str | None = None
    """Option without which it has no metrics."""
    metrics_keyed: bool = False
    """Whether it requires its key on the path of its metrics."""
    quantities: Mapping[str, Metric] = {}
    """Quantity → metric."""

    speculative: frozenset[str] = frozenset()
    """Methods of speculative decoding; for vLLM, the interface of the release lists them."""
    methods: Mapping[str, str] = {}
    """Method in the inventory → the engine's name for it, which is a value of `method_option`."""
    method_option: str | None = None
    """Option whose choices are the methods of a release."""
    speculation: Mapping[str, str] = {}
    """Option, or variable, on a command line → the key of `speculative` that it sets."""
    counts_start: bool = False
    """Whether the number of draft tokens includes the start token, except with n-grams."""

    images: Mapping[str, str] = {}
    """Repository of upstream's images → pattern of the tags that name a release."""
    labels: tuple[str, ...] = ()
    """Labels and variables of an image that name the release in it; the first that is set counts."""
    style: str | None = None
    """Style of the images in the catalog whose entrypoint starts it."""
    image_names: tuple[str, ...] = ()
    """Parts of the names of its images."""
    image_tags: str = ""
    """Start of the tags of images whose entrypoint is the server."""
    commands: tuple[tuple[str, ...], ...] = ()
    """Commands that start the server, a longer one before its beginning; `python3` is every Python."""
    base: str | None = None
    """Recipe of the catalog that serves any model."""
    sparkrun: tuple[str, ...] = ()
    """Runtimes of sparkrun that run it: the first on one host, the second, if there is one, on several."""

    @property
    def interfaces(self) -> bool:
        """Return whether its options and metrics are those of a vLLM release, as recorded in `catalog/vllm`."""
        return self.vllm and self.listed is None

    @property
    def table(self) -> OptionTable | None:
        """Options by release; None if the options come from interfaces by release."""
        if self.released:
            return tables.table(self.name)
        return tables.alone(self.listed) if self.listed is not None and self.deployed else None

    @property
    def options(self) -> Mapping[str, Option] | None:
        """Known options; None if the options come from interfaces by release."""
        return tables.newest(self.name, without=frozenset(self.elsewhere)) if self.released else self.listed

    def flag(self, option: str) -> str:
        """Return an option as it is written on a command line."""
        known = (self.options or {}).get(option)
        return (known.spelling if known else None) or f"--{option.replace('_', '-')}"

    def key_option(self, key: str) -> str | None:
        """Return the option that a key of the inventory sets; None if there is none."""
        return next((option for option, each in self.elsewhere.items() if each == key), None)
