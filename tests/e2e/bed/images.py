"""The engine stand-in as a container image: an OCI layout written by hand, without an engine.

The image is made of Python from the hosts' own root, so no second bootstrap is needed, and one
root always gives the same digests.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.bed import layers, ray, rootfs
from tests.e2e.bed.shell import locked

if TYPE_CHECKING:
    from collections.abc import Mapping

STAND_IN = Path(__file__).parents[2] / "standin"
STAND_IN_FILES = {
    "agents.py": 0o644, "answers.py": 0o644, "arguments.py": 0o644, "group.py": 0o644, "interface.json": 0o644,
    "metrics.py": 0o644, "ray_workers.py": 0o644, "server.py": 0o644, "vllm": 0o755,
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

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


def layout(
    *,
    entrypoint: list[str],
    version: str,
    files: Mapping[str, bytes] | None = None,
    with_ray: bool = False,
    user: str = "",
) -> Path:
    """Return a built layout, building it when these very contents have not been built yet.

    `files` replace the stand-in: path in the image → content. `with_ray` adds Ray. `user` is that of the image.
    """
    stand_in = b"".join(
        [name.encode() + content for name, content in sorted(files.items())]
        if files
        else [(STAND_IN / name).read_bytes() for name in STAND_IN_FILES]
    )
    made_of = json.dumps([entrypoint, version, rootfs.key(), with_ray, user]).encode()
    makers = b"".join(Path(str(each.__file__)).read_bytes() for each in (sys.modules[__name__], layers, ray))
    digest = hashlib.sha256(made_of + stand_in + makers).hexdigest()[:16]
    target = layers.kept() / digest
    with locked(rootfs.cache() / "images.lock"):
        if not target.exists():
            scratch = target.with_name(target.name + ".new")
            shutil.rmtree(scratch, ignore_errors=True)
            below = [layers.base(), *([ray.layer()] if with_ray else [])]
            top = [layers.file(name.lstrip("/"), each, mode=0o755) for name, each in (files or {}).items()]
            build(scratch, entrypoint, version, user=user, parts=[*below, layers.layer(top or _engine_files())])
            scratch.rename(target)
    return target


def build(dest: Path, entrypoint: list[str], version: str, parts: list[layers.Layer], *, user: str = "") -> str:
    """Write an OCI layout with one image index (amd64, arm64) to `dest`; return its digest.

    Both architectures carry the same files, and their programs are this machine's: the index is
    there to be resolved and pinned as a real one, and its arm64 image is not run here.
    """
    blobs = dest / "blobs/sha256"
    blobs.mkdir(parents=True)
    manifests = []
    for architecture in ARCHITECTURES:
        config = _config(architecture, entrypoint, version, [raw for _, raw in parts], user)
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": _blob(blobs, CONFIG, _json(config)),
            "layers": [_blob(blobs, LAYER, packed) for packed, _ in parts],
        }
        platform = {"architecture": architecture, "os": "linux"}
        manifests.append({**_blob(blobs, MANIFEST, _json(manifest)), "platform": platform})
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests}
    top = _blob(blobs, INDEX, _json(index))
    (dest / "index.json").write_bytes(_json({"schemaVersion": 2, "manifests": [top]}))
    (dest / "oci-layout").write_bytes(_json({"imageLayoutVersion": "1.0.0"}))
    return str(top["digest"])


def _config(
    architecture: str, entrypoint: list[str], version: str, unpacked: list[str], user: str
) -> dict[str, object]:
    return {
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": user,
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
        "rootfs": {"type": "layers", "diff_ids": unpacked},
    }


def _engine_files() -> list[layers.Entry]:
    return [
        layers.file("opt/nvidia/nvidia_entrypoint.sh", NGC_SCRIPT.encode(), mode=0o755),
        layers.file("usr/local/bin/nvidia-smi", SMI_SCRIPT.encode(), mode=0o755),
        *(
            layers.file(f"opt/standin/{name}", (STAND_IN / name).read_bytes(), mode=mode)
            for name, mode in STAND_IN_FILES.items()
        ),
        # Python looks for the stand-in's modules beside the file, not beside the link.
        layers.link("usr/local/bin/vllm", "/opt/standin/vllm"),
    ]


# -- blobs ------------------------------------------------------------------------------------


def _json(document: dict[str, object]) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def _blob(blobs: Path, media_type: str, content: bytes) -> dict[str, object]:
    digest = hashlib.sha256(content).hexdigest()
    (blobs / digest).write_bytes(content)
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}
