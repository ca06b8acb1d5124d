"""systemd units that run `docker run` or a server.

Words are split as systemd does (systemd.service, "Command lines"; systemd.syntax): quotes, C escapes, `$$` and `%%`,
a backslash at the end of a line. systemd starts no shell, so other shell syntax has no meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from sparkiac import catalog
from sparkiac.foreign import docker, redaction, shell
from sparkiac.foreign.launch import (
    ENV_FILE,
    NO_SETTING,
    EnvVariable,
    Launch,
    Note,
    NothingToImport,
    Unreadable,
    check_characters,
    corrected,
    lost,
)
from sparkiac.foreign.shell_parts import MAX_EXPANDED, TOO_LARGE, ShellCommand
from sparkiac.report import Path

_BEGINS: Final = re.compile(r"(?:[ \t\r]*(?:[#;][^\n]*)?\n)*[ \t]*\[(?:Unit|Service)\][ \t\r]*$", re.MULTILINE)
_STARTS: Final = re.compile(r"^[ \t]*ExecStart[ \t]*=", re.MULTILINE)
_HEADER: Final = re.compile(r"\[([A-Za-z-]+)\]")
_PIECE: Final = re.compile(r"""\\(.)|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s'"\\]+)|(\s+)""", re.DOTALL)
_REFERENCE: Final = re.compile(r"\$\{?([A-Za-z_]\w*)")
_SPECIFIER: Final = re.compile(r"%(.)")
_TIMES: Final = {"TimeoutStartSec": "ready_s", "TimeoutStopSec": "stop_s", "RestartSec": "restart_delay_s"}
_PAGE_CACHE: Final = "a start step that runs as root drops the page cache"
_NEW_CONTAINER: Final = "sparkiac's units create the container at each start and remove it when it ends"
_ESCAPES: Final = {"n": "\n", "t": "\t", "s": " ", "r": "\r"}


class _Setting(NamedTuple):
    key: str
    value: str
    line: int
    column: int
    """Column of the value."""

    @property
    def text(self) -> str:
        """Return the setting as it is written."""
        return f"{self.key}={self.value}"


def recognise(text: str, name: str) -> bool:
    """Return whether a text is a unit that starts something."""
    return name.endswith(".service") or (_BEGINS.match(text) is not None and _STARTS.search(text) is not None)


def read(text: str, *, name: str, given: Mapping[str, str] = {}) -> tuple[Launch, ...]:
    """Read one or more concatenated units. Raises Unreadable if none starts a container."""
    check_characters(text)
    found = [launch for unit in _units(text) if (launch := _launch(unit, name, given)) is not None]
    if not found:
        raise NothingToImport("no ExecStart= of this unit runs a container or a server")
    return tuple(found)


def _units(text: str) -> Iterator[list[_Setting]]:
    """Split at each [Unit]. Continuation lines are joined and comments between them dropped."""
    unit: list[_Setting] = []
    lines = enumerate(text.replace("\r\n", "\n").split("\n"), 1)
    for number, line in lines:
        stripped = line.strip()
        if not stripped or stripped.startswith(("#", ";")):
            continue
        header = _HEADER.fullmatch(stripped)
        if header is not None:
            if header[1] == "Unit" and unit:
                yield unit
                unit = []
            continue
        key, _, value = stripped.partition("=")
        column = len(line.rstrip()) - len(value.lstrip()) + 1
        unit.append(_Setting(key.strip(), _continued(value.lstrip(), lines), number, column))
    if unit:
        yield unit


def _continued(value: str, lines: Iterator[tuple[int, str]]) -> str:
    """Join a value with its continuation lines. Line ends are kept, so that positions can be counted."""
    while value.endswith("\\"):
        following = next((line for _, line in lines), None)
        if following is None:
            return value[:-1]
        if following.lstrip().startswith(("#", ";")):
            value = f"{value[:-1]}\n\\"
            continue
        value = f"{value[:-1]}\n{following.rstrip()}"
    return value


def _launch(unit: list[_Setting], name: str, given: Mapping[str, str]) -> Launch | None:
    env = [variable for setting in unit if setting.key == "Environment" for variable in _variables(setting)]
    notes = [lost(each.line, each.text, ENV_FILE) for each in unit if each.key == "EnvironmentFile"]
    started = next((each for each in unit if each.key == "ExecStart" and each.value), None)
    command = _command(started, env, notes, given) if started else None
    found = shell.of_command(command) if command else ()
    if not found:
        return None
    launch = found[0]
    times = dict(_times(unit, notes))
    notes += (note for setting in unit if setting is not started and (note := _other(setting)) is not None)
    title = next((each.value for each in unit if each.key == "Description"), None)
    own = name.rpartition("/")[2].removesuffix(".service") if name.endswith(".service") else None
    return launch._replace(
        name=launch.name or own,
        description=redaction.redacted(title) if title else None,
        settings={**launch.settings, **times},
        notes=(*notes, *launch.notes),
        once=False,
    )


