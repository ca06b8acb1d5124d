"""What recipes of eugr and sparkrun share: a command with placeholders, and containers in the host's network."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from textwrap import indent
from typing import Final, NamedTuple

from sparkiac import catalog, engines
from sparkiac.engines.engine import CACHE, HUB_HOMES
from sparkiac.foreign import node
from sparkiac.foreign.node import HostContainer
from sparkiac.plan import Container
from sparkiac.plan.topology import EVERY
from sparkiac.render import escape, yamltext
from sparkiac.render.yamltext import Value

_PLAIN: Final = re.compile(r"[A-Za-z0-9._-]+")
_NAMED: Final = re.compile(r"\{[A-Za-z_]\w*\}")


class RecipeDraft(NamedTuple):
    """The parts that recipes of eugr and of sparkrun have in common."""

    nodes: int
    command: str
    """With placeholders."""
    defaults: Mapping[str, str | int | float]
    env: Mapping[str, str]
    notes: tuple[str, ...]


def build(nodes: Sequence[HostContainer], kind: str, *, doubled: bool) -> RecipeDraft:
    """Return the recipe of a deployment in the format `kind`. Raises ExportError."""
    first = nodes[0].container
    words = _with_network_options(first, node.server_command(first))
    doubled = doubled or any("{{" in word or _NAMED.search(word) for word in words)
    defaults: dict[str, str | int | float] = {}
    program, *options = _rows(words, defaults, names=_names_of(first), doubled=doubled)
    rows = (program, *sorted(options))
    prelude = [f"{_braces(escape.shell_command(each), doubled=doubled)} &&\n" for each in first.command.pre_start]
    command = "".join(prelude) + " \\\n  ".join(rows) + "\n"
    notes = (*node.notes(nodes, kind), *_not_exported(first, words))
    return RecipeDraft(len(nodes), command, defaults, _env(first), notes)


def _with_network_options(container: Container, words: tuple[str, ...]) -> tuple[str, ...]:
    """Make the server listen on its published address and load the model by its handle: recipes publish no ports."""
    listen = container.network.listen or (EVERY, 8000)  # the default of a recipe
    engine = engines.named(container.server.engine)
    network = {engine.flag(engine.host): listen[0], engine.flag(engine.port): str(listen[1])}
    grouped = engine.groups.computed if engine.groups and container.server.node else ()
    computed = {engine.flag(option) for option in grouped}
    kept: list[str] = []
    for flag, *values in _options(words):
        if flag not in computed:
            kept += (flag, *([network[flag], *values[1:]] if flag in network and values else values))
    return _with_handle(container, kept)


def _options(words: Iterable[str]) -> list[list[str]]:
    """Return the words of each option, with `--port=8000` as two; the first ones are the program."""
    found: list[list[str]] = []
    for word in words:
        flag, equals, value = word.partition("=")
        split = [flag, value] if equals and flag.startswith("--") else [word]
        if word.startswith("--") or not found:
            found.append(split)
        else:
            found[-1] += split
    return found


def _with_handle(container: Container, words: Sequence[str]) -> tuple[str, ...]:
    """Replace the model's directory by its handle, because the other tool stores weights elsewhere."""
    model, place = container.server.model or "", _directory(container)
    if place is None or place not in words:
        return tuple(words)
    pin = ("--revision", container.weights.commits[model]) if model in container.weights.commits else ()
    return (*(model if word == place else word for word in words), *pin)


def _directory(container: Container) -> str | None:
    """Return the directory in the container from which the model is loaded; None if it is loaded by its handle."""
    ending = f"/{container.server.model or ''}"
    return next((mount.target for mount in container.storage.mounts if mount.source.endswith(ending)), None)


