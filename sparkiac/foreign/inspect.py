"""`docker inspect` of running containers: the settings that Docker reports, including those of the image."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sparkiac.foreign import docker, redaction, serving
from sparkiac.foreign.launch import (
    NO_SETTING,
    EnvVariable,
    Launch,
    Note,
    PublishedPort,
    Unreadable,
    Volume,
    corrected,
    lost,
)
from sparkiac.model import answers
from sparkiac.plan.confinement import KEYED, Tree
from sparkiac.report import Path
from sparkiac.source.text import FORBIDDEN

_BEGINS: Final = re.compile(r"\s*[\[{]")
_SET_BY_IMAGES: Final = re.compile(
    r"PATH|LD_LIBRARY_PATH|LIBRARY_PATH|HOSTNAME|HOME|LANG|LC_ALL|TERM|SHLVL|DEBIAN_FRONTEND|PYTHON.*|PIP_.*|UV_.*|NV_.*"
    r"|NVIDIA_(?!VISIBLE).*|NVIDIA_VISIBLE_DEVICES|CUDA_(?!VISIBLE|LAUNCH|CACHE|DEVICE|MODULE).*|CUDNN_.*|CUBLAS.*"
    r"|.*_VERSION|GPG_KEY|MKL_.*|OPAL_.*|OMPI_.*|OPENMPI.*|OPENUCX.*|TRTOSS.*|TENSORRT.*|_CUDA_.*|BASH_ENV|ENV|RDMACORE.*"
    r"|TORCH_(?!CUDA_ARCH|NCCL|LOG).*|VLLM_USAGE_SOURCE|VLLM_BUILD.*|.*_PATH_SUFFIX|SHELL|USER|WORKDIR|BUILD_.*|NVM_.*|COCOAPI.*"
)


_MAX_VARIABLES: Final = 1000
_IPC: Final = {"shareable": "private"}
_OF_DOCKER: Final = {"ShmSize": (64 << 20,)}
"""Key → values that Docker sets by default."""


def recognise(text: str, name: str) -> bool:  # noqa: ARG001  all importers have the same signature
    """Return whether a text is Docker's JSON of a container."""
    return _BEGINS.match(text) is not None and '"HostConfig"' in text and '"Config"' in text


def read(text: str, *, name: str, given: Mapping[str, str] = {}) -> tuple[Launch, ...]:  # noqa: ARG001
    """Read all containers. Raises Unreadable."""
    try:
        data = answers.plain(text)
    except ValueError as error:
        if isinstance(error, json.JSONDecodeError):
            raise Unreadable("not valid JSON", line=error.lineno, column=error.colno) from None
        raise Unreadable(str(error)) from None
    containers = data if isinstance(data, list) else [data]
    described = (each for each in containers if isinstance(each, dict) and "Config" in each)
    found = tuple(_InspectedContainer(each, text).launch() for each in described)
    if not found:
        raise Unreadable("the file describes no container: `docker inspect NAME` prints one")
    return found


