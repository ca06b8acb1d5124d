"""One `docker run` command line → a launch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.importers import docker_options, docker_values, redaction
from sparkiac.importers.docker_options import REPLACED, DockerOption
from sparkiac.importers.launch import (
    ENV_FILE,
    NO_SETTING,
    EnvVariable,
    Launch,
    Note,
    PublishedPort,
    Unreadable,
    Volume,
    lost,
)
from sparkiac.importers.shell_words import variable_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sparkiac.importers.shell_words import ShellCommand

PROGRAMS: Final = frozenset({"docker", "podman", "nerdctl", "nvidia-docker"})
_WRAPPERS: Final = frozenset({"sudo", "exec", "nohup", "time", "env", "nice", "ionice", "stdbuf", "command", "setsid"})
"""Programs that run another program."""
_GLOBAL: Final = frozenset({"--context", "-c", "--host", "-H", "--log-level", "-l", "--config"})
_MAX_WORDS: Final = 2000
_READERS: Final = {"volume": docker_values.volume, "mount": docker_values.mount, "publish": docker_values.port}


def launch(command: ShellCommand) -> Launch | None:
    """Return what a command starts in a container, or None if it starts none. Raises Unreadable if it is too long."""
    words, lines = command.words, command.lines
    start = _start(words)
    if start is None:
        return None
    if len(words) > _MAX_WORDS:
        message = f"the command line has more than {_MAX_WORDS} words"
        raise Unreadable(message, line=command.line)
    parsed = docker_options.read(words, lines, start)
    image = words[parsed.end] if parsed.end < len(words) else None
    notes = list(parsed.notes)
    if image is None:
        notes.append(lost(command.line, "docker run", "the image is missing"))
    found = _Options(dict(command.env), notes)
    for option in parsed.options:
        found.apply(option)
    argv = words[parsed.end + 1 :]
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
        timeouts=tuple(found.timeouts),
        read_only="read-only" in found.flags,
        notes=tuple(found.notes),
        lines=lines[parsed.end + 1 :],
        once="rm" in found.flags and "detach" not in found.flags and not found.ports,
    )


def program(words: Sequence[str]) -> int:
    """Return the index of the program after sudo, nohup, their options and variable assignments."""
    at = 0
    while at < len(words) and (words[at] in _WRAPPERS or words[at].startswith("-") or "=" in words[at]):
        at += 1
    return at


def _start(words: tuple[str, ...]) -> int | None:
    """Return the index of the first option of `docker run`, or None for another command."""
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
    """The launch settings that the options of one command line set."""

    def __init__(self, exported: dict[str, str], notes: list[Note]) -> None:
        self.exported, self.notes = exported, notes
        self.name: str | None = None
        self.entrypoint: tuple[str, ...] | None = None
        self.env: list[EnvVariable] = []
        self.volumes: list[Volume] = []
        self.ports: list[PublishedPort] = []
        self.devices: list[str] = []
        self.gpus = False
        self.network: str | None = None
        self.ipc: str | None = None
        self.shm_size_bytes: int | None = None
        self.ulimits: list[tuple[str, int]] = []
        self.timeouts: list[tuple[str, int]] = []
        self.flags: set[str] = set()

    def apply(self, option: DockerOption) -> None:
        """Apply one option, or note why it is not imported."""
        self.flags.add(option.name)
        known = self._take(option)
        if REPLACED.get(option.name):
            self._note("corrected", option, REPLACED[option.name])
        elif option.name in docker_options.UNUSED:
            self._note("unused", option, docker_options.UNUSED[option.name])
        elif not known and option.name not in REPLACED:
            self._note("lost", option, NO_SETTING)

    def _note(self, kind: str, option: DockerOption, why: str) -> None:
        word = f"--{option.name}" if option.name in docker_options.FLAGS else f"--{option.name} {option.value}"
        self.notes.append(Note(kind, option.line, redaction.redacted(word), why))

    def _take(self, option: DockerOption) -> bool:  # noqa: C901, PLR0912  one case for each option
        """Store the value of an option. Return False for an option without a setting."""
        value = option.value
        match option.name:
            case "name":
                self.name = value
            case "entrypoint":
                self.entrypoint = (value,) if value else ()
            case "env":
                self._env(option)
            case "volume" | "mount" | "publish":
                self._add(_READERS[option.name](option.value, option.line))
            case "device" if value.startswith(docker_options.GPU):
                self.gpus = True
            case "device":
                self.devices.append(value)
            case "gpus":
                self.gpus = value not in {"", "0", "none"}
            case "runtime":
                self.gpus = self.gpus or value == "nvidia"
            case "network":
                self._network(option)
            case "ipc":
                self.ipc = value
            case "shm-size":
                self._shm_size(option)
            case "ulimit":
                self._ulimit(option)
            case "stop-timeout" | "health-start-period":
                if seconds := docker_values.seconds(value):
                    self.timeouts.append(("stop_s" if option.name == "stop-timeout" else "ready_s", seconds))
            case "user":
                if value not in docker_options.ROOT:
                    self._note("lost", option, "it runs as the user of its image")
            case "env-file":
                self._note("lost", option, ENV_FILE)
            case name:
                return name == "read-only"  # every container is read-only unless its recipe changes that
        return True

    def _env(self, option: DockerOption) -> None:
        name, equals, value = option.value.partition("=")
        held = value if equals else self.exported.get(name)
        caller = held is not None and variable_name(held) is not None
        passed = caller and held in {f"${name}", f"${{{name}}}"}
        self.env.append(EnvVariable(name, None if passed else held, option.line))

    def _network(self, option: DockerOption) -> None:
        self.network = option.value
        if option.value not in {"host", "bridge", "default"}:
            self._note("lost", option, "containers reach one another by the addresses of their hosts")

    def _shm_size(self, option: DockerOption) -> None:
        self.shm_size_bytes = docker_values.size_bytes(option.value)
        if self.shm_size_bytes is None:
            self._note("lost", option, "not a size")

    def _ulimit(self, option: DockerOption) -> None:
        found = docker_values.limit(option.value)
        if found is None:
            self._note("lost", option, "not a limit")
        else:
            self.ulimits.append(found)

    def _add(self, found: Volume | PublishedPort | Note) -> None:
        if isinstance(found, Volume):
            self.volumes.append(found)
        elif isinstance(found, PublishedPort):
            self.ports.append(found)
        else:
            self.notes.append(found)
