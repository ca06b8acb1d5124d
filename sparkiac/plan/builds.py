"""Images that are built from source: the build specification, its hash, and the image that the lock has for it."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from sparkiac.plan.image import PlannedBuild, image
from sparkiac.resolve.builds import images

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sparkiac.catalog.interfaces import Interface
    from sparkiac.model.lock import Lock
    from sparkiac.model.resolved import ResolvedBuild
    from sparkiac.plan.image import Image
    from sparkiac.report import Path
    from sparkiac.resolve.leaves import Leaves


class Images(NamedTuple):
    """Finds the images that hosts run."""

    builds: Mapping[str, ResolvedBuild]
    lock: Lock | None
    mirrors: Mapping[str, str]
    interfaces: Mapping[str, Interface]
    """Digest → the interface that was captured from the image."""
    copying: frozenset[str]
    """Hosts that copy their images from another host."""

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
        return image(reference, lock=self.lock, mirrors=self.mirrors)

    def _built(self, build: PlannedBuild) -> Image:
        """Return the image of this build. It has no digest if the lock only has the image of an older specification.

        Without a record in the lock, the entrypoint is that of the base image, because a build does not change it. A
        build that only adds packages has the vLLM of its base.
        """
        only_packages = not {"repository", "program"} & build.spec.keys()
        locked = self.lock.builds.get(build.name) if self.lock else None
        stale = locked is not None and locked.spec != build.digest
        known = image(build.name, lock=None, mirrors={})
        starts = locked or build.base or known
        return known._replace(
            digest=None if locked is None or stale else locked.id,
            entrypoint=starts.entrypoint,
            command=starts.command,
            build=build.name,
            stale=stale,
            release=build.base.release if build.base is not None and only_packages else known.release,
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
