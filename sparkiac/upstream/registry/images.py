"""From an image's name to what the lock says of it: index → manifest for the architecture → configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from pydantic import ValidationError

from sparkiac.model.lock import LockedImage
from sparkiac.upstream.refusal import Refusal
from sparkiac.upstream.registry import codes
from sparkiac.upstream.registry.client import INDEXES
from sparkiac.upstream.registry.documents import Configuration, Index, Manifest, Settings, read
from sparkiac.upstream.registry.reference import parse
from sparkiac.upstream.registry.versions import versions

if TYPE_CHECKING:
    from sparkiac.upstream.registry.client import Client, Content
    from sparkiac.upstream.registry.documents import Descriptor
    from sparkiac.upstream.registry.reference import Reference

_CONFIGURATIONS: Final = frozenset(
    {"application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json"}
)
_DEEPEST: Final = 3
"""Indexes in indexes that are followed; images were seen with one, and rarely with two."""
_VARIANTS: Final = frozenset({"", "v8"})
"""What containerd calls every 64-bit Arm, whatever later version it also has; of amd64 it says nothing."""
_ATTESTATION: Final = "unknown"
"""What buildx writes as operating system and architecture of an entry that is no image."""


class _Chosen(NamedTuple):
    """The manifest for the architecture."""

    manifest: Manifest
    digest: str


def resolve(reference: str, *, client: Client, source: str | None = None, architecture: str = "arm64") -> LockedImage:
    """Find what a reference means now, on Linux and this architecture as OCI names it.

    `source` is the reference to ask instead: the same image at a mirror. Raises `Refusal` LCK001 to LCK005.
    """
    asked = parse(source or reference)
    top = client.manifest(asked, asked.asked)
    chosen = _chosen(asked, top, client=client, architecture=architecture)
    manifest, config = chosen.manifest, chosen.manifest.config
    if config.media_type not in _CONFIGURATIONS:
        raise Refusal(codes.FALSE, f"{asked}: it is no container image: its configuration is of another type")
    configuration = read(Configuration, client.blob(asked, config.digest), about=asked)
    if (configuration.os, configuration.architecture) != ("linux", architecture):
        raise _unfit(asked, architecture, [_platform(configuration.os, configuration.architecture)])
    settings = configuration.config or Settings()
    try:
        return LockedImage(
            digest=top.digest,
            manifest=chosen.digest,
            config=config.digest,
            entrypoint=settings.entrypoint or (),
            command=settings.command or (),
            size_bytes=config.size + sum(layer.size for layer in manifest.layers),
            created=configuration.created,
            versions=versions(settings),
        )
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
    raise Refusal(codes.FALSE, f"{asked}: its {where} holds control characters or is too large: no lock can hold it")


def _chosen(reference: Reference, content: Content, *, client: Client, architecture: str) -> _Chosen:
    for _ in range(_DEEPEST):
        if content.media_type not in INDEXES:
            manifest = read(Manifest, content.body, about=reference)
            _same_type(reference, content, manifest.media_type)
            return _Chosen(manifest, content.digest)
        index = read(Index, content.body, about=reference)
        _same_type(reference, content, index.media_type)
        entry = _entry(reference, index, architecture)
        content = client.manifest(reference, entry.digest)
    raise Refusal(codes.FALSE, f"{reference}: more than {_DEEPEST} indexes stand one in another")


def _entry(reference: Reference, index: Index, architecture: str) -> Descriptor:
    """Choose the first entry for the architecture that Docker would take on a Spark; a later variant only if none is.

    What says its type of artifact is no image, for whatever platform. An index without a platform may hold one: it is
    looked into if nothing else fits.
    """
    platforms = [(entry, entry.platform) for entry in index.manifests if not entry.artifact_type]
    fitting = [
        (platform.variant not in _VARIANTS, entry)
        for entry, platform in platforms
        if platform and (platform.os, platform.architecture) == ("linux", architecture)
    ]
    if fitting:
        return min(fitting, key=lambda each: each[0])[1]
    for entry, platform in platforms:
        if platform is None and entry.media_type in INDEXES:
            return entry
    images = [each for _, each in platforms if each and each.architecture != _ATTESTATION]
    raise _unfit(reference, architecture, [_platform(each.os, each.architecture, each.variant) for each in images])


def _platform(*parts: str) -> str:
    return "/".join(part or "?" for part in parts[:2]) + "".join(f"/{part}" for part in parts[2:] if part)


def _unfit(reference: Reference, architecture: str, platforms: list[str]) -> Refusal:
    have = ", ".join(repr(each)[1:-1] for each in sorted(set(platforms)))
    message = f"{reference}: there is no linux/{architecture} in it; it has {have or 'no platform at all'}"
    return Refusal(codes.UNFIT, message, f"take a tag that is built for {architecture}, or build the image from source")


def _same_type(reference: Reference, content: Content, said: str) -> None:
    """Refuse a document that says another type than its header: one body must not be two things (CVE-2021-41190)."""
    if said and said != content.media_type:
        message = f"{reference}: {content.digest} is sent as {content.media_type}, but says another type of itself"
        raise Refusal(codes.FALSE, message)
