"""Images that are built from source: the build specification, its hash, and the image that the lock has for it."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from sparkiac.plan.image import image
from sparkiac.plan.values import PlannedBuild
from sparkiac.resolve.builds import images

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.model.resolved import ResolvedBuild
    from sparkiac.plan.image import Image
    from sparkiac.report import Path
    from sparkiac.resolve import Resolved


def image_of(resolved: Resolved, reference: str, *, host: str) -> Image:
    """Return an image that a host runs; the reference may be the name of a build."""
    if reference in resolved.fleet.builds:
        found = _built(resolved, _build(resolved, reference, ()))
    else:
        found = _from_registry(resolved, reference)
    known = resolved.interfaces
    interface = known.get(found.digest or "") or known.get(found.id or "")
    return found._replace(interface=interface, copied=resolved.written.hosts[host].images_from is not None)


def used_builds(resolved: Resolved) -> Iterator[PlannedBuild]:
    """Return the builds that a deployment or service uses, sorted by name, each with the path that first names it."""
    for name in resolved.fleet.builds:
        users = (user for user, reference in images(resolved.leaves) if reference == name)
        yield _build(resolved, name, (*min(users), "image"))


def _from_registry(resolved: Resolved, reference: str) -> Image:
    return image(reference, lock=resolved.lock, mirrors=resolved.written.registries.mirrors)


def _build(resolved: Resolved, name: str, path: Path) -> PlannedBuild:
    values = resolved.fleet.builds[name]
    base = _from_registry(resolved, values.base) if values.base is not None else None
    spec = _spec(values, base)
    text = json.dumps(spec, sort_keys=True, separators=(",", ":"))
    return PlannedBuild(name, path, spec, f"sha256:{hashlib.sha256(text.encode()).hexdigest()}", base)


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


def _built(resolved: Resolved, build: PlannedBuild) -> Image:
    """Return the image of this build. It has no digest if the lock only has the image of an older specification.

    Without a record in the lock, the entrypoint is that of the base image, because a build does not change it. A build
    that only adds packages has the vLLM of its base.
    """
    only_packages = not {"repository", "program"} & build.spec.keys()
    locked = resolved.lock.builds.get(build.name) if resolved.lock else None
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