class _InspectedContainer:
    """Reads one container from Docker's JSON, whose values may have any type."""

    def __init__(self, data: dict[str, Any], text: str) -> None:
        self.config = _mapping(data.get("Config"))
        self.host = _mapping(data.get("HostConfig"))
        self.data, self.text = data, text
        self.notes: list[Note] = []
        identity = data.get("Id")
        self.start = max(text.find(identity), 0) if isinstance(identity, str) and identity else 0
        self.line = text.count("\n", 0, self.start) + 1

    def launch(self) -> Launch:
        """Return the container as a launch."""
        image = _text(self.config.get("Image"))
        argv = _words(self.config.get("Cmd"))
        self._other_settings()
        return Launch(
            (_text(self.data.get("Name")) or "").lstrip("/") or None,
            self.line,
            image,
            self._entrypoint(image),
            argv,
            env=tuple(self._variables()),
            volumes=tuple(self._volumes()),
            ports=tuple(docker.kept(self._ports(), self.notes)),
            devices=tuple(self._devices()),
            gpus=bool(self.host.get("DeviceRequests")) or self.host.get("Runtime") == "nvidia",
            host_network=self.host.get("NetworkMode") == "host",
            settings=self._settings(),
            notes=tuple(self.notes),
            lines=tuple(self._line_of(json.dumps(word)) for word in argv),
        )

    def _line_of(self, needle: str) -> int:
        found = self.text.find(needle, self.start)
        return self.text.count("\n", 0, found) + 1 if found >= 0 else self.line

    def _entrypoint(self, image: str | None) -> tuple[str, ...] | None:
        """Return the entrypoint, or None if it is the one in the catalog for the image."""
        words = _words(self.config.get("Entrypoint"))
        family = serving.image_family(image)
        own = family is not None and (family.entrypoint is None or words == family.entrypoint)
        return None if own or not words else words

    def _variables(self) -> Iterator[EnvVariable]:
        own = 0
        words = _words(self.config.get("Env"))
        if len(words) > _MAX_VARIABLES:
            raise Unreadable(f"more than {_MAX_VARIABLES} variables", line=self._line_of('"Env"'))
        for text in words:
            name, _, value = text.partition("=")
            if _SET_BY_IMAGES.fullmatch(name) and not redaction.is_secret_name(name):
                own += 1
            else:
                yield EnvVariable(name, value, self._line_of(json.dumps(name)[:-1]))
        if own:
            what, why = f"{own} variables", "images usually set these, and Docker does not report which were added"
            self.notes.append(corrected(self._line_of('"Env"'), what, why))

    def _volumes(self) -> Iterator[Volume]:
        for mount in _items(self.data.get("Mounts")):
            source, target = _text(mount.get("Source")), _text(mount.get("Destination"))
            named = mount.get("Type") == "volume"
            if source and target:
                place = (_text(mount.get("Name")) or source) if named else source
                yield Volume(place, target, mount.get("RW") is False, self._line_of(json.dumps(target)))

    def _ports(self) -> Iterator[PublishedPort | Note]:
        for name, bindings in _mapping(self.host.get("PortBindings")).items():
            for binding in _items(bindings)[:1]:
                address, host = _text(binding.get("HostIp")), _text(binding.get("HostPort"))
                before = "" if not address else f"[{address}]:" if ":" in address else f"{address}:"
                yield docker.port(f"{before}{host}:{name}", self._line_of(json.dumps(name)))

    def _devices(self) -> Iterator[str]:
        for device in _items(self.host.get("Devices")):
            path = _text(device.get("PathOnHost"))
            if path:
                yield path

    def _settings(self) -> dict[Path, Tree]:
        stated = ((each, text) for each in KEYED for text in _words(self._texts(each.inspected)))
        found, notes = docker.settings((each, text, self._line_of(f'"{each.inspected}"')) for each, text in stated)
        self.notes += notes
        return found

    def _texts(self, key: str) -> list[str]:
        """Return the values of a key as `docker run` writes them, without Docker's defaults."""
        value = self.host.get(key)
        if value in _OF_DOCKER.get(key, ()) or not value:
            return []
        if isinstance(value, dict):
            return [f"{name}:{each}" for name, each in value.items()]
        if isinstance(value, list):
            return [f"{each.get('Name')}={each.get('Soft')}" for each in _items(value)]
        return ["true" if value is True else _IPC.get(str(value), str(value))]

    def _other_settings(self) -> None:
        options = {
            "privileged": self.host.get("Privileged"),
            "cap-add": self.host.get("CapAdd"),
            "security-opt": self.host.get("SecurityOpt"),
            "restart": _mapping(self.host.get("RestartPolicy")).get("Name") not in {None, "", "no"},
            "health-cmd": self.config.get("Healthcheck"),
        }
        for option, value in options.items():
            if value:
                self.notes.append(corrected(self.line, f"--{option}", docker.NOTED[option].why))
        for key in ("Memory", "NanoCpus", "CpusetCpus", "ExtraHosts", "Links", "VolumesFrom"):
            if self.host.get(key):
                self.notes.append(lost(self._line_of(f'"{key}"'), key, NO_SETTING))
        user, folder = _text(self.config.get("User")), self.config.get("WorkingDir")
        if user and user not in {"root", "0"}:
            self.notes.append(lost(self._line_of('"User"'), "User", "it runs as the user of its image"))
        if isinstance(folder, str) and folder not in {"", "/", "/workspace", "/vllm-workspace", "/app"}:
            why = "the container starts in the directory set by its image"
            self.notes.append(lost(self._line_of('"WorkingDir"'), "WorkingDir", why))


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _items(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and FORBIDDEN.search(value) is None else None


def _words(value: object) -> tuple[str, ...]:
    """Return a list of words; a single text is a list of one."""
    held = value if isinstance(value, list) else [value]
    return tuple(each for each in held if isinstance(each, str) and FORBIDDEN.search(each) is None)
