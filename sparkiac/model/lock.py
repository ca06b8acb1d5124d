"""The lock: what every moving name resolved to."""

from __future__ import annotations

from typing import Literal, TypeAlias

from sparkiac.model.base import (
    Bytes,
    Commit,
    Digest,
    FileSource,
    ImageReference,
    InsidePath,
    Line,
    Model,
    ModelHandle,
    Name,
    Sha256,
)

Weights: TypeAlias = Literal["consolidated", "shards"]
"""Forms of weights: Mistral's own, `consolidated*.safetensors`, and all others."""
Form: TypeAlias = Literal["bare", "consolidated", "shards"]
"""In which form an engine loads weights; of a bare repository, such as one with a tokenizer, it loads none."""


class LockedImage(Model):
    """One pinned image."""

    digest: Digest
    """Digest of the index or manifest that hosts pull."""
    manifest: Digest | None = None
    """Digest of the manifest for the hosts' architecture; that of `digest` where no index stands above it."""
    config: Digest | None = None
    """Digest of the image's configuration, which Docker's own store takes for the image's ID."""
    size_bytes: Bytes | None = None
    """Bytes to pull: configuration and layers, compressed."""
    created: Line | None = None
    """When it was built, as the image says."""
    versions: dict[Line, Line] = {}
    """Versions that its labels and variables name: vllm, cuda, torch."""
    signature: Line | None = None
    """What a check of its signature found; nothing if none was made."""
    entrypoint: tuple[Line, ...] | None = None
    """Entrypoint of the pinned image, which decides how its command is written."""
    command: tuple[Line, ...] | None = None
    """Default command of the pinned image."""


class LockedFile(Model):
    """One pinned file."""

    sha256: Sha256
    """What its bytes must hash to."""
    size_bytes: Bytes | None = None
    """Its size."""
    commit: Commit | None = None
    """Commit of the hub's repository that it is fetched at."""
    revision: Line = "main"
    """Branch, tag or commit of that repository that was asked for."""


class ModelFile(Model):
    """One file of a repository on the model hub."""

    size_bytes: Bytes
    """Its size."""
    sha256: Sha256
    """What its bytes must hash to."""


class LockedModel(Model):
    """One repository of the model hub at one commit: weights, tokenizer or drafter."""

    commit: Commit
    """The commit that hosts download."""
    revision: Line = "main"
    """Branch, tag or commit that was asked for."""
    licence: Line | None = None
    """Licence, as its card says."""
    gated: bool = False
    """Whether the download needs an accepted licence and a token."""
    remote_code: bool = False
    """Whether config.json or tokenizer_config.json names Python code of the repository (`auto_map`)."""
    tensors: dict[Line, Bytes] = {}
    """Element type, as safetensors names it (BF16, F8_E4M3, U8) → elements, over all weight files that are staged."""
    tensor_bytes: Bytes | None = None
    """Bytes of all tensors; nothing where the weights are no safetensors."""
    config: dict[str, object] = {}
    """What the memory proof needs of config.json, under its own names, and of hf_quant_config.json under that."""
    files: dict[InsidePath, ModelFile] = {}
    """Path in the repository → what it must be. Only what a host needs is listed."""
    left_out: tuple[Weights, ...] = ()
    """Weights that the repository has in another form, or hosts need not at all, such as of one with a tokenizer."""


class LockedBuild(Model):
    """One image that was built from source."""

    id: Digest
    """ID of the image, by which hosts run it: no registry has it."""
    spec: Digest
    """Hash of what it was built from."""
    entrypoint: tuple[Line, ...] | None = None
    """Entrypoint of the finished image."""
    command: tuple[Line, ...] | None = None
    """Default command of the finished image."""


class Lock(Model):
    """Everything that an inventory's moving names resolved to."""

    version: Literal[1]
    """Version of the lock's format. Another number belongs to another version of sparkiac: use that version."""
    example: bool = False
    """True for shipped examples, whose digests name no real image."""
    images: dict[ImageReference, LockedImage]
    """Image reference as the inventory or recipe writes it → what it resolved to."""
    models: dict[ModelHandle, LockedModel] = {}
    """Repository → what it resolved to."""
    files: dict[FileSource, LockedFile] = {}
    """Address of an extra file as the inventory or recipe writes it → what it resolved to."""
    builds: dict[Name, LockedBuild] = {}
    """Name of a build → the image that came out of it."""
