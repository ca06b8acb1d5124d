"""The format of the list of the files of a model, which `stage` reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


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
