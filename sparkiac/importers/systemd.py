"""systemd units around `docker run`.

Words are split as systemd does (systemd.service, "Command lines"; systemd.syntax): quotes, C escapes, `$$` and `%%`,
a backslash at the end of a line. It starts no shell, so nothing else of a shell has a meaning.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.importers import docker_command, docker_values, hiding, serving, shell_commands
from sparkiac.importers.launch import Launch, Note, Variable
from sparkiac.importers.shell_words import Command, script
from sparkiac.importers.unreadable import StartsNothing, Unreadable
from sparkiac.source.text import FORBIDDEN

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME: Final = "systemd"
_BEGINS: Final = re.compile(r"(?:[ \t\r]*(?:[#;][^\n]*)?\n)*[ \t]*\[(?:Unit|Service)\][ \t\r]*$", re.MULTILINE)
_STARTS: Final = re.compile(r"^[ \t]*ExecStart[ \t]*=", re.MULTILINE)
_HEADER: Final = re.compile(r"\[([A-Za-z-]+)\]")
_PIECE: Final = re.compile(r"""\\(.)|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s'"\\]+)|(\s+)""", re.DOTALL)
_SPECIFIER: Final = re.compile(r"%(.)")
_TIMES: Final = {"TimeoutStartSec": "ready_s", "TimeoutStopSec": "stop_s", "RestartSec": "restart_delay_s"}
_OURS: Final = frozenset(
    """
    Type Restart User Group PermissionsStartOnly After Wants Requires BindsTo PartOf WantedBy KillMode SyslogIdentifier
    StandardOutput StandardError RemainAfterExit Documentation StartLimitIntervalSec StartLimitBurst StartLimitInterval
    NotifyAccess SuccessExitStatus Delegate KillSignal SendSIGKILL LimitMEMLOCK LimitNOFILE OOMScoreAdjust Alias
    """.split()  # noqa: SIM905  a list of names is read more easily so
)
_UNIT: Final = "sparkiac writes units of its own, which say it"
_ROOT: Final = "a start step that runs as root drops the page cache"
_BEFORE: Final = "a unit's container is made anew at each start, and removed when it ends"
_ESCAPES: Final = {"n": "\n", "t": "\t", "s": " ", "r": "\r"}


class _Setting(NamedTuple):
    key: str
    value: str
    line: int
    column: int
    """At which the value begins."""


def recognise(text: str, name: str) -> bool:
    """Whether a text is a unit that starts something."""
    return name.endswith(".service") or (_BEGINS.match(text) is not None and _STARTS.search(text) is not None)


def read(text: str, *, name: str) -> tuple[Launch, ...]:
    """Read one unit, or several one after the other. Raises Unreadable where none starts a container."""
    if bad := FORBIDDEN.search(text):
        message = f"character U+{ord(bad.group()):04X} is not allowed"
        raise Unreadable(message, line=text.count("\n", 0, bad.start()) + 1)
    found = [launch for unit in _units(text) if (launch := _launch(unit, name)) is not None]
    if not found:
        message = "no ExecStart= of this unit runs a container or a server"
        raise StartsNothing(message)
    return tuple(found)


def _units(text: str) -> Iterator[list[_Setting]]:
    """Cut at each [Unit]; continued lines are one, comments between them are left out."""
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
    """Join a value with the lines that continue it; a line end stays one, so that places can be counted."""
    while value.endswith("\\"):
        following = next((line for _, line in lines), None)
        if following is None:
            return value[:-1]
        if following.lstrip().startswith(("#", ";")):
            value = f"{value[:-1]}\n\\"
            continue
        value = f"{value[:-1]}\n{following.rstrip()}"
    return value


def _launch(unit: list[_Setting], name: str) -> Launch | None:
    env: list[Variable] = []
    notes: list[Note] = []
    for setting in unit:
        if setting.key == "Environment":
            env += _variables(setting)
        elif setting.key == "EnvironmentFile":
            why = "the variables of that file are not in this one; write them under env, no secret"
            notes.append(Note("lost", setting.line, f"EnvironmentFile={hiding.shown(setting.value)}", why))
    started = next((each for each in unit if each.key == "ExecStart" and each.value), None)
    command = _command(started, env, notes) if started else None
    launch = _of_command(command) if command else None
    if launch is None:
        return None
    times = tuple(_times(unit, notes))
    _others(unit, notes)
    title = next((each.value for each in unit if each.key == "Description"), None)
    own = name.rpartition("/")[2].removesuffix(".service") if name.endswith(".service") else None
    return launch._replace(
        name=launch.name or own,
        description=hiding.shown(title) if title else None,
        timeouts=(*launch.timeouts, *times),
        notes=(*notes, *launch.notes),
        once=False,
    )


