"""Find literal secrets, refuse them and redact them.

A finding prints the user's line, so secrets are redacted in the document's lines, for every finding and every later
stage. The stars keep the columns; the length of a secret is visible in the finding's end column anyway.
Text is searched once for each pattern, in linear time: a pattern is tried only where a run of its characters begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from sparkiac.model.base import SECRET_KEYS
from sparkiac.model.forms import SECRET
from sparkiac.report import Mark, Path
from sparkiac.source.text import FALSE, NULL, TRUE

USE_REFERENCE: Final = (
    "write {secret: NAME}; `sparkiac secrets new INVENTORY` generates a value and stores it elsewhere; if this was a "
    "real secret, revoke it now"
)
REMOVE_LITERAL: Final = (
    "remove it: `api_key: {secret: NAME}` reads it from a file on the host, `hub: {api_key: …}` does so for a token of "
    "the model hub; if this was a real secret, change it now"
)
_REFERENCE: Final = r"""["']?\s*:\s*\{\s*secret\s*:\s*["']?[a-z0-9_-]+["']?\s*\}"""
_IN_TEXT: Final = re.compile(
    rf"(?<![A-Za-z0-9_-])({'|'.join(key.replace('_', '[_-]?') for key in sorted(SECRET_KEYS))})(?!{_REFERENCE})",
    re.IGNORECASE,
)
_VARIABLES: Final = frozenset({"arguments", "env", "environment", "set"})
"""Keys below which each key is the name of a variable or an option."""
_NO_SECRETS: Final = NULL | TRUE | FALSE
"""Values that are no secret under any name: `allow_credentials` of vLLM is a switch. A number can be a password."""
_NAME_IN_TEXT: Final = re.compile(r"[A-Z0-9_]+|--[A-Za-z][\w-]*")
"""Words that can be names of variables and options, in a text that is not valid YAML."""
_MIXED: Final = r"(?=[a-z0-9/+]{0,83}[A-Z])(?=[A-Z0-9/+]{0,83}[a-z])(?=[A-Za-z/+]{0,83}[0-9])"
_FORMS: Final = {
    "Hugging Face token": r"hf_[A-Za-z0-9]{20,}",
    "OpenAI key": r"sk-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{16,}",
    "NVIDIA key": r"nvapi-[A-Za-z0-9_-]{16,}",
    "GitHub token": r"(?:gh[opsur]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})",
    "GitLab token": r"glpat-[A-Za-z0-9_-]{16,}",
    "Slack token": r"xox[abprs]-[A-Za-z0-9-]{10,}",
    "AWS key": r"A[KS]IA[0-9A-Z]{16}",
    "key of AWS or NGC": rf"(?<![/+.]){_MIXED}(?:[A-Za-z0-9/+]{{40}}|[A-Za-z0-9/+]{{84}})(?![\w/+.=-])",
    "basic credential": r"(?i:authorization['\"]?[ ]?[:=][ ]?['\"]?basic)[ ]+[A-Za-z0-9+/]{8,}={0,2}",
    "Google API key": r"AIza[0-9A-Za-z_-]{35}",
    "JSON web token": r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    "Telegram token": r"[0-9]{8,10}:[A-Za-z0-9_-]{35}",
    "bearer token": r"(?i:bearer)[ ]+(?=[A-Za-z._~+/=-]*[0-9])[A-Za-z0-9._~+/=-]{16,}",
    "private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
}
"""Kind of secret → pattern of its text, with the minimum length of a real one."""
_FORM: Final = re.compile("(?<![A-Za-z0-9_-])(?:" + "|".join(f"({form})" for form in _FORMS.values()) + ")")
_USERINFO: Final = r"[^\s/?#'\"<>\\]"
_USER: Final = re.compile(rf"(https?)?://({_USERINFO}*|{_USERINFO}{{0,64}}?:(?!\d{{1,5}}/)[^\s?#'\"<>\\@]{{0,200}})@")
"""User and password of a URL (RFC 3986, 3.2.1); a slash in a password should be written as %2F, and often is not."""
_BARE_USER: Final = re.compile(
    r"(?<![\w@/:.-])(?!mailto:)[A-Za-z_][\w.-]{0,60}:(?=[^\s\d]{0,200}\d)([^\s'\"<>@/:,;]{6,200})"
    r"@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,}"
)
"""User and password before a host without a scheme, as in lists of mirrors."""
_TOKEN_AS_USER: Final = re.compile(r"(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{16,}")
"""Git servers accept a token as the user name of a URL."""
_ASSIGNED: Final = re.compile(r"(?<![\w.-])(-{0,2})([A-Za-z_][\w.-]*)(=|[ \t]+|)")
_VALUE: Final = re.compile(r""""([^"\n]{1,4096})|'([^'\n]{1,4096})|([^\s'",;&|)}]{1,4096})""")
_GAP: Final = r"(?:[ \t'\",]|\\\r?\n){1,60}"
"""Between the words of a command, in a shell or in a list of YAML or JSON."""
_WORD: Final = r"[^\s'\",;&|`\\]{1,400}"
_NEXT: Final = r"(?:=|['\"]?,?(?:[ \t]|\\\r?\n){1,60}|['\"],)"
"""Between an option and its value."""
_COMMAND: Final = re.compile(
    rf"""(?<![\w.-])(?:
    (?:docker|podman|nerdctl|buildah|skopeo|oras|crane|helm)(?:{_GAP}-{_WORD}(?:{_GAP}(?!-|login){_WORD})?){{0,4}}
        (?:{_GAP}(?:auth|registry))?{_GAP}login(?:{_GAP}{_WORD}){{0,20}}?{_GAP}(?:-p{_NEXT}?|--password{_NEXT})
    |sshpass(?:{_GAP}-(?:v|P(?:{_GAP})?{_WORD})){{0,3}}{_GAP}-p{_NEXT}?
    |(?:mysql|mariadb)[a-z_-]{{0,20}}(?:{_GAP}{_WORD}){{0,40}}?{_GAP}(?:-p(?!['\"][\],\s])|--password=)
        (?!(?:[\d.]{{1,15}}:)?\d{{1,5}}:\d)
    |curl(?:{_GAP}{_WORD}){{0,40}}?{_GAP}(?:-u{_NEXT}?|--(?:proxy-)?user{_NEXT})(?=['"]?[^\s:'"]{{1,200}}:)
    )(?:"((?:[^"\\\n]|\\.){{1,4096}})|'([^'\n]{{1,4096}})|((?:[^\s'"`;&|)\\]|\\.){{1,4096}}))""",
    re.VERBOSE,
)
"""Commands with their passwords. `sshpass -e ssh -p 22` and `docker run --name mysql -p1:1` have none."""
_NAMED: Final = re.compile(
    r"(?:^|_)(?:(?:API|SECRET|SERVER|ACCESS|PRIVATE|AUTH)_?KEYS?|(?:HF|HUB|AUTH|ACCESS|BOT|API)TOKEN|PASSWORD|PASSWD"
    r"|PASSPHRASE|PASS|SECRET|CREDENTIALS?)$|_PWD$",
    re.IGNORECASE,
)
_TOKEN: Final = re.compile(r"(?:^|_)TOKEN$", re.IGNORECASE)
_OF_TEXT: Final = re.compile(
    r"(?:^|_)(?:BOS|EOS|PAD|UNK|SEP|CLS|MASK|STOP|START|END|BEGIN|FIRST|LAST|NEXT|PER|IMAGE|AUDIO|VIDEO|THINK|PREFILL"
    r"|DECODE|SPECIAL)_TOKEN$",
    re.IGNORECASE,
)
"""Names of tokens that models read and write."""
_KEYS: Final = frozenset(key.replace("_", "") for key in SECRET_KEYS)
_CHANGE_ME: Final = re.compile(r"change[-_]?me|\.\.\.|\u2026", re.IGNORECASE)
_NO_VALUES: Final = frozenset({"true", "false", "none", "null", "auto", "empty", "secret", "placeholder"})
_SHORTEST: Final = 4


def literal(text: str, path: Path) -> str | None:
    """Return why a value is a secret: its text, or the name of its variable. None if it is not one."""
    found = literals(text)
    if found:
        return found[0].what
    name = variable(path)
    return None if name is None or text in _NO_SECRETS or text.startswith("/") else f"is the value of {name}"


def behind_option(option: object, value: object) -> bool:
    """Return whether a word of a command is a literal secret because of the option before it."""
    if not (isinstance(option, str) and isinstance(value, str)):
        return False
    return is_option(option) and can_be_real(value)


def variable(path: Path) -> str | int | None:
    """Return the variable or option of a value if its name is that of a secret, or else None."""
    named = (key for parent, key in pairwise(path) if parent in _VARIABLES and is_named(str(key)))
    return next(named, None)


def without_literals(text: str) -> str:
    """Replace secrets by stars, also in comments."""
    return _with_stars(text, [(found.start, found.end) for found in literals(text)])


def is_reference(value: object) -> bool:
    """Return whether a value is exactly {secret: NAME}."""
    if not isinstance(value, dict) or value.keys() != {"secret"}:
        return False
    return isinstance(value["secret"], str) and re.fullmatch(SECRET, value["secret"]) is not None


def without(text: str, marks: Iterable[Mark]) -> str:
    """Replace marked ranges of a text by stars; the lines keep their lengths."""
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    return _with_stars(
        text,
        [
            (starts[mark.line - 1] + mark.column - 1, starts[mark.end_line - 1] + mark.end_column - 1)
            for mark in sorted(marks)
        ],
    )


def _with_stars(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Replace sorted ranges by stars; ranges may overlap."""
    pieces, done = [], 0
    for start, end in spans:
        start, end = max(done, start), max(done, start, end)  # noqa: PLW2901  the loop variables are clipped
        pieces += [text[done:start], _stars(text[start:end])]
        done = end
    return "".join((*pieces, text[done:]))


def without_rest(text: str) -> str:
    """Replace all text after a secret by stars in invalid YAML, where the end of the secret is unknown."""
    keys = (found.end() for found in _IN_TEXT.finditer(text))
    names = (found.end() for found in _NAME_IN_TEXT.finditer(text) if is_named(found[0]))
    end = min(next(keys, len(text)), next(names, len(text)))
    return text[:end] + _stars(text[end:])


def _stars(text: str) -> str:
    return re.sub(r"[^\r\n]", "*", text)


class Literal(NamedTuple):
    """A secret in a text: start, end, and the reason it counts as one."""

    start: int
    end: int
    what: str


def literals(text: str) -> list[Literal]:
    """Return all secrets of a text, in order of position; they may overlap."""
    found = [*_by_form(text)]
    if "@" in text:
        found += passwords(text)
    found += of_commands(text)
    if "=" in text or "--" in text:  # most texts are words and numbers, which name nothing
        found += _by_name(text)
    return sorted(found)


def is_secret(key: str) -> bool:
    """Return whether this key requires a reference to a secret, whatever its case and separators."""
    return key.lower().replace("_", "").replace("-", "") in _KEYS


def is_named(name: str) -> bool:
    """Return whether a variable or an option of this name contains a secret."""
    plain = name.lstrip("-").replace("-", "_")
    if _TOKEN.search(plain):
        return _OF_TEXT.search(plain) is None
    return is_secret(plain) or _NAMED.search(plain) is not None


def is_option(word: str) -> bool:
    """Return whether this word of a command is an option whose value, the next word, is a secret."""
    return word.startswith("--") and is_named(word)


def is_placeholder(text: str) -> bool:
    """Return whether a text is a placeholder for a secret: `$HF_TOKEN`, `hf_xxx`, `<your token>`."""
    word = text.lower()
    if not text.strip("*") or word.startswith(("$", "<", "{", "your")) or word.endswith("xxx"):
        return True
    return _CHANGE_ME.search(word) is not None


def can_be_real(value: str) -> bool:
    """Return whether a value can be a real secret: not a reference, path, number, plain word or short text."""
    if len(value) < _SHORTEST or is_placeholder(value) or value.startswith(("/", "~", "-")):
        return False
    return value.lower() not in _NO_VALUES and not value.isdecimal()


def passwords(text: str) -> Iterator[Literal]:
    """Return the passwords in URLs, and the tokens that replace a user and a password."""
    for found in _BARE_USER.finditer(text):
        yield Literal(*found.span(1), "is the password of a user")
    for found in _USER.finditer(text):
        user, colon, password = found[2].partition(":")
        if colon and not is_placeholder(password):
            yield Literal(found.end(2) - len(password), found.end(2), "is the password in a URL")
        elif not colon and found[1] and _TOKEN_AS_USER.fullmatch(user):
            yield Literal(*found.span(2), "looks like a token in a URL")


def of_commands(text: str) -> Iterator[Literal]:
    """Return the passwords in commands such as `docker login`, `sshpass` and `mysql`, whatever they look like."""
    for found in _COMMAND.finditer(text) if "-p" in text or "-u" in text else ():
        if found.lastindex is not None and not is_placeholder(found[found.lastindex]):
            yield Literal(*found.span(found.lastindex), "is the password of a command")


def _by_form(text: str) -> Iterator[Literal]:
    for found in _FORM.finditer(text):
        if found.lastindex is not None:
            yield Literal(*found.span(), f"looks like a {tuple(_FORMS)[found.lastindex - 1]}")


def _by_name(text: str) -> Iterator[Literal]:
    """Return secrets in `NAME=value` and `--name value`; a plain word after `--name` may be prose."""
    at = 0
    while (found := _ASSIGNED.search(text, at)) is not None:
        at = found.end()
        hyphens, name, sign = found.groups()
        if not sign or (sign != "=" and hyphens != "--") or not is_named(name) or text.startswith("-", at):
            continue
        value = _VALUE.match(text, at)
        if value is None or value.lastindex is None:
            continue
        at = value.end()
        given = value[value.lastindex]
        if can_be_real(given) and (sign == "=" or not (given.isalpha() and given.islower())):
            yield Literal(*value.span(value.lastindex), f"is the value of {hyphens}{name}")
