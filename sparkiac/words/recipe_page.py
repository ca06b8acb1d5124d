"""Page of one catalog entry: command, values with their layers, facts, and open points."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from sparkiac.render import yamltext
from sparkiac.words.page import (
    Blocks,
    Data,
    Row,
    Verbatim,
    bullets,
    grid,
    heading,
    number,
    section,
    styled,
    table,
    value,
)
from sparkiac.words.recipes import unknown, weights

_LISTS: Final[tuple[tuple[str, str, Callable[[Data], str]], ...]] = (
    ("corrections", "What differs from the source", lambda each: f"{each['what']}: {each['why']}"),
    ("notes", "Notes", lambda each: str(each["text"])),
    ("not_verified", "Not verified: only a real machine can show it", lambda each: str(each["text"])),
    ("findings", "What `sparkiac check` says about it", lambda each: f"{each['code']}: {each['why']}"),
    ("sources", "Sources", lambda each: str(each["text"])),
)
_EVIDENCE: Final = {
    "measured": "a source measured its command on this hardware; below is what differs",
    "vendor-profile": "the hardware's vendor publishes this command for it, without figures",
}
_FILES: Final = "Extra files"
_SETTINGS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("Options", ("set",)),
    ("Speculative decoding", ("speculative",)),
    ("Environment", ("env",)),
    ("Mounts", ("container", "mounts")),
    (_FILES, ("container", "files")),
    ("Container, names and waits", ()),
)
"""Title of a section → start of its paths; the last section has all other values."""
_LABELS: Final = {
    "total_params_b": "parameters, in billions",
    "active_params_b": "active parameters, in billions",
    "disk_gb": "weights on disk, in GB",
    "loaded_gb": "loaded weights, in GB",
    "loaded_gib": "loaded weights, in GiB",
    "drafter_gb": "drafter, in GB",
}
"""Labels of fields whose names are not readable."""

_OF_PAIR: Final = {
    "alternative": "or",
    "num_speculative_tokens": "tokens in each step:",
    "image": "image",
    "needs": "needs",
    "size": "size",
    "source": "from",
}
"""Labels of the other values of a pair of target and drafter."""


def page(data: Data) -> Blocks:
    """Return the page of a recipe, a variant or a fragment."""
    yield from (styled(data["name"], "bold"), data["title"])
    yield from _status(data)
    yield grid(_facts(data))
    yield from _start(data.get("start"))
    yield from _settings(data["settings"])
    yield from built(data.get("build"))
    yield from section("Known drafters for its model", bullets(map(pair_text, data.get("drafters", ()))))
    yield from section("Facts about the model", grid(_flat(data.get("facts", {}))))
    yield from _measured(data)
    for key, title, write in _LISTS[:-1]:
        yield from _list(data, key, title, write)
    if data.get("standing"):
        corrections = map(_LISTS[0][2], data["standing"]["corrections"])
        yield from section("Differences from all sources", bullets(corrections))
        yield from section("Not verified, for any recipe", bullets(data["standing"]["not_verified"]))
    yield from _list(data, *_LISTS[-1])
    yield from section("Variants", grid(map(_variant, data.get("variants", ()))))
    if data["snippet"] is not None:
        yield heading("For a deployment of an inventory" if data["kind"] == "fragment" else "For an inventory")
        yield Verbatim(snippet_text(data["snippet"]).rstrip("\n"))


def _status(data: Data) -> Blocks:
    if data["status"] != "recipe":
        instead = f"; instead: {data['instead']}" if data["instead"] else ""
        yield styled(f"{data['status']}: {data['why']}{instead}", "yellow")
    yield ""


def _facts(data: Data) -> Iterator[tuple[str, str]]:
    """Return the lines at the top; empty ones are left out."""
    start = data.get("start") or {}
    image = data.get("image")
    together = f", on {data['nodes']} nodes together" if (data["nodes"] or 0) > 1 and data.get("weights") else ""
    release = f" (vLLM {start['vllm']})" if start.get("vllm") else ""
    lines = (
        ("file", data.get("file")),
        ("engine", data["engine"] or "any"),
        ("model", data["model"] or unknown(data) if "model" in data else None),
        ("image", f"{image}{release}" if image else None),
        ("weights", f"{weights(data)}{together}" if "weights" in data else None),
        ("quantization", data.get("quantization")),
        ("nodes", str(data["nodes"]) if data["nodes"] else None),
        ("good for", ", ".join(data.get("use_cases", ()))),
        ("evidence", _EVIDENCE.get(data.get("evidence") or "")),
        ("needs", ", ".join(data.get("needs", ()))),
    )
    yield from ((name, str(text)) for name, text in lines if text)


def _start(start: Data | None) -> Blocks:
    if start is None:
        return
    if start["words"]:
        yield heading(f"Command{_around(start)}")
        # With a prelude, a shell runs everything, and the entrypoint of the image becomes part of the command.
        first = (start["entrypoint"] or []) if start["prelude"] else []
        for words in start["prelude"]:
            yield Verbatim(f"  {shlex.join(words)} && \\")
        yield Verbatim(" \\\n    ".join(_lines([*first, *start["words"]])))
    if start["env"]:
        yield heading("Variables from which the image makes its command")
        yield Verbatim("\n".join(f"  {name}={shlex.quote(text)}" for name, text in sorted(start["env"].items())))
    if start["group"]:
        yield f"\nOptions that sparkiac sets for each host of the group: {', '.join(start['group'])}"


def _around(start: Data) -> str:
    """Return how the container runs the command."""
    if start["entrypoint"] is None:
        return "; the entrypoint of the image is unknown until the lock records it"
    return ", in a shell" if start["prelude"] else f", after the image's entrypoint {shlex.join(start['entrypoint'])}"


def _lines(words: list[str]) -> list[str]:
    """Return the command in lines: program and model, then each option with its values."""
    lines: list[list[str]] = [[]]
    for word in words:
        if word.startswith("-"):
            lines.append([])
        lines[-1].append(word)
    first, *options = (shlex.join(line) for line in lines)
    return [f"  {first}", *options]


def _settings(settings: Iterable[Data]) -> Blocks:
    """Return each value with its layer, in sections."""
    left = list(settings)
    for title, start in _SETTINGS:
        chosen = [each for each in left if tuple(each["path"][: len(start)]) == start]
        left = [each for each in left if each not in chosen]
        if title == _FILES and chosen:
            yield heading(title)
            yield from map(_file, chosen)
        else:
            rows = (
                (name, text, _layer(each["layer"]))
                for each in chosen
                for name, text in _rows(each["path"][len(start) :], each["value"])
            )
            yield from section(title, table(("name", "value", "from"), rows, whole=("from",)))


def _file(setting: Data) -> Verbatim:
    """Return a file in separate lines: its path and URL are too long for a table."""
    file = setting["value"]
    url = file.get("url") or "its address must be named in the inventory"
    why = f"\n    {file['why']}" if "why" in file else ""
    return Verbatim(f"  {setting['path'][-1]}\n    {url} (from {_layer(setting['layer'])}){why}")


def _rows(path: list[str], given: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401  plain data
    """Return the rows of a value; mounts, commands and speculative decoding are written without brackets."""
    name = ".".join(path)
    if name == "container.prelude":
        yield name, "\n".join(shlex.join(words) for words in given)
    elif not path:
        yield from ((key, value(text)) for key, text in sorted(given.items(), key=lambda item: item[0] != "method"))
    elif isinstance(given, dict) and "source" in given:
        yield name, f"{given['source']}, {'read-only' if given.get('read_only', True) else 'writable'}"
    else:
        yield name, value(given)


def _layer(layer: str) -> str:
    """Return the kind of a layer; the name of the recipe is at the top of the page."""
    kind, _, rest = layer.partition(" ")
    _, _, fact = rest.partition(": ")
    return ", ".join(filter(None, (kind, fact, "drafters" if "table of drafters" in rest else "")))


def built(build: Data | None) -> Blocks:
    """Return the build of an image, and the values that the inventory must set for it."""
    if build is not None:
        yield heading("Its image is built from source")
        asks = [f"the inventory must set {key}: {why}" for key, why in build.get("asks", {}).items()]
        unverified = [f"not verified: {each}" for each in build.get("not_verified", ())]
        sources = f"from {'; '.join(build['sources'])}"
        yield bullets([build["title"], build["why"], *asks, *build.get("notes", ()), *unverified, sources])


def pair_text(pair: Data) -> str:
    """Return the drafter of a target with the facts about the pair."""
    own = "the checkpoint's own heads" if pair.get("built_in") else "no known drafter"
    parts = [f"{_OF_PAIR[name]} {value(text)}" for name, text in pair.items() if name in _OF_PAIR]
    return "; ".join([f"{pair['method']}: {pair.get('drafter') or own} for {pair['target']}", *parts])


def _flat(facts: Data) -> Iterator[tuple[str, str]]:
    """Return label and text of each fact, followed by the sources of its group."""
    for key, given in facts.items():
        match given:
            case dict():
                yield from _flat(given)
            case list() if key == "sources":
                yield "from", "; ".join(given)
            case list():
                yield key, ", ".join(given)
            case float():
                yield _LABELS.get(key, key.replace("_", " ")), number(given)
            case _:
                yield key.replace("_", " "), value(given)


def _measured(data: Data) -> Blocks:
    for title, items in _own_then_recipe(data, "measured", "Measured by the sources"):
        rows = ((each["what"], each["value"], each["source"]) for each in items)
        yield from section(title, table(("what", "figure", "source"), rows))


def _list(data: Data, key: str, title: str, write: Callable[[Data], str]) -> Blocks:
    for name, items in _own_then_recipe(data, key, title):
        yield from section(name, bullets(map(write, items)))


def _own_then_recipe(data: Data, key: str, title: str) -> Iterator[tuple[str, list[Data]]]:
    """Return the items of the entry itself, then those of its recipe."""
    yield title, [each for each in data[key] if each["of"] == data["kind"]]
    yield f"{title} (of the recipe)", [each for each in data[key] if each["of"] != data["kind"]]


def _variant(each: Data) -> Row:
    title = each["title"] if each["status"] == "recipe" else f"{each['status']}: {each['title']}"
    return each["name"].partition("#")[2], title


def snippet_text(snippet: Data) -> str:
    """Return the snippet as YAML."""
    return yamltext.dump(snippet, bare=True)
