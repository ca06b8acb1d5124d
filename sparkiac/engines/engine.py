"""The parts of a serving engine. Each engine is a module with `ENGINE`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sparkiac.engines.tables import OptionTable

Kind = Literal["integer", "size", "number", "text", "commas", "optional", "switch", "json", "words", "many"]
"""`size` is a number or one such as 8k, `commas` several words in one text, `optional` a value or none, `many` words or
none."""


CACHE: Final = "/cache"
"""Directory inside the container that keeps compiled kernels between restarts."""
CONTAINER: Final[Mapping[str, Any]] = {
    "container": {"ipc": "private", "tmp_size_gib": 1.0, "read_only": True},
    "timeouts": {"ready_s": 1200, "stop_s": 120, "restart_delay_s": 2, "drain_s": 30, "answer_s": 120},
    "bind": "lan",
}
"""Defaults that most engines share. Load time: Spark guide and vLLM blog give up to 15 minutes."""


class Option(NamedTuple):
    """One option of a server, in the spelling of the inventory: snake_case under `set`."""

    kind: Kind
    choices: tuple[str, ...] = ()
    """Allowed values of a text; empty allows all."""
    spelling: str | None = None
    """Flag or environment variable, if it is not `--` and the name with hyphens."""
    negated: bool = False
    """Whether a switch has a `--no-` form; if it has none, false omits the switch."""


def known(*, reversible: str = "", **names: str) -> dict[str, Option]:
    """Return options that only have a kind: kind → names. Reversible switches have a `--no-` form."""
    found = {name: Option(cast("Kind", kind)) for kind, listed in names.items() for name in listed.split()}
    return found | {name: Option("switch", negated=True) for name in reversible.split()}


def chosen(**choices: str) -> dict[str, Option]:
    """Return options with a fixed set of values: option → values."""
    return {name: Option("text", tuple(words.split())) for name, words in choices.items()}


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
    """Ways to run the nodes; the first one is the default. They are words of the table in resolve/fabric.py."""
    part: Callable[[Member], Part]
    """Return what a node gets."""
    split: tuple[str, ...] = ()
    """Options that divide a model among the nodes; their product is the number of nodes."""
    computed: tuple[str, ...] = ()
    """Options that sparkiac derives from the hosts of the group; the inventory must not set them."""
    pairs: bool = False
    """Whether only the leader connects to the workers, so that each worker needs a link to the leader alone."""


class Engine(NamedTuple):
    """A serving engine: start command, endpoints, options and limits."""

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
    metrics: str | None
    """Path of Prometheus metrics."""
    key_variable: str | None
    """Environment variable with the API key; None if the server accepts a key only as an argument."""
    options: Mapping[str, Option] | None = None
    """Known options; None if the options come from interfaces by release."""
    table: OptionTable | None = None
    """Options by release; None if the options come from interfaces by release."""
    images: Mapping[str, str] = {}
    """Repository of upstream's images → pattern of the tags that name a release."""
    of_vllm: Mapping[str, str] = {}
    """vLLM's name of an option → this engine's name."""
    elsewhere: Mapping[str, str] = {}
    """Option → key of the inventory that sets it."""
    memory_share: str | None = None
    """Option for the memory that the server reserves at start, as a fraction of the machine's memory."""
    speculative: frozenset[str] = frozenset()
    """Methods of speculative decoding."""
    methods: Mapping[str, str] = {}
    """Method in the inventory → the engine's name for it, which is a value of `method_option`."""
    method_option: str | None = None
    """Option whose choices are the methods of a release."""
    edits: Mapping[str, Mapping[str, Any]] = {}
    """Method of speculative decoding → the settings that it needs."""
    needs: Mapping[str, str] = {}
    """Required key of the inventory → reason."""
    local: bool = False
    """Whether it loads models from a path in the container; a handle would make it download the model."""
    one_name: bool = False
    """Whether it serves only one model name."""
    python: bool = True
    """Whether its images contain Python, which the probe needs; otherwise curl checks the health."""
    groups: Groups | None = None
    """How one model can span several hosts; None if it cannot."""
    tested: bool = False
    """Whether a source published a command that runs it on this hardware."""
