"""The JSON documents of registries (OCI image specification 1.1 and Docker's schema 2), as far as they are used."""

from __future__ import annotations

from typing import Annotated, ClassVar, TypeVar

from pydantic import ConfigDict, Field

from sparkiac.model import answers
from sparkiac.model.base import Bytes, Digest, Model
from sparkiac.upstream import errors
from sparkiac.upstream.errors import UpstreamError
from sparkiac.upstream.registry import ImageReference


class RegistryDocument(Model):
    """A document of a registry; unknown keys are ignored."""

    model_config = ConfigDict(extra="ignore")
    title: ClassVar[str] = "document"


class ImagePlatform(RegistryDocument):
    """Operating system and architecture of an image."""

    os: str = ""
    architecture: str = ""
    variant: str = ""


class Descriptor(RegistryDocument):
    """A link to content by its digest."""

    media_type: Annotated[str, Field(alias="mediaType")] = ""
    digest: Digest
    size: Bytes
    platform: ImagePlatform | None = None
    artifact_type: Annotated[str, Field(alias="artifactType")] = ""
    annotations: dict[str, str] | None = None


class ImageIndex(RegistryDocument):
    """A list of manifests, such as one for each platform."""

    title: ClassVar[str] = "image index"
    media_type: Annotated[str, Field(alias="mediaType")] = ""
    manifests: tuple[Descriptor, ...]
    layers: None = None


class ImageManifest(RegistryDocument):
    """The parts of an image for one platform."""

    title: ClassVar[str] = "image manifest"
    media_type: Annotated[str, Field(alias="mediaType")] = ""
    config: Descriptor
    layers: tuple[Descriptor, ...]
    manifests: None = None
    annotations: dict[str, str] | None = None


class ContainerDefaults(RegistryDocument):
    """Defaults of an image's containers."""

    entrypoint: Annotated[tuple[str, ...] | None, Field(alias="Entrypoint")] = None
    command: Annotated[tuple[str, ...] | None, Field(alias="Cmd")] = None
    variables: Annotated[tuple[str, ...] | None, Field(alias="Env")] = None
    labels: Annotated[dict[str, str] | None, Field(alias="Labels")] = None


class ImageConfiguration(RegistryDocument):
    """The configuration blob of an image."""

    title: ClassVar[str] = "image configuration"
    os: str = ""
    architecture: str = ""
    created: str | None = None
    config: ContainerDefaults | None = None


class TagList(RegistryDocument):
    """The tags of a repository."""

    title: ClassVar[str] = "tag list"
    tags: tuple[str, ...] | None = None


D = TypeVar("D", bound=RegistryDocument)


def read(kind: type[D], body: bytes, *, subject: ImageReference) -> D:
    """Read a document. Raises `UpstreamError` with the path of the invalid field, without its value."""
    try:
        return answers.read(kind, body)
    except ValueError as error:
        fault = str(error)
    raise UpstreamError(errors.REGISTRY_INVALID, f"{subject}: invalid {kind.title} from {subject.registry}: {fault}")