def _names_of(container: Container) -> dict[str, str]:
    """Return option → default of a recipe, for the values that users often change."""
    engine = engines.named(container.server.engine)
    context = engine.context or engine.of_vllm.get("max_model_len")
    names = {engine.port: "port", engine.host: "host", **engine.parallel}
    if engine.memory_share:
        names[engine.memory_share] = "gpu_memory_utilization"
    if context:
        names[context] = "max_model_len"
    return {engine.flag(option): name for option, name in names.items()}


def _rows(
    words: Sequence[str], defaults: dict[str, str | int | float], *, names: Mapping[str, str], doubled: bool
) -> list[str]:
    """Write the command with one option on each line, and move these values to the defaults."""
    rows: list[str] = []
    for words_of_option in _options(words):
        flag, *values = words_of_option
        texts = [_braces(escape.shell_word(word), doubled=doubled) for word in words_of_option]
        name = names.get(flag.replace("_", "-"))
        if name is not None and values and _PLAIN.fullmatch(values[0]):
            defaults[name] = _number(values[0])
            texts[1] = f"{{{name}}}"
        rows.append(" ".join(texts))
    return rows


def _braces(text: str, *, doubled: bool) -> str:
    return text.replace("{", "{{").replace("}", "}}") if doubled else text


def _number(text: str) -> str | int | float:
    """Return a number if it formats to the same text again, or else the text."""
    for read in (int, float):
        try:
            value = read(text)
        except ValueError:
            continue
        if str(value) == text:
            return value
    return text


def _env(container: Container) -> dict[str, str]:
    """Return the variables except those that the launcher sets: storage paths and link settings."""
    links = {each.path[-1] for each in catalog.group_settings() if each.of} if container.server.node else set()
    kept = {name: value for name, value in container.command.env.items() if not value.startswith(f"{CACHE}/")}
    return {name: value for name, value in sorted(kept.items()) if name not in {*HUB_HOMES, *links}}


def fetched(container: Container, models: Iterable[str]) -> tuple[str, ...]:
    """Return notes on commits to download first, because the launcher downloads the newest ones."""
    commits, why = container.weights.commits, "first: its launcher downloads the newest commit"
    return tuple(f"fetch {each} at {commits[each]} {why}" for each in models if each in commits)


def _not_exported(container: Container, words: Sequence[str]) -> tuple[str, ...]:
    """Return notes on what a recipe cannot express. Mounts of weights are noted only if the command uses their path."""
    why = "from a secret; set the variable in the container"
    found = [f"not exported: {key} {why}" for key in node.secret_variables(container)]
    stored = {container.weights.store, *(f"{container.weights.store}/{each}" for each in container.weights.directories)}
    found += [
        f"not exported: mount {mount.source} at {mount.target}"
        for mount in node.mounts(container)
        if mount.source not in stored or any(_names(word, mount.target) for word in words)
    ]
    if (place := _directory(container)) is not None and place not in words:
        found.append(f"not exported: model_path {place}: the launcher downloads {container.server.model}")
    if container.network.listen is not None and container.network.listen[0] != EVERY:
        where = f"{container.network.listen[0]} of the host's own network"
        found.append(f"it listens on {where}: change the default `host` on another host")
    return tuple(found)


def _names(word: str, path: str) -> bool:
    """Return whether a word is a path, is below it, or contains it as a string of JSON."""
    return f"{word}/".startswith(f"{path}/") or any(f'"{path}{end}' in word for end in '"/')


def text(notes: Sequence[str], head: Sequence[str], data: Mapping[str, Value], command: str) -> str:
    """Write a recipe: comments, keys, and the command as a block scalar."""
    comments = node.as_comments((*head, *notes))
    return comments + yamltext.dump(dict(data)) + _block("command", command)


def _block(key: str, value: str) -> str:
    """Write a text as a block scalar, or quoted if it has characters that an editor hides or removes."""
    if not all(line.isascii() and line.isprintable() and line == line.rstrip() for line in value.split("\n")):
        return yamltext.dump({key: value})
    return f"{key}: |\n{indent(value, '  ')}"
