"""Imported entries → the text of an inventory or a recipe, with comments where something was corrected or lost."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import count, pairwise, zip_longest
from typing import Any, Final

from sparkiac.foreign import draft, redaction, yamlwrite
from sparkiac.foreign.draft import DraftEntry
from sparkiac.foreign.launch import Launch, Note, Unreadable, grouped, lost, names
from sparkiac.model import forms
from sparkiac.report import Path, placeholders
from sparkiac.source import secrets

MAX_LAUNCHES: Final = 64
_FIRST: Final = frozenset({"recipe", "engine", "variant", "fragments", "kind"})
_HOST: Final = "fill in the machine's name and address, or import with --host NAME=ADDRESS"
_LINK: Final = "fill in the interface, RDMA device and address of the link to the other hosts of the group"
_LINK_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,14}")
_STORE: Final = "no file states it: fill in the directory with the weights on the host"
_BASE: Final = (
    "the catalog has no recipe for this model: these settings come from the file and no source has tried them here"
)
_ALTERNATIVES: Final = "two of these have the same port, so each runs in a turn of its own: keep those that you need"
_EMPTY: Final = "only hosts: nothing in the files became a deployment or a service"


def entries(launches: Sequence[tuple[str, Launch]], hidden: frozenset[str]) -> tuple[tuple[str, DraftEntry], ...]:
    """Convert each launch of each file to an entry without secrets. Raises Unreadable."""
    taken: list[str] = []
    found: list[tuple[str, DraftEntry]] = []
    for file, number in Counter(file for file, _ in launches).items():
        if number > MAX_LAUNCHES:
            message = f"{number} containers are started here; at most {MAX_LAUNCHES} are read from one file"
            raise _in(file, Unreadable(message, line=[each for name, each in launches if name == file][-1].line))
    hidden |= secret_values([launch for _, launch in launches])
    for file, launch in launches:
        try:
            entry = _without_secrets(draft.entry(launch, taken), hidden)
        except Unreadable as error:
            raise _in(file, error) from None
        if any(each.lower() in entry.name for each in hidden):
            entry = entry._replace(name=draft.unused("server", taken))
        taken.append(entry.name)
        found.append((file, entry))
    return tuple(found)


def _in(file: str, error: Unreadable) -> Unreadable:
    error.file = file
    return error


def secret_values(launches: Sequence[Launch]) -> frozenset[str]:
    """Return the values that launches assign to variables and options whose names mark a secret."""
    pairs = [(each.name, each.value) for launch in launches for each in launch.env]
    pairs += [pair for launch in launches for pair in pairwise(launch.argv) if pair[0].startswith("--")]
    return frozenset(
        value for name, value in pairs if value and redaction.is_secret_name(name) and secrets.can_be_real(value)
    )


def inventory(found: Sequence[tuple[str, DraftEntry]], name: str, hosts: Sequence[tuple[str, str]]) -> str:
    """Write the inventory of these entries; missing hosts become placeholders."""
    needed = max((entry.nodes for _, entry in found if entry.kind == "deployment"), default=1)
    placed = (*hosts, *_placeholders(needed - len(hosts), hosts))
    linked = needed if needed > 1 else 0
    comments: dict[Path, list[str]] = {}
    data: dict[str, Any] = {"name": name}
    stores = dict.fromkeys(entry.store for _, entry in found if entry.kind == "deployment" and entry.store)
    store = next(iter(stores), draft.STORE)
    mounts = [each for _, entry in found for each in entry.data.get("mounts", {}).values()]  # of services
    if any(entry.kind == "deployment" for _, entry in found) or any(each["source"] == "model_store" for each in mounts):
        data["defaults"] = {"model_store": store}
        comments["defaults", "model_store"] = [] if stores else [_STORE]
    names = _link_names(found)
    data["hosts"] = {
        host: _machine(at, address, names if at < linked else ()) for at, (host, address) in enumerate(placed)
    }
    for at, (host, _) in enumerate(placed):
        comments["hosts", host] = [*([_HOST] if at >= len(hosts) else ()), *([_LINK] if at < linked else ())]
    several = len({file for file, _ in found}) > 1
    for section in ("deployments", "services"):
        chosen = [(file, each) for file, each in found if f"{each.kind}s" == section]
        if chosen:
            data[section] = {each.name: _placed(each, [host for host, _ in placed], store) for _, each in chosen}
        for file, each in chosen:
            comment(comments, (section, each.name), each, data[section][each.name], file if several else None)
            if each.kind == "deployment" and not each.same_model:
                comments[section, each.name, "recipe"] = [_BASE]
    data |= _turns([entry for _, entry in found])
    comments["turns",] = [_ALTERNATIVES]
    data |= _revisions(found)
    if len(data) == 2:  # noqa: PLR2004  name and hosts
        comments["hosts",] = [_EMPTY]
    files = ", ".join(dict.fromkeys(redaction.redacted(file) for file, _ in found))
    head = f"# Imported from {files}. Read the comments, then `sparkiac check`.\n"
    return head + yamlwrite.dump(data, comments)


def _turns(found: Sequence[DraftEntry]) -> dict[str, Any]:
    """Return a turn for each deployment if two have the same port: then they do not run at the same time."""
    users = Counter[int | None](each.port for each in found if each.port)
    alternatives = [each.name for each in found if each.kind == "deployment" or users[each.port] > 1]
    return {"turns": {name: (name,) for name in alternatives}} if max(users.values(), default=1) > 1 else {}


def _revisions(found: Sequence[tuple[str, DraftEntry]]) -> dict[str, Any]:
    """Return the model revisions that the files name, for `revisions:`, from which the lock pins them."""
    pairs = ((entry.server.model, entry.launch.revision) for _, entry in found if entry.server is not None)
    good = {
        model: revision
        for model, revision in pairs
        if re.fullmatch(forms.HANDLE, model or "") and re.fullmatch(forms.GIT_REF, revision or "")
    }
    return {"revisions": good} if good else {}


def _placeholders(number: int, hosts: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    taken = {host for host, _ in hosts}
    free = (name for place in count(1) if (name := f"spark-{place:02}") not in taken)
    return [(next(free), placeholders.host(place)) for place in range(number)]


def _link_names(found: Sequence[tuple[str, DraftEntry]]) -> tuple[tuple[str, str], ...]:
    """Return interface and RDMA device of each link, as far as the variables of a group name them."""
    leaves = next((each.server.leaves for _, each in found if each.nodes > 1 and each.server is not None), {})
    given = [str(leaves.get(("env", name), "")) for name in ("NCCL_SOCKET_IFNAME", "NCCL_IB_HCA")]
    interfaces, devices = ([each for each in text.split(",") if re.fullmatch(_LINK_NAME, each)] for text in given)
    pairs = zip_longest(interfaces, devices)
    named = tuple((interface or placeholders.INTERFACE, hca or placeholders.HCA) for interface, hca in pairs)
    return named or ((placeholders.INTERFACE, placeholders.HCA),)


def _machine(number: int, address: str, links: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the entry of a host. The addresses of its links are placeholders, because no file has them."""
    return {"address": address} | ({"fabric": {"links": placeholders.links(number, links)}} if links else {})


