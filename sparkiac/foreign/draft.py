"""One launch → the data of a deployment or service, with notes for the report."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pydantic import TypeAdapter, ValidationError

from sparkiac import catalog, engines
from sparkiac.foreign import collector, match, mounts, redaction, server, service, serving, values
from sparkiac.foreign.collector import ImportedValue
from sparkiac.foreign.launch import Launch, Note, Unreadable, corrected, lost
from sparkiac.foreign.match import Match
from sparkiac.foreign.server import ServerLaunch
from sparkiac.model import forms, references
from sparkiac.model.base import DIRECTORIES_OF_SPARKIAC, UNITS_OF_SPARKIAC
from sparkiac.model.catalog import Recipe
from sparkiac.model.inventory import Deployment
from sparkiac.model.services import Service
from sparkiac.report import Path, placeholders
from sparkiac.resolve import catalogued

_MAX_SETTINGS: Final = 1000
_LONGEST_NAME: Final = 40
_LONGEST_TITLE: Final = 200
_RESERVED: Final = UNITS_OF_SPARKIAC | DIRECTORIES_OF_SPARKIAC
_QUERIES: Final = frozenset({"--version", "--help", "-h"})
_ENDS: Final = "it exits by itself, so it is neither a deployment nor a service"
_NO_SOURCE: Final = "the file does not state the source of this mount: fill in its url"
_WORKER: Final = "a worker of a group: its command follows from the leader's and from `hosts`"
_NAMELESS: Final = "the file does not name the model: fill in its handle"
_DIRECTORY: Final = "its directory in the model store is read as organisation/name"
STORE: Final = "/srv/models"
"""Directory of the weights if no file states it."""
_ORDER: Final = """
    image model model_path model_file served_names port bind model_store set speculative env container timeouts api_key
""".split()  # noqa: SIM905  a list of names is easier to read this way


_MODELS: Final[dict[str, TypeAdapter[Any]]] = {
    "deployment": TypeAdapter(Deployment),
    "service": TypeAdapter(Service),
    "recipe": TypeAdapter(Recipe),
}
_ROUNDS: Final = 9
_REQUIRED: Final = {"deployment": {"hosts": "spark-01"}, "service": {"hosts": "spark-01"}, "recipe": {}}
"""Required keys that an entry does not have yet."""


class DraftEntry(NamedTuple):
    """The result of one launch."""

    launch: Launch
    kind: str
    """`deployment`, `service` or `nothing`."""
    name: str
    data: dict[str, Any]
    items: tuple[ImportedValue, ...] = ()
    notes: tuple[Note, ...] = ()
    recipe: str | None = None
    """vendor/name or vendor/name#variant."""
    same_model: bool = False
    """Whether this is a recipe of the same model, not only of the same engine."""
    store: str | None = None
    """Directory of the model store on the host, if the launch states it."""
    nodes: int = 1
    port: int | None = None
    """Port on the host, if it is known."""
    server: ServerLaunch | None = None


def entry(launch: Launch, taken: Sequence[str]) -> DraftEntry:
    """Convert one launch to an entry, with a name that is not in `taken`. Raises Unreadable."""
    if len(launch.env) + len(launch.volumes) + len(launch.ports) + len(launch.notes) > _MAX_SETTINGS:
        raise Unreadable(f"the container has more than {_MAX_SETTINGS} variables, mounts and ports", line=launch.line)
    launch = launch._replace(image=references.short(launch.image)) if launch.image else launch
    start = serving.start(launch)
    if start is not None and not (launch.once and _QUERIES & {*start.words}):
        return _deployment(server.read(launch, start), taken)
    if launch.once or launch.image is None:
        note = Note("unused", launch.line, _command_text(launch), _ENDS)
        notes = launch.notes if launch.image is None else (note,)
        return DraftEntry(launch, "nothing", launch.name or "", {}, notes=notes or (note,), nodes=0)
    own, found = service.read(launch)
    missing = {} if "image" in own else {"image": placeholders.IMAGE}
    data, refused = without_invalid(own | missing, "service", launch.line)
    name = unused(slug(launch.name, serving.repository_of(launch.image)), taken)
    known = catalog.service_kinds().get(data["kind"])
    port = data.get("port", known and known.port)
    return DraftEntry(launch, "service", name, data, tuple(found.items), (*found.notes, *refused), port=port)


