"""What a serving engine is made of: one module each, with `ENGINE`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sparkiac.engines.tables import Table

Kind = Literal["integer", "size", "number", "text", "commas", "optional", "switch", "json", "words", "many"]
"""`size` is a number or one such as 8k, `commas` several words in one text, `optional` a value or none, `many` words or
none."""


class Option(NamedTuple):
    """One option of a server, in the spelling of the inventory: snake_case under `set`."""

    kind: Kind
    choices: tuple[str, ...] = ()
    """What a text may be; anything if empty."""
    spelling: str | None = None
    """How the engine writes it, if not `--` and the name with hyphens: another flag, or an environment variable."""
    negated: bool = False
    """Whether the engine knows a switch's `--no-` form; where it does not, false leaves the switch away."""


def known(*, reversible: str = "", **names: str) -> dict[str, Option]:
    """Give options that have nothing but a kind: kind → their names. Reversible switches have a `--no-` form."""
    found = {name: Option(cast("Kind", kind)) for kind, listed in names.items() for name in listed.split()}
    return found | {name: Option("switch", negated=True) for name in reversible.split()}


def chosen(**choices: str) -> dict[str, Option]:
    """Give options that take one of some words: option → the words."""
    return {name: Option("text", tuple(words.split())) for name, words in choices.items()}


class Request(NamedTuple):
    """What is to be served."""

    model: str
    """Handle, or the path in the container."""
    served: tuple[str, ...]
    """Names that clients use; empty where the engine's own default serves."""
    options: Mapping[str, Any]
    speculative: Mapping[str, Any] | None
    commits: Mapping[str, str] = {}
    """Repository → the commit that the lock pins."""


class Start(NamedTuple):
    """How the server is started."""

    arguments: tuple[str, ...]
    """Words after the program."""
    env: Mapping[str, str] = {}
    """Variables that stand for options."""


class Engine(NamedTuple):
    """A serving engine: how it is started, asked and bounded."""

    name: str
    title: str
    suits: str
    """What it is good for, and what that costs."""
    sources: tuple[str, ...]
    defaults: Mapping[str, Any]
    """The lowest layer of every deployment."""
    words: tuple[str, ...]
    """Program and subcommand; left out where the image's entrypoint says them."""
    start: Callable[[Request], Start]
    health: str
    """Path that answers 200 once the server serves."""
    metrics: str | None
    """Path of Prometheus metrics."""
    key_variable: str | None
    """Variable that the server reads its API key from; None where it only takes one in its arguments."""
    options: Mapping[str, Option] | None = None
    """Known options; None where each release has a table of its own."""
    table: Table | None = None
    """What each release takes; None where the releases have interfaces of their own."""
    images: Mapping[str, str] = {}
    """Repository of upstream's images → pattern of the tags that name a release."""
    of_vllm: Mapping[str, str] = {}
    """vLLM's name of an option → what says the same here."""
    elsewhere: Mapping[str, str] = {}
    """Option → the key of the inventory that says it."""
    memory_share: str | None = None
    """Option that bounds what the server takes at start, as a fraction of the machine's whole memory."""
    speculative: frozenset[str] = frozenset()
    """Methods of speculative decoding."""
    methods: Mapping[str, str] = {}
    """Method → the word for it; `method_option` takes the words."""
    method_option: str | None = None
    """Option whose choices are the methods that a release has."""
    edits: Mapping[str, Mapping[str, Any]] = {}
    """Method of speculative decoding → the settings that it needs."""
    needs: Mapping[str, str] = {}
    """Key of the inventory that must be there → why."""
    local: bool = False
    """Whether it loads what lies at a path in the container, and would download what a handle names."""
    one_name: bool = False
    """Whether it serves under one name only."""
    python: bool = True
    """Whether its images have Python, which the probe needs; curl asks for health where they have not."""
    groups: bool = False
    """Whether one model can span several hosts."""
    tested: bool = False
    """Whether a source ran it on this hardware with a command that it printed."""