def _placed(entry: DraftEntry, hosts: Sequence[str], store: str) -> dict[str, Any]:
    """Return the entry's data with its hosts, placed after the keys that name its recipe or kind."""
    chosen = tuple(hosts[: entry.nodes]) if entry.nodes > 1 else hosts[0]
    first = {key: value for key, value in entry.data.items() if key in _FIRST}
    rest = {key: value for key, value in entry.data.items() if key not in first}
    own = {"model_store": entry.store} if entry.kind == "deployment" and entry.store not in {None, store} else {}
    return first | {"hosts": chosen} | own | rest


def comment(
    comments: dict[Path, list[str]], base: Path, entry: DraftEntry, data: Mapping[str, Any], file: str | None
) -> None:
    """Put each note above the key that it is about, or above the entry if that key is not certain."""
    placed: dict[Path, list[Note]] = {}
    for note in entry.notes:
        if note.kind == "unused":
            continue
        beside = [item for item in entry.items if item.what == note.what or item.line == note.line]
        paths = {item.path for item in beside if _contains(data, item.path)}
        near = [path for path in paths if names(str(path[-1]), note.what)]
        placed.setdefault((*base, *near[0]) if len(near) == 1 else base, []).append(note)
    for path, notes in placed.items():
        for each in grouped(notes):
            where = f"{redaction.redacted(file)}, {each.place}" if file else each.place
            comments.setdefault(path, []).append(f"{each.kind}, {where}: {each.what}: {each.why}")


def _contains(data: Any, path: Path) -> bool:  # noqa: ANN401  any plain data
    for part in path:
        if not isinstance(data, dict) or part not in data:
            return False
        data = data[part]
    return True


def _without_secrets(entry: DraftEntry, hidden: frozenset[str]) -> DraftEntry:
    """Remove every value that contains a secret of the file, and redact the entry's notes."""
    notes = [
        Note(n.kind, n.line, redaction.without_secrets(n.what, hidden), redaction.without_secrets(n.why, hidden))
        for n in entry.notes
    ]
    items = tuple(item._replace(what=redaction.without_secrets(item.what, hidden)) for item in entry.items)
    data = dict[str, Any]()
    for key, value in entry.data.items():
        kept = value if key in {*_FIRST, "hosts"} else _clean(value, hidden)
        if kept is not value and kept != value:
            why = "it contains a secret, which an inventory must not; if the secret was real, change it now"
            notes.append(lost(entry.launch.line, key, why))
        if kept not in (None, {}) or value is None:
            data[key] = kept
    server = entry.server
    if server is not None:
        leaves = {path: kept for path, value in server.leaves.items() if (kept := _clean(value, hidden)) is not None}
        server = server._replace(leaves=leaves)
    return entry._replace(data=data, notes=tuple(notes), items=items, server=server)


def _clean(value: Any, hidden: frozenset[str]) -> Any:  # noqa: ANN401
    """Return a value without the parts that contain a secret; None if nothing remains."""
    if isinstance(value, str):
        return value if redaction.without_secrets(value, hidden) == value else None
    if isinstance(value, dict):
        if value.keys() == {"secret"}:
            return value
        named = {key: each for key, each in value.items() if redaction.without_secrets(key, hidden) == key}
        pairs = {key: _clean(each, hidden) for key, each in named.items()}
        return {key: each for key, each in pairs.items() if each is not None or value[key] is None}
    if isinstance(value, tuple):
        return value if all(_clean(each, hidden) == each for each in value) else None
    return value
