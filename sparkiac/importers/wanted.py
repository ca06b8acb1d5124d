"""A launch in the inventory's words: paths and values, and what became of each of its words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sparkiac import engines
from sparkiac.importers import (
    aeon_options,
    group,
    hiding,
    mounted,
    serving,
    speculation,
    table_options,
    values,
    vllm_options,
)
from sparkiac.importers.launch import Note
from sparkiac.memory.values import GIB
from sparkiac.model import forms

if TYPE_CHECKING:
    from sparkiac.importers.launch import Launch, Variable
    from sparkiac.importers.said import Line, Said
    from sparkiac.report import Path

_KEY: Final = "the key comes from the secret {name}: put its value into a vault, never into this file"
_STAGED: Final = "weights are staged before, so the server needs no token; sparkiac keeps secrets in files on the host"
_LITERAL: Final = "; it stood here for all to read, so change it now"


class Item(NamedTuple):
    """One thing that is understood."""

    line: int
    what: str
    """The file's words."""
    path: Path
    """Where the inventory says it."""


class Wanted(NamedTuple):
    """What a launch asks for."""

    launch: Launch
    engine: str
    model: str | None
    """Handle, if it is one."""
    path: str | None
    """Path in the container, if that is served."""
    leaves: dict[Path, Any]
    store: mounted.Store | None
    nodes: int
    items: tuple[Item, ...]
    notes: tuple[Note, ...]


def of(launch: Launch, start: serving.Start) -> Wanted:
    """Say a launch in the inventory's words. Raises Unreadable for a command beyond all measure."""
    return _Reading(launch, start).wanted()


