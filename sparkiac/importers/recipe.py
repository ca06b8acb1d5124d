"""What recipes of both formats share: variables, a command in a shell, files of patches."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.importers import serving
from sparkiac.importers.launch import Note, Variable
from sparkiac.importers.sheet import entry
from sparkiac.importers.shell_words import script, unread

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sparkiac.importers.sheet import Sheet
    from sparkiac.importers.shell_words import Command
    from sparkiac.importers.template import Filled

_SERVERS: Final = re.compile(
    r"(.*/)?(vllm|sglang|llama-server|trtllm-serve|mpirun|spark|atlas|ds4-serve|uvicorn|python3?(\.\d+)?)"
)
_BEFORE: Final = frozenset({"exec", "env", "nohup"})
_LONGEST: Final = 131_000
"""Characters of a variable: Linux MAX_ARG_STRLEN, 131072, less its name."""
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HANGING: Final = re.compile(r"(?<!\\)\\\Z")
"""A backslash that continues nothing."""
_OWN: Final = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)(?::?-)?\}?")
_EXPANDED: Final = re.compile(r"\$[A-Za-z_{(]|`")
_OF_A_PATCH: Final = re.compile(r"(?:\./)?[\w.+-]+\.(?:jinja2?|py)")
_MODEL_FLAGS: Final = frozenset({"--model", "--model-path", "-m", "--hf-repo", "-hf", "-hfr"})
_SHARE: Final = "gpu_memory_utilization"


class Started(NamedTuple):
    """A command taken apart."""

    argv: tuple[str, ...]
    lines: tuple[int, ...] = ()
    """Line of each word."""
    prelude: tuple[tuple[str, ...], ...] = ()
    env: tuple[Variable, ...] = ()


def texts(settings: Mapping[str, object]) -> dict[str, str]:
    """Write each value as both tools do: as Python writes it."""
    return {key: str(value) for key, value in settings.items()}


def starts(sheet: Sheet, text: str, key: str) -> Started:
    """Take the server's command out of what a shell would run."""
    found = script(_HANGING.sub("", text.rstrip()), line=sheet.first_line(key))
    for note in (*found.notes, *unread(found.documents)):
        sheet.copied(note)
    known = [place for place, command in enumerate(found.commands) if _SERVERS.fullmatch(_program(command)[0])]
    chosen = known[-1] if known else len(found.commands) - 1
    if chosen < 0:
        return Started(())
    command = found.commands[chosen]
    for after in found.commands[chosen + 1 :]:
        sheet.lost(after.line, " ".join(after.words), "it runs after the server, which sparkiac starts alone")
    own = command.words[: len(command.words) - len(_program(command))]
    assigned = (word.partition("=") for word in own if "=" in word)
    pairs = [(name, value, command.line) for name, value in command.env]
    pairs += [(name, value, command.line) for name, _, value in assigned]
    before = tuple(_before(sheet, found.commands[:chosen]))
    return Started(_program(command), command.lines[len(own) :], before, tuple(_judged(sheet, pairs, exported=True)))


def _before(sheet: Sheet, commands: Iterable[Command]) -> Iterator[tuple[str, ...]]:
    """Give the steps before the server, without those that only speak to the shell."""
    for command in commands:
        said = serving.step(command)
        if said is None:
            yield command.words
        elif said[0] == "lost":
            sheet.lost(command.line, " ".join(command.words), said[1])
        else:
            sheet.corrected(command.line, " ".join(command.words), said[1])


def _program(command: Command) -> tuple[str, ...]:
    """Give the words from the program on: without exec, env and what env sets."""
    words = command.words
    while len(words) > 1 and (words[0] in _BEFORE or re.match(r"[A-Za-z_]\w*=", words[0])):
        words = words[1:]
    return words


def variables(sheet: Sheet, key: str, *, exported: bool) -> Iterator[Variable]:
    """Take the environment. `exported` tells that the tool writes it as export lines, which a shell reads."""
    yield from _judged(sheet, _pairs(sheet, key), exported=exported)


