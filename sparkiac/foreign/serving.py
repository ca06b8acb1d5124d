"""Finds the server in a container's command: its engine, its arguments, and the shell commands before it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from sparkiac import catalog, engines
from sparkiac.foreign import redaction, values
from sparkiac.foreign.launch import EnvVariable, Launch, Note, Unreadable, corrected, lost
from sparkiac.foreign.shell_parts import SHELLS, WRAPPERS, ShellCommand, shell_argument, unread
from sparkiac.foreign.shell_words import Script, script
from sparkiac.model import references
from sparkiac.model.images import ImageFamily

_PYTHON_NAME: Final = "python3"
_PYTHON: Final = re.compile(r"python(3(\.\d{1,2})?)?")
_COMMANDS: Final = {words: each.name for each in engines.every() for words in each.commands}
"""Words that start a server → engine."""
PROGRAMS: Final = "|".join(sorted({re.escape(words[0]) for words in _COMMANDS} - {_PYTHON_NAME}))
SERVERS: Final = "|".join(
    " ".join(r"python3?" if word == _PYTHON_NAME else re.escape(word) for word in words) + r"\b" for words in _COMMANDS
)
"""Pattern of the beginning of a command that starts a server."""
_SHELL_ONLY: Final = frozenset({"echo", "set", "sleep", "ulimit", "trap", "wait", "true", ":"})
_CONTAINER_TOOLS: Final = frozenset({"docker", "podman", "nerdctl", "docker-compose"})
_RUNNERS: Final = _CONTAINER_TOOLS | values.words(
    "uv uvx poetry pipx conda micromamba numactl taskset mpirun torchrun trtllm-llmapi-launch nsys systemd-run script"
)
"""Programs that run the program in their arguments."""
_BUILDS: Final = frozenset({"cmake", "make", "ninja"})
"""Build tools, whose arguments can name a server without starting it."""
_DOWNLOADS: Final = frozenset({"hf", "huggingface-cli"})
_SHELL_SYNTAX: Final = frozenset({"cd", "source", ".", "ray", "for", "case", "[", "[[", "test", "exit", "return"})
NO_IMAGE: Final = "no image is named; sparkiac runs servers in containers"
_TEMPORARY: Final = re.compile(r"/tmp/[\w.-]+")  # noqa: S108  compared
_MAX_DEPTH: Final = 4
_MAX_WORDS: Final = 800


class ServerStart(NamedTuple):
    """A server with its arguments."""

    engine: str
    words: tuple[str, ...]
    """Words after the program."""
    lines: tuple[int, ...]
    prelude: tuple[tuple[str, ...], ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    """Variables that a shell sets for the server."""
    notes: tuple[Note, ...] = ()


def start(launch: Launch) -> ServerStart | None:
    """Find the server that a container runs; None if it is not a known one. Raises Unreadable."""
    words = (*(launch.entrypoint or ()), *launch.argv)
    lines = (*(launch.line for _ in launch.entrypoint or ()), *(launch.lines or (launch.line,) * len(launch.argv)))
    if len(words) > _MAX_WORDS:
        raise Unreadable(f"the command has more than {_MAX_WORDS} words", line=launch.line)
    family = image_family(launch.image)
    style = family.style if family is not None and launch.entrypoint is None else ""
    engine = next((each for each in engines.every() if each.style == style), None)
    if engine is not None and not engine.words:
        return ServerStart(engine.name, words, lines)
    container_env = {
        each.name: each.value for each in launch.env if each.value and not redaction.is_secret_name(each.name)
    }
    found = _find(ShellCommand(words, lines), _MAX_DEPTH, container_env) if words else None
    if engine is not None:
        return _after_entrypoint(ServerStart(engine.name, words, lines), found)
    if found is None and launch.entrypoint is None and words:
        return _guessed(launch, ServerStart("", words, lines))
    return found


def without_image(command: ShellCommand) -> Launch | None:
    """Return the server that a command starts outside of any container, or None."""
    if _direct(command, outside=True) is None:
        return None
    env = tuple(EnvVariable(name, value, command.line) for name, value in command.env)
    note = lost(command.line, command.words[0], NO_IMAGE)
    return Launch(None, command.line, None, (), command.words, env=env, notes=(note,), lines=command.lines)


def image_family(reference: str | None) -> ImageFamily | None:
    """Return the catalog's entry for an image's family."""
    repository = repository_of(reference or "")
    source = catalog.image_family(repository) if repository else None
    return source.value if source else None


def repository_of(reference: str) -> str:
    """Return an image reference without tag, digest and Docker's default registry."""
    return references.short(references.repository(reference))


def _after_entrypoint(bare: ServerStart, found: ServerStart | None) -> ServerStart:
    """Read the arguments of an image whose entrypoint is already `vllm serve`, even if the command repeats it."""
    if found is None:
        return bare
    why = "the image's entrypoint is already `vllm serve`; repeating it makes the server exit at once"
    return found._replace(notes=(*found.notes, corrected(bare.lines[0], "vllm serve", why)))


def _guessed(launch: Launch, bare: ServerStart) -> ServerStart | None:
    """Guess the engine of an uncatalogued image from its name, if the words look like server arguments."""
    if bare.words[0] == "serve" and len(bare.words) > 1:
        bare = bare._replace(words=bare.words[1:], lines=bare.lines[1:])
    image, first = repository_of(launch.image or "").lower(), bare.words[0]
    if not (first.startswith("-") or (first.count("/") == 1 and not first.startswith("/"))):
        return None
    tag = (launch.image or "").rpartition(":")[2]
    engine = next((each for each in engines.every() if any(part in image for part in each.image_names)), None)
    if engine is None or not (tag.startswith(engine.image_tags) or "--server" in bare.words):
        return None
    guess = f"read as arguments of {engine.name}, guessed from the image's name"
    note = corrected(launch.line, launch.image or "", f"{guess}; the catalog has no entrypoint for this image")
    return bare._replace(engine=engine.name, notes=(note,))


