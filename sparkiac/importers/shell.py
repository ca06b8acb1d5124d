"""Shell scripts: `docker run` command lines among other commands, and servers that are started without a container."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sparkiac.importers import docker_command, hiding, serving
from sparkiac.importers.launch import Launch, Note, Variable
from sparkiac.importers.shell_words import Command, Script, script
from sparkiac.importers.unreadable import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NAME: Final = "shell"
_SHEBANG: Final = re.compile(r"#![^\n]*\b(?:ba|da|z)?sh\b")
_RUNS: Final = re.compile(
    r"\b(?:docker|podman|nerdctl)\s+(?:container\s+)?(?:run|create)\b|\bvllm serve\b|launch_server"
)
_SPEAKS: Final = frozenset(
    {"echo", "printf", "set", "sleep", "cd", "mkdir", "curl", "true", "read", "exit", "source", "."}
)
_STAGES: Final = frozenset({"hf", "huggingface-cli", "wget", "git", "modelscope"})
_ASKS: Final = frozenset({"docker", "podman", "systemctl", "nvidia-smi", "tail", "watch", "journalctl"})


def recognise(text: str, name: str) -> bool:
    """Whether a text is a script that starts a server."""
    return (_SHEBANG.match(text) is not None or name.endswith((".sh", ".bash"))) and _RUNS.search(text) is not None


def read(text: str, *, name: str) -> tuple[Launch, ...]:  # noqa: ARG001  every importer is asked alike
    """Read a script. Raises Unreadable where it starts nothing, or is no shell text."""
    found = launches(script(text))
    if not found:
        message = "no `docker run` and no server is started here"
        raise Unreadable(message)
    return found


def launches(commands: Script) -> tuple[Launch, ...]:
    """Give what commands start, each with the notes on the commands before it, the last one with all that follow."""
    found: list[Launch] = []
    staged = _staged(commands.commands)
    waiting = list(commands.notes)
    for command in commands.commands:
        launch = _launch(command)
        if launch is None:
            waiting += _aside(command)
            continue
        before = [note for note in waiting if note.line <= _last(command)]
        waiting = [note for note in waiting if note not in before]
        model = launch.model or _local(launch, staged)
        found.append(launch._replace(model=model, notes=(*before, *launch.notes)))
    if found:
        found[-1] = found[-1]._replace(notes=(*found[-1].notes, *waiting))
    return tuple(found)


def _launch(command: Command) -> Launch | None:
    inner = _inside(command)
    if inner is not None:
        return inner
    launch = docker_command.launch(command)
    if launch is not None or not serving.runs_server(command):
        return launch
    env = tuple(Variable(name, value, command.line) for name, value in command.env)
    note = Note("lost", command.line, hiding.shown(command.words[0]), "no image is named: sparkiac runs containers")
    return Launch(None, command.line, None, (), command.words, env=env, notes=(note,), lines=command.lines)


def _inside(command: Command) -> Launch | None:
    """Look for `docker run` in the text behind `bash -c`."""
    words = command.words
    if words[0].rpartition("/")[2] not in {"bash", "sh"} or "-c" not in words[:-1]:
        return None
    at = words.index("-c") + 1
    found = launches(script(words[at], line=command.lines[at])) if "docker" in words[at] else ()
    return found[0] if found else None


def _last(command: Command) -> int:
    return command.lines[-1]


def _aside(command: Command) -> Iterator[Note]:
    """Say what becomes of a command that starts nothing."""
    words = [*command.words]
    while words and (words[0] in {"sudo", "exec"} or "=" in words[0]):
        del words[0]
    program = words[0].rpartition("/")[2] if words else ""
    what = hiding.shown(" ".join(words))
    if program in _SPEAKS or not words:
        return
    if program in _STAGES:
        yield Note("corrected", command.line, what, "models and files are staged by the playbook")
    elif program in _ASKS:
        yield Note("corrected", command.line, what, "units and playbooks start, stop and ask; no script does")
    else:
        yield Note("lost", command.line, what, "another command; nothing of it is taken over")


def _staged(commands: tuple[Command, ...]) -> dict[str, str]:
    """Collect the directories that a script downloads models to."""
    found: dict[str, str] = {}
    for command in commands:
        words = command.words
        if words[0] in {"hf", "huggingface-cli"} and words[1:2] == ("download",) and "--local-dir" in words[:-1]:
            target = words[words.index("--local-dir") + 1]
            handle = next((word for word in words[2:] if not word.startswith("-") and word.count("/") == 1), None)
            if handle is not None and handle != target:
                found[target.rstrip("/")] = handle
    return found


def _local(launch: Launch, staged: Mapping[str, str]) -> str | None:
    """Give the model that one of the mounted directories was filled with."""
    return next((staged[each.source] for each in launch.volumes if each.source in staged), None)
