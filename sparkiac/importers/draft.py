"""Launches → the data of an inventory, with comments at the places that they are about."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sparkiac import engines, placeholders
from sparkiac.importers import hiding, match, mounted, naming, serving, sidecar, validity, wanted
from sparkiac.importers.launch import Note
from sparkiac.importers.unreadable import Unreadable
from sparkiac.model import forms

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from sparkiac.importers.collected import Item
    from sparkiac.importers.launch import Launch
    from sparkiac.importers.match import Match
    from sparkiac.importers.wanted import Wanted
    from sparkiac.report import Path

_MANY: Final = 1000
_ASKS: Final = frozenset({"--version", "--help", "-h"})
_LED: Final = "one of a group that another machine leads: its command follows from the leader's, and from `on`"
_NAMELESS: Final = "the file does not name the model: write its handle"
_DIRECTORY: Final = "its directory in the model store is read as organisation and name"
STORE: Final = "/srv/models"
"""Where weights lie if no file tells."""
_ORDER: Final = (
    "image",
    "model",
    "model_path",
    "model_file",
    "served_names",
    "port",
    "bind",
    "model_store",
    "set",
    "speculative",
    "env",
    "container",
    "timeouts",
    "api_key",
)


class Entry(NamedTuple):
    """What becomes of one launch."""

    launch: Launch
    kind: str
    """`deployment`, `service`, or `nothing`."""
    name: str
    recipe: str | None
    """vendor/name, or vendor/name#variant."""
    known: bool
    """Whether that is a recipe of this very model."""
    data: dict[str, Any]
    items: tuple[Item, ...]
    notes: tuple[Note, ...]
    store: str | None
    """Directory of the model store on the host, if the launch tells."""
    nodes: int
    wanted: Wanted | None = None


def entry(launch: Launch, taken: Sequence[str]) -> Entry:
    """Say what one launch becomes, under a name that is not taken. Raises Unreadable."""
    if len(launch.env) + len(launch.volumes) + len(launch.ports) + len(launch.notes) > _MANY:
        message = f"a container with more than {_MANY} variables, mounts and ports"
        raise Unreadable(message, line=launch.line)
    launch = launch._replace(image=serving.short(launch.image)) if launch.image else launch
    start = serving.start(launch)
    if start is not None and not (launch.once and _ASKS & {*start.words}):
        return _deployment(wanted.of(launch, start), taken)
    if launch.once or launch.image is None:
        note = Note("unused", launch.line, _shown(launch), "it ends by itself, so it is no deployment and no service")
        notes = launch.notes if launch.image is None else (note,)
        return Entry(launch, "nothing", launch.name or "", None, False, {}, (), notes or (note,), None, 0)  # noqa: FBT003
    found = sidecar.read(launch)
    missing = {} if "image" in found.data else {"image": placeholders.IMAGE}
    data, refused = validity.without_refused(found.data | missing, "service", launch.line)
    name = naming.free(naming.plain(launch.name, serving.repository_of(launch.image)), taken)
    return Entry(launch, "service", name, None, False, data, found.items, (*found.notes, *refused), None, 1)  # noqa: FBT003


def _shown(launch: Launch) -> str:
    return hiding.shown(" ".join((launch.image or "", *launch.argv)))


