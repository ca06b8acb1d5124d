"""Collects the inventory values of one launch, each with its source, and reads its container settings."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from sparkiac.foreign import mounts, redaction, values
from sparkiac.foreign.launch import EnvVariable, Launch, Note, corrected, lost
from sparkiac.model import forms
from sparkiac.plan.confinement import KEYED
from sparkiac.report import Path

_IPC: Final = ("container", "ipc")
_SHM: Final = ("container", "shm_size_gib")


class ImportedValue(NamedTuple):
    """One value of the inventory with the place in the file that it comes from."""

    line: int
    what: str
    """The text in the file."""
    path: Path
    """The path in the inventory."""


class Collector(ABC):
    """The inventory values, their sources and the notes of one launch."""

    def __init__(self, launch: Launch, notes: tuple[Note, ...] = ()) -> None:
        """Collect for a launch; `notes` are added to the notes that the launch already has."""
        self.launch = launch
        self.leaves: dict[Path, Any] = {}
        self.items: list[ImportedValue] = []
        self.notes: list[Note] = [*launch.notes, *notes]

    def put(self, path: Path, value: Any, line: int, what: str) -> None:  # noqa: ANN401  a value of the inventory
        """Set the value at a path and record its source."""
        self.leaves[path] = value
        self.items.append(ImportedValue(line, redaction.redacted(what), path))

    def lost(self, line: int, what: str, why: str) -> None:
        """Note a setting that is not imported."""
        self.notes.append(lost(line, what, why))

    def corrected(self, line: int, what: str, why: str) -> None:
        """Note a setting that is imported in another form."""
        self.notes.append(corrected(line, what, why))

    def container(
        self, store: mounts.StoreMount | None, path: str | None, prelude: tuple[tuple[str, ...], ...]
    ) -> None:
        """Read the settings of the container itself."""
        launch = self.launch
        self._settings()
        prelude += launch.prelude
        if prelude:
            self.put(("container", "prelude"), prelude, launch.line, "; ".join(map(" ".join, prelude)))
        for mount in [*mounts.other_mounts(launch, store, path, self.leaves)]:
            if isinstance(mount, Note):
                self.notes.append(mount)
            else:
                target, value, line = mount
                self.put(target, value, line, f"-v {target[-1]}")
        for device in launch.devices:
            self._device(device)

    def image(self) -> str | None:
        """Return the image, or note that an inventory cannot contain it."""
        image = self.launch.image
        if image is None or re.fullmatch(forms.IMAGE, image):
            return image
        why = values.CALLERS_VALUE if values.is_unknown(image) else "not an image reference"
        self.lost(self.launch.line, f"image {image}", why)
        return None

    def environment(self, variables: Iterable[EnvVariable]) -> None:
        """Read variables, except those that have a meaning of their own."""
        for each in variables:
            name, value, what = each.name, each.value, f"-e {each.name}"
            if self.is_read(each):
                continue
            if redaction.is_secret_name(name) or (value is not None and redaction.is_secret(value)):
                self.secret(each)
            elif value is None or values.is_unknown(value):
                self.lost(each.line, what, values.CALLERS_VALUE)
            elif (plain := values.environment(name, value)) is None:
                self.lost(each.line, what, "not a variable with a one-line value")
            else:
                self.put(("env", name), plain, each.line, what)

    @abstractmethod
    def is_read(self, variable: EnvVariable) -> bool:
        """Read a variable that sets something else than the environment; return False for all others."""

    @abstractmethod
    def secret(self, variable: EnvVariable) -> None:
        """Note a variable with a secret."""

    def ports(self, container_port: int, *, port_in_command: bool) -> None:
        """Read the address and port of the server. `port_in_command`: the command sets the server's port."""
        launch = self.launch
        found = next((port for port in launch.ports if port.container == container_port), None)
        found = found or next(iter(launch.ports), None)
        if found is not None and found.host is not None:
            self.put(("port",), found.host, found.line, f"-p {found.host}:{found.container}")
            if found.address in {"127.0.0.1", "[::1]"}:
                self.put(("bind",), "loopback", found.line, f"-p {found.address}:…")
            if found.container != container_port:
                why = f"the server listens on {container_port} in the container, so that port is published"
                self.corrected(found.line, f"-p {found.host}:{found.container}", why)
        elif launch.host_network or launch.image is None or (port_in_command and not launch.ports):
            self.put(("port",), container_port, launch.line, "--network host" if launch.host_network else "--port")
        for port in launch.ports:
            if port is not found:
                self.lost(port.line, f"-p {port.host}:{port.container}", "a server has one port")

    def _settings(self) -> None:
        stated, line = dict(self.launch.settings), self.launch.line
        if _SHM in stated and stated.get(_IPC) == "host":
            why = "with the host's IPC namespace the host's /dev/shm is used, so a size has no effect"
            self.corrected(line, named(_SHM, stated.pop(_SHM)), why)
        elif _SHM in stated:
            self.leaves[_IPC] = "private"
        for path, value in stated.items():
            self.put(path, value, line, named(path, value))

    def _device(self, device: str) -> None:
        if device.startswith(("/dev/infiniband", "/dev/nvidia", "nvidia.com/gpu")):
            why = "containers get the GPU, and the nodes of a group get the RDMA devices of their links"
            self.corrected(self.launch.line, f"--device {device}", why)
        else:
            self.lost(self.launch.line, f"--device {device}", "no other device is passed to a container")


def named(path: Path, value: object) -> str:
    """Return the option of `docker run` that states a value of the inventory, or else the key."""
    setting = next((each for each in KEYED if each.path == path[:2]), None)
    if setting is None:
        return str(path[-1])
    written = [str(value)] if setting.form in {"text", "number"} else []
    return " ".join((f"--{setting.docker}", *map(str, path[2:]), *written))


def nested(leaves: Mapping[Path, Any]) -> dict[str, Any]:
    """Build nested mappings from paths."""
    data: dict[str, Any] = {}
    for path, value in leaves.items():
        inner = data
        for part in path[:-1]:
            inner = inner.setdefault(str(part), {})
        inner[str(path[-1])] = value
    return data
