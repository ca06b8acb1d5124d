"""Read from an image which options its vLLM accepts, in a container without a network."""

from __future__ import annotations

import json
import runpy
from collections.abc import Sequence
from typing import Final

from sparkiac.catalog import interfaces
from sparkiac.model import answers
from sparkiac.report.assets import directory
from sparkiac.upstream import programs

_INSPECT: Final = ("image", "inspect", "--format", "{{json .RepoDigests}} {{json .Id}}")
_RUN: Final = ("run", "--rm", "--interactive", "--pull=never", "--network=none", "--entrypoint=python3")
_DOCKER: Final = ("docker",)
_AS_ROOT: Final = ("sudo", "-n", "docker")
_HERE: Final = "this machine"
_TIMEOUT_S: Final = 600
"""A capture takes some ten seconds, or longer if a slow disk loads an image for the first time."""


class CaptureError(Exception):
    """An image could not be read; the text gives the reason, and `hint` says what to do."""

    def __init__(self, message: str, hint: str) -> None:
        """Store message and hint."""
        super().__init__(message)
        self.hint = hint


class _PermissionDeniedError(CaptureError):
    """The user may not use docker."""


def capture(image: str, *, reference: str, host: str | None = None) -> bytes:
    """Return the vLLM interface of `image`, a reference or an ID, as the content of a file.

    `reference` is the image's name in that file. `host` is the address of a machine that has the image and accepts ssh
    without a password; the default is this machine. Docker runs with sudo if the user may not use it. No image is
    pulled. Raises `CaptureError`.
    """
    try:
        return _captured(image, host, reference, _DOCKER)
    except _PermissionDeniedError:
        return _captured(image, host, reference, _AS_ROOT)


def _captured(image: str, host: str | None, reference: str, docker: tuple[str, ...]) -> bytes:
    inspected = _run((*docker, *_INSPECT, image), image, host)
    extractor = runpy.run_path(str(directory("tools/vllm_interface") / "bundle.py"))["bundle"]()
    output = _run((*docker, *_RUN, image, "-", "--installed"), image, host, program=extractor)
    try:
        # An image that was built locally has only an ID.
        listed, end = json.JSONDecoder().raw_decode(answers.counted(inspected))
        digests = sorted({json.loads(inspected[end:]), *(each.partition("@")[2] for each in listed or [])})
        data = answers.plain(output) | {"image": {"reference": reference, "digests": digests}}
        raw = (json.dumps(data, indent=1, sort_keys=True) + "\n").encode()
        interfaces.captured(raw)
    except (AttributeError, TypeError, ValueError):
        message = f"the interface of the vLLM in {image} on {host or _HERE} cannot be read"
        raise CaptureError(message, "this version of sparkiac does not support that vLLM release") from None
    return raw


def _run(words: Sequence[str], image: str, host: str | None, *, program: str = "") -> str:
    try:
        done = programs.run(host, words, program=program, timeout_s=_TIMEOUT_S, most_bytes=programs.MOST_LOG_BYTES)
    except programs.ProgramError as error:
        hint = f"check docker on {host or _HERE}: docker ps; or name a host that has the image with --host"
        raise CaptureError(str(error), hint) from None
    if done.returncode:
        raise _error(done, image, host)
    return done.stdout


def _error(done: programs.Completed, image: str, host: str | None) -> CaptureError:
    output, machine = programs.last_line(done.stderr, "no output"), host or _HERE
    if host and done.returncode == programs.FAILED:
        return CaptureError(f"no connection to {machine}: {output}", "set up ssh to work without a password prompt")
    if "permission denied" in done.stderr and "docker.sock" in done.stderr:
        return _PermissionDeniedError(output, "allow this user to use docker")
    if "No such image" in done.stderr:
        return CaptureError(f"{image} is not on {machine}", f"pull it there first: docker pull {image}")
    if "vLLM is not installed here" in done.stderr:
        return CaptureError(f"the python3 of {image} has no vLLM", "the image may contain another engine")
    if done.returncode == programs.NO_COMMAND:
        return CaptureError(f"{image} on {machine} has no python3, or docker is missing: {output}", "check both there")
    message = f"docker on {machine} exited with {done.returncode}: {output}"
    return CaptureError(message, "run the same command on that machine")