def _deployment(found: Wanted, taken: Sequence[str]) -> Entry:
    launch = found.launch
    if found.worker:
        note = Note("corrected", launch.line, _shown(launch), _LED)
        return Entry(launch, "nothing", launch.name or "", None, False, {}, (), (note,), None, 0)  # noqa: FBT003
    chosen = match.find(found)
    store, named, notes = _weights(found, chosen)
    differences = chosen.differences | named
    for path, value in differences.items():
        if path[:2] == ("container", "files") and value == {"url": placeholders.URL}:
            notes.append(
                Note("lost", launch.line, f"-v …:{path[2]}", "the file does not say where this is: give its url")
            )
    handle = differences.get(("model",)) or found.model or match.handle_of(found)
    differences |= _missing(found.engine, {*differences, *chosen.has})
    head: dict[str, Any] = {"recipe": chosen.recipe}
    head |= {"variant": chosen.variant} if chosen.variant else {}
    head |= {"fragments": chosen.fragments} if chosen.fragments else {}
    head |= {"description": launch.description} if _is_title(launch.description) else {}
    name = naming.free(naming.plain(launch.name, *found.leaves.get(("served_names",), ()), handle), taken)
    data, refused = validity.without_refused(head | nested(differences), "deployment", launch.line)
    recipe = f"{chosen.recipe}#{chosen.variant}" if chosen.variant else chosen.recipe
    return Entry(
        launch,
        "deployment",
        name,
        recipe,
        chosen.known,
        data,
        found.items,
        (*found.notes, *chosen.notes, *notes, *refused),
        store,
        found.nodes,
        found,
    )


def nested(leaves: Mapping[Path, Any]) -> dict[str, Any]:
    """Build the mapping that leaves describe, keys in the inventory's order and options by name."""
    data: dict[str, Any] = {}
    for path in sorted(leaves, key=lambda path: (_ORDER.index(str(path[0])), tuple(map(str, path[1:])))):
        inner = data
        for part in path[:-1]:
            inner = inner.setdefault(str(part), {})
        inner[str(path[-1])] = leaves[path]
    return data


def _is_title(text: str | None) -> bool:
    return text is not None and len(text) <= 200 and re.fullmatch(forms.TITLE, text) is not None  # noqa: PLR2004


def _missing(engine: str, said: Container[Path]) -> dict[Path, Any]:
    """Give placeholders for what neither the file nor the recipe says."""
    stands: dict[Path, Any] = {("model",): placeholders.MODEL, ("image",): placeholders.IMAGE}
    stands |= {("model_file",): placeholders.MODEL_FILE} if "model_file" in engines.named(engine).needs else {}
    return {path: value for path, value in stands.items() if path not in said}


def _weights(found: Wanted, chosen: Match) -> tuple[str | None, dict[Path, Any], list[Note]]:
    """Find the model store, and the model of a served directory without a name."""
    store, handle = found.store, match.handle_of(found)
    if found.path is None:
        nameless = [] if handle or _is_told(found) else [Note("lost", found.launch.line, "model", _NAMELESS)]
        if store is None or store.source is not None:
            return store.source if store else None, {}, nameless
        why = f"where that is on the host cannot be known from here: {STORE} stands for it"
        return None, {}, [Note("corrected", store.line, f"-v {store.what}:…", why), *nameless]
    volume = mounted.around(found.launch, found.path)
    inner = found.path[len(volume.target) + 1 :] if volume else ""
    if ("model_file",) in found.leaves:
        inner = inner.rpartition("/")[0]
    source = f"{volume.source.rstrip('/')}/{inner}".rstrip("/") if volume else ""
    known = source if re.fullmatch(forms.PATH, source) else ""
    if chosen.known or handle is not None:
        at_end = handle is not None and known.lower().endswith(f"/{handle.lower()}")
        return (known[: -len(f"/{handle}")] or None) if at_end else (store.source if store else None), {}, []
    if volume is not None and re.fullmatch(forms.HANDLE, inner):
        note = Note("corrected", found.launch.line, f"model {found.path}", _DIRECTORY)
        return (volume.source if known else None), {("model",): inner}, [note]
    what = f"model {found.path}, on the host {hiding.shown(source)}" if volume else f"model {found.path}"
    return store.source if store else None, {}, [Note("lost", found.launch.line, what, _NAMELESS)]


def _is_told(found: Wanted) -> bool:
    """Whether the report says already what is wrong with the model."""
    return any(note.kind == "lost" and note.what.startswith("model") for note in found.notes)