def _of_command(command: Command) -> Launch | None:
    """Find the container that a command runs, in a shell too, or the server that it starts by itself."""
    words = command.words
    if words[0].rpartition("/")[2] in {"bash", "sh"} and len(words) > 2 and words[1].endswith("c"):  # noqa: PLR2004
        found = shell_commands.launches(script(words[2], line=command.line))
        return found[0] if found else None
    launch = docker_command.launch(command)
    if launch is None and serving.runs_server(command):
        note = Note("lost", command.line, hiding.shown(words[0]), serving.NO_IMAGE)
        env = tuple(Variable(key, value, command.line) for key, value in command.env)
        return Launch(None, command.line, None, (), words, env=env, notes=(note,), lines=command.lines)
    return launch


def _command(setting: _Setting, env: list[Variable], notes: list[Note]) -> Command | None:
    value = setting.value.lstrip("-+!@:")
    begins = setting._replace(value=value, column=setting.column + len(setting.value) - len(value))
    held = {variable.name: variable.value or "" for variable in env}
    pairs = [pair for word, line in _words(begins, notes) for pair in _expanded(word, line, held)]
    if not pairs:
        return None
    return Command(tuple(word for word, _ in pairs), tuple(line for _, line in pairs), tuple(held.items()))


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
                yield _specified(word, start, notes), start
            word = None
        else:
            start = line if word is None else start
            escaped, single, double, bare = found.group(1, 2, 3, 4)
            quoted = single if single is not None else double
            piece = _ESCAPES.get(escaped, escaped) if escaped else bare or _unescaped(quoted or "")
            word = (word or "") + piece
        line += found[0].count("\n")
        at = found.end()
    if word is not None:
        yield _specified(word, start, notes), start


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text, flags=re.DOTALL)


def _specified(word: str, line: int, notes: list[Note]) -> str:
    """Put in `%%`; every other specifier is the host's."""
    if any(each != "%" for each in _SPECIFIER.findall(word)):
        why = "a specifier of systemd's stands for what only the host knows"
        notes.append(Note("lost", line, hiding.shown(word), why))
    return _SPECIFIER.sub(lambda found: "%" if found[1] == "%" else found[0], word)


def _expanded(word: str, line: int, held: dict[str, str]) -> Iterator[tuple[str, int]]:
    """Put variables in: `$NAME` alone is split at blanks, `${NAME}` is not."""
    alone = re.fullmatch(r"\$([A-Za-z_]\w*)", word)
    if alone is not None and alone[1] in held:
        yield from ((part, line) for part in held[alone[1]].split())
        return
    text = re.sub(r"\$\{([A-Za-z_]\w*)\}", lambda found: held.get(found[1], found[0]), word)
    yield text.replace("$$", "$"), line


def _variables(setting: _Setting) -> Iterator[Variable]:
    for word, line in _words(setting, []):
        name, equals, value = word.partition("=")
        if equals:
            yield Variable(name, value, line)


def _times(unit: list[_Setting], notes: list[Note]) -> Iterator[tuple[str, int]]:
    for setting in unit:
        key = _TIMES.get(setting.key)
        held = docker_values.seconds(setting.value) if key else None
        if key and held:
            yield key, held
        elif key:
            why = "every wait has an end here, and the recipe knows it"
            notes.append(Note("corrected", setting.line, f"{setting.key}={hiding.shown(setting.value)}", why))


def _others(unit: list[_Setting], notes: list[Note]) -> None:
    """Say what becomes of everything else."""
    said = {*_TIMES, "Environment", "EnvironmentFile", "Description"}
    first = True
    for setting in unit:
        what = hiding.shown(f"{setting.key}={setting.value}")
        if setting.key in said or (setting.key == "ExecStart" and first):
            first = first and setting.key != "ExecStart"
        elif setting.key in _OURS:
            notes.append(Note("corrected", setting.line, what, _UNIT))
        elif setting.key.startswith("Exec"):
            kind, why = _step(setting.value)
            notes.append(Note(kind, setting.line, what, why))
        else:
            notes.append(Note("lost", setting.line, what, "nothing of the inventory says this"))


def _step(value: str) -> tuple[str, str]:
    """Say what becomes of a step before, beside or after the start."""
    if "drop_caches" in value:
        return "corrected", _ROOT
    if re.search(r"docker\s+(stop|rm|kill|pull|container)\b", value):
        return "corrected", _BEFORE
    if re.search(r"\bsleep\b|\bcurl\b|docker\s+(ps|logs|inspect)\b", value):
        return "corrected", "a unit is ready when the model answers"
    return "lost", "a step of the unit's own; sparkiac's units have none"
