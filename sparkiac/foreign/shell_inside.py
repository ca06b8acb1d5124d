"""Nested commands: what `bash -c`, `eval`, `ssh` and the like run, and what `docker exec` starts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from sparkiac.foreign import serving
from sparkiac.foreign.docker_command import PROGRAMS, program
from sparkiac.foreign.launch import EnvVariable, Launch, lost
from sparkiac.foreign.shell_words import ShellCommand, shell_argument

_SHELLS: Final = frozenset({"bash", "sh", "dash", "zsh", "ash", "su"})
_DETACHED: Final = frozenset({"tmux", "screen", "script"})
_OF_SSH: Final = re.compile(r"-[A-Za-z]*[BbcDEeFIiJLlmOopQRSWw]")
"""Options of ssh that take a value."""
_OF_EXEC: Final = frozenset({"-e", "--env", "-u", "--user", "-w", "--workdir", "--env-file", "--detach-keys"})


def nested_text(command: ShellCommand) -> tuple[str, int, bool] | None:
    """Return the text that a command passes to a shell, its line, and whether another machine or terminal runs it."""
    words, lines = command.words, command.lines
    at = program(words)
    name = words[at].rpartition("/")[2] if at < len(words) else ""
    if name in _SHELLS:
        place = shell_argument(words, at)
        return (words[place], lines[place], False) if place is not None else None
    if name == "eval" and at + 1 < len(words):
        return " ".join(words[at + 1 :]), lines[at + 1], False
    if name == "ssh":
        host = _after_options(words, at + 1)
        return (" ".join(words[host + 1 :]), lines[host + 1], True) if host + 1 < len(words) else None
    if name in _DETACHED and " " in words[-1]:
        return words[-1], lines[-1], True
    return None


def docker_exec(command: ShellCommand) -> Launch | None:
    """Return the server that `docker exec` starts in a container, or None."""
    words, lines = command.words, command.lines
    at = program(words)
    if at >= len(words) or words[at].rpartition("/")[2] not in PROGRAMS or words[at + 1 : at + 2] != ("exec",):
        return None
    at += 2
    env: list[EnvVariable] = []
    while at < len(words) and words[at].startswith("-"):
        name, equals, value = words[at].partition("=")
        takes = name in _OF_EXEC and not equals
        value_of_option = words[at + 1] if takes and at + 1 < len(words) else value
        if name in {"-e", "--env"} and "=" in value_of_option:
            key, _, held = value_of_option.partition("=")
            env.append(EnvVariable(key, held, lines[at]))
        at += 2 if takes else 1
    if at + 1 >= len(words):
        return None
    note = lost(command.line, f"exec {words[at]}", serving.NO_IMAGE)
    found = Launch(None, command.line, None, (), words[at + 1 :], env=tuple(env), notes=(note,), inside=words[at])
    found = found._replace(lines=lines[at + 1 :])
    return found if serving.start(found) is not None else None


def _after_options(words: Sequence[str], at: int) -> int:
    while at < len(words) and words[at].startswith("-"):
        at += 2 if _OF_SSH.fullmatch(words[at]) else 1
    return at
