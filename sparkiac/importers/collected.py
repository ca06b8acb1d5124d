"""What is collected of a launch, and what it says of its container."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sparkiac.importers import hiding, mounted
from sparkiac.importers.launch import Note
from sparkiac.memory.values import GIB

if TYPE_CHECKING:
    from sparkiac.importers.launch import Launch
    from sparkiac.report import Path


class Item(NamedTuple):
    """One thing that is understood."""

    line: int
    what: str
    """The file's words."""
    path: Path
    """Where the inventory says it."""


class Collected:
    """Leaves, items and notes of one launch."""

    def __init__(self, launch: Launch, *, notes: tuple[Note, ...]) -> None:
        """Start with the launch's own notes and these."""
        self.launch = launch
        self.leaves: dict[Path, Any] = {}
        self.items: list[Item] = []
        self.notes: list[Note] = [*launch.notes, *notes]

    def say(self, path: Path, value: Any, line: int, what: str) -> None:  # noqa: ANN401  a value of the inventory
        """Keep a value under its path."""
        self.leaves[path] = value
        self.items.append(Item(line, hiding.shown(what), path))

    def lost(self, line: int, what: str, why: str) -> None:
        """Note what is not taken over."""
        self.notes.append(Note("lost", line, hiding.shown(what), why))

    def container(self, store: mounted.Store | None, path: str | None, prelude: tuple[tuple[str, ...], ...]) -> None:
        """Read what it says of the container itself."""
        launch = self.launch
        if launch.ipc in {"host", "private"}:
            self.say(("container", "ipc"), launch.ipc, launch.line, f"--ipc {launch.ipc}")
        elif launch.ipc is not None:
            self.lost(launch.line, f"--ipc {launch.ipc}", "a namespace is the host's or the container's own")
        if launch.shm_size_bytes:
            self._shared_memory(launch.shm_size_bytes)
        for name, limit in launch.ulimits:
            if name in {"memlock", "stack", "nofile"}:
                self.say(("container", "ulimits", name), limit, launch.line, f"--ulimit {name}")
            else:
                self.lost(launch.line, f"--ulimit {name}", "memlock, stack and nofile can be said")
        prelude += launch.prelude
        if prelude:
            self.say(("container", "prelude"), prelude, launch.line, "; ".join(map(" ".join, prelude)))
        for name, seconds in launch.timeouts:
            self.say(("timeouts", name), seconds, launch.line, name)
        found = mounted.rest(launch, store, path, self.leaves)
        self.notes += found.notes
        for target, value in found.leaves.items():
            self.say(target, value, found.lines[target], f"-v {target[-1]}")
        for device in launch.devices:
            self._device(device)

    def ports(self, listens: int, *, told: bool) -> None:
        """Read where the server is reached: it listens on a port in the container, which the command may tell."""
        launch = self.launch
        found = next((port for port in launch.ports if port.container == listens), None)
        found = found or next(iter(launch.ports), None)
        if found is not None and found.host is not None:
            self.say(("port",), found.host, found.line, f"-p {found.host}:{found.container}")
            if found.address in {"127.0.0.1", "[::1]"}:
                self.say(("bind",), "loopback", found.line, f"-p {found.address}:…")
            if found.container != listens:
                why = f"the server listens on {listens} in there; the port is published from where it listens"
                self.notes.append(Note("corrected", found.line, f"-p {found.host}:{found.container}", why))
        elif launch.host_network or launch.image is None or (told and not launch.ports):
            self.say(("port",), listens, launch.line, "--network host" if launch.host_network else "--port")
        for port in launch.ports:
            if port is not found:
                self.lost(port.line, f"-p {port.host}:{port.container}", "a server has one port")

    def _shared_memory(self, size: int) -> None:
        if self.launch.ipc == "host":
            why = "with the host's IPC namespace the host's /dev/shm is used, and a size has no effect"
            self.notes.append(Note("corrected", self.launch.line, "--shm-size", why))
        else:
            self.leaves["container", "ipc"] = "private"
            self.say(("container", "shm_size_gib"), max(round(size / GIB, 6), 0.001), self.launch.line, "--shm-size")

    def _device(self, device: str) -> None:
        if device.startswith(("/dev/infiniband", "/dev/nvidia", "nvidia.com/gpu")):
            why = "a container gets the GPU, and the nodes of a group their link's devices"
            self.notes.append(Note("corrected", self.launch.line, f"--device {device}", why))
        else:
            self.lost(self.launch.line, f"--device {device}", "no other device is handed to a container")