def _judged(sheet: Sheet, pairs: Iterable[tuple[str, object, int]], *, exported: bool) -> Iterator[Variable]:
    for name, value, line in pairs:
        text = str(value)
        if len(text) > _LONGEST:
            sheet.lost(line, name, f"more than the {_LONGEST} characters that Linux takes")
        elif value is None or isinstance(value, dict | tuple) or not _VARIABLE.fullmatch(name):
            sheet.lost(line, entry(name, value), "no variable with a value")
        elif (own := _OWN.fullmatch(text)) and own[1] == name:
            sheet.corrected(line, f"{name}: {text}", "the caller's own value is passed on")
            yield Variable(name, None, line)
        elif _EXPANDED.search(text) and exported:
            sheet.lost(line, entry(name, text), "a shell in the container puts its value together; sparkiac has none")
        else:
            _told(sheet, Variable(name, text, line), exported=exported)
            yield Variable(name, text, line)


def _told(sheet: Sheet, variable: Variable, *, exported: bool) -> None:
    value = variable.value or ""
    if exported and ('"' in value or "\\" in value):
        why = "its launcher's export line would lose the quotes and backslashes; they are kept"
    elif _EXPANDED.search(value):
        why = "it stays as it stands, as in sparkrun 0.3; older ones put the control machine's value in"
    else:
        return
    sheet.corrected(variable.line, entry(variable.name, value), why)


def _pairs(sheet: Sheet, key: str) -> Iterator[tuple[str, object, int]]:
    """Read a mapping, or the NAME=VALUE lines of a list, which docker has and these formats do not."""
    if not isinstance(sheet.data.get(key), tuple):
        yield from ((name, value, sheet.line(key, name)) for name, value in sheet.mapping(key).items())
        return
    for line, each in sheet.entries(key):
        name, sign, value = str(each).partition("=")
        sheet.corrected(line, entry(name, value), "a list where the format has a mapping")
        yield name, value if sign else f"${name}", line


def told(sheet: Sheet, filled: Filled, *, strict: bool) -> None:
    """Note what filling the command showed."""
    line = sheet.line("command")
    for name in filled.missing:
        sheet.lost(sheet.place("command", f"{{{name}}}"), f"{{{name}}}", "no default has this name")
    if not filled.sound:
        sheet.lost(line, "command:", "a text in it that begins like JSON is none, however its braces are read")
    elif filled.doubled != strict and (strict or "{{" not in str(sheet.data.get("command"))):
        reading = "braces stand once in it" if strict else "braces stand twice in it"
        sheet.corrected(line, "command:", f"{reading}, unlike in other files of the format; so it is read")


def idle(sheet: Sheet, names: Iterable[str], why: str, *, kind: str = "unused") -> None:
    """Note defaults that reach nothing."""
    defaults = sheet.data.get("defaults")
    for name in names:
        value = defaults.get(name) if isinstance(defaults, dict) else None
        sheet.copied(Note(kind, sheet.line("defaults", name), entry(name, value), why))


def shares(sheet: Sheet, settings: Mapping[str, object]) -> None:
    """Note a share of the memory that is more than all of it: it is meant in GiB, for an option that a mod adds."""
    value = settings.get(_SHARE)
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 1:
        why = "GiB and not a share of the memory; give gpu_memory_utilization as a share"
        sheet.lost(sheet.line("defaults", _SHARE), entry(_SHARE, value), why)


def _of_a_mod(value: str) -> bool:
    stem, dot, extension = value.partition("/mods/")[2].rpartition(".")
    return bool(stem and dot) and re.fullmatch(r"\w+", extension) is not None


def required(sheet: Sheet, started: Started, *, patched: bool) -> tuple[str, ...]:
    """Name the files of the command that neither an image nor a model brings, and note them."""
    found: dict[str, int] = {}
    for before, word, line in zip(("", *started.argv), started.argv, started.lines, strict=False):
        value = word.partition("=")[2] if word.startswith("-") else word if before.startswith("--") else ""
        if _OF_A_PATCH.fullmatch(value) or _of_a_mod(value):
            found.setdefault(value, line)
    for name, line in found.items():
        why = "a mod puts it into the container" if patched else "nothing says where it comes from"
        sheet.lost(line, name, f"{why}; a file of the deployment must bring it")
    return tuple(found)


def served(sheet: Sheet, argv: Sequence[str], model: str | None) -> None:
    """Note a model that the command names and that is not the one of model:."""
    argv = argv[2:] if argv[1:2] == ("-m",) else argv  # python -m names a module
    named = [word for before, word in pairwise(argv) if before in {*_MODEL_FLAGS, "serve"}]
    named = [word for word in named if not word.startswith("-")]
    if model is not None and named and model not in named and model not in argv:
        why = f"the command serves {named[0]}; model: is what the launcher downloads"
        sheet.corrected(sheet.line("model"), f"model: {model}", why)
