"""What every layer may say about a deployment: recipe, variant, defaults, deployment, one host of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from sparkiac.model.base import (
    AbsolutePath,
    Bind,
    FileSource,
    Gib,
    ImageReference,
    Line,
    Model,
    ModelHandle,
    OptionName,
    OptionValue,
    Port,
    Seconds,
    SecretRef,
    ServedName,
    ShortText,
    VariableName,
)
from sparkiac.model.forms import FILE
from sparkiac.model.speculative import Speculative


class Mount(Model):
    """A directory of the host inside the container."""

    source: Literal["model_store"] | AbsolutePath
    """`model_store`, or an absolute path on the host. It must exist: Docker creates nothing."""
    read_only: bool = True
    """A serving container has no business writing to weights."""


class ExtraFile(Model):
    """A file that the image lacks: a patched loader, a parser plugin, a chat template."""

    url: FileSource | None = None
    """Where it comes from: https://…, file:///…, or hf://organisation/model/path. The lock holds its sha256."""
    why: ShortText | None = None
    """What it is for."""


class Ulimits(Model):
    """Resource limits of the container's processes; -1 is unlimited."""

    memlock: int | None = Field(default=None, ge=-1)
    """Locked memory in bytes."""
    stack: int | None = Field(default=None, ge=-1)
    """Stack size in bytes."""
    nofile: int | None = Field(default=None, ge=1)
    """Open files."""


class ContainerSettings(Model):
    """How the container is run."""

    ipc: Literal["host", "private"] | None = None
    """`host` shares the host's /dev/shm, as the sources' commands do."""
    shm_size_gib: Gib | None = None
    """Size of the container's own /dev/shm; only with a private ipc namespace."""
    tmp_size_gib: Gib | None = None
    """Size of /tmp, which is memory: on this machine it is taken from the model."""
    ulimits: Ulimits | None = None
    """Resource limits."""
    mounts: Mapping[AbsolutePath, Mount | None] | None = None
    """Path in the container → what is mounted there."""
    files: Mapping[AbsolutePath, ExtraFile | None] | None = None
    """Path in the container → a file that is fetched, checked and mounted there read-only."""
    prelude: tuple[Annotated[tuple[Line, ...], Field(min_length=1)], ...] | None = None
    """Commands that run in the container before the server, one after the other, each as a list of words."""
    read_only: bool | None = None
    """Whether the image's own file system is read-only."""


class Timeouts(Model):
    """Every wait has an end, and the recipe knows it."""

    ready_s: Seconds | None = None
    """Seconds from start to the first answer: preflight, container start, model load and warm-up."""
    stop_s: Seconds | None = None
    """Seconds that systemd waits for a stop; the container gets 30 s less."""
    restart_delay_s: Seconds | None = None
    """Seconds before the first restart; later ones wait longer, up to a minute."""


class ExtraFlags(Model):
    """What a fork or a patch takes, and no release of vLLM. It is not checked."""

    why: ShortText
    """What takes it."""
    options: Annotated[tuple[OptionName, ...], Field(min_length=1)] | None = None
    """Options, in snake_case."""
    variables: Annotated[tuple[VariableName, ...], Field(min_length=1)] | None = None
    """Environment variables."""


class Settings(Model):
    """Values that any layer may set; the later layer wins, leaf by leaf; `null` takes a value away."""

    image: ImageReference | None = None
    """Image to run; `generate` uses the digest that the lock holds for it."""
    set: dict[OptionName, OptionValue] | None = None
    """Engine options in snake_case: `max_model_len: 65536` is `--max-model-len=65536`."""
    speculative: Speculative | None = None
    """Speculative decoding. It edits the rest of the settings as far as the method needs."""
    env: Mapping[VariableName, Line | int | None] | None = None
    """Environment variables of the container. Never a secret: use `api_key`."""
    container: ContainerSettings | None = None
    """How the container is run."""
    timeouts: Timeouts | None = None
    """Waits of the unit."""
    bind: Bind | None = None
    """Where the port is published: loopback, lan (the host's address), fabric, or any."""
    model_store: AbsolutePath | None = None
    """Directory on the host that holds the weights."""
    api_key: SecretRef | None = None
    """Key that clients must present."""


class Serving(Settings):
    """What a recipe, a variant and a deployment say beside: the model, its names, its port."""

    model: ModelHandle | None = None
    """Model handle, as on the model hub."""
    model_path: AbsolutePath | None = None
    """Path in the container of a model that is served from a directory: <model_store>/<organisation>/<name>."""
    model_file: Annotated[str, Field(pattern=FILE)] | None = None
    """File of that directory, for engines that load one file."""
    needs_models: tuple[ModelHandle, ...] | None = None
    """Other repositories that must be in the model store: tokenizer, drafter."""
    served_names: Annotated[tuple[ServedName, ...], Field(min_length=1)] | None = None
    """Names that clients use in `model`; the handle unless said otherwise."""
    port: Port | None = None
    """Port on the host."""
    extra_flags: ExtraFlags | None = None
    """Options and variables of a fork or a patch, which no release of vLLM has, with the reason."""
