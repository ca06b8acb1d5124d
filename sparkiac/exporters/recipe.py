"""What recipes of eugr's and of sparkrun's share: a command with placeholders, and containers on the host's network."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.engines.vllm import CACHE
from sparkiac.exporters import node
from sparkiac.render import escape, yamltext

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sparkiac.exporters.node import Node
    from sparkiac.plan import Container
    from sparkiac.render.yamltext import Value

_PLACEHOLDERS: Final = {
    "port": ("--port",),
    "host": ("--host",),
    "tensor_parallel": ("--tensor-parallel-size", "--tp-size", "--tp_size"),
    "pipeline_parallel": ("--pipeline-parallel-size", "--pp-size", "--pp_size"),
    "gpu_memory_utilization": ("--gpu-memory-utilization", "--mem-fraction-static"),
    "max_model_len": ("--max-model-len", "--context-length", "--ctx-size"),
}
"""Default of a recipe → options that take it."""
_OF_GROUP: Final = frozenset(
    {"--distributed-executor-backend", "--nnodes", "--node-rank", "--master-addr", "--master-port", "--headless"}
)
"""What the launcher of a group writes itself."""
_LINKS: Final = ("VLLM_HOST_IP", "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "NCCL_IB_HCA")
_HOMES: Final = ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_CACHE")
_PLAIN: Final = re.compile(r"[A-Za-z0-9._-]+")
_NAMED: Final = re.compile(r"\{[A-Za-z_]\w*\}")


class Recipe(NamedTuple):
    """A recipe, before it has the form of one of the tools."""

    container: Container
    nodes: int
    command: str
    """With placeholders; braces that mean braces are doubled if `doubled` says so."""
    doubled: bool
    defaults: Mapping[str, str | int | float]
    env: Mapping[str, str]
    notes: tuple[str, ...]


def of(nodes: Sequence[Node], *, doubled: bool) -> Recipe:
    """Give the recipe of a deployment. Raises Unsayable."""
    first = nodes[0].container
    words = _served(first, node.server(first))
    doubled = doubled or any("{{" in word or _NAMED.search(word) for word in words)
    defaults: dict[str, str | int | float] = {}
    program, *options = _rows(words, defaults, doubled=doubled)
    rows = (program, *sorted(options))
    prelude = [f"{_braces(node.joined(each), doubled=doubled)} &&\n" for each in first.command.pre_start]
    command = "".join(prelude) + " \\\n  ".join(rows) + "\n"
    return Recipe(
        first, len(nodes), command, doubled, defaults, _env(first), (*node.notes(nodes), *_lost(first, words))
    )


def _served(container: Container, words: tuple[str, ...]) -> tuple[str, ...]:
    """Let the server listen where clients reach it, and find its model by its handle: there is no port to publish."""
    listen = container.network.listen or ("0.0.0.0", 8000)  # noqa: S104  a server that nobody placed elsewhere
    wanted = {"--host": listen[0], "--port": str(listen[1])}
    split = [part for word in words for part in _split(word)]
    kept: list[str] = []
    at = 0
    while at < len(split):
        flag, following = split[at], split[at + 1 : at + 2]
        valued = bool(following) and not following[0].startswith("--")
        if flag in _OF_GROUP and container.server.node:
            at += 1 + valued
            continue
        kept.append(flag)
        if flag in wanted and valued:
            kept.append(wanted[flag])
            at += 1
        at += 1
    return _by_handle(container, kept)


def _split(word: str) -> tuple[str, ...]:
    """Give an option and its value as two words: `--port=8000`."""
    flag, equals, value = word.partition("=")
    return (flag, value) if equals and flag.startswith("--") else (word,)


def _by_handle(container: Container, words: Sequence[str]) -> tuple[str, ...]:
    """Name a model by its handle that is served from a directory here: the other tool lays its weights elsewhere."""
    model = container.server.model or ""
    place = next((mount.target for mount in container.storage.mounts if mount.source.endswith(f"/{model}")), None)
    if place is None or place not in words:
        return tuple(words)
    pin = ("--revision", container.weights.commits[model]) if model in container.weights.commits else ()
    return (*(model if word == place else word for word in words), *pin)


def _rows(words: Sequence[str], defaults: dict[str, str | int | float], *, doubled: bool) -> list[str]:
    """Write the command, an option in each row, and take what a caller may want to change into the defaults."""
    names = {option: name for name, options in _PLACEHOLDERS.items() for option in options}
    rows: list[str] = []
    at = 0
    while at < len(words):
        word, following = words[at], words[at + 1 : at + 2]
        name = names.get(word)
        text = _braces(escape.shell_word(word), doubled=doubled)
        at += 1
        if name is not None and following and _PLAIN.fullmatch(following[0]):
            defaults[name] = _number(following[0])
            text += f" {{{name}}}"
            at += 1
        if not rows or word.startswith("--") or (word.startswith("-") and len(rows) > 1):  # `python3 -m` is a program
            rows.append(text)
        else:
            rows[-1] += f" {text}"
    return rows


def _braces(text: str, *, doubled: bool) -> str:
    return text.replace("{", "{{").replace("}", "}}") if doubled else text


def _number(text: str) -> str | int | float:
    """Read a number that is written the same again."""
    for read in (int, float):
        try:
            value = read(text)
        except ValueError:
            continue
        if str(value) == text:
            return value
    return text


def _env(container: Container) -> dict[str, str]:
    """Give the variables but those that the launcher sets: where weights and compiled code lie, and a group's links."""
    left = (*_HOMES, *(_LINKS if container.server.node else ()))
    kept = {name: value for name, value in container.command.env.items() if not value.startswith(f"{CACHE}/")}
    return {name: value for name, value in sorted(kept.items()) if name not in left}


