"""A launch in the inventory's words: paths and values, and what became of each of its words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sparkiac import engines
from sparkiac.catalog import releases
from sparkiac.importers import (
    aeon_options,
    group,
    hiding,
    mounted,
    naming,
    serving,
    speculation,
    table_options,
    values,
    vllm_options,
)
from sparkiac.importers.collected import Collected, Item
from sparkiac.importers.launch import Note
from sparkiac.model import forms, references
from sparkiac.source import literals

if TYPE_CHECKING:
    from collections.abc import Container

    from sparkiac.importers.launch import Launch, Variable
    from sparkiac.importers.said import Line, Said
    from sparkiac.report import Path

_KEY: Final = "the key comes from the secret {name}: put its value into a vault, never into this file"
_STAGED: Final = "weights are staged before, so the server needs no token; sparkiac keeps secrets in files on the host"
_DOWNLOADED: Final = "weights are staged in the model store, where the server looks for them by HF_HOME"
_NO_MODEL: Final = "this is no model handle and no path in the container"
_LITERAL: Final = "; it stood here for all to read, so change it now"


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
    worker: bool = False
    """Whether it is one of a group that another machine leads."""
    served: tuple[str, ...] = ()
    """Names that its clients use, if they are known."""

    def place(self, path: Path) -> tuple[int, str]:
        """Give the line and the words of the launch that a value comes from."""
        found = ((item.line, item.what) for item in self.items if item.path == path)
        return next(found, (self.launch.line, ".".join(map(str, path))))


def of(launch: Launch, start: serving.Start) -> Wanted:
    """Say a launch in the inventory's words. Raises Unreadable for a command beyond all measure."""
    return _Reading(launch, start).wanted()


