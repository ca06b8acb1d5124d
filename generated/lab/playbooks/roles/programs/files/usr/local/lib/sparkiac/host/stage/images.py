"""Load images from another host, and inspect the images of this host with Docker."""

from __future__ import annotations

import http.client
import json
import re
import subprocess

from ..local import LocalHost
from .http import Address, IncompleteError, SourceRefusedError, open_at, received, without_query
from .store import CHUNK_BYTES, StageError

IMAGE_ID = re.compile(r"sha256:[0-9a-f]{64}")
LOADED = re.compile(r"Loaded image(?: ID)?: (\S+)")


def docker(*words: str) -> tuple[int, str]:
    """Run docker; return its exit status and its output on one line."""
    try:
        done = LocalHost().run("docker", *words)
    except OSError as error:
        raise StageError(f"docker cannot be run: {error.strerror}") from None
    return done.code, " ".join((done.errors + done.output if done.code else done.output).split())


def inspect(name: str) -> tuple[str, int] | None:
    """Return the ID and the size in bytes of an image; None if it does not exist on this host."""
    status, said = docker("image", "inspect", "--format", "{{.Id}} {{.Size}}", name)
    if status and "no such image" not in said.lower():
        raise StageError(f"docker image inspect {name}: {said}")
    identity, _, size = said.partition(" ")
    return None if status else (identity, int(size))


def here() -> set[str]:
    """Return the IDs of all images."""
    status, said = docker("image", "ls", "--all", "--quiet", "--no-trunc")
    if status:
        raise StageError(f"docker image ls: {said}")
    return set(said.split())


def load(name: str, url: str, token: str) -> bool:
    """Load the image with this ID from a host that shares it; return whether it was missing.

    All other images in the received archive are removed again.
    """
    if not IMAGE_ID.fullmatch(name):
        raise StageError(f"not an image ID: {name}")
    before = here()
    if name in before:
        return False
    output = receive(Address(f"{url}/image/{name}", token, (), direct=True))
    # Only images that docker reports as loaded: other new images may have been pulled or built in the meantime.
    unexpected = sorted({found[0] for each in LOADED.findall(output) if (found := inspect(each))} - before - {name})
    for each in unexpected:
        docker("image", "rm", "--force", each)
    if unexpected or not inspect(name):
        received = ", ".join(unexpected) or output or "nothing"
        raise StageError(f"{url} sent {received} instead of the image {name}; it was removed. {image_store_hint()}")
    return True


def receive(address: Address) -> str:
    """Stream an archive into `docker load`; return its output."""
    try:
        with open_at(address, 0) as answer:
            argv, pipe = ("docker", "load"), subprocess.PIPE
            loading = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT)  # noqa: S603
            assert loading.stdin  # noqa: S101 - a pipe was asked for
            try:
                while chunk := received(answer, CHUNK_BYTES):
                    loading.stdin.write(chunk)
            except BaseException:
                loading.kill()
                loading.wait()
                raise
            said = " ".join(loading.communicate()[0].decode("utf-8", "replace").split())
    except (OSError, IncompleteError, http.client.HTTPException) as error:
        raise SourceRefusedError(f"{without_query(address.url)}: {type(error).__name__}: {error}") from None
    if loading.returncode:
        raise SourceRefusedError(f"{without_query(address.url)}: docker load: {said}")
    return said


def image_store_hint() -> str:
    """Return why an image ID may be wrong: IDs in containerd's image store differ from those in the classic one."""
    status, said = docker("info", "--format", "{{json .DriverStatus}}")
    if status == 0 and "io.containerd.snapshotter" in json.dumps(said):
        return "Docker on this host uses containerd's image store, which has other IDs: pull by digest on this host"
    return "The archive contains another image than the lock names"
