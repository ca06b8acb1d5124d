"""The engine stand-in as a container image: an OCI layout written by hand, without an engine.

The image is made of Python from the hosts' own root, so no second bootstrap is needed, and one
root always gives the same digests.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import stat
import tarfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from tests.e2e.bed import rootfs
from tests.e2e.bed.shell import locked, run

if TYPE_CHECKING:
    from collections.abc import Mapping

STAND_IN = Path(__file__).parents[2] / "standin"
STAND_IN_FILES = {
    "answers.py": 0o644, "arguments.py": 0o644, "group.py": 0o644, "interface.json": 0o644,
    "metrics.py": 0o644, "server.py": 0o644, "vllm": 0o755,
}  # fmt: skip
VERSION = "0.19.0"
NGC_ENTRYPOINT = ("/opt/nvidia/nvidia_entrypoint.sh",)
SERVE_ENTRYPOINT = ("vllm", "serve")
NGC_SCRIPT = """#!/bin/sh
echo "stand-in of the NGC images' pass-through entrypoint: executing: $*"
exec "$@"
"""
SMI_SCRIPT = """#!/bin/sh
# Stands for the program that NVIDIA's hook mounts into a container that has a GPU.
echo "GPU 0: NVIDIA GB10 (test bed stand-in)"
"""
ARCHITECTURES = ("amd64", "arm64")
PROGRAMS = ("cat", "dash", "env", "id", "ls", "sh", "sleep")
# Parts of the standard library that a server does not need.
LEFT_OUT = ("config-", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "test", "tkinter", "turtledemo")

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


def layout(*, entrypoint: list[str], version: str, files: Mapping[str, bytes] | None = None) -> Path:
    """Return a built layout, building it when these very contents have not been built yet.

    `files` replace the stand-in: path in the image → content.
    """
    stand_in = b"".join(
        [name.encode() + content for name, content in sorted(files.items())]
        if files
        else [(STAND_IN / name).read_bytes() for name in STAND_IN_FILES]
    )
    made_of = json.dumps([entrypoint, version, rootfs.key()]).encode()
    digest = hashlib.sha256(made_of + stand_in + Path(__file__).read_bytes()).hexdigest()[:16]
    target = _kept() / digest
    with locked(rootfs.cache() / "images.lock"):
        if not target.exists():
            scratch = target.with_name(target.name + ".new")
            shutil.rmtree(scratch, ignore_errors=True)
            build(scratch, entrypoint=entrypoint, version=version, files=files)
            scratch.rename(target)
    return target


def build(dest: Path, *, entrypoint: list[str], version: str, files: Mapping[str, bytes] | None = None) -> str:
    """Write an OCI layout with one image index (amd64, arm64) to `dest`; return its digest.

    Both architectures carry the same files, and their programs are this machine's: the index is
    there to be resolved and pinned as a real one, and its arm64 image is not run here.
    """
    blobs = dest / "blobs/sha256"
    blobs.mkdir(parents=True)
    own = (
        [_file(name.lstrip("/"), content, mode=0o755) for name, content in files.items()] if files else _engine_files()
    )
    layers = [_base_layer(), _layer(own)]
    manifests = []
    for architecture in ARCHITECTURES:
        config = _config(architecture, entrypoint, version, [raw for _, raw in layers])
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": _blob(blobs, CONFIG, _json(config)),
            "layers": [_blob(blobs, LAYER, packed) for packed, _ in layers],
        }
        platform = {"architecture": architecture, "os": "linux"}
        manifests.append({**_blob(blobs, MANIFEST, _json(manifest)), "platform": platform})
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests}
    top = _blob(blobs, INDEX, _json(index))
    (dest / "index.json").write_bytes(_json({"schemaVersion": 2, "manifests": [top]}))
    (dest / "oci-layout").write_bytes(_json({"imageLayoutVersion": "1.0.0"}))
    return str(top["digest"])


def _config(architecture: str, entrypoint: list[str], version: str, layers: list[str]) -> dict[str, object]:
    return {
        "architecture": architecture,
        "os": "linux",
        "config": {
            "Env": [
                "PATH=/usr/local/bin:/usr/bin:/bin",
                "PYTHONUNBUFFERED=1",
                f"STANDIN_VERSION={version}",
            ],
            "Entrypoint": entrypoint,
            "Labels": {
                "org.opencontainers.image.description": "sparkiac's engine stand-in, not vLLM",
                "org.opencontainers.image.version": version,
            },
        },
        "rootfs": {"type": "layers", "diff_ids": layers},
    }


# -- layers -----------------------------------------------------------------------------------


def _engine_files() -> list[tuple[tarfile.TarInfo, bytes]]:
    return [
        _file("opt/nvidia/nvidia_entrypoint.sh", NGC_SCRIPT.encode(), mode=0o755),
        _file("usr/local/bin/nvidia-smi", SMI_SCRIPT.encode(), mode=0o755),
        *(
            _file(f"opt/standin/{name}", (STAND_IN / name).read_bytes(), mode=mode)
            for name, mode in STAND_IN_FILES.items()
        ),
        # Python looks for the stand-in's modules beside the file, not beside the link.
        _link("usr/local/bin/vllm", "/opt/standin/vllm"),
    ]


def _kept() -> Path:
    """Return where images are kept that are made of the present root; they go when it goes."""
    directory = rootfs.built().with_suffix(".images")
    directory.mkdir(exist_ok=True)
    return directory


def _base_layer() -> tuple[bytes, str]:
    """Return the layer of Python and a shell, compressed and the digest of what it unpacks to."""
    made_by = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]
    kept = _kept() / f"base-{made_by}.tar.gz"
    if not kept.exists():
        packed, _ = _layer(_python_files(rootfs.built()))
        scratch = kept.with_suffix(f".{os.getpid()}")
        scratch.write_bytes(packed)
        scratch.rename(kept)
    packed = kept.read_bytes()
    return packed, f"sha256:{hashlib.sha256(gzip.decompress(packed)).hexdigest()}"


def _python_files(root: Path) -> list[tuple[tarfile.TarInfo, bytes]]:
    files = [
        _directory("tmp", mode=0o1777),
        _file("etc/passwd", b"root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n"),
        _file("etc/group", b"root:x:0:\nnogroup:x:65534:\n"),
    ]
    files += [_from_root(root, name) for name in _paths(root)]
    return files


def _paths(root: Path) -> list[str]:
    """Return what Python and the few programs consist of, links of a merged /usr included."""
    python = run(["chroot", root, "readlink", "-f", "/usr/bin/python3"]).stdout.strip().lstrip("/")
    library = root / "usr/lib" / PurePosixPath(python).name
    names = {"bin", "lib", "lib64", "sbin", "usr/bin/python3", python}
    names |= {f"usr/bin/{name}" for name in PROGRAMS}
    for directory, below, files in os.walk(library):
        if Path(directory) == library:
            below[:] = [name for name in below if not name.startswith(LEFT_OUT)]
        names |= {str((Path(directory) / name).relative_to(root)) for name in files}
    binaries = [f"/{name}" for name in names if name.startswith("usr/bin/") or name.endswith(".so")]
    linked = run(["chroot", root, "ldd", *sorted(binaries)], check=False).stdout.split()
    for name in {word for word in linked if re.fullmatch(r"/\S+\.so[.\d]*", word)}:
        # As merged: the loader asks for /lib64/…, and the file is at /usr/lib64/….
        merged = name.lstrip("/") if name.startswith("/usr/") else f"usr{name}"
        names |= {merged, run(["chroot", root, "readlink", "-f", name]).stdout.strip().lstrip("/")}
    return sorted(name for name in names if (root / name).is_symlink() or (root / name).is_file())


def _from_root(root: Path, name: str) -> tuple[tarfile.TarInfo, bytes]:
    path = root / name
    if path.is_symlink():
        return _link(name, str(path.readlink()))
    # Compiled modules are valid only beside a source of the very time they name, and a container
    # with a read-only root cannot compile its own.
    status = path.stat()
    return _file(name, path.read_bytes(), mode=stat.S_IMODE(status.st_mode), mtime=int(status.st_mtime))


def _directory(name: str, *, mode: int) -> tuple[tarfile.TarInfo, bytes]:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = tarfile.DIRTYPE, mode
    return entry, b""


def _link(name: str, target: str) -> tuple[tarfile.TarInfo, bytes]:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = tarfile.SYMTYPE, target
    return entry, b""


def _file(name: str, content: bytes, *, mode: int = 0o644, mtime: int = 0) -> tuple[tarfile.TarInfo, bytes]:
    entry = tarfile.TarInfo(name)
    entry.mode, entry.size, entry.mtime = mode, len(content), mtime
    return entry, content


def _layer(files: list[tuple[tarfile.TarInfo, bytes]]) -> tuple[bytes, str]:
    """Return a compressed layer and the digest of what it unpacks to."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for entry, content in files:
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(raw.getvalue(), 1, mtime=0), f"sha256:{hashlib.sha256(raw.getvalue()).hexdigest()}"


# -- blobs ------------------------------------------------------------------------------------


def _json(document: dict[str, object]) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def _blob(blobs: Path, media_type: str, content: bytes) -> dict[str, object]:
    digest = hashlib.sha256(content).hexdigest()
    (blobs / digest).write_bytes(content)
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}