class _Reading(Collected):
    """Reads one launch."""

    def __init__(self, launch: Launch, start: serving.Start) -> None:
        super().__init__(launch, notes=start.notes)
        self.start = start
        self.engine = engines.named(start.engine)
        self.nodes = launch.nodes
        self.inside: int | None = None
        self.worker = False

    def wanted(self) -> Wanted:
        """Read everything."""
        line = self._line()
        self.notes += line.notes
        self._image()
        if self.launch.gpus:
            self.items.append(Item(self.launch.line, "the GPU", ("gpu",)))
        said = {each.name: each for each in line.said}
        target = self._target(line, said)
        self.nodes = max(self.nodes, group.nodes({name: each.value for name, each in said.items()}))
        self._options(said)
        self.notes += speculation.unknown_algorithm(self.leaves, self.launch.line)
        self._added(said)
        self._environment()
        path = target if target and _is_path(target) else None
        store = mounted.store(self.launch, self.leaves, path)
        if self.leaves.pop(("set", "download_dir"), None) is not None:
            self.notes.append(Note("corrected", said["download_dir"].line, said["download_dir"].what, _DOWNLOADED))
        self.container(store, path, self.start.prelude)
        held = self.engine.defaults["set"]["port"]
        self.ports(held if self.inside is None else self.inside, told=self.inside is not None)
        if path is not None:
            self._path(path)
        return Wanted(
            self.launch,
            self.start.engine,
            self._handle(target),
            path,
            self.leaves,
            store,
            self.nodes,
            tuple(self.items),
            tuple(self.notes),
            worker=self.worker,
            served=self.leaves.get(("served_names",))
            or naming.implied(self.start.engine, path or self._handle(target)),
        )

    def _line(self) -> Line:
        words, lines = self.start.words, self.start.lines
        if self.start.engine == "aeon-vllm":
            return aeon_options.read(self.launch)
        if self.start.engine != "vllm":
            return table_options.read(self.start.engine, words, lines)
        known = serving.of_image(self.launch.image)
        tag = references.split((self.launch.image or "").partition("@")[0])[1]
        return vllm_options.read(words, lines, releases.of_tag(known, tag) if known else None)

    def _target(self, line: Line, said: dict[str, Said]) -> str | None:
        """Give what is served: the word of its own, or the option."""
        option = said.pop("model_path" if self.start.engine == "sglang" else "model", None)
        target = str(option.value) if option else line.model
        good = target is not None and (_is_path(target) or re.fullmatch(forms.HANDLE, target))
        if target is not None and (good or not self.launch.model):
            place = option.line if option else self.launch.line
            if good:
                self.items.append(Item(place, hiding.shown(target), ("model",)))
            else:
                self.lost(place, f"model {target}", values.CALLERS if values.unknown(target) else _NO_MODEL)
        return target.rstrip("/") if target and len(target) > 1 else target

    def _image(self) -> None:
        image = self.launch.image
        if image is None:
            return
        if re.fullmatch(forms.IMAGE, image):
            self.items.append(Item(self.launch.line, hiding.shown(image), ("image",)))
            return
        self.lost(self.launch.line, f"image {image}", values.CALLERS if values.unknown(image) else "this is no image")
        self.launch = self.launch._replace(image=None)

    def _handle(self, target: str | None) -> str | None:
        """Give the model's name: beside the command, or what is served."""
        named = (each for each in (target, self.launch.model) if each and re.fullmatch(forms.HANDLE, each))
        return next(named, None)

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
                self.lost(each.line, f"{each.what} {_written(each.value)}", values.CALLERS)
            elif not values.sayable(each.value):
                self.lost(each.line, each.what, "its value has characters or a size that no inventory takes")
            else:
                self._option(each)

    def _option(self, said: Said) -> None:
        name, value = said.name, said.value
        if name in {"api_key", "hf_token"} or hiding.is_secret_name(name):
            self._secret(name, said.line, literal=not literals.stands_for(str(value)))
        elif name in {"served_model_name", "alias"}:
            self._names(said)
        elif name == "revision" and re.fullmatch(forms.GIT_REF, str(value)):
            self.launch = self.launch._replace(revision=self.launch.revision or str(value))
            self.notes.append(Note("corrected", said.line, said.what, "the lock pins the model's commit"))
        elif name == "port" and type(value) is int:
            self.inside = value
        elif name == "host":
            self._host(said)
        elif group.says(name, value, self.nodes):
            self._group(said)
        elif name.startswith("speculative_") and self._speculative(said):
            pass
        elif value == "" or (isinstance(value, tuple) and not value):
            self.lost(said.line, said.what, "it is given nothing")
        else:
            self.say(("set", name), value, said.line, said.what)

    def _added(self, said: Container[str]) -> None:
        """Tell of switches that the engine is given here and the launch does not have."""
        for name, value in self.engine.defaults["set"].items():
            if value is True and name not in said:
                what = f"--{name.replace('_', '-')}"
                self.notes.append(
                    Note("corrected", self.launch.line, what, "added, as for every server of this engine")
                )

    def _host(self, said: Said) -> None:
        """Take an address that nobody else reaches, where the server listens on the host's own network."""
        own = self.launch.host_network or self.launch.image is None
        if own and str(said.value) in {"127.0.0.1", "localhost", "::1"}:
            self.say(("bind",), "loopback", said.line, said.what)
        else:
            self.items.append(Item(said.line, said.what, ("bind",)))

    def _names(self, said: Said) -> None:
        given = said.value if isinstance(said.value, tuple) else str(said.value).split(",")
        good = tuple(each for each in map(str, given) if re.fullmatch(forms.SERVED, each))
        if good:
            self.say(("served_names",), good, said.line, said.what)
        if len(good) != len(given):
            self.lost(said.line, said.what, "these are no names that a client can write")

    def _group(self, said: Said) -> None:
        self.worker |= said.name == "headless" or (said.name == "node_rank" and said.value not in {0, "0"})
        why = "a group's hosts and rendezvous follow from `on`"
        self.notes.append(Note("corrected", said.line, hiding.shown(f"{said.what} {said.value}"), why))

    def _speculative(self, said: Said) -> bool:
        """Take what says how to speculate; True where it is no option of its own."""
        found = speculation.read(said, self.start.engine, self.leaves.get(("speculative",), {}))
        if found is None:
            return False
        self.notes += found.notes
        if found.value:
            self.say(("speculative",), found.value, said.line, said.what)
        return True

    def _environment(self) -> None:
        exported = [each for each in self.start.env if each[0] not in {known.name for known in self.launch.env}]
        for variable in self.launch.env:
            self._variable(variable.name, variable)
        for name, value in exported:
            if hiding.is_secret_name(name):
                self._secret(name, self.launch.line, literal=not literals.stands_for(value))
            elif not values.unknown(value):
                self._set_variable(name, value, self.launch.line)

    def _variable(self, name: str, variable: Variable) -> None:
        value, line = variable.value, variable.line
        if self.start.engine == "aeon-vllm" and name in aeon_options.VARIABLES:
            return
        if name == "VLLM_HOST_IP" and self.nodes > 1:
            self.notes.append(Note("corrected", line, f"-e {name}", "a group's addresses follow from its hosts' links"))
        elif hiding.is_secret_name(name) or (value is not None and hiding.is_secret(value)):
            self._secret(name, line, literal=not literals.stands_for(value or ""))
        elif value is None or values.unknown(value):
            self.lost(line, f"-e {name}", values.CALLERS)
        else:
            self._set_variable(name, value, line)

    def _set_variable(self, name: str, value: str, line: int) -> None:
        if not re.fullmatch(forms.VARIABLE, name) or not re.fullmatch(forms.LINE, value) or not values.sayable(value):
            self.lost(line, f"-e {name}", "this is no variable of one line")
            return
        read = int(value) if re.fullmatch(r"0|-?[1-9]\d{0,17}", value) else value
        self.say(("env", name), read, line, f"-e {name}")

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
            self.lost(line, name, _STAGED + _LITERAL)
        else:
            self.notes.append(Note("corrected", line, name, _STAGED))


def _is_path(target: str) -> bool:
    """Whether what is served is a path in the container that is known to its end."""
    return target.startswith("/") and not values.unknown(target)


def _written(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
