"""The file of a fleet's secrets, in the form that `ansible-playbook -e @FILE` reads."""

from __future__ import annotations

import json
import secrets
import stat
from typing import TYPE_CHECKING, Any, Final

import click

from sparkiac import write
from sparkiac.upstream import playbook
from sparkiac.write.single import exclusive

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from sparkiac.commands.secrets.needed import NeededSecret

_KEY: Final = "sparkiac_secrets"
_BYTES: Final = 32
_MODE: Final = 0o600
_IGNORE: Final = "*"
"""The line of .gitignore that matches every file."""
_FORM: Final = f'JSON of the form {{"{_KEY}": {{"NAME": "VALUE"}}}}'


def complete(
    path: Path, needed: Sequence[NeededSecret], password: Path | None
) -> tuple[dict[str, str], dict[str, str]]:
    """Generate the missing values and store all; return values and states by name.

    A state is `generated`, `kept` or `missing`; only a secret of another service can be missing. Other values of
    the file stay. Raises click.UsageError, ProgramError and OSError.
    """
    _prepare(path)
    with exclusive(path.parent.parent):  # two runs must not generate different values
        former = path.read_bytes() if path.exists() else None
        values = {} if former is None else _read(path, former, password)
        states = {each.name: _state(each, values) for each in needed}
        values |= {name: secrets.token_hex(_BYTES) for name, state in states.items() if state == "generated"}
        encrypts = password is not None and not (former and playbook.is_encrypted(former))
        if former is None or encrypts or "generated" in states.values():
            write.replace(path, _text(values, password), mode=_MODE)
        path.chmod(_MODE)
    return values, states


def _state(secret: NeededSecret, values: Mapping[str, str]) -> str:
    if values.get(secret.name, "").strip():
        return "kept"
    return "missing" if secret.issued else "generated"


def _prepare(path: Path) -> None:
    """Make the directory, which Git ignores."""
    if path.is_symlink() or path.parent.is_symlink():
        message = f"{path} must not be behind a symbolic link, which could lead to a directory that Git tracks"
        raise click.UsageError(message)
    for place, wrong, kind in ((path.parent, path.parent.is_file(), "directory"), (path, path.is_dir(), "file")):
        if wrong:
            message = f"{place} must be a {kind}: move what is there to another place"
            raise click.UsageError(message)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    for place in (path.parent, path):
        _require_private(place)
    ignore = path.with_name(".gitignore")
    if not ignore.exists():
        write.replace(ignore, f"{_IGNORE}\n".encode())
    if _IGNORE not in ignore.read_text(encoding="utf-8", errors="replace").splitlines():
        message = f"{ignore} does not ignore all files, so secrets could be committed: add a line with only {_IGNORE}"
        raise click.UsageError(message)


def _require_private(path: Path) -> None:
    """Refuse a file or directory of secrets that other users of this machine can read or change."""
    if path.exists() and (mode := stat.S_IMODE(path.stat().st_mode)) & 0o077:
        kept = f"{mode & 0o700:o}"
        message = f"{path} can be accessed by other users (mode {mode:04o}): run chmod {kept} {path}"
        raise click.UsageError(message)


def _read(path: Path, raw: bytes, password: Path | None) -> dict[str, str]:
    """Return the values of the file; no message contains any of its text."""
    if playbook.is_encrypted(raw):
        if password is None:
            message = f"{path} is encrypted; add --vault-password-file FILE"
            raise click.UsageError(message)
        raw = playbook.decrypted(raw, password)
    try:
        data: Any = json.loads(raw)
    except ValueError:
        data = None
    values = data.get(_KEY) if isinstance(data, dict) and data.keys() == {_KEY} else None
    if isinstance(values, dict) and (wrong := [name for name, value in values.items() if not _is_text(value)]):
        message = f"{path}: the value of {', '.join(wrong)} is not UTF-8 text without NUL; correct it or remove it"
        raise click.UsageError(message)
    if not isinstance(values, dict):
        message = f"{path} is not {_FORM}; correct it or move it away"
        raise click.UsageError(message)
    return values


def _text(values: Mapping[str, str], password: Path | None) -> bytes:
    text = f"{json.dumps({_KEY: values}, indent=1, sort_keys=True)}\n".encode()
    return text if password is None else playbook.encrypted(text, password)


def _is_text(value: object) -> bool:
    """Return whether a value can be an environment variable: text that UTF-8 can encode, without NUL."""
    return isinstance(value, str) and "\0" not in value and value == value.encode(errors="ignore").decode()
