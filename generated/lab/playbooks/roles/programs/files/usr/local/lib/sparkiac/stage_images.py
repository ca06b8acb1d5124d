"""Images: those that come from another host, and what Docker says of those that are here."""

from __future__ import annotations

import http.client
import json
import re
import subprocess

from stage_http import Address, CutError, RefusedError, open_at, plain
from stage_store import CHUNK_BYTES, StageError

IMAGE_ID = re.compile(r"sha256:[0-9a-f]{64}")
LOADED = re.compile(r"Loaded image(?: ID)?: (\S+)")


def docker(*words: str) -> tuple[int, str]:
    """Run docker; return its status and all that it says, on one line."""
    try:
        argv = ("docker", *words)
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # noqa: S603
    except OSError as error:
        message = f"docker cannot be run: {error.strerror}"
        raise StageError(message) from None
    return done.returncode, " ".join((done.stdout if done.returncode == 0 else done.stderr + done.stdout).split())


def inspect(name: str) -> tuple[str, int] | None:
    """Return the ID and the size in bytes of an image; None when it is not here."""
    status, said = docker("image", "inspect", "--format", "{{.Id}} {{.Size}}", name)
    if status and "no such image" not in said.lower():
        message = f"docker image inspect {name}: {said}"
        raise StageError(message)
    identity, _, size = said.partition(" ")
    return None if status else (identity, int(size))


def here() -> set[str]:
    """Return the IDs of all images."""
    status, said = docker("image", "ls", "--all", "--quiet", "--no-trunc")
    if status:
        message = f"docker image ls: {said}"
        raise StageError(message)
    return set(said.split())


def load(name: str, url: str, token: str) -> bool:
    """Load the image of an ID from a host that shares it; return whether it was missing.

    Whatever else comes with it, or in its stead, is removed again.
    """
    if not IMAGE_ID.fullmatch(name):
        message = f"not the ID of an image: {name}"
        raise StageError(message)
    before = here()
    if name in before:
        return False
    said = receive(Address(f"{url}/image/{name}", token, (), direct=True))
    # Not all that is new: somebody may pull or build another image meanwhile.
    strange = sorted({found[0] for each in LOADED.findall(said) if (found := inspect(each))} - before - {name})
    for each in strange:
        docker("image", "rm", "--force", each)
    if strange or not inspect(name):
        got = ", ".join(strange) or said or "nothing"
        message = f"{url} gave {got} for the image {name}; it was removed. {store_of_images()}"
        raise StageError(message)
    return True


def receive(address: Address) -> str:
    """Stream an archive into docker; return what docker says of it."""
    try:
        with open_at(address, 0) as answer:
            argv, pipe = ("docker", "load"), subprocess.PIPE
            loading = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT)  # noqa: S603
            assert loading.stdin  # noqa: S101 - a pipe was asked for
            try:
                while chunk := answer.read(CHUNK_BYTES):
                    loading.stdin.write(chunk)
            except BaseException:
                loading.kill()
                loading.wait()
                raise
            said = " ".join(loading.communicate()[0].decode("utf-8", "replace").split())
    except (OSError, CutError, http.client.HTTPException) as error:
        message = f"{plain(address.url)}: {type(error).__name__}: {error}"
        raise RefusedError(message) from None
    if loading.returncode:
        message = f"{plain(address.url)}: docker load: {said}"
        raise RefusedError(message)
    return said


def store_of_images() -> str:
    """Say which kind of image store this is: in containerd's, an ID is not that of the classic store."""
    status, said = docker("info", "--format", "{{json .DriverStatus}}")
    if status == 0 and "io.containerd.snapshotter" in json.dumps(said):
        return "Docker here keeps images in containerd's store, whose IDs are other ones: pull by digest on this host"
    return "Its archive was another one than the lock names"
