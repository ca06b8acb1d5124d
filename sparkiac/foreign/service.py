"""Containers that do not serve a model → services."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, Final

from sparkiac import catalog
from sparkiac.engines.engine import HUB_HOME
from sparkiac.engines.records import ollama
from sparkiac.foreign import mounts, redaction, serving, values
from sparkiac.foreign.collector import Collector, named, nested
from sparkiac.foreign.launch import EnvVariable, Launch, Volume
from sparkiac.model import forms
from sparkiac.plan import unwritten

_BASE_URLS: Final = frozenset({"OPENAI_API_BASE_URL", "OPENAI_API_BASE_URLS"})
_UNSTAGED: Final = "sparkiac has no engine for this server: it downloads its weights itself, neither pinned nor staged"
_LOCAL: Final = re.compile(r"//(?:localhost|127\.0\.0\.1)\b")
_ON_THE_HOST: Final = "with the host's network this is a server of the host: name its deployment under `uses`"
_DATA_DIRECTORY: Final = "its data is kept in a directory on the host; move it there"


def read(launch: Launch) -> tuple[dict[str, Any], Collector]:
    """Return the data of a container that serves no model, and where it comes from."""
    found = _ServiceConverter(launch)
    return found.service(), found


def _port_in_command(argv: tuple[str, ...]) -> int | None:
    found = (word for before, word in pairwise(argv) if before == "--port")
    text = next(found, "")
    return int(text) if re.fullmatch(r"[1-9]\d{1,4}", text) else None


class _ServiceConverter(Collector):
    """Converts one service."""

    def __init__(self, launch: Launch) -> None:
        super().__init__(launch)
        repository = serving.repository_of(launch.image or "").lower()
        kinds = catalog.service_kinds()
        found = (name for name, each in kinds.items() if each.images and re.search(each.images, repository))
        self.kind = next(found, "container")
        self.known = kinds.get(self.kind)

    def service(self) -> dict[str, Any]:
        """Convert all settings."""
        launch = self.launch
        if (image := self.image()) is not None:
            self.put(("image",), image, launch.line, image)
        self._port()
        if launch.entrypoint is not None:
            words = redaction.joined(launch.entrypoint)
            self.lost(launch.line, f"--entrypoint {words}", "sparkiac runs a service with its image's entrypoint")
        self._command()
        self.environment(launch.env)
        for volume in launch.volumes:
            self._volume(volume)
        if launch.gpus and not (self.known and self.known.gpu):
            self.put(("gpu",), True, launch.line, "--gpus")  # noqa: FBT003  a value of the inventory
        if self.kind == "container" and launch.settings.get(("container", "read_only")) is not True:
            self.put(("read_only",), False, launch.line, "a writable file system")  # noqa: FBT003  a value
        self._weights()
        self._unsupported()
        return {"kind": self.kind, **nested(self.leaves)}

    def _port(self) -> None:
        ports = [port for port in self.launch.ports if port.host]
        for first in ports[:1]:
            known = (self.known.port, self.known.container_port) if self.known else (None, None)
            if first.host != known[0]:
                self.put(("port",), first.host, first.line, f"-p {first.host}:{first.container}")
            if first.container != (known[1] or first.host):
                self.put(("container_port",), first.container, first.line, f"-p {first.host}:{first.container}")
            if first.address in {"127.0.0.1", "[::1]"}:
                self.put(("bind",), "loopback", first.line, f"-p {first.address}")
        for port in ports[1:]:
            self.lost(port.line, f"-p {port.host}:{port.container}", "a service has one port")
        port_in_command = _port_in_command(self.launch.argv)
        if not ports and self.launch.host_network and port_in_command is not None:
            self.put(("port",), port_in_command, self.launch.line, f"--port {port_in_command}")

    def _weights(self) -> None:
        """Mount the model cache for a model server of an unsupported engine, as its launcher does."""
        launch = self.launch
        if launch.model is None or self.kind != "container":
            return
        if not launch.volumes:
            self.put(("mounts", HUB_HOME), {"source": "model_store", "read_only": False}, launch.line, "hub cache")
        self.lost(launch.line, f"model {launch.model}", _UNSTAGED)
        if launch.nodes > 1:
            why = "a service runs on one host, and sparkiac has no engine that runs this server on several"
            self.lost(launch.line, f"{launch.nodes} machines", why)

    def _command(self) -> None:
        argv = self.launch.argv
        if not argv:
            return
        line = (self.launch.lines or (self.launch.line,))[0]
        whole = (*(self.launch.entrypoint or ()), *argv)
        hidden = redaction.holds_secret(whole) or any(
            redaction.redacted(word) != " ".join(word.split())[:120] for word in argv
        )
        paired = any(redaction.is_secret_name(word) for word in argv if word.startswith("-"))
        if hidden or paired or not all(re.fullmatch(forms.LINE, word) and not values.is_unknown(word) for word in argv):
            self.lost(line, redaction.joined(whole), "a command with secrets, the caller's variables or several lines")
        else:
            self.put(("command",), argv, line, " ".join(argv))

    def is_read(self, variable: EnvVariable) -> bool:
        """Import a variable that sets an option of the kind."""
        name, value, what = variable.name, variable.value, f"-e {variable.name}"
        if value is None or values.is_unknown(value) or redaction.is_secret(value):
            return False
        option = next((key for key, each in ollama.OPTIONS.items() if each.spelling == name), "")
        if self.kind == "open-webui" and name in _BASE_URLS:
            self._urls(variable)
        elif self.kind == "ollama" and option == "host":
            self.corrected(variable.line, what, "set by `bind`")
        elif self.kind == "ollama" and option:
            kind = ollama.OPTIONS[option].kind
            read = tuple(value.split(",")) if kind == "words" else values.read(kind, value)
            read = value not in {"", "0", "false"} if kind == "switch" else read
            self.put(("set", option), read, variable.line, what)
        else:
            return self.known is not None and str((self.known.env or {}).get(name)) == value
        return True

    def secret(self, variable: EnvVariable) -> None:
        """Note a secret."""
        why = "secrets are not written to an inventory; if this was a real one, change it now"
        self.lost(variable.line, f"-e {variable.name}", why)

    def _urls(self, variable: EnvVariable) -> None:
        if self.launch.host_network and _LOCAL.search(str(variable.value)):
            self.lost(variable.line, f"-e {variable.name}", _ON_THE_HOST)
            return
        good = tuple(url for url in str(variable.value).split(";") if re.fullmatch(forms.URL, url))
        if good:
            self.put(("urls",), good, variable.line, f"-e {variable.name}")
        if len(good) != len(str(variable.value).split(";")):
            self.lost(variable.line, f"-e {variable.name}", "not the address of an API, or it contains a key")

    def _volume(self, volume: Volume) -> None:
        what = f"-v {volume.source}:{volume.target}"
        if self.known and volume.target == self.known.data:
            self.corrected(volume.line, what, _DATA_DIRECTORY)
        elif (note := mounts.controls_host(volume)) is not None:
            self.notes.append(note)
        elif re.fullmatch(forms.PATH, volume.source) and re.fullmatch(forms.PATH, volume.target):
            value = {"source": volume.source, "read_only": volume.read_only}
            self.put(("mounts", volume.target), value, volume.line, what)
        else:
            self.lost(volume.line, what, "its path on the host is unknown: write an absolute path")

    def _unsupported(self) -> None:
        launch = self.launch
        if launch.host_network and ("port",) not in self.leaves:
            self.lost(launch.line, "--network host", "a service publishes one port: set `port`")
        for device in launch.devices:
            self.lost(launch.line, f"--device {device}", "services get no devices")
        refused = unwritten.reasons("service")
        for path, value in launch.settings.items():
            if (why := refused.get(f"{path[0]}.{path[1]}")) is not None:
                if value != "private":
                    self.lost(launch.line, named(path, value), why)
            elif path[0] == "timeouts":
                self.put(path, value, launch.line, named(path, value))
            elif self.kind != "container":
                self.put(path[1:], value, launch.line, named(path, value))
