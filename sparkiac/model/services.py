"""Services: containers, programs and configuration files other than deployments, with one class per set of fields.

`kind` selects the class. The defaults of a kind (ports, health check, environment) are in the catalog, as a
`ServiceKind`. A new kind of container is a file there: each that has no class of its own is a `ContainerService`.
"""

from collections.abc import Mapping
from typing import Annotated, Final, Literal, get_args

from pydantic import Field

from sparkiac.model.base import (
    AbsolutePath,
    Bind,
    Gib,
    HostName,
    ImageReference,
    Line,
    Model,
    Name,
    Network,
    OllamaModel,
    OptionName,
    OptionValue,
    Port,
    SecretRef,
    ServedName,
    ShortText,
    Url,
    UrlPath,
    UserName,
    VariableName,
    Waiver,
)
from sparkiac.model.settings import Mount, Timeouts
from sparkiac.report.assets import entries


class _ServiceFields(Model):
    hosts: HostName
    """Host that it runs on."""
    memory_gib: Gib | None = None
    """Measured memory use in GiB; the plan adds it to the budget of the host."""
    description: ShortText | None = None
    """Description in the systemd unit and in the plan."""
    allow: tuple[Waiver, ...] = ()
    """Findings that are accepted, with a reason for each."""


class ContainerizedService(_ServiceFields):
    """Fields of all services that run in a container."""

    image: ImageReference | None = None
    """Image to run, pinned by the lock or by a digest in the reference. The catalog has no default image."""
    port: Port | None = None
    """Port on the host; the default depends on the kind."""
    container_port: Port | None = None
    """Port in the container; default is the port of the kind, or else the same as `port`."""
    bind: Bind | None = None
    """Where the port is published: loopback, lan (the address of the host), fabric, or any."""
    reachable_from: tuple[Network, ...] | None = None
    """Networks and addresses of the clients that may connect to the port; default is that of the host."""
    health: UrlPath | None = None
    """HTTP path that returns 200 when the service is healthy; checked with curl, wget or Python in the container."""
    command: tuple[Line, ...] | None = None
    """Arguments after the entrypoint of the image."""
    env: Mapping[VariableName, Line | int | None] | None = None
    """Environment variables; `null` removes a variable of the kind. Never a secret."""
    mounts: Mapping[AbsolutePath, Mount] | None = None
    """Mounts, by path in the container."""
    gpu: bool | None = None
    """Whether the container gets the GPU."""
    read_only: bool | None = None
    """Whether the root file system of the container is read-only."""
    timeouts: Timeouts | None = None
    """Timeouts of the unit."""


class OllamaService(ContainerizedService):
    """An Ollama server and its models."""

    kind: Literal["ollama"]
    """Kind of the service."""
    models: tuple[OllamaModel, ...] = ()
    """Models that are pulled after the start if they are missing, such as qwen3:8b."""
    set: dict[OptionName, OptionValue] | None = None
    """Server options in snake_case: `keep_alive: 5m` becomes OLLAMA_KEEP_ALIVE=5m."""


class OpenWebuiService(ContainerizedService):
    """Open WebUI, a chat interface for the models of the fleet."""

    kind: Literal["open-webui"]
    """Kind of the service."""
    uses: tuple[Name, ...] = ()
    """Deployments, Ollama servers and agents that it offers; sparkiac fills in their addresses."""
    urls: tuple[Url, ...] = ()
    """Further OpenAI-compatible base URLs that need no key, such as http://192.168.1.10:8009/v1."""
    secret_key: SecretRef | None = None
    """Key that signs sessions; if omitted, Open WebUI creates one in its data directory."""


class HermesAgentService(_ServiceFields):
    """Hermes Agent, a program that is installed on the host and has its own API."""

    kind: Literal["hermes-agent"]
    """Kind of the service."""
    uses: Name
    """Deployment or Ollama server whose model it uses."""
    model: ServedName | None = None
    """Served name of the model; default is the first one."""
    api_key: SecretRef
    """Key that clients of the agent must send: 16 characters or more. Whoever has it can run commands on the host."""
    program: AbsolutePath
    """Path of the installed program, such as /home/spark/.local/bin/hermes."""
    user: UserName
    """Linux user that the agent runs as."""
    port: Port | None = None
    """Port on the host; default 8642."""
    bind: Bind | None = None
    """Where its API listens: loopback, lan (the address of the host), fabric, or any."""
    reachable_from: tuple[Network, ...] | None = None
    """Networks and addresses of the clients that may connect to the port; default is that of the host."""
    egress: tuple[Network, ...] | None = None
    """Networks and addresses that it may connect to; `['0.0.0.0/0', '::/0']` is everything. Default: the server that it
    uses, and no name server."""
    env: Mapping[VariableName, Line | int | None] | None = None
    """Further environment variables. Never a secret."""
    timeouts: Timeouts | None = None
    """Timeouts of the unit."""


class Sampling(Model):
    """Sampling parameters, such as those that the model card recommends."""

    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """Temperature: 0 always takes the most probable token; higher values give more varied answers."""
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    """Nucleus sampling: the model samples from the most probable tokens that together reach this probability."""
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    """Tokens of the longest answer, reasoning included; use 512 or more for a reasoning model."""


class Alias(Model):
    """An alias of one model of the fleet."""

    to: Name
    """Deployment or service that serves it."""
    model: ServedName | None = None
    """Served name of the model; default is the first one."""
    use: ShortText | None = None
    """Use of the model, shown next to its name."""
    sampling: Sampling | None = None
    """Sampling parameters."""
    thinking: bool | None = None
    """Whether the model reasons before it answers; the default depends on the model."""