class _Reading:
    """Collects leaves, items and notes of one launch."""

    def __init__(self, launch: Launch, start: serving.Start) -> None:
        self.launch, self.start = launch, start
        self.engine = engines.named(start.engine)
        self.leaves: dict[Path, Any] = {}
        self.items: list[Item] = []
        self.notes: list[Note] = [*launch.notes, *start.notes]
        self.nodes = launch.nodes
        self.inside: int | None = None

    def wanted(self) -> Wanted:
        """Read everything."""
        line = self._line()
        self.notes += line.notes
        if self.launch.image is not None:
            self.items.append(Item(self.launch.line, hiding.shown(self.launch.image), ("image",)))
        if self.launch.gpus:
            self.items.append(Item(self.launch.line, "the GPU", ("gpu",)))
        said = {each.name: each for each in line.said}
        target = self._target(line, said)
        self.nodes = max(self.nodes, group.nodes({name: each.value for name, each in said.items()}))
        self._options(said)
        self._environment()
        store = mounted.store(self.launch, self.leaves)
        path = target if target and target.startswith("/") else None
        self._container(store, path)
        self._ports()
        if path is not None:
            self._path(path)
        handle = self.launch.model or (target if target and re.fullmatch(forms.HANDLE, target) else None)
        if target and handle is None and path is None:
            self._lost(self.launch.line, f"model {target}", "this is no model handle and no path in the container")
        return Wanted(
            self.launch,
            self.start.engine,
            handle,
            path,
            self.leaves,
            store,
            self.nodes,
            tuple(self.items),
            tuple(self.notes),
        )

    def _line(self) -> Line:
        words, lines = self.start.words, self.start.lines
        if self.start.engine == "aeon-vllm":
            return aeon_options.read(self.launch)
        if self.start.engine != "vllm":
            return table_options.read(self.start.engine, words, lines)
        known = serving.of_image(self.launch.image)
        tag = known.tags.get((self.launch.image or "").partition("@")[0].rpartition(":")[2]) if known else None
        return vllm_options.read(words, lines, tag.vllm or tag.vllm_at_least if tag else None)

    def _target(self, line: Line, said: dict[str, Said]) -> str | None:
        """Give what is served: the word of its own, or the option."""
        option = said.pop("model_path" if self.start.engine == "sglang" else "model", None)
        target = str(option.value) if option else line.model
        if target is not None:
            self.items.append(Item(option.line if option else self.launch.line, hiding.shown(target), ("model",)))
        return target.rstrip("/") if target and len(target) > 1 else target

    def _path(self, path: str) -> None:
        """Say a served path; of a GGUF file, its directory and its name."""
        head, _, name = path.rpartition("/")
        if self.start.engine == "llama-cpp" and name.endswith(".gguf") and re.fullmatch(forms.FILE, name):
            self.leaves["model_file",] = name
            path = head or "/"
        if re.fullmatch(forms.PATH, path):
            self.leaves["model_path",] = path

    def _options(self, said: dict[str, Said]) -> None:
        for each in said.values():
            if values.unknown(str(each.value)) and not isinstance(each.value, dict):
                self._lost(each.line, f"{each.what} {each.value}", "its value is the caller's, and not in this file")
            elif not values.sayable(each.value):
                self._lost(each.line, each.what, "its value has characters or a size that no inventory takes")
            else:
                self._option(each)

    def _option(self, said: Said) -> None:
        name, value = said.name, said.value
        if name in {"api_key", "hf_token"} or hiding.is_secret_name(name):
            self._secret(name, said.line, literal=not hiding.stands_for(str(value)))
        elif name in {"served_model_name", "alias"}:
            self._names(said)
        elif name == "port" and type(value) is int:
            self.inside = value
        elif name == "host":
            self.items.append(Item(said.line, said.what, ("bind",)))
        elif group.says(name, value, self.nodes):
            self._group(said)
        elif name.startswith("speculative_") and self._speculative(said):
            pass
        elif value == "" or (isinstance(value, tuple) and not value):
            self._lost(said.line, said.what, "it is given nothing")
        else:
            self._say(("set", name), value, said.line, said.what)

    def _names(self, said: Said) -> None:
        given = said.value if isinstance(said.value, tuple) else str(said.value).split(",")
        good = tuple(each for each in map(str, given) if re.fullmatch(forms.SERVED, each))
        if good:
            self._say(("served_names",), good[:1] if self.engine.one_name else good, said.line, said.what)
        if len(good) != len(given):
            self._lost(said.line, said.what, "these are no names that a client can write")

    def _group(self, said: Said) -> None:
        why = "a group's hosts and rendezvous follow from `on`"
        self.notes.append(Note("corrected", said.line, hiding.shown(f"{said.what} {said.value}"), why))

    def _speculative(self, said: Said) -> bool:
        """Take what says how to speculate; True where it is no option of its own."""
        found = speculation.read(said, self.start.engine, self.leaves.get(("speculative",), {}))
        if found is None:
            return False
        self.notes += found.notes
        if found.value:
            self._say(("speculative",), found.value, said.line, said.what)
        return True

    def _environment(self) -> None:
        exported = [each for each in self.start.env if each[0] not in {known.name for known in self.launch.env}]
        for variable in self.launch.env:
            self._variable(variable.name, variable)
        for name, value in exported:
            if hiding.is_secret_name(name):
                self._secret(name, self.launch.line, literal=not hiding.stands_for(value))
            elif not values.unknown(value):
                self._set_variable(name, value, self.launch.line)

    def _variable(self, name: str, variable: Variable) -> None:
        value, line = variable.value, variable.line
        if self.start.engine == "aeon-vllm" and name in aeon_options.VARIABLES:
            return
        if name == "VLLM_HOST_IP" and self.nodes > 1:
            self.notes.append(Note("corrected", line, f"-e {name}", "a group's addresses follow from its hosts' links"))
        elif hiding.is_secret_name(name) or (value is not None and hiding.is_secret(value)):
            self._secret(name, line, literal=not hiding.stands_for(value or ""))
        elif value is None or values.unknown(value):
            self._lost(line, f"-e {name}", "its value is the caller's, and not in this file")
        else:
            self._set_variable(name, value, line)

    def _set_variable(self, name: str, value: str, line: int) -> None:
        if not re.fullmatch(forms.VARIABLE, name) or not re.fullmatch(forms.LINE, value) or not values.sayable(value):
            self._lost(line, f"-e {name}", "this is no variable of one line")
            return
        read = int(value) if re.fullmatch(r"0|-?[1-9]\d{0,17}", value) else value
        self._say(("env", name), read, line, f"-e {name}")

    def _secret(self, name: str, line: int, *, literal: bool) -> None:
        """Put a reference in the place of a key for clients; every other secret stays out."""
        variable = self.engine.key_variable
        plain = name.lower().lstrip("-")
        if plain in {"api_key", "vllm_api_key"} or (variable is not None and name == variable):
            secret = f"{self.start.engine.replace('-', '_')}_api_key"
            self.leaves["api_key",] = {"secret": secret}
            if variable is None:
                return
            self.items.append(Item(line, name, ("api_key",)))
            self.notes.append(Note("corrected", line, name, _KEY.format(name=secret) + (_LITERAL if literal else "")))
        elif literal:
            self._lost(line, name, _STAGED + _LITERAL)
        else:
            self.notes.append(Note("corrected", line, name, _STAGED))

    def _container(self, store: mounted.Store | None, path: str | None) -> None:
        launch = self.launch
        if launch.ipc in {"host", "private"}:
            self._say(("container", "ipc"), launch.ipc, launch.line, f"--ipc {launch.ipc}")
        elif launch.ipc is not None:
            self._lost(launch.line, f"--ipc {launch.ipc}", "a namespace is the host's or the container's own")
        if launch.shm_size_bytes:
            self._shared_memory(launch.shm_size_bytes)
        for name, limit in launch.ulimits:
            if name in {"memlock", "stack", "nofile"}:
                self._say(("container", "ulimits", name), limit, launch.line, f"--ulimit {name}")
            else:
                self._lost(launch.line, f"--ulimit {name}", "memlock, stack and nofile can be said")
        prelude = self.start.prelude + launch.prelude
        if prelude:
            self._say(("container", "prelude"), prelude, launch.line, "; ".join(map(" ".join, prelude)))
        for name, seconds in launch.timeouts:
            self._say(("timeouts", name), seconds, launch.line, name)
        found = mounted.rest(launch, store, path)
        self.notes += found.notes
        for target, value in found.leaves.items():
            self._say(target, value, found.lines[target], f"-v {target[-1]}")
        for device in launch.devices:
            self._device(device)

    def _shared_memory(self, size: int) -> None:
        if self.launch.ipc == "host":
            why = "with the host's IPC namespace the host's /dev/shm is used, and a size has no effect"
            self.notes.append(Note("corrected", self.launch.line, "--shm-size", why))
        else:
            self.leaves["container", "ipc"] = "private"
            self._say(("container", "shm_size_gib"), max(size / GIB, 0.001), self.launch.line, "--shm-size")

    def _device(self, device: str) -> None:
        if device.startswith(("/dev/infiniband", "/dev/nvidia", "nvidia.com/gpu")):
            why = "a container gets the GPU, and the nodes of a group their link's devices"
            self.notes.append(Note("corrected", self.launch.line, f"--device {device}", why))
        else:
            self._lost(self.launch.line, f"--device {device}", "no other device is handed to a container")

    def _ports(self) -> None:
        launch, inside = self.launch, self.inside
        held = self.engine.defaults["set"]["port"] if inside is None else inside
        found = next((port for port in launch.ports if port.container == held), None)
        found = found or next(iter(launch.ports), None)
        if found is not None and found.host is not None:
            self._say(("port",), found.host, found.line, f"-p {found.host}:{found.container}")
            self._bind(found.address, found.line)
            if found.container != held:
                why = f"the server listens on {held} in there; the port is published from where it listens"
                self.notes.append(Note("corrected", found.line, f"-p {found.host}:{found.container}", why))
        elif launch.host_network or launch.image is None or (inside is not None and not launch.ports):
            self._say(("port",), held, launch.line, "--network host" if launch.host_network else "--port")
        for port in launch.ports:
            if port is not found:
                self._lost(port.line, f"-p {port.host}:{port.container}", "a server has one port")

    def _bind(self, address: str | None, line: int) -> None:
        if address in {"127.0.0.1", "[::1]"}:
            self._say(("bind",), "loopback", line, f"-p {address}:…")

    def _say(self, path: Path, value: Any, line: int, what: str) -> None:  # noqa: ANN401
        self.leaves[path] = value
        self.items.append(Item(line, hiding.shown(what), path))

    def _lost(self, line: int, what: str, why: str) -> None:
        self.notes.append(Note("lost", line, hiding.shown(what), why))
