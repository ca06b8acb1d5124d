"""Containers that serve no model: services."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sparkiac import catalog
from sparkiac.engines import ollama
from sparkiac.importers import hiding, serving, values
from sparkiac.importers.collected import Item
from sparkiac.importers.launch import Note
from sparkiac.model import forms

if TYPE_CHECKING:
    from sparkiac.importers.launch import Launch, Variable, Volume

_KINDS: Final = {
    "open-webui": re.compile(r"(^|/)open-?webui$"),
    "ollama": re.compile(r"(^|/)ollama$"),
    "gpu-exporter": re.compile(r"nvidia_gpu_exporter$|(^|/)dcgm-exporter$|dgx-spark-prometheus$"),
    "parakeet": re.compile(r"parakeet"),
    "chatterbox": re.compile(r"chatterbox"),
}
_BASE_URLS: Final = frozenset({"OPENAI_API_BASE_URL", "OPENAI_API_BASE_URLS"})
_CACHE: Final = "/root/.cache/huggingface"
_UNSTAGED: Final = (
    "no engine here runs this server: its weights are neither pinned nor staged, and it fetches them itself"
)
_MANAGED: Final = "its data is kept in a directory of its own on the host; move it there"


class Service(NamedTuple):
    """A service in the inventory's words."""

    data: dict[str, Any]
    items: tuple[Item, ...]
    notes: tuple[Note, ...]


def read(launch: Launch) -> Service:
    """Say what a container becomes that serves no model."""
    return _Reading(launch).service()


def _told_port(argv: tuple[str, ...]) -> int | None:
    """Give the port that a command names."""
    found = (word for before, word in pairwise(argv) if before == "--port")
    text = next(found, "")
    return int(text) if re.fullmatch(r"[1-9]\d{1,4}", text) else None