def _find(command: ShellCommand, depth: int, container_env: Mapping[str, str]) -> ServerStart | None:
    """Look inside wrappers and shells; `container_env` are the container's variables, which a shell in it expands."""
    inner = command.unwrapped()
    if inner.program in SHELLS:
        return _in_shell(inner, depth, container_env) if depth else None
    return _direct(inner)


def _direct(command: ShellCommand, *, outside: bool = False) -> ServerStart | None:
    """Find the server that a command runs itself, in a container or `outside` of any."""
    words, lines = command.words, command.lines
    if command.program in _BUILDS:
        return None
    for at, word in enumerate(words if command.program in _CONTAINER_TOOLS else words[:12]):
        program = _PYTHON_NAME if _PYTHON.fullmatch(_base(word)) else _base(word)
        run = (program, *words[at + 1 :])
        form = next((each for each in _COMMANDS if run[: len(each)] == each), None)
        if form is None or (len(form) == 1 and not _is_program(words, at, outside=outside)):
            continue
        end = at + len(form)
        before = tuple(each for each in words[:at] if each not in WRAPPERS)
        why = "it precedes the server and is not imported"
        notes = (lost(lines[0], redaction.joined(before), why),) if before else ()
        return ServerStart(_COMMANDS[form], words[end:], lines[end:], env=command.env, notes=notes)
    return None


def _is_program(words: tuple[str, ...], at: int, *, outside: bool) -> bool:
    """Return whether a word is what a command runs, not an argument such as `pkill -f llama-server`.

    Outside of containers it needs an option or a model: pages print tables with such names.
    """
    runs = not at or _base(words[0]) in _RUNNERS
    return runs and (not outside or any(each.startswith("-") or "/" in each for each in words[at + 1 :]))


def engine_of(text: str) -> str | None:
    """Return the engine of the first server that a text starts; None if it starts none."""
    found = re.search(rf"(?:{SERVERS})", " ".join(text.split()))
    start = _direct(ShellCommand(tuple(found[0].split()), (1,) * len(found[0].split()))) if found else None
    return start.engine if start else None


def _in_shell(command: ShellCommand, depth: int, container_env: Mapping[str, str]) -> ServerStart | None:
    """Read the text after `bash -c`: the commands before the server are its prelude."""
    argument = shell_argument(command.words)
    if argument is None:
        return None
    place, parameters = argument
    inner = script(command.words[place], variables={**container_env, **parameters}, line=command.lines[place])
    for at, each in enumerate(inner.commands):
        found = _find(each._replace(env=(*command.env, *each.env)), depth - 1, container_env)
        if found is not None:
            prelude, notes = around(inner, at)
            return found._replace(prelude=(*prelude, *found.prelude), notes=(*notes, *found.notes))
    return None


def around(commands: Script, at: int) -> tuple[tuple[tuple[str, ...], ...], tuple[Note, ...]]:
    """Return the commands that prepare a server, which is one of a script, and notes on all others."""
    prelude: list[tuple[str, ...]] = []
    files = dict(_written_files(commands))
    written = {each.line for each in files}
    notes = [*commands.notes, *unread(each for each in commands.documents if each.opened not in written)]
    for each in commands.commands[:at]:
        dropped = None if each in files else _not_in_prelude(each)
        if dropped is None:
            prelude.append(files.get(each, each.words))
        else:
            notes.append(Note(dropped[0], each.line, redaction.redacted(redaction.joined(each.words)), dropped[1]))
    why = "it runs after the server and is not imported"
    notes += (lost(each.line, redaction.joined(each.words), why) for each in commands.commands[at + 1 :])
    return tuple(prelude), tuple(notes)


def _written_files(commands: Script) -> Iterator[tuple[ShellCommand, tuple[str, ...]]]:
    """Yield the commands that write a here-document below /tmp, which every container can, each as one line."""
    texts = {each.opened: each.text for each in commands.documents}
    for each in commands.commands:
        text = texts.get(each.line, "")
        is_secret = redaction.is_secret(text) or redaction.secret_values(text)
        is_cat = each.words == ("cat",) and text and _TEMPORARY.fullmatch(each.output)
        if is_cat and not is_secret and not values.is_unknown(text):
            escaped = text.replace("\\", "\\\\").replace("\n", "\\n")
            yield each, ("sh", "-c", f"printf '%b\\n' {shlex.quote(escaped)} > {each.output}")


def _not_in_prelude(command: ShellCommand) -> tuple[str, str] | None:
    """Return why a command before the server is not part of the prelude: kind and reason. None if it is part."""
    program = command.program
    if program in _SHELL_ONLY and not command.piped:
        return "corrected", "the server does not need it"
    if program in _DOWNLOADS and command.words[1:2] == ("download",):
        return "corrected", "the playbook stages models"
    alone = not command.piped and command.after != "||" and program not in _SHELL_SYNTAX
    if not alone or redaction.holds_secret(command.words) or any(map(values.is_unknown, command.words)):
        return "lost", "a step before the server must be a plain program with literal arguments"
    return None


def _base(word: str) -> str:
    return word.rpartition("/")[2]