def fetched(container: Container, models: Iterable[str]) -> tuple[str, ...]:
    """Say which commits a launcher that downloads the newest ones must find there already."""
    commits = container.weights.commits
    return tuple(f"its launcher does not fetch {each} at {commits[each]}: do" for each in models if each in commits)


def _lost(container: Container, words: Sequence[str]) -> tuple[str, ...]:
    """Say what no key of these recipes means. Where weights lie is their launcher's own affair, if no word says it."""
    found = [f"not said: {key} from a secret; set the variable in the container" for key in node.keys(container)]
    stored = {container.weights.store, *(f"{container.weights.store}/{each}" for each in container.weights.directories)}
    found += [
        f"not said: mount {mount.source} at {mount.target}"
        for mount in node.mounts(container)
        if mount.source not in stored or any(_names(word, mount.target) for word in words)
    ]
    if container.network.listen is not None and container.network.listen[0] != "0.0.0.0":  # noqa: S104  compared
        where = f"{container.network.listen[0]} of the host's own network"
        found.append(f"it listens on {where}: change the default `host` elsewhere")
    return tuple(found)


def _names(word: str, path: str) -> bool:
    """Whether a word is a path or one below it, or has it as a text of its JSON."""
    return f"{word}/".startswith(f"{path}/") or any(f'"{path}{end}' in word for end in '"/')


def text(notes: Sequence[str], head: Sequence[str], data: Mapping[str, Value], command: str) -> str:
    """Write a recipe: comments, its keys, and the command as a block."""
    comments = node.commented((*head, *notes))
    return comments + yamltext.dump(dict(data)) + _block("command", command)


def _block(key: str, value: str) -> str:
    """Write a text as a block; one that a block would change, in quotes."""
    lines = value.rstrip("\n").split("\n")
    if not value.isascii() or any(not line.strip() or line != line.rstrip() for line in lines) or "\t" in value:
        return yamltext.dump({key: value})
    return f"{key}: |\n" + "".join(f"  {line}\n" for line in lines)
