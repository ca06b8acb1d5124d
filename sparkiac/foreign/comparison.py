"""Compares each server of a draft with the launch that it was read from.

The draft is planned as for `generate`. Command, environment, mounts, port and hosts of its containers are compared with
those of the file. A difference without a note that gives its reason makes the import refuse the server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from sparkiac import engines
from sparkiac.engines.engine import CACHE, HUB_HOMES, REPLACED, STAGED
from sparkiac.foreign import machines, match, redaction, server, serving, values
from sparkiac.foreign.collector import named
from sparkiac.foreign.draft import DraftEntry
from sparkiac.foreign.launch import CommandLine, EnvVariable, Launch, Note, corrected, lost, names
from sparkiac.foreign.server import ServerLaunch
from sparkiac.plan import Container, Plan
from sparkiac.plan.topology import LOOPBACK
from sparkiac.report import placeholders
from sparkiac.resolve import catalogued
from sparkiac.resolve.leaves import Leaves
from sparkiac.source.wording import dotted

_ELSEWHERE: Final = frozenset({"served_model_name", "alias", "revision", "tokenizer_revision", *REPLACED})
"""Options that are compared in another form, or whose effect sparkiac provides; address and port are, too."""
_UNSET: Final = {machines.PIPELINE: 1}
"""What an option is without being set, on every engine."""
_SPECULATIVE: Final = "speculative_config"
_LAYERS: Final = {
    "engine ": "added, as for all servers of this engine",
    "platform ": "added, as for all machines of this kind",
    "group": "added for the hosts of a group",
    "speculative ": "added by the speculative method",
}
"""Beginning of the name of a layer → why it may add a value."""
_COMPLETED: Final = "completed from the table of drafters"
_STAGED: Final = "weights are in the model store, under organisation/name"
_REFUSED: Final = "refused: the draft has {} instead, and no note gives the reason; please report this"


class Difference(NamedTuple):
    """A value of a launch that its draft does not have."""

    line: int
    what: str
    """The text in the file."""
    drafted: object
    """The value in the draft."""
    names: tuple[str, ...]
    """Words by which a note names it."""
    why: str = ""
    """The reason, if it is always the same."""

    @property
    def is_open(self) -> bool:
        """Return whether the draft has a placeholder here, which `check` lists."""
        text = str(self.drafted)
        return placeholders.is_placeholder(text) or placeholders.is_placeholder(text.rpartition("/")[2])

    def note(self) -> Note:
        """Return a note with the reason of the difference, or one that says that there is none."""
        why = self.why or _REFUSED.format(self.drafted or "nothing")
        return corrected(self.line, self.what, why) if self.why else lost(self.line, self.what, why)


class _ServerSide(NamedTuple):
    """A server in comparable form."""

    options: Mapping[str, Any]
    """Options, those of speculation as speculative_config.KEY."""
    env: Mapping[str, str]
    mounts: Mapping[str, str]
    """Path in the container → path on the host."""
    weights: str = ""
    """Directory of the model in the model store."""
    listens: frozenset[str] = frozenset()
    """Options for address and port."""

    def located(self, value: Any) -> Any:  # noqa: ANN401  any option's value
        """Return a value as text, with the host's paths for those in the container."""
        return values.mapped(value, self._located)

    def _located(self, value: object) -> str:
        text = str(value).lower() if isinstance(value, bool) else str(value)
        inner = max((each for each in self.mounts if f"{text}/".startswith(f"{each}/")), key=len, default=None)
        return text if inner is None else self.mounts[inner].rstrip("/") + text[len(inner) :]


