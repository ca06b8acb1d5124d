"""What the vLLM of an image takes, asked of the image itself: where it lies, in a container without a network."""

from __future__ import annotations

import json
import runpy
import subprocess
from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.assets import directory
from sparkiac.catalog import interfaces
from sparkiac.upstream import ssh

if TYPE_CHECKING:
    from collections.abc import Sequence

_INSPECT: Final = ("image", "inspect", "--format", "{{json .RepoDigests}} {{json .Id}}")
_RUN: Final = ("run", "--rm", "--interactive", "--pull=never", "--network=none", "--entrypoint=python3")
_DOCKER: Final = ("docker",)
_AS_ROOT: Final = ("sudo", "-n", "docker")
_SECONDS: Final = 600
"""It takes some ten seconds; loading an image's first files from a slow disk takes longer."""


class Failed(Exception):  # noqa: N818  what became of it
    """An image could not be asked; the text says why, and `hint` what to do."""

    def __init__(self, message: str, hint: str) -> None:
        """Take the words."""
        super().__init__(message)
        self.hint = hint


class _Denied(Failed):
    """Docker is not for this user."""


class _Place(NamedTuple):
    """An image, and where it is asked."""

    image: str
    host: str | None

    @property
    def where(self) -> str:
        """Name the machine."""
        return self.host or "this machine"


def capture(image: str, *, reference: str, host: str | None = None) -> bytes:
    """Ask `image`, a reference or an ID, and give the interface of its vLLM as a file.

    `reference` is its name in that file. `host` is an address that ssh reaches without a question, where the image
    lies; this machine if not given. A user who may not use docker must be able to by sudo. Nothing is pulled.

    Raises Failed.
    """
    place = _Place(image, host)
    try:
        raw = _captured(place, reference, _DOCKER)
    except _Denied:
        raw = _captured(place, reference, _AS_ROOT)
    return raw


def _captured(place: _Place, reference: str, docker: tuple[str, ...]) -> bytes:
    listed, id_ = _inspected(_asked((*docker, *_INSPECT, place.image), place))
    digests = sorted({id_, *(each.partition("@")[2] for each in listed)})
    said = _asked((*docker, *_RUN, place.image, "-", "--installed"), place, program=_program())
    try:
        data = json.loads(said) | {"image": {"reference": reference, "digests": digests}}
        raw = (json.dumps(data, indent=1, sort_keys=True) + "\n").encode()
        interfaces.captured(raw)
    except (TypeError, ValueError):
        message = f"the vLLM in {place.image} on {place.where} said nothing that can be read"
        raise Failed(message, "this version of sparkiac does not know that release") from None
    return raw


def _program() -> str:
    """Give the extractor as one program."""
    made = runpy.run_path(str(directory("tools/vllm_interface") / "bundle.py"))["bundle"]()
    assert isinstance(made, str)  # noqa: S101
    return made


def _inspected(text: str) -> tuple[list[str], str]:
    """Give the references by digest and the ID; a built image has the ID alone."""
    listed, end = json.JSONDecoder().raw_decode(text)
    return listed or [], json.loads(text[end:])


def _asked(words: Sequence[str], place: _Place, *, program: str = "") -> str:
    """Run a command here or there, and give what it prints."""
    command = ssh.command(place.host, words) if place.host else tuple(words)
    try:
        done = subprocess.run(  # noqa: S603  its words are ours, and the image's name has a form
            command, input=program, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except FileNotFoundError:
        message = f"there is no {command[0]} on this machine"
        raise Failed(message, "install it, or name a host that has the image: --host") from None
    except subprocess.TimeoutExpired:
        message = f"{place.image} on {place.where} did not answer for {_SECONDS} s"
        raise Failed(message, "see what runs there: docker ps") from None
    if done.returncode:
        raise _why(done, place)
    return done.stdout


def _why(done: subprocess.CompletedProcess[str], place: _Place) -> Failed:
    """Say why a command ended as it did."""
    said, image, where = ssh.last_line(done.stderr, "it said nothing"), place.image, place.where
    if place.host and done.returncode == ssh.FAILED:
        return Failed(f"{where} cannot be reached: {said}", "ssh must know it, and let you in without a question")
    if "permission denied" in done.stderr and "docker.sock" in done.stderr:
        return _Denied(said, "let this user use docker")
    if "No such image" in done.stderr:
        return Failed(f"{image} is not on {where}", f"pull it there first: docker pull {image}")
    if "vLLM is not installed here" in done.stderr:
        return Failed(f"the python3 of {image} finds no vLLM", "it may serve with another engine")
    if done.returncode == ssh.NO_COMMAND:
        return Failed(f"{image} on {where} has no python3, or there is no docker: {said}", "look into it by hand")
    return Failed(f"docker on {where} ended with {done.returncode}: {said}", "try the same by hand on that machine")
