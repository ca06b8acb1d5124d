"""Encoders that escape a text for one position in one file format.

Each target format has its own function, because an escape for one format corrupts a value in another. A value is
encoded once, when it is rendered; until then a command is a tuple of words. Each function is tested against the real
parser of its format in tests/render and tests/e2e/test_escaping.py.

A character that generated files must not contain raises ValueError. The inventory has already been checked for such
characters; this is a second check.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence

from sparkiac.plan.confinement import Tree
from sparkiac.report.characters import REFUSED

# Linux: MAX_ARG_STRLEN is 32 pages of 4 KiB for one word or one `NAME=value`, including the final NUL.
_WORD_BYTES = 32 * 4096 - 1
# systemd: LONG_LINE_MAX (src/basic/fileio.h) is 1 MiB for a logical line; 64 bytes are reserved for its key.
_UNIT_LINE_BYTES = 1024 * 1024 - 64

_REFUSED = re.compile(rf"[{REFUSED}\r]")
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# A word that systemd reads unchanged: no quotes, escapes, specifiers, variables or command separators.
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_@+=:,./-]+")
_PROGRAM = re.compile(r"/[A-Za-z0-9_@+=:,./-]+")
_SYSCTL_DOTTED = re.compile(r"[a-z][a-z0-9_-]*(?:\.[A-Za-z0-9_-]+)+")
_SYSCTL_SLASHED = re.compile(r"[a-z][a-z0-9_-]*(?:/(?!\.{1,2}(?:/|$))[A-Za-z0-9_.-]+)+")
_SYSCTL_VALUE = re.compile(r"[A-Za-z0-9_.:/+-]+(?: [A-Za-z0-9_.:/+-]+)*")
# An underscore inside a word does not start emphasis in Markdown, so it stays unescaped and readable.
_MARKDOWN_SYNTAX = re.compile(r"[\\`*\[\]<&|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")

_SYSTEMD_QUOTED = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\t": r"\t", "%": "%%"})
_ENVIRONMENT_FILE_QUOTED = str.maketrans({character: "\\" + character for character in '\\"$`'})


def checked(text: str) -> str:
    """Return `text` unchanged, or raise ValueError if it has a character that generated files must not contain."""
    # No refused character is printable, and this test is much faster than the search.
    refused = None if text.isprintable() else _REFUSED.search(text)
    if refused:
        raise _refused(text, refused.start(), "generated files must not contain it")
    return text


def systemd_argument(word: str) -> str:
    """Encode one argument of an Exec*= line.

    systemd.service(5) "Command lines": C escapes inside double quotes, `%` starts a specifier, `$` a
    variable even in quotes. A lone `;` would start a second command, so it is quoted too.
    """
    return _systemd_word(_sized(checked(word))).replace("$", "$$")


def systemd_command(argv: Sequence[str]) -> str:
    """Encode a whole Exec*= value.

    The program must be a literal path: systemd expands variables in the arguments, but not in the program.
    """
    program, *words = argv
    if not _PROGRAM.fullmatch(program):
        raise ValueError(f"{program!r} is not a plain absolute path, which Exec*= requires for its program")
    line = " ".join([program, *map(systemd_argument, words)])
    size = len(line.encode())
    if size > _UNIT_LINE_BYTES:
        raise ValueError(f"{size} bytes; a line of a systemd unit has at most {_UNIT_LINE_BYTES}")
    return line


def systemd_environment(name: str, value: str) -> str:
    """Encode one assignment of Environment=.

    systemd.exec(5) "Environment=": quotes, C escapes and specifiers as in Exec*=, but `$` is literal.
    """
    return _systemd_word(_sized(_assignment(name, value)))


def systemd_text(text: str) -> str:
    """Encode free text such as Description=, in which only specifiers are special.

    systemd.syntax(7): a line is stripped, and a backslash at its end continues it on the next line. Neither can be
    escaped, so such text is refused.
    """
    checked(text)
    if "\n" in text:
        raise _refused(text, text.index("\n"), "text in a systemd unit must be one line")
    if text != text.strip(" \t"):
        raise _refused(text, 0 if text[0] in " \t" else len(text) - 1, "systemd strips it")
    if (len(text) - len(text.rstrip("\\"))) % 2:
        raise _refused(text, len(text) - 1, "at the end of a line it continues the line")
    return text.replace("%", "%%")


def environment_file(name: str, value: str) -> str:
    r"""Encode one line of an EnvironmentFile=.

    systemd.exec(5) "EnvironmentFile=": in double quotes as in a shell, a backslash escapes ``\ " $ ` ``
    and nothing else, a newline stands for itself; neither specifiers nor variables are expanded.
    """
    _sized(_assignment(name, value))
    return f'{name}="{value.translate(_ENVIRONMENT_FILE_QUOTED)}"'


def compose(text: str) -> str:
    """Encode a value of a compose file: `$$` is a dollar sign that is not interpolated.

    https://docs.docker.com/reference/compose-file/interpolation/. Quoting is the YAML writer's task.
    """
    return checked(text).replace("$", "$$")


def compose_tree(tree: Tree) -> Tree:
    """Encode every text in a compose file except the keys, which Compose does not interpolate."""
    if isinstance(tree, str):
        return compose(tree)
    if isinstance(tree, Mapping):
        return {key: compose_tree(value) for key, value in tree.items()}
    if isinstance(tree, Sequence):
        return [compose_tree(value) for value in tree]
    return tree


def kubernetes(text: str) -> str:
    """Encode a word of a command or a value of a variable of a pod: `$$` is a dollar sign.

    `$(NAME)` would be replaced: https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/.
    """
    return _sized(checked(text).replace("$", "$$"))


def shell_word(word: str) -> str:
    """Encode one word of a POSIX shell command: single quotes, in which nothing is special."""
    return shlex.quote(checked(word))


def shell_command(words: Iterable[str]) -> str:
    """Encode the words of a POSIX shell command."""
    return " ".join(map(shell_word, words))


def json_argument(value: Tree) -> str:
    """Encode data as JSON in one word, such as the value of `--speculative-config=`.

    The word must still be encoded for the file that contains it.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return _sized(checked(text))


