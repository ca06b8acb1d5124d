"""Images in the plan, pulled or built: repository, mirror, digest, entrypoint, and what is known about them."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sparkiac.catalog import interfaces, releases
from sparkiac.catalog.library import SHIPPED, Library
from sparkiac.model import references
from sparkiac.plan.parts import UNLOCKED
from sparkiac.resolve.builds import images

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sparkiac.catalog.interfaces import Interface
    from sparkiac.model.images import ImageFamily
    from sparkiac.model.lock import Lock, LockedImage
    from sparkiac.model.resolved import ResolvedBuild
    from sparkiac.report import Path
    from sparkiac.resolve.leaves import Leaves

_OF_TAG: Final = ("vllm_at_least", "transformers", "min_driver", "forward_compat", "lacks", "failed_on")


class AddedNames(NamedTuple):
    """Names that a fork or a patch accepts and its vLLM release does not."""

    options: tuple[str, ...] = ()
    """Options, in snake_case."""
    variables: tuple[str, ...] = ()
    parsers: tuple[str, ...] = ()


class TagFacts(NamedTuple):
    """Facts of the catalog about an image: those of its family and of its tag."""

    family: str
    """Title of the family."""
    style: str
    """How it starts: `vllm-serve`, `pass-through`, `environment` or `unknown`."""
    vllm_at_least: str | None = None
    """Oldest vLLM release that it can contain, if the exact release is unknown."""
    transformers: str | None = None
    """Oldest Transformers release that it can contain."""
    min_driver: str | None = None
    """Oldest driver that runs it without CUDA forward compatibility."""
    forward_compat: str | None = None
    """Older driver series that runs it with CUDA forward compatibility."""
    lacks: tuple[str, ...] = ()
    """Features that it does not have, or that fail in it."""
    failed_on: Mapping[str, str] = {}
    """Platform → the failure that a source saw there."""
    provenance: str = "community"
    """Who publishes it: `vendor`, `upstream` or `community`."""
    added: AddedNames = AddedNames()
    """Names that it accepts in addition to its vLLM release."""


class Image(NamedTuple):
    """An image to run. An image without a digest must not be deployed."""

    reference: str
    """Reference in the inventory or recipe."""
    repository: str
    """Repository that hosts pull from: that of the reference, or its mirror."""
    digest: str | None
    entrypoint: tuple[str, ...] | None
    """Entrypoint of the image, if it is known."""
    command: tuple[str, ...] | None
    """Default command of the image, if it is known."""
    tag: TagFacts | None
    """Facts of the catalog about it."""
    base: TagFacts | None = None
    """Facts of the catalog about the image that a build starts from."""
    build: str | None = None
    """Name of the build that produces it; `digest` is then the image ID, because no registry has the image."""
    stale: bool = False
    """Whether the lock has this image from an older specification of its build."""
    id: str | None = None
    """Digest of its configuration, which is the image ID in Docker's classic image store."""
    copied: bool = False
    """Whether the host copies it from another host; it then has no registry digest there and runs by its ID."""
    interface: Interface | None = None
    """Options of its vLLM, if they were captured from the image."""
    versions: Mapping[str, str] = {}
    """Versions of its parts, from the lock: cuda, sglang."""
    release: str | None = None
    """vLLM release in the image, from the lock, or else from the tag or the catalog."""
    created: str | None = None
    """Time at which it was built, from the lock."""

    @property
    def short(self) -> str:
        """Return the reference with its tag, without the digest and without the host of the default registry."""
        return references.short(self.reference.partition("@")[0])

    @property
    def vllm(self) -> str | None:
        """Return the vLLM release in the image: as captured from it, or else from lock or catalog; None if unknown."""
        captured = self.interface.release if self.interface else None
        return captured or self.release

    @property
    def pull(self) -> str:
        """Return the pinned reference, or the ID of a built or copied image; UNLOCKED replaces a missing digest."""
        if self.build is not None and self.digest is not None:
            return self.digest
        if self.copied:
            return self.id or f"sha256:{UNLOCKED}"
        return f"{self.repository}@{self.digest or UNLOCKED}"


class PlannedBuild(NamedTuple):
    """A build of an image from source."""

    name: str
    path: Path
    """First path in the inventory that uses it."""
    spec: Mapping[str, Any]
    """Build specification, with the keys of the inventory: everything that affects the resulting image."""
    digest: str
    """Hash of the specification."""
    base: Image | None
    """Base image; None if the build runs a program that chooses its own."""


def image(reference: str, *, lock: Lock | None, mirrors: Mapping[str, str], library: Library = SHIPPED) -> Image:
    """Return an image with the facts from lock and library. A digest in the reference needs no lock."""
    tagged, _, inline = reference.partition("@")
    repository, tag = references.split(tagged)
    locked = lock.images.get(reference) if lock else None
    family = library.image_family(repository)
    digest = inline or (locked.digest if locked else None)
    entrypoint = locked.entrypoint if locked else None
    if entrypoint is None and family is not None:
        entrypoint = family.entrypoint
    return Image(
        reference=reference,
        repository=_mirrored(repository, mirrors),
        digest=digest,
        entrypoint=entrypoint,
        command=locked.command if locked else None,
        tag=_forward(_tag(family, tag), family.entrypoint, entrypoint) if family else None,
        id=locked.config if locked else None,
        versions=locked.versions if locked else {},
        release=_recorded(locked) or releases.of_image(family, repository, tag=tag, digest=digest),
        created=locked.created if locked else None,
    )