def compared(entry: DraftEntry, plan: Plan, leaves: Leaves, hidden: frozenset[str]) -> DraftEntry:
    """Return an entry with notes on all differences of its draft; an entry of nothing if one has no reason.

    `hidden` are secrets of the file, whose values no draft has.
    """
    if entry.server is None:
        return entry
    found = [each for host in plan.hosts for each in host.containers if each.path[:2] == ("deployments", entry.name)]
    found.sort(key=lambda each: each.server.node or (0, 1))
    host = next(path[2] for path in leaves if path[:2] == ("deployments", entry.name))
    own = {path[3:]: leaf for path, leaf in leaves.items() if path[:3] == ("deployments", entry.name, host)}
    read, drafted = _read(entry.server, found[0]), _drafted(found[0])
    differences = (
        *_of_container(entry, entry.server, found),
        *_of_settings(entry.launch, own),
        *_of_options(entry.server, read, drafted),
        *_of_variables(entry.server, read, drafted),
        *_of_mounts(entry.server, found[0]),
        *_added(entry.launch.line, read, drafted, own),
    )
    adds = (corrected(entry.launch.line, "speculative", f"adds {text}") for _, text in catalogued.of_method(own))
    notes = (*entry.notes, *adds)
    untold = [each for each in differences if not each.is_open and not _is_told(each, notes, hidden)]
    notes += tuple(each.note() for each in untold)
    if all(each.why for each in untold):
        return entry._replace(notes=notes)
    return DraftEntry(entry.launch, "nothing", entry.name, {}, notes=notes, nodes=0)


def _is_told(difference: Difference, notes: tuple[Note, ...], hidden: frozenset[str]) -> bool:
    if redaction.without_secrets(difference.what, hidden) != difference.what:
        return True
    shown = redaction.redacted(difference.what)
    return any(note.what == shown or any(names(name, note.what) for name in difference.names) for note in notes)


def _read(found: ServerLaunch, leader: Container) -> _ServerSide:
    env = {each.name: each.value for each in found.variables if each.value is not None}
    mounts = {each.target: each.source for each in found.launch.volumes}
    if found.store is not None and leader.weights.store is not None:
        mounts[found.store.target] = leader.weights.store
    return _ServerSide(_options(found.given), env, mounts)


def _drafted(container: Container) -> _ServerSide:
    engine, words, env = engines.named(str(container.server.engine)), container.command.words, container.command.env
    words = words[len(engine.words) :] if words[: len(engine.words)] == engine.words else words
    variables = tuple(EnvVariable(name, value, 1) for name, value in env.items())
    launch = Launch(None, 1, container.image.reference, None, words, env=variables)
    line = server.command_line(launch, serving.ServerStart(str(container.server.engine), words, (1,) * len(words)))
    weights = f"{container.weights.store}/{container.server.model}"
    return _ServerSide(_options(line), env, _mounts(container), weights, frozenset({engine.host, engine.port}))


def _mounts(container: Container) -> dict[str, str]:
    """Return path in the container → path on the host; a file that is fetched has its address there."""
    files = {each.target: each.url.removeprefix("file://") for each in container.storage.files}
    return {each.target: each.source for each in container.storage.mounts} | files


def _options(line: CommandLine) -> dict[str, Any]:
    found: dict[str, Any] = {"model": line.model} if line.model else {}
    for each in line.options:
        keys = each.value if each.name == _SPECULATIVE and isinstance(each.value, dict) else None
        named_keys = {f"{_SPECULATIVE}.{key}": value for key, value in (keys or {}).items() if value is not None}
        found |= {each.name: each.value} if keys is None else named_keys
    return found


def _added(line: int, read: _ServerSide, drafted: _ServerSide, own: Leaves) -> Iterator[Difference]:
    """Compare what the draft has beside the file; where a value is computed from the hosts, no layer sets it."""
    for name in sorted(drafted.options.keys() - read.options.keys() - _ELSEWHERE - drafted.listens):
        option, _, key = name.partition(".")
        path = ("speculative",) if key else ("set", option)
        if path in own:
            why = next((why for layer, why in _LAYERS.items() if own[path][1].layer.startswith(layer)), "")
            why = _COMPLETED if own[path][1].layer.endswith(_COMPLETED) else why
            yield Difference(line, f"--{name.replace('_', '-')}", drafted.options[name], (option, key or option), why)
    for name in sorted(drafted.env.keys() - read.env.keys() - {*HUB_HOMES}):
        origin = own["env", name][1].layer if ("env", name) in own else "engine"
        if not origin.startswith("engine") and not drafted.env[name].startswith(f"{CACHE}/"):
            why = next((why for layer, why in _LAYERS.items() if origin.startswith(layer)), "")
            yield Difference(line, name, drafted.env[name], (name,), why)


