"""Repositories of the model hub's stand-in: real bytes, and the hashes that Git and LFS give them."""

from __future__ import annotations

import hashlib
import json
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

LFS = (".safetensors", ".gguf", ".bin", ".pt", ".pth", ".onnx", ".h5", ".msgpack")
"""Ends of the names of files that lie in LFS, as the hub's own .gitattributes has it."""


def blob_id(content: bytes) -> str:
    """Return Git's hash of a file."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def sha256(content: bytes) -> str:
    """Return the hash that LFS and the lock use."""
    return hashlib.sha256(content).hexdigest()


def safetensors(tensors: Mapping[str, tuple[str, tuple[int, ...], bytes]]) -> bytes:
    """Write a safetensors file: name → type, shape, bytes."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    reached = 0
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [reached, reached + len(content)]}
        reached += len(content)
    raw = json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + b"".join(content for *_, content in tensors.values())


class Repository:
    """A repository with its commits, branches and tags."""

    def __init__(
        self,
        handle: str,
        files: Mapping[str, bytes],
        *,
        card: Mapping[str, Any] | None = None,
        gated: str | bool = False,
        private: bool = False,
    ) -> None:
        """Make it with a first commit on main. `gated` is what the API says: False, "auto" or "manual"."""
        self.handle, self.card, self.gated, self.private = handle, dict(card or {}), gated, private
        self.lfs = LFS
        self.commits: dict[str, dict[str, bytes]] = {}
        self.refs: dict[str, str] = {}
        self.listed: dict[str, dict[str, Any]] = {}
        """Path → keys of its entry in listings that are told otherwise than they are."""
        self.commit(files)

    def commit(self, files: Mapping[str, bytes], *, branch: str = "main") -> str:
        """Put a commit with just these files on a branch, and give its hash."""
        tree = sorted((path, sha256(content)) for path, content in files.items())
        told = json.dumps([self.handle, self.refs.get(branch), len(self.commits), tree])
        made = hashlib.sha1(told.encode(), usedforsecurity=False).hexdigest()
        self.commits[made] = dict(files)
        self.refs[branch] = made
        return made

    def head(self, ref: str = "main") -> str:
        """Return the commit that a branch or tag names."""
        return self.refs[ref]

    def tag(self, name: str, commit: str) -> None:
        """Name a commit."""
        self.refs[name] = commit

    def found(self, revision: str) -> str | None:
        """Return the commit that a revision means, if it means any."""
        return revision if revision in self.commits else self.refs.get(revision)

    def in_lfs(self, path: str) -> bool:
        """Whether a file lies in LFS."""
        return path.endswith(self.lfs)

    def entry(self, path: str, content: bytes) -> dict[str, Any]:
        """Return what the hub lists of a file."""
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256(content)}\nsize {len(content)}\n"
        if not self.in_lfs(path):
            entry = {"size": len(content), "oid": blob_id(content)}
        else:
            lfs = {"oid": sha256(content), "size": len(content), "pointerSize": len(pointer)}
            entry = {"size": len(content), "oid": blob_id(pointer.encode()), "lfs": lfs}
        return entry | self.listed.get(path, {})