def _recorded(locked: LockedImage | None) -> str | None:
    """Return the vLLM release that the lock has from the labels and variables of the image."""
    return interfaces.named(locked.versions["vllm"]) if locked and "vllm" in locked.versions else None


def _tag(family: ImageFamily, tag: str) -> TagFacts:
    known = family.tags.get(tag or "latest")
    facts: dict[str, Any] = {} if known is None else {name: getattr(known, name) for name in _OF_TAG}
    if known is not None and known.adds is not None:
        facts["added"] = AddedNames(known.adds.options, known.adds.variables, known.adds.parsers)
    return TagFacts(family.title, family.style, provenance=family.provenance, **facts)


def _forward(facts: TagFacts, own: tuple[str, ...] | None, started: tuple[str, ...] | None) -> TagFacts:
    """Return the facts of an image, without forward compatibility if its own entrypoint, which turns it on, is gone."""
    kept = own is None or own[0].rpartition("/")[2] in " ".join(started or ())
    return facts if kept else facts._replace(forward_compat=None)


def _mirrored(repository: str, mirrors: Mapping[str, str]) -> str:
    """Replace the longest prefix that has a mirror; a short name is completed with its registry first."""
    parts = references.full(repository).split("/")
    for length in range(len(parts), 0, -1):
        mirror = mirrors.get("/".join(parts[:length]))
        if mirror is not None:
            return "/".join([mirror, *parts[length:]])
    return repository


class Images(NamedTuple):
    """Finds the images that hosts run."""

    builds: Mapping[str, ResolvedBuild]
    lock: Lock | None
    mirrors: Mapping[str, str]
    interfaces: Mapping[str, Interface]
    """Digest → the interface that was captured from the image."""
    copying: frozenset[str]
    """Hosts that copy their images from another host."""
    library: Library

    def find(self, reference: str, *, host: str) -> Image:
        """Return an image that a host runs; the reference may be the name of a build."""
        found = self._built(self.build(reference, ())) if reference in self.builds else self._pulled(reference)
        interface = self.interfaces.get(found.digest or "") or self.interfaces.get(found.id or "")
        return found._replace(interface=interface, copied=host in self.copying)

    def used_builds(self, leaves: Leaves) -> Iterator[PlannedBuild]:
        """Yield the builds in use, sorted by name, each with the first path that names it."""
        for name in self.builds:
            users = (user for user, reference in images(leaves) if reference == name)
            yield self.build(name, (*min(users), "image"))

    def build(self, name: str, path: Path) -> PlannedBuild:
        """Return a build; `path` is where the inventory names it."""
        values = self.builds[name]
        base = self._pulled(values.base) if values.base is not None else None
        spec = _spec(values, base)
        text = json.dumps(spec, sort_keys=True, separators=(",", ":"))
        return PlannedBuild(name, path, spec, f"sha256:{hashlib.sha256(text.encode()).hexdigest()}", base)

    def _pulled(self, reference: str) -> Image:
        return image(reference, lock=self.lock, mirrors=self.mirrors, library=self.library)

    def _built(self, build: PlannedBuild) -> Image:
        """Return the image of this build. It has no digest if the lock only has the image of an older specification.

        Without a record in the lock, the entrypoint is that of the base image, because a build does not change it. A
        build that only adds packages has the vLLM of its base.
        """
        only_packages = not {"repository", "program"} & build.spec.keys()
        locked = self.lock.builds.get(build.name) if self.lock else None
        stale = locked is not None and locked.spec != build.digest
        known = image(build.name, lock=None, mirrors={})
        starts, base = locked or build.base or known, build.base
        return known._replace(
            base=_forward(base.tag, base.entrypoint, starts.entrypoint) if base and base.tag else None,
            digest=None if locked is None or stale else locked.id,
            entrypoint=starts.entrypoint,
            command=starts.command,
            build=build.name,
            stale=stale,
            release=base.release if base is not None and only_packages else known.release,
        )


def _spec(values: ResolvedBuild, base: Image | None) -> dict[str, Any]:
    """Return the build specification: everything that affects the resulting image. `why` and mirrors do not."""
    spec = {key: _plain(value) for key, value in values.model_dump(exclude_unset=True, exclude={"why"}).items()}
    for key in {"arguments", "environment"} & spec.keys():
        spec[key] = {name: str(value) for name, value in spec[key].items()}
    if base is not None:
        spec["base"] = {"reference": base.reference, "digest": base.digest}
    return spec


def _plain(value: Any) -> Any:  # noqa: ANN401  plain JSON data
    """Remove null values, so that `subject: null` gives the same hash as no subject."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items() if inner is not None}
    return [_plain(inner) for inner in value] if isinstance(value, tuple) else value
