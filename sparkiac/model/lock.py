"""The lock file: the exact version of every image, model, file, build and source of recipes of an inventory."""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, Self, TypeAlias

from pydantic import model_validator

from sparkiac.model import forms
from sparkiac.model.base import (
    Bytes,
    Commit,
    Day,
    Digest,
    FileSource,
    GitAddress,
    GitRef,
    HostName,
    ImageReference,
    InsidePath,
    Line,
    Model,
    ModelHandle,
    Name,
    PackageName,
    PackageVersion,
    RepositoryFolder,
    Sha256,
    SshKey,
    UtcTime,
    Version,
)
from sparkiac.model.references import hub_file
from sparkiac.report import Path

WeightFormat: TypeAlias = Literal["consolidated", "shards"]
"""File formats of weights: Mistral's `consolidated*.safetensors`, or the usual shards."""
LoadedFormat: TypeAlias = Literal["bare", "consolidated", "shards"]
"""File format that an engine loads from a repository; `bare` if it loads no weights, such as a tokenizer repository."""


class LockedImage(Model):
    """One pinned image."""

    digest: Digest
    """Digest of the image index or manifest that hosts pull."""
    manifest: Digest | None = None
    """Digest of the manifest for the architecture of the hosts; the same as `digest` if there is no index."""
    config: Digest | None = None
    """Digest of the image configuration, which Docker's classic image store uses as the image ID."""
    size_bytes: Bytes | None = None
    """Bytes to pull: configuration and compressed layers."""
    created: Line | None = None
    """Build time, as recorded in the image."""
    versions: dict[Line, Line] = {}
    """Versions of vllm, cuda and torch, from the labels and environment of the image."""
    signature: Line | None = None
    """Result of the signature check; omitted if the signature was not checked."""
    entrypoint: tuple[Line, ...] | None = None
    """Entrypoint of the pinned image; the generated command depends on it."""
    command: tuple[Line, ...] | None = None
    """Default command of the pinned image."""


class LockedFile(Model):
    """One pinned file."""

    sha256: Sha256
    """Expected SHA-256 of the file."""
    size_bytes: Bytes | None = None
    """Size in bytes."""
    commit: Commit | None = None
    """Commit of the model hub repository that it is downloaded from."""
    revision: Line = "main"
    """Requested branch, tag or commit of that repository."""
    needs_token: bool = False
    """Whether that repository is gated or private: hosts download the file only with a token."""


class ModelFile(Model):
    """One file of a repository on the model hub."""

    size_bytes: Bytes
    """Size in bytes."""
    sha256: Sha256
    """Expected SHA-256 of the file."""


class LockedModel(Model):
    """One repository on the model hub at one commit: weights, tokenizer or drafter."""

    commit: Commit
    """Commit that hosts download; for a model of `own_models` a hash of its files."""
    revision: Line = "main"
    """Requested branch, tag or commit; for a model of `own_models` its host and path."""
    licence: Line | None = None
    """Licence, from the model card."""
    gated: bool = False
    """Whether the download needs accepted terms and a token."""
    private: bool = False
    """Whether the download needs the token of an account with access."""
    remote_code: bool = False
    """Whether config.json or tokenizer_config.json names Python code of the repository (`auto_map`)."""
    tensors: dict[Line, Bytes] = {}
    """Number of elements in all downloaded weight files, by element type as in safetensors (BF16, F8_E4M3, U8)."""
    tensor_bytes: Bytes | None = None
    """Bytes of all tensors; omitted if the weights are not safetensors."""
    config: dict[str, object] = {}
    """Keys of config.json for the memory calculation; those of hf_quant_config.json are under the key of that name."""
    files: dict[InsidePath, ModelFile] = {}
    """Files that a host needs, by path in the repository."""
    left_out: tuple[WeightFormat, ...] = ()
    """Weight formats in the repository that hosts do not download."""


class LockedBuild(Model):
    """One image that was built from source."""

    id: Digest
    """Image ID; hosts run the image by its ID because no registry has it."""
    spec: Digest
    """Hash of the build specification."""
    entrypoint: tuple[Line, ...] | None = None
    """Entrypoint of the finished image."""
    command: tuple[Line, ...] | None = None
    """Default command of the finished image."""


class RecipeSource(Model):
    """A Git repository or an OCI artifact with recipes."""

    git: GitAddress | None = None
    """Address of a Git repository. A source has either `git` or `oci`."""
    oci: ImageReference | None = None
    """Reference of an artifact in an OCI registry: the tag that `sparkiac recipes fetch` pins, or a digest."""
    revision: GitRef = "HEAD"
    """With `git`: branch, tag or commit that `sparkiac recipes fetch` pins; the default branch if omitted."""
    path: RepositoryFolder = "recipes"
    """Folder of the recipes in the repository or artifact; `.` if they are at its top."""
    format: Literal["sparkiac", "sparkrun", "eugr"] = "sparkiac"
    """Format of the recipes. Those of sparkrun and of eugr/spark-vllm-docker are converted when they are fetched."""
    signed_by: tuple[SshKey, ...] = ()
    """With `git`: public SSH keys; `sparkiac recipes fetch` takes only commits that one of them signed."""

    @property
    def address(self) -> str:
        """Return the address of the repository, or the reference of the artifact."""
        return self.git or self.oci or ""

    @model_validator(mode="after")
    def _has_one_address(self) -> Self:
        if (self.git is None) == (self.oci is None):
            message = "a source has either git, the address of a repository, or oci, the reference of an artifact"
            raise ValueError(message)
        if self.oci and "revision" in self.model_fields_set:
            raise ValueError("revision is for git alone; oci contains the tag or the digest: registry/repository:tag")
        if self.oci and self.signed_by:
            raise ValueError("signed_by is for git alone; name the digest of an artifact in oci")
        return self


