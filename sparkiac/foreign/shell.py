"""Shell scripts: which commands start a server, also inside other commands and texts, and notes on the others."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from sparkiac.foreign import docker_command, importer, mounts, redaction, serving, values
from sparkiac.foreign.launch import Launch, Note, NothingToImport, Unreadable, corrected, lost
from sparkiac.foreign.serving import SERVERS
from sparkiac.foreign.shell_parts import SHELLS, HereDocument, ShellCommand, Value, shell_argument, unread
from sparkiac.foreign.shell_words import Script, script

_SHEBANG: Final = re.compile(r"#![^\n]*\b(?:ba|da|z)?sh\b")
_RUNS: Final = re.compile(rf"\b(?:docker|podman|nerdctl)\b|\b(?:{SERVERS})")
_BEGINS: Final = re.compile(rf"\s*(?:[$#>] )?(?:[A-Za-z_]\w{{0,99}}=\S{{0,999}} )*(?:\S{{0,200}}/)?(?:{SERVERS})")
_DETACHED: Final = frozenset({"tmux", "screen", "script"})
_OF_SSH: Final = re.compile(r"-[A-Za-z]*[BbcDEeFIiJLlmOopQRSWw]")
"""Options of ssh that take a value."""
RUNS: Final = re.compile(rf"\b(?:docker|podman|nerdctl)\s+(?:container\s+)?(?:run|create|exec)\b|\b(?:{SERVERS})")
_IGNORED: Final = values.words(
    ": function echo printf set sleep cd mkdir curl true read exit return shift trap wait cat tee"
)
_FLOW: Final = frozenset({"[", "[[", "test", "for", "case", "continue", "break", "command", "shopt"})
_DOWNLOADS: Final = frozenset({"hf", "huggingface-cli", "wget", "git", "modelscope"})
_ADMINISTRATION: Final = frozenset({"docker", "podman", "systemctl", "nvidia-smi", "tail", "watch", "journalctl"})
_FUNCTION: Final = re.compile(r"^[ \t]*(?:function[ \t]+([\w-]+)|([\w-]+)[ \t]*\([ \t]*\))", re.MULTILINE)
_CALL: Final = "the commands of a function are read where it is defined, once, whatever its arguments are"
_OTHER: Final = "another command; it is not imported"
_MAX_DEPTH: Final = 4
"""Nesting depth of commands within commands, and of here-documents within here-documents."""
_IDLE: Final = "this container starts the server directly"


def recognise(text: str, name: str) -> bool:
    """Return whether a text is a script that starts a server."""
    named = _SHEBANG.match(text) is not None or name.endswith((".sh", ".bash", ".zsh"))
    return (named and _RUNS.search(text) is not None) or _BEGINS.match(text) is not None


def read(text: str, *, name: str, given: Mapping[str, str] = {}) -> tuple[Launch, ...]:
    """Read a script. Raises Unreadable if it starts nothing or is not a shell script."""
    commands = script(text, variables=given, indent=0, whole=True)
    functions = frozenset(filter(None, chain(*_FUNCTION.findall(text))))
    found = joined(launches(commands, name=name, functions=functions), text)
    if not found:
        message = "the script starts no container with `docker run`, and no server"
        line = next((document.opened for document in commands.documents), 1)
        hint = (
            "; if this here-document writes a script that starts one, save it as a file and import that"
            if commands.documents
            else ""
        )
        raise NothingToImport(message + hint, line=line)
    return found


def read_other_format(text: str, *, line: int, name: str, given: Mapping[str, str] = {}) -> tuple[Launch, ...] | None:
    """Read systemd units and Compose files that begin on this line; None if a text is neither. Raises Unreadable."""
    formats = map(importer, ("systemd", "compose"))
    chosen = next((each for each in formats if each.recognise(text, "")), None)
    return chosen.read("\n" * (line - 1) + text, name=name, given=given) if chosen is not None else None


class _NestedText(NamedTuple):
    """The text that a command passes to a shell."""

    text: str
    line: int
    parameters: Mapping[str, Value] = {}


def _nested_text(command: ShellCommand) -> _NestedText | None:
    inner = command.unwrapped()
    words, lines, name = inner.words, inner.lines, inner.program
    if name in SHELLS:
        found = shell_argument(words)
        return _NestedText(words[found[0]], lines[found[0]], parameters=found[1]) if found is not None else None
    if name == "eval" and len(words) > 1:
        return _NestedText(" ".join(words[1:]), lines[1])
    if name == "ssh":
        host = 1
        while host < len(words) and words[host].startswith("-"):
            host += 2 if _OF_SSH.fullmatch(words[host]) else 1
        if host + 1 >= len(words):
            return None
        return _NestedText(" ".join(words[host + 1 :]), lines[host + 1])
    if name in _DETACHED and " " in words[-1]:
        return _NestedText(words[-1], lines[-1])
    return None


def launches(commands: Script, *, name: str, level: int = 0, functions: Container[str] = ()) -> tuple[Launch, ...]:
    """Return what commands start, also in here-documents that they write; `functions` are those of the script.

    A launch gets the notes on the commands before it, the last one all that follow.
    """
    inside = [(each, _written(each, name, level) if level < _MAX_DEPTH else ()) for each in commands.documents]
    read = {document.opened for document, launched in inside if launched}
    found: list[Launch] = []
    staged = _downloads(commands.commands)
    waiting = [*commands.notes, *unread(document for document, launched in inside if not launched)]
    for command in commands.commands:
        here = of_command(command, name=name, level=level)
        if not here:
            notes = _other_command(command, functions)
            waiting += [note for note in notes if note.why != _OTHER or note.line not in read]
            continue
        before = [note for note in waiting if note.line <= command.lines[-1]]
        waiting = [note for note in waiting if note.line > command.lines[-1]]
        for each in here:
            model = next((staged[volume.source] for volume in each.volumes if volume.source in staged), None)
            found.append(each._replace(model=each.model or model))
        first = len(found) - len(here)
        found[first] = found[first]._replace(notes=(*before, *found[first].notes))
    found += [each for _, launched in inside for each in launched]
    if found:
        found[-1] = found[-1]._replace(notes=(*found[-1].notes, *waiting))
    return tuple(found)


def _written(document: HereDocument, name: str, level: int) -> tuple[Launch, ...]:
    """Return the launches in a here-document of any format; none if it cannot be read."""
    try:
        found = read_other_format(document.text, line=document.line, name=name)
        inner = script(document.text, line=document.line) if found is None else None
        return launches(inner, name=name, level=level + 1) if inner is not None else found or ()
    except Unreadable:
        return ()


def joined(found: Sequence[Launch], text: str) -> tuple[Launch, ...]:
    """Merge a server that `docker exec` starts in an idle container into that container.

    Files that the text downloads are mounted by their addresses.
    """
    chosen: list[Launch] = []
    for launch in found:
        named = enumerate(chosen) if launch.inside else ()
        place = next((at for at, each in named if each.name == launch.inside), None)
        if place is None or serving.start(chosen[place]) is not None:
            chosen.append(launch)
            continue
        idle = chosen[place]
        note = corrected(launch.line, f"exec {launch.inside}", _IDLE)
        notes = (*idle.notes, note, *(each for each in launch.notes if each.why != serving.NO_IMAGE))
        chosen[place] = idle._replace(
            entrypoint=(), argv=launch.argv, lines=launch.lines, env=(*idle.env, *launch.env), notes=notes, once=False
        )
    return tuple(mounts.with_downloads(each, text) for each in chosen)


def of_command(command: ShellCommand, *, name: str = "", level: int = 0) -> tuple[Launch, ...]:
    """Return what a command starts: in a container, in a shell or on another machine, or itself."""
    inner = _nested_text(command) if level < _MAX_DEPTH else None
    if inner is not None and RUNS.search(inner.text):
        commands = script(inner.text, variables=inner.parameters, line=inner.line)
        return launches(commands, name=name, level=level + 1)
    launch = docker_command.launch(command) or serving.without_image(command)
    return () if launch is None else (launch,)


def _other_command(command: ShellCommand, functions: Container[str]) -> Iterator[Note]:
    """Note a command that starts nothing."""
    words = [*command.words]
    while words and (words[0] in {"sudo", "exec"} or "=" in words[0]):
        del words[0]
    program = words[0].rpartition("/")[2] if words else ""
    what = redaction.joined(words)
    if program in _IGNORED or not words:
        return
    if program in functions:
        yield corrected(command.line, what, _CALL)
    elif program in _FLOW:
        yield corrected(command.line, what, "conditions and loops are not evaluated: each command counts once")
    elif program in _DOWNLOADS:
        yield corrected(command.line, what, "the playbook stages models and files")
    elif program in _ADMINISTRATION:
        yield corrected(command.line, what, "units and playbooks start, stop and check containers")
    elif program in {"source", "."}:
        if not what.endswith("activate"):
            yield lost(command.line, what, "the variables that this file sets are not imported; give it as --env-file")
    else:
        yield lost(command.line, what, _OTHER)


def _downloads(commands: tuple[ShellCommand, ...]) -> dict[str, str]:
    """Return directory → model for the models that a script downloads."""
    found: dict[str, str] = {}
    for command in commands:
        words = command.words
        if words[0] in {"hf", "huggingface-cli"} and words[1:2] == ("download",) and "--local-dir" in words[:-1]:
            target = words[words.index("--local-dir") + 1]
            handle = next((word for word in words[2:] if not word.startswith("-") and word.count("/") == 1), None)
            if handle is not None and handle != target:
                found[target.rstrip("/")] = handle
    return found