def sysctl_line(key: str, value: str) -> str:
    """Return one line of a sysctl.d file.

    sysctl.d(5): if the first separator is a `/`, dots are part of a name, such as in `eth0.100`. The format has no
    quotes and no comments after a value: `a # b` would be the value.
    """
    if not (_SYSCTL_DOTTED.fullmatch(key) or _SYSCTL_SLASHED.fullmatch(key)):
        raise ValueError(f"{key!r} is not a sysctl key: separate its names by dots only, or by slashes only")
    if not _SYSCTL_VALUE.fullmatch(value):
        raise ValueError(f"{value!r} is not a value for {key}: use numbers or words with one space between them")
    return f"{key} = {value}"


def markdown_cell(text: str) -> str:
    """Encode text for a table cell in GitHub Flavored Markdown.

    CommonMark 2.4: a backslash escapes punctuation; GFM 4.10: also the `|` that separates cells.
    """
    literal = _MARKDOWN_SYNTAX.sub(r"\\\g<0>", checked(text))
    return literal.replace("\n", "<br>").replace("\t", " ")


def _systemd_word(text: str) -> str:
    return text if _PLAIN_WORD.fullmatch(text) else f'"{text.translate(_SYSTEMD_QUOTED)}"'


def _assignment(name: str, value: str) -> str:
    if not _ENVIRONMENT_NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a valid name of an environment variable")
    return f"{name}={checked(value)}"


def _sized(word: str) -> str:
    size = len(word.encode())
    if size > _WORD_BYTES:
        raise ValueError(f"{size} bytes; Linux passes at most {_WORD_BYTES} in one argument")
    return word


def _refused(text: str, index: int, reason: str) -> ValueError:
    return ValueError(f"character {index + 1} is U+{ord(text[index]):04X}: {reason}")
