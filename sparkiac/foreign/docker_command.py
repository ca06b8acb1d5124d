"""One `docker run` command line → a launch."""

from __future__ import annotations

from typing import Final

from sparkiac.foreign import docker, redaction, serving
from sparkiac.foreign.docker import DockerOption
from sparkiac.foreign.launch import (
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
from sparkiac.foreign.shell_parts import ShellCommand, variable_name

_PROGRAMS: Final = frozenset({"docker", "podman", "nerdctl", "nvidia-docker"})
_GLOBAL: Final = frozenset({"--context", "-c", "--host", "-H", "--log-level", "-l", "--config"})
_MAX_WORDS: Final = 2000
_READERS: Final = {"volume": docker.volume, "mount": docker.mount, "publish": docker.port}


def launch(command: ShellCommand) -> Launch | None:
    """Return what a command starts in a container, or None if it starts none. Raises Unreadable if it is too long."""
    inner = command.unwrapped()
    name, start = subcommand(inner)
    words, lines = inner.words, inner.lines
    if name not in {"run", "create", "exec"}:
        return None
    if len(words) > _MAX_WORDS:
        raise Unreadable(f"the command line has more than {_MAX_WORDS} words", line=command.line)
    parsed = docker.read(words, lines, start)  # all options of `docker exec` are options of `docker run`
    image = words[parsed.end] if parsed.end < len(words) else None
    argv, at = words[parsed.end + 1 :], lines[parsed.end + 1 :]
    found = _Options(Launch(None, command.line, image, None, argv, notes=parsed.notes, lines=at), dict(inner.env))
    for option in parsed.options:
        found.apply(option)
    if name == "exec":
        return _executed(found.launch)
    if image is None:
        found.add(lost(command.line, "docker run", "the image is missing"))
    flags = {option.name for option in parsed.options}
    return found.launch._replace(once="rm" in flags and "detach" not in flags and not found.launch.ports)


def _executed(launch: Launch) -> Launch | None:
    """Return the server that `docker exec` starts in a container; None if it starts something else."""
    notes = (*launch.notes, lost(launch.line, f"exec {launch.image or ''}", serving.NO_IMAGE))
    found = launch._replace(image=None, entrypoint=(), notes=notes, inside=launch.image or "")
    return found if found.argv and serving.start(found) is not None else None


def subcommand(command: ShellCommand) -> tuple[str, int]:
    """Return the subcommand of docker and the index of its first option; an empty name for another program."""
    words, at = command.words, 1
    if command.program not in _PROGRAMS:
        return "", 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _GLOBAL else 1
    at += words[at : at + 1] == ("container",)
    return (words[at] if at < len(words) else ""), at + 1


class _Options:
    """Puts the options of one command line into a launch."""

    def __init__(self, launch: Launch, exported: dict[str, str]) -> None:
        self.launch, self.exported = launch, exported

    def apply(self, option: DockerOption) -> None:
        """Apply one option, or note why it is not imported."""
        known = self._take(option)
        noted = docker.NOTED.get(option.name)
        if noted is not None and noted.why:
            self._note(noted.kind, option, noted.why)
        elif noted is None and not known:
            self._note("lost", option, NO_SETTING)

    def _note(self, kind: str, option: DockerOption, why: str) -> None:
        word = f"--{option.name}" if option.name in docker.FLAGS else f"--{option.name} {option.value}"
        self.add(Note(kind, option.line, redaction.redacted(word), why))

    def _take(self, option: DockerOption) -> bool:  # noqa: C901, PLR0912  one case for each option
        """Store the value of an option. Return False for an option without a setting."""
        value, launch = option.value, self.launch
        match option.name:
            case "name":
                self.launch = launch._replace(name=value)
            case "entrypoint":
                self.launch = launch._replace(entrypoint=(value,) if value else ())
            case "env":
                self.launch = launch._replace(env=(*launch.env, self._env(option)))
            case "volume" | "mount" | "publish":
                self.add(_READERS[option.name](option.value, option.line))
            case "device" if value.startswith(docker.GPU):
                self.launch = launch._replace(gpus=True)
            case "device":
                self.launch = launch._replace(devices=(*launch.devices, value))
            case "gpus":
                self.launch = launch._replace(gpus=value not in {"", "0", "none"})
            case "runtime":
                self.launch = launch._replace(gpus=launch.gpus or value == "nvidia")
            case "network":
                self.launch = launch._replace(host_network=value == "host")
                if value not in {"host", "bridge", "default"}:
                    self._note("lost", option, "containers reach one another by the addresses of their hosts")
            case name if name in docker.READ:
                found, notes = docker.settings(((docker.READ[name], value, option.line),))
                self.launch = launch._replace(settings={**launch.settings, **found}, notes=(*launch.notes, *notes))
            case "stop-timeout" | "health-start-period":
                if seconds := docker.seconds(value):
                    key = ("timeouts", "stop_s" if option.name == "stop-timeout" else "ready_s")
                    self.launch = launch._replace(settings={**launch.settings, key: seconds})
            case "user":
                if value not in docker.ROOT:
                    self._note("lost", option, "it runs as the user of its image")
            case "env-file":
                self._note("lost", option, ENV_FILE)
            case _:
                return False
        return True

    def _env(self, option: DockerOption) -> EnvVariable:
        name, equals, value = option.value.partition("=")
        held = value if equals else self.exported.get(name)
        caller = held is not None and variable_name(held) is not None
        passed = caller and held in {f"${name}", f"${{{name}}}"}
        return EnvVariable(name, None if passed else held, option.line)

    def add(self, found: Volume | PublishedPort | Note) -> None:
        """Add a mount, a port or a note."""
        launch = self.launch
        if isinstance(found, Volume):
            self.launch = launch._replace(volumes=(*launch.volumes, found))
        elif isinstance(found, PublishedPort):
            self.launch = launch._replace(ports=(*launch.ports, found))
        else:
            self.launch = launch._replace(notes=(*launch.notes, found))