def _of_container(entry: DraftEntry, read: ServerLaunch, found: list[Container]) -> Iterator[Difference]:
    launch, leader = entry.launch, found[0]
    ranks = [each.server.node[0] for each in found if each.server.node is not None] or [0]
    if ranks != [*range(entry.nodes)]:
        yield Difference(launch.line, f"{entry.nodes} hosts", f"the ranks {ranks}", ("hosts",))
    image = leader.image.reference
    if read.launch.image is not None and match.with_tag(read.launch.image) != match.with_tag(image):
        yield Difference(launch.line, f"image {launch.image}", image, ("image",))
    if read.served and read.served != leader.server.served:
        what = f"names {' '.join(read.served)}"
        yield Difference(launch.line, what, " ".join(leader.server.served), ("served_model_name", "alias", "model"))
    if leader.network.listen is not None:
        yield from _of_port(read, *leader.network.listen)


def _of_port(read: ServerLaunch, address: str, port: int) -> Iterator[Difference]:
    launch, closed = read.launch, _closed(read)
    own = launch.host_network or launch.image is None
    ports = {each.host for each in launch.ports} or {
        each.value for each in read.given.options if own and each.name == engines.named(read.engine).port
    }
    if ports and port not in ports:
        yield Difference(launch.line, f"port {ports.pop()}", port, ("port", "-p"))
    if closed and address != LOOPBACK:
        why = f"the draft publishes port {port} on the host's address: set `bind: loopback` to keep it closed"
        yield Difference(launch.line, closed, "", (), why)
    elif address == LOOPBACK and not closed:
        yield Difference(launch.line, "an open port", "loopback", ("bind", "api_key"))


def _closed(read: ServerLaunch) -> str:
    """Return why other machines cannot reach a server; an empty text if they can."""
    launch = read.launch
    if launch.image is not None and not launch.host_network:
        shut = all(each.address in server.LOCAL for each in launch.ports)
        return ("a port of this machine only" if launch.ports else "no published port") if shut else ""
    local = server.listens_on_loopback(launch, engines.named(read.engine), read.given)
    return "the server listens on loopback" if local else ""


def _of_settings(launch: Launch, own: Leaves) -> Iterator[Difference]:
    for path, value in launch.settings.items():
        there, what = own[path][0] if path in own else None, named(path, value)
        if there != value:
            yield Difference(launch.line, what, there, (dotted(path), str(path[-1]), what.split()[0]))


def _of_options(found: ServerLaunch, read: _ServerSide, drafted: _ServerSide) -> Iterator[Difference]:
    given = {each.name: each for each in found.given.options}
    for name, value in read.options.items():
        there, (option, _, key) = drafted.options.get(name, _UNSET.get(name)), name.partition(".")
        if name in {*_ELSEWHERE, *drafted.listens} or _is_same(name, read.located(value), drafted.located(there)):
            continue
        line, what = (given[option].line, given[option].what) if option in given else (found.launch.line, option)
        text = f"{what} {key} {value}" if key else f"{what} {value}"
        why = _STAGED if not key and str(drafted.located(there)).startswith(drafted.weights) else ""
        own = (value,) if isinstance(value, str) else ()  # a note with the same number is about something else
        yield Difference(line, text, there, (key or what, option, *own), why)


def _is_same(name: str, value: object, there: object) -> bool:
    """Compare two values of an option; a model may be loaded from the model store instead of by its handle."""
    if name.rpartition(".")[2] in {"model", "model_path"}:
        handle = str(value).lower()
        return (f"/{there}".lower().endswith(f"/{handle}") and handle.count("/") == 1) or value == there
    return match.is_same_value(name, value, there)


def _of_variables(found: ServerLaunch, read: _ServerSide, drafted: _ServerSide) -> Iterator[Difference]:
    for each in found.variables:
        there = drafted.env.get(each.name)
        if each.value is None or each.value == there or read.located(each.value) == drafted.located(there):
            continue
        why = STAGED if each.name in HUB_HOMES else ""
        yield Difference(each.line, f"-e {each.name}", there, (each.name,), why)


def _of_mounts(found: ServerLaunch, leader: Container) -> Iterator[Difference]:
    """Compare the mounts; that of the weights is the draft's model store, wherever a container has it."""
    there, store = _mounts(leader), leader.weights.store
    for each in found.launch.volumes:
        is_store = found.store is not None and each.target == found.store.target
        if each.source not in there.values():
            why = f"the model store of the draft is {store}" if is_store else ""
            yield Difference(each.line, f"-v {each.source}:{each.target}", "", (each.target,), why)
