"""The models of a host, as `stage` and preflight read them: what is in each store, and the files of each model."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class StagedModel(NamedTuple):
    """A model that the playbooks download into a model store."""

    model: str
    commit: str
    layout: str
    """`hub` or `directory`."""
    manifest: str
    """Path of the manifest that lists its files."""


class StagedStore(NamedTuple):
    """A model store and the models that are downloaded into it: the argument --stores of `stage`."""

    path: str
    models: tuple[StagedModel, ...]


class NodeWeights(NamedTuple):
    """A model whose files preflight compares with its manifest before a node of a group starts."""

    path: str
    """Directory with the files."""
    commit: str
    manifest: str
    """Path of the manifest below /etc/sparkiac."""


class ManifestFile(NamedTuple):
    """One file of a model."""

    sha256: str
    size_bytes: int


class ModelManifest(NamedTuple):
    """The files of one commit of a model, models/<name>.json."""

    model: str
    commit: str
    gated: bool
    files: Mapping[str, ManifestFile]