def _command_text(launch: Launch) -> str:
    return redaction.redacted(redaction.joined((launch.image or "", *(launch.entrypoint or ()), *launch.argv)))


def _deployment(server: ServerLaunch, taken: Sequence[str]) -> DraftEntry:
    launch = server.launch
    if server.worker:
        note = corrected(launch.line, _command_text(launch), _WORKER)
        return DraftEntry(launch, "nothing", launch.name or "", {}, notes=(note,), nodes=0)
    chosen = match.find(server)
    store, named, notes = _weights(server, chosen)
    differences = {**chosen.differences, **named}
    for path, value in differences.items():
        if path[:2] == ("container", "files") and value == {"url": placeholders.URL}:
            notes.append(lost(launch.line, f"-v …:{path[2]}", _NO_SOURCE))
    handle = differences.get(("model",)) or server.model or match.handle_of(server)
    # The image of a base recipe is none of the file's: options of another release would be findings.
    unnamed = {("image",)} if server.launch.image is None and not chosen.same_model else set[Path]()
    differences |= _missing(server.engine, {*differences, *(chosen.leaves.keys() - unnamed)})
    head: dict[str, Any] = {"recipe": chosen.recipe} if chosen.recipe else {"engine": server.engine}
    head |= {"variant": chosen.variant} if chosen.variant else {}
    head |= {"fragments": chosen.fragments} if chosen.fragments else {}
    title = launch.description or ""
    head |= {"description": title} if len(title) <= _LONGEST_TITLE and re.fullmatch(forms.TITLE, title) else {}
    name = unused(slug(launch.name, *server.leaves.get(("served_names",), ()), handle), taken)
    data, refused = without_invalid(head | nested(differences), "deployment", launch.line)
    return DraftEntry(
        launch,
        "deployment",
        name,
        data,
        server.items,
        (*server.notes, *chosen.notes, *notes, *refused),
        recipe=catalogued.full_name(chosen.recipe, chosen.variant) if chosen.recipe else None,
        same_model=chosen.same_model,
        store=store,
        nodes=server.nodes,
        port=differences.get(("port",)) or chosen.leaves.get(("port",), (None,))[0],
        server=server,
    )


def slug(*texts: str | None) -> str:
    """Make a name from the first text that has letters: at most 40 lower-case letters, digits and hyphens."""
    for text in texts:
        letters = unicodedata.normalize("NFKD", text or "").encode("ascii", "ignore").decode("ascii")
        name = re.sub(r"[^a-z0-9]+", "-", letters.lower().rpartition("/")[2])
        name = re.sub(r"^[^a-z]+", "", name)[:_LONGEST_NAME].strip("-")
        if name and name not in _RESERVED and not name.startswith("turn-"):
            return name
    return "server"


def unused(name: str, taken: Container[str]) -> str:
    """Return the name, with a number appended if it is already taken."""
    number, chosen = 2, name
    while chosen in taken:
        ending = f"-{number}"
        chosen, number = name[: _LONGEST_NAME - len(ending)].rstrip("-") + ending, number + 1
    return chosen


def nested(leaves: Mapping[Path, Any]) -> dict[str, Any]:
    """Build nested mappings from paths, with keys in the inventory's order and options by name."""
    paths = sorted(leaves, key=lambda path: (_ORDER.index(str(path[0])), tuple(map(str, path[1:]))))
    return collector.nested({path: leaves[path] for path in paths})


