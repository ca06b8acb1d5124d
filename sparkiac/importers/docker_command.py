"""One command line of `docker run` → a launch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.importers import docker_options, docker_values, hiding
from sparkiac.importers.docker_options import MEANT, Given
from sparkiac.importers.launch import Launch, Note, Port, Variable, Volume
from sparkiac.importers.shell_words import unset
from sparkiac.importers.unreadable import Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sparkiac.importers.shell_words import Command

PROGRAMS: Final = frozenset({"docker", "podman", "nerdctl", "nvidia-docker"})
_BEFORE: Final = frozenset({"sudo", "exec", "nohup", "time", "env", "nice", "ionice", "stdbuf", "command", "setsid"})
"""Programs that run another one."""
_GLOBAL: Final = frozenset({"--context", "-c", "--host", "-H", "--log-level", "-l", "--config"})
_MANY: Final = 2000
_OTHERS: Final = "nothing of the inventory says this"


def launch(command: Command) -> Launch | None:
    """Give what a command starts in a container; None if it starts none. Raises Unreadable for far too many words."""
    words, lines = command.words, command.lines
    start = _start(words)
    if start is None:
        return None
    if len(words) > _MANY:
        message = f"a command line of more than {_MANY} words"
        raise Unreadable(message, line=command.line)
    options = docker_options.read(words, lines, start)
    image = words[options.end] if options.end < len(words) else None
    notes = list(options.notes)
    if image is None:
        notes.append(Note("lost", command.line, "docker run", "the image is missing"))
    found = _Options(dict(command.env), notes)
    for given in options.given:
        found.take(given)
    argv = words[options.end + 1 :]
    return Launch(
        found.name,
        command.line,
        image,
        found.entrypoint,
        argv,
        env=tuple(found.env),
        volumes=tuple(found.volumes),
        ports=tuple(found.ports),
        devices=tuple(found.devices),
        gpus=found.gpus,
        host_network=found.network == "host",
        ipc=found.ipc,
        shm_size_bytes=found.shm_size_bytes,
        ulimits=tuple(found.ulimits),
        restart=found.restart,
        timeouts=tuple(found.timeouts),
        read_only="read-only" in found.flags,
        notes=tuple(found.notes),
        lines=lines[options.end + 1 :],
        once="rm" in found.flags and "detach" not in found.flags and not found.ports,
    )


def program(words: Sequence[str]) -> int:
    """Find the program behind sudo, nohup and what is set for it."""
    at = 0
    while at < len(words) and (words[at] in _BEFORE or words[at].startswith("-") or "=" in words[at]):
        at += 1
    return at


def _start(words: tuple[str, ...]) -> int | None:
    """Find where the options of `docker run` begin."""
    at = program(words)
    if at >= len(words) or words[at].rpartition("/")[2] not in PROGRAMS:
        return None
    at += 1
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _GLOBAL else 1
    if words[at : at + 1] == ("container",):
        at += 1
    return at + 1 if words[at : at + 1] in {("run",), ("create",)} else None


class _Options:
    """What the options of one command line say."""

    def __init__(self, exported: dict[str, str], notes: list[Note]) -> None:
        self.exported, self.notes = exported, notes
        self.name: str | None = None
        self.entrypoint: tuple[str, ...] | None = None
        self.env: list[Variable] = []
        self.volumes: list[Volume] = []
        self.ports: list[Port] = []
        self.devices: list[str] = []
        self.gpus = False
        self.network: str | None = None
        self.ipc: str | None = None
        self.shm_size_bytes: int | None = None
        self.ulimits: list[tuple[str, int]] = []
        self.restart: str | None = None
        self.timeouts: list[tuple[str, int]] = []
        self.flags: set[str] = set()

    def take(self, given: Given) -> None:
        """Take one option, or note why not."""
        self.flags.add(given.name)
        taker: Callable[[Given], object] | None = getattr(self, f"_{given.name.replace('-', '_')}", None)
        if taker is not None:
            taker(given)
        if MEANT.get(given.name):
            self._note("corrected", given, MEANT[given.name])
        elif given.name in docker_options.UNUSED:
            self._note("unused", given, docker_options.UNUSED[given.name])
        elif taker is None and given.name not in MEANT:
            self._note("lost", given, _OTHERS)

    def _note(self, kind: str, given: Given, why: str) -> None:
        word = f"--{given.name}" if given.name in docker_options.FLAGS else f"--{given.name} {given.value}"
        self.notes.append(Note(kind, given.line, hiding.shown(word), why))

    def _name(self, given: Given) -> None:
        self.name = given.value

    def _entrypoint(self, given: Given) -> None:
        self.entrypoint = (given.value,) if given.value else ()

    def _env(self, given: Given) -> None:
        name, equals, value = given.value.partition("=")
        held = value if equals else self.exported.get(name)
        caller = held is not None and unset(held) is not None
        self.env.append(Variable(name, None if caller and held in {f"${name}", f"${{{name}}}"} else held, given.line))

    def _volume(self, given: Given) -> None:
        self._add(docker_values.volume(given.value, given.line))

    def _mount(self, given: Given) -> None:
        self._add(docker_values.mount(given.value, given.line))

    def _publish(self, given: Given) -> None:
        self._add(docker_values.port(given.value, given.line))

    def _add(self, found: Volume | Port | Note) -> None:
        if isinstance(found, Volume):
            self.volumes.append(found)
        elif isinstance(found, Port):
            self.ports.append(found)
        else:
            self.notes.append(found._replace(what=hiding.shown(found.what)))

    def _device(self, given: Given) -> None:
        if given.value.startswith(docker_options.GPU):
            self.gpus = True
        else:
            self.devices.append(given.value)

    def _gpus(self, given: Given) -> None:
        self.gpus = given.value not in {"", "0", "none"}

    def _runtime(self, given: Given) -> None:
        self.gpus = self.gpus or given.value == "nvidia"

    def _network(self, given: Given) -> None:
        self.network = given.value
        if given.value not in {"host", "bridge", "default"}:
            self._note("lost", given, "containers find one another by the addresses of their hosts")

    def _ipc(self, given: Given) -> None:
        self.ipc = given.value

    def _shm_size(self, given: Given) -> None:
        self.shm_size_bytes = docker_values.size_bytes(given.value)
        if self.shm_size_bytes is None:
            self._note("lost", given, "this is no size")

    def _ulimit(self, given: Given) -> None:
        found = docker_values.limit(given.value)
        if found is None:
            self._note("lost", given, "this is no limit")
        else:
            self.ulimits.append(found)

    def _restart(self, given: Given) -> None:
        self.restart = given.value

    def _stop_timeout(self, given: Given) -> None:
        held = docker_values.seconds(given.value)
        self.timeouts += [("stop_s", held)] if held else []

    def _health_start_period(self, given: Given) -> None:
        held = docker_values.seconds(given.value)
        self.timeouts += [("ready_s", held)] if held else []

    def _read_only(self, _: Given) -> None:
        """Every container is read-only here unless its recipe says otherwise."""

    def _user(self, given: Given) -> None:
        if given.value not in docker_options.ROOT:
            self._note("lost", given, "the container runs as the user that its image names")

    def _env_file(self, given: Given) -> None:
        self._note("lost", given, "the variables of that file are not in this one; write them under env, no secret")
