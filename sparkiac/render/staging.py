"""Render what the playbooks download before units start: weights by commit, images by digest or ID, extra files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from sparkiac.host.generation import ManifestFile, ModelManifest, StagedStore, StoreEntry
from sparkiac.plan import FetchedFile, HostPlan, HubEndpoint, Plan
from sparkiac.plan.parts import FILES, UNLOCKED, ModelRepository, StoredModel
from sparkiac.render import jsontext
from sparkiac.report.artifact import Artifact


def render(plan: Plan) -> Iterator[Artifact]:
    """Render the manifest of each repository, which lists its files; it is copied to every host that needs it."""
    for repository in plan.repositories:
        yield Artifact(repository.manifest, _files(repository))


def stores(host: HostPlan) -> tuple[StagedStore, ...]:
    """Return the models to download into each model store."""
    return tuple(StagedStore(store.path, tuple(_model(each, host) for each in store.models)) for store in host.stores)


def _model(stored: StoredModel, host: HostPlan) -> StoreEntry:
    repository = stored.repository
    own = repository.own
    if own is not None and own.host != host.name:
        own = own._replace(path=None)
    return StoreEntry(repository.model, repository.commit, stored.layout, repository.manifest, own)


def fetch(host: HostPlan, hub: HubEndpoint) -> dict[str, Any]:
    """Return the sources of weights: the model hub, other hosts, and of these the ones with a model of the user's."""
    owners = {own.host for own in host.own_folders if own.host != host.name}
    return {
        "endpoint": hub.url,
        "token": hub.secret,
        "from": jsontext.plain(host.weights_from),
        "owners": sorted(owners),
    }


def image_ids(host: HostPlan) -> dict[str, str]:
    """Return image → image ID, for the images whose ID is in the lock."""
    known = {each.image.pull: each.image.digest if each.image.build else each.image.id for each in host.containers}
    return {pull: image for pull, image in sorted(known.items()) if image is not None}


def extra_files(host: HostPlan, hub: HubEndpoint) -> list[dict[str, Any]]:
    """Return URL, SHA-256 and path of each extra file; files with the same path and content are listed once.

    Those of the hub have their size and the secret with its token, if the inventory names one.
    """
    wanted = {file.path: file for container in host.containers for file in container.storage.files}
    return [_extra(path.removeprefix(f"{FILES}/"), file, hub) for path, file in sorted(wanted.items())]


def _extra(path: str, file: FetchedFile, hub: HubEndpoint) -> dict[str, Any]:
    found = {"url": _address(file, hub), "sha256": file.sha256 or UNLOCKED, "path": path}
    with_token = file.on_hub and file.size_bytes is not None and hub.secret is not None
    return {**found, "size_bytes": file.size_bytes, "token": hub.secret} if with_token else found


def file_paths(host: HostPlan) -> tuple[str, ...]:
    """Return the paths of the extra files below their directory on the host, sorted."""
    found = {file.path for container in host.containers for file in container.storage.files}
    return tuple(path.removeprefix(f"{FILES}/") for path in sorted(found))


def _address(file: FetchedFile, hub: HubEndpoint) -> str:
    """Return the download URL of a file; for the model hub, at the locked commit."""
    if (named := file.on_hub) is None:
        return file.url
    handle, path = named
    return f"{hub.url}/{handle}/resolve/{file.commit or 'main'}/{path}"


def _files(repository: ModelRepository) -> bytes:
    """Return the manifest as JSON with one line per file, so that a diff shows the changed files."""
    files = {path: ManifestFile(sha256, size) for path, (size, sha256) in repository.files.items()}
    head = jsontext.plain(ModelManifest(repository.model, repository.commit, repository.gated, files))
    listed = [f"  {json.dumps(path)}: {json.dumps(file)}" for path, file in head.pop("files").items()]
    lines = [f" {json.dumps(key)}: {json.dumps(head[key])}," for key in sorted(head)]
    return "\n".join(["{", *lines, ' "files": {', ",\n".join(listed), " }", "}", ""]).encode()