def _missing(engine: str, present: Container[Path]) -> dict[Path, Any]:
    """Return placeholders for required values that neither the file nor the recipe has."""
    placeholder: dict[Path, Any] = {("model",): placeholders.MODEL, ("image",): placeholders.IMAGE}
    placeholder |= {("model_file",): placeholders.MODEL_FILE} if "model_file" in engines.named(engine).needs else {}
    return {path: value for path, value in placeholder.items() if path not in present}


def _weights(server: ServerLaunch, chosen: Match) -> tuple[str | None, dict[Path, Any], list[Note]]:
    """Find the model store, and the model that a path without a handle serves."""
    store, handle = server.store, match.handle_of(server)
    if server.path is None:
        is_reported = any(note.kind == "lost" and note.what.startswith("model") for note in server.notes)
        nameless = [] if handle or is_reported else [lost(server.launch.line, "model", _NAMELESS)]
        return store.source if store else None, {}, nameless
    volume = mounts.containing(server.launch, server.path)
    inner = server.path[len(volume.target) + 1 :] if volume else ""
    if ("model_file",) in server.leaves:
        inner = inner.rpartition("/")[0]
    source = f"{volume.source.rstrip('/')}/{inner}".rstrip("/") if volume else ""
    known = source if re.fullmatch(forms.PATH, source) else ""
    if chosen.same_model or handle is not None:
        at_end = handle is not None and known.lower().endswith(f"/{handle.lower()}")
        return (known[: -len(f"/{handle}")] or None) if at_end else (store.source if store else None), {}, []
    if volume is not None and re.fullmatch(forms.HANDLE, inner):
        note = corrected(server.launch.line, f"model {server.path}", _DIRECTORY)
        return (volume.source if known else None), {("model",): inner}, [note]
    what = f"model {server.path}, on the host {redaction.redacted(source)}" if volume else f"model {server.path}"
    return store.source if store else None, {}, [lost(server.launch.line, what, _NAMELESS)]


def without_invalid(data: dict[str, Any], kind: str, line: int) -> tuple[dict[str, Any], list[Note]]:
    """Return an entry without the values that the models reject, and a note for each."""
    notes: list[Note] = []
    for path in [*_not_portable(data, ())]:
        notes.append(
            lost(line, ".".join(map(str, path[:1])), "it contains characters or a size that YAML files cannot hold")
        )
        data = _without(data, path)
    for _ in range(_ROUNDS):
        try:
            _MODELS[kind].validate_python(data | _REQUIRED[kind])
        except ValidationError as error:
            for path in dict.fromkeys(_path_of(data, each["loc"]) for each in error.errors()):
                notes.append(_rejected(data, path, line))
                data = _without(data, path)
        else:
            break
    return data, notes


def _not_portable(data: dict[str, Any], path: Path) -> Iterator[Path]:
    """Yield the paths of keys and values that YAML parsers read differently."""
    for key, value in data.items():
        if not values.is_portable(key) or (not isinstance(value, dict) and not values.is_portable(value)):
            yield (*path, key)
        elif isinstance(value, dict):
            yield from _not_portable(value, (*path, key))


def _path_of(data: dict[str, Any], loc: tuple[int | str, ...]) -> Path:
    """Return the path of the value that an error's location refers to, without names of union members."""
    path: Path = ()
    inner: Any = data
    for part in loc:
        if isinstance(inner, dict) and part in inner:
            path, inner = (*path, part), inner[part]
    return path


def _rejected(data: Any, path: Path, line: int) -> Note:  # noqa: ANN401  any plain data
    for part in path:
        data = data[part] if isinstance(data, dict) and part in data else ""
    return lost(line, f"{'.'.join(map(str, path))}: {data}", "an inventory cannot contain this value")


def _without(data: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the mapping without one value, and without mappings that become empty."""
    if not path or path[0] not in data:
        return data
    first = str(path[0])
    inner = _without(data[first], path[1:]) if len(path) > 1 else None
    rest = {key: value for key, value in data.items() if key != first}
    return {key: inner if key == first else value for key, value in data.items()} if inner else rest
