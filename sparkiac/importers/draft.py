"""Launches → the data of an inventory, with comments at the places that they are about."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sparkiac.importers import hiding, match, mounted, naming, serving, sidecar, validity, wanted
from sparkiac.importers.launch import Note
from sparkiac.importers.unreadable import Unreadable
from sparkiac.model import forms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sparkiac.importers.collected import Item
    from sparkiac.importers.launch import Launch
    from sparkiac.importers.match import Match
    from sparkiac.importers.wanted import Wanted
    from sparkiac.report import Path

_MANY: Final = 1000
_ASKS: Final = frozenset({"--version", "--help", "-h"})
_LED: Final = "one of a group that another machine leads: its command follows from the leader's, and from `on`"
_NAMELESS: Final = "the file names no model, only where it lies: write the model's handle"
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
        note = Note("lost", launch.line, _shown(launch), "it ends by itself, so it is no deployment and no service")
        notes = launch.notes if launch.image is None else (note,)
        return Entry(launch, "nothing", launch.name or "", None, False, {}, (), notes or (note,), None, 0)  # noqa: FBT003
    found = sidecar.read(launch)
    data, refused = validity.without_refused(found.data, "service", launch.line)
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
        if path[:2] == ("container", "files") and value == {"why": mounted.NOWHERE}:
            notes.append(
                Note("lost", launch.line, f"-v …:{path[2]}", "where the file is cannot be known: give its url")
            )
    handle = differences.get(("model",)) or found.model or match.handle_of(found)
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


def _weights(found: Wanted, chosen: Match) -> tuple[str | None, dict[Path, Any], list[Note]]:
    """Find the model store; of a served directory without a known model, what stands for its name."""
    notes: list[Note] = []
    if found.store is not None and found.path is None:
        if found.store.source is None:
            why = f"where that is on the host cannot be known from here: {STORE} stands for it"
            notes.append(Note("corrected", found.store.line, f"-v {found.store.what}:…", why))
        return found.store.source, {}, notes
    source = mounted.source_of(found.launch, found.path) if found.path is not None else None
    nameless = [] if chosen.known or match.handle_of(found) else [Note("lost", found.launch.line, "model", _NAMELESS)]
    if source is None or not re.fullmatch(forms.PATH, source):
        return None, {}, [*notes, *(nameless if found.path else ())]
    parts = source.removesuffix(f"/{found.leaves['model_file',]}" if ("model_file",) in found.leaves else "").split("/")
    handle = "/".join(parts[-2:])
    if chosen.known or match.handle_of(found) is not None:
        known = str(match.handle_of(found) or "").lower() == handle.lower()
        return ("/".join(parts[:-2]) or None) if known else None, {}, notes
    if len(parts) < 4 or not re.fullmatch(forms.HANDLE, handle):  # noqa: PLR2004  '', store, organisation, name
        return None, {}, [*notes, *nameless]
    why = "the file names no model: its directory stands for organisation and name; write the model's handle"
    notes.append(Note("lost", found.launch.line, f"model {found.path}", why))
    return "/".join(parts[:-2]), {("model",): handle}, notes
