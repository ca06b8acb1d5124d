"""What registries send, as far as it is read (OCI image specification 1.1, and Docker's schema 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import ConfigDict, Field, ValidationError

from sparkiac.model.base import Bytes, Digest, Model
from sparkiac.upstream.refusal import Refusal
from sparkiac.upstream.registry import codes

if TYPE_CHECKING:
    from sparkiac.upstream.registry.reference import Reference


class Document(Model):
    """A document of others, which may say more than is read."""

    model_config = ConfigDict(extra="ignore")


class Platform(Document):
    """What an image runs on."""

    os: str = ""
    architecture: str = ""
    variant: str = ""


class Descriptor(Document):
    """A pointer to content."""

    media_type: Annotated[str, Field(alias="mediaType")] = ""
    digest: Digest
    size: Bytes
    platform: Platform | None = None
    artifact_type: Annotated[str, Field(alias="artifactType")] = ""
    annotations: dict[str, str] | None = None


class Index(Document):
    """A list of manifests, for instance one for each platform."""

    media_type: Annotated[str, Field(alias="mediaType")] = ""
    manifests: tuple[Descriptor, ...]
    layers: None = None


class Manifest(Document):
    """An image for one platform."""

    media_type: Annotated[str, Field(alias="mediaType")] = ""
    config: Descriptor
    layers: tuple[Descriptor, ...]
    manifests: None = None


class Settings(Document):
    """How containers of an image start."""

    entrypoint: Annotated[tuple[str, ...] | None, Field(alias="Entrypoint")] = None
    command: Annotated[tuple[str, ...] | None, Field(alias="Cmd")] = None
    variables: Annotated[tuple[str, ...] | None, Field(alias="Env")] = None
    labels: Annotated[dict[str, str] | None, Field(alias="Labels")] = None


class Configuration(Document):
    """The configuration blob of an image."""

    os: str = ""
    architecture: str = ""
    created: str | None = None
    config: Settings | None = None


class Tags(Document):
    """The tags of a repository."""

    tags: tuple[str, ...] | None = None


D = TypeVar("D", bound=Document)


def read(kind: type[D], body: bytes, *, about: Reference) -> D:
    """Read a document. Raises `Refusal` LCK005 that names the field that is wrong, and not what it holds."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        fault = f"{where}: {first['type'].replace('_', ' ')}" if where else "it is no JSON"
    message = f"{about}: what {about.registry} gives as {kind.__name__.lower()} is none: {fault}"
    raise Refusal(codes.FALSE, message)
