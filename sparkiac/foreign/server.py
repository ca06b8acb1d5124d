"""A launch that serves a model, in inventory terms: paths and values, with notes on what was not imported."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from sparkiac import engines
from sparkiac.catalog import releases
from sparkiac.engines import Engine
from sparkiac.engines.engine import REPLACED
from sparkiac.foreign import machines, mounts, redaction, serving, table_options, values, vllm_options
from sparkiac.foreign.collector import Collector, ImportedValue
from sparkiac.foreign.launch import CommandLine, EnvVariable, Launch, Note, OptionValue
from sparkiac.model import forms, references
from sparkiac.report import Path
from sparkiac.source import secrets

_KEY: Final = "the key is read from the secret {name}: store its value in a vault, not in this file"
_STAGED: Final = "weights are staged before the start, so the server needs no token; secrets are files on the host"
_NO_MODEL: Final = "not a model handle and not a path in the container"
_LITERAL: Final = "; it was readable in this file, so change it now"

LOCAL: Final = frozenset({"127.0.0.1", "localhost", "::1", "[::1]"})
"""Addresses at which only its own machine reaches a server."""


class ServerLaunch(NamedTuple):
    """A server in inventory terms."""

    launch: Launch
    engine: str
    model: str | None
    """Handle of the model, if known."""
    path: str | None
    """Path of the model in the container, if the server loads it from a path."""
    leaves: dict[Path, Any]
    store: mounts.StoreMount | None
    nodes: int
    items: tuple[ImportedValue, ...]
    notes: tuple[Note, ...]
    worker: bool = False
    """Whether it is a worker of a group."""
    served: tuple[str, ...] = ()
    """Names that clients use, if known."""
    given: CommandLine = CommandLine(None, (), ())
    """The command line as it was read."""
    variables: tuple[EnvVariable, ...] = ()
    """The environment as it was read."""

    def source(self, path: Path) -> tuple[int, str]:
        """Return the line and the text of the launch that a value comes from."""
        found = ((item.line, item.what) for item in self.items if item.path == path)
        return next(found, (self.launch.line, ".".join(map(str, path))))


def command_line(launch: Launch, start: serving.ServerStart) -> CommandLine:
    """Read the arguments of a server, or its variables, as the release in the image does."""
    engine = engines.named(start.engine)
    if not engine.words:
        return table_options.of_variables(engine, launch)
    if not engine.interfaces:
        return table_options.read(start.engine, start.words, start.lines)
    known = serving.image_family(launch.image)
    tag = references.split((launch.image or "").partition("@")[0])[1]
    return vllm_options.read(start.words, start.lines, releases.of_tag(known, tag) if known else None)


def read(launch: Launch, start: serving.ServerStart) -> ServerLaunch:
    """Convert a launch to inventory terms. Raises Unreadable for a command that is too long."""
    return _ServerConverter(launch, start).server_launch()


class _ServerConverter(Collector):
    """Converts one launch."""

    def __init__(self, launch: Launch, start: serving.ServerStart) -> None:
        super().__init__(launch, start.notes)
        self.start = start
        self.engine = engines.named(start.engine)
        self.nodes = launch.nodes
        self.server_port: int | None = None
        self.worker = False

    def server_launch(self) -> ServerLaunch:
        """Convert all settings."""
        line = command_line(self.launch, self.start)
        self.notes += line.notes
        self._container_itself()
        options = {each.name: each for each in line.options}
        target = self._target(line, options)
        self.nodes = max(self.nodes, machines.from_options({name: each.value for name, each in options.items()}))
        self._options(options)
        self.notes += table_options.unknown_algorithm(self.leaves, self.engine, self.launch.line)
        variables = (*self.launch.env, *self._exported())
        self.environment(variables)
        path = target if target and _is_path(target) else None
        store = mounts.store(self.launch, self.leaves, path, options.get("download_dir"))
        self.container(store, path, self.start.prelude)
        port = self.engine.defaults["set"][self.engine.port] if self.server_port is None else self.server_port
        self.ports(port, port_in_command=self.server_port is not None)
        if listens_on_loopback(self.launch, self.engine, line):
            self.put(("bind",), "loopback", self.launch.line, "the server listens on loopback")
        if path is not None:
            self._path(path)
        named = (each for each in (target, self.launch.model) if each and re.fullmatch(forms.HANDLE, each))
        handle = next(named, None)
        return ServerLaunch(
            self.launch,
            self.start.engine,
            handle,
            path,
            self.leaves,
            store,
            self.nodes,
            tuple(self.items),
            tuple(self.notes),
            worker=self.worker,
            served=self.leaves.get(("served_names",)) or _default_served(self.engine, path or handle),
            given=line,
            variables=variables,
        )

    def _container_itself(self) -> None:
        """Read the image, and whether it gets the GPU."""
        if (image := self.image()) is not None:
            self.items.append(ImportedValue(self.launch.line, redaction.redacted(image), ("image",)))
        self.launch = self.launch._replace(image=image)
        if self.launch.gpus:
            self.items.append(ImportedValue(self.launch.line, "the GPU", ("gpu",)))

    def _target(self, line: CommandLine, options: dict[str, OptionValue]) -> str | None:
        """Return the served model: the positional argument or the option."""
        keys = filter(None, map(self.engine.key_option, ("model", "model_file", "model_path")))
        option = options.pop(next(keys, ""), None)
        target = str(option.value) if option else line.model
        good = target is not None and (_is_path(target) or re.fullmatch(forms.HANDLE, target))
        if target is not None and (good or not self.launch.model):
            source = option.line if option else self.launch.line
            if good:
                self.items.append(ImportedValue(source, redaction.redacted(target), ("model",)))
            else:
                self.lost(source, f"model {target}", values.CALLERS_VALUE if values.is_unknown(target) else _NO_MODEL)
        return target.rstrip("/") if target and len(target) > 1 else target

    def _path(self, path: str) -> None:
        """Set a served path; for a GGUF file, its directory and file name."""
        head, _, name = path.rpartition("/")
        if "model_file" in self.engine.needs and name.endswith(".gguf") and re.fullmatch(forms.FILE, name):
            self.leaves["model_file",] = name
            path = head or "/"
        if re.fullmatch(forms.PATH, path):
            self.leaves["model_path",] = path

    def _options(self, options: dict[str, OptionValue]) -> None:
        for each in options.values():
            if each.name in REPLACED:
                self.corrected(each.line, each.what, REPLACED[each.name])
            elif values.is_unknown(str(each.value)) and not isinstance(each.value, dict):
                self.lost(each.line, f"{each.what} {_written(each.value)}", values.CALLERS_VALUE)
            elif not values.is_portable(each.value):
                self.lost(each.line, each.what, "its value is too long or has characters that are not allowed")
            else:
                self._option(each)

    def _option(self, option: OptionValue) -> None:
        name, value = option.name, option.value
        if name in {"api_key", "hf_token"} or redaction.is_secret_name(name):
            self._secret(name, option.line, literal=not secrets.is_placeholder(str(value)))
        elif self.engine.elsewhere.get(name) == "served_names":
            self._names(option)
        elif name == "revision" and re.fullmatch(forms.GIT_REF, str(value)):
            self.launch = self.launch._replace(revision=self.launch.revision or str(value))
            self.corrected(option.line, option.what, "the lock pins the model's commit")
        elif name == self.engine.port and type(value) is int:
            self.server_port = value
        elif name == self.engine.host:
            self.items.append(ImportedValue(option.line, option.what, ("bind",)))
        elif machines.is_implied(name, value, self.nodes):
            self._group(option)
        elif name.startswith("speculative_") and self._speculative(option):
            pass
        elif value == "" or (isinstance(value, tuple) and not value):
            self.lost(option.line, option.what, "its value is empty")
        else:
            self.put(("set", name), value, option.line, option.what)

    def _names(self, option: OptionValue) -> None:
        given = option.value if isinstance(option.value, tuple) else str(option.value).split(",")
        good = tuple(each for each in map(str, given) if re.fullmatch(forms.SERVED, each))
        if good:
            self.put(("served_names",), good, option.line, option.what)
        if len(good) != len(given):
            self.lost(option.line, option.what, "clients cannot use these names")

    def _group(self, option: OptionValue) -> None:
        self.worker |= option.name == "headless" or (option.name == "node_rank" and option.value not in {0, "0"})
        if option.value == 1 and option.name == machines.PIPELINE:
            self.items.append(ImportedValue(option.line, option.what, ("hosts",)))
            return
        why = "the hosts and the rendezvous of a group follow from `hosts`"
        self.corrected(option.line, f"{option.what} {option.value}", why)

    def _speculative(self, option: OptionValue) -> bool:
        """Import an option about speculation; return False for other options."""
        found = table_options.speculative(option, self.engine, self.leaves.get(("speculative",), {}))
        if found is None:
            return False
        self.notes += found.notes
        if found.value:
            self.put(("speculative",), found.value, option.line, option.what)
        return True

    def _exported(self) -> Iterator[EnvVariable]:
        """Yield the variables that a shell sets for the server, without those that its caller sets."""
        known = {each.name for each in self.launch.env}
        for name, value in self.start.env:
            if name not in known and (redaction.is_secret_name(name) or not values.is_unknown(value)):
                yield EnvVariable(name, value, self.launch.line)

    def is_read(self, variable: EnvVariable) -> bool:
        """Return whether a variable sets an option, or the address of a node."""
        name = variable.name
        if name == "VLLM_HOST_IP" and self.nodes > 1:
            self.corrected(variable.line, f"-e {name}", "the hosts' links set the addresses of a group")
            return True
        return name in self.engine.variables or name in self.engine.speculation

    def secret(self, variable: EnvVariable) -> None:
        """Import the API key, and note all other secrets."""
        self._secret(variable.name, variable.line, literal=not secrets.is_placeholder(variable.value or ""))

    def _secret(self, name: str, line: int, *, literal: bool) -> None:
        """Replace the API key by a reference to a secret; other secrets are not imported."""
        variable = self.engine.key_variable
        plain = name.lower().lstrip("-")
        if plain in {"api_key", "vllm_api_key"} or (variable is not None and name == variable):
            secret = f"{self.start.engine.replace('-', '_')}_api_key"
            self.leaves["api_key",] = {"secret": secret}
            if variable is None:
                return
            self.items.append(ImportedValue(line, name, ("api_key",)))
            self.corrected(line, name, _KEY.format(name=secret) + (_LITERAL if literal else ""))
        elif literal:
            self.lost(line, name, _STAGED + _LITERAL)
        else:
            self.corrected(line, name, _STAGED)


def listens_on_loopback(launch: Launch, engine: Engine, given: CommandLine) -> bool:
    """Return whether only its own machine reaches a server, by its option or its engine's default."""
    own = launch.host_network or launch.image is None
    host = next((str(each.value) for each in given.options if each.name == engine.host), None)
    is_default = engine.loopback and (launch.image is None or engine.python)  # llama.cpp's images set LLAMA_ARG_HOST
    return own and (is_default if host is None else host in LOCAL)


def _is_path(target: str) -> bool:
    """Return whether the served target is a path in the container without unknown parts."""
    return target.startswith("/") and not values.is_unknown(target)


def _written(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _default_served(engine: Engine, target: str | None) -> tuple[str, ...]:
    """Return the name under which an engine serves a handle or path if none is configured; none if it takes any."""
    if target is None or engine.default_name == "any":
        return ()
    name = target.rpartition("/")[2] if engine.default_name == "last part" and target.startswith("/") else target
    return (name,) if re.fullmatch(forms.SERVED, name) else ()
