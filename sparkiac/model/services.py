"""The user's services: every other container, program and configuration of a host, one class for each shape.

`kind` chooses the class. What a kind is by itself (ports, health, environment) is data of the catalog, see
sparkiac/model/kinds.py; a new kind of an existing shape is its file there and its name in the Literal here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

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


class _Service(Model):
    on: HostName
    """The host."""
    memory_gib: Gib | None = None
    """What it takes of the host's memory, as measured: the plan counts it in."""
    description: ShortText | None = None
    """Shown in the unit and in the plan."""
    allow: tuple[Waiver, ...] = ()
    """Waived rules."""


class ContainerizedService(_Service):
    """What every service in a container may say."""

    image: ImageReference | None = None
    """Image to run, pinned by the lock or by its own digest. No source names one, so it is yours to choose."""
    port: Port | None = None
    """Port on the host, if not the kind's own."""
    container_port: Port | None = None
    """Port inside the container: the kind's, or the same as `port`, unless said otherwise."""
    bind: Bind | None = None
    """Where the port is published."""
    health: UrlPath | None = None
    """HTTP path that answers 200 when the service is well; asked with curl, wget or Python inside it."""
    command: tuple[Line, ...] | None = None
    """Arguments after the image's entrypoint."""
    env: Mapping[VariableName, Line | int | None] | None = None
    """Environment variables; `null` takes one of the kind's away. Never a secret."""
    mounts: Mapping[AbsolutePath, Mount] | None = None
    """Path in the container → what is mounted there."""
    gpu: bool | None = None
    """Whether the container gets the GPU."""
    read_only: bool | None = None
    """Whether the image's own file system is read-only."""
    timeouts: Timeouts | None = None
    """Waits of the unit."""


class ContainerService(ContainerizedService):
    """A container that asks no other service: any one, speech to text, text to speech, or GPU metrics."""

    kind: Literal["container", "parakeet", "chatterbox", "gpu-exporter"]
    """What it is."""


class OllamaService(ContainerizedService):
    """An Ollama server with the models that it keeps."""

    kind: Literal["ollama"]
    """What it is."""
    models: tuple[OllamaModel, ...] = ()
    """Models that are pulled after the start if they are not there: qwen3:8b."""
    set: dict[OptionName, OptionValue] | None = None
    """Options of the server in snake_case: `keep_alive: 5m` is OLLAMA_KEEP_ALIVE=5m."""


class OpenWebuiService(ContainerizedService):
    """Open WebUI: a chat front end for the models of the fleet."""

    kind: Literal["open-webui"]
    """What it is."""
    uses: tuple[Name, ...] = ()
    """Deployments, Ollama servers and agents that it offers; their addresses follow from where everything runs."""
    urls: tuple[Url, ...] = ()
    """Further OpenAI-compatible base URLs that need no key: http://192.168.1.10:8009/v1."""
    secret_key: SecretRef | None = None
    """Key that signs sessions; kept in the data directory unless given."""


class HermesAgentService(_Service):
    """Hermes Agent: a program that is installed on the host, with an API of its own."""

    kind: Literal["hermes-agent"]
    """What it is."""
    uses: Name
    """Deployment or Ollama server that it thinks with."""
    model: ServedName | None = None
    """Name of the model there; the first one unless said otherwise."""
    api_key: SecretRef
    """Key that clients of the agent must present: 16 characters or more, and worth a login to the host."""
    program: AbsolutePath
    """The installed program: /home/spark/.local/bin/hermes."""
    user: UserName
    """User of the host that the agent acts as."""
    port: Port | None = None
    """Port on the host, if not 8642."""
    bind: Bind | None = None
    """Address that its API listens on."""
    env: Mapping[VariableName, Line | int | None] | None = None
    """Further environment variables. Never a secret."""
    timeouts: Timeouts | None = None
    """Waits of the unit."""


class Sampling(Model):
    """How a model chooses its words, as far as a source or its model card advises it."""

    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """Spread of the choice."""
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    """Share of the probability that is chosen from."""
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    """Longest answer, reasoning included: 512 or more for a model that reasons (SM121 reference L33-34)."""


class Alias(Model):
    """A short name for one model of the fleet."""

    to: Name
    """Deployment or service that serves it."""
    model: ServedName | None = None
    """Name of the model there; the first one unless said otherwise."""
    use: ShortText | None = None
    """What it is good for; shown beside the model's name."""
    sampling: Sampling | None = None
    """How it chooses its words."""
    thinking: bool | None = None
    """Whether it reasons before it answers; the model's own default unless said."""


class OpenClawService(_Service):
    """OpenClaw's table of models: a rendered configuration file, and no unit."""

    kind: Literal["openclaw"]
    """What it is."""
    aliases: Annotated[dict[Name, Alias], Field(min_length=1)]
    """Short name → the model that it stands for."""


Service = Annotated[
    ContainerService | OllamaService | OpenWebuiService | HermesAgentService | OpenClawService,
    Field(discriminator="kind"),
]