class OpenClawService(_ServiceFields):
    """Configuration file with the models for OpenClaw; it has no unit."""

    kind: Literal["openclaw"]
    """Kind of the service."""
    aliases: Annotated[dict[Name, Alias], Field(min_length=1)]
    """Models, by alias."""


class GatewayClient(Model):
    """A client of the gateway, with a key of its own."""

    api_key: SecretRef
    """Key that it sends; beside its file, NAME.previous may hold the former key, which is then valid too."""
    requests_per_min: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """Most requests in a minute."""
    concurrent: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """Most requests at the same time."""


class GatewayService(_ServiceFields):
    """HAProxy as one address for the models of `routes`."""

    kind: Literal["gateway"]
    """Kind of the service."""
    image: ImageReference | None = None
    """Image of HAProxy, pinned by the lock or by a digest in the reference; the default is in the catalog."""
    port: Port | None = None
    """Port on the host; default 8088."""
    bind: Bind | None = None
    """Where it listens: loopback, lan (the address of the host), fabric, or any."""
    metrics_port: Port | None = None
    """Port of its metrics and its health check, on loopback; default 8405."""
    api_key: SecretRef | None = None
    """Key of the services of this inventory, and of everybody without an entry under `clients`."""
    clients: dict[Name, GatewayClient] = {}
    """Clients with keys of their own, by name."""
    tls: AbsolutePath | SecretRef | None = None
    """File on the host, or secret, with certificate, chain and key as PEM; `sparkiac secrets new` issues the secret.
    Without either, requests are not encrypted."""
    max_body_mib: Annotated[int, Field(ge=1, le=64)] | None = None
    """Largest body of a request in MiB; default 8. The plan counts the memory for it."""
    max_connections: Annotated[int, Field(ge=16, le=16_384)] | None = None
    """Most connections of clients; default 1024. A sixteenth of them may have a body above 128 KiB."""
    timeouts: Timeouts | None = None
    """Timeouts of the unit."""


class RouteLimits(Model):
    """What a route lets through."""

    concurrent: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """Most requests at each server; default is its max_num_seqs if that is set, else 64."""
    waiting: Annotated[int, Field(ge=1, le=10_000)] = 16
    """Requests that may wait for a server; one more gets 429."""


class ModelRoute(Model):
    """A model name of the gateway, and who serves it. Each of them gets it as a further served name."""

    to: Annotated[tuple[Name, ...], Field(min_length=1)]
    """Deployments and Ollama servers that share the requests."""
    fallback: tuple[Name, ...] = ()
    """Deployments and Ollama servers that answer if none of `to` is ready; the first that is gets all requests."""
    weights: dict[Name, Annotated[int, Field(ge=1, le=16)]] = {}
    """Share of the requests by name under `to`; default 1."""
    limits: RouteLimits = Field(default_factory=RouteLimits.model_construct)
    """What it lets through."""

    @property
    def targets(self) -> tuple[str, ...]:
        """Return everybody who serves it."""
        return (*self.to, *self.fallback)


_WITH_CLASS: Final = (OllamaService, OpenWebuiService, HermesAgentService, OpenClawService, GatewayService)
_SHARED: Final = set(entries("services")).difference(
    *(get_args(each.model_fields["kind"].annotation) for each in _WITH_CLASS)
)
# Shorter names first: the order that the JSON Schema has.
_CONTAINERS: Final = ("container", *sorted(_SHARED, key=lambda name: (len(name), name)))


class ContainerService(ContainerizedService):
    """A container that needs no other service: any image, speech to text, text to speech, or GPU metrics."""

    kind: Literal[_CONTAINERS]  # type: ignore[valid-type]  # the names of files
    """Kind of the service."""


Service = Annotated[
    ContainerService | OllamaService | OpenWebuiService | HermesAgentService | OpenClawService | GatewayService,
    Field(discriminator="kind"),
]


class ServiceKind(Model):
    """Defaults of one kind of service. There is an image only if a source names one."""

    title: ShortText
    """Title, in one line."""
    sources: Annotated[tuple[ShortText, ...], Field(min_length=1)]
    """Sources of these facts."""
    api: Literal["openai", "ollama"] | None = None
    """API that other services can use; omitted if it has none."""
    served_names: tuple[ServedName, ...] = ()
    """Model names that it always serves."""
    speech: Literal["transcription", "speech"] | None = None
    """Endpoint below /v1/audio that a request with a known answer is sent to."""
    images: Line | None = None
    """Pattern of the repositories by which importers recognise it, in lower case."""
    image: ImageReference | None = None
    """Image with a tag, which the lock pins."""
    memory_gib: Gib | None = None
    """Memory that it is planned with until a measured value is set."""
    user: Line | None = None
    """User in the container, as uid:gid; default is that of the image."""
    port: Port | None = None
    """Port on the host."""
    container_port: Port | None = None
    """Port inside the container."""
    health: UrlPath | None = None
    """HTTP path that returns 200 when the service is healthy."""
    healthcheck: tuple[Line, ...] | None = None
    """Health check command in the container, if the image has no HTTP client; empty if no check is possible."""
    gpu: bool | None = None
    """Whether the container gets the GPU."""
    env: dict[VariableName, Line | int] | None = None
    """Environment variables."""
    data: AbsolutePath | None = None
    """Directory in the container whose content must survive a restart."""
    read_only: bool | None = None
    """Whether the root file system of the container is read-only."""
    timeouts: Timeouts | None = None
    """Timeouts of the unit."""
    notes: tuple[ShortText, ...] = ()
    """Notes to read before use."""
    not_verified: tuple[ShortText, ...] = ()
    """Claims that only a test on real hardware can verify."""
