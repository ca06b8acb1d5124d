"""What is put on hosts before anything starts: weights by commit, images by digest or by ID."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from sparkiac.artifact import Artifact
from sparkiac.plan.contract import ManifestFile, ModelManifest, StagedModel, StagedStore
from sparkiac.render import jsontext

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sparkiac.plan import HostPlan, HubEndpoint, Plan
    from sparkiac.plan.parts import ModelRepository, Peer, StoredModel


def render(plan: Plan) -> Iterator[Artifact]:
    """Render one list of files for each repository: every host that needs it gets a copy."""
    for repository in plan.repositories:
        yield Artifact(_manifest(repository), _files(repository))


def stores(host: HostPlan) -> tuple[StagedStore, ...]:
    """Say what is staged into each model store."""
    return tuple(StagedStore(store.path, tuple(map(_model, store.models))) for store in host.stores)


def _model(stored: StoredModel) -> StagedModel:
    repository = stored.repository
    return StagedModel(repository.model, repository.commit, stored.layout, _manifest(repository))


def fetch(host: HostPlan, hub: HubEndpoint) -> dict[str, Any]:
    """Say where weights come from."""
    near = [peer._asdict() for peer in host.weights_from]
    return {"endpoint": hub.url, "token": hub.secret, "from": near}


def peer(found: Peer | None) -> dict[str, str] | None:
    """Say where images come from, if another host gives them."""
    return None if found is None else found._asdict()


def image_ids(host: HostPlan) -> dict[str, str]:
    """Give the ID that each image must have, as far as the lock knows it."""
    known = {each.image.pull: each.image.digest if each.image.build else each.image.id for each in host.containers}
    return {pull: image for pull, image in sorted(known.items()) if image is not None}


def digests(artifacts: Iterable[Artifact]) -> dict[str, str]:
    """Give the SHA-256 of each artifact by its path."""
    return {each.path: hashlib.sha256(each.content).hexdigest() for each in artifacts}


def generation(host: HostPlan, files: Mapping[str, str]) -> str:
    """Name all that is applied to a host by its hash; `files` maps each path to its SHA-256."""
    text = json.dumps([files, jsontext.plain(stores(host)), image_ids(host), peer(host.images_from)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _manifest(repository: ModelRepository) -> str:
    return f"models/{repository.slug}.json"


def _files(repository: ModelRepository) -> bytes:
    """Write a file in a line, so that a diff shows which one changed."""
    files = {path: ManifestFile(sha256, size) for path, (size, sha256) in repository.files.items()}
    head = jsontext.plain(ModelManifest(repository.model, repository.commit, repository.gated, files))
    listed = [f"  {json.dumps(path)}: {json.dumps(file)}" for path, file in head.pop("files").items()]
    lines = [f" {json.dumps(key)}: {json.dumps(head[key])}," for key in sorted(head)]
    return "\n".join(["{", *lines, ' "files": {', ",\n".join(listed), " }", "}", ""]).encode()