class LockedSource(RecipeSource):
    """One pinned repository or artifact with recipes."""

    commit: Commit | None = None
    """Commit of the Git repository that the recipes were read from."""
    digest: Digest | None = None
    """Digest of the manifest of the OCI artifact that the recipes were read from."""
    created: UtcTime | None = None
    """Time of the commit, or what the manifest of the artifact says. An upgrade takes nothing older."""
    files: dict[InsidePath, Sha256] = {}
    """SHA-256 of each file below `sources/NAME`."""
    refused: tuple[Line, ...] = ()
    """Files of the source that are not used, each as `PATH:LINE: reason`."""

    @property
    def pin(self) -> str:
        """Return the commit or the digest."""
        return self.commit or self.digest or ""

    @model_validator(mode="after")
    def _has_its_pin(self) -> Self:
        if (self.commit is None) != (self.git is None) or (self.digest is None) != (self.oci is None):
            raise ValueError("a source with git is pinned by commit, a source with oci by digest")
        return self


class HostSet(Model):
    """The software of hosts that belongs together, as it ran when it was pinned, and their firmware."""

    kernel: Line | None = None
    """Release of the running kernel."""
    cmdline: Line | None = None
    """Kernel parameters, without those that name disks of the host."""
    kexec_crash_size: Bytes | None = None
    """Bytes that the kernel reserves for a crash kernel."""
    driver: Version | None = None
    """Version of the loaded NVIDIA kernel module."""
    modules: Literal["open", "proprietary"] | None = None
    """Flavour of that module."""
    secure_boot: bool | None = None
    """Whether Secure Boot is on."""
    docker_firewall: Line | None = None
    """Firewall backend of Docker."""
    toolkit_mode: Line | None = None
    """Mode of the NVIDIA container runtime."""
    packages: dict[PackageName, PackageVersion] = {}
    """Versions of the packages of kernel, driver, container toolkit and Docker, which the host keeps."""
    firmware: dict[Name, Line] = {}
    """Versions of `bios`, `ec` and `connectx`, which are compared and never changed."""
    since: Day
    """Day on which it was pinned."""
    review_by: Day
    """Day by which somebody decides about the updates that it withholds."""

    def values(self) -> dict[str, str]:
        """Return what is pinned, by dotted names."""
        plain = self.model_dump(exclude={"since", "review_by"}, exclude_none=True)
        nested = ("packages", "firmware")
        flat = {key: str(value) for key, value in plain.items() if key not in nested}
        return flat | {f"{key}.{name}": value for key in nested for name, value in plain[key].items()}

    def differing(self, other: "HostSet") -> Iterator[tuple[str, str, str]]:
        """Yield name and both values of what differs; `-` stands for a value that one of them lacks."""
        one, two = self.values(), other.values()
        for name in dict.fromkeys((*one, *two)):
            if one.get(name) != two.get(name):
                yield name, one.get(name, "-"), two.get(name, "-")


class LockedHosts(Model):
    """The pinned software of hosts; hosts that are alike share a set."""

    sets: dict[Name, HostSet] = {}
    """Sets by name: a, b, …"""
    members: dict[HostName, Name] = {}
    """Host → the set that it has."""

    def of(self, host: str) -> HostSet | None:
        """Return the set of a host; None if it is not pinned."""
        return self.sets.get(self.members.get(host, ""))

    @model_validator(mode="after")
    def _has_every_set(self) -> Self:
        missing = sorted(set(self.members.values()) - self.sets.keys())
        if missing:
            raise ValueError(f"members name {missing[0]}, which sets lacks")
        return self


class Contradiction(NamedTuple):
    """A pin in a lock, and the other value that the same lock names for it."""

    path: Path
    pinned: str | None
    named: str
    """Empty if nothing names a value."""
    where: str
    """What names it, for a message."""


class Lock(Model):
    """The exact versions of everything that an inventory uses."""

    version: Literal[1]
    """Version of the lock's format. Another number belongs to another version of sparkiac: use that version."""
    example: bool = False
    """True for a lock whose digests, commits and hashes are made up."""
    images: dict[ImageReference, LockedImage]
    """Pinned images, by image reference in the inventory or recipe."""
    models: dict[ModelHandle, LockedModel] = {}
    """Pinned models, by repository on the model hub."""
    files: dict[FileSource, LockedFile] = {}
    """Pinned extra files, by URL in the inventory or recipe."""
    builds: dict[Name, LockedBuild] = {}
    """Built images, by name of the build."""
    sources: dict[Name, LockedSource] = {}
    """Repositories of recipes, by name in the inventory."""
    hosts: LockedHosts | None = None
    """Pinned software of hosts."""

    def contradictions(self) -> Iterator[Contradiction]:
        """Yield the pins that differ from what their key, their revision or the entry of their repository names."""
        return (each for each in self._named() if each.named and each.pinned and each.pinned != each.named)

    def _named(self) -> Iterator[Contradiction]:
        for name, image in self.images.items():
            yield Contradiction(("images", name, "digest"), image.digest, name.partition("@")[2], "its key")
        for section, entries in (("models", self.models), ("files", self.files)):
            for name, entry in entries.items():
                commit = entry.revision if re.fullmatch(forms.COMMIT, entry.revision) else ""
                yield Contradiction((section, name, "commit"), entry.commit, commit, "its revision")
        for url, file in self.files.items():
            handle, path = hub_file(url) or ("", "")
            model = self.models.get(handle)
            if model is not None and model.revision == file.revision:
                hashed = model.files[path].sha256 if path in model.files else ""
                yield Contradiction(("files", url, "commit"), file.commit, model.commit, f"models.{handle}")
                yield Contradiction(("files", url, "sha256"), file.sha256, hashed, f"models.{handle}")