def _command(
    setting: _Setting, env: list[EnvVariable], notes: list[Note], given: Mapping[str, str]
) -> ShellCommand | None:
    value = setting.value.lstrip("-+!@:")
    begins = setting._replace(value=value, column=setting.column + len(setting.value) - len(value))
    variables = {variable.name: variable.value or "" for variable in env}
    known, pairs, grown = {**given, **variables}, list[tuple[str, int]](), 0
    for word, line in _words(begins, notes):
        grown += sum(len(known.get(name, "")) for name in _REFERENCE.findall(word))
        if grown > MAX_EXPANDED:
            raise Unreadable(TOO_LARGE, line=line)
        pairs += _expanded(word, line, known)
    if not pairs:
        return None
    return ShellCommand(tuple(word for word, _ in pairs), tuple(line for _, line in pairs), tuple(variables.items()))


def _words(setting: _Setting, notes: list[Note]) -> Iterator[tuple[str, int]]:
    """Split a value as systemd does."""
    text, line = setting.value, setting.line
    word: str | None = None
    start = line
    at = 0
    while at < len(text):
        found = _PIECE.match(text, at)
        if found is None:
            message = "a quote is opened here and not closed"
            before = text.rfind("\n", 0, at)
            raise Unreadable(message, line=line, column=at - before if before >= 0 else setting.column + at)
        if found[5] is not None:
            if word is not None:
                yield _without_specifiers(word, start, notes), start
            word = None
        else:
            start = line if word is None else start
            escaped, single, double, bare = found.group(1, 2, 3, 4)
            quoted = re.sub(r"\n[ \t]*", " ", (single if single is not None else double) or "")  # a continued line
            piece = _ESCAPES.get(escaped, escaped) if escaped else bare or _unescaped(quoted)
            word = (word or "") + piece
        line += found[0].count("\n")
        at = found.end()
    if word is not None:
        yield _without_specifiers(word, start, notes), start


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text, flags=re.DOTALL)


def _without_specifiers(word: str, line: int, notes: list[Note]) -> str:
    """Replace `%%`; note every other specifier, because only the host can expand it."""
    if any(each != "%" for each in _SPECIFIER.findall(word)):
        why = "it contains a systemd specifier, which only the host can expand"
        notes.append(lost(line, word, why))
    return _SPECIFIER.sub(lambda found: "%" if found[1] == "%" else found[0], word)


def _expanded(word: str, line: int, variables: dict[str, str]) -> Iterator[tuple[str, int]]:
    """Expand variables: the value of `$NAME` alone is split at blanks, that of `${NAME}` is not."""
    alone = re.fullmatch(r"\$([A-Za-z_]\w*)", word)
    if alone is not None and alone[1] in variables:
        yield from ((part, line) for part in variables[alone[1]].split())
        return
    text = re.sub(r"\$\{([A-Za-z_]\w*)\}", lambda found: variables.get(found[1], found[0]), word)
    yield text.replace("$$", "$"), line


def _variables(setting: _Setting) -> Iterator[EnvVariable]:
    for word, line in _words(setting, []):
        name, equals, value = word.partition("=")
        if equals:
            yield EnvVariable(name, value, line)


def _times(unit: list[_Setting], notes: list[Note]) -> Iterator[tuple[Path, int]]:
    for setting in unit:
        key = _TIMES.get(setting.key)
        seconds = docker.seconds(setting.value) if key else None
        if key and seconds:
            yield ("timeouts", key), seconds
        elif key:
            why = "it has no time limit; the recipe sets one"
            notes.append(corrected(setting.line, setting.text, why))


def _other(setting: _Setting) -> Note | None:
    """Return a note on a setting that is not read, or None."""
    if setting.key in {*_TIMES, "Environment", "EnvironmentFile", "Description"}:
        return None
    if (noted := catalog.launchers().systemd.notes.get(setting.key)) is not None:
        return corrected(setting.line, setting.text, noted.why)
    if setting.key.startswith("Exec"):
        kind, why = _step(setting.value)
        return Note(kind, setting.line, redaction.redacted(setting.text), why)
    return lost(setting.line, setting.text, NO_SETTING)


def _step(value: str) -> tuple[str, str]:
    """Return how an Exec line other than the start is noted: kind and reason."""
    if "drop_caches" in value:
        return "corrected", _PAGE_CACHE
    if re.search(r"docker\s+(stop|rm|kill|pull|container)\b", value):
        return "corrected", _NEW_CONTAINER
    if re.search(r"\bsleep\b|\bcurl\b|docker\s+(ps|logs|inspect)\b", value):
        return "corrected", "a unit is ready when the model answers"
    return "lost", "an extra step; sparkiac's units have none"