class _Reading:
    """Collects what one service says."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        repository = serving.repository_of(launch.image or "").lower()
        self.kind = next((kind for kind, form in _KINDS.items() if form.search(repository)), "container")
        source = catalog.service_kind(self.kind)
        self.known = source.value if source else None
        self.data: dict[str, Any] = {"kind": self.kind}
        self.items: list[Item] = []
        self.notes = [*launch.notes]

    def service(self) -> Service:
        """Read everything."""
        launch = self.launch
        if re.fullmatch(forms.IMAGE, launch.image or ""):
            self._say("image", launch.image, launch.line, str(launch.image))
        else:
            why = values.CALLERS if values.unknown(launch.image or "") else "this is no image"
            self._lost(launch.line, f"image {launch.image}", why)
        self._port()
        if launch.entrypoint is not None:
            self._lost(
                launch.line, f"--entrypoint {' '.join(launch.entrypoint)}", "a service keeps its image's entrypoint"
            )
        self._command()
        for variable in launch.env:
            self._variable(variable)
        for volume in launch.volumes:
            self._volume(volume)
        if launch.gpus and not (self.known and self.known.gpu):
            self._say("gpu", True, launch.line, "--gpus")  # noqa: FBT003  a value of the inventory
        if self.kind == "container" and not launch.read_only:
            self._say("read_only", False, launch.line, "a writable file system")  # noqa: FBT003  a value
        self._weights()
        self._rest()
        return Service(self.data, tuple(self.items), tuple(self.notes))

    def _port(self) -> None:
        ports = [port for port in self.launch.ports if port.host]
        for first in ports[:1]:
            known = (self.known.port, self.known.container_port) if self.known else (None, None)
            if first.host != known[0]:
                self._say("port", first.host, first.line, f"-p {first.host}:{first.container}")
            if first.container != (known[1] or first.host):
                self._say("container_port", first.container, first.line, f"-p {first.host}:{first.container}")
            if first.address in {"127.0.0.1", "[::1]"}:
                self._say("bind", "loopback", first.line, f"-p {first.address}")
        for port in ports[1:]:
            self._lost(port.line, f"-p {port.host}:{port.container}", "a service has one port")
        told = _told_port(self.launch.argv)
        if not ports and self.launch.host_network and told is not None:
            self._say("port", told, self.launch.line, f"--port {told}")

    def _weights(self) -> None:
        """Give a server of models, of an engine that is none here, the cache of weights that its launcher mounts."""
        launch = self.launch
        if launch.model is None or self.kind != "container":
            return
        if not launch.volumes:
            self._within(
                "mounts", _CACHE, {"source": "model_store", "read_only": False}, launch.line, "the hub's cache"
            )
        self._lost(launch.line, f"model {launch.model}", _UNSTAGED)
        if launch.nodes > 1:
            self._lost(
                launch.line, f"{launch.nodes} machines", "a service runs on one host, and no engine here spans them"
            )

    def _command(self) -> None:
        argv = self.launch.argv
        if not argv:
            return
        line = (self.launch.lines or (self.launch.line,))[0]
        hidden = any(hiding.is_secret(word) or hiding.shown(word) != " ".join(word.split())[:120] for word in argv)
        paired = any(hiding.is_secret_name(word) for word in argv if word.startswith("-"))
        if hidden or paired or not all(re.fullmatch(forms.LINE, word) and not values.unknown(word) for word in argv):
            self._lost(line, " ".join(argv), "a command with secrets, variables of the caller's or several lines")
        else:
            self._say("command", argv, line, " ".join(argv))

    def _variable(self, variable: Variable) -> None:
        name, value, line = variable.name, variable.value, variable.line
        known = {option.spelling: key for key, option in ollama.OPTIONS.items()} if self.kind == "ollama" else {}
        if hiding.is_secret_name(name) or (value is not None and hiding.is_secret(value)):
            self._lost(line, f"-e {name}", "no secret stands in an inventory; if one stood here, change it now")
        elif value is None or values.unknown(value):
            self._lost(line, f"-e {name}", values.CALLERS)
        elif self.kind == "open-webui" and name in _BASE_URLS:
            self._urls(variable)
        elif not re.fullmatch(forms.VARIABLE, name) or not re.fullmatch(forms.LINE, value) or not values.sayable(value):
            self._lost(line, f"-e {name}", "this is no variable of one line")
        elif known.get(name) == "host":
            self.notes.append(Note("corrected", line, f"-e {name}", "`bind` says where the port is published"))
        elif name in known:
            option = ollama.OPTIONS[known[name]]
            read = tuple(value.split(",")) if option.kind == "words" else values.read(option.kind, value)
            read = read not in {"", "0", "false"} if option.kind == "switch" else read
            self._within("set", known[name], read, line, f"-e {name}")
        else:
            read = int(value) if re.fullmatch(r"0|-?[1-9]\d{0,17}", value) else value
            if not self.known or str((self.known.env or {}).get(name)) != value:
                self._within("env", name, read, line, f"-e {name}")

    def _urls(self, variable: Variable) -> None:
        good = tuple(url for url in str(variable.value).split(";") if re.fullmatch(forms.URL, url))
        if good:
            self._say("urls", good, variable.line, f"-e {variable.name}")
        if len(good) != len(str(variable.value).split(";")):
            self._lost(variable.line, f"-e {variable.name}", "this is no address of an API without a key")

    def _volume(self, volume: Volume) -> None:
        what = f"-v {volume.source}:{volume.target}"
        if self.known and volume.target == self.known.data:
            self.notes.append(Note("corrected", volume.line, hiding.shown(what), _MANAGED))
        elif re.fullmatch(forms.PATH, volume.source) and re.fullmatch(forms.PATH, volume.target):
            value = {"source": volume.source, "read_only": volume.read_only}
            self._within("mounts", volume.target, value, volume.line, what)
        else:
            self._lost(volume.line, what, "where that is on the host cannot be known from here: write an absolute path")

    def _rest(self) -> None:
        launch = self.launch
        if launch.host_network and "port" not in self.data:
            self._lost(launch.line, "--network host", "a service publishes one port: say `port`")
        for device in launch.devices:
            self._lost(launch.line, f"--device {device}", "no device is handed to a service")
        for name, _ in launch.ulimits:
            self._lost(launch.line, f"--ulimit {name}", "a service has the limits of its host")
        if launch.ipc == "host" or launch.shm_size_bytes:
            self._lost(launch.line, "--ipc, --shm-size", "a service has a namespace and a /dev/shm of its own")

    def _say(self, key: str, value: object, line: int, what: str) -> None:
        self.data[key] = value
        self.items.append(Item(line, hiding.shown(what), (key,)))

    def _within(self, key: str, name: str, value: object, line: int, what: str) -> None:
        self.data.setdefault(key, {})[name] = value
        self.items.append(Item(line, hiding.shown(what), (key, name)))

    def _lost(self, line: int, what: str, why: str) -> None:
        self.notes.append(Note("lost", line, hiding.shown(what), why))
