"""Docker Compose files: projects that are read, and one project that is written; of a group, a service per machine.

Sources: the Compose Specification, 05-services.md (short and long forms), 12-interpolation.md (`${NAME:-default}`,
`$$`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sparkiac import catalog
from sparkiac.foreign import docker, node, yamlread
from sparkiac.foreign.launch import (
    ENV_FILE,
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
from sparkiac.foreign.node import Exported, HostContainer
from sparkiac.foreign.yamlread import ForeignContent, extended, is_elsewhere
from sparkiac.plan import Container, confinement
from sparkiac.plan.confinement import KEYED, SETTINGS, Tree
from sparkiac.render import escape, yamltext
from sparkiac.render.compose import bind, ports
from sparkiac.report import Path

_SERVICES: Final = re.compile(r"^services[ \t]*:[ \t\r]*(#.*)?$", re.MULTILINE)
_HAS_SERVICE: Final = re.compile(r"^[ \t]+[\"']?(image|build|container_name)[\"']?[ \t]*:", re.MULTILINE)
_VARIABLE: Final = re.compile(
    r"\$(?:(\$)|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?:(:?[-?+])((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*))?\})"
)
_COMPOSE: Final = catalog.launchers().compose
_REPLACED: Final = {
    **{key: docker.NOTED[option].why for key, option in _COMPOSE.spellings.items()},
    **{key: each.why for key, each in _COMPOSE.notes.items()},
    **{each.compose: each.fixed for each in SETTINGS if not each.key and each.fixed},
}
_READ: Final = {each.compose for each in KEYED} | {
    *("image", "container_name", "command", "entrypoint", "environment", "ports", "volumes", "network_mode"),
    *("devices", "gpus", "runtime", "deploy", "stdin_open", "tty"),
}
_READ_AT_TOP: Final = frozenset({"services", "version", "name"})


def recognise(text: str, name: str) -> bool:
    """Return whether a text is a Compose file."""
    plain = name.rpartition("/")[2].lower()
    return _SERVICES.search(text) is not None and (_HAS_SERVICE.search(text) is not None or "compose" in plain)


def read(text: str, *, name: str, given: Mapping[str, str] = {}) -> tuple[Launch, ...]:  # noqa: ARG001  as all importers
    """Read all services. Raises Unreadable."""
    document = yamlread.read(text)
    data = document.data if isinstance(document.data, dict) else {}
    services = data.get("services")
    if not isinstance(services, dict) or not services:
        raise Unreadable("the file has no `services:`")
    found = [_ComposeService(each, extended(services, each), document, given).launch() for each in services]
    return (found[0]._replace(notes=(*document.notes, *_top(data, document), *found[0].notes)), *found[1:])


def _top(data: dict[str, Any], document: ForeignContent) -> Iterator[Note]:
    for key in data:
        if key in _READ_AT_TOP:
            continue
        if key in {"volumes", "networks"}:
            yield corrected(document.line(key), key, "not needed: containers use paths of the host and published ports")
        elif not key.startswith("x-"):
            yield lost(document.line(key), key, "only services are read")


class _ComposeService:
    """Reads one service."""

    def __init__(self, name: str, data: object, document: ForeignContent, given: Mapping[str, str]) -> None:
        self.name, self.document, self.given = name, document, given
        self.data: dict[str, Any] = data if isinstance(data, dict) else {}
        self.notes: list[Note] = []
        self.line = document.line("services", name)

    def launch(self) -> Launch:
        """Return the service as a launch."""
        command = self._words("command")
        return Launch(
            self._text("container_name") or self.name,
            self.line,
            self._text("image"),
            tuple(word for word, _ in self._words("entrypoint")) if "entrypoint" in self.data else None,
            tuple(word for word, _ in command),
            env=tuple(self._variables()),
            volumes=tuple(docker.kept(self._volumes(), self.notes)),
            ports=tuple(docker.kept(self._ports(), self.notes)),
            devices=tuple(self._devices()),
            gpus=self._gpus(),
            host_network=self.data.get("network_mode") == "host",
            settings={**self._settings(), **dict(self._times())},
            notes=(*self._other_keys(), *self.notes),
            lines=tuple(line for _, line in command),
        )

    def _line(self, *path: str | int) -> int:
        return self.document.line("services", self.name, *path)

    def _lost(self, line: int, what: str, why: str) -> None:
        self.notes.append(lost(line, what, why))

    def _text(self, key: str) -> str | None:
        value = self.data.get(key)
        return self._expand(value, self._line(key)) if isinstance(value, str | int | float) else None

    def _expand(self, value: object, line: int) -> str:
        """Return a scalar as Compose reads it: variables take their defaults and `$$` is one dollar."""
        text = str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)

        def put(found: re.Match[str]) -> str:
            if found[1]:
                return "$"
            own, operator = self.given.get(found[2] or found[3]), found[4] or ""
            if own is not None and (own or not operator.startswith(":")):
                return (found[5] or "") if operator.endswith("+") else own
            if found[4] in {":-", "-"}:
                why = f"the default is used, because the file does not set {found[3]}"
                self.notes.append(Note("corrected", line, f"${{{found[3]}:-…}}", why))
                return _VARIABLE.sub(put, found[5] or "")
            return f"${{{found[3]}}}" if found[4] in {":?", "?"} else found[0]

        return _VARIABLE.sub(put, text)

    def _words(self, key: str) -> list[tuple[str, int]]:
        """Return a list of words; a text is split as Compose splits it."""
        value = self.data.get(key)
        if isinstance(value, tuple):
            lines = (self._line(key, place) for place in range(len(value)))
            return [(self._expand(each, line), line) for each, line in zip(value, lines, strict=True)]
        if not isinstance(value, str):
            return []
        try:
            words = shlex.split(self._expand(value, self._line(key)).replace("\\\n", " "))
        except ValueError:
            raise Unreadable(f"{key} has an unclosed quote", line=self._line(key)) from None
        return [(word, self._line(key)) for word in words]

    def _variables(self) -> Iterator[EnvVariable]:
        value = self.data.get("environment")
        if isinstance(value, dict):
            for name, each in value.items():
                line = self._line("environment", name)
                yield EnvVariable(name, None if each is None else self._value(name, each, line), line)
        for place, each in enumerate(value) if isinstance(value, tuple) else ():
            name, equals, text = str(each).partition("=")
            line = self._line("environment", place)
            yield EnvVariable(name, self._value(name, text, line) if equals else None, line)
        if "env_file" in self.data:
            self._lost(self._line("env_file"), "env_file", ENV_FILE)

    def _value(self, name: str, value: object, line: int) -> str | None:
        if isinstance(value, dict | tuple):
            self._lost(line, name, "a variable must have a text value")
            return None
        return self._expand(value, line)

    def _volumes(self) -> Iterator[Volume | Note]:
        for place, each in self._list("volumes"):
            line = self._line("volumes", place)
            if isinstance(each, dict):
                mode = ":ro" if each.get("read_only") is True else ""
                text = f"{self._expand(each.get('source'), line)}:{self._expand(each.get('target'), line)}{mode}"
            else:
                text = self._expand(each, line)
            yield docker.volume(text, line)

    def _ports(self) -> Iterator[PublishedPort | Note]:
        for place, each in self._list("ports"):
            line, text = self._line("ports", place), each
            if isinstance(each, dict):
                address = f"{each['host_ip']}:" if "host_ip" in each else ""
                text = f"{address}{each.get('published', '')}:{each.get('target', '')}"
            yield docker.port(self._expand(text, line), line)

    def _devices(self) -> Iterator[str]:
        for place, each in self._list("devices"):
            device = self._expand(each, self._line("devices", place)).partition(":")[0]
            if not device.startswith(docker.GPU):
                yield device

    def _list(self, key: str) -> Iterator[tuple[int, Any]]:
        value = self.data.get(key)
        if isinstance(value, tuple):
            yield from enumerate(value)
        elif value is not None:
            self._lost(self._line(key), str(key), "must be a list")

    def _gpus(self) -> bool:
        """Return whether the service requests the GPU, in any of the three forms."""
        held: Any = self.data.get("deploy")
        for key in ("resources", "reservations", "devices"):
            held = held.get(key) if isinstance(held, dict) else None
        named = any(str(each).startswith(docker.GPU) for _, each in self._list("devices"))
        return named or bool(held) or bool(self.data.get("gpus")) or self.data.get("runtime") == "nvidia"

    def _settings(self) -> dict[Path, Tree]:
        stated = ((each, text, self._line(each.compose)) for each in KEYED for text in self._texts(each.compose))
        found, notes = docker.settings(stated)
        self.notes += notes
        return found

    def _texts(self, key: str) -> list[str]:
        """Return the values of a key as `docker run` writes them; `name=value` for those of a mapping."""
        value, line = self.data.get(key), self._line(key)
        if isinstance(value, dict):
            soft = {name: each.get("soft") if isinstance(each, dict) else each for name, each in value.items()}
            return [f"{name}={self._expand(each, line)}" for name, each in soft.items()]
        texts = value if isinstance(value, tuple) else () if value is None else (value,)
        return [self._expand(each, line) for each in texts]

    def _times(self) -> Iterator[tuple[Path, int]]:
        health = self.data.get("healthcheck")
        begins = health.get("start_period") if isinstance(health, dict) else None
        for name, text in (("stop_s", self._text("stop_grace_period")), ("ready_s", begins)):
            held = docker.seconds(str(text or ""))
            if held:
                yield ("timeouts", name), held

    def _other_keys(self) -> Iterator[Note]:
        if not self.data:
            yield lost(self.line, self.name, "a service must be a mapping of keys")
        if "image" not in self.data and "build" in self.data:
            yield lost(self._line("build"), "build", "an image that is built is configured under `builds:`")
        for key in self.data:
            if key in _REPLACED:
                yield corrected(self._line(key), str(key), _REPLACED[key])
            elif key == "extends" and not is_elsewhere(self.data[key]):
                yield corrected(self._line(key), "extends", "the settings of the other service are merged")
            elif key not in _READ and key not in {"env_file", "build"}:
                yield lost(self._line(key), key, NO_SETTING)


def write(nodes: Sequence[HostContainer]) -> Exported:
    """Write a deployment. Paths on the host are those of the inventory."""
    first = nodes[0].container
    notes = [*node.notes(nodes, "compose"), *node.weights(first)]
    names = [each.host.name for each in nodes] if len(nodes) > 1 else [first.name]
    if len(nodes) > 1:
        notes += [f"on {name}: docker compose up --detach {name}" for name in names]
    notes += node.cache_notes(first)
    services = {name: _service(each.container) for name, each in zip(names, nodes, strict=True)}
    data: dict[str, Any] = {"name": first.name, "services": services}
    if (volume := node.compile_cache(first)) is not None:
        data["volumes"] = {volume[0]: {"name": volume[0]}}
    head = node.as_comments((*node.heading(first), *notes))
    return Exported(head + yamltext.dump(data), tuple(notes))


def _service(container: Container) -> dict[str, Any]:
    """Return a service that Docker restarts itself."""
    entrypoint, words = node.entrypoint(container)
    service: dict[str, Any] = {
        "image": node.image(container),
        "restart": "unless-stopped",
        "init": True,
        "entrypoint": [entrypoint] if entrypoint else None,
        "command": [*words],
        "environment": dict(sorted(container.command.env.items())),
        "volumes": _volumes(container),
        "ports": ports(container),
        "network_mode": "host" if container.network.host else None,
        **confinement.compose(confinement.ACCESS, container.confinement, exported=True),
        "healthcheck": _healthcheck(container),
        "stop_grace_period": f"{container.timeouts.stop_s}s",
        **confinement.compose(confinement.LIMITS, container.confinement, exported=True),
        "logging": {"options": {"max-size": "50m"}},
    }
    tree: Any = escape.compose_tree({key: value for key, value in service.items() if value not in (None, [], {})})
    keys = {name: f"${{{name}:?must contain the key}}" for name in node.secret_variables(container)}
    return {**tree, **({"environment": {**keys, **tree.get("environment", {})}} if keys else {})}


def _volumes(container: Container) -> list[dict[str, Any]]:
    volumes, cache = [bind(mount) for mount in node.mounts(container)], node.compile_cache(container)
    return [*volumes, *([{"type": "volume", "source": cache[0], "target": cache[1]}] if cache else [])]


def _healthcheck(container: Container) -> dict[str, Any] | None:
    check, ready = node.health_command(container), f"{container.timeouts.ready_s}s"
    return {"test": ["CMD", *check], "interval": "15s", "timeout": "5s", "start_period": ready} if check else None
